# Every dependency is linked statically and stays hidden: frameworks load their own copies into the same process.
set(KILN_ABSEIL_PREFIX "${CMAKE_SOURCE_DIR}/.deps/abseil" CACHE PATH
    "Abseil built as position-independent static libraries (tools: make deps)")
list(PREPEND CMAKE_PREFIX_PATH ${KILN_ABSEIL_PREFIX} /usr/lib/llvm-19)
find_package(absl REQUIRED CONFIG PATHS ${KILN_ABSEIL_PREFIX} NO_DEFAULT_PATH)
find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19 NO_DEFAULT_PATH)
find_package(nlohmann_json 3 REQUIRED)
find_package(Threads REQUIRED)

# Only the parts of LLVM that Kiln uses: the JIT, the host's code generator, NVPTX and the passes of the short pipeline.
llvm_map_components_to_libnames(KILN_LLVM_LIBRARIES
  core orcjit runtimedyld asmparser passes native nvptxcodegen nvptxdesc nvptxinfo target analysis support)
add_library(kiln_llvm INTERFACE)
target_include_directories(kiln_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(kiln_llvm INTERFACE ${KILN_LLVM_LIBRARIES})
