#include "stretto/tune/step_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/priced_rows.hpp"
#include "support/prop.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using namespace support;

namespace {

template <class T>
std::vector<std::uint32_t> list(const T& row) {
    return {row.begin(), row.end()};
}

}  // namespace

TEST_CASE("a table has the values of a program in numbers, and finds its handles again") {
    row_program p;
    row_op* x = p.append(row_op::does::input, {}, 4);
    row_op* y = p.append(row_op::does::scale, {x}, 4);
    row_op* z = p.append(row_op::does::increment, {y, x}, 4);
    row_op* t = p.append(row_op::does::total, {z}, 1);
    row_op* u = p.append(row_op::does::total, {z}, 1);
    const auto step = numbered_step<twin_view>::read({&p, true}, twin_model{});
    REQUIRE(step);
    const step_table& table = step->table();
    CHECK(table.size() == 5);
    CHECK(table.first_result == std::vector<std::uint32_t>{0, 1, 3, 4, 6, 8});
    CHECK(table.producer == std::vector<std::uint32_t>{0, 1, 1, 2, 3, 3, 4, 4});
    CHECK(list(table.operands[2]) == std::vector<std::uint32_t>{2, 0});
    CHECK(list(table.effects[2]) == std::vector<std::uint32_t>{2});
    CHECK(list(table.aliases[3]) == std::vector<std::uint32_t>{2});
    CHECK(list(table.controls[4]) == std::vector<std::uint32_t>{3});
    CHECK(list(table.predecessors[4]) == std::vector<std::uint32_t>{2, 3});
    CHECK(list(table.successors[2]) == std::vector<std::uint32_t>{3, 4});
    CHECK(list(table.readers[0]) == std::vector<std::uint32_t>{1, 2});
    CHECK(step->vertex(3) == t);
    CHECK(step->number(u) == 4);
    CHECK(step->value(2) == row_value{y, 0});
    CHECK(step->number_of_value({y, 1}) == 1);
    CHECK(table.allocation[1].count == 64);
}

TEST_CASE("the task graph of a table is that of the graph") {
    stretto_check("row programs", 100, [] {
        row_case c = make_row_case(arbitrary_recipe());
        const twin_view view{&c.p, true};
        const auto step = numbered_step<twin_view>::read(view, twin_model{});
        RC_ASSERT(step.has_value());
        const auto of_table = make_task_graph(step_table_view{&step->table()}, step_table_model{&step->table()});
        const auto of_view = make_task_graph(view, twin_model{});
        RC_ASSERT((of_table.has_value() && of_view.has_value()));
        RC_ASSERT(of_table->kind == of_view->kind);
        RC_ASSERT(of_table->duration == of_view->duration);
        RC_ASSERT(of_table->payload == of_view->payload);
        RC_ASSERT(of_table->launch == of_view->launch);
        RC_ASSERT(of_table->allocation == of_view->allocation);
        RC_ASSERT(of_table->storages == of_view->storages);
        RC_ASSERT(of_table->successors == of_view->successors);
    });
}

TEST_CASE("a table is refused for what a task graph is refused for") {
    row_program p;
    row_op* x = p.append(row_op::does::input, {}, 4);
    row_op* y = p.append(row_op::does::scale, {x}, 4);
    row_op* w = p.append(row_op::does::wait, {y}, 4);
    struct wrong_wait : priced_row_model {
        row_op* at;
        row_op* launch_of(row_op*) const { return at; }
    };
    using why = task_graph_error::reason;
    const auto no_start = numbered_step<row_view>::read(row_view{&p}, wrong_wait{{}, y});
    REQUIRE(!no_start);
    CHECK(no_start.error().why == why::launch_is_no_start);
    CHECK(no_start.error().task == 2);
    CHECK(no_start.error().other == 1);
    CHECK(numbered_step<row_view>::read(row_view{&p}, wrong_wait{{}, w}).has_value());  // waits for nothing

    x->reads.push_back(y);
    const auto later = numbered_step<row_view>::read(row_view{&p}, priced_row_model{});
    REQUIRE(!later);
    CHECK(later.error().why == why::reads_later_task);
}
