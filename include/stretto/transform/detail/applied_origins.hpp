// Finds out from which call of which verb every operation of a rewritten program comes, so that verify_applied can
// check a program that a foreign rewriter has made. Of a call, only its arguments and the values that it returned are
// known. An IR may need several operations for one verb (an address, a view, a copy); the others are found by what they
// read and by what reads them.
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

/// A value that a verb has returned. `part` is the part that it was made from, the first one if there are several; for
/// a verb that takes no parts it is the value itself.
template <class X>
struct recorded_result {
    X made;
    recorded_origin from;
    X part;
};

/// A call of clone for an operation without results, and the operands that it was given.
template <class X>
struct recorded_clone {
    recorded_origin from;
    std::vector<X> operands;
};

/// The origins of all operations. An operation whose result a verb has returned comes from that verb. The helpers that
/// a verb has made besides are found through operations of that verb that read their results. Origins are not trusted:
/// verify_replay checks that every operation reads what its origin requires.
template <class G>
class applied_origins {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;
    using what = recorded_origin::kind;

    /// Finds all origins, in this order: those of operations that were kept, of producers of values that verbs have
    /// returned, of clones without results, of operations that write slices, and of helpers. `before`, which also knows
    /// what has been erased since, must outlive this object. O(V + E).
    applied_origins(const recorded_program<G>& before, const std::vector<recorded_result<X>>& made,
                    const std::vector<recorded_clone<X>>& resultless, const G& after)
        : before_(before), after_(after), from_(after.index_bound()), known_(after.index_bound(), false) {
        for (std::uint32_t v = 0; v < before.vertices().size(); ++v)
            if (!before.is_erased(v)) set(before.vertices()[v], {what::kept, v, 0, 0, 0});
        for (const recorded_result<X>& r : made) take(r);
        for (const recorded_clone<X>& r : resultless) take(r);
        // The operation that writes a slice need not be the one whose result the verb has returned. Then it is the only
        // reader of the part that has no other origin.
        for (const recorded_result<X>& r : made)
            if (r.from.what == what::slice)
                for (V reader : after.consumers(r.part))
                    if (!is_known(reader)) set(reader, r.from);
        take_helpers();
    }

    /// The origin of an operation of the program after. If it has none, it counts as kept: as the operation of the
    /// program before with the same handle, or as none of them. That takes O(V) time, and happens only in faulty
    /// programs.
    [[nodiscard]] recorded_origin of(const V& v) const {
        const std::size_t i = after_.index(v);
        if (known_[i]) return from_[i];
        // No verb has made it. It may be an original operation that should have been erased.
        for (std::uint32_t u = 0; u < before_.vertices().size(); ++u)
            if (before_.vertices()[u] == v) return {what::kept, u, not_recorded, 0, 0};
        return {what::kept, not_recorded, not_recorded, 0, 0};
    }

private:
    /// Whether v has an origin by now. Certain origins are found before likely ones, and the first one found counts.
    [[nodiscard]] bool is_known(const V& v) const { return known_[after_.index(v)]; }
    void set(const V& v, const recorded_origin& from) {
        const std::size_t i = after_.index(v);
        from_[i] = from;
        known_[i] = true;
    }

    /// Sets the origin of the producer of a value that a verb has returned.
    void take(const recorded_result<X>& r) {
        const V v = after_.producer(r.made);
        recorded_origin from = r.from;
        if (from.what == what::split) {
            // An operation with several results makes all parts.
            std::size_t results = 0;
            for ([[maybe_unused]] X x : after_.results(v)) ++results;
            if (results > 1) from.chunk = recorded_origin::all_parts;
            return set(v, from);
        }
        // The calls for joins and memory name only parts; the clone that made a part determines the value.
        if (from.what == what::join || from.what == what::empty) from.value = value_of_part(r.part);
        if (!is_known(v)) set(v, from);
    }
    /// Finds the clone of an operation without results by its operands, and sets its origin.
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
    /// The value of the program before of which this result of a clone is a part; not_recorded if it is none.
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

    /// Sets the origins of helpers: an operation without an origin comes from the same verb as a reader of its results.
    /// Readers come after the operations that they read, so one pass from the last operation to the first suffices.
    void take_helpers() {
        std::vector<V> order;
        for (V v : after_.vertices()) order.push_back(v);
        for (std::size_t k = order.size(); k-- > 0;) {
            if (is_known(order[k])) continue;
            // A reader that was kept or cloned gives no origin: that would hide an operation which was not planned.
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
    std::vector<char> known_;            // by index in the program after
};

}  // namespace stretto::detail

#endif
