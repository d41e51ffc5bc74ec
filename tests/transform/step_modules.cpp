#include "stretto/transform/step_modules.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_modules.hpp"

using namespace stretto;

namespace {

std::vector<std::string> components(const std::string& path) {
    std::vector<std::string> all;
    for (std::size_t i = 0; !path.empty() && i <= path.size();) {
        const std::size_t end = std::min(path.find('.', i), path.size());
        all.push_back(path.substr(i, end - i));
        i = end + 1;
    }
    return all;
}
std::string joined(const std::vector<std::string>& parts) {
    std::string path;
    for (const std::string& p : parts) path += (path.empty() ? "" : ".") + p;
    return path;
}

/// The module and direction of every operation, component by component.
std::vector<support::toy_module> inferred(const support::toy_program& p, std::vector<support::toy_module> said) {
    const auto is_end = [&](std::uint32_t v) {
        return p.ops[v].kind == op_kind::input || p.ops[v].kind == op_kind::output;
    };
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
        if (is_end(v)) {
            said[v] = {};
            continue;
        }
        std::optional<std::vector<std::string>> shared;
        std::optional<pass_direction> way;
        for (const support::toy_value& x : p.ops[v].operands) {
            if (is_end(x.op)) continue;
            const std::vector<std::string> other = components(said[x.op].path);
            if (!shared) shared = other;
            std::size_t same = 0;
            while (same < shared->size() && same < other.size() && (*shared)[same] == other[same]) ++same;
            shared->resize(same);
            if (!way) way = said[x.op].direction;
            if (*way != said[x.op].direction) way = pass_direction::both;
        }
        if (said[v].path.empty() && shared) said[v].path = joined(*shared);
        if (said[v].direction == pass_direction::both && way) said[v].direction = *way;
    }
    return said;
}

}  // namespace

TEST_CASE("the module that two modules lie in") {
    CHECK(common_module("layers.3.ffn", "layers.3.moe") == "layers.3");
    CHECK(common_module("layers.3", "layers.3.moe") == "layers.3");
    CHECK(common_module("layers.3", "layers.30") == "layers");
    CHECK(common_module("norm", "layers.30").empty());
    CHECK(common_module("norm", "norm") == "norm");
}

TEST_CASE_TEMPLATE("operations without a path lie where all that they read lies", IR, STRETTO_TOY_IRS) {
    const support::toy_layers layers = support::two_layers();
    const IR ir(layers.program);
    const auto g = ir.view();
    using G = std::remove_const_t<decltype(g)>;
    const step_modules<G> modules(g, ir.model(), support::toy_module_model<G>(g, layers.said));
    static_assert(module_model<step_modules<G>, G>);
    const auto v = support::vertices_of(g);
    CHECK(modules.path(v[2]) == "layers.0.ffn");
    CHECK(modules.path(v[6]) == "layers");
    CHECK(modules.path(v[7]) == "layers.0");
    CHECK(modules.path(v[8]).empty());
    CHECK(modules.direction(v[6]) == pass_direction::backward);
    CHECK(modules.direction(v[7]) == pass_direction::forward);
    CHECK(modules.direction(v[8]) == pass_direction::both);
    for (std::size_t end : {0u, 9u}) {  // whatever they say themselves
        CHECK(!modules.is_operation(v[end]));
        CHECK(modules.path(v[end]).empty());
        CHECK(modules.direction(v[end]) == pass_direction::both);
    }
    CHECK(modules.is_operation(v[8]));
    const std::vector<std::string> paths(modules.paths().begin(), modules.paths().end());
    CHECK(paths == std::vector<std::string>{"", "layers.0", "layers.0.ffn", "layers.1", "layers"});
}

TEST_CASE("the least that a view and its models can offer is enough") {
    const archetypes::program g(0);
    const step_modules<archetypes::program> modules(g, archetypes::kinds(0), archetypes::modules(0));
    const auto path = [&](std::size_t i) { return modules.path(archetypes::detail::at(i)); };
    CHECK(path(1).empty());
    CHECK(path(3) == "layers.0.ffn");
    CHECK(path(4).empty());  // reads something that lies nowhere
    CHECK(path(5) == "layers.0.moe");
    CHECK(path(6) == "layers.0.moe");
    CHECK(modules.direction(archetypes::detail::at(6)) == pass_direction::backward);
    CHECK(!modules.is_operation(archetypes::detail::at(7)));
}

TEST_CASE("modules are inferred as the definition says, in every IR") {
    stretto_check("step_modules", 60, [] {
        const support::toy_program p = *support::random_programs();
        const std::array<std::string, 8> paths{"", "", "", "a", "a.b", "a.b.c", "a.bb", "d.b"};
        std::vector<support::toy_module> said(p.ops.size());
        for (support::toy_module& m : said)
            m = {paths[*rc::gen::inRange<std::size_t>(0, paths.size())],
                 static_cast<pass_direction>(*rc::gen::inRange(0, 3))};
        const std::vector<support::toy_module> wanted = inferred(p, said);
        support::for_each_toy_ir(p, [&](auto& ir) {
            const auto g = ir.view();
            using G = std::remove_const_t<decltype(g)>;
            const step_modules<G> modules(g, ir.model(), support::toy_module_model<G>(g, said));
            std::size_t i = 0;
            for (auto v : g.vertices()) {
                RC_ASSERT(modules.path(v) == wanted[i].path);
                RC_ASSERT(modules.direction(v) == wanted[i].direction);
                RC_ASSERT(modules.paths()[modules.path_number(v)] == wanted[i].path);
                ++i;
            }
        });
    });
}
