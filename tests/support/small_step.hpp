// Captured steps of a few operations, written down in a test.
#ifndef STRETTO_TESTS_SUPPORT_SMALL_STEP_HPP
#define STRETTO_TESTS_SUPPORT_SMALL_STEP_HPP

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "support/read_step.hpp"

namespace support {

/// A step of a few operations on f32. An extent of -4 stands for the four tokens, s.
struct small_step {
    std::string nodes;
    std::vector<std::string> names;
    std::vector<std::uint32_t> region;  // all but inputs and outputs
    std::size_t ranks = 1;

    small_step& add(const char* name, const char* op, const char* kind, std::initializer_list<const char*> reads,
                    std::initializer_list<int> shape, const char* args = "null", const char* more = "") {
        std::string inputs, extents, symbolic;
        std::int64_t size = 4;
        for (const char* r : reads)
            for (std::size_t k = 0; k < names.size(); ++k)
                if (names[k] == r) inputs += (inputs.empty() ? "" : ",") + std::to_string(k);
        for (int e : shape) {
            const std::string comma = extents.empty() ? "" : ",";
            extents += comma + std::to_string(e < 0 ? -e : e);
            symbolic += comma + (e < 0 ? "\"s\"" : std::to_string(e));
            size *= e < 0 ? -e : e;
        }
        const bool allocates = std::string_view(kind) != "view" && std::string_view(kind) != "wait" &&
                               std::string_view(kind) != "output" &&
                               std::string_view(more).find("alias") == std::string_view::npos;
        const std::string output =
            std::string_view(kind) == "output"
                ? ""
                : "{\"shape\":[" + extents + "],\"dtype\":\"f32\",\"symbolic\":[" + symbolic + "]}";
        nodes += (nodes.empty() ? "" : ",\n") + std::string("{\"name\":\"") + name + "\",\"op\":\"" + op +
                 "\",\"kind\":\"" + kind + "\",\"inputs\":[" + inputs + "],\"args\":" + args + ",\"outputs\":[" +
                 output + "],\"bytes\":" + std::to_string(allocates ? size : 0) +
                 ",\"ns\":" + (std::string_view(kind) == "compute" ? "1000" : "0") + more + "}";
        if (std::string_view(kind) != "input" && std::string_view(kind) != "output")
            region.push_back(static_cast<std::uint32_t>(names.size()));
        names.emplace_back(name);
        return *this;
    }
    [[nodiscard]] stretto::capture made() const {
        auto step = support::parse_capture(
            R"({"format":"stretto-graph","version":1,"name":"small","groups":[{"name":"dp","size":)" +
                std::to_string(ranks) +
                R"(}],"costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{}},"symbols":{"s":4},"nodes":[)" +
                nodes + "]}",
            "small.json");
        REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
        return *std::move(step);
    }
    [[nodiscard]] std::uint32_t at(std::string_view name) const {
        for (std::uint32_t k = 0; k < names.size(); ++k)
            if (names[k] == name) return k;
        return UINT32_MAX;
    }
};

/// A step with two inputs: x, four tokens, and a weight.
inline small_step two_inputs() {
    return small_step().add("x", "placeholder", "input", {}, {-4, 3}).add("w", "placeholder", "input", {}, {3, 3});
}

}  // namespace support

#endif
