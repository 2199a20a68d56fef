# The three kinds of targets of this project, so that every room builds alike.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(ccache_settings CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(WEBNND_PRECOMPILED_HEADERS)
    # What ccache asks for where a header is precompiled.
    list(APPEND ccache_settings
         CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${ccache_settings} ${CCACHE_PROGRAM})
endif()

if(WEBNND_SANITIZERS OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(has_drivers_llvm FALSE)
else()
  set(has_drivers_llvm TRUE)
endif()
# Of what changes kernels on their way from their shaders to processors, which neither their hashes nor,
# behind SPIR-V, drivers know of.
file(GLOB kernel_changing_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/service/spirv/*)
if(has_drivers_llvm)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/base/drivers_llvm/*)
  list(APPEND kernel_changing_files ${files})
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_changing_files})
set(kernel_changes_version "")
foreach(file ${kernel_changing_files})
  file(SHA1 ${file} file_hash)
  string(SHA1 kernel_changes_version "${kernel_changes_version}${file_hash}")
endforeach()
string(SUBSTRING ${kernel_changes_version} 0 8 kernel_changes_version)
# What the driver compiles for one test it keeps for the next, and none of what is the user's.
set(WEBNND_TEST_ENVIRONMENT "MESA_SHADER_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/kernels-${kernel_changes_version}")

if(WEBNND_TESTS)
  find_package(GTest REQUIRED)
endif()

# Links the many tests in a fifth of the time.
find_program(MOLD_PROGRAM mold)

add_library(webnnd_options INTERFACE)
target_include_directories(webnnd_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(webnnd_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers
                       -fno-strict-aliasing -fvisibility=hidden)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports uninitialised std::variant and std::optional members that cannot be read.
  target_compile_options(webnnd_options INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(WEBNND_SANITIZERS)
  target_compile_options(webnnd_options INTERFACE -fsanitize=${WEBNND_SANITIZERS}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(webnnd_options INTERFACE -fsanitize=${WEBNND_SANITIZERS})
  target_compile_definitions(webnnd_options INTERFACE WEBNND_SANITIZERS=1)
  set(suppressions ${CMAKE_SOURCE_DIR}/tests/support)
  list(APPEND WEBNND_TEST_ENVIRONMENT
      "LSAN_OPTIONS=suppressions=${suppressions}/lsan.supp:print_suppressions=0"
      "TSAN_OPTIONS=suppressions=${suppressions}/tsan.supp:halt_on_error=1")
  if(WEBNND_SANITIZERS MATCHES "thread")
    # ThreadSanitizer gives up ("unexpected memory mapping") where a kernel with a large
    # vm.mmap_rnd_bits has put a library outside of the few places that it knows, so tests run
    # without such randomness; as they are, where a container forbids to turn it off.
    find_program(SETARCH_PROGRAM setarch)
    if(SETARCH_PROGRAM)
      execute_process(COMMAND ${SETARCH_PROGRAM} --addr-no-randomize true
                      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
      if(result EQUAL 0)
        set(WEBNND_TEST_LAUNCHER ${SETARCH_PROGRAM} --addr-no-randomize)
      endif()
    endif()
  endif()
endif()
if(WEBNND_COVERAGE)
  # Paths relative to the build folder, so that tools/coverage finds the sources wherever they lie.
  target_compile_options(webnnd_options INTERFACE -fprofile-instr-generate -fcoverage-mapping
                         -fprofile-update=atomic -fcoverage-compilation-dir=.
                         -fprofile-list=${CMAKE_SOURCE_DIR}/cmake/coverage_files.txt)
  target_link_options(webnnd_options INTERFACE -fprofile-instr-generate)
endif()
if(WEBNND_FUZZERS)
  # Coverage in every object; the driver itself is linked by the targets in fuzz/.
  target_compile_options(webnnd_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Headers that are not ours, and that of operands, on which most else stands, parsed once for each set of
# options: a second less for each source. For tests of the service also those of its fixtures, and for
# passes over graphs those of lowering, which take half a second more. An include that is missing goes
# unnoticed then, so that only the presets release and asan have them. Of what .ci/run builds, dev, fuzz
# and tsan do without: programs, and some of the tests.
set(library_headers <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring>
    <deque> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <span> <string>
    <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
    <nlohmann/json.hpp> ${CMAKE_SOURCE_DIR}/webidl/operand_descriptor.h)
set(program_headers ${library_headers})
set(passes_headers ${library_headers} ${CMAKE_SOURCE_DIR}/service/passes/kernel_parameters.h
    ${CMAKE_SOURCE_DIR}/service/passes/lowering.h)
set(test_headers ${library_headers} <cmath> <filesystem> <fstream> <random> <set> <sstream>
    <gmock/gmock.h> <gtest/gtest.h>)
set(service_test_headers ${test_headers} ${CMAKE_SOURCE_DIR}/tests/support/kernel_runner.h
    ${CMAKE_SOURCE_DIR}/tests/support/service_fixture.h)
set(computing_test_headers ${service_test_headers})
set(test_options ${WEBNND_TEST_OPTIONS})
set(service_test_options ${WEBNND_TEST_OPTIONS})
set(computing_test_options -O1 -g0)
if(WEBNND_PRECOMPILED_HEADERS)
  set(empty_source ${CMAKE_BINARY_DIR}/precompiled_headers.cc)
  file(WRITE ${empty_source}.new "")
  file(COPY_FILE ${empty_source}.new ${empty_source} ONLY_IF_DIFFERENT)
  set(kinds library passes program)
  if(WEBNND_TESTS)
    list(APPEND kinds test service_test computing_test)
  endif()
  foreach(kind IN LISTS kinds)
    # Named after its headers: CMake gives its list of them the time of its cache, and ninja would not
    # see that it has changed.
    string(SHA1 headers_hash "${${kind}_headers}")
    string(SUBSTRING ${headers_hash} 0 8 headers_hash)
    set(precompiled webnnd_${kind}_headers_${headers_hash})
    set(${kind}_precompiled ${precompiled})
    add_library(${precompiled} OBJECT ${empty_source})
    target_link_libraries(${precompiled} PRIVATE webnnd_options fmt::fmt)
    target_precompile_headers(${precompiled} PRIVATE ${${kind}_headers})
    if(NOT kind MATCHES "library|passes")
      set_target_properties(${precompiled} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${precompiled} PRIVATE -fPIE)
    endif()
    if(kind MATCHES "test")
      target_link_libraries(${precompiled} PRIVATE GTest::gtest_main GTest::gmock)
      target_compile_options(${precompiled} PRIVATE ${${kind}_options})
    endif()
  endforeach()
endif()

# webnnd_precompiled(TARGET KIND): the target reads the headers of its kind (above), whose options it has.
function(webnnd_precompiled target kind)
  if(WEBNND_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${${kind}_precompiled})
    target_link_libraries(${target} PRIVATE fmt::fmt)  # They were parsed with its definitions.
  endif()
endfunction()

# webnnd_compile_as_test(TARGET COMPUTES DEPENDS): with the options and headers of a test that depends on
# these. What computes much itself, such as what it expects, is optimised whatever the others are.
function(webnnd_compile_as_test target computes depends)
  if(computes)
    set(kind computing_test)
  elseif("test_service" IN_LIST depends OR "test_kernel_runner" IN_LIST depends)
    set(kind service_test)
  else()
    set(kind test)
  endif()
  target_compile_options(${target} PRIVATE ${${kind}_options})
  webnnd_precompiled(${target} ${kind})
endfunction()

# webnnd_library(NAME SOURCES a.cc ... [DEPENDS lib ...] [PRIVATE_DEPENDS lib ...] [HEADERS kind])
function(webnnd_library name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC webnnd_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS library)
  endif()
  webnnd_precompiled(${name} ${ARG_HEADERS})
endfunction()

# webnnd_test_library(NAME SOURCES a.cc ... [DEPENDS lib ...] [COMPUTES]): a library that only tests link,
# which is compiled as they are.
function(webnnd_test_library name)
  cmake_parse_arguments(ARG "COMPUTES" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC webnnd_options GTest::gmock ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
  webnnd_compile_as_test(${name} ${ARG_COMPUTES} "${ARG_DEPENDS}")
endfunction()

# webnnd_program(NAME SOURCES a.cc ... [DEPENDS lib ...]): an executable in build/<preset>/bin.
function(webnnd_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE webnnd_options ${ARG_DEPENDS})
  webnnd_precompiled(${name} program)
endfunction()

# What tools/test runs under the sanitizers: tests labelled front-door, which feed on hostile input.
add_custom_target(front-door-tests)
# What the preset tsan builds: tests labelled threads, of what several threads share. Not among them:
# tests that need the daemon, whose workers' sandbox has no room for the sanitizer's shadow memory
# (their sessions run in this process too), and those that have one thread by design (simulation).
add_custom_target(thread-tests)
# What the preset coverage builds: tests labelled coverage, which run in their own process what they
# test (tools/coverage).
add_custom_target(coverage-tests)

# webnnd_test(FOLDER/UNIT SOURCES a_test.cc ... [DEPENDS lib ...] [LABELS l ...] [TIMEOUT s]
#             [WITHOUT feature ...] [WAITS] [COMPUTES]): a GoogleTest program registered with ctest
# under the name FOLDER/UNIT, and once more for each device feature to do without
# (TestDeviceOptions), as FOLDER/UNIT-without-FEATURE. Those, and others of the label "thorough", are
# left to `tools/test --full`, some to .ci/run as well; WEBNND_TEST_THOROUGH=1 does the same inside a test
# (tests/support/sample.h), but not without a feature under sanitizers. What ctest counts (-j) are
# halves of a processor: a test takes two, and one that WAITS most of the time takes one. tools/test has
# one more than two processors, so that these run beside the others.
function(webnnd_test name)
  cmake_parse_arguments(ARG "WAITS;COMPUTES" "TIMEOUT" "SOURCES;DEPENDS;LABELS;ENVIRONMENT;WITHOUT" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  set(target ${target}_test)
  add_executable(${target} ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${target} PRIVATE webnnd_options ${ARG_DEPENDS} GTest::gtest_main GTest::gmock)
  webnnd_compile_as_test(${target} ${ARG_COMPUTES} "${ARG_DEPENDS}")
  if(MOLD_PROGRAM)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
  if("front-door" IN_LIST ARG_LABELS)
    add_dependencies(front-door-tests ${target})
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(thread-tests ${target})
  endif()
  if("coverage" IN_LIST ARG_LABELS)
    add_dependencies(coverage-tests ${target})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # Tests see no cache of the user's, and leave nothing in it. Those that load models again and again
  # share WEBNND_TEST_KERNEL_CACHE.
  set(environment "WEBNND=${CMAKE_BINARY_DIR}/bin/webnnd;WEBNND_BIN=${CMAKE_BINARY_DIR}/bin;WEBNND_KERNEL_CACHE=;${WEBNND_TEST_ENVIRONMENT};${ARG_ENVIRONMENT}")
  set(entries ${name})
  set(command ${WEBNND_TEST_LAUNCHER} $<TARGET_FILE:${target}>)
  add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}")
  foreach(feature IN LISTS ARG_WITHOUT)
    set(entry ${name}-without-${feature})
    list(APPEND entries ${entry})
    add_test(NAME ${entry} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(without "WEBNND_TEST_DISABLED_FEATURES=${feature}")
    if(WEBNND_SANITIZERS)
      # They see what lowers to kernels, and not what these do: there a sample will do.
      list(APPEND without "WEBNND_TEST_THOROUGH=0")
    endif()
    set_tests_properties(${entry} PROPERTIES ENVIRONMENT "${environment};${without}")
  endforeach()
  set(processors 2)
  if(ARG_WAITS)
    set(processors 1)
  endif()
  # What may take long starts first, lest a long test be the last and leave a processor idle.
  set_tests_properties(${entries} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT}
                       LABELS "${ARG_LABELS}" PROCESSORS ${processors})
  list(REMOVE_ITEM entries ${name})
  if(entries)
    # Without cores llvmpipe compiles barriers into coroutines, for which it takes twice as long.
    math(EXPR timeout "2 * ${ARG_TIMEOUT}")
    set_tests_properties(${entries} PROPERTIES LABELS "${ARG_LABELS};thorough"
                         TIMEOUT ${timeout} COST ${timeout})
  endif()
endfunction()
