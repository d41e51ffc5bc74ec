# stretto_test(<layer>/<name> [OPTIMISED|LIGHTLY] [COMPILED] [library...]): builds tests/<layer>/<name>.cpp against
# stretto::stretto, doctest, rapidcheck and the given libraries, and registers it with ctest as <layer>/<name>.
# stretto_test_room, below, does so for several tests that have much in common.
#
# OPTIMISED is for tests that take long to run: they are compiled with STRETTO_TEST_OPTIMISATION. LIGHTLY is for those
# that take long to compile as well, with STRETTO_TEST_LIGHT_OPTIMISATION: in the preset test that is -Og, with which they
# compile a quarter faster than with -O1 and run up to three times as long. Everything else is compiled as the build type says.
# COMPILED is for tests that schedule but do not test the scheduler: with precompiled headers it comes from
# stretto::compiled. Compiling takes longer than running, so both matter.

find_package(doctest REQUIRED)
find_package(rapidcheck REQUIRED)

# What every test links: doctest's main() and whatever the tests share that need not be a template. A static library, so
# that a test contains only the parts it calls: schedule_oracles.cpp is compiled with assertions that throw.
add_library(stretto_test_support STATIC
    ${PROJECT_SOURCE_DIR}/tests/main.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/edge_graph.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/legality.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/prop.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/random_program.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/schedule_oracles.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/spine_program.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/toy_irs.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/toy_program.cpp)
target_link_libraries(stretto_test_support PUBLIC stretto::stretto doctest::doctest rapidcheck)
target_include_directories(stretto_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(stretto_test_support PUBLIC DOCTEST_CONFIG_SUPER_FAST_ASSERTS)  # compiles a sixth faster

set(STRETTO_TEST_OPTIMISATION "" CACHE STRING "Compiler flag for tests that take long to run, such as -O1")
set(STRETTO_TEST_LIGHT_OPTIMISATION "" CACHE STRING "Compiler flag for tests that take long to run and to compile")
# stretto_optimise(<target>...)
function(stretto_optimise)
    foreach(target IN LISTS ARGN)
        target_compile_options(${target} PRIVATE ${STRETTO_TEST_OPTIMISATION})
    endforeach()
endfunction()

option(STRETTO_TEST_LARGE_STEPS "Test large captured steps too" ON)

# The same for the tests of captures and of tensor programs, in a library of its own because of its dependencies.
add_library(stretto_capture_test_support STATIC
    ${PROJECT_SOURCE_DIR}/tests/support/chunk_step.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/compare_runs.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/example_step.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/plan_complaints.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/read_step.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/run_step.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/run_tensor_program.cpp)
if(STRETTO_TEST_LARGE_STEPS)
    target_sources(stretto_capture_test_support PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/shrunken_step.cpp)
endif()
target_link_libraries(stretto_capture_test_support PUBLIC stretto::capture doctest::doctest PRIVATE rapidcheck)
target_compile_definitions(stretto_capture_test_support PRIVATE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
target_include_directories(stretto_capture_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
if(STRETTO_ROOMS)
    set_target_properties(stretto_test_support stretto_capture_test_support PROPERTIES
        UNITY_BUILD ON
        UNITY_BUILD_BATCH_SIZE 0)
    # Not every test calls these, and one that does not may have a main() or assertions of its own.
    set_source_files_properties(
        ${PROJECT_SOURCE_DIR}/tests/main.cpp ${PROJECT_SOURCE_DIR}/tests/support/schedule_oracles.cpp
        PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

stretto_optimise(stretto_test_support stretto_capture_test_support)
# Most tests that plan a step spend their time in the scheduler, which is compiled once.
set(STRETTO_COMPILED_OPTIMISATION "${STRETTO_TEST_OPTIMISATION}" CACHE STRING "Compiler flag for stretto::compiled")
target_compile_options(stretto_compiled PRIVATE ${STRETTO_COMPILED_OPTIMISATION})

# rapidcheck costs two seconds per translation unit and simdjson three; one precompiled copy each serves all tests, and
# one more those that are optimised. Of our own headers only compiled.hpp, which says what not to compile again: what the
# others include shows in the tests header/.
#
# stretto_precompiled(<name> [library...] HEADERS header...)
function(stretto_precompiled name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS")
    file(CONFIGURE OUTPUT ${name}.cpp CONTENT "" @ONLY)
    add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE stretto_test_support ${arg_UNPARSED_ARGUMENTS})
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
if(STRETTO_PCH)
    set(compiled ${PROJECT_SOURCE_DIR}/include/stretto/schedule/compiled.hpp)
    stretto_precompiled(stretto_test_headers HEADERS <doctest/doctest.h> <rapidcheck.h>)
    if(STRETTO_TEST_OPTIMISATION)
        stretto_precompiled(stretto_optimised_test_headers HEADERS <doctest/doctest.h> <rapidcheck.h>)
        stretto_optimise(stretto_optimised_test_headers)
    endif()
    stretto_precompiled(stretto_compiled_test_headers HEADERS <doctest/doctest.h> <rapidcheck.h> ${compiled})
    stretto_precompiled(stretto_capture_test_headers stretto::capture
        HEADERS <doctest/doctest.h> <rapidcheck.h> <simdjson.h> ${compiled})
endif()

# The captured steps that accompany the library in a reference tree; tests that read them skip when it is not there.
set(stretto_test_environment "STRETTO_EXAMPLE_GRAPHS=${PROJECT_SOURCE_DIR}/examples/graphs")
cmake_path(SET stretto_reference_graphs NORMALIZE "${PROJECT_SOURCE_DIR}/../shared/graphs")
if(IS_DIRECTORY "${stretto_reference_graphs}")
    list(APPEND stretto_test_environment "STRETTO_REFERENCE_GRAPHS=${stretto_reference_graphs}")
endif()

set_property(GLOBAL PROPERTY STRETTO_REGISTERED_TESTS "")

# stretto_test_program(<target> <source> [OPTIMISED|LIGHTLY] [COMPILED] [library...]): a program with a test in it, or several.
function(stretto_test_program target source)
    cmake_parse_arguments(PARSE_ARGV 2 arg "OPTIMISED;LIGHTLY;COMPILED" "" "")
    set(libraries ${arg_UNPARSED_ARGUMENTS})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE stretto_test_support ${libraries})
    if(arg_OPTIMISED AND STRETTO_TEST_OPTIMISATION)
        stretto_optimise(${target})
        if(TARGET stretto_optimised_test_headers)
            target_precompile_headers(${target} REUSE_FROM stretto_optimised_test_headers)
        endif()
    elseif(arg_LIGHTLY AND STRETTO_TEST_LIGHT_OPTIMISATION)
        target_compile_options(${target} PRIVATE ${STRETTO_TEST_LIGHT_OPTIMISATION})
    elseif(STRETTO_PCH)
        if("${libraries}" MATCHES "capture|planner")
            set(precompiled stretto_capture_test_headers)
        elseif(arg_COMPILED)
            set(precompiled stretto_compiled_test_headers)
        else()
            set(precompiled stretto_test_headers)
        endif()
        target_precompile_headers(${target} REUSE_FROM ${precompiled})
        if(NOT precompiled STREQUAL stretto_test_headers)
            target_link_libraries(${target} PRIVATE stretto::compiled)
        endif()
    endif()
endfunction()

# stretto_add_test(<layer>/<name> <command>...)
function(stretto_add_test name)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT "${stretto_test_environment}")
    set_property(GLOBAL APPEND PROPERTY STRETTO_REGISTERED_TESTS "tests/${name}.cpp")
endfunction()

function(stretto_test name)
    string(REPLACE "/" "." target "test.${name}")
    stretto_test_program(${target} ${PROJECT_SOURCE_DIR}/tests/${name}.cpp ${ARGN})
    stretto_add_test(${name} ${target})
endfunction()

# stretto_test_room(<room> [OPTIMISED|LIGHTLY] [COMPILED] TESTS <layer>/<name>... [LIBRARIES library...]): the same as a
# stretto_test of each. With STRETTO_ROOMS all of them are one translation unit, test.<room>, because tests of a room
# instantiate the same templates of ours, of rapidcheck and of the standard library, and these are most of what a test
# costs to compile.
#
# The unit includes first what its files include, then each file in a namespace of its own, in which those includes have
# no effect any more because of their guards: files need not avoid each other's names. ctest runs the tests of each file
# by itself, and a file of which the program knows no test fails.
function(stretto_test_room room)
    cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;LIGHTLY;COMPILED" "" "TESTS;LIBRARIES")
    set(how "")
    foreach(option OPTIMISED LIGHTLY COMPILED)
        if(arg_${option})
            list(APPEND how ${option})
        endif()
    endforeach()
    if(NOT STRETTO_ROOMS)
        foreach(name IN LISTS arg_TESTS)
            stretto_test(${name} ${how} ${arg_LIBRARIES})
        endforeach()
        return()
    endif()

    set(headers "")
    set(files "")
    foreach(name IN LISTS arg_TESTS)
        set(file ${PROJECT_SOURCE_DIR}/tests/${name}.cpp)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        file(STRINGS ${file} lines REGEX "^#include")
        list(APPEND headers ${lines})
        string(MAKE_C_IDENTIFIER ${name} own)
        list(APPEND files "namespace ${own} {" "#include \"${file}\"" "}")
    endforeach()
    list(REMOVE_DUPLICATES headers)
    list(JOIN headers "\n" headers)
    list(JOIN files "\n" files)
    string(REPLACE "/" "." target "test.${room}")
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "@headers@\n\n@files@\n" @ONLY)

    stretto_test_program(${target} ${unit} ${how} ${arg_LIBRARIES})
    foreach(name IN LISTS arg_TESTS)
        stretto_add_test(${name} ${target} "--source-file=*/tests/${name}.cpp")
        set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 [|]")
    endforeach()
endfunction()
