// The work of plan_buckets: finds the candidates, grows buckets along the program, and writes the plan. All candidates
// with one key are tried as one bucket first; buckets grow step by step only where that is illegal or exceeds a limit.
//
// Longer than 300 lines: candidates, growth and the written plan share the facts about the program.
#ifndef STRETTO_TRANSFORM_DETAIL_BUCKET_SWEEP_HPP
#define STRETTO_TRANSFORM_DETAIL_BUCKET_SWEEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/incremental_reachability.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/detail/bucket_candidates.hpp"
#include "stretto/transform/detail/merged_order.hpp"
#include "stretto/transform/detail/program_dependences.hpp"
#include "stretto/transform/detail/program_facts.hpp"

namespace stretto::detail {

/// Plans buckets of one program. Facts about the program are gathered once, and merges are undone when a plan is
/// finished, so an object can make many plans. The model, the costs and the options must outlive it.
template <dependence_graph G, op_model<G> M, bucket_cost_model<G> C>
    requires dataflow_graph<G>
class bucket_sweep {
    using V = vertex_t<G>;
    using X = value_t<G>;
    using plan_type = bucket_plan<V, X>;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    bucket_sweep(G g, const M& model, const C& costs, const bucket_options& options)
        : f_(gather_program_facts(g, model)),
          uses_(f_),
          dependences_(f_),
          model_(model),
          costs_(costs),
          options_(options),
          reach_(dependences_.view(), *topological_sort(dependences_.view())),
          unmerged_(reach_.mark()),
          known_(f_.size()) {
        kernels_.push_back(0);
        for (std::uint32_t p = 0; p < f_.size(); ++p) {
            if (f_.kind[p] == op_kind::start) starts_.push_back(p);
            const bool kernel = f_.kind[p] == op_kind::compute;
            kernels_.push_back(kernels_.back() + (kernel ? duration_of<G>(model, f_.vertex[p]).count : 0));
        }
    }

    /// The plan of plan_buckets: grows buckets along the program, key by key.
    template <class Choose>
    [[nodiscard]] plan_type sweep(Choose& choose) {
        std::vector<bucket_candidate> all;
        all.reserve(starts_.size());
        for (std::uint32_t p : starts_) {
            const bucket_choice choice = choose(f_.vertex[p]);
            if (choice.label == bucket_choice::apart) continue;
            bucket_candidate c;
            if (const auto no = candidate(p, choice, c)) refuse(no->why, p, no->other);
            else all.push_back(c);
        }
        std::sort(all.begin(), all.end(), [this](const bucket_candidate& a, const bucket_candidate& b) {
            if (a.key != b.key) return a.key < b.key;
            return options_.by == sweep_order::waits ? a.wait < b.wait : a.start < b.start;
        });
        std::vector<std::span<const bucket_candidate>> alike;
        for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
            while (last < all.size() && all[last].key == all[first].key) ++last;
            alike.push_back(std::span(all).subspan(first, last - first));
        }
        if (auto plan = all_together(alike)) return *std::move(plan);
        for (const auto& one_key : alike) grow(one_key);
        return finish();
    }

    /// The plan of plan_these_buckets: merges exactly the given sets.
    template <class Choose>
    [[nodiscard]] expected<plan_type, refused_bucket<V>> merge(std::span<const std::vector<V>> sets, Choose& choose) {
        if (auto no = merge_all(sets, choose)) {
            forget();
            return unexpected(*std::move(no));
        }
        return finish();
    }

private:
    /// Merges the sets, and returns nothing; or returns the first start that cannot join its set.
    template <class Choose>
    [[nodiscard]] std::optional<refused_bucket<V>> merge_all(std::span<const std::vector<V>> sets, Choose& choose) {
        std::vector<char> claimed(f_.size(), false);
        for (const std::vector<V>& set : sets) {
            bucket_in_growth b{.most_weight = options_.most_bytes};
            const reachability_mark apart = reach_.mark();  // no members of this set are merged
            for (const V& v : set) {
                const std::uint32_t p = f_.position_of(v);
                if (p == none || f_.kind[p] != op_kind::start) return refused_bucket<V>{bucket_obstacle::kind, v, v};
                if (std::exchange(claimed[p], true)) return refused_bucket<V>{bucket_obstacle::claimed_twice, v, v};
                bucket_choice choice = choose(v);
                choice.label = 0;
                bucket_candidate c;
                if (const auto no = candidate(p, choice, c)) return refused_bucket<V>{no->why, v, f_.vertex[no->other]};
                const V first = f_.vertex[b.members.empty() ? p : b.members[0].start];
                if (!b.members.empty() && !(c.key == b.members[0].key))
                    return refused_bucket<V>{bucket_obstacle::keys_differ, v, first};
                if (!b.members.empty() && !joins(b, c))
                    return refused_bucket<V>{bucket_obstacle::dependent, v, conflict(b, c, apart)};
                b.add(c);
                if (b.members.size() > 1 && !within(b, b.members[0], b.members.size()))
                    return refused_bucket<V>{bucket_obstacle::limits, v, first};
            }
            if (b.members.size() > 1) grown_.push_back(std::move(b));
        }
        return std::nullopt;
    }

    void refuse(bucket_obstacle why, std::uint32_t p, std::uint32_t other) {
        refused_.push_back({why, f_.vertex[p], f_.vertex[other]});
    }

    /// The facts about a start that do not depend on the choice for it.
    struct known_start {
        std::optional<no_candidate> no;
        bucket_candidate as;  // with the cast, if its pack can perform it
        nanoseconds takes, cast_takes;
        bytes cast_reads;
    };
    const known_start& known(std::uint32_t p) {
        std::optional<known_start>& k = known_[p];
        if (k) return *k;
        k.emplace();
        bucket_candidate& c = k->as;
        k->no = find_wait(f_, model_, p, c.wait);
        if (k->no) return *k;
        c.start = p;
        c.key = key_of(f_, model_, p, 0, options_.mixed_elements);
        c.payload = payload_of<G>(model_, f_.vertex[p]);
        c.received = allocation_of<G>(model_, f_.values.value(f_.only_result(p)));
        k->takes = duration_of<G>(model_, f_.vertex[p]);
        if (options_.mode != bucket_mode::pack || !absorbs_cast(f_, uses_, p)) return *k;
        c.cast = f_.producer[f_.operands[p][0]];
        k->cast_takes = duration_of<G>(model_, f_.vertex[c.cast]);
        k->cast_reads = size_of(f_.values.value(f_.operands[c.cast][0]));
        return *k;
    }
    std::optional<no_candidate> candidate(std::uint32_t p, const bucket_choice& choice, bucket_candidate& c) {
        const known_start& k = known(p);
        if (k.no) return k.no;
        c = k.as;
        c.place = choice.place;
        c.most_payload = choice.most_payload;
        c.key.label = choice.label;
        if (!choice.cast) c.cast = none;
        return std::nullopt;
    }

    /// The limit of the bytes of a bucket before which `begun` ones of its class were begun.
    [[nodiscard]] bytes most_weight(std::size_t begun) const {
        return begun < options_.first_most_bytes.size() ? options_.first_most_bytes[begun] : options_.most_bytes;
    }
    /// Whether b is within the limits, if `first` is its first member and `members` is their number.
    [[nodiscard]] bool within(const bucket_in_growth& b, const bucket_candidate& first, std::size_t members) const {
        const std::uint32_t from = options_.by == sweep_order::waits ? first.start : b.first;
        return b.weight <= b.most_weight && b.payload <= b.most_payload && members <= options_.most_members &&
               b.last - from <= options_.most_span &&
               kernels_[b.last] - kernels_[b.first] <= options_.most_early.count &&
               (options_.longest.count == INT64_MAX ||
                costs_.of_merged(f_.vertex[first.start], b.payload) <= options_.longest);
    }
    /// Whether b would be within the limits with c.
    [[nodiscard]] bool has_room(const bucket_in_growth& b, const bucket_candidate& c) const {
        bucket_in_growth with{{}, b.weight, b.payload, b.most_weight, b.most_payload, b.first, b.last};
        with.count(c);
        return within(with, b.members[0], b.members.size() + 1);
    }
    /// Whether the start c depends on the starts of b, whether or not it waits for them. Otherwise a merge may still be
    /// illegal, which `joins` finds out.
    [[nodiscard]] bool depends(const bucket_in_growth& b, const bucket_candidate& c) {
        return reach_.reaches(b.members[0].start, c.start);
    }
    /// Merges a and c, and all that they are merged with, in reach_, if that is legal. Returns whether it was.
    [[nodiscard]] bool merges(const bucket_candidate& a, const bucket_candidate& c) {
        return reach_.try_merge_collectives({a.start, a.wait}, {c.start, c.wait}).has_value();
    }
    /// Merges c into b in reach_, if that is legal. Returns whether it was.
    [[nodiscard]] bool joins(const bucket_in_growth& b, const bucket_candidate& c) { return merges(b.members[0], c); }
    /// The member of b that a report names if c cannot join b: the first that cannot be merged with c even without the
    /// other members, or else the first of all. Goes back to `apart`, when no members of b were merged, because merged
    /// members all reach what one of them does.
    [[nodiscard]] V conflict(const bucket_in_growth& b, const bucket_candidate& c, const reachability_mark& apart) {
        for (const bucket_candidate& m : b.members) {
            reach_.undo_to(apart);
            if (!merges(m, c)) return f_.vertex[m.start];
        }
        return f_.vertex[b.members[0].start];
    }

    /// The candidates of one key as one bucket, without its list of members; nothing if that exceeds a limit.
    [[nodiscard]] std::optional<bucket_in_growth> one_bucket(std::span<const bucket_candidate> all) const {
        bucket_in_growth b{.most_weight = most_weight(0)};
        for (const bucket_candidate& c : all) b.count(c);
        return within(b, all[0], all.size()) ? std::optional(std::move(b)) : std::nullopt;
    }
    /// The plan with one bucket for each key; nothing if that exceeds a limit or creates a cycle. It is legal if the
    /// order of the plan exists, so reach_ is not asked. If all merges are legal together, each of them is legal, so
    /// growing buckets step by step would give the same plan.
    [[nodiscard]] std::optional<plan_type> all_together(std::span<const std::span<const bucket_candidate>> alike) {
        const std::size_t refused = refused_.size();
        for (const auto& all : alike) {
            if (all.size() == 1) {
                refuse_single(all[0], all);
                continue;
            }
            auto b = one_bucket(all);
            if (!b) break;
            b->members.assign(all.begin(), all.end());
            grown_.push_back(*std::move(b));
        }
        std::optional<plan_type> plan;
        if (grown_.size() + refused_.size() - refused == alike.size()) plan = planned();
        if (!plan) refused_.resize(refused);
        grown_.clear();
        return plan;
    }
    /// Puts all candidates of one key into one bucket, if that is legal and within the limits. Returns whether it is.
    [[nodiscard]] bool grow_together(std::span<const bucket_candidate> all) {
        if (all.size() < 2) return false;
        auto b = one_bucket(all);
        if (!b) return false;
        ends_.clear();
        for (const bucket_candidate& c : all) ends_.push_back({c.start, c.wait});
        if (!reach_.try_merge_collectives(ends_)) return false;
        b->members.assign(all.begin(), all.end());
        grown_.push_back(*std::move(b));
        return true;
    }
    /// Grows the buckets of one key along the program, as plan_buckets describes. Their members are merged in reach_.
    void grow(std::span<const bucket_candidate> all) {
        if (grow_together(all)) return;
        std::vector<bucket_in_growth> open, closed;
        std::size_t begun = 0;
        for (const bucket_candidate& c : all) {
            bool placed = false;
            for (std::size_t k = 0; k < open.size() && !placed; ++k) {
                if (has_room(open[k], c)) {
                    placed = joins(open[k], c);
                    if (placed) open[k].add(c);
                } else if (!depends(open[k], c)) {
                    closed.push_back(std::move(open[k]));
                    open.erase(open.begin() + static_cast<std::ptrdiff_t>(k--));
                }
            }
            if (placed) continue;
            if (open.size() >= std::max<std::size_t>(options_.most_open, 1)) {
                refuse(bucket_obstacle::crowded, c.start, open.back().members[0].start);
                continue;
            }
            open.push_back({.most_weight = most_weight(begun++)});
            open.back().add(c);
        }
        for (auto* list : {&closed, &open})
            for (bucket_in_growth& b : *list) {
                if (b.members.size() > 1) grown_.push_back(std::move(b));
                else refuse_single(b.members[0], all);
            }
    }
    /// Records why c has no partner: what keeps it from the candidate before it, or after it if c is the first.
    void refuse_single(const bucket_candidate& c, std::span<const bucket_candidate> all) {
        if (all.size() == 1) return refuse(bucket_obstacle::nobody_fits, c.start, c.start);
        std::size_t k = 0;
        while (all[k].start != c.start) ++k;
        const bucket_candidate& near = all[k == 0 ? 1 : k - 1];
        const reachability_mark now = reach_.mark();
        const bool legal = merges(near, c);
        reach_.undo_to(now);
        refuse(legal ? bucket_obstacle::limits : bucket_obstacle::dependent, c.start, near.start);
    }

    /// Returns the plan and undoes all merges.
    [[nodiscard]] plan_type finish() {
        auto plan = planned();
        STRETTO_ASSERT(plan.has_value(), "merges that were accepted make a cycle");
        forget();
        return *std::move(plan);
    }
    void forget() {
        reach_.undo_to(unmerged_);
        grown_.clear();
        refused_.clear();
    }
    /// The plan of the grown buckets; nothing if merging them creates a cycle.
    [[nodiscard]] std::optional<plan_type> planned() {
        std::vector<merged_set> sets;
        sets.reserve(2 * grown_.size());
        for (bucket_in_growth& b : grown_) {
            std::sort(b.members.begin(), b.members.end(), [this](const auto& x, const auto& y) {
                const bool registered = options_.order == payload_order::registration;
                return registered && x.place != y.place ? x.place < y.place : x.start < y.start;
            });
            merged_set starts{{}, !reduces(b.members[0].key.kind)}, waits = starts;
            starts.members.reserve(b.members.size());
            waits.members.reserve(b.members.size());
            for (const bucket_candidate& c : b.members) {
                starts.members.push_back(c.start);
                waits.members.push_back(c.wait);
            }
            sets.push_back(std::move(starts));
            sets.push_back(std::move(waits));
        }
        std::vector<std::uint32_t> order;
        if (!sets.empty()) order = order_merger<>(dependences_.before(), dependences_.after(), sets).run();
        if (!sets.empty() && order.size() != f_.size()) return std::nullopt;

        plan_type plan;
        plan.refused = std::move(refused_);
        std::sort(plan.refused.begin(), plan.refused.end(),
                  [this](const auto& a, const auto& b) { return f_.position_of(a.vertex) < f_.position_of(b.vertex); });
        refused_.clear();
        if (sets.empty()) return plan;
        std::vector<std::uint32_t> launched(f_.size(), none);  // by position of the first member: its bucket
        for (std::uint32_t k = 0; k < grown_.size(); ++k) launched[grown_[k].members[0].start] = k;
        plan.order.reserve(f_.size());
        plan.buckets.reserve(grown_.size());
        for (std::uint32_t p : order) {
            plan.order.push_back(f_.vertex[p]);
            if (launched[p] != none) plan.buckets.push_back(written(grown_[launched[p]]));
        }
        return plan;
    }

    /// The bytes of a value: from the costs if they know it, because a view allocates none.
    [[nodiscard]] bytes size_of(const X& x) const {
        if constexpr (has_size_as_documented<C, X>) return costs_.size_of(x);
        else return allocation_of<G>(model_, x);
    }

    /// The bucket as the plan describes it.
    [[nodiscard]] bucket<V, X> written(const bucket_in_growth& b) const {
        bucket<V, X> made;
        made.mode = options_.mode;
        made.members.reserve(b.members.size());
        made.waits.reserve(b.members.size());
        made.parts.reserve(b.members.size());
        made.results.reserve(b.members.size());
        bytes read;
        for (const bucket_candidate& c : b.members) {
            const known_start& k = *known_[c.start];
            const std::uint32_t sent = f_.operands[c.start][0];
            made.members.push_back(f_.vertex[c.start]);
            made.waits.push_back(f_.vertex[c.wait]);
            made.results.push_back(f_.values.value(f_.only_result(c.wait)));
            made.payload += c.payload;
            made.received += c.received;
            made.alone += k.takes;
            if (c.cast == none) {
                made.parts.push_back(f_.values.value(sent));
                read += c.payload;
                continue;
            }
            made.parts.push_back(f_.values.value(f_.operands[c.cast][0]));
            made.casts.push_back(f_.vertex[c.cast]);
            made.copies -= k.cast_takes;
            read += k.cast_reads.count > 0 ? k.cast_reads
                                           : c.payload;  // a view may have no known size of its own; it is 0 then
        }
        made.merged = costs_.of_merged(made.members[0], made.payload);
        if (made.mode == bucket_mode::pack)
            made.copies += costs_.of_moving(read + made.payload) + costs_.of_moving(made.received + made.received);
        return made;
    }

    program_facts<G> f_;
    storage_uses<program_facts<G>> uses_;
    program_dependences<program_facts<G>> dependences_;
    const M& model_;
    const C& costs_;
    const bucket_options& options_;
    incremental_reachability<snapshot_view> reach_;
    reachability_mark unmerged_;
    std::vector<std::optional<known_start>> known_;  // by position; empty until it is needed
    std::vector<std::uint32_t> starts_;              // positions, ascending
    std::vector<std::int64_t> kernels_;              // by position: time of all kernels before it, in ns
    std::vector<bucket_in_growth> grown_;
    std::vector<collective_ends<std::uint32_t>> ends_;
    std::vector<refused_bucket<V>> refused_;
};

}  // namespace stretto::detail

#endif
