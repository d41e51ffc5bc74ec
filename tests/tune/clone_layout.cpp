#include "stretto/tune/clone_layout.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "support/priced_rows.hpp"

using namespace stretto;
using namespace support;

namespace {

using ids = std::vector<std::uint32_t>;

ids list(std::span<const std::uint32_t> row) { return {row.begin(), row.end()}; }

/// 0: x, 1: y and its twin, 2: a view of y, 3: writes that view in place, 4: reads all.
struct small {
    row_program p;
    numbered_step<twin_view> step;

    small() : step(make(p)) {}

    static numbered_step<twin_view> make(row_program& p) {
        using does = row_op::does;
        row_op* x = p.append(does::input, {}, 4);
        row_op* y = p.append(does::scale, {x}, 4);
        row_op* part = p.append(does::part, {y}, 4);
        row_op* written = p.append(does::increment, {part, x}, 4);
        p.append(does::output, {y, written}, 1);
        auto read = numbered_step<twin_view>::read({&p}, twin_model{});
        REQUIRE(read);
        return *std::move(read);
    }
};

}  // namespace

TEST_CASE("what is made stands where it was said, in the order of the calls") {
    const small s;
    clone_layout layout(s.step.table());
    layout.insert_before(1);
    const std::uint32_t cut = layout.add_like(0), first = layout.add_clone(1), second = layout.add_clone(1);
    layout.insert_before(4);
    const std::uint32_t whole = layout.add_like(layout.first_result(first) + 1);
    layout.keep_ready_for(1);
    const std::uint32_t ready = layout.add_ready(0);
    CHECK(ids{cut, first, second, whole, ready} == ids{5, 6, 7, 8, 9});
    CHECK(layout.original(second) == 1);
    CHECK(layout.original(whole) == 1);
    CHECK(layout.original_value(layout.first_result(whole)) == 2);
    CHECK(layout.results(first) == 2);
    CHECK(layout.clone_for(1, 0) == first);
    CHECK(layout.clone_for(1, 1) == second);
    CHECK(layout.clone_for(1, 7) == second);
    CHECK(layout.clone_for(2, 0) == clone_layout::none);

    layout.replace_uses(2, layout.first_result(whole));
    layout.erase(1);
    CHECK(list(layout.close()) == ids{0, 9, 5, 6, 7, 2, 3, 8, 4});
    CHECK(layout.position(1) == clone_layout::none);
    CHECK(layout.position(8) == 7);
    CHECK(list(layout.positions(s.step.table().operands[4])) == ids{9, 8});  // two results at 6 and at 7
    ids stand_ins;
    layout.for_each_stand_in(1, [&](std::uint32_t at) { stand_ins.push_back(at); });
    CHECK(stand_ins == ids{3, 4});
}

TEST_CASE("a clone shares and writes what belongs to its chunk") {
    const small s;
    clone_layout layout(s.step.table());
    layout.insert_before(1);
    const std::uint32_t y0 = layout.add_clone(1), y1 = layout.add_clone(1);
    layout.insert_before(2);
    const std::array<std::uint32_t, 1> of_y1 = {layout.first_result(y1) + 1};
    CHECK(layout.of_chunk(2, 2, of_y1, 1) == of_y1[0]);  // its own operand
    const std::uint32_t part1 = layout.add_clone(2);
    layout.insert_before(3);
    layout.add_clone(3);
    const std::array<std::uint32_t, 2> operands = {layout.first_result(part1), 0};
    CHECK(layout.of_chunk(3, 2, operands, 1) == operands[0]);              // an operand that shares its storage
    CHECK(layout.of_chunk(4, 1, operands, 0) == layout.first_result(y0));  // neither: the clone of that chunk
    CHECK(layout.of_chunk(1, 1, operands, 0) == layout.first_result(y1));  // a result of its own
    CHECK(layout.of_chunk(4, 0, operands, 1) == 0);                        // nobody clones the input
}

TEST_CASE("who shared storage with what is gone shares that of what it reads") {
    const small s;
    clone_layout layout(s.step.table());
    layout.insert_before(1);
    const std::uint32_t y0 = layout.add_clone(1);
    layout.insert_before(2);
    layout.add_clone(2);
    layout.erase(1);
    layout.erase(2);
    layout.replace_uses(3, layout.first_result(y0) + 1);  // who read the view reads the clone
    (void)layout.close();
    const std::array<std::uint32_t, 1> gone = {2};
    CHECK(list(layout.storages(3, gone)) == ids{2});  // the second result of the clone
    CHECK(layout.storages(4, std::array<std::uint32_t, 1>{1}).empty());
}

TEST_CASE("a view behind what has been cloned lives where its operand is now") {
    // 0: x, 1: a view of x, 2: a view of that, which names x, 3: a view of 2, which names x, 4: reads both
    step_table step;
    const std::vector<ids> reads = {{}, {0}, {1}, {2}, {2, 3}}, shares = {{}, {0}, {0}, {0}, {}};
    for (std::uint32_t v = 0; v < reads.size(); ++v) {
        step_table::operation o;
        o.kind = v == 0 ? op_kind::input : op_kind::view;
        step.operations.push_back(o);
        step.producer.push_back(v);
        step.first_result.push_back(v + 1);
        step.allocation.push_back({v == 0 ? 64 : 0});
        for (std::uint32_t x : reads[v]) step.operands.push(x);
        for (std::uint32_t x : shares[v]) step.aliases.push(x);
        step.operands.close_row();
        step.aliases.close_row();
        step.controls.close_row();
        step.effects.close_row();
    }
    step.close();
    clone_layout layout(step);
    layout.insert_before(1);
    layout.add_clone(1);
    layout.add_clone(1);
    layout.insert_before(2);
    const std::uint32_t whole = layout.add_like(1);
    layout.replace_uses(1, layout.first_result(whole));
    layout.erase(1);
    CHECK(list(layout.close()) == ids{0, 5, 6, 7, 2, 3, 4});
    const std::array<std::uint32_t, 1> x = {0};
    CHECK(list(layout.storages(2, x)) == ids{3});      // the whole, although x is still there
    CHECK(list(layout.storages(3, x)) == ids{4});      // through the view that has moved with it
    CHECK(list(layout.storages(whole, x)) == ids{0});  // new vertices name what they have
}
