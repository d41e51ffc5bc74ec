// Policies that choose which collectives plan_buckets may merge, as existing systems do.
#ifndef STRETTO_TRANSFORM_BUCKET_POLICIES_HPP
#define STRETTO_TRANSFORM_BUCKET_POLICIES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/module_pattern.hpp"
#include "stretto/transform/step_modules.hpp"

namespace stretto {

/// Returns whether a collective may be launched earlier or waited for later than the program says, and merged with
/// others: it gathers parameters or reduces results.
[[nodiscard]] constexpr bool is_bucketed(const traffic_tag& tag) noexcept {
    return tag.what == traffic_kind::parameter || tag.what == traffic_kind::terminal;
}

/// Merges gathers of parameters with each other, and reductions of results with each other, in registration order. The
/// tags must outlive it.
template <indexed_graph G>
struct buckets_by_traffic {
    const traffic_tags<G>* tags;

    /// The choice for a start v, for plan_buckets. O(1).
    [[nodiscard]] bucket_choice operator()(vertex_t<G> v) const {
        const traffic_tag tag = (*tags)[v];
        return {.label = is_bucketed(tag) ? static_cast<std::uint32_t>(tag.what) : bucket_choice::apart,
                .place = tag.place};
    }
};

/// Narrows a choice: a bucket with the start v sends at most `most(v) -> bytes`, such as the payload at which its
/// channel is saturated.
template <class Choose, class Most>
struct buckets_up_to {
    Choose choose;
    Most most;

    /// The choice for a start v, for plan_buckets. O(1) besides both.
    template <handle V>
    [[nodiscard]] bucket_choice operator()(V v) const {
        bucket_choice choice = choose(v);
        if (choice.label != bucket_choice::apart) choice.most_payload = std::min(choice.most_payload, most(v));
        return choice;
    }
};
template <class Choose, class Most>
buckets_up_to(Choose, Most) -> buckets_up_to<Choose, Most>;

/// The group on which most parameters are gathered, or the one whose gather comes first of those with as many. `first`
/// is the first gather of parameters on any group.
template <graph_view G>
struct primary_group {
    group_id group = 0;
    std::size_t gathers = 0;
    vertex_t<G> first{};
};

/// Returns the primary group of a step, or nothing if it gathers no parameters. autoparallel's pull request 481 merges
/// only on that group, and takes the size of a group from the first gather. O(V log groups).
template <vertex_list_graph G, op_model<G> M>
[[nodiscard]] std::optional<primary_group<G>> primary_group_of(G g, const M& model, const traffic_tags<G>& tags) {
    struct seen {
        std::size_t gathers = 0, since = 0;
    };
    std::map<group_id, seen> groups;
    std::optional<primary_group<G>> best;
    for (const vertex_t<G>& v : g.vertices()) {
        if (model.kind(v) != op_kind::start || tags[v].what != traffic_kind::parameter) continue;
        const group_id group = group_of<G>(model, v);
        const auto at = groups.try_emplace(group, seen{0, groups.size()}).first;
        ++at->second.gathers;
        if (!best) best = primary_group<G>{group, 0, v};
    }
    for (const auto& [group, s] : groups)
        if (s.gathers > best->gathers || (s.gathers == best->gathers && s.since < groups.at(best->group).since)) {
            best->group = group;
            best->gathers = s.gathers;
        }
    return best;
}

/// Narrows a choice to the collectives of one group. Refers to the model.
template <class Choose, class M>
struct buckets_on_group {
    Choose choose;
    const M* model;
    group_id group;

    /// The choice for a start v, for plan_buckets. O(1) besides that of `choose`.
    template <handle V>
    [[nodiscard]] bucket_choice operator()(V v) const {
        return model->group(v) == group ? choose(v) : bucket_choice{};
    }
};
template <class Choose, class M>
buckets_on_group(Choose, const M*, group_id) -> buckets_on_group<Choose, M>;

/// Modules whose collectives are merged. They are named as for chunk regions: "layers.3", or with `*` as a component.
using module_bucket = std::vector<std::string>;

/// Why a choice by modules fails. If `other` is empty, no operation of the step is in the module `pattern`. Otherwise
/// `pattern` and `other`, which belong to different buckets, have an operation in common.
struct module_bucket_error {
    std::string pattern, other;
};

/// Merges gathers of parameters, and reductions of results, whose modules belong to the same bucket and which run in
/// the same direction; an unknown direction counts as forward. Collectives of modules that are not listed stay
/// separate. torchtitan packs transformer blocks in this way.
template <indexed_graph G>
    requires dataflow_graph<G> && vertex_list_graph<G>
class buckets_by_module {
public:
    /// Makes the policy, or says which pattern names no module of the step or meets that of another bucket. The modules
    /// and the tags must outlive the result. O(paths · patterns) comparisons of a path with a pattern.
    [[nodiscard]] static expected<buckets_by_module, module_bucket_error> make(
        const step_modules<G>& modules, const traffic_tags<G>& tags, const std::vector<module_bucket>& buckets) {
        std::vector<std::uint32_t> bucket_of(modules.paths().size(), bucket_choice::apart);
        for (std::uint32_t b = 0; b < buckets.size(); ++b)
            for (const std::string& pattern : buckets[b]) {
                bool any = false;
                for (std::size_t k = 0; k < bucket_of.size(); ++k) {
                    if (matched_module(modules.paths()[k], pattern).empty()) continue;
                    any = true;
                    if (bucket_of[k] != bucket_choice::apart && bucket_of[k] != b)
                        return unexpected(
                            module_bucket_error{pattern, owner(buckets[bucket_of[k]], modules.paths()[k])});
                    bucket_of[k] = b;
                }
                if (!any) return unexpected(module_bucket_error{pattern, {}});
            }
        return buckets_by_module(modules, tags, std::move(bucket_of));
    }

    /// The choice for a start v, for plan_buckets. O(1).
    [[nodiscard]] bucket_choice operator()(vertex_t<G> v) const {
        const traffic_tag tag = (*tags_)[v];
        const std::uint32_t b = bucket_of_[modules_->path_number(v)];
        if (!is_bucketed(tag) || b == bucket_choice::apart) return {};
        const bool backward = modules_->direction(v) == pass_direction::backward;
        return {.label = 2 * b + backward, .place = tag.place};
    }

private:
    buckets_by_module(const step_modules<G>& modules, const traffic_tags<G>& tags, std::vector<std::uint32_t> bucket_of)
        : modules_(&modules), tags_(&tags), bucket_of_(std::move(bucket_of)) {}

    /// The first pattern of a bucket that matches a path.
    static std::string owner(const module_bucket& bucket, std::string_view path) {
        for (const std::string& pattern : bucket)
            if (!matched_module(path, pattern).empty()) return pattern;
        return {};
    }

    const step_modules<G>* modules_;
    const traffic_tags<G>* tags_;
    std::vector<std::uint32_t> bucket_of_;  // by path number
};

}  // namespace stretto

#endif
