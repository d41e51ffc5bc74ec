#include "stretto/transform/module_regions.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/toy_modules.hpp"

using namespace stretto;

namespace {

/// The two layers as an IR of handles that are no numbers, and what its operations are called: by position.
template <class IR>
struct opened {
    support::toy_layers layers = support::two_layers();
    IR ir{layers.program};
    using view_type = std::remove_const_t<decltype(std::declval<const IR&>().view())>;
    step_modules<view_type> modules{ir.view(), ir.model(),
                                    support::toy_module_model<view_type>(ir.view(), layers.said)};
    std::vector<std::uint32_t> position = support::positions_of(ir.view());

    template <class V>
    std::string shown(const std::vector<V>& vertices) const {
        std::string text;
        for (V v : vertices) text += " " + std::to_string(position[ir.view().index(v)]);
        return text;
    }
    std::string regions(std::string_view pattern, pass_direction direction = pass_direction::both) const {
        std::string text;
        for (const auto& r : module_regions(modules, pattern, direction))
            text += (text.empty() ? "" : "; ") + r.module + (r.direction == pass_direction::forward ? " f" : " b") +
                    shown(r.vertices);
        return text;
    }
    std::string in_chunks(const std::vector<module_chunks>& settings) const {
        const auto made = regions_in_chunks(modules, settings);
        if (!made) return "setting " + std::to_string(made.error());
        std::string text;
        for (const auto& r : *made) {
            text += text.empty() ? "" : "; ";
            for (std::int64_t size : r.sizes) text += std::to_string(size);
            text += ":" + shown(r.candidates);
        }
        return text;
    }
};

constexpr auto both = pass_direction::both, backward = pass_direction::backward;

}  // namespace

TEST_CASE_TEMPLATE("one region a module and direction, backward behind forward", IR, STRETTO_TOY_IRS) {
    const opened<IR> o;
    CHECK(o.regions("layers.*") == "layers.0 f 1 2 7; layers.0 b 5; layers.1 f 3; layers.1 b 4");
    CHECK(o.regions("layers") == "layers f 1 2 3 7; layers b 4 5 6");
    CHECK(o.regions("layers.*.ffn", backward) == "layers.0.ffn b 5");
    CHECK(o.regions("norm").empty());
    CHECK(o.regions("layers.9").empty());  // inputs and outputs lie in no module
}

TEST_CASE_TEMPLATE("operations with equal sizes are one region, and the last setting counts", IR, STRETTO_TOY_IRS) {
    const opened<IR> o;
    CHECK(o.in_chunks({{"", both, {2, 2}}}) == "22: 1 2 3 4 5 6 7 8");
    CHECK(o.in_chunks({{"layers.*", both, {2, 2}}}) == "22: 1 2 3 4 5 7");
    CHECK(o.in_chunks({{"layers.0", both, {2, 2}}, {"layers.1", both, {2, 2}}}) == "22: 1 2 3 4 5 7");
    CHECK(o.in_chunks({{"layers.0", both, {2, 2}}, {"layers.1", both, {1, 3}}}) == "22: 1 2 5 7; 13: 3 4");
    CHECK(o.in_chunks({{"", both, {2, 2}}, {"", backward, {1, 3}}, {"layers.0.ffn", both, {4}}}) ==
          "22: 1 3 7 8; 13: 4 6");
    CHECK(o.in_chunks({{"layers.0.ffn", both, {4}}, {"", both, {2, 2}}}) == "22: 1 2 3 4 5 6 7 8");
    CHECK(o.in_chunks({{"layers.0", both, {4}}}).empty());
    CHECK(o.in_chunks({}).empty());
    CHECK(o.in_chunks({{"layers.0", both, {2, 2}}, {"layers.7", both, {2, 2}}}) == "setting 1");
    CHECK(o.in_chunks({{"layers.1", both, {2, 2}}, {"norm", backward, {2, 2}}}) == "setting 1");
}

TEST_CASE("the least that a view and its models can offer is enough for regions") {
    const archetypes::program g(0);
    const step_modules<archetypes::program> modules(g, archetypes::kinds(0), archetypes::modules(0));
    const auto found = module_regions(modules, "layers.*");
    REQUIRE(found.size() == 2);
    CHECK(found[0].vertices == std::vector{archetypes::detail::at(3)});
    CHECK(found[1].vertices == std::vector{archetypes::detail::at(5), archetypes::detail::at(6)});
    const std::vector<module_chunks> settings{{"layers.0.moe", both, {1, 1}}};
    const auto regions = regions_in_chunks(modules, settings);
    REQUIRE(regions);
    REQUIRE(regions->size() == 1);
    CHECK((*regions)[0].candidates == found[1].vertices);
}
