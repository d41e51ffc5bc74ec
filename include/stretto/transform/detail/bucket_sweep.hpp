// Grows buckets along a program: what plan_buckets does.
//
// Longer than 300 lines: candidates, growth and the plan that is written share what is known of the program.
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

/// Candidates, the buckets that they are put into, and the program as it is with those merged. What it knows of the
/// program is gathered once, and merges are undone when a plan is finished, so many plans may be asked of it.
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

    /// Grows buckets along the program, key by key.
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
        std::sort(all.begin(), all.end(), [](const bucket_candidate& a, const bucket_candidate& b) {
            return a.key != b.key ? a.key < b.key : a.start < b.start;
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

    /// Merges exactly what is asked for.
    template <class Choose>
    [[nodiscard]] expected<plan_type, refused_bucket<V>> merge(std::span<const std::vector<V>> sets, Choose& choose) {
        if (auto no = merge_all(sets, choose)) {
            forget();
            return unexpected(*std::move(no));
        }
        return finish();
    }

private:
    /// Merges the sets, or says what cannot be merged.
    template <class Choose>
    [[nodiscard]] std::optional<refused_bucket<V>> merge_all(std::span<const std::vector<V>> sets, Choose& choose) {
        std::vector<char> claimed(f_.size(), false);
        for (const std::vector<V>& set : sets) {
            bucket_in_growth b;
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
                    return refused_bucket<V>{bucket_obstacle::dependent, v, conflict(b, c)};
                add(b, c);
                if (!within(b, b.members[0], b.members.size()))
                    return refused_bucket<V>{bucket_obstacle::limits, v, first};
            }
            if (b.members.size() > 1) grown_.push_back(std::move(b));
        }
        return std::nullopt;
    }

    struct bucket_in_growth {
        std::vector<bucket_candidate> members;
        bytes weight, payload;
        std::uint32_t first = none, last = 0;  // positions of starts
    };

    void refuse(bucket_obstacle why, std::uint32_t p, std::uint32_t other) {
        refused_.push_back({why, f_.vertex[p], f_.vertex[other]});
    }

    /// What a start is, whatever is chosen for it.
    struct known_start {
        std::optional<no_candidate> no;
        bucket_candidate as;  // with the cast that its pack could do
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
        c.key.label = choice.label;
        if (!choice.cast) c.cast = none;
        return std::nullopt;
    }

    /// Whether b, which begins with `first` and has so many members, is within the limits.
    [[nodiscard]] bool within(const bucket_in_growth& b, const bucket_candidate& first, std::size_t members) const {
        return b.weight <= options_.most_bytes && members <= options_.most_members &&
               b.last - b.first <= options_.most_span &&
               kernels_[b.last] - kernels_[b.first] <= options_.most_early.count &&
               (options_.longest.count == INT64_MAX ||
                costs_.of_merged(f_.vertex[first.start], b.payload) <= options_.longest);
    }
    /// Whether b with c is within the limits.
    [[nodiscard]] bool has_room(const bucket_in_growth& b, const bucket_candidate& c) const {
        bucket_in_growth with{{}, b.weight, b.payload, b.first, b.last};
        count(with, c);
        return within(with, b.members[0], b.members.size() + 1);
    }
    static void add(bucket_in_growth& b, const bucket_candidate& c) {
        b.members.push_back(c);
        count(b, c);
    }
    static void count(bucket_in_growth& b, const bucket_candidate& c) {
        b.weight += weight(c);
        b.payload += c.payload;
        b.first = std::min(b.first, c.start);
        b.last = std::max(b.last, c.start);
    }
    /// Whether one of the two needs the other: the quick half of the question, without changing anything.
    [[nodiscard]] bool depend(const bucket_in_growth& b, const bucket_candidate& c) {
        return reach_.reaches(b.members[0].wait, c.start) || reach_.reaches(c.wait, b.members[0].start);
    }
    [[nodiscard]] bool joins(const bucket_in_growth& b, const bucket_candidate& c) {
        return reach_.try_merge_collectives({b.members[0].start, b.members[0].wait}, {c.start, c.wait}).has_value();
    }
    /// A member of b that c cannot travel with, for a report.
    [[nodiscard]] V conflict(const bucket_in_growth& b, const bucket_candidate& c) {
        for (const bucket_candidate& m : b.members)
            if (reach_.reaches(m.wait, c.start) || reach_.reaches(c.wait, m.start)) return f_.vertex[m.start];
        return f_.vertex[b.members[0].start];
    }

    /// All of one key as one bucket, without its members, if it has room for them.
    [[nodiscard]] std::optional<bucket_in_growth> one_bucket(std::span<const bucket_candidate> all) const {
        bucket_in_growth b;
        for (const bucket_candidate& c : all) count(b, c);
        return within(b, all[0], all.size()) ? std::optional(std::move(b)) : std::nullopt;
    }
    /// The plan in which whatever is alike travels together, if there is room for that and nothing depends on itself
    /// then. That a program order exists shows it, so nobody is asked about single merges; and if all of them are legal
    /// together, no single one would have been refused.
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
    /// Puts all of one key into one bucket, if it has room for them and that is legal.
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
    void grow(std::span<const bucket_candidate> all) {
        if (grow_together(all)) return;
        std::vector<bucket_in_growth> open, closed;
        for (const bucket_candidate& c : all) {
            bool placed = false;
            for (std::size_t k = 0; k < open.size() && !placed; ++k) {
                if (has_room(open[k], c)) {
                    placed = joins(open[k], c);
                    if (placed) add(open[k], c);
                } else if (!depend(open[k], c)) {
                    closed.push_back(std::move(open[k]));
                    open.erase(open.begin() + static_cast<std::ptrdiff_t>(k--));
                }
            }
            if (placed) continue;
            if (open.size() >= std::max<std::size_t>(options_.most_open, 1)) {
                refuse(bucket_obstacle::crowded, c.start, open.back().members[0].start);
                continue;
            }
            add(open.emplace_back(), c);
        }
        for (auto* list : {&closed, &open})
            for (bucket_in_growth& b : *list) {
                if (b.members.size() > 1) grown_.push_back(std::move(b));
                else refuse_single(b.members[0], all);
            }
    }
    /// Says of a collective that found no partner why the nearest one of its kind is none.
    void refuse_single(const bucket_candidate& c, std::span<const bucket_candidate> all) {
        if (all.size() == 1) return refuse(bucket_obstacle::nobody_fits, c.start, c.start);
        std::size_t k = 0;
        while (all[k].start != c.start) ++k;
        const bucket_candidate& near = all[k == 0 ? 1 : k - 1];
        const bool needs = reach_.reaches(near.wait, c.start) || reach_.reaches(c.wait, near.start);
        refuse(needs ? bucket_obstacle::dependent : bucket_obstacle::limits, c.start, near.start);
    }

    /// The plan. The program is then as it was.
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
    /// What has grown as a plan; nothing if the buckets depend on themselves.
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
        std::vector<std::uint32_t> launched(f_.size(), none);  // by position of its first member: which bucket
        for (std::uint32_t k = 0; k < grown_.size(); ++k) launched[grown_[k].members[0].start] = k;
        plan.order.reserve(f_.size());
        plan.buckets.reserve(grown_.size());
        for (std::uint32_t p : order) {
            plan.order.push_back(f_.vertex[p]);
            if (launched[p] != none) plan.buckets.push_back(written(grown_[launched[p]]));
        }
        return plan;
    }

    /// How large a value is, if somebody says so: a view allocates nothing.
    [[nodiscard]] bytes size_of(const X& x) const {
        if constexpr (has_size_as_documented<C, X>) return costs_.size_of(x);
        else return allocation_of<G>(model_, x);
    }

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
                                           : c.payload;  // a view of something else does not say how large it is
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
    std::vector<std::optional<known_start>> known_;  // by position
    std::vector<std::uint32_t> starts_;              // positions
    std::vector<std::int64_t> kernels_;              // time of the kernels before a position
    std::vector<bucket_in_growth> grown_;
    std::vector<collective_ends<std::uint32_t>> ends_;
    std::vector<refused_bucket<V>> refused_;
};

}  // namespace stretto::detail

#endif
