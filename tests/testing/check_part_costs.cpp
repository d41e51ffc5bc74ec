#include "stretto/testing/check_part_costs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "stretto/core/part_cost_model.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "stretto/tune/part_costs.hpp"
#include "support/checked_row_ir.hpp"
#include "support/priced_rows.hpp"
#include "support/prop.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using namespace support;

namespace {

using sizes = extent_sizes<row_view, row_chunk_model>;
using shares = share_costs<row_view, priced_row_model, sizes>;

/// Right costs, with one fault at one operation.
struct faulty_costs {
    enum class fault {
        none,
        says_nothing,
        negative_storage,
        negative_time,
        negative_payload,
        shrinks,
        shrinking_storage,
        sends_too_little,
        loses_payload,
        too_quick,
        allocates_too_little,
        loses_bytes,
        forgets,
        join_is_a_start,
        view_takes_time,
        negative_join,
        negative_sum,
        join_forgets,
        negative_empty,
        empty_forgets,
        negative_slice,
        shrinking_slice,
        slice_forgets
    };
    using enum fault;

    shares right;
    fault what;
    const row_op* where;
    std::size_t* asked;  ///< questions to those that forget

    [[nodiscard]] bool has(fault f, const row_op* at) const { return what == f && at == where; }
    [[nodiscard]] std::int64_t other_each_time() const { return static_cast<std::int64_t>(++*asked % 2); }

    clone_cost of_clone(row_op* v, const chunk_part& part, std::span<bytes> allocated) const {
        std::array<bytes, 1> unsaid;
        clone_cost cost = right.of_clone(v, part, has(says_nothing, v) ? std::span<bytes>(unsaid) : allocated);
        const bool all = part.rows.count == part.tokens;
        if (has(negative_storage, v)) allocated[0].count = -8;
        if (has(negative_time, v)) cost.duration.count = -1;
        if (has(negative_payload, v)) cost.payload.count = -1;
        if (has(shrinks, v)) cost.duration.count = 1'000'000 - part.rows.count;
        if (has(shrinking_storage, v) && part.rows.count == 0) allocated[0].count = 1000;
        if (has(sends_too_little, v)) cost.payload.count /= 2;
        if (has(loses_payload, v) && !all) cost.payload.count /= 2;
        if (has(too_quick, v)) cost.duration.count /= 1000;  // as if it were microseconds
        if (has(allocates_too_little, v)) allocated[0].count /= 2;
        if (has(loses_bytes, v) && !all) allocated[0].count /= 2;
        if (has(forgets, v)) cost.duration.count += other_each_time();
        return cost;
    }
    join_cost of_concat(row_op* x) const {
        join_cost cost = right.of_concat(x);
        if (has(join_is_a_start, x)) cost.kind = op_kind::start;
        if (has(view_takes_time, x)) cost.kind = op_kind::view;
        if (has(negative_join, x)) cost.allocation.count = -1;
        if (has(join_forgets, x)) cost.duration.count += other_each_time();
        return cost;
    }
    join_cost of_sum(row_op* x) const {
        join_cost cost = right.of_sum(x);
        if (has(negative_sum, x)) cost.duration.count = -1;
        return cost;
    }
    bytes of_empty(row_op* x) const {
        return has(negative_empty, x)
                   ? bytes{-1}
                   : bytes{right.of_empty(x).count + (has(empty_forgets, x) ? other_each_time() : 0)};
    }
    nanoseconds of_slice_write(row_op* x, std::size_t dim, std::span<const std::int64_t> parts, std::size_t k) const {
        nanoseconds time = right.of_slice_write(x, dim, parts, k);
        if (has(negative_slice, x)) time.count = -1;
        if (has(shrinking_slice, x)) time.count = 1'000'000 - parts[k];
        if (has(slice_forgets, x)) time.count += other_each_time();
        return time;
    }
};

/// What the check says of a fault at the first operation that does `at`.
std::string rule_of(faulty_costs::fault what, row_op::does at = row_op::does::scale) {
    row_program p = every_row_operation();
    const row_op* where = nullptr;
    for (row_op& o : p.ops)
        if (where == nullptr && o.what == at) where = &o;
    std::size_t asked = 0;
    const shares right(row_view{&p}, {}, sizes{{}, 8}, {{20}, 1e12});
    const auto found =
        check_part_costs(row_view{&p}, priced_row_model{}, row_chunk_model{}, faulty_costs{right, what, where, &asked});
    if (found) return "";
    return found.error().vertex == where->number ? found.error().rule : "at the wrong place";
}

}  // namespace

TEST_CASE("shares of the whole are costs of parts") {
    row_program p = every_row_operation();
    const shares costs(row_view{&p}, {}, sizes{{}, 8}, {{20}, 1e12});
    const auto found = check_part_costs(row_view{&p}, priced_row_model{}, row_chunk_model{}, costs);
    REQUIRE_MESSAGE(found, found.error().message());
    CHECK(found->operations == 12);
    CHECK(found->joins == 3 * 16);
    CHECK(found->clones > 0);
    CHECK(found->slices > 0);
    CHECK(rule_of(faulty_costs::none).empty());
}

TEST_CASE("every fault is found where it is") {
    using enum faulty_costs::fault;
    using does = row_op::does;
    CHECK(rule_of(says_nothing) == "allocated");
    CHECK(rule_of(negative_storage) == "allocated");
    CHECK(rule_of(negative_time) == "negative");
    CHECK(rule_of(negative_payload, does::send) == "negative");
    CHECK(rule_of(shrinks) == "monotone");
    CHECK(rule_of(shrinking_storage) == "monotone");
    CHECK(rule_of(sends_too_little, does::send) == "whole-payload");
    CHECK(rule_of(loses_payload, does::send) == "lost-payload");
    CHECK(rule_of(too_quick) == "whole-duration");
    CHECK(rule_of(allocates_too_little) == "whole-bytes");
    CHECK(rule_of(loses_bytes) == "lost-bytes");
    CHECK(rule_of(forgets) == "stable");
    CHECK(rule_of(join_is_a_start) == "join-kind");
    CHECK(rule_of(view_takes_time) == "join-view");
    CHECK(rule_of(negative_join) == "negative");
    CHECK(rule_of(negative_sum) == "negative");
    CHECK(rule_of(join_forgets) == "stable");
    CHECK(rule_of(negative_empty) == "negative");
    CHECK(rule_of(empty_forgets) == "stable");
    CHECK(rule_of(negative_slice) == "negative");
    CHECK(rule_of(shrinking_slice) == "monotone");
    CHECK(rule_of(slice_forgets) == "stable");
}

TEST_CASE("shares saturate and stay monotone on machines of any speed") {
    stretto_check("share_costs", 300, [] {
        row_case c = make_row_case(arbitrary_recipe());
        const auto element = *rc::gen::element<std::int64_t>(1, 8, 1 << 20, INT64_MAX / 64, INT64_MAX);
        const part_cost_options machine{{*rc::gen::element<std::int64_t>(0, 1, 50, 100'000, INT64_MAX)},
                                        *rc::gen::element(1e-300, 1.0, 1e9, 1e12, 1e300)};
        const auto per_byte = *rc::gen::element<std::int64_t>(0, 1, 1000);
        const auto prices = [&](collective_kind, group_id group, bytes payload) -> std::optional<nanoseconds> {
            if (group != 0) return std::nullopt;
            return nanoseconds{machine.launch.count / 2 + per_byte * payload.count};
        };
        const share_costs costs(row_view{&c.p}, priced_row_model{}, sizes{{}, element}, machine, prices);
        const auto found = check_part_costs(row_view{&c.p}, priced_row_model{}, row_chunk_model{}, costs);
        if (!found) RC_FAIL(found.error().message());
    });
}

TEST_CASE("it asks for no more than its signature says") {
    static_assert(part_cost_model<archetypes::part_costs, archetypes::dataflow>);
    static_assert(!part_cost_model<archetypes::part_costs, row_view>);  // of other vertices
    static_assert(!part_cost_model<archetypes::chunks, archetypes::dataflow>);
    const auto found = check_part_costs(archetypes::program(0), archetypes::kinds(0), archetypes::chunks(0),
                                        archetypes::part_costs(0));
    REQUIRE_MESSAGE(found, found.error().message());
    CHECK(found->operations == 6);
    CHECK(found->joins == 3 * 7);
}
