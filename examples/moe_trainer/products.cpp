#include "products.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace trainer {
namespace {

// The one function of a BLAS that is used here, declared so that compiling needs no header of a BLAS. Extents fit into
// an int, because the trainer numbers rows in 32 bits, too.
using sgemm = void(int layout, int a_form, int b_form, int m, int n, int k, float factor, const float* a, int a_stride,
                   const float* b, int b_stride, float c_factor, float* c, int c_stride);
constexpr int row_major = 101, as_is = 111, transposed = 112;

sgemm* blas = nullptr;  // null: the loops compute products

/// Computes a block of `rows` times `columns` results, whose sums stay in registers.
template <std::size_t rows, std::size_t columns>
void block(std::size_t k, const float* a, std::size_t down, std::size_t along, const float* b, std::size_t width,
           float* c, bool adds) {
    float sum[rows][columns];
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < columns; ++j) sum[r][j] = adds ? c[r * width + j] : 0.0f;
    for (std::size_t x = 0; x < k; ++x)
        for (std::size_t r = 0; r < rows; ++r) {
            const float left = a[r * down + x * along];
            for (std::size_t j = 0; j < columns; ++j) sum[r][j] += left * b[x * width + j];
        }
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < columns; ++j) c[r * width + j] = sum[r][j];
}

template <std::size_t rows>
void band(std::size_t n, std::size_t k, const float* a, std::size_t down, std::size_t along, const float* b, float* c,
          bool adds) {
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) block<rows, 8>(k, a, down, along, b + j, n, c + j, adds);
    for (; j < n; ++j) block<rows, 1>(k, a, down, along, b + j, n, c + j, adds);
}

/// A sum begins with 0, or with what c has, and proceeds in the order of k.
void multiply_with_loops(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_down,
                         std::int64_t a_along, const float* b, float* c, bool adds) {
    const auto columns = static_cast<std::size_t>(n), inside = static_cast<std::size_t>(k);
    const auto down = static_cast<std::size_t>(a_down), along = static_cast<std::size_t>(a_along);
    std::int64_t r = 0;
    for (; r + 4 <= m; r += 4) band<4>(columns, inside, a + r * a_down, down, along, b, c + r * n, adds);
    for (; r < m; ++r) band<1>(columns, inside, a + r * a_down, down, along, b, c + r * n, adds);
}

/// Each form is `as_is`, or `transposed` if the matrix is stored that way. All three are stored densely.
void multiply_with_blas(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, int a_form, const float* b,
                        int b_form, float* c, bool adds) {
    const auto rows = static_cast<int>(m), columns = static_cast<int>(n), inside = static_cast<int>(k);
    blas(row_major, a_form, b_form, rows, columns, inside, 1.0f, a, a_form == as_is ? inside : rows, b,
         b_form == as_is ? columns : inside, adds ? 1.0f : 0.0f, c, columns);
}

/// Makes a product that has no elements, or whose sums have none, because a BLAS may refuse rows of length 0. Returns
/// false if it is another product.
bool made_if_empty(std::int64_t m, std::int64_t n, std::int64_t k, float* c, bool adds) {
    if (m != 0 && n != 0 && k != 0) return false;
    if (!adds) std::fill(c, c + m * n, 0.0f);
    return true;
}

}  // namespace

std::optional<std::string> compute_products_with(const std::string& library) {
    if (library.empty()) return blas = nullptr, std::nullopt;
    void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const found = opened == nullptr ? nullptr : dlsym(opened, "cblas_sgemm");
    if (found == nullptr) {
        std::string wrong = "--blas " + library +
                            ": there is no BLAS with cblas_sgemm; install libopenblas0-pthread and use "
                            "--blas libopenblas.so.0, or libblas3 and --blas libblas.so.3 (" +
                            dlerror() + ")";
        if (opened != nullptr) dlclose(opened);
        return wrong;
    }
    // OpenBLAS would divide every product among all processors, on which the other ranks compute.
    if (void* const limits = dlsym(opened, "openblas_set_num_threads"))
        reinterpret_cast<void (*)(int threads)>(limits)(1);
    blas = reinterpret_cast<sgemm*>(found);
    return {};
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_down, std::int64_t a_along,
              const float* b, float* c, bool adds) {
    if (made_if_empty(m, n, k, c, adds)) return;
    if (blas == nullptr) return multiply_with_loops(m, n, k, a, a_down, a_along, b, c, adds);
    multiply_with_blas(m, n, k, a, a_along == 1 ? as_is : transposed, b, as_is, c, adds);
}

void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) {
    if (made_if_empty(m, n, k, c, false)) return;
    if (blas != nullptr) return multiply_with_blas(m, n, k, a, as_is, b, transposed, c, false);
    thread_local std::vector<float> turned;
    turned.resize(static_cast<std::size_t>(n * k));
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t x = 0; x < k; ++x) turned[static_cast<std::size_t>(x * n + j)] = b[j * k + x];
    multiply_with_loops(m, n, k, a, k, 1, turned.data(), c, false);
}

}  // namespace trainer
