#include "stretto/analysis/classify_collectives.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_node;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

constexpr collective_kind gather = collective_kind::all_gather;
constexpr collective_kind scatter = collective_kind::reduce_scatter;
constexpr collective_kind exchange = collective_kind::all_to_all;

/// The role of an input, by its number.
struct roles_by_number {
    std::vector<input_role> roles;
    input_role role(std::uint32_t x) const { return x < roles.size() ? roles[x] : input_role::other; }
    std::uint32_t place(std::uint32_t x) const { return role(x) == input_role::parameter ? 100 - x : no_place; }
};
using enum input_role;

auto tags_of(const reduction_program& p, const roles_by_number& roles) {
    return classify_collectives(reduction_view{&p}, reduction_model{&p}, roles);
}

/// The same by brute force: a program without writes in place, in which who reads a value reads everybody who has
/// written into its memory; and searches in it for every collective.
struct oracle {
    const reduction_program& p;
    const roles_by_number& roles;
    std::vector<std::vector<std::uint32_t>> reads;  // by node
    std::vector<std::vector<std::uint32_t>> ends;   // by input: who has written it, in the end

    explicit oracle(const reduction_program& program, const roles_by_number& r)
        : p(program), roles(r), reads(program.nodes.size()), ends(program.nodes.size()) {
        const reduction_model model{&p};
        const auto memory = [&](std::uint32_t x) {
            while (!model.aliases(x).empty()) x = model.aliases(x)[0];
            return x;
        };
        std::vector<std::vector<std::uint32_t>> writers(p.nodes.size());
        for (std::uint32_t v : p.order) {
            for (std::uint32_t x : p.nodes[v].operands) {
                reads[v].push_back(x);
                for (std::uint32_t w : writers[memory(x)]) reads[v].push_back(w);
            }
            for (std::uint32_t x : model.effects(v)) writers[memory(x)].push_back(v);
        }
        for (std::uint32_t v : p.order)
            if (p.nodes[v].op == input) ends[v] = writers[v];
    }
    [[nodiscard]] bool is_reduction(std::uint32_t v) const {
        return p.nodes[v].op == start && (p.nodes[v].kind == scatter || p.nodes[v].kind == collective_kind::all_reduce);
    }
    /// What v derives from: inputs; if `cut`, not behind reductions, and other collectives instead of what is behind
    /// them.
    [[nodiscard]] std::vector<std::uint32_t> sources(std::uint32_t v, bool cut) const {
        std::vector<std::uint32_t> open = reads[v], found;
        std::vector<char> met(p.nodes.size(), false);
        while (!open.empty()) {
            const std::uint32_t u = open.back();
            open.pop_back();
            if (met[u]) continue;
            met[u] = true;
            if (p.nodes[u].op == input || (cut && p.nodes[u].op == start && !is_reduction(u))) found.push_back(u);
            if (cut && p.nodes[u].op == start) continue;
            open.insert(open.end(), reads[u].begin(), reads[u].end());
        }
        return found;
    }
    [[nodiscard]] bool simple(std::uint32_t v) const {
        return p.nodes[v].operands.size() == 1 || std::ranges::all_of(sources(v, true), [&](std::uint32_t x) {
                   const input_role r = roles.role(x);
                   return p.nodes[x].op == input && (r == parameter || r == buffer || r == gradient);
               });
    }
    /// Whether what v makes goes to results alone, by way of simple operations.
    [[nodiscard]] bool ends_well(std::uint32_t v) const {
        std::vector<std::uint32_t> open = {v};
        std::vector<char> met(p.nodes.size(), false);
        while (!open.empty()) {
            const std::uint32_t u = open.back();
            open.pop_back();
            if (met[u]) continue;
            met[u] = true;
            bool any = false;
            for (std::uint32_t w : p.order) {
                if (std::ranges::count(ends[w], u) > 0) any = true;
                if (std::ranges::count(reads[w], u) == 0) continue;
                any = true;
                if (p.nodes[w].op == output) continue;
                if (!simple(w)) return false;
                open.push_back(w);
            }
            if (!any) return false;
        }
        return true;
    }
    [[nodiscard]] traffic_kind of(std::uint32_t s) const {
        if (p.nodes[s].kind == exchange) return traffic_kind::exchange;
        if (is_reduction(s)) return ends_well(s) ? traffic_kind::terminal : traffic_kind::other;
        const auto from = sources(s, false);
        const bool all = std::ranges::all_of(from, [&](std::uint32_t x) { return roles.role(x) == parameter; });
        return all && !from.empty() ? traffic_kind::parameter : traffic_kind::other;
    }
};

}  // namespace

TEST_CASE("gathers that derive from parameters alone: casts, views, several parameters, what was gathered before") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), x = p.input();
    const roles_by_number roles{{parameter, parameter, activation}};
    const std::uint32_t chain = p.reduced(p.op(same, {p.op(cast, {w})}), {.kind = gather});
    const std::uint32_t both = p.reduced(p.op(mix, {w, u}), {.kind = gather});
    const std::uint32_t again = p.reduced(p.op(mix, {chain}), {.kind = gather});
    const std::uint32_t mixed = p.reduced(p.op(mix, {w, x}), {.kind = gather});
    const std::uint32_t tokens = p.reduced(x, {.kind = gather});
    const std::uint32_t routed = p.reduced(p.op(mix, {x, chain}), {.kind = exchange});
    p.output({chain, both, again, mixed, tokens, routed});
    const auto tags = tags_of(p, roles);
    CHECK(tags[chain] == traffic_tag{traffic_kind::parameter, 100});
    CHECK(tags[both] == traffic_tag{traffic_kind::parameter, 99});  // the first of its places
    CHECK(tags[again] == traffic_tag{traffic_kind::parameter, 100});
    CHECK(tags[mixed].what == traffic_kind::other);
    CHECK(tags[tokens].what == traffic_kind::other);
    CHECK(tags[routed].what == traffic_kind::exchange);
    CHECK(tags[p.nodes[chain].operands[0]] == tags[chain]);  // starts and waits alike
    CHECK(tags[w].what == traffic_kind::none);
    CHECK(!explain(tags[chain].what).empty());
}

TEST_CASE("autoparallel A9: what derives from parameters: chains of any length, and several; nothing else joins in") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), x = p.input();
    std::uint32_t chain = w;
    for (int k = 0; k < 50; ++k) chain = p.op(k % 2 == 0 ? cast : same, {chain});
    const std::uint32_t far = p.reduced(chain, {.kind = gather}),
                        fan_in = p.reduced(p.op(mix, {w, u}), {.kind = gather});
    const std::uint32_t mixed = p.op(mix, {u, x}), behind = p.reduced(p.op(cast, {mixed}), {.kind = gather});
    p.output({far, fan_in, behind});
    const auto tags = tags_of(p, {{parameter, parameter, activation}});
    CHECK(tags[far].what == traffic_kind::parameter);
    CHECK(tags[fan_in].what == traffic_kind::parameter);
    CHECK(tags[behind].what == traffic_kind::other);  // it stops where something else has joined
    const auto without = tags_of(p, {{activation, activation, activation}});
    for (std::uint32_t v : {far, fan_in, behind}) CHECK(without[v].what == traffic_kind::other);
}

TEST_CASE("autoparallel A9: what only gradients read: chains to several of them, unless something else reads, too") {
    reduction_program p;
    const std::uint32_t w = p.input(), x = p.input(), g = p.op(mix, {w, x});
    std::uint32_t chain = p.reduced(g, {.kind = scatter});
    const std::uint32_t first = chain;
    for (int k = 0; k < 50; ++k) chain = p.op(k % 2 == 0 ? cast : same, {chain});
    const std::uint32_t second = p.reduced(g), partial = p.reduced(g), unread = p.reduced(g);
    const std::uint32_t gradient = p.op(cast, {partial});
    p.output({chain, p.op(same, {second}), gradient, p.op(mix, {partial, x})});
    const auto tags = tags_of(p, {{parameter, activation}});
    CHECK(tags[first].what == traffic_kind::terminal);
    CHECK(tags[second].what == traffic_kind::terminal);
    CHECK(tags[partial].what == traffic_kind::other);
    CHECK(tags[unread].what == traffic_kind::other);  // no gradient, no terminal
}

TEST_CASE("a parameter that was written with something else is no parameter any more") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), x = p.input();
    const std::uint32_t before = p.reduced(p.op(cast, {w}), {.kind = gather});
    p.op(add_to, {p.op(same, {w}), x});
    const std::uint32_t after = p.reduced(p.op(cast, {w}), {.kind = gather});
    p.op(add_to, {u, u});
    const std::uint32_t scaled = p.reduced(u, {.kind = gather});
    p.output({before, after, scaled});
    const auto tags = tags_of(p, {{parameter, parameter, activation}});
    CHECK(tags[before].what == traffic_kind::parameter);
    CHECK(tags[after].what == traffic_kind::other);
    CHECK(tags[scaled].what == traffic_kind::parameter);
}

TEST_CASE("reductions whose result reaches nothing but results of the step") {
    reduction_program p;
    const std::uint32_t w = p.input(), x = p.input(), acc = p.input();
    const roles_by_number roles{{parameter, activation, gradient}};
    const std::uint32_t g = p.op(mix, {w, x});
    const std::uint32_t cast_after = p.reduced(g, {.kind = scatter});
    const std::uint32_t one = p.reduced(g), two = p.reduced(g);
    const std::uint32_t accumulated = p.reduced(g), updates = p.reduced(g);
    const std::uint32_t first = p.reduced(g), second = p.reduced(first, {.kind = scatter});  // sharded replicas
    const std::uint32_t meets_weights = p.reduced(g), gathered = p.reduced(w, {.kind = gather});
    const std::uint32_t updated = p.reduced(p.op(cast, {p.op(add, {w, p.reduced(g)})}), {.kind = gather});
    const std::uint32_t meets = p.reduced(g), read_too = p.reduced(g), nobody = p.reduced(g);
    const std::uint32_t finished = p.op(mix, {read_too}), product = p.op(mix, {read_too, x});
    const std::uint32_t sum = p.op(add, {one, two});
    p.op(add_to, {acc, accumulated});
    p.op(add_to, {w, updates});
    p.output({second, p.op(cast, {cast_after}), sum, p.op(mix, {meets, x}), finished, product,
              p.op(mix, {meets_weights, gathered}), updated});
    const auto tags = tags_of(p, roles);
    CHECK(tags[cast_after] == traffic_tag{traffic_kind::terminal, 1});
    CHECK(tags[one] == traffic_tag{traffic_kind::terminal, 2});
    CHECK(tags[two] == tags[one]);
    CHECK(tags[accumulated].what == traffic_kind::terminal);
    CHECK(tags[updates] == traffic_tag{traffic_kind::terminal, 100});
    CHECK(tags[first] == traffic_tag{traffic_kind::terminal, 0});
    CHECK(tags[second] == traffic_tag{traffic_kind::terminal, 0});
    CHECK(tags[meets].what == traffic_kind::other);
    CHECK(tags[meets_weights].what == traffic_kind::other);  // it goes on through a layer
    CHECK(tags[updated].what == traffic_kind::other);        // no parameter that was there
    for (std::uint32_t v : p.order)                          // the gradient of that update
        if (p.nodes[v].op == add && p.nodes[v].operands[0] == w)
            CHECK(tags[p.nodes[v].operands[1]] == traffic_tag{traffic_kind::terminal, 7});
    CHECK(tags[read_too].what == traffic_kind::other);
    CHECK(tags[nobody].what == traffic_kind::other);
}

TEST_CASE("tags travel: through copies, clones, cuts and merges") {
    CHECK(join({}, {traffic_kind::terminal, 3}) == traffic_tag{traffic_kind::terminal, 3});
    CHECK(join({traffic_kind::parameter, 4}, {traffic_kind::parameter, 2}) == traffic_tag{traffic_kind::parameter, 2});
    CHECK(join({traffic_kind::parameter, 4}, {traffic_kind::terminal, 2}) == traffic_tag{traffic_kind::other, 2});

    reduction_program joint;
    const std::uint32_t w = joint.input(), u = joint.input();
    const std::uint32_t a = joint.start(w, {.kind = gather}), b = joint.start(u, {.kind = gather});
    const std::uint32_t r = joint.start(joint.op(mix, {w}));
    joint.output({joint.op(wait, {a}), joint.op(wait, {b}), joint.op(wait, {r})});
    const auto tags = tags_of(joint, {{parameter, parameter}});

    reduction_program part;  // a saved value goes in where the parameter was
    const std::uint32_t saved = part.input();
    const std::uint32_t copy = part.start(saved, {.kind = gather}), merged = part.start(saved, {.kind = gather});
    const std::uint32_t fresh = part.op(mix, {saved});
    part.output({part.op(wait, {copy}), part.op(wait, {merged}), fresh});
    const auto carried = carry(tags, reduction_view{&part}, [&](std::uint32_t v) {
        return v == copy ? std::vector{a} : v == merged ? std::vector{b, a} : std::vector<std::uint32_t>{};
    });
    CHECK(carried[copy] == tags[a]);
    CHECK(carried[merged] == traffic_tag{traffic_kind::parameter, 99});
    CHECK(carried[fresh] == traffic_tag{});
}

TEST_CASE("archetypes suffice to classify") {
    const auto tags = classify_collectives(archetypes::program(0), archetypes::kinds(0), archetypes::roles(0));
    CHECK(tags[archetypes::detail::at(1)].what == traffic_kind::other);  // the model does not say what it launches
    CHECK(tags[archetypes::detail::at(6)].what == traffic_kind::other);
    CHECK(tags[archetypes::detail::at(4)].what == traffic_kind::none);
}

TEST_CASE("any program is classified as brute force does it") {
    std::size_t met[5] = {};
    stretto_check("random programs", 100'000, [&](const std::vector<std::uint8_t>& bytes) {
        const reduction_program p = support::random_traffic(bytes);
        roles_by_number roles;
        for (std::uint32_t v = 0; v < p.nodes.size(); ++v)
            roles.roles.push_back(static_cast<input_role>((v * 7 + bytes.size()) % 6 % 5));
        const auto tags = tags_of(p, roles);
        const oracle truth(p, roles);
        for (std::uint32_t v : p.order) {
            if (p.nodes[v].op != start) continue;
            RC_ASSERT(tags[v].what == truth.of(v));
            ++met[static_cast<std::size_t>(tags[v].what)];
        }
    });
    MESSAGE(met[1] << " parameter gathers, " << met[2] << " terminal reductions, " << met[3] << " exchanges, " << met[4]
                   << " others");
    if (support::runs_all_cases())
        for (std::size_t k = 1; k < 5; ++k) CHECK(met[k] > 500);
}
