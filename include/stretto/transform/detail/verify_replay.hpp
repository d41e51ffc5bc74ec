// Follows a chunked program from its first operation to its last, and knows of every value what it is in terms of the
// program before: a value, one part of it, some parts that a join has put together so far, or memory for its slices.
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

/// The replay. Feed it every operation of the program after with meet(), in program order, and then call finish().
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

    void finish() {
        slices_.for_each_incomplete([&](std::uint32_t x) { report(applied_rule::slice_missing, W{}, producer(x)); });
        if (next_ < f_.size()) report(applied_rule::unfinished, W{}, f_.vertices[next_]);
    }

private:
    /// What a value of the program after means: parts [first, last) of a value before, or the value itself.
    struct meaning {
        std::uint32_t value = verify_none;
        std::uint32_t region = 0;
        std::uint32_t first = 0, last = 0;  // if empty, it is of use only to other splits
        bool whole = false;
        std::uint32_t slices_of = verify_none;  // the join whose memory it is: the place for parts [first, last)
    };

    void report(applied_rule rule, W w, V other) { found_.push_back({rule, w, other}); }
    [[nodiscard]] V producer(std::uint32_t x) const { return f_.vertices[f_.producer[x]]; }
    [[nodiscard]] std::uint32_t region_of(std::uint32_t v) const { return s_.plan().operations[s_.place(v)].region; }
    [[nodiscard]] std::uint32_t clones_of(std::uint32_t v) const {
        const auto& o = s_.plan().operations[s_.place(v)];
        return o.once ? 1 : chunks_of(o.region);
    }
    [[nodiscard]] std::uint32_t chunks_of(std::uint32_t region) const {
        return static_cast<std::uint32_t>(s_.plan().regions[region].sizes.size());
    }

    /// What an operand stands for; no value if its producer has not been met.
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
    /// Writes down what the results of an operation mean.
    template <class MeaningOfResult>
    void give(W w, MeaningOfResult meaning_of_result) {
        const std::uint32_t first = numbers_.add(w);
        for (std::uint32_t x = first; x < numbers_.size(); ++x) meanings_.push_back(meaning_of_result(x - first));
    }

    /// A kept operation or a clone must come next, and must read what the original reads.
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
            next_ = v;  // this lets the replay go on
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

    void check_operands(W w, std::uint32_t v, bool clone, std::uint32_t chunk) {
        std::size_t k = 0;
        const auto original = f_.operands[v];
        for (value_t<H> y : after_.operands(w)) {
            if (k == original.size()) return report(applied_rule::arity, w, f_.vertices[v]);
            const bool goes_on = clone && chunk > 0 && s_.plan().operations[s_.place(v)].chained == k;
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
    /// The part that a chunk reads: its own, unless all chunks read the same one, which is what ran once, or what the
    /// last clone of a chain has left.
    [[nodiscard]] std::uint32_t part_read(std::uint32_t region, std::uint32_t x, std::uint32_t chunk) const {
        const std::uint32_t v = f_.producer[x];
        if (!s_.chunked_in(region, v)) return chunk;
        return clones_of(v) == 1 || is_chain(v) ? clones_of(v) - 1 : chunk;
    }
    [[nodiscard]] bool is_chain(std::uint32_t v) const { return s_.plan().operations[s_.place(v)].is_chain(); }
    void check_part(W w, const meaning& m, std::uint32_t x, std::uint32_t region, std::uint32_t part) {
        if (m.whole || m.slices_of != verify_none) report(applied_rule::reads_whole, w, producer(x));
        else if (m.region != region || m.first != part || m.last != part + 1)
            report(applied_rule::reads_other_chunk, w, producer(x));
    }

    /// Whether it stands for the whole value: it is the value itself, all parts recombined, one part where all are the
    /// same, or what a chain has left.
    [[nodiscard]] bool stands_for_all(const meaning& m) const {
        if (m.whole) return true;
        if (m.slices_of != verify_none)
            return m.last - m.first == slices_.count(m.slices_of) && slices_.complete(m.slices_of);
        const std::uint32_t join = s_.join_of(m.value);
        if (join == verify_none || m.last != m.first + 1) return false;
        const auto& j = s_.plan().joins[join];
        const std::uint32_t v = f_.producer[m.value], clones = clones_of(v);
        return m.region == j.region && m.first == (is_chain(v) ? clones - 1 : 0) &&
               (j.how == recombination::first || clones == 1);
    }

    /// A split must read the whole value, or what another split for the same region has made of it.
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

    /// The value that a split is of. If splits are asked for in the order of the plan, each answer takes one step.
    [[nodiscard]] std::uint32_t split_value(const origin& from) {
        for (std::size_t k = 0; k < splits_.size(); ++k) {
            const auto& split = s_.plan().splits[at_split_];
            if (split.region == from.region && split.value == from.value) return splits_[at_split_];
            at_split_ = (at_split_ + 1) % splits_.size();
        }
        return verify_none;
    }

    /// A join must read parts that follow each other; its result is all of them.
    void meet_join(W w, const origin& from) {
        meaning made;
        bool in_order = true;
        for (value_t<H> y : after_.operands(w)) {
            if (!is_met(y)) return lose(w, applied_rule::reads_ahead, V{});
            const meaning m = meaning_of(y);
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
        made.whole = made.first == 0 && made.last == clones_of(f_.producer[made.value]);
        give(w, [&](std::uint32_t) { return made; });
    }

    /// The result is memory in which there is nothing yet.
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

    /// Writing a slice reads memory, or a place in it, and, in either order, the part that is written there; without a
    /// part it only finds the place. The result is what it has read, or the place.
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

    /// Reports a fault; the results of the operation then stand for nothing.
    void lose(W w, applied_rule rule, V other) {
        report(rule, w, other);
        give(w, [](std::uint32_t) { return meaning{}; });
    }

    [[nodiscard]] std::uint32_t find_vertex(const V& v) const {
        if (next_ < f_.size() && f_.vertices[next_] == v) return next_;  // in a right program this is always the one
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
    std::uint32_t next_ = 0, chunk_ = 0;  // the copy that must come next
    std::size_t at_split_ = 0;            // the split that was met last
};

}  // namespace stretto::detail

#endif
