#include "stretto/transform/token_exchanges.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/example_step.hpp"
#include "support/mirror_step.hpp"
#include "support/tensor_ir.hpp"

using namespace stretto;
using support::tensor_op;
using support::tensor_program;
using support::tensor_value;
using exchanges = std::vector<token_exchange<tensor_op*, tensor_value*>>;

namespace {

constexpr auto input = op_kind::input, compute = op_kind::compute, view = op_kind::view, wait = op_kind::wait;
const std::vector<split_size> eight{{split_size::form::given, 8}};

template <class Ops = support::tensor_program_ops>
exchanges exchanges_of(const tensor_program& p) {
    const support::tensor_program_view g{&p};
    const auto order = topological_sort(g);
    REQUIRE(order);
    return token_exchanges(g, *order, Ops{}, support::tensor_program_tensors{});
}

std::string shown(const exchanges& found) {
    std::string text;
    for (const auto& e : found) {
        text += (text.empty() ? "" : "; ") + e.tokens.value->def->name + "." + std::to_string(e.tokens.dim) + "=" +
                std::to_string(e.rows) + " " + e.dispatch->name + " " + e.combine->name + ":";
        for (const tensor_op* o : e.vertices) text += " " + o->name;
    }
    return text;
}

/// Four tokens, two copies of each sent to experts and back. The gather makes an order beside the rows, and the experts
/// make counts.
tensor_program layer(std::vector<split_size> sizes, std::vector<std::string> received = {}) {
    tensor_program p;
    tensor_value* const x = p.add("x", input, {}, {4, 3})->result();
    tensor_value* const weight = p.add("weight", input, {}, {3, 3})->result();
    tensor_op* const gather = p.add("gather", compute, {x}, {8});
    tensor_program::add_result(gather).add({8, 3}, element_type::f32);
    tensor_op* const dispatch = p.exchange("dispatch", {gather->result(1)}, {8, 3}, sizes, received);
    tensor_op* const there = p.add("there", wait, {dispatch->result()}, {8, 3}, received);
    tensor_op* const experts = p.add("experts", compute, {there->result(), weight}, {2});
    tensor_program::add_result(experts).add({8, 3}, element_type::f32, received);
    tensor_op* const combine = p.exchange("combine", {experts->result(1)}, {8, 3}, sizes, received);
    tensor_op* const back = p.add("back", wait, {combine->result()}, {8, 3});
    p.add("shrunk", compute, {weight}, {3, 3});
    tensor_op* const sum = p.add("sum", compute, {back->result(), gather->result()}, {4, 3});
    p.add("out", op_kind::output, {sum->result()});
    return p;
}
const std::string found_in_layer = "x.0=4 dispatch combine: gather dispatch there experts combine back sum";

}  // namespace

TEST_CASE("an exchange whose amounts the program names, among operations with several results") {
    CHECK(shown(exchanges_of(layer(eight))) == found_in_layer);
    // In equal shares it can be anything: heads for positions, say.
    CHECK(exchanges_of(layer({})).empty());
}

TEST_CASE("amounts are known by symbolic rows, too") {
    CHECK(shown(exchanges_of(layer({}, {"u0", ""}))) == found_in_layer);
    CHECK(exchanges_of(layer({}, {"", "u0"})).empty());
    // A model that does not tell calls leaves nothing else.
    CHECK(exchanges_of<support::tensor_program_kinds>(layer(eight)).empty());
    CHECK(shown(exchanges_of<support::tensor_program_kinds>(layer({}, {"u0", ""}))) == found_in_layer);
}

TEST_CASE("rows are those of what amounts are counted from") {
    tensor_program p;
    tensor_value* const x = p.add("x", input, {}, {2, 2, 3})->result();
    tensor_value* const flat = p.add("flat", view, {x}, {4, 3})->result();
    tensor_value* const rows = p.add("rows", compute, {flat}, {8, 3})->result();
    SUBCASE("of the tokens themselves") {
        tensor_value* const counts = p.add("counts", compute, {flat}, {2})->result();
        tensor_op* const there = p.exchange("there", {rows, counts}, {8, 3}, {{split_size::form::measured, 1}});
        p.exchange("back", {there->result(), counts}, {8, 3}, {{split_size::form::measured, 1}});
        CHECK(shown(exchanges_of(p)) == "flat.0=4 there back: rows counts there back");
    }
    SUBCASE("of what they are a view of") {
        tensor_value* const counts = p.add("counts", compute, {x}, {2})->result();
        tensor_op* const there = p.exchange("there", {rows, counts}, {8, 3}, {{split_size::form::measured, 1}});
        p.exchange("back", {there->result(), counts}, {8, 3}, {{split_size::form::measured, 1}});
        CHECK(shown(exchanges_of(p)) == "x.0=2 there back: flat rows counts there back");
    }
}

TEST_CASE("what is no exchange of tokens") {
    tensor_program p;
    tensor_value* const x = p.add("x", input, {}, {4, 3})->result();
    tensor_value* const rows = p.add("rows", compute, {x}, {8, 3})->result();
    SUBCASE("what never comes back") { p.exchange("there", {rows}, {8, 3}, eight); }
    SUBCASE("what comes back without having left") { p.exchange("back", {x}, {4, 3}, eight); }
    SUBCASE("two that have nothing to do with each other") {
        tensor_value* const y = p.add("y", input, {}, {8, 3})->result();
        p.exchange("there", {rows}, {8, 3}, eight);
        p.exchange("back", {y}, {8, 3}, eight);
    }
    SUBCASE("whole numbers") {
        tensor_op* const there = p.exchange("there", {rows}, {8, 3}, eight);
        there->result()->types[0].element = element_type::i64;
        p.exchange("back", {there->result()}, {8, 3}, eight)->result()->types[0].element = element_type::i64;
    }
    SUBCASE("other collectives") {
        tensor_op* const there = p.exchange("there", {rows}, {8, 3}, eight);
        tensor_op* const back = p.exchange("back", {there->result()}, {8, 3}, eight);
        there->collective = back->collective = collective_kind::all_gather;
    }
    SUBCASE("rows that nothing is gathered into") {
        tensor_value* const wide = p.add("wide", compute, {x}, {4, 6})->result();
        tensor_op* const there = p.exchange("there", {wide}, {4, 6}, eight);
        p.exchange("back", {there->result()}, {4, 6}, eight);
    }
    SUBCASE("nothing at all") {}
    CHECK(exchanges_of(p).empty());
}

TEST_CASE("a weight with fewer rows than there are tokens is not taken for them") {
    tensor_program p;
    tensor_value* const x = p.add("x", input, {}, {8, 3})->result();
    tensor_value* const weight = p.add("weight", input, {}, {4, 3})->result();
    tensor_value* const made = p.add("made", compute, {x, weight}, {8, 3})->result();
    SUBCASE("one expert for each token: as many copies as tokens") {
        tensor_value* const gather = p.add("gather", compute, {made}, {8, 3})->result();
        tensor_op* const there = p.exchange("there", {gather}, {8, 3}, eight);
        p.exchange("back", {there->result()}, {8, 3}, eight);
        CHECK(exchanges_of(p).empty());
    }
    SUBCASE("two experts: the tokens are found before it") {
        tensor_value* const gather = p.add("gather", compute, {made}, {16, 3})->result();
        tensor_op* const there = p.exchange("there", {gather}, {16, 3}, eight);
        p.exchange("back", {there->result()}, {16, 3}, eight);
        CHECK(shown(exchanges_of(p)) == "made.0=8 there back: gather there back");
    }
}

TEST_CASE("tokens are handed on from exchange to exchange") {
    tensor_program p;
    tensor_value* x = p.add("x", input, {}, {4, 3})->result();
    for (int k = 0; k < 2; ++k) {
        const auto name = [&](const char* text) { return text + std::to_string(k); };
        tensor_value* const rows = p.add(name("rows"), compute, {x}, {8, 3})->result();
        tensor_op* const there = p.exchange(name("there"), {rows}, {8, 3}, eight);
        tensor_op* const back = p.exchange(name("back"), {there->result()}, {8, 3}, eight);
        x = p.add(name("sum"), compute, {back->result()}, {4, 3})->result();
    }
    p.add("out", op_kind::output, {x});
    CHECK(shown(exchanges_of(p)) ==
          "x.0=4 there0 back0: rows0 there0 back0 sum0; sum0.0=4 there1 back1: rows1 there1 back1 sum1");
}

TEST_CASE("the least that a view and its models can offer is enough to look for exchanges") {
    const archetypes::program g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    CHECK(token_exchanges(g, *order, archetypes::kinds(0), archetypes::tensors(0)).empty());
    CHECK(token_exchanges(g, *order, archetypes::kinds(0), archetypes::symbolic_tensors(0)).empty());
}

TEST_CASE("a captured step has the same exchanges in an IR of pointers") {
    const support::example_step example = support::moe_ep_step();
    const tensor_program p = support::mirror_of(example.step, example.tensors);
    const exchanges found = exchanges_of(p);
    const std::vector<capture_token_exchange> captured = token_exchanges(example.step, example.tensors);
    REQUIRE(found.size() == 22);
    REQUIRE(captured.size() == found.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
        CHECK(found[k].dispatch->position == captured[k].dispatch);
        CHECK(found[k].combine->position == captured[k].combine);
        CHECK(found[k].tokens.value->def->position == captured[k].tokens.value);
        CHECK(found[k].rows == captured[k].rows);
        REQUIRE(found[k].vertices.size() == captured[k].vertices.size());
        for (std::size_t i = 0; i < found[k].vertices.size(); ++i)
            CHECK(found[k].vertices[i]->position == captured[k].vertices[i]);
    }
}
