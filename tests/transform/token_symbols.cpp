#include "stretto/transform/token_symbols.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture_tokens.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/example_step.hpp"
#include "support/mirror_step.hpp"
#include "support/prop.hpp"
#include "support/tensor_ir.hpp"

using namespace stretto;
using support::tensor_program;

namespace {

constexpr auto input = op_kind::input, compute = op_kind::compute;

struct symbol {
    std::string_view name;
    std::int64_t value;
};
std::string shown(const tensor_program& p, const std::vector<symbol>& symbols) {
    std::string text;
    for (const auto& s : token_symbols(support::tensor_program_view{&p}, support::tensor_program_kinds{},
                                       support::tensor_program_tensors{}, std::span<const symbol>(symbols))) {
        text += (text.empty() ? "" : "; ") + s.name + "=" + std::to_string(s.value);
        for (const auto& d : s.dimensions) text += " " + d.value->def->name + "." + std::to_string(d.dim);
    }
    return text;
}

/// The same by the definition, one symbol after the other.
std::string defined(const tensor_program& p, const std::vector<symbol>& symbols) {
    struct counted {
        std::string text;
        std::size_t dimensions = 0;
    };
    std::vector<symbol> of_inputs;
    for (const auto& o : p.ops)
        for (const auto& x : o->results)
            for (const std::vector<std::string>& extents : x->symbolic)
                for (const std::string& extent : extents)
                    for (const symbol& s : symbols)
                        if (o->kind == input && s.value > 0 && extent_expression::mentions(extent, s.name) &&
                            std::none_of(of_inputs.begin(), of_inputs.end(),
                                         [&](const symbol& f) { return f.name == s.name; }))
                            of_inputs.push_back(s);
    std::vector<counted> all;
    for (const symbol& s : of_inputs) {
        counted c{std::string(s.name) + "=" + std::to_string(s.value), 0};
        for (const auto& o : p.ops)
            for (const auto& x : o->results)
                for (std::size_t d = 0; x->shapes.size() == 1 && d < x->shapes[0].size(); ++d)
                    if (extent_expression::mentions(x->symbolic[0][d], s.name) && x->shapes[0][d] % s.value == 0) {
                        c.text += " " + o->name + "." + std::to_string(d);
                        ++c.dimensions;
                        break;
                    }
        all.push_back(c);
    }
    std::string text;
    while (!all.empty()) {
        auto most = all.begin();
        for (auto c = all.begin(); c != all.end(); ++c)
            if (c->dimensions > most->dimensions) most = c;
        text += (text.empty() ? "" : "; ") + most->text;
        all.erase(most);
    }
    return text;
}

}  // namespace

TEST_CASE("tokens lie where a shape mentions a symbol that an input has") {
    tensor_program p;
    p.add("a", input, {}, {8, 4}, {"2*s", "s"});
    p.add("b", input, {}, {3}, {"t"});
    p.add("c", compute, {}, {6, 8}, {"", "2*s"});
    p.add("d", compute, {}, {8, 4});
    p.add("e", compute, {}, {5}, {"u"});
    p.add("f", compute, {}, {12}, {"s*t"});
    // The first dimension of a value that mentions it; u is not of an input; a product belongs to both.
    CHECK(shown(p, {{"s", 4}, {"t", 3}, {"u", 5}}) == "s=4 a.0 c.1 f.0; t=3 b.0 f.0");
    CHECK(shown(p, {{"t", 3}}) == "t=3 b.0 f.0");
    CHECK(shown(p, {}).empty());
    CHECK(shown(p, {{"s", 0}, {"t", -3}}).empty());
}

TEST_CASE("symbols are whole words, and an extent is a multiple of its symbol") {
    tensor_program p;
    p.add("a", input, {}, {5}, {"s1"});
    p.add("b", compute, {}, {9}, {"s1 + 4"});
    p.add("c", compute, {}, {9, 10}, {"s1 + 4", "2*s1"});
    p.add("d", compute, {}, {4}, {"s"});
    CHECK(shown(p, {{"s", 4}, {"s1", 5}}) == "s1=5 a.0 c.1");
}

TEST_CASE("every result counts, and a value that is not one tensor has no dimension of tokens") {
    tensor_program p;
    support::tensor_op* const a = p.add("a", input, {}, {4}, {"s"});
    a->result()->add({3}, element_type::f32, {"t"});  // a pair: its symbols are found, its dimensions are not
    support::tensor_op* const b = p.add("b", compute, {a->result()}, {4}, {"s"});
    tensor_program::add_result(b).add({2, 3}, element_type::i64, {"", "t"});
    tensor_program::add_result(b).add({8}, element_type::f32, {"2*s"});
    tensor_program::add_result(b);  // no tensor at all
    CHECK(shown(p, {{"s", 4}, {"t", 3}}) == "s=4 b.0 b.0; t=3 b.1");
}

TEST_CASE("equally frequent symbols stay in the order of inputs, and of the list within one extent") {
    tensor_program p;
    p.add("a", input, {}, {6}, {"b*a"});
    p.add("b", input, {}, {5}, {"c"});
    p.add("c", input, {}, {7}, {"d"});
    p.add("d", compute, {}, {7}, {"d"});
    CHECK(shown(p, {{"a", 2}, {"b", 3}, {"c", 5}, {"d", 7}}) == "d=7 c.0 d.0; a=2 a.0; b=3 a.0; c=5 b.0");
    CHECK(shown(p, {{"d", 7}, {"c", 5}, {"b", 3}, {"a", 2}}) == "d=7 c.0 d.0; b=3 a.0; a=2 a.0; c=5 b.0");
}

TEST_CASE("the least that a view and its models can offer is enough to look for symbols") {
    const archetypes::program g(0);
    const std::vector<symbol> symbols{{"n", 4}};
    CHECK(token_symbols(g, archetypes::kinds(0), archetypes::tensors(0), std::span<const symbol>(symbols)).empty());
    const auto found =
        token_symbols(g, archetypes::kinds(0), archetypes::symbolic_tensors(0), std::span<const symbol>(symbols));
    REQUIRE(found.size() == 1);
    CHECK(found[0].dimensions.size() == 8);  // of all values
}

TEST_CASE("symbols of random programs are those of the definition") {
    stretto_check("token_symbols", 200, [](const std::vector<std::uint8_t>& choices) {
        static const std::string expressions[] = {"", "s", "2*s", "s*t", "t + 1", "u//2", "Max(u, s)", "u"};
        const std::vector<symbol> symbols{{"u", 2}, {"s", 3}, {"t", 4}, {"v", 5}};
        tensor_program p;
        for (std::size_t k = 0; k + 2 < choices.size(); k += 3) {
            support::tensor_op* const o = p.add("n" + std::to_string(k), choices[k] % 3 == 0 ? input : compute, {});
            for (std::size_t result = 0; result < 1 + choices[k] / 3 % 2u; ++result) {
                support::tensor_value& x = tensor_program::add_result(o);
                for (std::size_t c = 0; c < (choices[k] / 6 % 5u == 0 ? 2 : 1); ++c)
                    x.add({choices[k + 1] % 13 + 1, choices[k + 2] % 7 + 1}, element_type::f32,
                          {expressions[choices[k + 1] % 8], expressions[(choices[k + 2] + result) % 8]});
            }
        }
        RC_ASSERT(shown(p, symbols) == defined(p, symbols));
    });
}

TEST_CASE("a captured step has the same tokens in an IR of pointers") {
    const support::example_step example = support::moe_ep_step();
    const tensor_program p = support::mirror_of(example.step, example.tensors);
    const auto found = token_symbols(support::tensor_program_view{&p}, support::tensor_program_kinds{},
                                     support::tensor_program_tensors{}, example.step.symbols());
    const std::vector<capture_token_symbol> captured = token_symbols(example.step, example.tensors);
    REQUIRE(captured.size() == found.size());
    for (std::size_t s = 0; s < found.size(); ++s) {
        CHECK(found[s].name == captured[s].name);
        CHECK(found[s].value == captured[s].value);
        REQUIRE(found[s].dimensions.size() == captured[s].dimensions.size());
        for (std::size_t k = 0; k < found[s].dimensions.size(); ++k) {
            CHECK(found[s].dimensions[k].value->def->position == captured[s].dimensions[k].value);
            CHECK(found[s].dimensions[k].dim == captured[s].dimensions[k].dim);
        }
    }
}
