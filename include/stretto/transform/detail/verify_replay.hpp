// Checks a chunked program for verify_applied. It follows the program after the plan was applied, from its first
// operation to its last, and records for every value what it means in the program before: a value itself, one part of
// it, several parts that a join has recombined so far, or memory for its slices. From that it decides whether each
// operation reads what it should.
//
// Longer than 300 lines: all checks share the meanings of values and the position in the program before.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_REPLAY_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_REPLAY_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/value_map.hpp"
#include "stretto/transform/detail/verify_applied_rules.hpp"
#include "stretto/transform/detail/verify_slices.hpp"
#include "stretto/transform/detail/verify_structure.hpp"

namespace stretto::detail {

/// The replay. Call meet() for every operation of the program after, in program order, and then finish(). The
/// structure, which must have matched its plan, and `found`, which receives the violations, must outlive it.
template <class G, class H>
class verify_replay {
public:
    using V = vertex_t<G>;
    using W = vertex_t<H>;
    using origin = applied_origin<V, value_t<G>>;

    verify_replay(const verify_structure<G>& structure, const H& after, std::vector<applied_violation<W, V>>& found)
        : s_(structure), f_(structure.facts()), after_(after), found_(found), slices_(structure), numbers_(after) {
        splits_.resize(s_.plan().splits.size(), verify_none);
        for (std::uint32_t v = 0; v < f_.size(); ++v)
            if (s_.place(v) != verify_none)
                for (std::uint32_t x : f_.operands[v])
                    if (const std::uint32_t split = s_.split_of(region_of(v), x); split != verify_none)
                        splits_[split] = x;
    }

    /// Checks the next operation, which has the given origin.
    void meet(W w, const origin& from) {
        switch (from.what) {
            case origin::kind::kept:
            case origin::kind::clone:
                return meet_copy(w, from);
            case origin::kind::split:
                return meet_split(w, from);
            case origin::kind::join:
                return meet_join(w, from);
            case origin::kind::empty:
                return meet_empty(w, from);
            case origin::kind::slice:
                return meet_slice(w, from);
        }
    }

    /// Checks that nothing is missing at the end of the program.
    void finish() {
        slices_.for_each_incomplete([&](std::uint32_t x) { report(applied_rule::slice_missing, W{}, producer(x)); });
        if (next_ < f_.size()) report(applied_rule::unfinished, W{}, f_.vertices[next_]);
    }

private:
    /// What a value of the program after means: a value of the program before, or parts [first, last) of it in a
    /// region.
    struct meaning {
        std::uint32_t value = verify_none;
        std::uint32_t region = 0;
        std::uint32_t first = 0, last = 0;  // if empty, only other splits may read it
        bool whole = false;
        std::uint32_t slices_of = verify_none;  // if it is memory for slices: the join; [first, last) are then places
    };

    void report(applied_rule rule, W w, V other) { found_.push_back({rule, w, other}); }
    [[nodiscard]] V producer(std::uint32_t x) const { return f_.vertices[f_.producer[x]]; }
    [[nodiscard]] std::uint32_t region_of(std::uint32_t v) const { return operation(v).region; }
    [[nodiscard]] const auto& operation(std::uint32_t v) const { return s_.plan().operations[s_.place(v)]; }
    [[nodiscard]] std::uint32_t clones_of(std::uint32_t v) const {
        return static_cast<std::uint32_t>(operation(v).clones(chunks_of(region_of(v))));
    }
    [[nodiscard]] std::uint32_t parts_of(std::uint32_t v) const {
        return static_cast<std::uint32_t>(operation(v).parts(chunks_of(region_of(v))));
    }
    [[nodiscard]] std::uint32_t chunks_of(std::uint32_t region) const {
        return static_cast<std::uint32_t>(s_.plan().regions[region].sizes.size());
    }

    /// The meaning of an operand; it has no value if the producer of the operand has not been met.
    [[nodiscard]] meaning meaning_of(value_t<H> y) const {
        const std::uint32_t at = numbers_.number(y);
        return at == numbers_.none ? meaning{} : meanings_[at];
    }
    [[nodiscard]] bool is_met(value_t<H> y) const { return numbers_.contains(after_.producer(y)); }

    [[nodiscard]] std::uint32_t results_of(W w) const {
        std::uint32_t results = 0;
        for ([[maybe_unused]] value_t<H> y : after_.results(w)) ++results;
        return results;
    }
    /// Records what the results of an operation mean.
    template <class MeaningOfResult>
    void give(W w, MeaningOfResult meaning_of_result) {
        const std::uint32_t first = numbers_.add(w);
        for (std::uint32_t x = first; x < numbers_.size(); ++x) meanings_.push_back(meaning_of_result(x - first));
    }

    /// Checks that a kept operation or a clone is the one that must come next, and that it reads what the original
    /// reads.
    void meet_copy(W w, const origin& from) {
        const std::uint32_t v = find_vertex(from.vertex);
        const bool clone = from.what == origin::kind::clone;
        if (v == verify_none) return lose(w, applied_rule::out_of_step, from.vertex);
        const bool chunked = s_.place(v) != verify_none;
        if (!clone && chunked) return lose(w, applied_rule::original_remains, from.vertex);
        if (clone && (!chunked || from.chunk >= clones_of(v)))
            return lose(w, applied_rule::clone_unplanned, from.vertex);
        if (v != next_ || from.chunk != (clone ? chunk_ : 0)) {
            report(applied_rule::out_of_step, w, next_ < f_.size() ? f_.vertices[next_] : from.vertex);
            next_ = v;  // so that the replay can continue
            chunk_ = clone ? from.chunk : 0;
        }
        check_operands(w, v, clone, from.chunk);
        const std::uint32_t results = results_of(w);
        if (results != f_.end_of_results(v) - f_.first_result[v]) return lose(w, applied_rule::arity, from.vertex);
        give(w, [&](std::uint32_t k) {
            const std::uint32_t x = f_.first_result[v] + k;
            if (!clone) return meaning{x, 0, 0, 0, true};
            return meaning{x, region_of(v), from.chunk, from.chunk + 1, false};
        });
        if (clone && ++chunk_ < clones_of(v)) return;
        chunk_ = 0;
        ++next_;
    }

    /// Checks the operands of w, which is vertex v or its clone for a chunk.
    void check_operands(W w, std::uint32_t v, bool clone, std::uint32_t chunk) {
        std::size_t k = 0;
        const auto original = f_.operands[v];
        for (value_t<H> y : after_.operands(w)) {
            if (k == original.size()) return report(applied_rule::arity, w, f_.vertices[v]);
            const bool goes_on = clone && chunk > 0 && operation(v).chained == k;
            const std::uint32_t x = goes_on ? f_.first_result[v] : original[k];
            ++k;
            const meaning m = meaning_of(y);
            if (!is_met(y)) report(applied_rule::reads_ahead, w, producer(x));
            else if (m.value != x) report(applied_rule::reads_other_value, w, producer(x));
            else if (goes_on) check_part(w, m, x, region_of(v), chunk - 1);
            else if (clone && is_in_parts(region_of(v), x))
                check_part(w, m, x, region_of(v), part_read(region_of(v), x, chunk));
            else if (!stands_for_all(m)) report(applied_rule::reads_part, w, producer(x));
        }
        if (k != original.size()) report(applied_rule::arity, w, f_.vertices[v]);
    }

    [[nodiscard]] bool is_in_parts(std::uint32_t region, std::uint32_t x) const {
        return s_.chunked_in(region, f_.producer[x]) || s_.split_of(region, x) != verify_none;
    }
    /// The part of x that a chunk reads. It is the part of that chunk, except for the result of an operation that ran
    /// once or of a chain: all chunks then read what the only or the last clone has left.
    [[nodiscard]] std::uint32_t part_read(std::uint32_t region, std::uint32_t x, std::uint32_t chunk) const {
        const std::uint32_t v = f_.producer[x];
        if (!s_.chunked_in(region, v)) return chunk;
        return parts_of(v) == 1 || is_chain(v) ? parts_of(v) - 1 : chunk;
    }
    [[nodiscard]] bool is_chain(std::uint32_t v) const { return operation(v).is_chain(); }
    /// Checks that an operand with meaning m is exactly that part of x.
    void check_part(W w, const meaning& m, std::uint32_t x, std::uint32_t region, std::uint32_t part) {
        if (m.whole || m.slices_of != verify_none) report(applied_rule::reads_whole, w, producer(x));
        else if (m.region != region || m.first != part || m.last != part + 1)
            report(applied_rule::reads_other_chunk, w, producer(x));
    }

    /// Whether m stands for the whole value: the value itself, all its parts recombined, memory in which all slices
    /// have been written, one part if all parts are equal, or what the last clone of a chain has left.
    [[nodiscard]] bool stands_for_all(const meaning& m) const {
        if (m.whole) return true;
        if (m.slices_of != verify_none)
            return m.last - m.first == slices_.count(m.slices_of) && slices_.complete(m.slices_of);
        const std::uint32_t join = s_.join_of(m.value);
        if (join == verify_none || m.last != m.first + 1) return false;
        const auto& j = s_.plan().joins[join];
        const std::uint32_t v = f_.producer[m.value], parts = parts_of(v);
        return m.region == j.region && m.first == (is_chain(v) ? parts - 1 : 0) &&
               (j.how == recombination::first || parts == 1);
    }

    /// Checks that a split reads the whole value, or the result of another split of it for the same region.
    void meet_split(W w, const origin& from) {
        const std::uint32_t x = split_value(from);
        const bool all = from.chunk == origin::all_parts;
        if (x == verify_none || (!all && from.chunk >= chunks_of(from.region)))
            return lose(w, applied_rule::split_unplanned, V{});
        for (value_t<H> y : after_.operands(w)) {
            const meaning m = meaning_of(y);
            if (!is_met(y)) report(applied_rule::reads_ahead, w, producer(x));
            else if (m.value != x) report(applied_rule::reads_other_value, w, producer(x));
            else if (!stands_for_all(m) && !(m.region == from.region && m.first == m.last))
                report(applied_rule::reads_part, w, producer(x));
        }
        const std::uint32_t results = results_of(w);
        give(w, [&](std::uint32_t k) {
            if (!all) return meaning{x, from.region, from.chunk, from.chunk + 1, false};
            if (results == chunks_of(from.region)) return meaning{x, from.region, k, k + 1, false};
            return meaning{x, from.region, 0, 0, false};
        });
    }

    /// The value that is split; verify_none if the plan has no such split. The search continues where the last one
    /// ended, so it takes one step per split if splits come in the order of the plan.
    [[nodiscard]] std::uint32_t split_value(const origin& from) {
        for (std::size_t k = 0; k < splits_.size(); ++k) {
            const auto& split = s_.plan().splits[at_split_];
            if (split.region == from.region && split.value == from.value) return splits_[at_split_];
            at_split_ = (at_split_ + 1) % splits_.size();
        }
        return verify_none;
    }

    /// What an operand of the join of a value means there. If the sum widens, what the operation would read in a later
    /// chunk stands for the part of that chunk.
    [[nodiscard]] meaning meaning_in_join(value_t<H> y, const value_t<G>& joined) const {
        meaning m = meaning_of(y);
        if (m.value == verify_none || m.whole || m.first == 0 || m.slices_of != verify_none) return m;
        for (std::uint32_t u : f_.readers[m.value]) {
            if (!s_.chunked_in(m.region, u) || !operation(u).sum_widens) continue;
            const std::uint32_t x = f_.first_result[u];
            if (x == f_.end_of_results(u) || !(f_.values[x] == joined)) continue;
            m.value = x;
            break;
        }
        return m;
    }

    /// Checks that a join reads parts that follow each other. Its result means all of them.
    void meet_join(W w, const origin& from) {
        meaning made;
        bool in_order = true;
        for (value_t<H> y : after_.operands(w)) {
            if (!is_met(y)) return lose(w, applied_rule::reads_ahead, V{});
            const meaning m = meaning_in_join(y, from.value);
            if (m.value == verify_none || m.whole || m.first == m.last || m.slices_of != verify_none ||
                !(f_.values[m.value] == from.value) || (made.value != verify_none && m.region != made.region))
                return lose(w, applied_rule::reads_other_value, V{});
            in_order = in_order && (made.value == verify_none || m.first == made.last);
            if (made.value == verify_none) made = m;
            made.last = m.last;
        }
        const std::uint32_t join = made.value == verify_none ? verify_none : s_.join_of(made.value);
        if (join == verify_none || s_.plan().joins[join].region != made.region ||
            s_.plan().joins[join].how == recombination::first || s_.plan().joins[join].how == recombination::slices)
            return lose(w, applied_rule::join_unplanned, V{});
        if (!in_order) report(applied_rule::parts_out_of_order, w, producer(made.value));
        const auto& j = s_.plan().joins[join];
        if (j.late && !j.readers.empty() && (next_ == f_.size() || !(f_.vertices[next_] == j.readers[0])))
            report(applied_rule::join_too_early, w, producer(made.value));
        made.whole = made.first == 0 && made.last == parts_of(f_.producer[made.value]);
        give(w, [&](std::uint32_t) { return made; });
    }

    /// Checks an allocation of memory for slices.
    void meet_empty(W w, const origin& from) {
        const std::uint32_t join = slices_.find(from.value);
        if (join == verify_none) return lose(w, applied_rule::join_unplanned, V{});
        const std::uint32_t x = slices_.value(join);
        for (value_t<H> y : after_.operands(w))
            if (!is_met(y)) report(applied_rule::reads_ahead, w, producer(x));
        if (!slices_.make(join)) return lose(w, applied_rule::slice_doubled, producer(x));
        give(w, [&](std::uint32_t) {
            return meaning{x, s_.plan().joins[join].region, 0, slices_.count(join), false, join};
        });
    }

    /// Checks an operation that writes a slice. It reads memory, or a place in it, and the part that it writes there,
    /// in either order; its result is that memory or place. If it reads no part, it is a view of the place.
    void meet_slice(W w, const origin& from) {
        meaning place, part;
        for (value_t<H> y : after_.operands(w)) {
            if (!is_met(y)) return lose(w, applied_rule::reads_ahead, V{});
            const meaning m = meaning_of(y);
            meaning& is = m.slices_of != verify_none ? place : part;
            if (m.value == verify_none || m.whole || is.value != verify_none)
                return lose(w, applied_rule::reads_other_value, V{});
            is = m;
        }
        if (place.value == verify_none) return lose(w, applied_rule::slice_misplaced, V{});
        const V expected = producer(place.value);
        if (from.chunk < place.first || from.chunk >= place.last)
            return lose(w, applied_rule::slice_misplaced, expected);
        if (part.value == verify_none) {
            place.first = from.chunk;
            place.last = from.chunk + 1;
        } else if (part.value != place.value || part.region != place.region || part.first != from.chunk ||
                   part.last != from.chunk + 1) {
            return lose(w, applied_rule::slice_misplaced, expected);
        } else if (!slices_.write(place.slices_of, from.chunk)) {
            report(applied_rule::slice_doubled, w, expected);
        }
        give(w, [&](std::uint32_t) { return place; });
    }

    /// Reports a violation; the results of the operation then have no meaning.
    void lose(W w, applied_rule rule, V other) {
        report(rule, w, other);
        give(w, [](std::uint32_t) { return meaning{}; });
    }

    /// The number of a vertex of the program before; verify_none if there is none.
    [[nodiscard]] std::uint32_t find_vertex(const V& v) const {
        if (next_ < f_.size() && f_.vertices[next_] == v) return next_;  // always so in a correct program
        for (std::uint32_t u = 0; u < f_.size(); ++u)
            if (f_.vertices[u] == v) return u;
        return verify_none;
    }

    const verify_structure<G>& s_;
    const verify_facts<G>& f_;
    const H& after_;
    std::vector<applied_violation<W, V>>& found_;
    written_slices<G> slices_;
    std::vector<std::uint32_t> splits_;  // by split: its value
    value_numbering<H> numbers_;         // of the values that have been met
    std::vector<meaning> meanings_;
    std::uint32_t next_ = 0, chunk_ = 0;  // the vertex and the chunk that must come next
    std::size_t at_split_ = 0;            // the split that was met last
};

}  // namespace stretto::detail

#endif
