// Numbers that chunks have shares of: what check_chunk_model says of their states, and check_rewriter of their sums.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/testing/check_applied_chunks.hpp"
#include "stretto/testing/check_chunk_model.hpp"
#include "stretto/testing/check_rewriter.hpp"
#include "support/checked_row_ir.hpp"

using namespace stretto;
using support::row_op;
using does = row_op::does;
using state = chunk_state::kind;

namespace {

/// Totals are numbers, and so is what is made of numbers alone.
bool is_number(const row_op* x) {
    return x->what == does::total || (x->rows == 1 && !x->reads.empty() && is_number(x->reads[0]));
}

enum class fault {
    none,
    share_is_whole,
    share_is_rows,
    share_is_exact,
    scaled_is_whole,
    sum_of_two,
    sum_twice,
    sum_of_scaled,
    sum_is_tensor
};

struct number_chunk_model : support::row_chunk_model {
    fault wrong = fault::none;

    std::size_t components_of(row_op* x) const {
        // The sum that a rewriter makes in the wrong way is a tensor of one element.
        return is_number(x) && !(wrong == fault::sum_is_tensor && x->what == does::add) ? 0 : 1;
    }
    chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        const chunk_verdict verdict = row_chunk_model::combine_rule(v, tokens, in, out);
        if (!verdict.possible || v->what == does::widen) return verdict;
        if (v->what == does::total) {
            if (wrong == fault::share_is_whole) out[0] = {state::whole};
            if (wrong == fault::share_is_rows) out[0] = {state::sliced, 0};
            if (wrong == fault::share_is_exact) out[0].positions = 1;
        }
        if (wrong == fault::scaled_is_whole && v->what == does::scale && is_number(v)) out[0] = {state::whole};
        return verdict;
    }
};

struct number_rewriter : support::row_rewriter {
    fault wrong = fault::none;

    row_op* sum(std::span<row_op* const> parts) {
        if (wrong == fault::sum_of_two && is_number(parts[0])) parts = parts.first(2);
        row_op* made = row_rewriter::sum(parts);
        if (!is_number(parts[0])) return made;
        if (wrong == fault::sum_twice) return make(does::add, {made, parts[0]}, 1, parts[0]->number);
        if (wrong == fault::sum_of_scaled) return make(does::scale, {made}, 1, parts[0]->number);
        return made;
    }
};

/// The row IR in which totals are numbers: `evaluate` takes and gives them as such.
struct number_ir {
    support::row_ir rows;
    fault wrong = fault::none;

    auto view() { return rows.view(); }
    auto model() const { return rows.model(); }
    number_chunk_model chunks() const {
        number_chunk_model m;
        m.wrong = wrong;
        return m;
    }
    number_rewriter rewriter() {
        number_rewriter r{{&rows.p, rows.p.ops.end()}};
        r.wrong = wrong;
        return r;
    }
    void changed() { rows.changed(); }
    std::vector<host_value> evaluate(row_op* v, std::span<const host_value> in) const {
        std::vector<host_value> own(in.begin(), in.end());
        for (host_value& x : own)
            if (x.is_number()) x.tensors = {{{}, {x.number}}};
        std::vector<host_value> made = rows.evaluate(v, own);
        if (!made.empty() && chunks().components_of(v) == 0) made = {{{}, made[0].tensors[0].elements[0]}};
        return made;
    }
};

/// Two totals, one of them scaled, and their sum.
number_ir made(fault wrong) {
    number_ir ir{{}, wrong};
    support::row_program& p = ir.rows.p;
    row_op* x = p.append(does::input, {}, 12);
    row_op* y = p.append(does::scale, {x}, 12);
    row_op* total = p.append(does::total, {x}, 1);
    row_op* other = p.append(does::total, {y}, 1);
    row_op* scaled = p.append(does::scale, {other}, 1);
    row_op* both = p.append(does::add, {total, scaled}, 1);
    p.append(does::output, {both, y}, 1);
    return ir;
}

std::string verdict_on_model(fault wrong) {
    number_ir ir = made(wrong);
    const auto checked =
        check_chunk_model(ir.view(), ir.model(), ir.chunks(),
                          [&](row_op* v, std::span<const host_value> in) { return ir.evaluate(v, in); });
    return checked ? "fine" : checked.error().rule + (" " + std::to_string(checked.error().vertex));
}
std::string verdict_on_rewriter(fault wrong) {
    const auto checked = check_rewriter([&] { return made(wrong); });
    return checked ? "fine" : checked.error().verb + std::string(": ") + checked.error().rule;
}

}  // namespace

TEST_CASE("shares of numbers are added again, and compared with the whole") {
    number_ir ir = made(fault::none);
    const auto checked =
        check_chunk_model(ir.view(), ir.model(), ir.chunks(),
                          [&](row_op* v, std::span<const host_value> in) { return ir.evaluate(v, in); });
    if (!checked) FAIL(checked.error().message());
    CHECK(checked->number_sums > 20);
    CHECK(checked->unaccepted.empty());
    const auto verbs = check_rewriter([] { return made(fault::none); });
    if (!verbs) FAIL(verbs.error().message());
    CHECK(verbs->sums == 5);
    const auto applied = check_applied_chunks([] { return made(fault::none); });
    if (!applied) FAIL(applied.error().message());
    CHECK(applied->sums > 0);
    CHECK(applied->compared > 0);
}

TEST_CASE("what a chunk model says wrongly of a number is found") {
    CHECK(verdict_on_model(fault::none) == "fine");
    CHECK(verdict_on_model(fault::share_is_whole) == "states 2");
    CHECK(verdict_on_model(fault::share_is_rows) == "states 2");
    CHECK(verdict_on_model(fault::share_is_exact) == "states 2");
    CHECK(verdict_on_model(fault::scaled_is_whole) == "states 4");
}

TEST_CASE("a rewriter that sums numbers wrongly is found") {
    CHECK(verdict_on_rewriter(fault::none) == "fine");
    CHECK(verdict_on_rewriter(fault::sum_of_two) == "sum: reads");
    CHECK(verdict_on_rewriter(fault::sum_twice) == "sum: parts-order");
    CHECK(verdict_on_rewriter(fault::sum_of_scaled) == "sum: value");
    CHECK(verdict_on_rewriter(fault::sum_is_tensor) == "sum: extent");
}
