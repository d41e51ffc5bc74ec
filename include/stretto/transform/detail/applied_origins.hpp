// Finds out which call of which verb every operation of a rewritten program has come from, so that verify_applied can
// follow a program that a foreign rewriter has made. What a verb returns is all that is known of what it did: an IR may
// need several operations for one verb (an address, a view, a copy), and those are found by what they are connected to.
#ifndef STRETTO_TRANSFORM_DETAIL_APPLIED_ORIGINS_HPP
#define STRETTO_TRANSFORM_DETAIL_APPLIED_ORIGINS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/transform/detail/recorded_program.hpp"
#include "stretto/transform/detail/verify_applied_rules.hpp"

namespace stretto::detail {

using recorded_origin = applied_origin<std::uint32_t, std::uint32_t>;

/// A value that a verb has returned. For verbs that take parts, `part` is the one that it was made from.
template <class X>
struct recorded_result {
    X made;
    recorded_origin from;
    X part;
};

/// A clone of an operation without results, and what it was given to read.
template <class X>
struct recorded_clone {
    recorded_origin from;
    std::vector<X> operands;
};

/// The origins of all operations. A verb may make several operations. Those whose results it has returned are known at
/// once; the others read, or are read by, what is known, and nothing else. None of this is believed: verify_replay
/// checks that every operation reads what its origin demands.
template <class G>
class applied_origins {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;
    using what = recorded_origin::kind;

    /// Finds all origins: of what was there, of what verbs have returned, of clones without results, of writers of
    /// slices, and at last of helpers. `before`, with what has been erased since, must outlive this object. O(V + E).
    applied_origins(const recorded_program<G>& before, const std::vector<recorded_result<X>>& made,
                    const std::vector<recorded_clone<X>>& resultless, const G& after)
        : before_(before), after_(after), from_(after.index_bound()), known_(after.index_bound(), false) {
        for (std::uint32_t v = 0; v < before.vertices().size(); ++v)
            if (!before.is_erased(v)) set(before.vertices()[v], {what::kept, v, 0, 0, 0});
        for (const recorded_result<X>& r : made) take(r);
        for (const recorded_clone<X>& r : resultless) take(r);
        // What writes a slice may have no result that the verb has returned. Then it is the only reader of the part
        // that is nothing else.
        for (const recorded_result<X>& r : made)
            if (r.from.what == what::slice)
                for (V reader : after.consumers(r.part))
                    if (!is_known(reader)) set(reader, r.from);
        take_helpers();
    }

    /// The origin of an operation of the program after.
    /// It takes O(V) time if v has none, which happens in faulty programs only.
    [[nodiscard]] recorded_origin of(const V& v) const {
        const std::size_t i = after_.index(v);
        if (known_[i]) return from_[i];
        // No verb has made it. It may be one that should be gone.
        for (std::uint32_t u = 0; u < before_.vertices().size(); ++u)
            if (before_.vertices()[u] == v) return {what::kept, u, not_recorded, 0, 0};
        return {what::kept, not_recorded, not_recorded, 0, 0};
    }

private:
    /// Whether v has an origin by now. The passes go from certain to likely, and the first one to find an origin wins.
    [[nodiscard]] bool is_known(const V& v) const { return known_[after_.index(v)]; }
    void set(const V& v, const recorded_origin& from) {
        const std::size_t i = after_.index(v);
        from_[i] = from;
        known_[i] = true;
    }

    /// The producer of a value that a verb has returned comes from that verb.
    void take(const recorded_result<X>& r) {
        const V v = after_.producer(r.made);
        recorded_origin from = r.from;
        if (from.what == what::split) {
            // An operation that makes several parts stands for all of them.
            std::size_t results = 0;
            for ([[maybe_unused]] X x : after_.results(v)) ++results;
            if (results > 1) from.chunk = recorded_origin::all_parts;
            return set(v, from);
        }
        // Joins and memory are asked for by their parts; which value that is follows from the clone that has made the
        // part.
        if (from.what == what::join || from.what == what::empty) from.value = value_of_part(r.part);
        if (!is_known(v)) set(v, from);
    }
    /// The clone of an operation without results is found by what it reads.
    void take(const recorded_clone<X>& r) {
        if (r.operands.empty()) return;
        for (V reader : after_.consumers(r.operands[0])) {
            if (is_known(reader)) continue;
            std::size_t k = 0;
            bool same = true;
            for (X x : after_.operands(reader)) {
                same = same && k < r.operands.size() && r.operands[k] == x;
                ++k;
            }
            if (same && k == r.operands.size()) return set(reader, r.from);
        }
    }
    /// The value before of which a result of a clone is a part.
    [[nodiscard]] std::uint32_t value_of_part(const X& part) const {
        const V v = after_.producer(part);
        const recorded_origin& from = from_[after_.index(v)];
        if (!is_known(v) || from.what != what::clone || from.vertex == not_recorded) return not_recorded;
        std::size_t k = 0;
        for (X x : after_.results(v)) {
            const auto results = before_.numbers().results[from.vertex];
            if (x == part) return k < results.size() ? results[k] : not_recorded;
            ++k;
        }
        return not_recorded;
    }

    /// Goes backwards: whatever makes up the result of a verb is part of that verb, unless it is known to be something
    /// else. Readers come after what they read, so that one pass from the last operation meets every reader first.
    void take_helpers() {
        std::vector<V> order;
        for (V v : after_.vertices()) order.push_back(v);
        for (std::size_t k = order.size(); k-- > 0;) {
            if (is_known(order[k])) continue;
            // What a kept operation or a clone reads is no part of it: that would explain away an operation which
            // nobody planned.
            for (X x : after_.results(order[k]))
                for (V reader : after_.consumers(x)) {
                    if (!is_known(reader) || is_known(order[k])) continue;
                    recorded_origin from = from_[after_.index(reader)];
                    if (from.what == what::kept || from.what == what::clone) continue;
                    if (from.what == what::split) from.chunk = recorded_origin::all_parts;
                    set(order[k], from);
                }
        }
    }

    const recorded_program<G>& before_;
    G after_;
    std::vector<recorded_origin> from_;  // by index in the program after
    std::vector<char> known_;
};

}  // namespace stretto::detail

#endif
