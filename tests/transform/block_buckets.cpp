// The buckets of torchtitan's graph trainer for a transformer, by the modules that its function
// get_default_transformer_block_buckets lists, compared with one bucket for each block.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "support/bucket_checks.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

constexpr collective_kind gather = collective_kind::all_gather, scatter = collective_kind::reduce_scatter;

/// A step of a transformer: every parameter is gathered forward, and its gradient is scattered backward.
struct transformer_step {
    std::size_t layers = 0;
    std::vector<char> has_experts = {};  // by layer
    bool experts_apart = false;          // sharded over other ranks than the rest
    bool chunked_loss = false;           // the output layer is used in the module of the loss

    reduction_program p = {};
    std::vector<std::string> paths = {};
    std::vector<pass_direction> directions = {};
    std::size_t parameters = 0;

    std::string path(std::uint32_t v) const { return v < paths.size() ? paths[v] : ""; }
    pass_direction direction(std::uint32_t v) const {
        return v < directions.size() ? directions[v] : pass_direction::both;
    }
    input_role role(std::uint32_t x) const { return x < parameters ? input_role::parameter : input_role::activation; }
    std::uint32_t place(std::uint32_t x) const { return x < parameters ? x : no_place; }

    void write() {
        std::vector<std::string> all = {"tok_embeddings"};
        for (std::size_t k = 0; k < layers; ++k) {
            const std::string layer = "layers." + std::to_string(k);
            for (const char* part : {".attention_norm", ".attention.wq", ".attention.wo", ".ffn_norm"})
                all.push_back(layer + part);
            if (has_experts[k])
                for (const char* part : {".moe.router.gate", ".moe.shared_experts.w1",
                                         ".moe.routed_experts.inner_experts", ".moe.routed_experts.inner_experts"})
                    all.push_back(layer + part);
            else
                for (const char* part : {".feed_forward.w1", ".feed_forward.w2"}) all.push_back(layer + part);
        }
        all.emplace_back("norm");
        all.emplace_back("lm_head");
        if (chunked_loss) all.emplace_back("loss");
        parameters = all.size();
        for (std::size_t k = 0; k < parameters; ++k) p.input();
        std::uint32_t x = p.input();
        std::vector<std::uint32_t> seen;
        const auto says = [&](std::uint32_t waited, const std::string& path, pass_direction d) {
            paths.resize(p.nodes.size());
            directions.resize(p.nodes.size(), pass_direction::both);
            for (std::uint32_t v : {waited, p.nodes[waited].operands[0]}) {
                paths[v] = path;
                directions[v] = d;
            }
        };
        const auto group = [&](const std::string& path) {
            return experts_apart && path.find("routed") != std::string::npos ? 1u : 0u;
        };
        for (std::uint32_t k = 0; k < parameters; ++k) {
            const std::uint32_t w = p.reduced(k, {.kind = gather, .group = group(all[k])});
            says(w, all[k], pass_direction::forward);
            x = p.op(mix, {x, w});
        }
        for (std::uint32_t k = static_cast<std::uint32_t>(parameters); k-- > 0;) {
            seen.push_back(p.reduced(p.op(mix, {x}), {.kind = scatter, .group = group(all[k])}));
            says(seen.back(), all[k], pass_direction::backward);
            x = p.op(mix, {x, k});
        }
        seen.push_back(x);
        p.output(seen);
    }

    /// The modules of each bucket, as torchtitan lists them.
    std::vector<module_bucket> as_torchtitan() const {
        std::vector<module_bucket> all = {{"tok_embeddings"}};
        for (std::size_t k = 0; k < layers; ++k) {
            const std::string layer = "layers." + std::to_string(k);
            if (!has_experts[k] || !experts_apart) {
                all.push_back({layer});
                continue;
            }
            all.push_back({layer + ".attention_norm", layer + ".attention", layer + ".ffn_norm", layer + ".moe.router",
                           layer + ".moe.shared_experts"});
            all.push_back({layer + ".moe.routed_experts.inner_experts"});
        }
        all.push_back({"norm", "lm_head"});
        if (chunked_loss) all.back().push_back("loss");
        return all;
    }
    /// One bucket for each block, whatever is in it.
    std::vector<module_bucket> by_block() const {
        std::vector<module_bucket> all = {{"tok_embeddings"}};
        for (std::size_t k = 0; k < layers; ++k) all.push_back({"layers." + std::to_string(k)});
        all.push_back({"norm", "lm_head"});
        if (chunked_loss) all.back().push_back("loss");
        return all;
    }

    /// The members of torchtitan's buckets, sorted: the collectives in the modules of a bucket that agree in direction,
    /// kind and group. It also has buckets of one member, which change nothing here.
    std::vector<std::vector<std::uint32_t>> members_in_torchtitan() const {
        std::map<std::tuple<std::size_t, pass_direction, collective_kind, std::uint32_t>, std::vector<std::uint32_t>>
            of;
        const auto plan = as_torchtitan();
        for (std::uint32_t v : p.order) {
            if (p.nodes[v].op != start) continue;
            for (std::size_t b = 0; b < plan.size(); ++b)
                for (const std::string& module : plan[b])
                    if ((path(v) + ".").starts_with(module + "."))
                        of[{b, direction(v), p.nodes[v].kind, p.nodes[v].group}].push_back(v);
        }
        std::vector<std::vector<std::uint32_t>> all;
        for (auto& [key, members] : of)
            if (members.size() > 1) all.push_back(members);
        std::ranges::sort(all);
        return all;
    }
    std::vector<std::vector<std::uint32_t>> members(const std::vector<module_bucket>& buckets) const {
        const reduction_view view{&p};
        const reduction_model ops{&p};
        const auto tags = classify_collectives(view, ops, *this);
        const step_modules<reduction_view> modules(view, ops, *this);
        const auto choose = buckets_by_module<reduction_view>::make(modules, tags, buckets);
        RC_ASSERT(choose.has_value());
        const auto plan = plan_buckets(view, ops, *choose, {.order = payload_order::execution});
        RC_ASSERT(plan.has_value());
        std::vector<std::vector<std::uint32_t>> all;
        for (const auto& b : plan->buckets) all.push_back(b.members);
        std::ranges::sort(all);
        return all;
    }
};

transformer_step step_of(std::vector<char> has_experts, bool experts_apart = false, bool chunked_loss = false) {
    const std::size_t layers = has_experts.size();
    transformer_step s{layers, std::move(has_experts), experts_apart, chunked_loss};
    s.write();
    return s;
}

}  // namespace

TEST_CASE("torchtitan B1: the loss in the last bucket; decided differently: it is named where the step has it") {
    // torchtitan lists the loss if it is computed in chunks. Here a module that the step lacks is an error.
    const transformer_step plain = step_of({0}), chunked = step_of({0}, false, true);
    CHECK(plain.members(plain.by_block()) == plain.members_in_torchtitan());
    CHECK(chunked.members(chunked.by_block()) == chunked.members_in_torchtitan());
    const reduction_view view{&plain.p};
    const reduction_model ops{&plain.p};
    const auto tags = classify_collectives(view, ops, plain);
    const step_modules<reduction_view> modules(view, ops, plain);
    const auto refused = buckets_by_module<reduction_view>::make(modules, tags, {{"norm", "lm_head", "loss"}});
    REQUIRE(!refused);
    CHECK(refused.error().pattern == "loss");
}

TEST_CASE("torchtitan B2: experts over other ranks; decided differently: their group keeps them apart, not a list") {
    const transformer_step s = step_of({0, 1, 0}, true);
    const auto has = [](const std::vector<module_bucket>& all, const char* module) {
        return std::ranges::find(all, module_bucket{module}) != all.end();
    };
    CHECK(has(s.as_torchtitan(), "layers.1.moe.routed_experts.inner_experts"));
    CHECK(!has(s.as_torchtitan(), "layers.1"));
    CHECK(has(s.by_block(), "layers.1"));
    CHECK(s.members(s.by_block()) == s.members_in_torchtitan());
}

TEST_CASE("torchtitan B3: the number of buckets of each layer") {
    const transformer_step s = step_of({0, 1}, true);
    std::map<std::string, std::size_t> gathers;
    for (const auto& members : s.members(s.by_block()))
        if (s.p.nodes[members[0]].kind == gather) ++gathers[s.path(members[0]).substr(0, 8)];
    CHECK(gathers["layers.0"] == 1);
    CHECK(gathers["layers.1"] == 2);
}

TEST_CASE("one bucket for each block has the members of torchtitan's buckets, whatever the model") {
    stretto_check("models", 60, [](const std::vector<bool>& drawn, bool experts_apart, bool chunked_loss) {
        const transformer_step s = step_of({drawn.begin(), drawn.end()}, experts_apart, chunked_loss);
        const auto due = s.members_in_torchtitan();
        RC_ASSERT(s.members(s.by_block()) == due);
        RC_ASSERT(s.members(s.as_torchtitan()) == due);
    });
}
