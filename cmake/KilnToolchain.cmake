# Compiler flags, ccache and mold where they are present.
find_program(KILN_CCACHE ccache)
if(KILN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher ${CMAKE_SOURCE_DIR}/scripts/cached_compiler.sh ${KILN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(KILN_MOLD mold)
if(KILN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
# A precompiled header (KilnLibrary.cmake) is named by an option whose path compiler caches know.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
endif()
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)

# KILN_SANITIZE=address,undefined or thread: see the asan and tsan presets. Code that was generated at run time has no
# signature in front of it: looking for one is wrong, and faults where a page begins there. C callers may pass
# enumerators of later versions of PJRT: compilers presume nothing of an enumeration's range without -fstrict-enums.
set(KILN_SANITIZE "" CACHE STRING "Sanitizers to build with, comma separated")
if(KILN_SANITIZE)
  add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-sanitize=function,enum -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KILN_SANITIZE})
endif()
