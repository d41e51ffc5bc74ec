# cmake -DSOURCE=<tree> -DWORK=<folder> -DFEATURES=<list> -P tests/package/vcpkg.cmake
#
# Runs the vcpkg port without vcpkg: the helper functions a port may call are defined here, doing what the real ones do
# as far as this port can tell, and the installed tree is checked the way vcpkg checks it. Only the release half of a
# library is built.
cmake_minimum_required(VERSION 3.25)

set(PORT stretto)
set(port_dir ${SOURCE}/packaging/vcpkg/ports/${PORT})
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(CURRENT_BUILDTREES_DIR ${WORK}/build)
file(REMOVE_RECURSE ${WORK})

file(READ ${port_dir}/vcpkg.json manifest)
foreach(feature IN LISTS FEATURES)
    string(JSON description ERROR_VARIABLE unknown GET ${manifest} features ${feature} description)
    if(unknown)
        message(FATAL_ERROR "the port has no feature '${feature}'")
    endif()
endforeach()

function(run)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
    if(NOT status EQUAL 0 OR output MATCHES "Manually-specified variables were not used")
        message(FATAL_ERROR "${output}")
    endif()
endfunction()

# Pairs of a feature and the option that it turns on.
function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
    set(options)
    while(arg_FEATURES)
        list(POP_FRONT arg_FEATURES feature option)
        if(feature IN_LIST FEATURES)
            list(APPEND options -D${option}=ON)
        else()
            list(APPEND options -D${option}=OFF)
        endif()
    endwhile()
    set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}
        -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
    run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR} --target install)
endfunction()

function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH;PACKAGE_NAME" "")
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/stretto-config.cmake)
        message(FATAL_ERROR "vcpkg_cmake_config_fixup: no package configuration in ${arg_CONFIG_PATH}")
    endif()
    file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
    file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${PORT})
    file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/share/cmake)
    # One directory less between the configuration and the prefix.
    file(GLOB configs ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
    foreach(config IN LISTS configs)
        file(READ ${config} content)
        string(REPLACE "/../../../\" ABSOLUTE" "/../../\" ABSOLUTE" content "${content}")
        string(REGEX REPLACE "get_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\)\n" "" content "${content}")
        string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\n"
            "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}/../..\" ABSOLUTE)\n" content "${content}")
        file(WRITE ${config} "${content}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/pkgconfig/stretto.pc)
        message(FATAL_ERROR "vcpkg_fixup_pkgconfig: no stretto.pc")
    endif()
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright)
endfunction()

# The port finds its files beside itself.
set(CMAKE_CURRENT_LIST_DIR ${port_dir})
include(${port_dir}/portfile.cmake)

foreach(file IN ITEMS
        include/stretto/version.hpp share/${PORT}/copyright share/${PORT}/usage share/${PORT}/stretto-config.cmake)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
        message(FATAL_ERROR "the port does not install ${file}")
    endif()
endforeach()
set(refused bin debug share/doc share/cmake)
if("compiled" IN_LIST FEATURES)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib)
        message(FATAL_ERROR "the port installs no library")
    endif()
else()
    list(APPEND refused lib)
endif()
foreach(dir IN LISTS refused)
    if(EXISTS ${CURRENT_PACKAGES_DIR}/${dir})
        message(FATAL_ERROR "the port installs ${dir}, which vcpkg refuses")
    endif()
endforeach()

# A consumer with exactly the features' components. (A feature has no underscore, a component no hyphen.)
string(REPLACE "-" "_" components "${FEATURES}")
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/package/consumer -B ${WORK}/consumer -DHOW=find_package
    -DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR} -DCOMPONENTS=${components})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
