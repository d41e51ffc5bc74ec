// Products of matrices on a device: by cuBLAS, and in plain loops to check them.
#ifndef STRETTO_BENCH_DEVICE_MATRIX_PRODUCTS_CUH
#define STRETTO_BENCH_DEVICE_MATRIX_PRODUCTS_CUH

#include <cublas_v2.h>

#include <cstddef>

#include "device/memory.cuh"

namespace bench {

/// A product in plain loops, in double: to[m x n], with strides of rows and columns. What results are checked against.
template <class A, class B, class C>
__global__ void plain_product(const A* a, std::size_t ar, std::size_t ac, const B* b, std::size_t br, std::size_t bc,
                              C* to, std::size_t m, std::size_t n, std::size_t depth) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at >= m * n) return;
    const std::size_t r = at / n, c = at % n;
    double sum = 0;
    for (std::size_t k = 0; k < depth; ++k)
        sum += static_cast<double>(static_cast<float>(a[r * ar + k * ac])) *
               static_cast<double>(static_cast<float>(b[k * br + c * bc]));
    to[at] = static_cast<C>(static_cast<float>(sum));
}

/// Products of matrices in rows, by cuBLAS: bf16, sums in f32. It has a workspace of its own, so that its bits do not
/// depend on what other streams do.
class products {
public:
    products() : workspace_(32 << 20) {
        must(cublasCreate(&handle_), "cublasCreate");
        must(cublasSetWorkspace(handle_, workspace_.data, workspace_.size), "cublasSetWorkspace");
    }
    products(const products&) = delete;
    ~products() { static_cast<void>(cublasDestroy(handle_)); }

    /// Leaves multiprocessors to others; 0 takes all.
    void use_multiprocessors(int n) { must(cublasSetSmCountTarget(handle_, n), "cublasSetSmCountTarget"); }
    [[nodiscard]] cublasHandle_t on(cudaStream_t s) {
        must(cublasSetStream(handle_, s), "cublasSetStream");
        must(cublasSetWorkspace(handle_, workspace_.data, workspace_.size), "cublasSetWorkspace");
        return handle_;
    }

    /// to[m x n] = a b, where `a` or `b` may be given transposed; `to` is bf16, or f32, to which `adds` adds.
    template <class C>
    void operator()(const bf16* a, bool at, const bf16* b, bool bt, C* to, std::size_t m, std::size_t n,
                    std::size_t depth, bool adds, cudaStream_t s) {
        const float one = 1, beta = adds ? 1.0f : 0.0f;
        const auto i = [](std::size_t x) { return static_cast<int>(x); };
        // cuBLAS has columns where we have rows: it computes the transposed product.
        must(cublasGemmEx(on(s), bt ? CUBLAS_OP_T : CUBLAS_OP_N, at ? CUBLAS_OP_T : CUBLAS_OP_N, i(n), i(m), i(depth),
                          &one, b, CUDA_R_16BF, i(bt ? depth : n), a, CUDA_R_16BF, i(at ? m : depth), &beta, to,
                          sizeof(C) == 2 ? CUDA_R_16BF : CUDA_R_32F, i(n), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
             "cublasGemmEx");
    }

private:
    buffer<std::byte> workspace_;
    cublasHandle_t handle_ = nullptr;
};

}  // namespace bench

#endif
