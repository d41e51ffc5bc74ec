# Tests of processes, each with every implementation of MPI that is here. Where there is none, the tests say so and are
# skipped.
include(${PROJECT_SOURCE_DIR}/packaging/cmake/mpi_implementations.cmake)

# Root runs tests in containers, and more processes than there are processors. Sanitizers hear that what libraries of MPI
# keep is no leak of ours (for which they must find out who has asked for it, through functions without frames), and
# nothing of what threads do in there: it is not compiled for them.
function(stretto_mpi_test_properties test)
    set_tests_properties(${test} PROPERTIES
        TIMEOUT 600
        PROCESSORS 2
        LABELS mpi
        ENVIRONMENT "ASAN_OPTIONS=fast_unwind_on_malloc=0;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/backend/mpi/mpi_leaks.txt;TSAN_OPTIONS=ignore_noninstrumented_modules=1:detect_deadlocks=0;${stretto_test_environment};OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1")
endfunction()

# stretto_mpi_test(<layer>/<name> <numbers of processes> [ONCE <numbers>] [OPTIMISED] [library...]): ctest runs it as
# <layer>/<name>/<implementation>-<n>; with the numbers after ONCE only on the first implementation, which is enough for
# what the others cannot do differently. The target test.<layer>.<name> builds it for all.
function(stretto_mpi_test name numbers)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "ONCE" "")
    if(NOT STRETTO_MPI_IMPLEMENTATIONS)
        add_test(NAME ${name} COMMAND sh -c
            "echo 'no MPI; install one of: libopenmpi-dev openmpi-bin, libmpich-dev mpich'; exit 77")
        set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS mpi)
    endif()
    string(REPLACE "/" "." all "test.${name}")
    add_custom_target(${all})
    foreach(implementation IN LISTS STRETTO_MPI_IMPLEMENTATIONS)
        if(NOT numbers AND NOT arg_ONCE)
            continue()
        endif()
        set(target ${all}.${implementation})
        add_dependencies(${all} ${target})
        stretto_test_program(${target} ${PROJECT_SOURCE_DIR}/tests/${name}.cpp ${arg_UNPARSED_ARGUMENTS} stretto::host)
        stretto_link_mpi(${target} ${implementation})
        foreach(n IN LISTS numbers arg_ONCE)
            set(test ${name}/${implementation}-${n})
            add_test(NAME ${test} COMMAND ${STRETTO_MPIEXEC_${implementation}} -n ${n} $<TARGET_FILE:${target}>)
            stretto_mpi_test_properties(${test})
        endforeach()
        set(arg_ONCE "")
    endforeach()
    set_property(GLOBAL APPEND PROPERTY STRETTO_REGISTERED_TESTS "tests/${name}.cpp")
endfunction()

# stretto_mpi_death_test(<layer>/<name>): a program of which processes die, by tests/<layer>/mpi_deaths. Only where it is
# known how mpiexec is told to leave the others alone.
set(stretto_mpi_survival_openmpi --enable-recovery)
set(stretto_mpi_survival_mpich -disable-auto-cleanup)
function(stretto_mpi_death_test name)
    cmake_path(GET name PARENT_PATH layer)
    foreach(implementation IN LISTS STRETTO_MPI_IMPLEMENTATIONS)
        if(NOT DEFINED stretto_mpi_survival_${implementation})
            continue()
        endif()
        string(REPLACE "/" "." target "test.${name}.${implementation}")
        add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${name}.cpp)
        target_link_libraries(${target} PRIVATE stretto::host)
        stretto_link_mpi(${target} ${implementation})
        set(test ${name}/${implementation})
        add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/tests/${layer}/mpi_deaths $<TARGET_FILE:${target}>
            ${STRETTO_MPIEXEC_${implementation}} ${stretto_mpi_survival_${implementation}})
        stretto_mpi_test_properties(${test})
        set_tests_properties(${test} PROPERTIES PROCESSORS 1)  # most of the time everybody waits
    endforeach()
    set_property(GLOBAL APPEND PROPERTY STRETTO_REGISTERED_TESTS "tests/${name}.cpp")
endfunction()
