#include "stretto/analysis/unread_storage.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::toy_program;
using support::toy_value;

namespace {

enum class use : std::uint8_t {
    shares,
    writes
};
struct fault {
    std::uint32_t op;
    toy_value value;
    use how;
    friend bool operator==(const fault&, const fault&) = default;
};

/// What all toy IRs say of a program, which is one and the same.
std::optional<fault> first_of(const toy_program& p) {
    std::optional<std::optional<fault>> said;
    support::for_each_toy_ir(p, [&](const auto& ir) {
        const auto g = ir.view();
        using found_type = unread_storage<std::remove_const_t<decltype(g)>>;
        const std::optional<found_type> found = first_unread_storage(g, ir.model());
        std::optional<fault> named;
        if (found) {
            const auto position = support::positions_of(g);
            toy_value x{position[g.index(g.producer(found->value))], 0};
            for (const auto y : g.results(g.producer(found->value))) {
                if (y == found->value) break;
                ++x.result;
            }
            named = {position[g.index(found->vertex)], x,
                     found->how == found_type::use::shares ? use::shares : use::writes};
        }
        CHECK((!said || *said == named));
        said = named;
    });
    return *said;
}

/// By definition, without remembering anything.
bool has_storage_of(const toy_program& p, toy_value y, toy_value x) {
    if (y == x) return true;
    for (toy_value shared : p.ops[y.op].results[y.result].aliases)
        if (has_storage_of(p, shared, x)) return true;
    return false;
}
std::optional<fault> by_definition(const toy_program& p) {
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
        if (p.ops[v].kind == op_kind::input) continue;
        const auto may_use = [&](toy_value x) {
            if (x.op == v) return true;
            for (toy_value y : p.ops[v].operands)
                if (has_storage_of(p, y, x)) return true;
            return false;
        };
        for (const auto& r : p.ops[v].results)
            for (toy_value x : r.aliases)
                if (!may_use(x)) return fault{v, x, use::shares};
        for (toy_value x : p.ops[v].effects)
            if (!may_use(x)) return fault{v, x, use::writes};
    }
    return std::nullopt;
}

/// An input, a kernel with two results, and a view of the first of them.
toy_program viewed() {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{8}, {}}, {{8}, {}}}});
    p.ops.push_back({.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    return p;
}

}  // namespace

TEST_CASE("operands, what they share, and results of the operation itself may be used") {
    toy_program p = viewed();
    CHECK_FALSE(first_of(p));
    p.ops.push_back({.operands = {{2, 0}}, .results = {{{0}, {{1, 0}}}}, .effects = {{1, 0}}});  // behind a view
    CHECK_FALSE(first_of(p));
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{8}, {}}, {{0}, {{4, 0}}}}});  // one result views the other
    CHECK_FALSE(first_of(p));
}

TEST_CASE("other results of what is read may not") {
    toy_program p = viewed();
    p.ops.push_back({.operands = {{2, 0}}, .results = {{{0}, {{1, 1}}}}});
    CHECK(first_of(p) == fault{3, {1, 1}, use::shares});
    p.ops[3].results = {};
    p.ops[3].effects = {{1, 0}, {1, 1}};
    CHECK(first_of(p) == fault{3, {1, 1}, use::writes});
    p.ops[3].kind = op_kind::input;  // whose storage is the caller's
    CHECK_FALSE(first_of(p));
}

TEST_CASE("sharing is followed from what is read backwards, and not forwards") {
    toy_program p = viewed();
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{0}, {{2, 0}}}}});  // the view may not be there yet
    CHECK(first_of(p) == fault{3, {2, 0}, use::shares});
}

TEST_CASE("archetypes suffice") { CHECK_FALSE(first_unread_storage(archetypes::program(0), archetypes::kinds(0))); }

TEST_CASE("the first fault of any program is the one by definition") {
    std::size_t faults = 0, clean = 0;
    stretto_check("random programs", 2000, [&](std::uint32_t seed) {
        toy_program p = support::seeded_program(seed, 12);
        RC_ASSERT(first_of(p) == by_definition(p));
        std::vector<toy_value> values;
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
            if (!values.empty() && (seed >> (v % 24) & 1) != 0) {
                const toy_value x = values[(seed / 7 + v) % values.size()];
                if (!p.ops[v].results.empty() && (seed + v) % 3 == 0) p.ops[v].results[0].aliases.push_back(x);
                else if (p.ops[v].kind != op_kind::input) p.ops[v].effects.push_back(x);
                if (v % 2 == 0) p.ops[v].operands.push_back(x);  // half of them are in order
                const auto found = first_of(p);
                RC_ASSERT(found == by_definition(p));
                (found ? faults : clean)++;
                if (found) break;
            }
            for (std::uint32_t r = 0; r < p.ops[v].results.size(); ++r) values.push_back({v, r});
        }
    });
    if (support::runs_all_cases()) CHECK(faults > 300);
    if (support::runs_all_cases()) CHECK(clean > 300);
}
