# shellcheck shell=sh
# Shared by the scripts that compile and run a program for devices. Source it from the top of the repository.
#
#     . packaging/cuda.sh
#     needs_cuda WORK_DIR nccl.h ...
#     compile_for_devices NAME SOURCE PROGRAM OPTION...
#
# The compiler is the one of CUDAToolkit_ROOT, or of /usr/local/cuda; the architecture is STRETTO_CUDA_ARCH, or sm_90.

cuda_root=${CUDAToolkit_ROOT:-/usr/local/cuda}
LD_LIBRARY_PATH=$cuda_root/lib:$cuda_root/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# needs_cuda WORK_DIR HEADER...: exits with 77, after a line that says why, where the compiler is missing or does not find
# a header, wherever that is.
needs_cuda() {
    needs=$1/needs.cu
    shift
    printf '#include <%s>\n' "$@" >"$needs"
    if ! "$cuda_root/bin/nvcc" -E "$needs" >/dev/null 2>&1; then
        echo "no $cuda_root/bin/nvcc, or it does not find $*"
        exit 77
    fi
}

# compile_for_devices NAME SOURCE PROGRAM OPTION...: prints `ok NAME ...`, or `FAILED NAME ...` and exits with 1.
compile_for_devices() {
    name=$1 source=$2 program=$3
    shift 3
    if ! "$cuda_root/bin/nvcc" -std=c++20 -Iinclude -arch="${STRETTO_CUDA_ARCH:-sm_90}" -Werror all-warnings \
        -diag-suppress 2409 "$source" -o "$program" -L"$cuda_root/lib" -L"$cuda_root/lib64" "$@" -lnccl -lcudart; then
        echo "FAILED $name is compiled and linked"
        exit 1
    fi
    echo "ok $name is compiled and linked"
}
