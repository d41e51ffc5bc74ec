#include "stretto/transform/recording_rewriter.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/prop.hpp"
#include "support/row_ir.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using support::row_case;
using support::row_op;
using support::row_plan;
using support::row_view;

namespace {

using violations = std::vector<applied_violation<row_op*, std::uint32_t>>;

/// A row_rewriter with something wrong.
struct faulty_rewriter : support::row_rewriter {
    enum fault {
        none,
        clone_reads_original,
        one_part_for_all,
        concat_backwards,
        use_forgotten,
        original_stays,
        operation_too_many,
        slices_in_one_place
    };
    fault wrong = none;

    std::array<row_op*, 1> clone(row_op* v, std::span<row_op* const> operands, const chunk_part& part) {
        const std::vector<row_op*> original = v->reads;
        return row_rewriter::clone(v, wrong == clone_reads_original ? std::span<row_op* const>(original) : operands,
                                   part);
    }
    std::vector<row_op*> split(row_op* x, std::size_t dim, std::span<const std::int64_t> sizes) {
        auto parts = row_rewriter::split(x, dim, sizes);
        if (wrong == one_part_for_all) parts.back() = parts.front();
        if (wrong == operation_too_many) make(row_op::does::scale, {x}, x->rows, x->number);
        return parts;
    }
    row_op* concat(std::span<row_op* const> parts, std::size_t dim) {
        std::vector<row_op*> order(parts.begin(), parts.end());
        if (wrong == concat_backwards) std::reverse(order.begin(), order.end());
        return row_rewriter::concat(order, dim);
    }
    row_op* slice_write(row_op* whole, row_op* part, std::size_t dim, std::span<const std::int64_t> sizes,
                        std::size_t k) {
        // What writes the first part is told to be the writer of every other one too.
        if (wrong == slices_in_one_place && k > 0) return whole;
        return row_rewriter::slice_write(whole, part, dim, sizes, k);
    }
    void replace_uses(row_op* v, row_op* from, row_op* to) {
        if (wrong != use_forgotten) row_rewriter::replace_uses(v, from, to);
    }
    void erase(row_op* v) {
        const bool still_read = wrong == use_forgotten || wrong == clone_reads_original;
        if (wrong != original_stays && !still_read) row_rewriter::erase(v);
    }
};

expected<applied_counts, violations> apply_recorded(row_case& c, const row_plan& plan,
                                                    faulty_rewriter::fault wrong = faulty_rewriter::none) {
    const row_view view{&c.p};
    faulty_rewriter rewriter{{&c.p, c.p.ops.end()}};
    rewriter.wrong = wrong;
    chunk_recording recording(view, plan);
    auto recorder = recording.rewriter(rewriter);
    apply_chunks(plan, view, recorder);
    c.p.renumber();
    return recording.verify(view);
}

support::row_recipe two_scales() {
    // x -> y -> z in two chunks; the output reads both and x + z, which is in no region.
    return {{{0, 0, 0, 1}, {0, 3, 0, 1}, {1, 0, 4, 0}}, {1, 1}, {1}};
}

bool finds(faulty_rewriter::fault wrong, std::vector<applied_rule> rules) {
    row_case c = support::make_row_case(two_scales());
    const row_plan plan = support::plan_row_case(c);
    const auto applied = apply_recorded(c, plan, wrong);
    if (applied) return false;
    return std::any_of(applied.error().begin(), applied.error().end(),
                       [&](const auto& v) { return std::find(rules.begin(), rules.end(), v.broken) != rules.end(); });
}

}  // namespace

TEST_CASE("an IR that is rewritten in place is verified without a second copy of it") {
    row_case c = support::make_row_case(two_scales());
    const row_plan plan = support::plan_row_case(c);
    REQUIRE(plan.operations.size() == 2);
    const auto applied = apply_recorded(c, plan);
    REQUIRE(applied);
    CHECK(*applied == applied_counts{5, 4, 2, 1, 1, 2});  // one value by concatenation, one slice by slice
}

namespace {

/// Has no verbs for slices.
struct plain_rewriter {
    support::row_rewriter r;
    using values = std::span<row_op* const>;

    void insert_before(row_op* v) { r.insert_before(v); }
    auto clone(row_op* v, values operands, const chunk_part& part) { return r.clone(v, operands, part); }
    auto split(row_op* x, std::size_t dim, std::span<const std::int64_t> sizes) { return r.split(x, dim, sizes); }
    row_op* concat(values parts, std::size_t dim) { return r.concat(parts, dim); }
    row_op* sum(values parts) { return r.sum(parts); }
    void replace_uses(row_op* v, row_op* from, row_op* to) { r.replace_uses(v, from, to); }
    void erase(row_op* v) { r.erase(v); }
};

}  // namespace

TEST_CASE("slices of a plan are concatenated by a rewriter that cannot write them, and that is right") {
    row_case c = support::make_row_case(two_scales());
    row_plan plan = support::plan_row_case(c);
    choose_slices(plan, [](const auto&) { return true; });
    REQUIRE(plan.counts().slice_writes > 0);
    const row_view view{&c.p};
    plain_rewriter rewriter{{&c.p, c.p.ops.end()}};
    chunk_recording recording(view, plan);
    auto recorder = recording.rewriter(rewriter);
    static_assert(!slice_writing_rewriter<decltype(recorder), row_view>);
    apply_chunks(plan, view, recorder);
    c.p.renumber();
    const auto applied = recording.verify(view);
    REQUIRE(applied);
    CHECK(*applied == applied_counts{5, 4, 2, 2});
}

TEST_CASE("whatever is planned and applied is verified") {
    stretto_check("random row programs", 300, [] {
        row_case c = support::make_row_case(support::arbitrary_recipe());
        const row_plan plan = support::plan_row_case(c);
        const chunk_counts planned = plan.counts();
        const auto applied = apply_recorded(c, plan);
        if (!applied) RC_FAIL(std::string(hint(applied.error()[0].broken)));
        RC_ASSERT(applied->clones == planned.clones);
        RC_ASSERT(applied->empties == planned.empties);
        RC_ASSERT(applied->slices == planned.slice_writes);
    });
}

TEST_CASE("what a rewriter does wrong is found") {
    CHECK_FALSE(finds(faulty_rewriter::none, {}));
    CHECK(finds(faulty_rewriter::clone_reads_original, {applied_rule::reads_whole}));
    CHECK(finds(faulty_rewriter::one_part_for_all, {applied_rule::reads_other_chunk}));
    CHECK(finds(faulty_rewriter::concat_backwards, {applied_rule::parts_out_of_order}));
    CHECK(finds(faulty_rewriter::use_forgotten, {applied_rule::reads_other_value}));
    CHECK(finds(faulty_rewriter::original_stays, {applied_rule::original_remains}));
    CHECK(finds(faulty_rewriter::operation_too_many, {applied_rule::out_of_step}));
    CHECK(finds(faulty_rewriter::slices_in_one_place, {applied_rule::slice_missing}));
}
