#include "stretto/tune/part_costs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/testing/check_part_costs.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/priced_rows.hpp"

using namespace stretto;
using namespace support;

namespace {

using sizes = extent_sizes<row_view, row_chunk_model>;
using kind = chunk_state::kind;

struct step {
    row_program p;
    row_op* x = p.append(row_op::does::input, {}, 8);
    row_op* y = p.append(row_op::does::scale, {x}, 8);
    row_op* t = p.append(row_op::does::total, {y}, 1);
    row_op* s = p.append(row_op::does::send, {y}, 8);
    row_op* sum = p.append(row_op::does::scale, {t}, 1);
};

constexpr chunk_state rows{kind::sliced, 0}, addend{kind::addend, -1};

/// The first chunk of 2 of 8 rows.
chunk_part quarter(const std::array<chunk_state, 1>& in, const std::array<chunk_state, 1>& out) {
    return {0, 2, 8, {0, 2}, in, out};
}

}  // namespace

TEST_CASE("a part has its share of the work, the bytes and the payload") {
    step c;
    const share_costs costs(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {{100}, 1e15});
    static_assert(part_cost_model<decltype(costs), row_view>);
    std::array<bytes, 1> allocated;
    CHECK(costs.of_clone(c.y, quarter({rows}, {rows}), allocated).duration.count == 100 + (480 - 100) / 4);
    CHECK(allocated[0].count == 16);
    CHECK(costs.of_clone(c.t, quarter({rows}, {addend}), allocated).duration.count == 100 + (480 - 100) / 4);
    CHECK(allocated[0].count == 8);  // a total is as large in every chunk
    CHECK(costs.of_clone(c.sum, quarter({addend}, {addend}), allocated).duration.count == 60);
    const clone_cost sent = costs.of_clone(c.s, quarter({rows}, {rows}), allocated);
    CHECK(sent.duration.count == 120);
    CHECK(sent.payload.count == 8);
}

TEST_CASE("a part takes no less than writing its results, and no more than the whole") {
    step c;
    std::array<bytes, 1> allocated;
    const share_costs slow(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {{100}, 1e9 / 10});
    CHECK(slow.of_clone(c.y, quarter({rows}, {rows}), allocated).duration.count == 100 + 160);
    const share_costs slower(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {{100}, 1e9 / 1000});
    CHECK(slower.of_clone(c.y, quarter({rows}, {rows}), allocated).duration.count == 480);
}

TEST_CASE("times and sizes beyond 64 bits saturate") {
    step c;
    std::array<bytes, 1> allocated;
    const share_costs still(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {{100}, 1e-300});
    CHECK(still.of_concat(c.y).duration.count == INT64_MAX);
    const share_costs never(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {{INT64_MAX}, 1e12});
    CHECK(never.of_concat(c.y).duration.count == INT64_MAX);
    CHECK(still.of_clone(c.y, quarter({rows}, {rows}), allocated).duration.count == 480);
    const share_costs vast(row_view{&c.p}, priced_row_model{}, sizes{{}, INT64_MAX / 4}, {{100}, 1e12});
    CHECK(vast.of_empty(c.y).count == INT64_MAX);
    CHECK(vast.of_concat(c.y).duration.count > 0);
    CHECK(vast.of_clone(c.y, quarter({rows}, {rows}), allocated).duration.count == 480);
}

TEST_CASE("a collective costs what is said of its payload") {
    step c;
    const auto prices = [](collective_kind, group_id group, bytes payload) -> std::optional<nanoseconds> {
        if (group != 0) return std::nullopt;
        return nanoseconds{1000 + payload.count};
    };
    const share_costs costs(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {}, prices);
    std::array<bytes, 1> allocated;
    CHECK(costs.of_clone(c.s, quarter({rows}, {rows}), allocated).duration.count == 1008);
    CHECK(costs.of_clone(c.s, quarter({addend}, {addend}), allocated).duration.count == 480);  // not by rows
}

TEST_CASE("what puts parts together reads and writes what it moves once") {
    step c;
    const share_costs costs(row_view{&c.p}, priced_row_model{}, sizes{{}, 8}, {{100}, 1e9});
    CHECK(costs.of_concat(c.y).duration.count == 100 + 128 + 1);
    CHECK(costs.of_concat(c.y).allocation.count == 64);
    CHECK(costs.of_sum(c.t).duration.count == 100 + 16 + 1);
    CHECK(costs.of_empty(c.y).count == 64);
    CHECK(costs.of_slice_write(c.y, 0, std::vector<std::int64_t>{1, 3}, 1).count == 100 + 96 + 1);
}

TEST_CASE("sizes that only convert to numbers suffice") {
    static_assert(size_model<archetypes::sizes, archetypes::dataflow>);
    static_assert(!size_model<archetypes::part_costs, archetypes::dataflow>);
    const share_costs costs(archetypes::program(0), archetypes::kinds(0), archetypes::sizes(0), {{1}, 1e9});
    const auto checked = check_part_costs(archetypes::program(0), archetypes::kinds(0), archetypes::chunks(0), costs);
    REQUIRE_MESSAGE(checked, checked.error().message());
    CHECK(costs.of_empty({archetypes::detail::at(0), 0}).count == 16);
    CHECK(costs.of_concat({archetypes::detail::at(0), 0}).duration.count == 1 + 1 + 32);
}
