#include "kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "products.hpp"

namespace trainer {
namespace {

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

/// Compute silu(a) b of the halves a and b of each row, and its derivatives.
void swish_rows(std::int64_t rows, std::int64_t half, const float* x, float* y) {
    for (std::int64_t r = 0; r < rows; ++r, x += 2 * half, y += half)
        for (std::int64_t j = 0; j < half; ++j) y[j] = x[j] * sigmoid(x[j]) * x[half + j];
}
void swish_rows_back(std::int64_t rows, std::int64_t half, const float* g, const float* x, float* y) {
    for (std::int64_t r = 0; r < rows; ++r, g += half, x += 2 * half, y += 2 * half)
        for (std::int64_t j = 0; j < half; ++j) {
            const float s = sigmoid(x[j]);
            y[j] = g[j] * x[half + j] * s * (1.0f + x[j] * (1.0f - s));
            y[half + j] = g[j] * x[j] * s;
        }
}

float square_sum(const float* x, std::int64_t n) {
    float sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += x[j] * x[j];
    return sum;
}
float inner(const float* a, const float* b, std::int64_t n) {
    float sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += a[j] * b[j];
    return sum;
}
constexpr float tiny = 1e-5f;

/// Computes causal attention of one head of one sequence. Rows of queries, keys and values are `stride` apart.
class head {
public:
    head(std::int64_t length, std::int64_t width, std::int64_t stride) : s_(length), d_(width), stride_(stride) {
        const auto size = static_cast<std::size_t>(s_ * d_);
        for (std::vector<float>* x : {&q_, &k_, &dq_, &dk_}) x->resize(size);
        weights_.resize(static_cast<std::size_t>(s_ * s_));
        row_.resize(static_cast<std::size_t>(s_));
        turns_.resize(size);
        for (std::int64_t t = 0; t < s_; ++t)
            for (std::int64_t j = 0; j < d_ / 2; ++j) {
                const double angle = static_cast<double>(t) *
                                     std::pow(10'000.0, -2.0 * static_cast<double>(j) / static_cast<double>(d_));
                turns_[static_cast<std::size_t>(t * d_ + 2 * j)] = static_cast<float>(std::cos(angle));
                turns_[static_cast<std::size_t>(t * d_ + 2 * j + 1)] = static_cast<float>(std::sin(angle));
            }
    }

    void forward(const float* q, const float* k, const float* v, float* y, std::int64_t y_stride) {
        weigh(q, k);
        for (std::int64_t t = 0; t < s_; ++t) {
            float* const to = y + t * y_stride;
            std::fill(to, to + d_, 0.0f);
            for (std::int64_t u = 0; u <= t; ++u) {
                const float w = weights_[static_cast<std::size_t>(t * s_ + u)];
                for (std::int64_t j = 0; j < d_; ++j) to[j] += w * v[u * stride_ + j];
            }
        }
    }
    /// Writes the gradients of queries, keys and values, whose rows are also `stride` apart.
    void backward(const float* g, std::int64_t g_stride, const float* q, const float* k, const float* v, float* dq,
                  float* dk, float* dv) {
        weigh(q, k);
        std::fill(dq_.begin(), dq_.end(), 0.0f);
        std::fill(dk_.begin(), dk_.end(), 0.0f);
        for (std::int64_t t = 0; t < s_; ++t) std::fill(dv + t * stride_, dv + t * stride_ + d_, 0.0f);
        const float factor = 1.0f / std::sqrt(static_cast<float>(d_));
        for (std::int64_t t = 0; t < s_; ++t) {
            const float* const from = g + t * g_stride;
            float sum = 0;
            for (std::int64_t u = 0; u <= t; ++u) {
                const float w = weights_[static_cast<std::size_t>(t * s_ + u)];
                const float x = inner(from, v + u * stride_, d_);
                row_[static_cast<std::size_t>(u)] = x;
                sum += w * x;
                for (std::int64_t j = 0; j < d_; ++j) dv[u * stride_ + j] += w * from[j];
            }
            for (std::int64_t u = 0; u <= t; ++u) {
                const float w = weights_[static_cast<std::size_t>(t * s_ + u)];
                const float x = w * (row_[static_cast<std::size_t>(u)] - sum) * factor;
                for (std::int64_t j = 0; j < d_; ++j) {
                    dq_[static_cast<std::size_t>(t * d_ + j)] += x * k_[static_cast<std::size_t>(u * d_ + j)];
                    dk_[static_cast<std::size_t>(u * d_ + j)] += x * q_[static_cast<std::size_t>(t * d_ + j)];
                }
            }
        }
        turn(dq_.data(), d_, dq, stride_, -1.0f);
        turn(dk_.data(), d_, dk, stride_, -1.0f);
    }

private:
    /// Rotates pairs of columns by angles that grow with the position, or back.
    void turn(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride, float way) const {
        for (std::int64_t t = 0; t < s_; ++t)
            for (std::int64_t j = 0; j < d_; j += 2) {
                const float c = turns_[static_cast<std::size_t>(t * d_ + j)];
                const float s = way * turns_[static_cast<std::size_t>(t * d_ + j + 1)];
                const float a = x[t * x_stride + j], b = x[t * x_stride + j + 1];
                y[t * y_stride + j] = a * c - b * s;
                y[t * y_stride + j + 1] = a * s + b * c;
            }
    }
    /// Rotates queries and keys, and computes the weight of each position u for each later position t.
    void weigh(const float* q, const float* k) {
        turn(q, stride_, q_.data(), d_, 1.0f);
        turn(k, stride_, k_.data(), d_, 1.0f);
        const float factor = 1.0f / std::sqrt(static_cast<float>(d_));
        for (std::int64_t t = 0; t < s_; ++t) {
            float* const w = weights_.data() + t * s_;
            float most = -INFINITY, sum = 0;
            for (std::int64_t u = 0; u <= t; ++u) {
                w[u] = factor * inner(q_.data() + t * d_, k_.data() + u * d_, d_);
                most = std::max(most, w[u]);
            }
            for (std::int64_t u = 0; u <= t; ++u) sum += w[u] = std::exp(w[u] - most);
            for (std::int64_t u = 0; u <= t; ++u) w[u] /= sum;
        }
    }

    std::int64_t s_, d_, stride_;
    std::vector<float> q_, k_, dq_, dk_, weights_, row_, turns_;
};

}  // namespace

float rounded_to_16_bits(float x) {
    auto bits = std::bit_cast<std::uint32_t>(x);
    if (x != x) return x;
    bits += 0x7fffu + (bits >> 16 & 1u);
    return std::bit_cast<float>(bits & 0xffff0000u);
}

void compute(const program& p, op_id id, stretto::task_memory memory) {
    const auto [in, out] = memory;
    const operation& o = p.ops[id];
    const auto shape = [&](std::size_t k) -> const extents& { return p.shape(o.reads[k]); };
    const auto count = [&](std::size_t k) { return p.tensors[o.reads[k]].count(); };
    const auto read = [&](std::size_t k) { return memory.operand<const float>(k); };
    const auto indices = [&](std::size_t k) { return memory.operand<const std::int32_t>(k); };
    const auto numbers = [&](std::size_t k) { return memory.operand<const std::int64_t>(k); };
    const auto changed = [&](std::size_t k) { return memory.operand<float>(k); };
    const extents& made = p.shape(o.makes[0]);
    const std::int64_t all = p.tensors[o.makes[0]].count();
    const std::int64_t columns = made.empty() ? 1 : made.back(), rows = columns == 0 ? 0 : all / columns;
    auto* const to = memory.result<float>(0);
    auto* const integers = memory.result<std::int64_t>(0);
    auto* const places = memory.result<std::int32_t>(0);
    // Calls f(expert, first row, rows) for each group of rows that is not empty. Rows come rank by rank, and those of
    // each rank expert by expert: entry k of the ends is for expert k modulo the number of experts.
    const auto each_group = [&](std::size_t at, std::int64_t experts, auto&& f) {
        std::int64_t first = 0;
        for (std::int64_t k = 0; k < count(at); ++k) {
            const std::int64_t last = numbers(at)[k];
            if (last > first) f(k % experts, first, last - first);
            first = last;
        }
        return first;
    };
    const auto copy = [&](std::size_t k) {
        if (all != 0) std::memcpy(out[0], in[k], static_cast<std::size_t>(p.tensors[o.makes[0]].size()));
    };
    switch (o.what) {
        case code::embed:
            for (std::int64_t r = 0; r < rows; ++r)
                std::copy_n(read(0) + indices(1)[r] * columns, columns, to + r * columns);
            return;
        case code::embed_back:
            std::fill(to, to + all, 0.0f);
            for (std::int64_t r = 0; r < count(1); ++r)
                for (std::int64_t j = 0; j < columns; ++j) to[indices(1)[r] * columns + j] += read(0)[r * columns + j];
            return;
        case code::norm:
            for (std::int64_t r = 0; r < rows; ++r) {
                const float* const x = read(0) + r * columns;
                const float by = 1.0f / std::sqrt(square_sum(x, columns) / static_cast<float>(columns) + tiny);
                for (std::int64_t j = 0; j < columns; ++j) to[r * columns + j] = x[j] * by * read(1)[j];
            }
            return;
        case code::norm_back: {
            float* const gain = memory.result<float>(1);
            std::fill(gain, gain + columns, 0.0f);
            for (std::int64_t r = 0; r < rows; ++r) {
                const float *const g = read(0) + r * columns, *const x = read(1) + r * columns;
                const float by = 1.0f / std::sqrt(square_sum(x, columns) / static_cast<float>(columns) + tiny);
                float sum = 0;
                for (std::int64_t j = 0; j < columns; ++j) {
                    sum += g[j] * read(2)[j] * x[j];
                    gain[j] += g[j] * x[j] * by;
                }
                const float back = sum * by * by * by / static_cast<float>(columns);
                for (std::int64_t j = 0; j < columns; ++j) to[r * columns + j] = g[j] * read(2)[j] * by - x[j] * back;
            }
            return;
        }
        case code::project:
            return multiply(rows, columns, shape(1)[0], read(0), shape(1)[0], 1, read(1), to, false);
        case code::project_back:
            return multiply_transposed(rows, columns, shape(1)[1], read(0), read(1), to);
        case code::weigh:
            return multiply(made[0], made[1], shape(0)[0], read(0), 1, made[0], read(1), to, false);
        case code::attend:
        case code::attend_back: {
            const bool back = o.what == code::attend_back;
            const std::int64_t length = made[1], width = back ? made[2] / 3 : made[2], one = width / o.field;
            head h(length, one, 3 * width);
            for (std::int64_t b = 0; b < made[0]; ++b)
                for (std::int64_t k = 0; k < o.field; ++k) {
                    const float* const q = read(back ? 1 : 0) + b * length * 3 * width + k * one;
                    const std::int64_t at = b * length * width + k * one;
                    if (!back) {
                        h.forward(q, q + width, q + 2 * width, to + at, width);
                        continue;
                    }
                    float* const dq = to + b * length * 3 * width + k * one;
                    h.backward(read(0) + at, width, q, q + width, q + 2 * width, dq, dq + width, dq + 2 * width);
                }
            return;
        }
        case code::swish:
            return swish_rows(rows, columns, read(0), to);
        case code::swish_back:
            return swish_rows_back(rows, columns / 2, read(0), read(1), to);
        case code::expert_swish:
            return swish_rows(numbers(1)[count(1) - 1], columns, read(0), to);
        case code::expert_swish_back:
            return swish_rows_back(numbers(2)[count(2) - 1], columns / 2, read(0), read(1), to);
        case code::add:
            for (std::int64_t k = 0; k < all; ++k) to[k] = read(0)[k] + read(1)[k];
            return;
        case code::log_softmax:
            for (std::int64_t r = 0; r < rows; ++r) {
                const float* const x = read(0) + r * columns;
                const float most = *std::max_element(x, x + columns);
                float sum = 0;
                for (std::int64_t j = 0; j < columns; ++j) sum += std::exp(x[j] - most);
                const float log = most + std::log(sum);
                for (std::int64_t j = 0; j < columns; ++j) to[r * columns + j] = x[j] - log;
            }
            return;
        case code::log_softmax_back:
            for (std::int64_t r = 0; r < rows; ++r) {
                const float *const g = read(0) + r * columns, *const y = read(1) + r * columns;
                float sum = 0;
                for (std::int64_t j = 0; j < columns; ++j) sum += g[j];
                for (std::int64_t j = 0; j < columns; ++j) to[r * columns + j] = g[j] - std::exp(y[j]) * sum;
            }
            return;
        case code::loss:
            *to = 0;
            for (std::int64_t r = 0; r < count(1); ++r) *to -= read(0)[r * shape(0)[1] + indices(1)[r]];
            *memory.result<float>(1) = static_cast<float>(count(1));
            return;
        case code::loss_back:
            std::fill(to, to + all, 0.0f);
            for (std::int64_t r = 0; r < rows; ++r) to[r * columns + indices(2)[r]] = -read(0)[0];
            return;
        case code::sigmoid:
            for (std::int64_t k = 0; k < all; ++k) to[k] = sigmoid(read(0)[k]);
            return;
        case code::sigmoid_back:
            for (std::int64_t k = 0; k < all; ++k) to[k] = read(0)[k] * read(1)[k] * (1.0f - read(1)[k]);
            return;
        case code::choose: {
            const std::int64_t experts = shape(0)[1];
            std::vector<std::int32_t> best(static_cast<std::size_t>(experts));
            for (std::int64_t r = 0; r < rows; ++r) {
                std::iota(best.begin(), best.end(), 0);
                const auto score = [&](std::int32_t e) { return read(0)[r * experts + e] + read(1)[e]; };
                std::partial_sort(
                    best.begin(), best.begin() + columns, best.end(),
                    [&](std::int32_t a, std::int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
                std::copy_n(best.begin(), columns, places + r * columns);
            }
            return;
        }
        case code::gate:
            for (std::int64_t k = 0; k < all; ++k) to[k] = read(0)[k / columns * shape(0)[1] + indices(1)[k]];
            return;
        case code::gate_back:
            copy(0);
            for (std::int64_t k = 0; k < count(1); ++k) to[k / shape(1)[1] * columns + indices(1)[k]] += read(2)[k];
            return;
        case code::portion:
            for (std::int64_t r = 0; r < rows; ++r) {
                float sum = tiny;
                for (std::int64_t j = 0; j < columns; ++j) sum += read(0)[r * columns + j];
                for (std::int64_t j = 0; j < columns; ++j) to[r * columns + j] = read(0)[r * columns + j] / sum;
            }
            return;
        case code::portion_back:
            for (std::int64_t r = 0; r < rows; ++r) {
                const float *const g = read(0) + r * columns, *const x = read(1) + r * columns;
                float sum = tiny;
                for (std::int64_t j = 0; j < columns; ++j) sum += x[j];
                const float mean = inner(g, x, columns) / sum;
                for (std::int64_t j = 0; j < columns; ++j) to[r * columns + j] = (g[j] - mean) / sum;
            }
            return;
        case code::line_up: {
            auto* const from = memory.result<std::int32_t>(1);
            std::iota(from, from + all, 0);
            std::sort(from, from + all, [&](std::int32_t a, std::int32_t b) {
                return indices(0)[a] != indices(0)[b] ? indices(0)[a] < indices(0)[b] : a < b;
            });
            for (std::int64_t k = 0; k < all; ++k) places[k] = indices(0)[from[k]];
            return;
        }
        case code::token_of:
            for (std::int64_t k = 0; k < all; ++k) places[k] = indices(0)[k] / static_cast<std::int32_t>(o.field);
            return;
        case code::tally:
            std::fill(integers, integers + all, 0);
            for (std::int64_t k = 0; k < count(0); ++k) ++integers[indices(0)[k]];
            return;
        case code::per_rank:
            for (std::int64_t r = 0; r < all; ++r)
                integers[r] =
                    std::accumulate(numbers(0) + r * shape(0)[1], numbers(0) + (r + 1) * shape(0)[1], std::int64_t{0});
            return;
        case code::ends:
            std::partial_sum(numbers(0), numbers(0) + all, integers);
            return;
        case code::fetch:
            for (std::int64_t r = 0; r < rows; ++r)
                std::copy_n(read(0) + indices(1)[r] * columns, columns, to + r * columns);
            return;
        case code::blank:
            std::fill(to, to + all, 0.0f);
            return;
        case code::put:
            copy(0);
            for (std::int64_t r = 0; r < shape(2)[0]; ++r)
                for (std::int64_t j = 0; j < columns; ++j) to[indices(1)[r] * columns + j] += read(2)[r * columns + j];
            return;
        case code::scale:
            for (std::int64_t k = 0; k < all; ++k) to[k] = read(0)[k] * read(1)[k / columns];
            return;
        case code::dot:
            for (std::int64_t r = 0; r < rows; ++r)
                to[r] = inner(read(0) + r * shape(0)[1], read(1) + r * shape(0)[1], shape(0)[1]);
            return;
        case code::round16:  // rows beyond those in use are rounded too, but never read
            for (std::int64_t k = 0; k < all; ++k) to[k] = rounded_to_16_bits(read(0)[k]);
            return;
        case code::expert: {
            const std::int64_t inside = shape(1)[1];
            each_group(2, shape(1)[0], [&](std::int64_t e, std::int64_t first, std::int64_t many) {
                multiply(many, columns, inside, read(0) + first * inside, inside, 1, read(1) + e * inside * columns,
                         to + first * columns, false);
            });
            return;
        }
        case code::expert_back: {
            const std::int64_t inside = shape(1)[2];
            each_group(2, shape(1)[0], [&](std::int64_t e, std::int64_t first, std::int64_t many) {
                multiply_transposed(many, columns, inside, read(0) + first * inside, read(1) + e * inside * columns,
                                    to + first * columns);
            });
            return;
        }
        case code::weigh_experts: {
            std::fill(to, to + all, 0.0f);
            each_group(2, made[0], [&](std::int64_t e, std::int64_t first, std::int64_t many) {
                multiply(made[1], made[2], many, read(0) + first * made[1], 1, made[1], read(1) + first * made[2],
                         to + e * made[1] * made[2], true);
            });
            return;
        }
        case code::adam: {  // the clock has the rate and the bias corrections of both means
            const float rate = read(4)[0], first = read(4)[1], second = read(4)[2];
            for (std::int64_t k = 0; k < all; ++k) {
                const float g = read(3)[k];
                const float m = changed(1)[k] = 0.9f * read(1)[k] + 0.1f * g;
                const float v = changed(2)[k] = 0.99f * read(2)[k] + 0.01f * g * g;
                changed(0)[k] = read(0)[k] - rate * (m / first) / (std::sqrt(v / second) + 1e-8f);
            }
            return;
        }
        case code::balance: {
            const std::int64_t tokens = std::accumulate(numbers(1), numbers(1) + all, std::int64_t{0});
            for (std::int64_t e = 0; e < all; ++e) {
                const std::int64_t more = numbers(1)[e] * all - tokens;
                changed(0)[e] += more < 0 ? 0.001f : more > 0 ? -0.001f : 0.0f;
            }
            return;
        }
        case code::join: {
            std::byte* at = out[0];
            for (std::size_t k = 0; k < in.size(); ++k) {
                const auto size = static_cast<std::size_t>(p.tensors[o.reads[k]].size());
                if (size != 0) std::memcpy(at, in[k], size);
                at += size;
            }
            return;
        }
        case code::total:
            copy(0);
            for (std::size_t k = 1; k < in.size(); ++k)
                for (std::int64_t j = 0; j < all; ++j) {
                    if (p.tensors[o.makes[0]].element == stretto::element_type::i64) integers[j] += numbers(k)[j];
                    else to[j] += read(k)[j];
                }
            return;
        case code::pack: {  // member by member, or rank by rank if each rank has a share
            const std::int64_t ranks = o.field;
            for (std::int64_t r = 0, at = 0; r < ranks; ++r)
                for (std::size_t k = 0; k < in.size(); ++k) {
                    const std::int64_t share = count(k) / ranks;
                    std::copy_n(read(k) + r * share, share, to + at);
                    at += share;
                }
            return;
        }
        case code::unpack: {
            const std::int64_t ranks = o.field;
            for (std::int64_t r = 0, at = 0; r < ranks; ++r)
                for (std::size_t k = 0; k < out.size(); ++k) {
                    const std::int64_t share = p.tensors[o.makes[k]].count() / ranks;
                    std::copy_n(read(0) + at, share, memory.result<float>(k) + r * share);
                    at += share;
                }
            return;
        }
        default:
            return;
    }
}

}  // namespace trainer
