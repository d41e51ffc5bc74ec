// Matrix products of the interpreter. Every sum begins with zero and runs over ascending positions of the contracted
// dimension, so each row of the result is deterministic and independent of the other rows: the product of some of the
// rows equals those rows of the full product bit for bit. Differential tests of chunking rely on that; devices do not
// promise it.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_PRODUCTS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_PRODUCTS_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Adds the product of two matrices: out[rows, columns] += a[rows, inner] b[inner, columns], all in row-major order.
/// The innermost loop runs along rows of b and out, which is fast and does not change the order of any sum. O(rows *
/// inner * columns).
template <class T>
void multiply(const T* a, const T* b, T* out, std::size_t rows, std::size_t inner, std::size_t columns) {
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < inner; ++k) {
            const T x = a[i * inner + k];
            for (std::size_t j = 0; j < columns; ++j)
                out[i * columns + j] = plus(out[i * columns + j], times(x, b[k * columns + j]));
        }
}

/// Returns the products of two stacks of matrices: [n, rows, inner] times [n, inner, columns]. The call fails if shapes
/// or types do not fit: products neither broadcast nor promote.
template <class = void>
tensor batched_product(operator_call& c, const tensor& a, const tensor& b) {
    if (a.rank() != 3 || b.rank() != 3 || a.extent(0) != b.extent(0) || a.extent(2) != b.extent(1) ||
        a.element() != b.element()) {
        c.fail(text_of(a) + " times " + text_of(b) + " is no product of matrices");
        return {};
    }
    const auto batch = static_cast<std::size_t>(a.extent(0)), rows = static_cast<std::size_t>(a.extent(1));
    const auto inner = static_cast<std::size_t>(a.extent(2)), columns = static_cast<std::size_t>(b.extent(2));
    tensor made;
    in_class(a.category(), [&]<class T>(T) {
        const std::vector<T> x = a.values<T>(), y = b.values<T>();
        std::vector<T> out(batch * rows * columns);
        for (std::size_t n = 0; n < batch; ++n)
            multiply(x.data() + n * rows * inner, y.data() + n * inner * columns, out.data() + n * rows * columns, rows,
                     inner, columns);
        made = made_of<T>(a.element(), {a.extent(0), a.extent(1), b.extent(2)}, out);
    });
    return made;
}
template <class = void>
void bmm(operator_call& c) {
    const tensor a = c.input(0, "self"), b = c.input(1, "mat2");
    if (c.failed()) return;
    const tensor made = batched_product(c, a, b);
    if (!c.failed()) c.give(made);
}
/// Returns a matrix as a stack of one.
template <class = void>
tensor as_batch(const tensor& t) {
    extents shape = t.shape(), strides = t.strides();
    shape.insert(shape.begin(), 1);
    strides.insert(strides.begin(), 0);
    return t.view(shape, strides, t.offset());
}
/// Returns the product of two matrices. The call fails if they do not fit.
template <class = void>
tensor product_of(operator_call& c, const tensor& a, const tensor& b) {
    const tensor made = batched_product(c, as_batch(a), as_batch(b));
    return c.failed() ? made : selected(made, 0, 0);
}
template <class = void>
void mm(operator_call& c) {
    const tensor a = c.input(0, "self"), b = c.input(1, "mat2");
    if (c.failed()) return;
    const tensor made = product_of(c, a, b);
    if (!c.failed()) c.give(made);
}
/// addmm(self, a, b, beta, alpha) returns beta * self + alpha * (a b). If beta is 0, self is not read, so its NaNs do
/// not propagate.
template <class = void>
void addmm(operator_call& c) {
    const tensor self = c.input(0, "self"), a = c.input(1, "mat1"), b = c.input(2, "mat2");
    const number one = number::of(std::int64_t{1}), beta = c.scalar(3, "beta", one), alpha = c.scalar(4, "alpha", one);
    if (c.failed()) return;
    const tensor made = product_of(c, a, b);
    if (c.failed()) return;
    on_pairs(c, {self, false}, {made, false}, made.element(), made.element(), [=]<class T>(T x, T y) -> T {
        const T product = times(as<T>(alpha), y);
        return beta.real == 0 ? product : plus(times(as<T>(beta), x), product);
    });
}

/// _grouped_mm(self, mat2, offs) returns the products of groups that are stored one after the other; offsets say where
/// each group ends. With a[rows, inner] and b[groups, inner, columns], the rows of group g are multiplied by b[g]; rows
/// after the last group are garbage. With a[rows, inner] and b[inner, columns], the positions of group g in the
/// contracted dimension make matrix g of [groups, rows, columns].
template <class = void>
void grouped_mm(operator_call& c) {
    const tensor a = c.input(0, "self"), b = c.input(1, "mat2"), offs = c.input(2, "offs");
    if (c.has(3, "bias")) c.fail("is not supported with a bias");
    const element_type e = c.element(4, "out_dtype", a.element());
    if (a.rank() != 2 || (b.rank() != 2 && b.rank() != 3) || offs.rank() != 1 || a.element() != b.element() ||
        a.category() != element_class::real)
        c.fail("is not supported for " + text_of(a) + ", " + text_of(b) + " and offsets " + text_of(offs));
    if (c.failed()) return;
    const bool by_rows = b.rank() == 3;
    const std::int64_t groups = offs.extent(0), cut = by_rows ? a.extent(0) : a.extent(1);
    if (a.extent(1) != b.extent(by_rows ? 1 : 0) || (by_rows && b.extent(0) != groups))
        return c.fail(text_of(a) + " and " + text_of(b) + " do not fit in " + text_of(groups) + " groups");
    // Groups of rows may leave rows at the end that belong to no group, such as the padding of a buffer of fixed size;
    // kernels do not write these. Groups of the contracted dimension write every matrix; an empty group writes zeros.
    tensor made = by_rows ? garbage(e, {a.extent(0), b.extent(2)}) : tensor(e, {groups, a.extent(0), b.extent(1)});
    std::int64_t first = 0, group = 0;
    for (const std::int64_t end : offs.values<std::int64_t>()) {
        if (end < first || end > cut)
            return c.fail("offsets " + text_of(offs.values<std::int64_t>()) + " do not ascend within " + text_of(cut));
        const tensor left = narrowed(a, by_rows ? 0 : 1, first, end - first);
        const tensor right = by_rows ? selected(b, 0, group) : narrowed(b, 0, first, end - first);
        const tensor part = product_of(c, left, right);
        if (c.failed()) return;
        const tensor where = by_rows ? narrowed(made, 0, first, end - first) : selected(made, 0, group);
        where.assign<double>(part.values<double>());
        first = end;
        ++group;
    }
    made.storage()->writes = 0;
    c.give(made);
}

template <class = void>
inline constexpr operator_entry product_operators[] = {
    {"aten.mm", "default", mm<>},
    {"aten.bmm", "default", bmm<>},
    {"aten.addmm", "default", addmm<>},
    {"aten._grouped_mm", "default", grouped_mm<>},
};

}  // namespace stretto::aten::detail

#endif
