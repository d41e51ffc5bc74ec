// An IR with names of its own, and one layer of experts in it that computes: tokens choose an expert on every rank,
// travel there and back, and are summed (expert prototyping, Yang et al. 2021). Every rank gets as many rows from every
// other one, so shares are equal, whatever tokens choose. What an author writes to chunk, order and run it is here: a
// view, a model, a dialect, a rewriter and the kernels.
#ifndef STRETTO_TESTS_SUPPORT_EXPERT_LAYER_HPP
#define STRETTO_TESTS_SUPPORT_EXPERT_LAYER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/all_kinds.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/views/from_values.hpp"

namespace support::experts {

enum class code {
    argument,
    multiply,  ///< x W
    rank,      ///< of each row: its columns, from the greatest on
    flatten,
    line_up,  ///< the elements sorted, and where they were
    divide,   ///< by `field`, rounded down
    fetch,    ///< rows of x where y says
    send,     ///< rows, a share to every rank
    gather,   ///< what all ranks have
    reduce,   ///< the sum over ranks
    arrive,   ///< waits for one of these
    expert,   ///< max(x A, 0) B times the greater score, with the expert that has it: x, scores, A, B
    blank,    ///< zeros like x
    put,      ///< x, with row k of z added to row y[k], in the order of k
    add,
    total,  ///< the sum of rows
    cut,    ///< rows from `field` on, without a copy
    join,   ///< rows of all operands
    result
};

struct op;
struct value {
    op* by = nullptr;
    std::vector<std::int64_t> shape = {};
    stretto::element_type element = stretto::element_type::f32;
    std::vector<op*> readers = {};
    stretto::tensor_type type = {};

    [[nodiscard]] std::int64_t size() const { return stretto::size_of(element, shape); }
};
struct op {
    code what;
    std::vector<value*> reads;
    std::int64_t field = 0;
    std::uint32_t chunk = 0;
    std::size_t id = 0;      // as long as it lives
    std::uint64_t like = 0;  // the collective of the program that it is, or is a part of
    std::vector<value*> makes = {};
    std::list<op>::iterator self = {};
};

struct program {
    std::list<op> ops;
    std::list<value> values;
    std::size_t next = 0;

    op* insert(std::list<op>::iterator at, op made) {
        made.id = next++;
        if (made.like == 0) made.like = made.id + 1;
        op* const o = &*ops.insert(at, std::move(made));
        o->self = std::prev(at);
        for (value* x : o->reads) x->readers.push_back(o);
        return o;
    }
    value* result(op* o, std::vector<std::int64_t> shape, stretto::element_type element) {
        value* const x = &values.emplace_back(value{o, std::move(shape), element});
        x->type = {x->shape, element};
        o->makes.push_back(x);
        return x;
    }
    value* make(code what, std::vector<value*> reads, std::vector<std::int64_t> shape,
                stretto::element_type element = stretto::element_type::f32, std::int64_t field = 0) {
        return result(insert(ops.end(), {what, std::move(reads), field}), std::move(shape), element);
    }
};

struct values_view {
    using vertex_type = op*;
    using value_type = value*;
    program* p;

    std::vector<op*> vertices() const {
        std::vector<op*> all;
        for (op& o : p->ops) all.push_back(&o);
        return all;
    }
    std::size_t index(op* o) const { return o->id; }
    std::size_t index_bound() const { return p->next; }
    const std::vector<value*>& operands(op* o) const { return o->reads; }
    const std::vector<value*>& results(op* o) const { return o->makes; }
    op* producer(value* x) const { return x->by; }
    const std::vector<op*>& consumers(value* x) const { return x->readers; }
};
using view = stretto::from_values_view<values_view>;

/// Group 0 exchanges tokens, and group 1, of the same ranks, does the rest.
struct model {
    stretto::op_kind kind(op* o) const {
        using enum stretto::op_kind;
        if (o->what == code::argument) return input;
        if (o->what == code::result) return output;
        if (o->what == code::arrive) return wait;
        if (o->what == code::flatten || o->what == code::cut) return view;
        return is_start(o) ? start : compute;
    }
    static bool is_start(op* o) { return o->what == code::send || o->what == code::gather || o->what == code::reduce; }
    stretto::group_id group(op* o) const { return o->what == code::send ? 0 : 1; }
    stretto::bytes payload(op* o) const { return {o->reads[0]->size()}; }
    stretto::nanoseconds duration(op* o) const {
        if (is_start(o)) return {1'000 + 20 * o->reads[0]->size()};
        if (o->what == code::expert) return {1'000 + 40 * o->reads[0]->size()};
        return {kind(o) == stretto::op_kind::compute ? 1'000 : 0};
    }
    stretto::collective_call call(op* o) const {
        stretto::collective_call c;
        c.kind = o->what == code::send     ? stretto::collective_kind::all_to_all
                 : o->what == code::gather ? stretto::collective_kind::all_gather
                                           : stretto::collective_kind::all_reduce;
        c.reduction = o->what == code::reduce ? stretto::reduction_kind::sum : stretto::reduction_kind::none;
        c.element = o->reads[0]->element;
        c.logical_id = o->like;
        c.chunk = o->chunk;
        return c;
    }
    stretto::collective_kind collective(op* o) const { return call(o).kind; }
    stretto::bytes bytes_of(value* x) const { return {aliases(x).empty() ? x->size() : 0}; }
    std::vector<value*> aliases(value* x) const {
        const stretto::op_kind is = kind(x->by);
        if (is == stretto::op_kind::view || is == stretto::op_kind::wait) return {x->by->reads[0]};
        return {};
    }
    /// Where a value begins in its storage.
    stretto::bytes offset(value* x) const {
        std::int64_t sum = 0;
        for (; !aliases(x).empty(); x = x->by->reads[0])
            if (x->by->what == code::cut) {
                std::size_t k = 0;
                while (x->by->makes[k] != x) sum += x->by->makes[k++]->size();
            }
        return {sum};
    }
};

/// The kind of `expert`, which no kind of the library is: row k of the result comes from the rows k of two operands.
struct row_by_row {
    stretto::chunk_verdict verdict(const stretto::chunk_rules::chunk_call& c) const {
        using namespace stretto::chunk_rules;
        if (!is_cut(c.state(0)) || c.state(0).dim != 0 || !is_plain(c.state(0)) || !(c.state(0) == c.state(1)))
            return c.refuse("needs rows and scores of the same tokens");
        for (const std::size_t k : {2u, 3u})
            if (!is_whole(c.state(k))) return c.refuse("needs all of its weights");
        return c.give(c.state(0));
    }
};

struct dialect {
    std::int64_t ranks, tokens;

    stretto::chunk_rules::any_rule rule(op* o) const {
        namespace rules = stretto::chunk_rules;
        switch (o->what) {
            case code::multiply:
                return rules::matrix_product{};
            case code::rank:
                return rules::along_dimension{};
            case code::flatten:
                return rules::reshape{};
            case code::line_up:
                return rules::sort{.stable = true};
            case code::divide:
                return rules::arithmetic{.what = rules::arithmetic::op::floor_divide,
                                         .right = rules::rule_number::constant(o->field)};
            case code::fetch:
                return rules::look_up{};
            case code::send: {
                const std::vector each(static_cast<std::size_t>(ranks), rules::rule_number::constant(tokens));
                return rules::exchange{.received = each, .sent = each};
            }
            case code::gather:
            case code::reduce:
                return rules::other_collective{};
            case code::arrive:
                return rules::copy{};
            case code::expert:
                return row_by_row{};
            case code::blank:
                return rules::fill_like{.zero = true};
            case code::put:
                return rules::put_rows{.adds = true};
            case code::add:
                return rules::arithmetic{};
            case code::total:  // a sum of chunks would add in another order
                return rules::refused{"adds reals in the order of all tokens"};
            default:
                return {};
        }
    }
    std::span<const stretto::tensor_type> components(value* x) const { return {&x->type, 1}; }
};

struct rewriter {
    program* p;
    std::list<op>::iterator at = {};

    void insert_before(op* o) { at = o->self; }
    std::vector<value*> clone(op* o, std::span<value* const> operands, const stretto::chunk_part& part) {
        op* const made = p->insert(at, {o->what, {operands.begin(), operands.end()}, o->field, part.chunk, 0, o->like});
        for (std::size_t k = 0; k < o->makes.size(); ++k) {
            std::vector<std::int64_t> shape = o->makes[k]->shape;
            if (const int dim = part.results[k].dim; dim >= 0)
                shape[static_cast<std::size_t>(dim)] = part.share(shape[static_cast<std::size_t>(dim)]);
            p->result(made, std::move(shape), o->makes[k]->element);
        }
        return made->makes;
    }
    std::vector<value*> split(value* x, std::size_t dim, std::span<const std::int64_t> sizes) {
        op* const made = p->insert(at, {code::cut, {x}});
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const stretto::slice_place place = stretto::place_of_slice(x->shape[dim], sizes, k);
            std::vector<std::int64_t> shape = x->shape;
            shape[dim] = place.to - place.from;
            p->result(made, std::move(shape), x->element);
        }
        return made->makes;
    }
    value* concat(std::span<value* const> parts, std::size_t dim) {
        std::vector<std::int64_t> shape = parts[0]->shape;
        for (const value* x : parts.subspan(1)) shape[dim] += x->shape[dim];
        return p->result(p->insert(at, {code::join, {parts.begin(), parts.end()}}), std::move(shape),
                         parts[0]->element);
    }
    value* sum(std::span<value* const> parts) { return parts[0]; }  // nothing in the layer is a sum over chunks
    void replace_uses(op* o, value* from, value* to) {
        for (value*& x : o->reads) {
            if (x != from) continue;
            x = to;
            from->readers.erase(std::find(from->readers.begin(), from->readers.end(), o));
            to->readers.push_back(o);
        }
    }
    void erase(op* o) {
        for (value* x : o->reads) x->readers.erase(std::find(x->readers.begin(), x->readers.end(), o));
        p->ops.erase(o->self);
    }
};

/// The layer. Every token goes to one of two experts on each rank: in the order of ranks, since it is sorted so.
struct layer {
    std::int64_t ranks, tokens, width, hidden;
    program p = {};
    value *x = nullptr, *router = nullptr, *gate = nullptr, *first = nullptr, *second = nullptr;  // arguments
    value *y = nullptr, *sums = nullptr;                                                          // results

    layer(std::int64_t n, std::int64_t t, std::int64_t w, std::int64_t h) : ranks(n), tokens(t), width(w), hidden(h) {
        constexpr auto i = stretto::element_type::i32;
        const std::int64_t rows = n * t;
        x = p.make(code::argument, {}, {t, w});
        router = p.make(code::argument, {}, {w, n});
        gate = p.make(code::argument, {}, {w / n, 2});  // this rank's share of the weights that score experts
        first = p.make(code::argument, {}, {2, w, h});
        second = p.make(code::argument, {}, {2, h, w});
        value* const scores = wait(p.make(code::gather, {gate}, {w, 2}));
        value* const chosen = p.make(code::rank, {p.make(code::multiply, {x, router}, {t, n})}, {t, n}, i);
        op* const line = p.insert(p.ops.end(), {code::line_up, {p.make(code::flatten, {chosen}, {rows}, i)}});
        p.result(line, {rows}, i);
        value* const token = p.make(code::divide, {p.result(line, {rows}, i)}, {rows}, i, n);
        value* const there = exchanged(p.make(code::fetch, {x, token}, {rows, w}));
        value* const by = p.make(code::multiply, {there, scores}, {rows, 2});
        value* const back = exchanged(p.make(code::expert, {there, by, first, second}, {rows, w}));
        y = p.make(code::add, {x, p.make(code::put, {p.make(code::blank, {x}, {t, w}), token, back}, {t, w})}, {t, w});
        sums = wait(p.make(code::reduce, {p.make(code::total, {y}, {w})}, {w}));
        p.insert(p.ops.end(), {code::result, {y, sums}});
    }
    layer(const layer&) = delete;

    [[nodiscard]] op* output() { return &p.ops.back(); }

private:
    value* wait(value* sent) { return p.make(code::arrive, {sent}, sent->shape); }
    value* exchanged(value* rows) { return wait(p.make(code::send, {rows}, rows->shape)); }
};

/// The inner product of a row with a column, in order: what kernels and the reference share.
[[gnu::noinline]] inline float product(const float* row, const float* column, std::int64_t length,
                                       std::int64_t stride) {
    float sum = 0;
    for (std::int64_t k = 0; k < length; ++k) sum += row[k] * column[k * stride];
    return sum;
}

/// A kernel of the IR on floats and 32-bit integers, dense and row by row.
struct kernel {
    const op* o;
    std::vector<std::byte*> in, out;

    template <class T = float>
    T* read(std::size_t k) const {
        return reinterpret_cast<T*>(in[k]);
    }
    void operator()() const {
        const auto extent = [&](std::size_t k, std::size_t dim) { return o->reads[k]->shape[dim]; };
        float* const to = reinterpret_cast<float*>(out[0]);
        std::int32_t* const numbers = reinterpret_cast<std::int32_t*>(out[0]);
        const std::vector<std::int64_t>& shape = o->makes[0]->shape;
        switch (o->what) {
            case code::multiply:
                for (std::int64_t r = 0; r < shape[0]; ++r)
                    for (std::int64_t c = 0; c < shape[1]; ++c)
                        to[r * shape[1] + c] = product(read(0) + r * extent(0, 1), read(1) + c, extent(0, 1), shape[1]);
                return;
            case code::rank:
                for (std::int64_t r = 0; r < shape[0]; ++r) {
                    std::int32_t* const row = numbers + r * shape[1];
                    const float* const by = read(0) + r * shape[1];
                    std::iota(row, row + shape[1], 0);
                    std::sort(row, row + shape[1],
                              [&](std::int32_t a, std::int32_t b) { return by[a] != by[b] ? by[a] > by[b] : a < b; });
                }
                return;
            case code::line_up: {
                std::int32_t* const from = reinterpret_cast<std::int32_t*>(out[1]);
                const std::int32_t* const keys = read<std::int32_t>(0);
                std::iota(from, from + shape[0], 0);
                std::sort(from, from + shape[0], [&](std::int32_t a, std::int32_t b) {
                    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
                });
                for (std::int64_t k = 0; k < shape[0]; ++k) numbers[k] = keys[from[k]];
                return;
            }
            case code::divide:
                for (std::int64_t k = 0; k < shape[0]; ++k)
                    numbers[k] = read<std::int32_t>(0)[k] / static_cast<std::int32_t>(o->field);
                return;
            case code::fetch:
                for (std::int64_t r = 0; r < shape[0]; ++r)
                    std::copy_n(read(0) + read<std::int32_t>(1)[r] * shape[1], shape[1], to + r * shape[1]);
                return;
            case code::expert: {
                const std::int64_t w = shape[1], h = extent(2, 2);
                for (std::int64_t r = 0; r < shape[0]; ++r) {
                    const float* const scores = read(1) + r * 2;
                    const std::int64_t e = scores[1] > scores[0] ? 1 : 0;
                    float* const row = to + r * w;
                    std::fill(row, row + w, 0.0f);
                    for (std::int64_t j = 0; j < h; ++j) {
                        const float a = std::max(product(read(0) + r * w, read(2) + e * w * h + j, w, h), 0.0f);
                        for (std::int64_t c = 0; c < w; ++c) row[c] += a * read(3)[e * w * h + j * w + c];
                    }
                    for (std::int64_t c = 0; c < w; ++c) row[c] *= scores[e];
                }
                return;
            }
            case code::blank:
                std::fill(to, to + shape[0] * shape[1], 0.0f);
                return;
            case code::put:
                std::copy_n(read(0), shape[0] * shape[1], to);
                for (std::int64_t r = 0; r < extent(2, 0); ++r)
                    for (std::int64_t c = 0; c < shape[1]; ++c)
                        to[read<std::int32_t>(1)[r] * shape[1] + c] += read(2)[r * shape[1] + c];
                return;
            case code::add:
                for (std::int64_t k = 0; k < shape[0] * shape[1]; ++k) to[k] = read(0)[k] + read(1)[k];
                return;
            case code::total:
                std::fill(to, to + shape[0], 0.0f);
                for (std::int64_t r = 0; r < extent(0, 0); ++r)
                    for (std::int64_t c = 0; c < shape[0]; ++c) to[c] += read(0)[r * shape[0] + c];
                return;
            case code::join: {
                std::byte* at = out[0];
                for (std::size_t k = 0; k < in.size(); ++k) {
                    const auto size = static_cast<std::size_t>(o->reads[k]->size());
                    if (size != 0) std::memcpy(at, in[k], size);
                    at += size;
                }
                return;
            }
            default:
                return;
        }
    }
};

/// What an executor asks about a program: its vertices and values by number, and where its arguments are.
struct source {
    std::vector<op*> vertices;
    std::vector<value*> values;
    std::vector<std::pair<value*, const std::vector<float>*>> arguments;

    source(program& p, std::vector<std::pair<value*, const std::vector<float>*>> given) : arguments(std::move(given)) {
        for (op& o : p.ops) {
            vertices.push_back(&o);
            values.insert(values.end(), o.makes.begin(), o.makes.end());
        }
    }
    experts::kernel kernel(stretto::task_id t, stretto::task_memory m) const {
        return {vertices[t], {m.operands.begin(), m.operands.end()}, {m.results.begin(), m.results.end()}};
    }
    stretto::collective_call call(stretto::task_id t) const { return model{}.call(vertices[t]); }
    stretto::bytes offset(stretto::value_id x) const { return model{}.offset(values[x]); }
    /// Nobody writes arguments, so that the memory may be that of the caller.
    std::byte* address(stretto::value_id x) const {
        for (const auto& [which, memory] : arguments)
            if (which == values[x]) return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(memory->data()));
        return nullptr;
    }
};

}  // namespace support::experts

#endif
