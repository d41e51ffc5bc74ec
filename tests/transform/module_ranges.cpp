#include "stretto/transform/module_ranges.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using way = pass_direction;

namespace {

std::string spelled(const std::vector<module_chunks>& settings) {
    std::string text;
    for (const module_chunks& s : in_ranges(settings)) {
        text += (text.empty() ? "" : ",") + s.pattern;
        if (s.direction != way::both) text += s.direction == way::forward ? ":f" : ":b";
        text += "=" + std::to_string(s.sizes.size());
    }
    return text;
}

/// The number of chunks that settings give a module in a direction.
std::size_t chunks_of(const std::vector<module_chunks>& settings, std::string_view module, way direction) {
    std::size_t k = 1;
    for (const module_chunks& s : settings)
        if (!matched_module(module, s.pattern).empty() && (s.direction == way::both || s.direction == direction))
            k = s.sizes.size();
    return k;
}

}  // namespace

TEST_CASE("neighbours that count up are one setting") {
    const std::vector<std::int64_t> two = {1, 1}, four = {1, 1, 1, 1};
    CHECK(spelled({{"layers.0.moe", way::both, two}, {"layers.1.moe", way::both, two}}) == "layers.0-1.moe=2");
    CHECK(spelled({{"layers.0", way::both, two}, {"layers.2", way::both, two}}) == "layers.0=2,layers.2=2");
    CHECK(spelled({{"layers.0", way::forward, two},
                   {"layers.0", way::backward, four},
                   {"layers.1", way::forward, two},
                   {"layers.1", way::backward, four}}) == "layers.0-1:f=2,layers.0-1:b=4");
    CHECK(spelled({{"", way::both, two},
                   {"layers.*", way::both, four},
                   {"layers.9", way::both, two},
                   {"layers.10", way::both, two}}) == "=2,layers.*=4,layers.9-10=2");
}

TEST_CASE("what overrides another setting stays behind it") {
    const std::vector<std::int64_t> two = {1, 1}, four = {1, 1, 1, 1};
    CHECK(spelled({{"layers.0", way::both, two}, {"layers.1", way::both, two}, {"layers.0", way::forward, four}}) ==
          "layers.0-1=2,layers.0:f=4");
}

TEST_CASE("settings in ranges give every module the same chunks") {
    stretto_check("ranges", 2000, [](const std::vector<std::uint8_t>& bytes) {
        std::vector<module_chunks> settings;
        for (std::uint8_t b : bytes) {
            std::string pattern = "layers." + std::to_string(8 + b % 5);
            if (b % 3 == 1) pattern += ".moe";
            if (b % 31 == 30) pattern = "layers.*";
            settings.push_back({pattern, static_cast<way>(b / 64 % 3), std::vector<std::int64_t>(1 + b / 16 % 3, 1)});
        }
        const std::vector<module_chunks> made = in_ranges(settings);
        RC_ASSERT(made.size() <= settings.size());
        for (int layer = 7; layer < 14; ++layer)
            for (const char* inner : {"", ".moe", ".moe.router"})
                for (way direction : {way::forward, way::backward}) {
                    const std::string module = "layers." + std::to_string(layer) + inner;
                    RC_ASSERT(chunks_of(made, module, direction) == chunks_of(settings, module, direction));
                }
    });
}
