# Finds the CUDA runtime and NCCL, of a toolkit or of Python's wheels, and makes NCCL::NCCL of both. Looks where
# CUDAToolkit_ROOT and NCCL_ROOT say, in /usr/local/cuda, and where the system keeps libraries. Needs no compiler for
# devices, and links no driver: a program must start where there is none.
set(nccl_hints ${NCCL_ROOT} $ENV{NCCL_ROOT} ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH} /usr/local/cuda)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_hints} PATH_SUFFIXES include)
find_path(NCCL_CUDART_INCLUDE_DIR cuda_runtime_api.h HINTS ${nccl_hints} PATH_SUFFIXES include targets/x86_64-linux/include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_hints} PATH_SUFFIXES lib64 lib)
find_library(NCCL_CUDART_LIBRARY NAMES cudart HINTS ${nccl_hints} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)

if(NCCL_INCLUDE_DIR)
    file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" nccl_lines REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" nccl_numbers "${nccl_lines}")
    list(JOIN nccl_numbers "." NCCL_VERSION)
endif()
include(FindPackageHandleStandardArgs)
if(NOT NCCL_FIND_VERSION)
    set(NCCL_FIND_VERSION 2.19)
endif()
find_package_handle_standard_args(NCCL
    REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR NCCL_CUDART_LIBRARY NCCL_CUDART_INCLUDE_DIR
    VERSION_VAR NCCL_VERSION)

if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
    add_library(NCCL::NCCL INTERFACE IMPORTED)
    target_include_directories(NCCL::NCCL SYSTEM INTERFACE ${NCCL_INCLUDE_DIR} ${NCCL_CUDART_INCLUDE_DIR})
    target_link_libraries(NCCL::NCCL INTERFACE ${NCCL_LIBRARY} ${NCCL_CUDART_LIBRARY})
endif()
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_CUDART_INCLUDE_DIR NCCL_LIBRARY NCCL_CUDART_LIBRARY)
