// The row IR with costs: durations and bytes follow the rows, so that a clone of the IR costs what a trial of it says.
// Some operations have two results, so that values are numbered otherwise than operations.
#ifndef STRETTO_TESTS_SUPPORT_PRICED_ROWS_HPP
#define STRETTO_TESTS_SUPPORT_PRICED_ROWS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/tune/part_costs.hpp"
#include "support/row_ir.hpp"

namespace support {

/// A result of a row operation: its rows, or a copy of them that nobody reads.
struct row_value {
    row_op* op = nullptr;
    std::size_t result = 0;
    friend bool operator==(row_value, row_value) = default;
};

/// Whether an operation has two results. No verb of a rewriter makes one of these but `clone`.
inline bool has_twin(const row_op* v) {
    using does = row_op::does;
    return v->what == does::scale || v->what == does::total || v->what == does::order || v->what == does::widen;
}

/// The row IR as a graph whose values are no vertices, in which some operations have two results, and in which totals
/// follow one another through dependences that no value carries, if that is asked for.
struct twin_view {
    using vertex_type = row_op*;
    using value_type = row_value;
    row_program* p;
    bool ordered = false;

    std::vector<row_op*> vertices() const { return row_view{p}.vertices(); }
    std::vector<row_op*> predecessors(row_op* v) const {
        std::vector<row_op*> all = v->reads;
        if (row_op* before = before_it(v)) all.push_back(before);
        return all;
    }
    std::vector<row_op*> successors(row_op* v) const {
        std::vector<row_op*> all = v->readers;
        for (row_op& o : p->ops)
            if (before_it(&o) == v) all.push_back(&o);
        return all;
    }
    std::size_t index(row_op* v) const { return v->number; }
    std::size_t index_bound() const { return p->ops.size(); }
    std::vector<row_value> operands(row_op* v) const {
        std::vector<row_value> all;
        for (row_op* x : v->reads) all.push_back({x});
        return all;
    }
    static std::vector<row_value> results(row_op* v) {
        if (has_twin(v)) return {row_value{v, 1}, row_value{v, 0}};
        return {row_value{v, 0}};
    }
    row_op* producer(row_value x) const { return x.op; }
    std::vector<row_op*> consumers(row_value x) const { return x.result == 0 ? x.op->readers : std::vector<row_op*>(); }

private:
    row_op* before_it(row_op* v) const {
        row_op* before = nullptr;
        for (row_op& o : p->ops) {
            if (&o == v) break;
            if (o.what == row_op::does::total) before = &o;
        }
        return ordered && v->what == row_op::does::total ? before : nullptr;
    }
};

/// Kernels take 60 nanoseconds a row, rows have 8 bytes, the second result 16.
struct priced_row_model {
    static std::int64_t rows_of(row_op* v) {
        std::size_t rows = v->rows;
        for (row_op* x : v->reads) rows = std::max(rows, x->rows);
        return static_cast<std::int64_t>(rows);
    }
    stretto::op_kind kind(row_op* v) const {
        return v->what == row_op::does::empty ? stretto::op_kind::view : row_model{}.kind(v);
    }
    stretto::nanoseconds duration(row_op* v) const {
        const bool works = kind(v) == stretto::op_kind::compute || kind(v) == stretto::op_kind::start;
        return {works ? 60 * rows_of(v) : 0};
    }
    stretto::group_id group(row_op* v) const { return v->rows == 1 ? 1u : 0u; }
    stretto::collective_kind collective(row_op*) const { return stretto::collective_kind::all_to_all; }
    stretto::bytes payload(row_op* v) const { return {4 * rows_of(v)}; }
    stretto::bytes bytes_of(row_op* x) const { return {row_model{}.aliases(x).empty() ? rows_in(x) * 8 : 0}; }
    std::vector<row_op*> effects(row_op* v) const { return row_model{}.effects(v); }
    std::vector<row_op*> aliases(row_op* x) const { return row_model{}.aliases(x); }

    stretto::bytes bytes_of(row_value x) const {
        return x.result == 0 ? bytes_of(x.op) : stretto::bytes{rows_in(x.op) * 16};
    }
    std::vector<row_value> aliases(row_value x) const {
        std::vector<row_value> all;
        if (x.result == 0)
            for (row_op* y : row_model{}.aliases(x.op)) all.push_back({y});
        return all;
    }

private:
    static std::int64_t rows_in(row_op* x) { return static_cast<std::int64_t>(x->rows); }
};

/// The same of a twin_view.
struct twin_model : priced_row_model {
    using priced_row_model::aliases;
    std::vector<row_value> effects(row_op* v) const {
        std::vector<row_value> all;
        for (row_op* y : row_model{}.effects(v)) all.push_back({y});
        if (v->what == row_op::does::widen) all.push_back({v, 1});  // what it has just made
        return all;
    }
};

struct twin_chunk_model {
    std::size_t components_of(row_value) const { return 1; }
    std::size_t rank(row_value x, std::size_t c) const { return row_chunk_model{}.rank(x.op, c); }
    std::int64_t extent(row_value x, std::size_t c, std::size_t d) const {
        return row_chunk_model{}.extent(x.op, c, d);
    }
    stretto::chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const stretto::chunk_state> in,
                                        std::span<stretto::chunk_state> out) const {
        const stretto::chunk_verdict verdict = row_chunk_model{}.combine_rule(v, tokens, in, out.first(1));
        if (out.size() > 1) out[1] = out[0];
        return verdict;
    }
};

/// Writes slices as trials take it: a view of the place, and a copy into it.
struct view_writing_rewriter : row_rewriter {
    row_op* empty_like(row_op* x, row_op* part) { return make(row_op::does::empty, {part}, x->rows, x->number); }
    row_op* slice_write(row_op* whole, row_op* part, std::size_t, std::span<const std::int64_t> sizes, std::size_t k) {
        std::size_t tokens = 0, from = 0;
        for (std::size_t n = 0; n < sizes.size(); ++n) {
            tokens += static_cast<std::size_t>(sizes[n]);
            if (n < k) from += static_cast<std::size_t>(sizes[n]);
        }
        row_op* slice = make(row_op::does::part, {whole}, part->rows, whole->number);
        slice->first = whole->rows * from / tokens;
        slice->last = slice->first + part->rows;
        row_op* write = make(row_op::does::write, {slice, part}, part->rows, whole->number);
        write->last = part->rows;
        return whole;
    }
};

/// The same verbs on values of which every operation has two.
struct twin_rewriter {
    view_writing_rewriter rows;

    static std::vector<row_op*> ops(std::span<const row_value> values) {
        std::vector<row_op*> all;
        for (row_value x : values) all.push_back(x.op);
        return all;
    }
    void insert_before(row_op* v) { rows.insert_before(v); }
    std::vector<row_value> clone(row_op* v, std::span<const row_value> operands, const stretto::chunk_part& part) {
        const std::vector<row_op*> reads = ops(operands);
        const stretto::chunk_part own{part.chunk,    part.chunks,          part.tokens, part.rows,
                                      part.operands, part.results.last(1), part.region};
        return twin_view::results(rows.clone(v, reads, own)[0]);
    }
    std::vector<row_value> split(row_value x, std::size_t dim, std::span<const std::int64_t> sizes) {
        std::vector<row_value> parts;
        for (row_op* o : rows.split(x.op, dim, sizes)) parts.push_back({o});
        return parts;
    }
    row_value concat(std::span<const row_value> parts, std::size_t dim) {
        return {rows.concat(std::span<row_op* const>(ops(parts)), dim)};
    }
    row_value sum(std::span<const row_value> parts) { return {rows.sum(std::span<row_op* const>(ops(parts)))}; }
    row_value empty_like(row_value x, row_value part) { return {rows.empty_like(x.op, part.op)}; }
    row_value slice_write(row_value whole, row_value part, std::size_t dim, std::span<const std::int64_t> sizes,
                          std::size_t k) {
        return {rows.slice_write(whole.op, part.op, dim, sizes, k)};
    }
    void replace_uses(row_op* v, row_value from, row_value to) { rows.replace_uses(v, from.op, to.op); }
    void erase(row_op* v) { rows.erase(v); }
};

}  // namespace support

#endif
