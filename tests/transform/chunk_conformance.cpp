// Scenarios of torchtitan's chunker and its defects that need no tensors, on the row IR: what is planned computes the
// same, and the defect, done to a right plan by hand, is found and both parties are named. Those about tensors are in
// tests/capture/chunk_conformance.cpp; docs/algorithms/chunking.md lists all.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/row_ir.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using support::row_op;
using support::row_plan;
using support::row_program;
using does = row_op::does;
using reason = chunk_error<row_op*>::reason;
using regions = std::vector<chunk_region<row_op*>>;
using tokens = std::vector<token_dimension<row_op*>>;
using violation = chunk_violation<row_op*>;

namespace {

auto plan(row_program& p, const regions& r, const tokens& t, chunk_options options = {}) {
    return plan_chunks(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                       std::span<const chunk_region<row_op*>>(r), std::span<const token_dimension<row_op*>>(t),
                       options);
}

/// Everything between inputs and outputs.
std::vector<row_op*> all_of(row_program& p) {
    std::vector<row_op*> all;
    for (row_op& o : p.ops)
        if (o.what != does::input && o.what != does::output) all.push_back(&o);
    return all;
}

std::vector<violation> violations(const row_plan& made, row_program& p) {
    p.renumber();
    const auto verified = verify_chunks(made, support::row_view{&p}, support::row_model{}, support::row_chunk_model{});
    return verified ? std::vector<violation>() : verified.error();
}

/// Applies a plan that is right, and compares what the program computes.
void check_same(const row_plan& made, row_program& p) {
    CHECK(violations(made, p).empty());
    const auto before = support::run(p, 5);
    support::row_rewriter rewriter{&p, p.ops.end()};
    apply_chunks(made, support::row_view{&p}, rewriter);
    CHECK(support::run(p, 5) == before);
}

std::size_t count(row_program& p, does what) {
    std::size_t n = 0;
    for (const row_op& o : p.ops) n += o.what == what;
    return n;
}

}  // namespace

TEST_CASE("C3 between two regions a value is recombined once and cut again") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* z = p.append(does::scale, {y}, 4);
    p.append(does::output, {z}, 1);
    const auto made = plan(p, {{{y}, {2, 2}}, {{z}, {1, 3}}}, {{x, 0}, {y, 0}});
    REQUIRE(made);
    CHECK(made->counts() == chunk_counts{2, 4, 2, 2, 0});
    check_same(*made, p);
}

TEST_CASE("C5, M9 which values are gradients or parameters is not told by their place") {
    // Outputs in any order, inputs in any order; sums are sums by their state.
    for (const bool rows_first : {false, true}) {
        row_program p;
        row_op* w = p.append(does::input, {}, 1);
        row_op* x = p.append(does::input, {}, 4);
        row_op* y = p.append(does::add, {x, w}, 4);
        row_op* t = p.append(does::total, {y}, 1);
        row_op* s = p.append(does::scale, {t}, 1);
        p.append(does::output, rows_first ? std::vector<row_op*>{y, s} : std::vector<row_op*>{s, y}, 1);
        const auto made = plan(p, {{{y, t, s}, {1, 3}}}, {{x, 0}});
        REQUIRE(made);
        CHECK(made->counts() == chunk_counts{2, 4, 1, 1, 1});
        check_same(*made, p);
    }
}

TEST_CASE("M1 a full reader of a forward value") {
    // y = relu(x) forward; p = view(g), b = mul(p, y) backward; outputs (y, b).
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* g = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* v = p.append(does::scale, {g}, 4);
    row_op* b = p.append(does::add, {v, y}, 4);
    p.append(does::output, {y, b}, 1);
    SUBCASE("in the region: it reads parts") {
        const auto made = plan(p, {{all_of(p), {2, 2}}}, {{x, 0}, {g, 0}});
        REQUIRE(made);
        CHECK(made->counts() == chunk_counts{3, 6, 2, 2, 0});
        check_same(*made, p);
    }
    SUBCASE("outside: it reads the whole") {
        const auto made = plan(p, {{{y, v}, {2, 2}}}, {{x, 0}, {g, 0}});
        REQUIRE(made);
        CHECK(count(p, does::concat) == 0);
        check_same(*made, p);
        CHECK(b->reads[0]->what == does::concat);
        CHECK(b->reads[1]->what == does::concat);
    }
    SUBCASE("outside, reading part 0: found") {
        row_plan made = *plan(p, {{{y, v}, {2, 2}}}, {{x, 0}, {g, 0}});
        REQUIRE(made.joins[0].value == y);
        made.joins[0].readers.erase(made.joins[0].readers.begin());
        const auto found = violations(made, p);
        REQUIRE(found.size() == 1);
        CHECK(found[0].broken == chunk_rule::reader_left_behind);
        CHECK(found[0].vertex == y);
        CHECK(found[0].other == b);
    }
}

TEST_CASE("M2 a guard outside reads the sum, its clones read shares") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* first = p.append(does::total, {x}, 1);
    row_op* second = p.append(does::total, {x}, 1);
    row_op* both = p.append(does::add, {first, second}, 1);
    row_op* buffer = p.append(does::input, {}, 1);
    row_op* up = p.append(does::increment, {buffer, both}, 1);
    row_op* guard = p.append(does::order, {both}, 1);
    p.append(does::output, {up, guard}, 1);
    row_plan made = *plan(p, {{{first, second, both}, {2, 2}}}, {{x, 0}});
    SUBCASE("planned") {
        check_same(made, p);
        CHECK(guard->reads[0]->what == does::add);
    }
    SUBCASE("left with a share: found") {
        REQUIRE(made.joins.size() == 2);
        made.joins[0].readers = {};
        const auto found = violations(made, p);
        REQUIRE(!found.empty());
        CHECK(found[0].broken == chunk_rule::reader_left_behind);
        CHECK(found[0].vertex == first);
        CHECK(found[0].other == both);
    }
}

TEST_CASE("M3 a buffer that the step counts in, and reads behind") {
    // count, ad = add_(buf, count), y = mul(x, ad), z = add(y, buf): chunk 0 must not see the buffer without chunk 1.
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* buffer = p.append(does::input, {}, 1);
    row_op* early = p.append(does::add, {x, buffer}, 4);
    row_op* t = p.append(does::total, {early}, 1);
    row_op* up = p.append(does::increment, {buffer, t}, 1);
    row_op* y = p.append(does::add, {early, up}, 4);
    row_op* z = p.append(does::add, {y, buffer}, 4);
    p.append(does::output, {z}, 1);
    row_plan made = *plan(p, {{all_of(p), {1, 2, 1}}}, {{x, 0}});
    SUBCASE("planned: a chain, in the order of the chunks, whose end everybody behind it reads") {
        REQUIRE(made.operations.size() == 5);
        CHECK(made.operations[2].chained == 0);
        check_same(made, p);
        std::size_t early_reads = 0, late_reads = 0, writes = 0;
        for (const row_op& o : p.ops) {
            writes += o.what == does::increment;
            if (o.what == does::add && o.reads[1] == buffer) (writes == 0 ? early_reads : late_reads) += 1;
        }
        CHECK(writes == 3);
        CHECK(early_reads == 3);
        CHECK(late_reads == 3);
    }
    SUBCASE("every chunk by itself: found") {
        made.operations[2].chained = made.operations[2].no_chain;
        const auto found = violations(made, p);
        REQUIRE(found.size() == 1);
        CHECK(found[0].broken == chunk_rule::shared_write);
        CHECK(found[0].vertex == up);
        CHECK(found[0].other == buffer);
    }
}

TEST_CASE("M4 an operation in two regions") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* z = p.append(does::scale, {y}, 4);
    p.append(does::output, {z}, 1);
    const auto made = plan(p, {{{y, z}, {2, 2}}, {{z}, {2, 2}}}, {{x, 0}});
    REQUIRE(!made);
    CHECK(made.error().why == reason::overlapping);
    CHECK(made.error().region == 1);
    CHECK(made.error().vertex == z);
}

TEST_CASE("M6 a program for which there is no plan is as it was") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* r = p.append(does::running, {y}, 4);
    row_op* out = p.append(does::output, {r}, 1);
    REQUIRE(!plan(p, {{{y}, {2, 2}}, {{r}, {2, 2}}}, {{x, 0}, {y, 0}}));
    CHECK(p.ops.size() == 4);
    CHECK(out->reads[0] == r);
    CHECK(r->reads[0] == y);
}

TEST_CASE("M8 a dead reader outside reads the whole as well") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* dead = p.append(does::running, {y}, 4);
    row_op* z = p.append(does::scale, {y}, 4);
    p.append(does::output, {z}, 1);
    const auto made = plan(p, {{{y, z}, {2, 2}}}, {{x, 0}});
    REQUIRE(made);
    check_same(*made, p);
    CHECK(dead->reads[0]->what == does::concat);
}

TEST_CASE("M12, M13 no clone reads parts of another chunk, whatever lies between its operands and the region") {
    // Unowned plumbing: a view of the parts that is no candidate reads the whole, and so does what reads the view.
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* plumbing = p.append(does::scale, {y}, 4);
    row_op* z = p.append(does::add, {y, plumbing}, 4);
    p.append(does::output, {z}, 1);
    const auto made = plan(p, {{{y, z}, {1, 3}}}, {{x, 0}});
    REQUIRE(made);
    CHECK(made->counts() == chunk_counts{2, 4, 2, 2, 0});
    check_same(*made, p);
    CHECK(plumbing->reads[0]->what == does::concat);
    std::vector<std::size_t> rows;
    for (const row_op& o : p.ops)
        if (o.what == does::add)
            for (const row_op* read : o.reads) rows.push_back(read->rows);
    CHECK(rows == std::vector<std::size_t>{1, 1, 3, 3});
}

TEST_CASE("M14 a value is cut once for a region, forward and backward; what it does not depend on is shared") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* w = p.append(does::input, {}, 1);
    row_op* wt = p.append(does::scale, {w}, 1);
    row_op* y = p.append(does::add, {x, wt}, 4);
    row_op* t = p.append(does::total, {y}, 1);
    row_op* g = p.append(does::add, {x, wt}, 4);
    row_op* gy = p.append(does::add, {g, y}, 4);
    row_op* gw = p.append(does::total, {gy}, 1);
    p.append(does::output, {t, gw}, 1);
    const auto made = plan(p, {{all_of(p), {2, 2}}}, {{x, 0}});
    REQUIRE(made);
    CHECK(made->counts() == chunk_counts{5, 10, 1, 0, 2});
    check_same(*made, p);
    CHECK(count(p, does::scale) == 1);
}

TEST_CASE("Q1, Q2, Q3 which operations are a region is the caller's choice; one that no token reaches is an error") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* w = p.append(does::input, {}, 1);
    row_op* dense = p.append(does::scale, {x}, 4);
    row_op* moe = p.append(does::scale, {dense}, 4);
    row_op* sent = p.append(does::send, {moe}, 4);
    row_op* got = p.append(does::wait, {sent}, 4);
    row_op* weights = p.append(does::scale, {w}, 1);
    p.append(does::output, {got, weights}, 1);
    const auto made = plan(p, {{{moe, sent, got}, {2, 2}}}, {{x, 0}, {dense, 0}});
    REQUIRE(made);
    CHECK(made->splits[0].value == dense);
    const auto nothing = plan(p, {{{moe}, {2, 2}}, {{weights}, {2, 2}}}, {{x, 0}, {dense, 0}});
    REQUIRE(!nothing);
    CHECK(nothing.error().why == reason::nothing_reached);
    CHECK(nothing.error().region == 1);
    CHECK(plan(p, {{{}, {2, 2}}}, {{x, 0}}).error().why == reason::nothing_reached);  // Q9: an empty pattern
    check_same(*made, p);
}

TEST_CASE("X2 one chunk is a program as it was") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {y}, 1);
    const auto made = plan(p, {{{y}, {4}}}, {{x, 0}});
    REQUIRE(made);
    CHECK(made->empty());
    check_same(*made, p);
    CHECK(p.ops.size() == 3);
}
