#include "stretto/testing/check_applied_chunks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/checked_row_ir.hpp"

using namespace stretto;
using support::row_op;
using does = row_op::does;

namespace {

/// Each is right operation by operation as far as it goes, and wrong in a program.
enum class fault {
    none,
    concat_scaled,
    concat_in_reverse,
    part_of_first_rows,
    clone_scales_less,
    use_of_input,
    reader_lost
};

struct faulty_rewriter : support::row_rewriter {
    fault wrong = fault::none;

    std::array<row_op*, 1> clone(row_op* v, std::span<row_op* const> operands, const chunk_part& part) {
        auto made = row_rewriter::clone(v, operands, part);
        if (wrong == fault::clone_scales_less && v->what == does::scale && part.chunk == 1) made[0]->what = does::widen;
        return made;
    }
    std::vector<row_op*> split(row_op* x, std::size_t dim, std::span<const std::int64_t> sizes) {
        auto parts = row_rewriter::split(x, dim, sizes);
        if (wrong == fault::part_of_first_rows)
            for (row_op* part : parts) {
                part->last -= part->first;
                part->first = 0;
            }
        return parts;
    }
    row_op* concat(std::span<row_op* const> parts, std::size_t dim) {
        std::vector<row_op*> own(parts.begin(), parts.end());
        if (wrong == fault::concat_in_reverse) std::reverse(own.begin(), own.end());
        row_op* made = row_rewriter::concat(own, dim);
        return wrong == fault::concat_scaled ? make(does::scale, {made}, made->rows, made->number) : made;
    }
    void replace_uses(row_op* v, row_op* from, row_op* to) {
        if (wrong == fault::use_of_input && to->rows == p->ops.front().rows) to = &p->ops.front();
        row_rewriter::replace_uses(v, from, to);
    }
};

struct faulty_ir : support::row_ir {
    fault wrong = fault::none;
    struct forgetful_view : support::row_view {
        fault wrong = fault::none;
        std::vector<row_op*> consumers(row_op* x) const {
            std::vector<row_op*> all = row_view::consumers(x);
            if (wrong == fault::reader_lost && x->what == does::part) all.clear();
            return all;
        }
    };
    forgetful_view view() { return {{&p}, wrong}; }
    faulty_rewriter rewriter() {
        faulty_rewriter r{{&p, p.ops.end()}};
        r.wrong = wrong;
        return r;
    }
};

/// Rows that nobody computes, read with rows that were joined: their buffer, which is new, stands before them.
support::row_ir sum_with_unknown_rows() {
    support::row_ir ir;
    row_op* x = ir.p.append(does::input, {}, 12);
    row_op* run = ir.p.append(does::running, {ir.p.append(does::scale, {x}, 12)}, 12);
    row_op* unknown = ir.p.append(does::empty, {}, 12);
    ir.p.append(does::output, {ir.p.append(does::add, {run, unknown}, 12)}, 1);
    return ir;
}

std::string verdict(fault wrong) {
    const auto checked = check_applied_chunks([&] { return faulty_ir{{support::every_row_operation()}, wrong}; });
    return checked ? "fine" : checked.error().rule;
}

}  // namespace

TEST_CASE("chunks are applied, and outputs compared") {
    const auto applied =
        check_applied_chunks([] { return support::row_ir{support::every_row_operation()}; }, {.most = 40});
    if (!applied) FAIL(applied.error().message());
    CHECK(applied->plans > 5);
    CHECK(applied->splits > 0);
    CHECK(applied->concats > 0);
    CHECK(applied->sums > 0);
    CHECK(applied->slices > 0);
    CHECK(applied->compared > 0);
}

TEST_CASE("what a rewriter does wrong shows in the program") {
    CHECK(verdict(fault::none) == "fine");
    CHECK(verdict(fault::concat_scaled) == "applied");
    CHECK(verdict(fault::concat_in_reverse) == "applied");
    CHECK(verdict(fault::part_of_first_rows) == "value");
    CHECK(verdict(fault::clone_scales_less) == "value");
    CHECK(verdict(fault::use_of_input) == "applied");
    CHECK(verdict(fault::reader_lost) == "consumer");
}

TEST_CASE("what nobody computes is the same before and after") {
    const auto applied = check_applied_chunks(sum_with_unknown_rows);
    if (!applied) FAIL(applied.error().message());
    CHECK(applied->slices > 0);
    CHECK(applied->compared == applied->plans);
}
