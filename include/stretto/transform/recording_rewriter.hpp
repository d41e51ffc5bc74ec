// Applies a chunk plan and records the origin of every new operation. verify_applied can then check an IR that is
// rewritten in place, although its original operations no longer exist:
//
//     stretto::chunk_recording recording(view, plan);       // copies the program before, by number
//     auto recorder = recording.rewriter(my_rewriter);
//     stretto::apply_chunks(plan, view, recorder);
//     my_ir.renumber();                                     // if the view needs that
//     const auto applied = recording.verify(view);          // the counts, or everything that is wrong
#ifndef STRETTO_TRANSFORM_RECORDING_REWRITER_HPP
#define STRETTO_TRANSFORM_RECORDING_REWRITER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/applied_origins.hpp"
#include "stretto/transform/detail/recorded_program.hpp"
#include "stretto/transform/verify_applied.hpp"

namespace stretto {

namespace detail {
template <class R, class G>
class recorded_verbs;
}
template <class R, class G>
class recording_rewriter;

/// A program as it was before a chunk plan was applied to it, and a record of what a recording_rewriter has added
/// since. It refers neither to the plan nor to anything that the rewriter may erase. O(V + E) time and memory.
template <dependence_graph G>
    requires dataflow_graph<G>
class chunk_recording {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    /// Precondition: `g` lists the program for which the plan was made, before it is rewritten.
    chunk_recording(G g, const chunk_plan<V, X>& plan) : g_(g), before_(g), plan_(before_.numbered(g, plan)) {}

    /// Returns a rewriter that forwards every verb to `rewriter`, which must outlive it, and records the calls here.
    template <chunking_rewriter<G> R>
    [[nodiscard]] recording_rewriter<R, G> rewriter(R& rewriter) {
        // If the rewriter cannot write slices, values are concatenated instead.
        if constexpr (!slice_writing_rewriter<R, G>) choose_slices(plan_, [](const auto&) { return false; });
        return recording_rewriter<R, G>(rewriter, *this);
    }

    /// Calls verify_applied to check that `after`, the view of the rewritten program, is what the plan says. A
    /// violation identifies operations of the original program by their positions in it, with UINT32_MAX for none. An
    /// operation that is neither original nor recorded is reported as out of step. Takes O(V + E) time for the two
    /// programs, plus one pass over the original program for each operation with a violation.
    [[nodiscard]] expected<applied_counts, std::vector<applied_violation<V, std::uint32_t>>> verify(G after) const {
        const detail::applied_origins<G> origins(before_, made_, resultless_, after);
        return verify_applied(plan_, before_.view(), after, [&](V v) { return origins.of(v); });
    }

private:
    template <class R, class H>
    friend class detail::recorded_verbs;
    template <class R, class H>
    friend class recording_rewriter;

    G g_;
    detail::recorded_program<G> before_;
    chunk_plan<std::uint32_t, std::uint32_t> plan_;
    std::size_t splits_ = 0;                             // number of calls of split so far
    std::vector<detail::recorded_result<X>> made_;       // results of the verbs, in the order of the calls
    std::vector<detail::recorded_clone<X>> resultless_;  // clones without results
};

namespace detail {

/// The verbs that every chunking rewriter has.
template <class R, class G>
class recorded_verbs {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    recorded_verbs(R& rewriter, chunk_recording<G>& recording) : rewriter_(&rewriter), notes_(&recording) {}

    void insert_before(V v) { rewriter_->insert_before(v); }
    std::vector<X> clone(V v, std::span<const X> operands, const chunk_part& part) {
        std::vector<X> results;
        for (X made : rewriter_->clone(v, operands, part)) results.push_back(made);
        detail::recorded_origin from;
        from.what = detail::recorded_origin::kind::clone;
        from.vertex = notes_->before_.number(notes_->g_, v);
        from.region = part.region;
        from.chunk = part.chunk;
        note(results, from);
        if (results.empty()) notes_->resultless_.push_back({from, {operands.begin(), operands.end()}});
        return results;
    }
    std::vector<X> split(X x, std::size_t dim, std::span<const std::int64_t> sizes) {
        std::vector<X> parts;
        for (X made : rewriter_->split(x, dim, sizes)) parts.push_back(made);
        // apply_chunks splits in the order of the plan, which gives the region of each split.
        const std::size_t k = notes_->splits_++;
        const bool planned = k < notes_->plan_.splits.size();
        detail::recorded_origin from;
        from.what = detail::recorded_origin::kind::split;
        from.value = planned ? notes_->plan_.splits[k].value : detail::not_recorded;
        from.region = planned ? notes_->plan_.splits[k].region : 0;
        for (from.chunk = 0; from.chunk < parts.size(); ++from.chunk)
            notes_->made_.push_back({parts[from.chunk], from, parts[from.chunk]});
        return parts;
    }
    X concat(std::span<const X> parts, std::size_t dim) { return join(rewriter_->concat(parts, dim), parts[0]); }
    X sum(std::span<const X> parts) { return join(rewriter_->sum(parts), parts[0]); }
    void replace_uses(V v, X from, X to) { rewriter_->replace_uses(v, from, to); }
    void erase(V v) {
        notes_->before_.erase(notes_->before_.number(notes_->g_, v));
        rewriter_->erase(v);
    }

protected:
    void note(const std::vector<X>& results, const recorded_origin& from) {
        for (const X& made : results) notes_->made_.push_back({made, from, made});
    }
    X join(X made, X part) {
        recorded_origin from;
        from.what = recorded_origin::kind::join;
        notes_->made_.push_back({made, from, part});
        return made;
    }

    R* rewriter_;
    chunk_recording<G>* notes_;
};

}  // namespace detail

/// A rewriter that forwards every verb and records the results in a chunk_recording. It is made by
/// chunk_recording::rewriter. Of the verbs that apply_chunks may call, it has those that R has.
template <class R, class G>
class recording_rewriter : public detail::recorded_verbs<R, G> {
public:
    using detail::recorded_verbs<R, G>::recorded_verbs;
};

template <class R, class G>
    requires slice_writing_rewriter<R, G>
class recording_rewriter<R, G> : public detail::recorded_verbs<R, G> {
public:
    using X = value_t<G>;
    using detail::recorded_verbs<R, G>::recorded_verbs;

    X empty_like(X x, X part) {
        const X made = this->rewriter_->empty_like(x, part);
        detail::recorded_origin from;
        from.what = detail::recorded_origin::kind::empty;
        this->notes_->made_.push_back({made, from, part});
        return made;
    }
    X slice_write(X whole, X part, std::size_t dim, std::span<const std::int64_t> sizes, std::size_t k) {
        const X made = this->rewriter_->slice_write(whole, part, dim, sizes, k);
        detail::recorded_origin from;
        from.what = detail::recorded_origin::kind::slice;
        from.chunk = static_cast<std::uint32_t>(k);
        this->notes_->made_.push_back({made, from, part});
        return made;
    }
};

}  // namespace stretto

#endif
