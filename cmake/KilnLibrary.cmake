# Headers that most files of all rooms read, parsed once: compiling all takes two thirds of the time. Every file names what
# it includes all the same; the debug preset compiles without, which shows what a file forgot.
option(KILN_PRECOMPILED_HEADERS "Parse common headers once" ON)
set(KILN_COMMON_HEADERS <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <numeric> <optional> <string> <utility> <vector> "absl/algorithm/container.h" "absl/container/flat_hash_map.h"
  "absl/container/flat_hash_set.h" "absl/container/inlined_vector.h" "absl/status/status.h" "absl/status/statusor.h"
  "absl/strings/str_cat.h" "absl/strings/str_format.h" "absl/strings/str_join.h" "absl/strings/str_split.h"
  "absl/synchronization/mutex.h" "absl/types/span.h")
set(KILN_LLVM_HEADERS ${KILN_COMMON_HEADERS} "llvm/IR/Constants.h" "llvm/IR/DerivedTypes.h" "llvm/IR/Function.h"
  "llvm/IR/IRBuilder.h" "llvm/IR/Intrinsics.h" "llvm/IR/Module.h")
set(KILN_TEST_HEADERS ${KILN_COMMON_HEADERS} "gmock/gmock.h" "gtest/gtest.h")

# kiln_precompile(TARGET OWNER HEADERS...): TARGET parses HEADERS if it is OWNER, and else takes what OWNER has parsed.
function(kiln_precompile target owner)
  if(NOT KILN_PRECOMPILED_HEADERS)
    return()
  endif()
  if(target STREQUAL owner)
    list(TRANSFORM ARGN REPLACE "^([^<].*)$" "\"\\1\"")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# Files of a room that are compiled together share what they include and instantiate: a third of the time from nothing.
# Names are therefore unique in a room. Who changes one file again and again compiles it alone with -DKILN_UNITY_BUILD=OFF.
option(KILN_UNITY_BUILD "Compile a few files of a room at once" OFF)
function(kiln_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${KILN_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# kiln_library(NAME [LAYER_DEPENDENCIES...]): the static library of one room, made of every .cc in its directory.
function(kiln_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${name} INTERFACE ${ARGN})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PUBLIC ${ARGN})
  kiln_unite(${name})
  # LLVM's headers are for the rooms that emit code, those of the command line for the commands.
  if(name STREQUAL kiln_tools)
    kiln_precompile(${name} kiln_tools ${KILN_COMMON_HEADERS} <CLI/CLI.hpp>)
  elseif(name MATCHES "kernel|cpu|gpu")
    kiln_precompile(${name} kiln_kernel ${KILN_LLVM_HEADERS})
  else()
    kiln_precompile(${name} kiln_base ${KILN_COMMON_HEADERS})
  endif()
endfunction()

# kiln_test(NAME LIBRARIES...): one gtest program from NAME.cc in this directory.
function(kiln_test name)
  add_executable(${name} ${name}.cc)
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gmock GTest::gtest GTest::gtest_main)
  kiln_precompile(${name} kiln_test_headers)
  # Values that have no text would be printed as their bytes, pointers among them.
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
