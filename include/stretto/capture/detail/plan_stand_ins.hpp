// Decides what a node of a plan may read where its original reads u: u itself, a chunk of u, or a node that splits or
// recombines u. Data is followed through recombinations, through buffers that they fill in place, and through clones
// that hand one buffer on from chunk to chunk. The checks of operations and of packs use it.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_STAND_INS_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_STAND_INS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "stretto/capture/detail/plan_match.hpp"

namespace stretto::detail {

/// Accompanies a scan of the plan in program order: pass() takes the next node, and queries are about inputs of the
/// node that is about to pass. The time is linear, except where many values are recombined at once.
class plan_stand_ins {
public:
    explicit plan_stand_ins(const plan_match& match) : m_(match), reach_(match.plan.size()), filled_(m_.plan.size()) {}

    enum class answer {
        yes,
        partly,  ///< some chunks are missing
        no
    };

    /// Returns whether a node that is no clone may read x where its original reads u.
    [[nodiscard]] answer outside(old_id u, new_id x) const {
        if (m_.old_of[x] == u) return answer::yes;
        if (!m_.chunked(u)) return answer::no;
        const std::vector<new_id> sources = sources_of(x);
        const auto& parts = m_.clones[u];
        const auto here = std::count_if(parts.begin(), parts.end(), [&](new_id part) {
            return std::binary_search(sources.begin(), sources.end(), part);
        });
        if (here == 0) return answer::no;
        return static_cast<std::size_t>(here) == parts.size() ? answer::yes : answer::partly;
    }

    /// Returns whether the clone v may read x where its original reads u.
    [[nodiscard]] bool inside(new_id v, old_id u, new_id x) const {
        if (m_.old_of[x] == u) return true;
        const old_id o = m_.origin[v];
        if (m_.origin[x] == u) return m_.chunk[x] == m_.chunk[v] || m_.clones[u].size() != m_.clones[o].size();
        // A buffer that is written in place is handed on from chunk to chunk.
        if (m_.origin[x] == o) return m_.chunk[x] + 1 == m_.chunk[v] && contains(m_.step.writes(o), u);
        if (m_.role[x] != plan_role::recombination) return false;
        const std::vector<new_id> sources = sources_of(x);
        return std::any_of(sources.begin(), sources.end(),
                           [&](new_id s) { return m_.old_of[s] == u || m_.origin[s] == u; });
    }

    /// Takes the next node of the plan.
    void pass(new_id v) {
        const bool recombines = m_.role[v] == plan_role::recombination;
        if (recombines)
            for (new_id x : m_.plan.inputs(v)) merge(reach_[v], sources_of(x));
        if (!recombines && m_.role[v] != plan_role::clone) return;
        if (!recombines)
            for (new_id x : m_.plan.inputs(v))
                if (continues(v, x)) merge(reach_[v], sources_of(x));
        for (new_id x : m_.plan.writes(v))
            for (new_id s : m_.plan_storages[x])
                if (m_.role[s] == plan_role::recombination) {
                    if (recombines) merge(filled_[s], reach_[v]);
                    else merge(filled_[s], {v});
                }
    }

private:
    /// Returns whether the clone v writes into what the clone x, of the same operation and the chunk before, has
    /// written. The result of v is then what both have written.
    [[nodiscard]] bool continues(new_id v, new_id x) const {
        if (m_.role[x] != plan_role::clone || m_.origin[x] != m_.origin[v] || m_.chunk[x] + 1 != m_.chunk[v])
            return false;
        const auto is_x = [&](new_id w) {
            const auto lives_there = [&](new_id s) { return contains(m_.plan_storages[x], s); };
            return w == x || std::ranges::any_of(m_.plan_storages[w], lives_there);
        };
        return std::ranges::any_of(m_.plan.writes(v), is_x);
    }
    /// Returns the nodes, ascending, that are no recombinations themselves and whose data is in x by now.
    [[nodiscard]] std::vector<new_id> sources_of(new_id x) const {
        std::vector<new_id> sources = reach_[x];
        if (m_.role[x] != plan_role::recombination) {
            sources.push_back(x);  // everything that x continues comes before it
            return sources;
        }
        for (new_id s : m_.plan_storages[x])
            if (m_.role[s] == plan_role::recombination) merge(sources, filled_[s]);
        return sources;
    }
    /// Merges an ascending list into another one.
    static void merge(std::vector<new_id>& into, const std::vector<new_id>& more) {
        std::vector<new_id> both;
        both.reserve(into.size() + more.size());
        std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(both));
        into = std::move(both);
    }

    const plan_match& m_;
    std::vector<std::vector<new_id>> reach_;   // by node: the sources of its data, through its inputs
    std::vector<std::vector<new_id>> filled_;  // by storage: the sources of the data written into it
};

}  // namespace stretto::detail

#endif
