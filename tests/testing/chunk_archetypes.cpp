#include "stretto/testing/chunk_archetypes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "stretto/testing/rewriter_archetypes.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "stretto/transform/explain_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/token_symbols.hpp"
#include "stretto/transform/verify_chunks.hpp"

using namespace stretto;
using archetypes::program;
using archetypes::vertex;
using archetypes::detail::at;

namespace {

/// Operation 4, which reads three values of four rows, in two chunks.
struct request {
    std::array<vertex, 1> vertices = {at(4)};
    std::array<std::int64_t, 2> sizes = {1, 3};
    std::array<chunk_region<vertex>, 1> regions = {
        {{{vertices.begin(), vertices.end()}, {sizes.begin(), sizes.end()}}}};
    std::array<token_dimension<archetypes::value>, 3> tokens = {{{{at(2), 0}, 0}, {{at(3), 0}, 0}, {{at(3), 1}, 0}}};

    template <class C>
    [[nodiscard]] auto plan(const C& chunks) const {
        return plan_chunks(program(0), archetypes::kinds(0), chunks, std::span<const chunk_region<vertex>>(regions),
                           std::span<const token_dimension<archetypes::value>>(tokens));
    }
};

}  // namespace

TEST_CASE("a dialect offers nothing beyond its concept") {
    static_assert(!chunk_model<archetypes::dialect, program> && !chunk_dialect<archetypes::chunks, program>);
}

TEST_CASE("a chunk model and a dialect of the least plan the same, which the least of rewriters carries out") {
    const request r;
    row_orders orders;
    const rule_chunk_model by_rules(program(0), archetypes::dialect(0), orders);
    const auto ruled = r.plan(by_rules), plain = r.plan(archetypes::chunks(0));
    REQUIRE(ruled);
    REQUIRE(plain);
    CHECK(verify_chunks(*ruled, program(0), archetypes::kinds(0), by_rules));
    CHECK(verify_chunks(*plain, program(0), archetypes::kinds(0), archetypes::chunks(0)));
    archetypes::chunker first, second;
    apply_chunks(*ruled, program(0), first);
    apply_chunks(*plain, program(0), second);
    CHECK(first.calls == second.calls);
    CHECK(plain->counts().clones == 2);
    // Three values are split in two, two clones are concatenated, one reader reads the whole, one operation goes.
    CHECK(first.calls >= 3 * 2 + 2 + 1 + 1 + 1);
}

TEST_CASE("what the dialect has no rule for is refused, in the words of the labels") {
    request r;
    r.vertices[0] = at(3);
    r.regions[0].candidates = {at(3)};
    const std::array<token_dimension<archetypes::value>, 1> input = {{{{at(0), 0}, 0}}};
    row_orders orders;
    const rule_chunk_model by_rules(program(0), archetypes::dialect(0), orders);
    const auto refused =
        plan_chunks(program(0), archetypes::kinds(0), by_rules, std::span<const chunk_region<vertex>>(r.regions),
                    std::span<const token_dimension<archetypes::value>>(input));
    REQUIRE_FALSE(refused);
    const archetypes::kinds kinds(0);
    const archetypes::chunks shapes(0);
    const archetypes::names names(0);
    const auto said =
        chunk_explainer(program(0), kinds, shapes, names, std::span<const chunk_region<vertex>>(r.regions),
                        std::span<const token_dimension<archetypes::value>>(input))
            .explain(refused.error());
    CHECK(said.vertex == at(3));
    CHECK_FALSE(said.cause.empty());
}

TEST_CASE("a symbol that only converts to what it should be is found in the input") {
    const archetypes::symbol n[] = {{archetypes::text("n"), archetypes::number(4)}};
    const auto found = token_symbols(program(0), archetypes::kinds(0), archetypes::symbolic_tensors(0),
                                     std::span<const archetypes::symbol>(n));
    REQUIRE(found.size() == 1);
    CHECK(found[0].name == "n");
    CHECK(found[0].value == 4);
}
