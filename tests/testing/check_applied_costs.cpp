#include "stretto/testing/check_applied_costs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/tune/part_costs.hpp"
#include "support/checked_row_ir.hpp"
#include "support/priced_rows.hpp"

using namespace stretto;
using support::priced_row_model;
using support::row_chunk_model;
using support::row_op;
using support::row_view;
using does = row_op::does;

namespace {

/// What is wrong with the costs of clones.
enum class fault {
    none,
    no_time,
    time_of_whole,
    no_time_where_rows_are_unknown,
    payload_of_whole,
    no_storage,
    storage_of_whole
};

/// Operations have costs of their own, as in an IR that stores what a profile has measured: those that were there from
/// the beginning those of the model, and clones what the rewriter has given them.
struct stored_costs_model : priced_row_model {
    const std::vector<row_op*>* original = nullptr;
    fault wrong = fault::none;

    [[nodiscard]] bool is_clone(row_op* v) const {
        return v->what != does::part && v->what != does::concat && v->what != does::empty &&
               std::find(original->begin(), original->end(), v) == original->end();
    }
    nanoseconds duration(row_op* v) const {
        const nanoseconds own = priced_row_model::duration(v);
        if (!is_clone(v) || own.count == 0) return own;
        if (wrong == fault::no_time) return {};
        if (wrong == fault::time_of_whole) return {12 * 60};
        if (wrong == fault::no_time_where_rows_are_unknown && v->what == does::order) return {};
        return own;
    }
    bytes payload(row_op* v) const {
        return wrong == fault::payload_of_whole && is_clone(v) ? bytes{4 * 12} : priced_row_model::payload(v);
    }
    bytes bytes_of(row_op* x) const {
        const bytes own = priced_row_model::bytes_of(x);
        if (!is_clone(x) || own.count == 0) return own;
        return wrong == fault::no_storage ? bytes{} : wrong == fault::storage_of_whole ? bytes{12 * 8} : own;
    }
};

struct stored_costs_ir : support::row_ir {
    std::vector<row_op*> original;
    fault wrong = fault::none;

    stored_costs_model model() const {
        stored_costs_model m;
        m.original = &original;
        m.wrong = wrong;
        return m;
    }
    auto part_costs() {
        using sizes = extent_sizes<row_view, row_chunk_model>;
        return share_costs<row_view, priced_row_model, sizes>(view(), {}, sizes{{}, 8}, {{0}, 1e12});
    }
};

stored_costs_ir made(fault wrong) {
    stored_costs_ir ir{{support::every_row_operation()}, {}, wrong};
    for (row_op& o : ir.p.ops) ir.original.push_back(&o);
    return ir;
}

std::string verdict(fault wrong) {
    const auto checked = check_applied_costs([&] { return made(wrong); });
    return checked ? "fine" : checked.error().rule;
}

}  // namespace

TEST_CASE("clones cost what was promised of them") {
    const auto costs = check_applied_costs([] { return made(fault::none); });
    if (!costs) FAIL(costs.error().message());
    CHECK(costs->plans > 5);
    CHECK(costs->clones > 50);
    CHECK(costs->of_unknown_rows > 0);
    CHECK(std::string(costs->unproved()).empty());
}

TEST_CASE("what a rewriter forgets to give its clones is found") {
    CHECK(verdict(fault::none) == "fine");
    CHECK(verdict(fault::no_time) == "clone-duration");
    CHECK(verdict(fault::time_of_whole) == "clone-duration");
    CHECK(verdict(fault::no_time_where_rows_are_unknown) == "clone-duration");
    CHECK(verdict(fault::payload_of_whole) == "clone-payload");
    CHECK(verdict(fault::no_storage) == "clone-bytes");
    CHECK(verdict(fault::storage_of_whole) == "clone-bytes");
}

TEST_CASE("a finding says of which operation and which rows it is") {
    const auto costs = check_applied_costs([] { return made(fault::no_time); });
    REQUIRE(!costs);
    const std::string text = costs.error().message();
    CHECK(text.starts_with("clone-duration after clone: vertex "));
    CHECK(text.find(" rows: the op model says 0, the costs of parts ") != std::string::npos);
}

TEST_CASE("costs may differ by the tolerance, and by no more") {
    struct quick_ir : stored_costs_ir {
        auto part_costs() {
            using sizes = extent_sizes<row_view, row_chunk_model>;
            return share_costs<row_view, priced_row_model, sizes>(view(), {}, sizes{{}, 8}, {{20}, 1e12});
        }
    };
    const auto make = [] {
        quick_ir ir{{{support::every_row_operation()}, {}, fault::none}};
        for (row_op& o : ir.p.ops) ir.original.push_back(&o);
        return ir;
    };
    CHECK(check_applied_costs(make));
    const auto exact = check_applied_costs(make, {.tolerance = 0});
    REQUIRE(!exact);
    CHECK(std::string(exact.error().rule) == "clone-duration");
}

TEST_CASE("where no plan chunks anything, nothing is proved") {
    const auto costs = check_applied_costs([] {
        support::row_program p;
        p.append(does::output, {p.append(does::running, {p.append(does::input, {}, 12)}, 12)}, 1);
        stored_costs_ir ir{{std::move(p)}, {}, fault::none};
        for (row_op& o : ir.p.ops) ir.original.push_back(&o);
        return ir;
    });
    REQUIRE(costs);
    CHECK(std::string(costs->unproved()) == "no plan chunks anything");
}
