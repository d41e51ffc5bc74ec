#include "support/random_program.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <vector>

#include "support/legality.hpp"
#include "support/prop.hpp"

using stretto::op_kind;
using support::toy_program;

TEST_CASE("no genes, no program; one gene of zeros, one plain operation") {
    CHECK(support::decode_program({}).ops.empty());
    const toy_program p = support::decode_program({support::gene{}});
    REQUIRE(p.ops.size() == 1);
    CHECK(p.ops[0].kind == op_kind::compute);
    CHECK(p.ops[0].operands.empty());
    CHECK(p.ops[0].results.size() == 1);
}

TEST_CASE("random programs are legal in program order") {
    stretto_check("legal with every option on", 400, [] {
        const toy_program p = *support::random_programs();
        const std::string reason = support::violation(p);
        if (!reason.empty()) RC_FAIL(reason);
    });
    stretto_check("legal with every option off", 200, [] {
        const toy_program p = *support::random_programs({.groups = 1,
                                                         .in_place = false,
                                                         .in_place_collectives = false,
                                                         .multi_result = false,
                                                         .reads_behind_waits = false,
                                                         .waits_on_nothing = false});
        const std::string reason = support::violation(p);
        if (!reason.empty()) RC_FAIL(reason);
        for (const support::toy_op& op : p.ops) {
            RC_ASSERT(op.effects.empty());
            RC_ASSERT(op.results.size() == (op.kind == op_kind::output ? 0u : 1u));
        }
        // Without reads behind waits, whoever reads the data of a collective depends on its wait.
        for (const support::toy_op& op : p.ops)
            for (support::toy_value x : op.operands)
                if (op.kind == op_kind::compute || op.kind == op_kind::start || op.kind == op_kind::output)
                    RC_ASSERT(p.ops[x.op].kind != op_kind::start);
    });
}

TEST_CASE("every collective is waited for, unless asked otherwise") {
    const auto unwaited = [](const toy_program& p) {
        std::vector<bool> waited(p.ops.size(), false);
        for (std::uint32_t v = 0; v < p.ops.size(); ++v)
            if (p.ops[v].kind == op_kind::wait) waited[support::launch_of(p, v)] = true;
        int n = 0;
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) n += p.ops[v].kind == op_kind::start && !waited[v];
        return n;
    };
    stretto_check("waited", 100, [&] { RC_ASSERT(unwaited(*support::random_programs()) == 0); });
    int seen = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        seen += unwaited(support::seeded_program(seed, 60, {.unwaited_starts = true}));
    CHECK(seen > 0);
}

TEST_CASE("the traps of real graphs occur") {
    int in_place = 0, in_place_collective = 0, several_results = 0, no_result = 0, wait_on_wait = 0,
        wait_on_nothing = 0, shape_of_flight = 0, behind_wait = 0, repeated_wait = 0, widest_flight = 0,
        two_groups_at_once = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const toy_program p = support::seeded_program(seed, 80);
        const auto storages = support::storages_of(p);
        std::vector<int> waits(p.ops.size(), 0);
        std::vector<std::uint32_t> flying;
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
            const support::toy_op& op = p.ops[v];
            in_place += op.kind == op_kind::compute && !op.effects.empty();
            in_place_collective += op.kind == op_kind::start && !op.effects.empty();
            several_results += op.results.size() > 1;
            no_result += op.kind == op_kind::compute && op.results.empty();
            if (op.kind == op_kind::wait) {
                wait_on_nothing += op.operands.empty();
                wait_on_wait += !op.operands.empty() && p.ops[op.operands[0].op].kind == op_kind::wait;
                const std::uint32_t s = support::launch_of(p, v);
                if (s != v) {
                    repeated_wait += waits[s]++ > 0;
                    std::erase(flying, s);
                }
            }
            if (op.kind == op_kind::start) {
                flying.push_back(v);
                widest_flight = std::max(widest_flight, static_cast<int>(flying.size()));
                two_groups_at_once += p.ops[flying.front()].group != op.group;
            }
            if (op.kind == op_kind::view && op.results[0].aliases.empty())
                for (std::uint32_t s : flying) shape_of_flight += op.operands[0].op == s;
            if (op.kind == op_kind::compute)
                for (support::toy_value x : op.operands) behind_wait += p.ops[x.op].kind == op_kind::start;
        }
    }
    CHECK(in_place > 0);
    CHECK(in_place_collective > 0);
    CHECK(several_results > 0);
    CHECK(no_result > 0);
    CHECK(wait_on_wait > 0);
    CHECK(wait_on_nothing > 0);
    CHECK(shape_of_flight > 0);
    CHECK(behind_wait > 0);
    CHECK(repeated_wait > 0);
    CHECK(widest_flight > 3);
    CHECK(two_groups_at_once > 0);
}

TEST_CASE("the same seed is the same program; a program prints") {
    CHECK(support::seeded_program(7, 50) == support::seeded_program(7, 50));
    CHECK(support::seeded_program(7, 50) != support::seeded_program(8, 50));
    std::ostringstream out;
    support::gene input{}, start{}, wait{};
    input[0] = 255;
    start[0] = 160;
    wait[0] = 200;
    out << support::decode_program({input, start, wait});
    CHECK(out.str() ==
          "4 operations, 3 groups\n"
          "  %0.0:0B = input() 0ns\n"
          "  %1.0:1B = start.all_gather@group0<0B>(%0.0) 0ns\n"
          "  %2.0:0B~%1.0 = wait(%1.0) 0ns\n"
          "  [3] = output(%1.0) 0ns\n");
}

TEST_CASE("the oracle refuses what is illegal") {
    // 0 input, 1 start reads 0, 2 compute, 3 wait, 4 compute reads 3 and writes 0
    toy_program p;
    p.ops.resize(5);
    p.ops[0] = {.kind = op_kind::input, .results = {{{8}, {}}}};
    p.ops[1] = {.kind = op_kind::start, .operands = {{0, 0}}, .results = {{{8}, {}}}};
    p.ops[2] = {.operands = {{0, 0}}, .results = {{{8}, {}}}};
    p.ops[3] = {.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}};
    p.ops[4] = {.operands = {{3, 0}, {0, 0}}, .results = {}, .effects = {{0, 0}}};
    CHECK(support::violation(p) == "");
    CHECK(support::violation(p, {0, 2, 1, 3, 4}) == "");
    CHECK(support::violation(p, {0, 1, 3, 2, 4}) == "");
    CHECK(support::violation(p, {0, 1, 3, 4, 2}) == "operation 4 runs before operation 2, on the same storage");
    CHECK(support::violation(p, {0, 1, 2, 4, 3}) == "operation 4 runs before operation 3, which it reads");
    CHECK(support::violation(p, {0, 1, 2, 3}) == "operation 4 never runs");
    CHECK(support::violation(p, {0, 1, 1, 2, 3}) == "operation 1 runs twice");
    p.ops[4].operands = {{0, 0}};
    CHECK(support::violation(p, {0, 1, 2, 4, 3}) ==
          "operation 4 touches what collective operation 1 still has in flight");
    p.ops[4] = {.operands = {{1, 0}}};
    CHECK(support::violation(p) == "");
    CHECK(support::violation(p, {0, 1, 2, 4, 3}) ==
          "operation 4 touches what collective operation 1 still has in flight");
}
