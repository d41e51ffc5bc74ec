// What any bucket plan of a small program must be, by brute force.
#ifndef STRETTO_TESTS_SUPPORT_BUCKET_CHECKS_HPP
#define STRETTO_TESTS_SUPPORT_BUCKET_CHECKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "stretto/transform/apply_buckets.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "support/reduction_ir.hpp"

namespace support {

using program_bucket = stretto::bucket<std::uint32_t, std::uint32_t>;
using program_bucket_plan = stretto::bucket_plan<std::uint32_t, std::uint32_t>;

inline reduction_program bucketed(const program_bucket_plan& plan, const reduction_program& p) {
    reduction_program made = p;
    reduction_rewriter rewriter{&made};
    stretto::apply_buckets(plan, reduction_view{&p}, rewriter);
    return made;
}

/// Pairs (before, after) of everything that must keep its order: reads, other dependences, and uses of one memory where
/// one of them writes it; a wait uses what its start reads, and writes what its start makes.
inline std::vector<std::pair<std::uint32_t, std::uint32_t>> all_dependences(const reduction_program& p) {
    const reduction_model model{&p};
    const auto memory = [&](std::uint32_t x) {
        while (!model.aliases(x).empty()) x = model.aliases(x)[0];
        return x;
    };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, bool>>> uses;  // by memory: who, and whether it writes
    std::vector<char> waited(p.nodes.size(), false);
    for (std::uint32_t v : p.order) {
        const reduction_node& n = p.nodes[v];
        std::map<std::uint32_t, bool> used;
        for (std::uint32_t x : n.operands) {
            all.emplace_back(x, v);
            const bool flies = p.nodes[memory(x)].op == reduction_op::start && !waited[memory(x)];
            const bool views = n.op == reduction_op::same || n.op == reduction_op::reverse;
            if (!(flies && views)) used.try_emplace(memory(x), false);
        }
        for (std::uint32_t x : n.after) all.emplace_back(x, v);
        for (std::uint32_t x : model.effects(v)) used[memory(x)] = true;
        if (n.op == reduction_op::wait && p.nodes[n.operands[0]].op == reduction_op::start) {
            const std::uint32_t s = n.operands[0];
            for (std::uint32_t x : p.nodes[s].operands) used.try_emplace(memory(x), false);
            if (!waited[s]) used[s] = true;
            waited[s] = true;
        }
        for (const auto& [m, writes] : used) {
            for (const auto& [u, wrote] : uses[m])
                if (writes || wrote) all.emplace_back(u, v);
            uses[m].emplace_back(v, writes);
        }
    }
    return all;
}

/// Whether contracting these sets leaves a graph without a cycle, by sorting it.
inline bool contracts(const reduction_program& p,
                      const std::vector<std::pair<std::uint32_t, std::uint32_t>>& dependences,
                      const std::vector<std::vector<std::uint32_t>>& sets) {
    std::vector<std::uint32_t> node(p.nodes.size());
    for (std::uint32_t v = 0; v < node.size(); ++v) node[v] = v;
    for (const auto& set : sets)
        for (std::uint32_t v : set) node[v] = set[0];
    std::vector<std::vector<std::uint32_t>> after(node.size());
    std::vector<std::size_t> missing(node.size(), 0);
    for (const auto& [a, b] : dependences)
        if (node[a] != node[b]) {
            after[node[a]].push_back(node[b]);
            ++missing[node[b]];
        }
    std::vector<std::uint32_t> ready;
    std::size_t nodes = 0, done = 0;
    for (std::uint32_t v : p.order)
        if (node[v] == v) {
            ++nodes;
            if (missing[v] == 0) ready.push_back(v);
        }
    while (!ready.empty()) {
        const std::uint32_t v = ready.back();
        ready.pop_back();
        ++done;
        for (std::uint32_t w : after[v])
            if (--missing[w] == 0) ready.push_back(w);
    }
    return done == nodes;
}

/// The starts and the waits of all buckets, as sets to contract.
inline std::vector<std::vector<std::uint32_t>> sets_of(const program_bucket_plan& plan) {
    std::vector<std::vector<std::uint32_t>> sets;
    for (const program_bucket& b : plan.buckets) {
        sets.push_back(b.members);
        sets.push_back(b.waits);
    }
    return sets;
}

/// Takes all buckets of a program apart again.
inline reduction_program unmerged(const program_bucket_plan& plan, reduction_program p, std::size_t nodes) {
    for (std::uint32_t v = 0; v < nodes; ++v)
        for (std::uint32_t& x : p.nodes[v].operands)
            if (p.nodes[x].op == reduction_op::part) {
                const std::uint32_t member = p.nodes[x].members[static_cast<std::size_t>(p.nodes[x].flavour)];
                for (const program_bucket& b : plan.buckets)
                    for (std::size_t k = 0; k < b.members.size(); ++k)
                        if (b.members[k] == member) x = b.waits[k];
            }
    p.nodes.resize(nodes);
    p.order = plan.order;
    return p;
}

}  // namespace support

#endif
