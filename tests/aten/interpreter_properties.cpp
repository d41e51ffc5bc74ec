// Operators against loops written here, on random small tensors.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "aten/tensor_program.hpp"
#include "stretto/aten/interpreter.hpp"
#include "stretto/core/element_type.hpp"
#include "support/prop.hpp"

using namespace stretto::aten;
using stretto::element_type;
using support::floats;
using support::integers;
using support::run_operator;

namespace {

/// Reads a sequence of bytes as small numbers; behind its end everything is 0, so sequences shrink.
class dice {
public:
    explicit dice(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}
    std::int64_t below(std::int64_t n) { return next_ < bytes_.size() ? bytes_[next_++] % n : 0; }
    std::int64_t extent() { return below(4) + 1; }
    double number() { return static_cast<double>(below(17) - 8); }
    std::vector<double> numbers(std::int64_t n) {
        std::vector<double> x;
        for (std::int64_t k = 0; k < n; ++k) x.push_back(number());
        return x;
    }
    std::vector<std::int64_t> positions(std::int64_t n, std::int64_t below_this) {
        std::vector<std::int64_t> x;
        for (std::int64_t k = 0; k < n; ++k) x.push_back(below(below_this));
        return x;
    }

private:
    const std::vector<std::uint8_t>& bytes_;
    std::size_t next_ = 0;
};

std::vector<tensor> results(std::string operation, const std::vector<tensor>& given, std::string_view arguments = "") {
    const auto done = run_operator(std::move(operation), given, arguments);
    if (!done) RC_FAIL(done.error().message());
    return done->outputs[0].by_rank[0].tensors;
}
tensor result(std::string operation, const std::vector<tensor>& given, std::string_view arguments = "") {
    return results(std::move(operation), given, arguments).at(0);
}
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

TEST_CASE("a matrix product is three loops, whatever the strides") {
    stretto_check("mm", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t m = d.extent(), n = d.extent(), k = d.extent();
        const std::vector<double> x = d.numbers(m * k), y = d.numbers(k * n);
        const tensor a = floats({m, k}, x), b = floats({k, n}, y);
        std::vector<double> due(at(m * n));
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t l = 0; l < k; ++l) due[at(i * n + j)] += x[at(i * k + l)] * y[at(l * n + j)];
        RC_ASSERT(result("aten.mm.default", {a, b}).values<double>() == due);
        // (b^T a^T)^T
        const tensor turned = result("aten.mm.default", {b.view({n, k}, {1, n}, 0), a.view({k, m}, {1, k}, 0)});
        RC_ASSERT(result("aten.t.default", {turned}).values<double>() == due);
    });
}

TEST_CASE("grouped products are the products of the groups") {
    stretto_check("grouped_mm", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t groups = d.extent(), inner = d.extent(), columns = d.extent(), spare = d.below(3);
        std::vector<std::int64_t> ends;
        for (std::int64_t g = 0; g < groups; ++g) ends.push_back((ends.empty() ? 0 : ends.back()) + d.below(3));
        const std::int64_t rows = ends.back() + spare;
        const tensor offsets = integers({groups}, ends).converted(element_type::i32);
        const tensor a = floats({rows, inner}, d.numbers(rows * inner));
        const tensor b = floats({groups, inner, columns}, d.numbers(groups * inner * columns));
        const std::vector<double> x = a.values<double>(), y = b.values<double>();
        const std::vector<double> got = result("aten._grouped_mm.default", {a, b, offsets}).values<double>();
        for (std::int64_t r = 0; r < rows; ++r) {
            std::int64_t g = 0;
            while (g < groups && ends[at(g)] <= r) ++g;
            for (std::int64_t j = 0; j < columns; ++j) {
                const double made = got[at(r * columns + j)];
                if (g == groups) {
                    RC_ASSERT(std::isnan(made));
                    continue;
                }
                double due = 0;
                for (std::int64_t l = 0; l < inner; ++l)
                    due += x[at(r * inner + l)] * y[at((g * inner + l) * columns + j)];
                RC_ASSERT(made == due);
            }
        }
        // The gradient of b: positions of a group contract.
        const tensor grad = floats({rows, columns}, d.numbers(rows * columns));
        const std::vector<double> z = grad.values<double>();
        const tensor turned = a.view({inner, rows}, {1, inner}, 0);
        const tensor made = result("aten._grouped_mm.default", {turned, grad, offsets});
        RC_ASSERT(made.shape() == std::vector<std::int64_t>({groups, inner, columns}));
        std::vector<double> due(at(groups * inner * columns));
        for (std::int64_t r = 0, g = 0; r < ends.back(); ++r) {
            while (ends[at(g)] <= r) ++g;
            for (std::int64_t l = 0; l < inner; ++l)
                for (std::int64_t j = 0; j < columns; ++j)
                    due[at((g * inner + l) * columns + j)] += x[at(r * inner + l)] * z[at(r * columns + j)];
        }
        RC_ASSERT(made.values<double>() == due);
    });
}

TEST_CASE("sorting is stable, and topk is the beginning of a descending sort") {
    stretto_check("sort", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t n = d.below(9) + 1;
        const std::vector<std::int64_t> x = d.positions(n, 4);
        for (const bool descending : {false, true}) {
            const auto got = results("aten.sort.stable", {integers({n}, x)},
                                     descending ? "%0 stable=true descending=true" : "%0 stable=true");
            const std::vector<std::int64_t> values = got[0].values<std::int64_t>(),
                                            from = got[1].values<std::int64_t>();
            std::vector<bool> taken(at(n));
            for (std::int64_t k = 0; k < n; ++k) {
                RC_ASSERT(x[at(from[at(k)])] == values[at(k)]);
                RC_ASSERT(!taken[at(from[at(k)])]);
                taken[at(from[at(k)])] = true;
                if (k == 0) continue;
                const std::int64_t a = values[at(k - 1)], b = values[at(k)];
                RC_ASSERT((a == b ? from[at(k - 1)] < from[at(k)] : (a < b) != descending));
            }
            const std::int64_t top = d.below(n) + 1;
            const auto first = results("aten.topk.default", {integers({n}, x)},
                                       "%0 " + std::to_string(top) + (descending ? "" : " -1 false"));
            for (std::int64_t k = 0; k < top; ++k) RC_ASSERT(first[1].values<std::int64_t>()[at(k)] == from[at(k)]);
        }
    });
}

TEST_CASE("scattering along a permutation and gathering along it are inverse") {
    stretto_check("scatter", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t rows = d.extent(), n = d.below(6) + 1;
        std::vector<std::int64_t> permutation;
        for (std::int64_t r = 0; r < rows; ++r) {
            std::vector<std::int64_t> left;
            for (std::int64_t k = 0; k < n; ++k) left.push_back(k);
            while (!left.empty()) {
                const auto pick = static_cast<std::ptrdiff_t>(d.below(static_cast<std::int64_t>(left.size())));
                permutation.push_back(left[static_cast<std::size_t>(pick)]);
                left.erase(left.begin() + pick);
            }
        }
        const tensor x = floats({rows, n}, d.numbers(rows * n)), p = integers({rows, n}, permutation);
        const tensor zero(element_type::f64, {rows, n});
        const tensor spread = result("aten.scatter.src", {zero, p, x}, "%0 -1 %1 %2");
        RC_ASSERT(identical(result("aten.gather.default", {spread, p}, "%0 1 %1"), x));
        RC_ASSERT(identical(result("aten.scatter_add.default", {zero, p, x}, "%0 1 %1 %2"), spread));
        // Rows by a single permutation: index, index_put and index_select.
        const tensor order = integers({n}, std::vector<std::int64_t>(permutation.begin(), permutation.begin() + n));
        const tensor lines = x.view({n, rows}, {1, n}, 0);
        const tensor picked = result("aten.index.Tensor", {lines, order}, "%0 [%1]");
        RC_ASSERT(identical(picked, result("aten.index_select.default", {lines, order}, "%0 0 %1")));
        const tensor back =
            result("aten.index_put.default", {tensor(element_type::f64, {n, rows}), order, picked}, "%0 [%1] %2");
        RC_ASSERT(back.values<double>() == lines.values<double>());
    });
}

TEST_CASE("accumulating into rows adds every row where its position says") {
    stretto_check("accumulate", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t rows = d.extent(), width = d.extent(), n = d.below(7);
        const std::vector<double> base = d.numbers(rows * width), x = d.numbers(n * width);
        const std::vector<std::int64_t> where = d.positions(n, rows);
        std::vector<double> due = base, alone(at(rows * width));
        std::vector<std::int64_t> wide;
        for (std::int64_t k = 0; k < n; ++k)
            for (std::int64_t j = 0; j < width; ++j) {
                due[at(where[at(k)] * width + j)] += x[at(k * width + j)];
                alone[at(where[at(k)] * width + j)] += x[at(k * width + j)];
                wide.push_back(where[at(k)]);
            }
        const tensor self = floats({rows, width}, base), given = floats({n, width}, x), at_rows = integers({n}, where);
        const tensor at_elements = integers({n, width}, wide);
        RC_ASSERT(result("aten.index_put.default", {self, at_rows, given}, "%0 [%1] %2 true").values<double>() == due);
        RC_ASSERT(result("aten.scatter_add.default", {self, at_elements, given}, "%0 0 %1 %2").values<double>() == due);
        RC_ASSERT(result("torchtitan.deterministic_scatter_add.default", {self, at_elements, given}).values<double>() ==
                  due);
        const std::string arguments = "%0 %1 " + std::to_string(rows) + " -1 false";
        RC_ASSERT(result("aten.embedding_dense_backward.default", {given, at_rows}, arguments).values<double>() ==
                  alone);
    });
}

TEST_CASE("splitting and joining are inverse") {
    stretto_check("cat", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t n = d.extent(), m = d.extent(), k = d.extent(), dim = d.below(3);
        const tensor x = floats({n, m, k}, d.numbers(n * m * k));
        const std::int64_t extent = x.extent(at(dim)), part = d.below(extent) + 1;
        const auto parts =
            results("aten.split.Tensor", {x}, "%0 " + std::to_string(part) + " " + std::to_string(dim - 3));
        RC_ASSERT(static_cast<std::int64_t>(parts.size()) == (extent + part - 1) / part);
        std::string list;
        for (std::size_t p = 0; p < parts.size(); ++p) list += " %" + std::to_string(p);
        RC_ASSERT(identical(result("aten.cat.default", parts, "[" + list + "] " + std::to_string(dim)), x));
        const std::int64_t first = d.below(extent), end = first + d.below(extent - first + 1);
        const std::string range = " " + std::to_string(dim) + " " + std::to_string(first) + " " + std::to_string(end);
        const tensor cut = result("aten.slice.Tensor", {x}, "%0" + range);
        RC_ASSERT(cut.extent(at(dim)) == end - first);
        RC_ASSERT(identical(result("aten.slice_scatter.default", {x, cut}, "%0 %1" + range), x));
    });
}

TEST_CASE("reshaping keeps the order of elements, with or without a copy") {
    stretto_check("reshape", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t a = d.extent(), b = d.extent(), c = d.extent();
        const tensor x = floats({a, b, c}, d.numbers(a * b * c));
        const std::int64_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        const auto& o = orders[d.below(6)];
        const std::string order =
            "%0 [" + std::to_string(o[0]) + " " + std::to_string(o[1]) + " " + std::to_string(o[2]) + "]";
        tensor y = result("aten.permute.default", {x}, order);
        if (d.below(2)) y = result("aten.unsqueeze.default", {y}, "%0 " + std::to_string(d.below(4)));
        const std::vector<double> values = y.values<double>();
        const std::int64_t e0 = x.extent(at(o[0])), e1 = x.extent(at(o[1])), e2 = x.extent(at(o[2]));
        const std::string shapes[] = {"[-1]", "[" + std::to_string(e0 * e1) + " -1]",
                                      "[" + std::to_string(e0) + " " + std::to_string(e1 * e2) + "]",
                                      "[1 " + std::to_string(e2) + " -1 1]"};
        for (const std::string& shape : shapes)
            RC_ASSERT(result("aten.reshape.default", {y}, "%0 " + shape).values<double>() == values);
    });
}

TEST_CASE("attention is a softmax of products, and its gradient is its slope") {
    stretto_check("attention", 400, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t batch = d.extent(), rows = d.extent(), keys = d.extent(), e = d.extent(), w = d.extent();
        const bool causal = d.below(2) != 0 && keys >= rows;
        const auto small = [&](std::int64_t n) {
            std::vector<double> x = d.numbers(n);
            for (double& y : x) y /= 8;
            return x;
        };
        const std::vector<double> q = small(batch * rows * e), k = small(batch * keys * e), v = small(batch * keys * w);
        const std::vector<double> g = small(batch * rows * w);
        const double scale = 0.75;
        const auto naive = [&](const std::vector<double>& qs, const std::vector<double>& ks,
                               const std::vector<double>& vs) {
            std::vector<double> out(at(batch * rows * w));
            for (std::int64_t n = 0; n < batch; ++n)
                for (std::int64_t i = 0; i < rows; ++i) {
                    double total = 0;
                    for (std::int64_t j = 0; j < (causal ? i + 1 : keys); ++j) {
                        double dot = 0;
                        for (std::int64_t l = 0; l < e; ++l)
                            dot += qs[at((n * rows + i) * e + l)] * ks[at((n * keys + j) * e + l)];
                        total += std::exp(dot * scale);
                        for (std::int64_t l = 0; l < w; ++l)
                            out[at((n * rows + i) * w + l)] += std::exp(dot * scale) * vs[at((n * keys + j) * w + l)];
                    }
                    for (std::int64_t l = 0; l < w; ++l) out[at((n * rows + i) * w + l)] /= total;
                }
            return out;
        };
        const tensor tq = floats({batch, 1, rows, e}, q), tk = floats({batch, 1, keys, e}, k);
        const tensor tv = floats({batch, 1, keys, w}, v), tg = floats({batch, 1, rows, w}, g);
        const std::string flag = causal ? "true" : "false";
        const auto forward = results("aten._scaled_dot_product_efficient_attention.default", {tq, tk, tv},
                                     "%0 %1 %2 none true 0.0 " + flag + " scale=0.75");
        RC_ASSERT(forward.size() == 4);
        const std::vector<double> got = forward[0].values<double>(), due = naive(q, k, v);
        for (std::size_t x = 0; x < due.size(); ++x) RC_ASSERT(std::fabs(got[x] - due[x]) < 1e-12);
        const auto cudnn = results("aten._scaled_dot_product_cudnn_attention.default", {tq, tk, tv},
                                   "%0 %1 %2 none true 0.0 " + flag + " scale=0.75");
        RC_ASSERT(identical(cudnn[0], forward[0]));
        RC_ASSERT(cudnn[1].shape() == std::vector<std::int64_t>({batch, 1, rows, 1}));
        RC_ASSERT(cudnn[1].values<double>() == forward[1].values<double>());

        const std::vector<tensor> kept{tg, tq, tk, tv, forward[0], forward[1], forward[2], forward[3]};
        const auto gradients =
            results("aten._scaled_dot_product_efficient_attention_backward.default", kept,
                    "%0 %1 %2 %3 none %4 %5 %6 %7 0.0 [true true true false] " + flag + " scale=0.75");
        const auto other = results("aten._scaled_dot_product_cudnn_attention_backward.default", kept,
                                   "%0 %1 %2 %3 %4 %5 %6 %7 none none none 4 4 0.0 " + flag + " scale=0.75");
        const auto loss = [&](const std::vector<double>& qs, const std::vector<double>& ks,
                              const std::vector<double>& vs) {
            double sum = 0;
            const std::vector<double> out = naive(qs, ks, vs);
            for (std::size_t x = 0; x < out.size(); ++x) sum += out[x] * g[x];
            return sum;
        };
        for (std::size_t which = 0; which < 3; ++which) {
            RC_ASSERT(identical(gradients[which], other[which]));
            const std::vector<double> slope = gradients[which].values<double>();
            std::vector<double> p[3] = {q, k, v};
            const std::size_t x = at(d.below(static_cast<std::int64_t>(slope.size())));
            const double step = 1e-5, middle = p[which][x];
            p[which][x] = middle + step;
            const double above = loss(p[0], p[1], p[2]);
            p[which][x] = middle - step;
            const double below = loss(p[0], p[1], p[2]);
            RC_ASSERT(std::fabs((above - below) / (2 * step) - slope[x]) < 1e-8);
        }
    });
}

TEST_CASE("heads that share keys and values: as if each had its own, whose gradients are added") {
    stretto_check("grouped attention", 400, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t batch = d.extent(), shared = d.extent(), group = d.extent(), rows = d.extent(),
                           keys = rows + d.below(2), e = d.extent(), heads = shared * group;
        const auto small = [&](std::int64_t n) {
            std::vector<double> x = d.numbers(n);
            for (double& y : x) y /= 8;
            return x;
        };
        const tensor q = floats({batch, heads, rows, e}, small(batch * heads * rows * e));
        const tensor k = floats({batch, shared, keys, e}, small(batch * shared * keys * e));
        const tensor v = floats({batch, shared, keys, e}, small(batch * shared * keys * e));
        const tensor g = floats({batch, heads, rows, e}, small(batch * heads * rows * e));
        const std::int64_t size = keys * e;
        const auto repeated = [&](const tensor& x) {
            const std::vector<double> from = x.values<double>();
            std::vector<double> all;
            for (std::int64_t n = 0; n < batch * heads; ++n)
                for (std::int64_t i = 0; i < size; ++i) all.push_back(from[at(n / group * size + i)]);
            return floats({batch, heads, keys, e}, all);
        };
        const auto summed = [&](const tensor& x) {
            const std::vector<double> from = x.values<double>();
            std::vector<double> all(at(batch * shared * size));
            for (std::int64_t n = 0; n < batch * heads; ++n)
                for (std::int64_t i = 0; i < size; ++i) all[at(n / group * size + i)] += from[at(n * size + i)];
            return floats({batch, shared, keys, e}, all);
        };
        const std::string flag = d.below(2) != 0 ? "true" : "false";
        const auto of = [&](const tensor& keys_of, const tensor& values_of) {
            std::vector<tensor> all = results("aten._scaled_dot_product_flash_attention_for_cpu.default",
                                              {q, keys_of, values_of}, "%0 %1 %2 0.0 " + flag);
            for (tensor& x : results("aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                                     {g, q, keys_of, values_of, all[0], all[1]}, "%0 %1 %2 %3 %4 %5 0.0 " + flag))
                all.push_back(std::move(x));
            return all;
        };
        const std::vector<tensor> some = of(k, v), each = of(repeated(k), repeated(v));
        RC_ASSERT(some.size() == 5);
        for (std::size_t x : {0u, 1u, 2u}) RC_ASSERT(identical(some[x], each[x]));
        for (std::size_t x : {3u, 4u}) RC_ASSERT(identical(some[x], summed(each[x])));
    });
}

TEST_CASE("sums of integers do not depend on how they are cut") {
    stretto_check("sums", 4000, [](const std::vector<std::uint8_t>& bytes) {
        dice d(bytes);
        const std::int64_t n = d.extent(), m = d.extent(), k = d.extent();
        const tensor x = floats({n, m, k}, d.numbers(n * m * k));
        const double all = result("aten.sum.default", {x}).values<double>()[0];
        for (const char* dims : {"[0]", "[1]", "[-1]", "[0 2]", "[1 2]", "[]"}) {
            const tensor part = result("aten.sum.dim_IntList", {x}, std::string("%0 ") + dims + " true");
            RC_ASSERT(part.rank() == 3);
            RC_ASSERT(result("aten.sum.default", {part}).values<double>()[0] == all);
        }
        const tensor running = result("aten.cumsum.default", {x}, "%0 1");
        const std::vector<double> last = result("aten.select.int", {running}, "%0 1 -1").values<double>();
        RC_ASSERT(last == result("aten.sum.dim_IntList", {x}, "%0 [1]").values<double>());
    });
}

TEST_CASE("a sum converts a narrower summand as a conversion before it does") {
    using e = element_type;
    const e all[] = {e::f16, e::bf16, e::f32, e::f64, e::i8, e::u8, e::i16, e::i32, e::i64, e::boolean};
    const char* const names[] = {"f16", "bf16", "f32", "f64", "i8", "u8", "i16", "i32", "i64", "bool"};
    std::size_t pairs = 0;
    for (const e from : all)
        for (std::size_t to = 0; to < std::size(all); ++to) {
            if (!stretto::widens(from, all[to])) continue;
            ++pairs;
            stretto_check("sums of two types", 50, [&](const std::vector<std::uint8_t>& bytes) {
                dice d(bytes);
                const std::vector<std::int64_t> shape = {d.below(3), d.below(3)};
                const tensor wide = tensor::of(all[to], shape, d.numbers(shape[0] * shape[1]));
                const tensor narrow = tensor::of(from, shape, d.numbers(shape[0] * shape[1]));
                const std::string type = std::string("%0 ") + names[to];
                const tensor converted = result("prims.convert_element_type.default", {narrow}, type);
                const tensor due = result("aten.add.Tensor", {wide, converted});
                const tensor sum = result("aten.add.Tensor", {wide, narrow});
                RC_ASSERT(sum.element() == all[to]);
                RC_ASSERT(identical(sum, due));
            });
        }
    CHECK(pairs == 5 + 6);
}
