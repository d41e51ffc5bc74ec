// Verifies a bucket plan. Its order is checked against all dependences of the program, which proves the plan regardless
// of how it was found. The verifier shares with the planner only the transcription of the program, its dependences, and
// the test of whether a start can be a member.
#ifndef STRETTO_TRANSFORM_VERIFY_BUCKETS_HPP
#define STRETTO_TRANSFORM_VERIFY_BUCKETS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/bucket_rules.hpp"
#include "stretto/transform/detail/bucket_candidates.hpp"
#include "stretto/transform/detail/program_dependences.hpp"
#include "stretto/transform/detail/program_facts.hpp"

namespace stretto {

/// A violation of a rule by a plan. bucket_rule says what `vertex` and `other` are; `other` is `vertex` if the rule
/// concerns no second vertex.
template <handle V>
struct bucket_violation {
    bucket_rule rule;
    std::size_t bucket = 0;  ///< position in the plan; the number of buckets if a rule of the order is broken
    V vertex{};
    V other{};
    friend bool operator==(const bucket_violation&, const bucket_violation&) = default;
};

/// Facts about a correct plan.
struct verified_buckets {
    std::size_t members = 0;  ///< collectives that are removed
    std::size_t casts = 0;    ///< casts that are removed
    bytes payload;            ///< bytes that all buckets together send
    friend bool operator==(const verified_buckets&, const verified_buckets&) = default;
};

namespace detail {

/// The facts about a program that a verifier needs for every plan.
template <dependence_graph G>
    requires dataflow_graph<G>
struct bucketed_program_facts {
    template <op_model<G> M>
    bucketed_program_facts(G g, const M& model) : f(gather_program_facts(g, model)), uses(f), dependences(f) {}

    program_facts<G> f;
    storage_uses<program_facts<G>> uses;
    program_dependences<program_facts<G>> dependences;
};

/// Checks one plan: the buckets one after another and, if they are all correct, the order.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
class bucket_verifier {
    using V = vertex_t<G>;
    using X = value_t<G>;
    using rule = bucket_rule;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    /// Precondition: all arguments outlive it.
    bucket_verifier(const bucket_plan<V, X>& plan, const bucketed_program_facts<G>& program, const M& model)
        : plan_(plan),
          f_(program.f),
          uses_(program.uses),
          dependences_(program.dependences),
          model_(model),
          claimed_(f_.size(), false) {}

    /// Returns all violations.
    std::vector<bucket_violation<V>> run() {
        for (const bucket<V, X>& b : plan_.buckets) {
            if (claim(b)) check(b);
            ++number_;
        }
        if (found_.empty()) check_order();
        return std::move(found_);
    }

private:
    void add(rule why, const V& vertex, const V& other) { found_.push_back({why, number_, vertex, other}); }
    [[nodiscard]] std::uint32_t at(const V& v) const { return f_.position_of(v); }

    /// Checks that the lists of a bucket have equal lengths, that every handle belongs to the graph, and that no vertex
    /// is removed twice. Returns whether this holds; only then can the other rules be checked.
    bool claim(const bucket<V, X>& b) {
        const std::size_t before = found_.size();
        const V any = b.members.empty() ? V{} : b.members[0];
        const std::size_t n = b.members.size();
        if (n < 2) return add(rule::too_few_members, any, any), false;
        if (b.parts.size() != n || b.waits.size() != n || b.results.size() != n || b.casts.size() > n)
            return add(rule::unknown_vertex, any, any), false;
        for (const auto* list : {&b.members, &b.waits, &b.casts})
            for (const V& v : *list) {
                const std::uint32_t p = at(v);
                if (p == none) add(rule::unknown_vertex, v, v);
                else if (std::exchange(claimed_[p], true)) add(rule::claimed_twice, v, v);
            }
        for (const auto* list : {&b.parts, &b.results})
            for (const X& x : *list)
                if (f_.values.number(x) == none) add(rule::unknown_vertex, any, any);
        return found_.size() == before;
    }

    /// Checks the members of a bucket, and that the waits, results, parts, casts and amounts in the plan are theirs.
    void check(const bucket<V, X>& b) {
        bytes payload, received;
        std::size_t casts = 0;
        for (std::size_t k = 0; k < b.members.size(); ++k) {
            const V& m = b.members[k];
            const std::uint32_t p = at(m);
            std::uint32_t wait = none;
            if (f_.kind[p] != op_kind::start || find_wait(f_, model_, p, wait)) {
                add(rule::no_member, m, m);
                continue;
            }
            const std::uint32_t first = at(b.members[0]);
            if (f_.kind[first] == op_kind::start &&
                !(key_of(f_, model_, p, 0, true) == key_of(f_, model_, first, 0, true)))
                add(rule::members_differ, b.members[0], m);
            if (at(b.waits[k]) != wait || f_.values.number(b.results[k]) != f_.only_result(wait))
                add(rule::wrong_wait, m, b.waits[k]);
            payload += payload_of<G>(model_, m);
            received += allocation_of<G>(model_, f_.values.value(f_.only_result(p)));
            const std::uint32_t sent = f_.operands[p][0], packed = f_.values.number(b.parts[k]);
            if (packed == sent) continue;
            const V cast = f_.vertex[f_.producer[sent]];
            const bool vanishes = casts < b.casts.size() && b.casts[casts] == cast;
            casts += vanishes;
            if (!vanishes || f_.operands[at(cast)].size() != 1 || f_.operands[at(cast)][0] != packed)
                add(rule::wrong_part, m, cast);
            else if (b.mode != bucket_mode::pack || !absorbs_cast(f_, uses_, p)) add(rule::wrong_cast, cast, m);
        }
        for (; casts < b.casts.size(); ++casts) add(rule::wrong_cast, b.casts[casts], b.members[0]);
        if (b.payload != payload || b.received != received) add(rule::wrong_amounts, b.members[0], b.members[0]);
    }

    /// Checks that the order is complete, that members and waits are adjacent, and that it respects all dependences.
    void check_order() {
        std::vector<std::uint32_t> place(f_.size(), none);
        std::uint32_t next = 0;
        for (const V& v : plan_.order) {
            const std::uint32_t p = at(v);
            if (p == none || place[p] != none) return add(rule::order_incomplete, v, v);
            place[p] = next++;
        }
        for (std::uint32_t p = 0; p < f_.size(); ++p)
            if (place[p] == none) return add(rule::order_incomplete, f_.vertex[p], f_.vertex[p]);
        for (const bucket<V, X>& b : plan_.buckets)
            for (const auto* list : {&b.members, &b.waits})
                for (std::size_t k = 1; k < list->size(); ++k)
                    if (place[at((*list)[k])] != place[at((*list)[k - 1])] + 1)
                        add(rule::not_adjacent, (*list)[k - 1], (*list)[k]);
        for (std::size_t k = 1; k < plan_.buckets.size(); ++k) {
            const V &a = plan_.buckets[k - 1].members[0], &b = plan_.buckets[k].members[0];
            if (place[at(b)] < place[at(a)]) add(rule::out_of_order, a, b);
        }
        std::vector<std::uint32_t> becomes(f_.size(), none);  // by position: the merged start or wait that replaces it
        for (std::uint32_t k = 0; k < plan_.buckets.size(); ++k) {
            for (const V& v : plan_.buckets[k].members) becomes[at(v)] = 2 * k;
            for (const V& v : plan_.buckets[k].waits) becomes[at(v)] = 2 * k + 1;
        }
        for (std::uint32_t p = 0; p < f_.size(); ++p)
            for (std::uint32_t q : dependences_.before()[p])
                if (place[q] > place[p] && (becomes[p] == none || becomes[p] != becomes[q]))
                    add(rule::out_of_order, f_.vertex[p], f_.vertex[q]);
    }

    const bucket_plan<V, X>& plan_;
    const program_facts<G>& f_;
    const storage_uses<program_facts<G>>& uses_;
    const program_dependences<program_facts<G>>& dependences_;
    const M& model_;
    std::vector<char> claimed_;
    std::vector<bucket_violation<V>> found_;
    std::size_t number_ = 0;
};

}  // namespace detail

/// Returns facts about the plan if it is correct. The error is the list of everything that is wrong with it: at least
/// one violation, bucket by bucket. The order is checked only if all buckets are correct. Limits and durations are not
/// checked. Any plan is a valid argument if its handles can be looked up in the view. Precondition: `g` lists its
/// vertices in a topological order. The models are trusted. The result is deterministic. O(V + E + aliases).
///
/// Why this is a proof: members are adjacent in an order that respects every dependence, except those between two
/// starts, or two waits, that become one. The start of a bucket can therefore take the position of its members, and its
/// wait the position of their waits: every predecessor already comes before them, and every successor after them.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] expected<verified_buckets, std::vector<bucket_violation<vertex_t<G>>>> verify_buckets(
    const bucket_plan<vertex_t<G>, value_t<G>>& plan, G g, const M& model) {
    verified_buckets verified;
    if (plan.empty()) return verified;
    const detail::bucketed_program_facts<G> program(g, model);
    auto found = detail::bucket_verifier<G, M>(plan, program, model).run();
    if (!found.empty()) return unexpected(std::move(found));
    for (const auto& b : plan.buckets) {
        verified.members += b.members.size();
        verified.casts += b.casts.size();
        verified.payload += b.payload;
    }
    return verified;
}

}  // namespace stretto

#endif
