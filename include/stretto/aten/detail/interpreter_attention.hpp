// Operators of the interpreter for attention, forward and backward. Both are computed from their definitions on
// doubles, without the blocking of kernels. Dropout is random and makes the call fail, unless its probability is zero.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_ATTENTION_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_ATTENTION_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_products.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// A stack of matrices of doubles, [batch, rows, columns] in row-major order.
struct matrices {
    std::size_t batch = 0, rows = 0, columns = 0;
    std::vector<double> x;

    matrices(std::size_t n, std::size_t r, std::size_t k) : batch(n), rows(r), columns(k), x(n * r * k) {}
    /// Copies a tensor whose last two dimensions are those of the matrices. Precondition: it has at least two
    /// dimensions.
    explicit matrices(const tensor& t)
        : rows(static_cast<std::size_t>(t.shape()[t.rank() - 2])), columns(static_cast<std::size_t>(t.shape().back())) {
        x = t.values<double>();
        batch = 1;
        for (std::size_t d = 0; d + 2 < t.rank(); ++d) batch *= static_cast<std::size_t>(t.extent(d));
    }
    double& at(std::size_t n, std::size_t i, std::size_t j) { return x[(n * rows + i) * columns + j]; }
    double at(std::size_t n, std::size_t i, std::size_t j) const { return x[(n * rows + i) * columns + j]; }
    [[nodiscard]] matrices transposed() const {
        matrices made(batch, columns, rows);
        for (std::size_t n = 0; n < batch; ++n)
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < columns; ++j) made.at(n, j, i) = at(n, i, j);
        return made;
    }
    friend matrices operator*(const matrices& a, const matrices& b) {
        matrices made(a.batch, a.rows, b.columns);
        for (std::size_t n = 0; n < a.batch; ++n)
            multiply(a.x.data() + n * a.rows * a.columns, b.x.data() + n * b.rows * b.columns,
                     made.x.data() + n * a.rows * b.columns, a.rows, a.columns, b.columns);
        return made;
    }
    /// Returns the stack in which each matrix is there so many times, one behind the other.
    [[nodiscard]] matrices repeated(std::size_t times) const {
        matrices made(batch * times, rows, columns);
        const std::size_t size = rows * columns;
        for (std::size_t n = 0; n < made.batch; ++n)
            for (std::size_t i = 0; i < size; ++i) made.x[n * size + i] = x[n / times * size + i];
        return made;
    }
    /// Returns the stack of the sums of so many consecutive matrices.
    [[nodiscard]] matrices summed(std::size_t count) const {
        matrices made(batch / count, rows, columns);
        const std::size_t size = rows * columns;
        for (std::size_t n = 0; n < batch; ++n)
            for (std::size_t i = 0; i < size; ++i) made.x[n / count * size + i] += x[n * size + i];
        return made;
    }
};

/// Returns how many queries' heads share a head of the keys: 1, or more if the operator groups queries and there are
/// so many times as many of them.
template <class = void>
std::size_t heads_in_group(const tensor& q, const tensor& k, bool groups) {
    if (!groups || q.rank() < 3 || k.rank() != q.rank()) return 1;
    const std::int64_t heads = q.extent(q.rank() - 3), shared = k.extent(k.rank() - 3);
    return shared > 0 && heads % shared == 0 ? static_cast<std::size_t>(std::max<std::int64_t>(heads / shared, 1)) : 1;
}
/// Returns whether the shapes are [.., rows, e], [.., keys, e] and [.., keys, v] with the same leading dimensions, the
/// last of which may be smaller for keys and values by the number of heads in a group.
template <class = void>
bool is_attention(const tensor& q, const tensor& k, const tensor& v, std::size_t group = 1) {
    if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank()) return false;
    for (std::size_t d = 0; d + 2 < q.rank(); ++d) {
        const std::int64_t times = d + 3 == q.rank() ? static_cast<std::int64_t>(group) : 1;
        if (k.extent(d) * times != q.extent(d) || v.extent(d) != k.extent(d)) return false;
    }
    return k.shape().back() == q.shape().back() && v.shape()[q.rank() - 2] == k.shape()[q.rank() - 2] &&
           q.category() == element_class::real;
}
/// Returns the scores q k^T * scale, plus the bias; they are -inf above the diagonal if attention is causal.
template <class = void>
matrices attention_scores(operator_call& c, const tensor& q, const tensor& k, std::size_t group, const tensor* bias,
                          bool causal, double scale) {
    matrices s = matrices(q) * matrices(k).repeated(group).transposed();
    std::vector<double> shift;
    if (bias) {
        extents shape = q.shape();
        shape.back() = k.shape()[k.rank() - 2];
        if (broadcast(c, shape, bias->shape()) != shape) c.fail("bias " + text_of(*bias) + " does not fit the scores");
        if (!c.failed()) shift = expanded(*bias, shape).values<double>();
    }
    for (std::size_t n = 0; n < s.batch; ++n)
        for (std::size_t i = 0; i < s.rows; ++i)
            for (std::size_t j = 0; j < s.columns; ++j) {
                // Row i sees columns up to i, even if there are more keys than queries: the diagonal starts in the
                // upper left corner.
                double& x = s.at(n, i, j);
                x *= scale;
                if (!shift.empty()) x += shift[(n * s.rows + i) * s.columns + j];
                if (causal && j > i) x = -std::numeric_limits<double>::infinity();
            }
    return s;
}
/// The position of arguments that have a name and no position.
inline constexpr std::size_t only_named = 99;

/// Returns whether the name of the operator contains the text.
template <class = void>
bool is_named(operator_call& c, std::string_view what) {
    return c.operation.find(what) != std::string_view::npos;
}
/// Returns the factor of the scores: the argument if there is one, otherwise one over the square root of a query's
/// width.
template <class = void>
double attention_scale(operator_call& c, const tensor& q) {
    return c.real(only_named, "scale", 1 / std::sqrt(static_cast<double>(q.shape().back())));
}

/// Computes attention. The variants differ in the shape of the log-sum-exp and in what else they return:
///   efficient(q, k, v, bias, lse?, dropout, causal, *, scale)          the log-sum-exp is [.., rows]
///   cudnn(q, k, v, bias, lse?, dropout, causal, debug?, *, scale)      the log-sum-exp is [.., rows, 1]
///   flash_for_cpu(q, k, v, dropout, causal, *, attn_mask, scale)       as efficient, in the type of the query if f64;
///                                                                      several heads of q may share one of k and v
template <class = void>
void attention(operator_call& c) {
    const bool cudnn = is_named(c, "cudnn"), cpu = is_named(c, "for_cpu");
    const tensor q = c.input(0, "query"), k = c.input(1, "key"), v = c.input(2, "value");
    const std::size_t bias_at = cpu ? only_named : 3, dropout_at = cpu ? 3 : 5;
    const std::string_view bias_name = cpu ? "attn_mask" : "attn_bias";
    const bool biased = c.has(bias_at, bias_name);
    const tensor bias = biased ? c.input(bias_at, bias_name) : tensor();
    if (c.real(dropout_at, "dropout_p", 0) != 0) c.fail("has dropout, which is random");
    const bool causal = c.truth(dropout_at + 1, "is_causal", false);
    const std::size_t group = heads_in_group(q, k, cpu);
    if (!c.failed() && !is_attention(q, k, v, group))
        c.fail("no attention of " + text_of(q) + ", " + text_of(k) + " and " + text_of(v));
    if (c.failed()) return;
    matrices s = attention_scores(c, q, k, group, biased ? &bias : nullptr, causal, attention_scale(c, q));
    std::vector<double> lse;
    for (std::size_t n = 0; n < s.batch; ++n)
        for (std::size_t i = 0; i < s.rows; ++i) {
            // The largest score is subtracted before exponentiation, so that nothing overflows.
            double top = -std::numeric_limits<double>::infinity(), total = 0;
            for (std::size_t j = 0; j < s.columns; ++j) top = larger(top, s.at(n, i, j));
            for (std::size_t j = 0; j < s.columns; ++j) total += std::exp(s.at(n, i, j) - top);
            // A query that may look at no key gets zeros on the CPU.
            const bool sees_none = cpu && std::isinf(top) && top < 0;
            lse.push_back(sees_none ? 0 : top + std::log(total));
            for (std::size_t j = 0; j < s.columns; ++j) s.at(n, i, j) = std::exp(s.at(n, i, j) - lse.back());
        }
    extents shape = q.shape(), rows = q.shape();
    shape.back() = v.shape().back();
    if (cudnn) rows.back() = 1;
    else rows.pop_back();
    // The result is dense as [batch, rows, heads, v], because kernels leave it that way.
    const tensor out = made_of<double>(q.element(), shape, (s * matrices(v).repeated(group)).x);
    c.give(out.rank() == 4 ? transposed(transposed(out, 1, 2).cloned(), 1, 2) : out);
    // The log-sum-exp is f32 for every type of the query, because the backward pass recomputes probabilities from it.
    const bool wide = cpu && q.element() == element_type::f64;
    c.give(made_of<double>(wide ? element_type::f64 : element_type::f32, rows, lse));
    if (cpu) return;
    c.give(tensor(element_type::i64, {}));  // the state of a generator, which nothing reads
    c.give(tensor(element_type::i64, {}));
    // Between the log-sum-exp and the seed, cudnn returns sequence lengths, which are None here, and two numbers, which
    // nothing reads; at the end it returns a mask for debugging, which is None too.
    constexpr std::size_t none = interpreted_value::no_tensor;
    if (cudnn) c.result.places = {0, 1, none, none, none, none, 2, 3, none};
}
/// Returns the gradients of q, k and v. The variants have these arguments:
///   efficient_backward(g, q, k, v, bias, out, lse, seed, offset, dropout, mask[4], causal, *, scale)
///   cudnn_backward(g, q, k, v, out, lse, seed, offset, bias, cum_q, cum_k, max_q, max_k, dropout, causal, *, scale)
///   flash_for_cpu_backward(g, q, k, v, out, lse, dropout, causal, *, attn_mask, scale)
template <class = void>
void attention_backward(operator_call& c) {
    const bool cudnn = is_named(c, "cudnn"), cpu = is_named(c, "for_cpu");
    const std::size_t bias_at = cpu ? only_named : cudnn ? 8 : 4, out_at = cudnn || cpu ? 4 : 5;
    const std::size_t dropout_at = cpu ? 6 : cudnn ? 13 : 9, causal_at = cpu ? 7 : cudnn ? 14 : 11;
    const std::string_view bias_name = cpu ? "attn_mask" : "attn_bias";
    const tensor g = c.input(0, "grad_out"), q = c.input(1, "query"), k = c.input(2, "key"), v = c.input(3, "value");
    const tensor out = c.input(out_at, "out"), lse = c.input(out_at + 1, "logsumexp");
    const bool biased = c.has(bias_at, bias_name);
    const tensor bias = biased ? c.input(bias_at, bias_name) : tensor();
    if (c.real(dropout_at, "dropout_p", 0) != 0) c.fail("has dropout, which is random");
    const bool causal = c.truth(causal_at, "is_causal", false);
    if (!cudnn && !cpu) {
        const extents wanted = c.integers(10, "grad_input_mask");
        if (wanted.size() == 4 && wanted[3] != 0) c.fail("the gradient of a bias is not supported");
    }
    extents shape = q.shape();
    if (!shape.empty() && v.rank() > 0) shape.back() = v.shape().back();
    const std::size_t group = heads_in_group(q, k, cpu);
    if (!c.failed() && (!is_attention(q, k, v, group) || g.shape() != shape || out.shape() != shape))
        c.fail("no gradient of attention of " + text_of(q) + ", " + text_of(k) + " and " + text_of(v));
    if (c.failed()) return;
    const double scale = attention_scale(c, q);
    matrices p = attention_scores(c, q, k, group, biased ? &bias : nullptr, causal, scale);
    const std::vector<double> l = lse.values<double>();
    if (l.size() != p.batch * p.rows) return c.fail("log-sum-exp " + text_of(lse) + " is that of something else");
    for (std::size_t n = 0; n < p.batch; ++n)
        for (std::size_t i = 0; i < p.rows; ++i)
            for (std::size_t j = 0; j < p.columns; ++j) p.at(n, i, j) = std::exp(p.at(n, i, j) - l[n * p.rows + i]);
    // The gradient of the softmax needs, for each row, the sum over all keys of p * dp. That is the product of the rows
    // of gradient and result, because the result is p v and dp is g v^T.
    const matrices gm(g), om(out);
    matrices ds = gm * matrices(v).repeated(group).transposed();
    for (std::size_t n = 0; n < p.batch; ++n)
        for (std::size_t i = 0; i < p.rows; ++i) {
            double dot = 0;
            for (std::size_t j = 0; j < gm.columns; ++j) dot += gm.at(n, i, j) * om.at(n, i, j);
            for (std::size_t j = 0; j < p.columns; ++j) ds.at(n, i, j) = (ds.at(n, i, j) - dot) * p.at(n, i, j) * scale;
        }
    c.give(made_of<double>(q.element(), q.shape(), (ds * matrices(k).repeated(group)).x));
    c.give(made_of<double>(k.element(), k.shape(), (ds.transposed() * matrices(q)).summed(group).x));
    c.give(made_of<double>(v.element(), v.shape(), (p.transposed() * gm).summed(group).x));
}

template <class = void>
inline constexpr operator_entry attention_operators[] = {
    {"aten._scaled_dot_product_efficient_attention", "default", attention<>},
    {"aten._scaled_dot_product_cudnn_attention", "default", attention<>},
    {"aten._scaled_dot_product_flash_attention_for_cpu", "default", attention<>},
    {"aten._scaled_dot_product_efficient_attention_backward", "default", attention_backward<>},
    {"aten._scaled_dot_product_cudnn_attention_backward", "default", attention_backward<>},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward", "default", attention_backward<>},
};

}  // namespace stretto::aten::detail

#endif
