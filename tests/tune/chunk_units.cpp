#include "stretto/tune/chunk_units.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/step_modules.hpp"
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

TEST_CASE("settings name exactly the operations that were chosen") {
    stretto_check("any choice", 200, [] {
        row_layers c(*rc::gen::inRange<std::size_t>(1, 5), 8, *rc::gen::arbitrary<bool>());
        if (*rc::gen::arbitrary<bool>())
            for (pass_direction& way : c.directions)
                if (*rc::gen::inRange(0, 10) == 0) way = pass_direction::both;
        const step_modules<row_view> modules(c.view(), priced_row_model{}, row_module_model{&c});
        const chunk_units all = units_by_module(c.view(), priced_row_model{}, modules);
        std::vector<std::size_t> chunks;
        for (std::size_t u = 0; u < all.size(); ++u) chunks.push_back(*rc::gen::inRange<std::size_t>(1, 4));
        const std::vector<module_chunks> settings = settings_of(all, chunks, 8);
        const auto regions = regions_in_chunks(modules, settings);
        RC_ASSERT(regions.has_value());
        std::vector<std::size_t> given(c.p.ops.size(), 1);
        for (const auto& r : *regions)
            for (row_op* v : r.candidates) given[v->number] = r.sizes.size();
        for (const row_op& o : c.p.ops) {
            const std::uint32_t u = all.unit_of[o.number];
            RC_ASSERT(given[o.number] == (u == chunk_units::none ? 1 : chunks[u]));
        }
    });
}
