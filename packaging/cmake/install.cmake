# Install rules: headers, one export set per component, the package configuration and pkg-config files. Everything is
# relocatable, and independent of the architecture but for stretto::compiled.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(stretto_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/stretto")

install(TARGETS stretto EXPORT stretto-targets FILE_SET HEADERS)
install(EXPORT stretto-targets NAMESPACE stretto:: DESTINATION ${stretto_package_dir})

foreach(component IN ITEMS capture boost_graph host mpi cuda_nccl range_v3)
    install(TARGETS stretto_${component} EXPORT stretto-${component}-targets FILE_SET HEADERS)
    install(EXPORT stretto-${component}-targets NAMESPACE stretto:: DESTINATION ${stretto_package_dir})
endforeach()

if(TARGET stretto_compiled)
    install(TARGETS stretto_compiled EXPORT stretto-compiled-targets ARCHIVE)
    install(EXPORT stretto-compiled-targets NAMESPACE stretto:: DESTINATION ${stretto_package_dir})
endif()

configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/stretto-config.cmake.in stretto-config.cmake
    INSTALL_DESTINATION ${stretto_package_dir}
    NO_SET_AND_CHECK_MACRO)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindNCCL.cmake DESTINATION ${stretto_package_dir})
write_basic_package_version_file(stretto-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
    FILES
        ${CMAKE_CURRENT_BINARY_DIR}/stretto-config.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/stretto-config-version.cmake
    DESTINATION ${stretto_package_dir})

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig
    OUTPUT_VARIABLE stretto_include_from_pc)
foreach(module IN ITEMS stretto stretto-host stretto-mpi stretto-cuda_nccl)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${module}.pc.in ${module}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/stretto)

if(TARGET stretto-plan)
    install(TARGETS stretto-plan)
endif()
