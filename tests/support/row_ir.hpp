// A small tensor IR with an interpreter, to chunk: every value is a table of rows of one integer, or a single row.
// Operations are few, but each passes chunks on differently.
#ifndef STRETTO_TESTS_SUPPORT_ROW_IR_HPP
#define STRETTO_TESTS_SUPPORT_ROW_IR_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/apply_chunks.hpp"

namespace support {

struct row_op {
    enum class does {
        input,      ///< rows from outside
        scale,      ///< 3 * x, any state
        add,        ///< x + y row by row; a single row is added to every row
        total,      ///< the sum of all rows: one row
        order,      ///< the rows, sorted
        running,    ///< running sums: mixes rows
        numbers,    ///< of the rows of x: 0, 1, ...
        increment,  ///< x += y in place
        send,       ///< a collective over x
        wait,
        part,    ///< rows [first, last)
        concat,  ///< rows of all operands
        output,
        widen,  ///< x in a wider type, any state: sums are formed behind it, and widen by themselves
        empty,  ///< rows that hold garbage
        write   ///< x, into rows [first, last) of which y is copied in place
    };
    does what;
    std::vector<row_op*> reads;
    std::size_t rows = 1;  ///< of the result; 1: a single row
    std::size_t first = 0, last = 0;
    std::size_t number = 0;
    std::vector<row_op*> readers{};
};

/// Owns its operations; a list, so that they stay where they are.
struct row_program {
    std::list<row_op> ops;

    row_op* append(row_op::does what, std::vector<row_op*> reads, std::size_t rows) {
        ops.push_back({what, std::move(reads), rows});
        renumber();
        return &ops.back();
    }
    void renumber() {
        std::size_t n = 0;
        for (row_op& o : ops) {
            o.number = n++;
            o.readers.clear();
        }
        for (row_op& o : ops)
            for (row_op* p : o.reads) p->readers.push_back(&o);
    }
};

struct row_view {
    using vertex_type = row_op*;
    using value_type = row_op*;
    row_program* p;

    std::vector<row_op*> vertices() const {
        std::vector<row_op*> all;
        for (row_op& o : p->ops) all.push_back(&o);
        return all;
    }
    const std::vector<row_op*>& successors(row_op* v) const { return v->readers; }
    const std::vector<row_op*>& predecessors(row_op* v) const { return v->reads; }
    std::size_t index(row_op* v) const { return v->number; }
    std::size_t index_bound() const { return p->ops.size(); }
    const std::vector<row_op*>& operands(row_op* v) const { return v->reads; }
    std::array<row_op*, 1> results(row_op* v) const { return {v}; }
    row_op* producer(row_op* x) const { return x; }
    const std::vector<row_op*>& consumers(row_op* x) const { return x->readers; }
};

struct row_model {
    stretto::op_kind kind(row_op* v) const {
        switch (v->what) {
            case row_op::does::input:
                return stretto::op_kind::input;
            case row_op::does::send:
                return stretto::op_kind::start;
            case row_op::does::wait:
                return stretto::op_kind::wait;
            case row_op::does::output:
                return stretto::op_kind::output;
            case row_op::does::part:
                return stretto::op_kind::view;
            default:
                return stretto::op_kind::compute;
        }
    }
    std::vector<row_op*> effects(row_op* v) const {
        if (v->what == row_op::does::increment || v->what == row_op::does::write) return {v->reads[0]};
        return {};
    }
    std::vector<row_op*> aliases(row_op* v) const {
        if (v->what == row_op::does::increment || v->what == row_op::does::wait || v->what == row_op::does::part ||
            v->what == row_op::does::write)
            return {v->reads[0]};
        return {};
    }
};

/// How the operations pass chunks on.
struct row_chunk_model {
    std::size_t components_of(row_op*) const { return 1; }
    std::size_t rank(row_op* x, std::size_t) const { return x->rows == 1 ? 0 : 1; }
    std::int64_t extent(row_op* x, std::size_t, std::size_t) const { return static_cast<std::int64_t>(x->rows); }
    bool sum_widens(row_op* v) const { return v->what == row_op::does::widen; }

    stretto::chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const stretto::chunk_state> in,
                                        std::span<stretto::chunk_state> out) const {
        using kind = stretto::chunk_state::kind;
        using does = row_op::does;
        switch (v->what) {
            case does::scale:
            case does::widen:
            case does::send:
            case does::wait: {
                out[0] = in[0];
                if (v->what == does::scale) out[0].positions *= 3;
                stretto::chunk_verdict verdict;
                verdict.converts = v->what == does::widen;
                return verdict;
            }
            case does::increment:
                if (in[1].positions != 0) return {false, "makes row numbers of what was none"};
                if (in[0].what == kind::whole && in[1].what == kind::addend) {
                    out[0] = in[0];
                    return {true, {}, true};
                }
                [[fallthrough]];
            case does::add: {
                if (in[0].what == in[1].what && (in[0].what == kind::sliced || in[0].what == kind::addend)) {
                    out[0] = in[0];
                    out[0].positions += in[1].positions;
                    return {};
                }
                for (std::size_t k : {0u, 1u}) {
                    const bool row = v->reads[1 - k]->rows == 1;
                    if (in[k].what != kind::sliced || in[1 - k].what != kind::whole) continue;
                    if (!row) return {false, "rows of a part and all rows", false, static_cast<std::int32_t>(1 - k), 0};
                    out[0] = in[k];
                    return {};
                }
                return {false, "these do not add up by parts"};
            }
            case does::total:
                if (in[0].positions != 0) return {false, "row numbers of a chunk are no shares of all"};
                if (in[0].what != kind::sliced && in[0].what != kind::permuted) return {false, "is a total already"};
                out[0] = {kind::addend, -1};
                return {};
            case does::order:
                if (in[0].positions != 0) return {false, "row numbers of a chunk do not sort like all"};
                if (in[0].what != kind::sliced && in[0].what != kind::permuted) return {false, "one row has no order"};
                out[0] = {kind::permuted, 0};
                return {};
            case does::numbers:
                if (v->rows != v->reads[0]->rows || in[0].what != kind::sliced) return {false, "these rows have none"};
                out[0] = {kind::sliced, 0, static_cast<std::int64_t>(v->rows) / tokens};
                return {};
            case does::running:
                return {.possible = false, .reason = "a row depends on all before it", .inherent = true};
            default:
                return {false, "there is no rule"};
        }
    }
};

struct row_rewriter {
    row_program* p;
    std::list<row_op>::iterator at;
    std::size_t calls = 0;

    std::list<row_op>::iterator find(row_op* v) {
        return std::find_if(p->ops.begin(), p->ops.end(), [&](const row_op& o) { return &o == v; });
    }
    row_op* make(row_op::does what, std::vector<row_op*> reads, std::size_t rows, std::size_t number) {
        ++calls;
        return &*p->ops.insert(at, {what, std::move(reads), rows, 0, 0, number});
    }
    void insert_before(row_op* v) { at = find(v); }
    std::array<row_op*, 1> clone(row_op* v, std::span<row_op* const> operands, const stretto::chunk_part& part) {
        const bool share = part.results[0].what == stretto::chunk_state::kind::sliced ||
                           part.results[0].what == stretto::chunk_state::kind::permuted;
        const std::size_t rows =
            share ? static_cast<std::size_t>(part.share(static_cast<std::int64_t>(v->rows))) : v->rows;
        return {make(v->what, {operands.begin(), operands.end()}, rows, v->number)};
    }
    std::vector<row_op*> split(row_op* x, std::size_t, std::span<const std::int64_t> sizes) {
        std::int64_t tokens = 0;
        for (std::int64_t s : sizes) tokens += s;
        std::vector<row_op*> parts;
        std::size_t from = 0;
        for (std::int64_t s : sizes) {
            const std::size_t rows = x->rows * static_cast<std::size_t>(s) / static_cast<std::size_t>(tokens);
            parts.push_back(make(row_op::does::part, {x}, rows, x->number));
            parts.back()->first = from;
            parts.back()->last = from += rows;
        }
        return parts;
    }
    row_op* concat(std::span<row_op* const> parts, std::size_t) {
        std::size_t rows = 0;
        for (row_op* o : parts) rows += o->rows;
        return make(row_op::does::concat, {parts.begin(), parts.end()}, rows, parts[0]->number);
    }
    row_op* sum(std::span<row_op* const> parts) {
        row_op* total = parts[0];
        for (std::size_t k = 1; k < parts.size(); ++k)
            total = make(row_op::does::add, {total, parts[k]}, parts[0]->rows, parts[0]->number);
        return total;
    }
    row_op* empty_like(row_op* x, row_op*) { return make(row_op::does::empty, {}, x->rows, x->number); }
    row_op* slice_write(row_op* whole, row_op* part, std::size_t, std::span<const std::int64_t> sizes, std::size_t k) {
        std::int64_t tokens = 0, from = 0;
        for (std::size_t n = 0; n < sizes.size(); ++n) {
            tokens += sizes[n];
            if (n < k) from += sizes[n];
        }
        row_op* made = make(row_op::does::write, {whole, part}, whole->rows, whole->number);
        made->first = whole->rows * static_cast<std::size_t>(from) / static_cast<std::size_t>(tokens);
        made->last = whole->rows * static_cast<std::size_t>(from + sizes[k]) / static_cast<std::size_t>(tokens);
        return made;
    }
    void replace_uses(row_op* v, row_op* from, row_op* to) {
        ++calls;
        std::replace(v->reads.begin(), v->reads.end(), from, to);
    }
    void erase(row_op* v) {
        ++calls;
        p->ops.erase(find(v));
    }
};

/// Runs the program: row k of input i is some function of both. What the outputs read, and every input at the end.
/// Tables live in storages, so writes in place are seen through views.
inline std::vector<std::vector<std::int64_t>> run(row_program& p, std::uint32_t seed) {
    struct table {
        std::size_t storage, from, rows;
    };
    p.renumber();
    std::vector<std::vector<std::int64_t>> storages;
    std::vector<table> of(p.ops.size());
    std::vector<std::vector<std::int64_t>> seen;
    std::vector<std::size_t> inputs;
    auto fresh = [&](std::vector<std::int64_t> rows) {
        storages.push_back(std::move(rows));
        return table{storages.size() - 1, 0, storages.back().size()};
    };
    auto rows_of = [&](const row_op* x) {
        const table& t = of[x->number];
        const auto begin = storages[t.storage].begin() + static_cast<std::ptrdiff_t>(t.from);
        return std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(t.rows));
    };
    std::size_t next_input = 0;
    for (row_op& o : p.ops) {
        using does = row_op::does;
        std::vector<std::int64_t> a = o.reads.empty() ? std::vector<std::int64_t>() : rows_of(o.reads[0]);
        table& made = of[o.number];
        switch (o.what) {
            case does::input: {
                std::vector<std::int64_t> rows;
                for (std::size_t k = 0; k < o.rows; ++k)
                    rows.push_back(static_cast<std::int64_t>((seed + 7919 * (k + 1) * (next_input + 3)) % 101));
                ++next_input;
                made = fresh(std::move(rows));
                inputs.push_back(made.storage);
                break;
            }
            case does::scale:
                for (std::int64_t& x : a) x *= 3;
                made = fresh(std::move(a));
                break;
            case does::add: {
                const std::vector<std::int64_t> b = rows_of(o.reads[1]);
                std::vector<std::int64_t> sum(std::max(a.size(), b.size()));
                if (a.empty() || b.empty()) sum.clear();
                for (std::size_t k = 0; k < sum.size(); ++k)
                    sum[k] = a[a.size() == 1 ? 0 : k] + b[b.size() == 1 ? 0 : k];
                made = fresh(std::move(sum));
                break;
            }
            case does::increment: {
                const std::vector<std::int64_t> b = rows_of(o.reads[1]);
                made = of[o.reads[0]->number];
                for (std::size_t k = 0; k < made.rows; ++k)
                    storages[made.storage][made.from + k] += b[b.size() == 1 ? 0 : k];
                break;
            }
            case does::total: {
                std::int64_t sum = 0;
                for (std::int64_t x : a) sum += x;
                made = fresh({sum});
                break;
            }
            case does::order:
                std::sort(a.begin(), a.end());
                made = fresh(std::move(a));
                break;
            case does::running:
                for (std::size_t k = 1; k < a.size(); ++k) a[k] += a[k - 1];
                made = fresh(std::move(a));
                break;
            case does::numbers:
                for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<std::int64_t>(k);
                made = fresh(std::move(a));
                break;
            case does::widen:
            case does::send:
                made = fresh(std::move(a));
                break;
            case does::wait:
                made = of[o.reads[0]->number];
                break;
            case does::part: {
                const table& t = of[o.reads[0]->number];
                made = {t.storage, t.from + o.first, o.last - o.first};
                break;
            }
            case does::empty:
                made = fresh(std::vector<std::int64_t>(o.rows, -987654321));
                break;
            case does::write: {
                const std::vector<std::int64_t> b = rows_of(o.reads[1]);
                made = of[o.reads[0]->number];
                for (std::size_t k = o.first; k < o.last; ++k)
                    storages[made.storage][made.from + k] = b.at(k - o.first);
                break;
            }
            case does::concat: {
                std::vector<std::int64_t> rows;
                for (row_op* x : o.reads)
                    for (std::int64_t r : rows_of(x)) rows.push_back(r);
                made = fresh(std::move(rows));
                break;
            }
            case does::output:
                for (row_op* x : o.reads) seen.push_back(rows_of(x));
                break;
        }
    }
    for (std::size_t s : inputs) seen.push_back(storages[s]);
    return seen;
}

}  // namespace support

#endif
