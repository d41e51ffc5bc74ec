#include "stretto/capture/capture_fields.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_reader.hpp"

using namespace stretto;
using support::edited;
using support::tiny_step;

using strings = std::vector<std::string>;

TEST_CASE("fields are taken apart by type") {
    const auto c = parse_capture(tiny_step, "f");
    REQUIRE(c);
    capture_fields fields(*c);
    CHECK(fields.text(4, "fqn") == "layers.0");
    CHECK(fields.text(4, "direction") == "forward");
    CHECK(fields.whole_number(4, "chunk") == 1);
    CHECK(fields.texts(5, "binds") == strings{"u0"});
}

TEST_CASE("fields that are absent or of another type give nothing, and harm nothing") {
    const auto c = parse_capture(tiny_step, "f");
    REQUIRE(c);
    capture_fields fields(*c);
    CHECK(fields.text(4, "origin") == std::nullopt);
    CHECK(fields.text(4, "chunk") == std::nullopt);
    CHECK(fields.whole_number(4, "fqn") == std::nullopt);
    CHECK(fields.texts(4, "fqn") == std::nullopt);
    CHECK(fields.texts(4, "kwargs") == std::nullopt);
    CHECK(fields.texts(0, "binds") == std::nullopt);
    CHECK(fields.text(4, "fqn") == "layers.0");
}

TEST_CASE("texts are unescaped") {
    const auto c = parse_capture(
        edited(edited(tiny_step, R"("layers.0")", R"("a\"\u00e9\/")"), R"(["u0"])", R"([ "\t" , "" ])"), "f");
    REQUIRE_MESSAGE(c, support::complaint(c));
    capture_fields fields(*c);
    CHECK(fields.text(4, "fqn") == "a\"\xc3\xa9/");
    CHECK(fields.texts(5, "binds") == strings{"\t", ""});
}

TEST_CASE("outputs have shape, dtype and symbolic extents") {
    const auto c = parse_capture(
        edited(
            tiny_step, R"("outputs":[{"shape":[4],"dtype":"f32"}])",
            R"("outputs":[{"shape":[],"dtype":"i64"},{"symbolic":["64*u0",2048],"dtype":"bf16","layout":{"a":[1]},"shape":[256, 2048]}])"),
        "f");
    REQUIRE_MESSAGE(c, support::complaint(c));
    capture_fields fields(*c);
    CHECK(fields.outputs(0) == std::vector<capture_tensor>{{{}, "i64", {}}, {{256, 2048}, "bf16", {"64*u0", "2048"}}});
    CHECK(fields.outputs(3) == std::vector<capture_tensor>{{{32}, "f32", {"8*u0"}}});
    CHECK(fields.outputs(6).empty());
}

TEST_CASE("outputs that a builder was given wrong are no tensors") {
    capture_builder b("step");
    capture_node n;
    n.name = "a";
    n.outputs = R"([{"shape":[1],"dtype":"f32"},7])";
    b.append(n);
    const auto c = std::move(b).build();
    REQUIRE(c);
    CHECK(capture_fields(*c).outputs(0).empty());
}

TEST_CASE("the captured steps of the reference: every tensor has as many symbolic extents as extents, or none") {
    for (const std::string& path : support::captured_steps("STRETTO_REFERENCE_GRAPHS")) {
        const auto c = read_capture(path);
        REQUIRE_MESSAGE(c, support::complaint(c));
        capture_fields fields(*c);
        std::size_t tensors = 0, odd = 0;
        for (std::uint32_t v = 0; v < c->size(); ++v)
            for (const capture_tensor& t : fields.outputs(v)) {
                ++tensors;
                odd += !t.symbolic.empty() && t.symbolic.size() != t.shape.size();
                odd += t.dtype.empty();
            }
        CHECK_MESSAGE(odd == 0, path);
        CHECK_MESSAGE(tensors > c->size() / 2, path);
    }
}
