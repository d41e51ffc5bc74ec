#include "stretto/tune/chunk_units.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/transform/chunk_settings_text.hpp"
#include "stretto/transform/module_ranges.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/step_modules.hpp"
#include "support/module_names.hpp"
#include "support/prop.hpp"
#include "support/row_layers.hpp"

using namespace stretto;
using namespace support;

namespace {

std::vector<std::string> modules_of(const chunk_units& all) {
    std::vector<std::string> names;
    for (const chunk_unit& u : all.units)
        names.push_back(u.module + (u.direction == pass_direction::forward    ? " forward"
                                    : u.direction == pass_direction::backward ? " backward"
                                                                              : ""));
    return names;
}

}  // namespace

TEST_CASE("the part of a model that a module lies in is a repeated one, or the outermost") {
    CHECK(part_of_model("layers.3.moe.router") == "layers.3");
    CHECK(part_of_model("model.blocks.12") == "model.blocks.12");
    CHECK(part_of_model("embedding.table") == "embedding");
    CHECK(part_of_model("norm") == "norm");
    CHECK(part_of_model("") == "");
    CHECK(part_of_model("layers.3a.moe") == "layers");
}

TEST_CASE("parts are units, and so are modules around exchanges, forward and backward apart") {
    row_layers c(2, 8, true);
    const chunk_units all = units_by_module(c.view(), priced_row_model{}, row_module_model{&c});
    CHECK(modules_of(all) == std::vector<std::string>{"layers.0 forward", "layers.0.moe forward", "layers.1 forward",
                                                      "layers.1.moe forward", "layers.1 backward",
                                                      "layers.1.moe backward", "layers.0 backward",
                                                      "layers.0.moe backward"});
    CHECK(all.parts == 2);
    CHECK(all.units[1].depth == 1);
    CHECK(all.units[1].part == 0);
    CHECK(all.units[4].part == 1);
    CHECK(all.unit_of[0] == chunk_units::none);
    CHECK(all.unit_of[1] == 0);  // the norm
    CHECK(all.unit_of[4] == 1);  // the experts lie in the module around the exchange
    CHECK(all.unit_of.back() == chunk_units::none);
}

TEST_CASE("settings say the most frequent number first, and then what differs") {
    row_layers c(3, 8);
    const chunk_units all = units_by_module(c.view(), priced_row_model{}, row_module_model{&c});
    const auto text = [&](std::vector<std::size_t> chunks) {
        std::string s;
        for (const module_chunks& m : settings_of(all, chunks, 8))
            s += (s.empty() ? "" : ",") + m.pattern + "=" + std::to_string(m.sizes.size());
        return s;
    };
    CHECK(text({2, 2, 2, 2, 2, 2}) == "=2");
    CHECK(text({1, 4, 1, 4, 1, 4}) == "=1,layers.*.moe=4");
    CHECK(text({2, 2, 2, 3, 2, 2}) == "=2,layers.1.moe=3");
    CHECK(settings_of(chunk_units{}, {}, 8).empty());
}

namespace {

/// How many chunks the settings of a choice give every operation, after they have been a line of text.
std::vector<std::size_t> given_by_settings(row_layers& c, const step_modules<row_view>& modules, const chunk_units& all,
                                           const std::vector<std::size_t>& chunks) {
    const std::string text = print_chunk_settings(in_ranges(settings_of(all, chunks, 8)));
    const auto parsed = parse_chunk_settings(text);
    RC_ASSERT(parsed.has_value());
    const auto settings = in_rows(*parsed, 8);
    RC_ASSERT(settings.has_value());
    const auto regions = regions_in_chunks(modules, *settings);
    RC_ASSERT(regions.has_value());
    std::vector<std::size_t> given(c.p.ops.size(), 1);
    for (const auto& r : *regions)
        for (row_op* v : r.candidates) given[v->number] = r.sizes.size();
    return given;
}

/// Any choice of chunks comes back from its settings.
void check_any_choice(row_layers& c) {
    const step_modules<row_view> modules(c.view(), priced_row_model{}, row_module_model{&c});
    const chunk_units all = units_by_module(c.view(), priced_row_model{}, modules);
    std::vector<std::size_t> chunks;
    for (std::size_t u = 0; u < all.size(); ++u) chunks.push_back(*rc::gen::inRange<std::size_t>(1, 4));
    const std::vector<std::size_t> given = given_by_settings(c, modules, all, chunks);
    for (const row_op& o : c.p.ops) {
        const std::uint32_t u = all.unit_of[o.number];
        RC_ASSERT(given[o.number] == (u == chunk_units::none ? 1 : chunks[u]));
    }
}

}  // namespace

TEST_CASE("settings name exactly the operations that were chosen") {
    stretto_check("any choice", 200, [] {
        row_layers c(*rc::gen::inRange<std::size_t>(1, 5), 8, *rc::gen::arbitrary<bool>());
        if (*rc::gen::arbitrary<bool>())
            for (pass_direction& way : c.directions)
                if (*rc::gen::inRange(0, 10) == 0) way = pass_direction::both;
        check_any_choice(c);
    });
    stretto_check("any choice, whatever modules are called", 1000, [] {
        row_layers c(*rc::gen::inRange<std::size_t>(1, 4), 8, *rc::gen::arbitrary<bool>());
        for (std::string& path : c.paths)
            if (*rc::gen::inRange(0, 3) > 0) path = *rc::gen::inRange(0, 8) == 0 ? "" : any_module_name();
        for (pass_direction& way : c.directions)
            if (*rc::gen::inRange(0, 10) == 0) way = pass_direction::both;
        check_any_choice(c);
    });
}

TEST_CASE("modules that look like patterns have settings of their own") {
    row_layers c(3, 8);
    const std::string names[] = {"layers.*", "layers.0-2", "layers.a:backward=3,b"};
    for (std::string& path : c.paths)
        if (path.starts_with("layers.")) path = names[static_cast<std::size_t>(path[7] - '0')] + path.substr(8);
    const step_modules<row_view> modules(c.view(), priced_row_model{}, row_module_model{&c});
    const chunk_units all = units_by_module(c.view(), priced_row_model{}, modules);
    std::vector<std::size_t> chunks(all.size(), 1);
    for (std::size_t u = 0; u < all.size(); ++u)
        if (all.units[u].module == "layers.*.moe") chunks[u] = 2;
    CHECK(print_chunk_settings(settings_of(all, chunks, 8)) == R"(1,layers.\*.moe=2)");
}

TEST_CASE("a setting for many modules takes no other module its number") {
    row_layers c(3, 8);
    for (std::string& path : c.paths)  // a layer without an exchange has a module that is called as theirs with one
        if (path == "layers.0") path = "layers.x.moe";
    const step_modules<row_view> modules(c.view(), priced_row_model{}, row_module_model{&c});
    const chunk_units all = units_by_module(c.view(), priced_row_model{}, modules);
    std::vector<std::size_t> chunks(all.size(), 1);
    for (std::size_t u = 0; u < all.size(); ++u)
        if (all.units[u].module.starts_with("layers.") && all.units[u].module.ends_with(".moe")) chunks[u] = 4;
    const std::vector<std::size_t> given = given_by_settings(c, modules, all, chunks);
    for (const row_op& o : c.p.ops)
        if (all.unit_of[o.number] != chunk_units::none) CHECK(given[o.number] == chunks[all.unit_of[o.number]]);
}
