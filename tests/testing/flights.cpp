// What check_op_model finds when it replays a program: who touches what a collective has in flight.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stretto/testing/check_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::toy_op;
using support::toy_program;
using support::toy_value;

namespace {

toy_op made(op_kind kind, std::vector<toy_value> operands, std::vector<toy_value> aliases = {}) {
    toy_op o;
    o.kind = kind;
    o.operands = std::move(operands);
    o.results.push_back({{aliases.empty() ? 8 : 0}, std::move(aliases)});
    return o;
}

/// An input is sent, and what arrives is added to what was computed meanwhile:
///     0 input, 1 input, 2 start(0), 3 compute(1), 4 view(2), 5 wait(2), 6 compute(3, 5)
toy_program right_program() {
    using enum op_kind;
    toy_program p;
    p.ops = {made(input, {}),
             made(input, {}),
             made(start, {{0, 0}}),
             made(compute, {{1, 0}}),
             made(view, {{2, 0}}, {{2, 0}}),
             made(wait, {{2, 0}}, {{2, 0}}),
             made(compute, {{3, 0}, {5, 0}})};
    return p;
}

std::string verdict(const toy_program& p) {
    const support::linked_ir ir(p);
    const auto checked = check_op_model(ir.view(), ir.model());
    if (checked) return "fine";
    const finding& f = checked.error();
    return std::string(f.rule) + " " + std::to_string(f.vertex) + " " + std::to_string(f.other);
}

/// The memories of a value, each named by the value that allocates it.
std::set<toy_value> memories(const toy_program& p, toy_value x) {
    const support::toy_result& r = p.ops[x.op].results[x.result];
    std::set<toy_value> all;
    for (toy_value y : r.aliases)
        for (toy_value m : memories(p, y)) all.insert(m);
    if (all.empty() || r.size.count > 0) all.insert(x);
    return all;
}
bool meet(const toy_program& p, const std::vector<toy_value>& a, const std::vector<toy_value>& b) {
    for (toy_value x : a)
        for (toy_value y : b)
            for (toy_value m : memories(p, x))
                if (memories(p, y).count(m) != 0) return true;
    return false;
}

/// Whether operation t touches what start s fills or reads, were s in flight: from the definition, pair by pair.
bool touches(const toy_program& p, std::uint32_t s, std::uint32_t t) {
    const toy_op &start = p.ops[s], &op = p.ops[t];
    std::vector<toy_value> filled = start.effects, written;
    for (std::uint32_t k = 0; k < start.results.size(); ++k) filled.push_back({s, k});
    for (toy_value x : op.effects)
        if (x.op != t) written.push_back(x);
    return meet(p, op.operands, filled) || meet(p, written, filled) || meet(p, written, start.operands);
}
/// The start that is in flight when operation t touches what it fills or reads; nothing if there is none.
std::vector<std::uint32_t> touched_by(const toy_program& p, std::uint32_t t) {
    std::vector<std::uint32_t> all;
    if (p.ops[t].kind != op_kind::compute && p.ops[t].kind != op_kind::start) return all;
    for (std::uint32_t s = 0; s < t; ++s) {
        bool flies = p.ops[s].kind == op_kind::start;
        for (std::uint32_t w = s + 1; w < t; ++w)
            flies = flies && !(p.ops[w].kind == op_kind::wait && support::launch_of(p, w) == s);
        if (flies && touches(p, s, t)) all.push_back(s);
    }
    return all;
}

}  // namespace

TEST_CASE("what is in flight may be viewed and waited for, and read behind its wait") {
    toy_program p = right_program();
    CHECK(verdict(p) == "fine");
    p.ops.push_back(made(op_kind::compute, {{2, 0}, {4, 0}}));  // after the wait, the start's own result and its view
    CHECK(verdict(p) == "fine");
    p.ops.push_back(made(op_kind::start, {{2, 0}}));
    toy_op output;
    output.kind = op_kind::output;
    output.operands = {{8, 0}};  // the caller of the step waits
    p.ops.push_back(output);
    CHECK(verdict(p) == "fine");
}

TEST_CASE("each use of what is in flight is found, with the start") {
    toy_program p = right_program();
    SUBCASE("a kernel reads the result of the start") {
        p.ops[3].operands = {{2, 0}};
        CHECK(verdict(p) == "in-flight 3 2");
    }
    SUBCASE("a kernel that should read the wait's result reads the start's, and stands before the wait") {
        p.ops[4] = made(op_kind::compute, {{2, 0}});
        CHECK(verdict(p) == "in-flight 4 2");
    }
    SUBCASE("there is no wait") {
        p.ops[5] = made(op_kind::view, {{2, 0}}, {{2, 0}});
        CHECK(verdict(p) == "in-flight 6 2");
    }
    SUBCASE("through a view") {
        std::swap(p.ops[3], p.ops[4]);
        p.ops[3] = made(op_kind::view, {{2, 0}}, {{2, 0}});
        p.ops[4] = made(op_kind::compute, {{3, 0}});
        p.ops[6].operands = {{4, 0}, {5, 0}};
        CHECK(verdict(p) == "in-flight 4 2");
    }
    SUBCASE("through the operand, which the collective fills in place") {
        p.ops[2] = made(op_kind::start, {{0, 0}}, {{0, 0}});
        CHECK(verdict(p) == "fine");
        p.ops[3].operands = {{0, 0}};
        CHECK(verdict(p) == "in-flight 3 2");
    }
    SUBCASE("through what the collective writes, and does not return") {
        p.ops[2].operands = {{0, 0}, {1, 0}};
        p.ops[2].effects = {{1, 0}};
        CHECK(verdict(p) == "in-flight 3 2");
    }
    SUBCASE("another collective reads it") {
        p.ops[3] = made(op_kind::start, {{2, 0}});
        CHECK(verdict(p) == "in-flight 3 2");
    }
    SUBCASE("a kernel writes what the collective reads") {
        p.ops[3].operands = {{0, 0}};
        CHECK(verdict(p) == "fine");
        p.ops[3].effects = {{0, 0}};
        CHECK(verdict(p) == "in-flight 3 2");
    }
}

TEST_CASE_TEMPLATE("every toy IR: what is found is what the definition says", IR, STRETTO_TOY_IRS) {
    stretto_check("replayed programs", 150, [] {
        toy_program p = *support::random_programs({.unwaited_starts = true});
        // Some operations read, or write, something more: what is in flight or what is not.
        for (std::uint32_t left = *rc::gen::inRange<std::uint32_t>(0, 4); left > 0 && !p.ops.empty(); --left) {
            const auto at = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(p.ops.size()));
            if (p.ops[at].kind != op_kind::compute && p.ops[at].kind != op_kind::start) continue;
            std::vector<toy_value> all;
            for (std::uint32_t v = 0; v < at; ++v)
                for (std::uint32_t k = 0; k < p.ops[v].results.size(); ++k) all.push_back({v, k});
            if (all.empty()) continue;
            const toy_value x =
                all[all.size() - 1 - *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(all.size(), 6))];
            p.ops[at].operands.push_back(x);
            if (*rc::gen::arbitrary<bool>()) p.ops[at].effects.push_back(x);
        }
        std::optional<std::uint32_t> first;
        for (std::uint32_t t = 0; t < p.ops.size() && !first; ++t)
            if (!touched_by(p, t).empty()) first = t;
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 1000));
        const auto checked = check_op_model(ir.view(), ir.model());
        RC_ASSERT(checked.has_value() == !first);
        if (checked) return;
        RC_ASSERT(std::string(checked.error().rule) == "in-flight");
        RC_ASSERT(checked.error().vertex == *first);
        const std::vector<std::uint32_t> starts = touched_by(p, *first);
        RC_ASSERT(std::count(starts.begin(), starts.end(), checked.error().other) == 1);
    });
}
