// Finds merged collectives that can be split exactly: the inverse of plan_buckets. Another tool may have bucketed a
// step, perhaps for another machine; once its buckets are split, its collectives can be reordered and merged anew.
// docs/algorithms/split-buckets.md gives the proof of correctness.
#ifndef STRETTO_TRANSFORM_SPLIT_BUCKETS_HPP
#define STRETTO_TRANSFORM_SPLIT_BUCKETS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/core/bucket_form_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/detail/program_facts.hpp"
#include "stretto/transform/split_plan.hpp"

namespace stretto {

namespace detail {

/// Decides for one bucket after another whether it is split. A bucket that cannot be split leaves no trace, except in
/// the list of refusals.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
class split_sweep {
    using V = vertex_t<G>;
    using X = value_t<G>;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    split_sweep(const program_facts<G>& f, const M& model)
        : f_(f), uses_(f), model_(model), claimed_by_(f.size(), none), result_of_(f.values.size(), none) {}

    /// Decides on the bucket that the start at p launches. Buckets are visited in program order.
    void visit(std::uint32_t p, bucket_form<V, X> form) {
        start_ = p;
        const auto by_offset = [](const bucket_slice<X>& a, const bucket_slice<X>& b) { return a.offset < b.offset; };
        std::sort(form.parts.begin(), form.parts.end(), by_offset);
        std::sort(form.results.begin(), form.results.end(), by_offset);
        if (!(known_kind() && one_wait(form) && fills_payload(form) && gives_members(form) && claim(form))) return;
        if (!(only_results_lead_out(form) && only_parts_lead_in(form) && parts_last(form))) return release(form);
        bucket_split<V, X> b{f_.vertex[p], form.wait, {}, {}, {}, std::move(form.packs), std::move(form.unpacks)};
        for (std::size_t k = 0; k < form.parts.size(); ++k) {
            b.parts.push_back(form.parts[k].value);
            b.results.push_back(form.results[k].value);
            b.sizes.push_back(form.parts[k].size);
        }
        plan_.buckets.push_back(std::move(b));
    }
    [[nodiscard]] split_plan<V, X> take() { return std::move(plan_); }

private:
    /// Records a refusal and returns false. The checks below return true, or refuse the bucket.
    bool refuse(split_obstacle why, std::uint32_t p, std::uint32_t other) {
        plan_.refused.push_back({why, f_.vertex[p], f_.vertex[other]});
        return false;
    }

    bool known_kind() {
        const collective_kind kind = collective_of<G>(model_, f_.vertex[start_]);
        return kind == collective_kind::all_gather || kind == collective_kind::reduce_scatter ||
               kind == collective_kind::all_reduce || refuse(split_obstacle::kind, start_, start_);
    }
    bool one_wait(const bucket_form<V, X>& form) {
        const std::uint32_t wait = f_.position_of(form.wait);
        if (wait == none || f_.kind[wait] != op_kind::wait || f_.launch[wait] != start_)
            return refuse(split_obstacle::several_waits, start_, wait == none ? start_ : wait);
        for (std::uint32_t q : f_.waits[start_])
            if (q != wait) return refuse(split_obstacle::several_waits, start_, q);
        return true;
    }
    /// The parts, sorted by offset, must fill the row of the buffer without gaps.
    bool fills_payload(const bucket_form<V, X>& form) {
        bytes end;
        for (const bucket_slice<X>& part : form.parts) {
            if (part.offset != end || part.size.count <= 0 || f_.values.number(part.value) == none)
                return refuse(split_obstacle::gaps, start_, start_);
            end += part.size;
        }
        return (!form.parts.empty() && end == form.row) || refuse(split_obstacle::gaps, start_, start_);
    }
    /// The results must have the same columns as the parts, one for one.
    bool gives_members(const bucket_form<V, X>& form) {
        bool same = form.results.size() == form.parts.size();
        for (std::size_t k = 0; same && k < form.results.size(); ++k) {
            const bucket_slice<X>&part = form.parts[k], &result = form.results[k];
            same = result.offset == part.offset && result.size == part.size && f_.values.number(result.value) != none;
        }
        return same || refuse(split_obstacle::results_differ, start_, start_);
    }

    /// Calls each(v) for every vertex that is removed with a bucket, until it returns false. Returns whether it never
    /// did.
    template <class Each>
    static bool for_all_vanishing(const bucket_form<V, X>& form, V start, Each each) {
        for (const auto* list : {&form.packs, &form.unpacks})
            for (const V& v : *list)
                if (!each(v)) return false;
        return each(start) && each(form.wait);
    }
    /// Marks the vertices that are removed with this bucket. None may belong to an earlier bucket.
    bool claim(const bucket_form<V, X>& form) {
        std::vector<std::uint32_t> taken;
        const bool free = for_all_vanishing(form, f_.vertex[start_], [&](V v) {
            const std::uint32_t p = f_.position_of(v);
            if (p == none || claimed_by_[p] != none)
                return refuse(split_obstacle::shared, start_, p == none ? start_ : claimed_by_[p]);
            claimed_by_[p] = start_;
            taken.push_back(p);
            return true;
        });
        if (!free)
            for (std::uint32_t p : taken) claimed_by_[p] = none;
        return free;
    }
    /// Undoes claim, and the marks of results.
    void release(const bucket_form<V, X>& form) {
        for_all_vanishing(form, f_.vertex[start_], [&](V v) { return claimed_by_[f_.position_of(v)] = none, true; });
        for (const bucket_slice<X>& r : form.results) result_of_[f_.values.number(r.value)] = none;
    }
    [[nodiscard]] bool vanishes(std::uint32_t p) const { return claimed_by_[p] == start_; }

    /// No remaining vertex may use a buffer or depend on a removed vertex, unless it reads a result of a member.
    bool only_results_lead_out(const bucket_form<V, X>& form) {
        const std::uint32_t wait = f_.position_of(form.wait);
        for (const bucket_slice<X>& r : form.results) {
            const std::uint32_t x = f_.values.number(r.value);
            if (!vanishes(f_.producer[x]) || f_.producer[x] < wait)
                return refuse(split_obstacle::results_differ, start_, f_.producer[x]);
            result_of_[x] = start_;
        }
        return for_all_vanishing(form, f_.vertex[start_], [&](V v) {
            const std::uint32_t p = f_.position_of(v);
            const auto leads_to = [&](std::uint32_t x, std::uint32_t q) {
                return vanishes(q) || result_of_[x] == start_ || refuse(split_obstacle::looked_at, start_, q);
            };
            for (std::uint32_t x = f_.first_result[p]; x < f_.first_result[p + 1]; ++x)
                for (std::uint32_t q : f_.consumers[x])
                    if (!leads_to(x, q)) return false;
            for (V s : f_.graph.successors(v)) {
                const std::uint32_t q = f_.position_of(s);
                if (!vanishes(q) && !reads_result_of(q, p)) return refuse(split_obstacle::looked_at, start_, q);
            }
            return true;
        });
    }
    [[nodiscard]] bool reads_result_of(std::uint32_t q, std::uint32_t p) const {
        return std::ranges::any_of(f_.operands[q],
                                   [&](std::uint32_t y) { return f_.producer[y] == p && result_of_[y] == start_; });
    }
    /// The removed vertices may read only parts and each other, and must have no other dependences.
    bool only_parts_lead_in(const bucket_form<V, X>& form) {
        std::vector<std::uint32_t> parts;
        for (const bucket_slice<X>& part : form.parts) parts.push_back(f_.values.number(part.value));
        std::sort(parts.begin(), parts.end());
        for (std::uint32_t x : parts)
            if (vanishes(f_.producer[x])) return refuse(split_obstacle::other_reads, start_, f_.producer[x]);
        return for_all_vanishing(form, f_.vertex[start_], [&](V v) {
            const std::uint32_t p = f_.position_of(v);
            for (std::uint32_t y : f_.operands[p])
                if (!vanishes(f_.producer[y]) && !std::binary_search(parts.begin(), parts.end(), y))
                    return refuse(split_obstacle::other_reads, p, f_.producer[y]);
            for (std::uint32_t y : f_.writes[p])
                if (!vanishes(f_.producer[y])) return refuse(split_obstacle::other_reads, p, f_.producer[y]);
            for (V u : f_.graph.predecessors(v)) {
                const std::uint32_t q = f_.position_of(u);
                const bool read =
                    std::ranges::any_of(f_.operands[p], [&](std::uint32_t y) { return f_.producer[y] == q; });
                if (!read) return refuse(split_obstacle::other_dependence, p, q);
            }
            return true;
        });
    }
    /// No remaining vertex may write a part between its pack and the wait. The pack has copied the part, but a separate
    /// member reads it from the launch to the wait.
    bool parts_last(const bucket_form<V, X>& form) {
        const std::uint32_t wait = f_.position_of(form.wait);
        for (const bucket_slice<X>& part : form.parts) {
            const std::uint32_t x = f_.values.number(part.value);
            std::uint32_t first = start_;  // the first reader of the part
            for (std::uint32_t q : f_.consumers[x])
                if (vanishes(q)) first = std::min(first, q);
            for (std::uint32_t s : f_.storages[x])
                for (std::uint32_t q : uses_.writers(s))
                    if (q > first && q < wait && !vanishes(q)) return refuse(split_obstacle::overwritten, start_, q);
        }
        return true;
    }

    const program_facts<G>& f_;
    const storage_uses<program_facts<G>> uses_;
    const M& model_;
    std::vector<std::uint32_t> claimed_by_;  // by position: the start of the bucket with which it is removed
    std::vector<std::uint32_t> result_of_;   // by value: the start of the bucket whose result it is
    std::uint32_t start_ = 0;
    split_plan<V, X> plan_;
};

}  // namespace detail

/// Plans to split all buckets among the starts of `g` that can be split exactly, as described by `forms`, and gives the
/// reason for each bucket that stays whole. A start v is left as it is if `wanted(v)` is false. A bucket with one
/// member also counts: splitting it removes its copies.
///
/// Guarantees: every member sends and receives the same data as in the bucket, so no value that remains readable
/// changes, except for the order in which a transport adds floating-point numbers. Splitting creates no cycle, because
/// the new starts and waits take the positions of the start and the wait of the bucket. A bucket is refused if its
/// slices leave gaps or overlap, if its results do not match the packed parts, if another operation uses one of its
/// buffers, or if a part is overwritten before its member would have sent it.
///
/// Precondition: `g` lists its vertices in a topological order, and every vertex that uses a storage reads a value that
/// lives in it. The result is deterministic. Takes O(V + E + aliases) time, plus the time of `forms`, and for each
/// bucket the writers of its parts.
template <dependence_graph G, op_model<G> M, bucket_form_model<G> F, class Wanted>
    requires dataflow_graph<G> && std::predicate<Wanted&, vertex_t<G>>
[[nodiscard]] split_plan<vertex_t<G>, value_t<G>> split_buckets(G g, const M& model, const F& forms, Wanted wanted) {
    using V = vertex_t<G>;
    std::vector<std::pair<V, bucket_form<V, value_t<G>>>> found;
    for (V v : g.vertices()) {
        if (model.kind(v) != op_kind::start || !wanted(v)) continue;
        if (auto form = forms.form(v)) found.emplace_back(v, *std::move(form));
    }
    if (found.empty()) return {};
    const detail::program_facts<G> facts = detail::gather_program_facts(g, model);
    detail::split_sweep<G, M> sweep(facts, model);
    for (auto& [v, form] : found) sweep.visit(facts.position_of(v), std::move(form));
    return sweep.take();
}
/// The same for all starts.
template <dependence_graph G, op_model<G> M, bucket_form_model<G> F>
    requires dataflow_graph<G>
[[nodiscard]] split_plan<vertex_t<G>, value_t<G>> split_buckets(G g, const M& model, const F& forms) {
    return split_buckets(g, model, forms, [](vertex_t<G>) { return true; });
}

}  // namespace stretto

#endif
