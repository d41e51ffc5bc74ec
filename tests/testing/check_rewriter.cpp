#include "stretto/testing/check_rewriter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/checked_row_ir.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::row_op;
using does = row_op::does;

namespace {

enum class fault {
    none,
    clone_behind,
    clone_at_end,
    clone_twice,
    clone_of_original_operands,
    clone_of_swapped_operands,
    clone_of_another_kind,
    clone_of_all_rows,
    clones_in_reverse,
    split_elsewhere,
    split_shares_first,
    split_forgets_last,
    split_in_halves,
    split_in_reverse,
    split_rows_overlap,
    split_of_scaled,
    split_copies,
    concat_in_reverse,
    concat_of_one,
    concat_sorted,
    sum_of_two,
    sum_by_concat,
    memory_of_a_row,
    slice_copied,
    slice_of_whole,
    slice_elsewhere,
    use_of_last_reader,
    use_not_at_all,
    use_in_clone,
    erase_one_more,
    erase_not_at_all,
    numbers_as_it_goes,
    move_behind,
    move_both,
    inputs_have_no_place  // no fault: such are arguments of a block
};

/// The rewriter of the row IR with something wrong.
struct faulty_rewriter : support::row_rewriter {
    fault wrong = fault::none;

    std::list<row_op>::iterator next(std::list<row_op>::iterator i) { return i == p->ops.end() ? i : ++i; }
    void insert_before(row_op* v) {
        row_rewriter::insert_before(v);
        if (wrong == fault::clone_behind) at = next(at);
        if (wrong == fault::clone_at_end) at = std::prev(p->ops.end());
    }
    std::array<row_op*, 1> clone(row_op* v, std::span<row_op* const> operands, chunk_part part) {
        std::vector<row_op*> reads(operands.begin(), operands.end());
        if (wrong == fault::clone_of_original_operands) reads = v->reads;
        if (wrong == fault::clone_of_swapped_operands) std::reverse(reads.begin(), reads.end());
        if (wrong == fault::clone_of_all_rows) part.rows = {0, part.tokens};
        if (wrong == fault::clone_twice) row_rewriter::clone(v, reads, part);
        auto made = row_rewriter::clone(v, reads, part);
        if (wrong == fault::clone_of_another_kind && v->what == does::send) made[0]->what = does::scale;
        if (wrong == fault::clones_in_reverse) --at;
        if (wrong == fault::numbers_as_it_goes) p->renumber();
        return made;
    }
    std::vector<row_op*> split(row_op* x, std::size_t dim, std::span<const std::int64_t> sizes) {
        if (wrong == fault::split_elsewhere) at = next(find(x));
        std::vector<std::int64_t> own(sizes.begin(), sizes.end());
        if (wrong == fault::split_in_halves) own.assign(sizes.size(), 1);
        if (wrong == fault::split_of_scaled) x = make(does::scale, {x}, x->rows, x->number);
        auto parts = row_rewriter::split(x, dim, own);
        if (wrong == fault::split_shares_first) parts.back() = parts.front();
        if (wrong == fault::split_forgets_last) parts.pop_back();
        if (wrong == fault::split_in_reverse) std::reverse(parts.begin(), parts.end());
        if (wrong == fault::split_rows_overlap)
            for (row_op* part : parts) part->last -= std::exchange(part->first, 0);
        return parts;
    }
    row_op* concat(std::span<row_op* const> parts, std::size_t dim) {
        std::vector<row_op*> own(parts.begin(), parts.end());
        if (wrong == fault::concat_in_reverse) std::reverse(own.begin(), own.end());
        if (wrong == fault::concat_of_one) own.resize(1);
        row_op* made = row_rewriter::concat(own, dim);
        if (wrong == fault::concat_sorted) made = make(does::scale, {made}, made->rows, made->number);
        return made;
    }
    row_op* sum(std::span<row_op* const> parts) {
        if (wrong == fault::sum_of_two) parts = parts.first(2);
        if (wrong == fault::sum_by_concat) return row_rewriter::concat(parts, 0);
        return row_rewriter::sum(parts);
    }
    row_op* empty_like(row_op* x, row_op* part) {
        row_op* made = row_rewriter::empty_like(x, part);
        if (wrong == fault::memory_of_a_row) made->rows = 1;
        return made;
    }
    row_op* slice_write(row_op* whole, row_op* part, std::size_t dim, std::span<const std::int64_t> sizes,
                        std::size_t k) {
        if (wrong == fault::slice_of_whole) part = whole;
        row_op* made = row_rewriter::slice_write(whole, part, dim, sizes, k);
        if (wrong == fault::slice_copied) made->what = does::add;
        if (wrong == fault::slice_elsewhere) made->last -= std::exchange(made->first, 0);
        return made;
    }
    void replace_uses(row_op* v, row_op* from, row_op* to) {
        if (wrong == fault::use_not_at_all) return;
        if (wrong == fault::use_of_last_reader) v = from->readers.back();
        if (wrong == fault::use_in_clone)
            for (row_op& o : p->ops)
                if (o.number > v->number && o.what != does::output) row_rewriter::replace_uses(&o, from, to);
        row_rewriter::replace_uses(v, from, to);
    }
    void erase(row_op* v) {
        if (wrong == fault::erase_not_at_all) return;
        if (wrong == fault::erase_one_more && v->readers.empty() && std::next(find(v)) != p->ops.end() &&
            std::next(find(v))->readers.empty())
            p->ops.erase(std::next(find(v)));
        row_rewriter::erase(v);
    }
    void move_before(row_op* v, row_op* where) {
        auto to = find(where);
        if (wrong == fault::inputs_have_no_place && (v->what == does::input || where->what == does::input)) return;
        if (wrong == fault::move_behind) to = next(to);
        if (wrong == fault::move_both && find(v) != p->ops.begin()) p->ops.splice(to, p->ops, std::prev(find(v)));
        p->ops.splice(to, p->ops, find(v));
    }
};

/// The model of an IR whose parts may have memory of their own.
struct copying_model : support::row_model {
    bool copies = false;
    std::vector<row_op*> aliases(row_op* v) const {
        if (copies && v->what == does::part) return {};
        return row_model::aliases(v);
    }
};

struct faulty_ir : support::row_ir {
    fault wrong = fault::none;
    copying_model model() const {
        copying_model m;
        m.copies = wrong == fault::split_copies;
        return m;
    }
    faulty_rewriter rewriter() {
        faulty_rewriter r{{&p, p.ops.end()}};
        r.wrong = wrong;
        return r;
    }
};

std::string verdict(fault wrong) {
    const auto checked = check_rewriter([&] { return faulty_ir{{support::every_row_operation()}, wrong}; });
    if (checked) return "fine";
    return std::string(checked.error().verb) + ": " + checked.error().rule;
}

}  // namespace

// [check-rewriter]
TEST_CASE("my rewriter does what its verbs promise") {
    const auto verbs = stretto::check_rewriter([] { return support::row_ir{support::every_row_operation()}; });
    if (!verbs) FAIL(verbs.error().message());
    CHECK(verbs->clones > 0);
    CHECK(verbs->splits > 0);
    CHECK(verbs->computed > 0);  // values were compared, since the IR has `evaluate`
}
// [/check-rewriter]

TEST_CASE("every verb is tried") {
    const auto verbs = check_rewriter([] { return faulty_ir{{support::every_row_operation()}, fault::none}; });
    if (!verbs) FAIL(verbs.error().message());
    CHECK(verbs->row_clones > 0);
    CHECK(verbs->concats > 0);
    CHECK(verbs->sums > 0);
    CHECK(verbs->slice_writes > 0);
    CHECK(verbs->replaced_uses > 0);
    CHECK(verbs->erased > 0);
    CHECK(verbs->moved > 0);
}

TEST_CASE("each planted fault is found, with its verb") {
    CHECK(verdict(fault::none) == "fine");
    CHECK(verdict(fault::clone_behind) == "clone: position");
    CHECK(verdict(fault::clone_at_end) == "clone: position");
    CHECK(verdict(fault::clone_twice) == "clone: one-operation");
    CHECK(verdict(fault::clone_of_original_operands) == "clone: clone-operands");
    CHECK(verdict(fault::clone_of_swapped_operands) == "clone: clone-operands");
    CHECK(verdict(fault::clone_of_another_kind) == "clone: clone-kind");
    CHECK(verdict(fault::clone_of_all_rows) == "clone: part-extent");
    CHECK(verdict(fault::clones_in_reverse) == "clone: call-order");
    CHECK(verdict(fault::split_elsewhere) == "split: position");
    CHECK(verdict(fault::split_shares_first) == "split: parts");
    CHECK(verdict(fault::split_forgets_last) == "split: parts");
    CHECK(verdict(fault::split_in_halves) == "split: part-extent");
    CHECK(verdict(fault::split_in_reverse) == "split: part-extent");
    CHECK(verdict(fault::split_rows_overlap) == "split: value");
    CHECK(verdict(fault::split_of_scaled) == "split: value");
    CHECK(verdict(fault::split_copies) == "split: part-aliases");
    CHECK(verdict(fault::concat_in_reverse) == "concat: parts-order");
    CHECK(verdict(fault::concat_of_one) == "concat: reads");
    CHECK(verdict(fault::concat_sorted) == "concat: value");
    CHECK(verdict(fault::sum_of_two) == "sum: reads");
    CHECK(verdict(fault::sum_by_concat) == "sum: extent");
    CHECK(verdict(fault::memory_of_a_row) == "empty_like: extent");
    CHECK(verdict(fault::slice_copied) == "slice_write: effects");
    CHECK(verdict(fault::slice_of_whole) == "slice_write: reads");
    CHECK(verdict(fault::slice_elsewhere) == "slice_write: value");
    CHECK(verdict(fault::use_of_last_reader) == "replace_uses: operands");
    CHECK(verdict(fault::use_not_at_all) == "replace_uses: operands");
    CHECK(verdict(fault::use_in_clone) == "replace_uses: operands");
    CHECK(verdict(fault::erase_one_more) == "erase: lost");
    CHECK(verdict(fault::erase_not_at_all) == "erase: erased");
    CHECK(verdict(fault::numbers_as_it_goes) == "clone: index-kept");
    CHECK(verdict(fault::move_behind) == "move_before: order");
    CHECK(verdict(fault::move_both) == "move_before: order");
    CHECK(verdict(fault::inputs_have_no_place) == "fine");
}

TEST_CASE("the callable must make the same program each time") {
    int calls = 0;
    const auto checked = check_rewriter([&] {
        support::row_ir ir{support::every_row_operation()};
        if (calls++ > 0) ir.p.append(does::input, {}, 1);
        return ir;
    });
    REQUIRE(!checked);
    CHECK(std::string(checked.error().rule) == "fresh");
}

TEST_CASE_TEMPLATE("the toy IRs keep the promises of the verbs that they have", IR, support::linked_ir,
                   support::shared_ir, support::soa_ir) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const support::toy_program p = support::seeded_program(seed, 40);
        const auto verbs = check_rewriter([&] { return IR(p, seed); });
        if (!verbs) FAIL(verbs.error().message());
        CHECK(verbs->moved > 0);
        CHECK((verbs->erased > 0) == !std::is_same_v<IR, support::soa_ir>);
    }
}
