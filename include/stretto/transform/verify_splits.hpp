// Verifies a split plan. Its members are compared with the bucket that the model describes, and every vertex of the
// program is checked for uses of removed vertices. The verifier shares only the transcription of the program with the
// planner.
#ifndef STRETTO_TRANSFORM_VERIFY_SPLITS_HPP
#define STRETTO_TRANSFORM_VERIFY_SPLITS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/bucket_form_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/detail/program_facts.hpp"
#include "stretto/transform/split_plan.hpp"
#include "stretto/transform/split_rules.hpp"

namespace stretto {

/// A violation of a rule by a plan. split_rule says what `vertex` and `other` are; `other` is `vertex` if the rule
/// concerns no second vertex.
template <handle V>
struct split_violation {
    split_rule rule;
    std::size_t bucket = 0;  ///< position in the plan
    V vertex{};
    V other{};
    friend bool operator==(const split_violation&, const split_violation&) = default;
};

/// Facts about a correct plan.
struct verified_splits {
    std::size_t members = 0;  ///< collectives that are added
    std::size_t copies = 0;   ///< removed vertices other than starts and waits
    friend bool operator==(const verified_splits&, const verified_splits&) = default;
};

namespace detail {

/// Checks one plan: the handles, then every bucket, and then every vertex of the program for uses of removed ones.
template <dependence_graph G, op_model<G> M, bucket_form_model<G> F>
class split_verifier {
    using V = vertex_t<G>;
    using X = value_t<G>;
    using rule = split_rule;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    split_verifier(const split_plan<V, X>& plan, const program_facts<G>& f, const M& model, const F& forms)
        : plan_(plan), f_(f), uses_(f), model_(model), forms_(forms), owner_(f.size(), none) {}

    /// Returns all violations.
    std::vector<split_violation<V>> run() {
        for (number_ = 0; number_ < plan_.buckets.size(); ++number_) claim(plan_.buckets[number_]);
        if (!found_.empty()) return std::move(found_);  // later checks assume valid positions
        for (number_ = 0; number_ < plan_.buckets.size(); ++number_) {
            check_form(plan_.buckets[number_]);
            check_memory(plan_.buckets[number_]);
        }
        for (std::uint32_t p = 0; p < f_.size(); ++p) check_surroundings(p);
        return std::move(found_);
    }

private:
    void add(rule why, V vertex, V other) { found_.push_back({why, number_, vertex, other}); }
    [[nodiscard]] std::uint32_t at(V v) const { return f_.position_of(v); }

    /// Checks that the lists of a bucket fit together, that every handle belongs to the graph, and that no vertex is
    /// removed twice.
    void claim(const bucket_split<V, X>& b) {
        if (b.results.size() != b.parts.size() || b.sizes.size() != b.parts.size() || b.parts.empty())
            return add(rule::unknown_vertex, b.start, b.start);
        std::vector<V> all = b.packs;
        all.insert(all.end(), b.unpacks.begin(), b.unpacks.end());
        all.push_back(b.start);
        all.push_back(b.wait);
        for (V v : all) {
            const std::uint32_t p = at(v);
            if (p == none) add(rule::unknown_vertex, v, v);
            else if (owner_[p] != none) add(rule::claimed_twice, v, v);
            else owner_[p] = static_cast<std::uint32_t>(number_);
        }
        for (const auto* list : {&b.parts, &b.results})
            for (const X& x : *list)
                if (f_.values.number(x) == none) add(rule::unknown_vertex, b.start, b.start);
    }

    /// Checks that the start is a bucket with one wait, and that its members and copies are those that the model
    /// describes.
    void check_form(const bucket_split<V, X>& b) {
        const std::uint32_t s = at(b.start);
        const collective_kind kind =
            f_.kind[s] == op_kind::start ? collective_of<G>(model_, b.start) : collective_kind::other;
        if (kind == collective_kind::other || kind == collective_kind::all_to_all)
            return add(rule::no_bucket, b.start, b.start);
        const auto form = forms_.form(b.start);
        if (!form) return add(rule::no_bucket, b.start, b.start);
        if (f_.kind[at(b.wait)] != op_kind::wait || form->wait != b.wait) add(rule::wrong_wait, b.start, b.wait);
        for (std::uint32_t q = 0; q < f_.size(); ++q)
            if (f_.launch[q] == s && q != at(b.wait)) add(rule::wrong_wait, b.start, f_.vertex[q]);
        if (f_.launch[at(b.wait)] != s) add(rule::wrong_wait, b.start, b.wait);

        bytes offset;
        bool fits = form->parts.size() == b.parts.size() && form->results.size() == b.parts.size();
        for (std::size_t k = 0; k < b.parts.size(); ++k) {
            fits = fits && b.sizes[k].count > 0 &&
                   std::ranges::count(form->parts, bucket_slice<X>{b.parts[k], offset, b.sizes[k]}) == 1 &&
                   std::ranges::count(form->results, bucket_slice<X>{b.results[k], offset, b.sizes[k]}) == 1;
            offset += b.sizes[k];
            // A result is part of the received data, and a part is computed before it is packed.
            const std::uint32_t made = f_.producer[f_.values.number(b.results[k])];
            fits = fits && owner_[made] == number_ && made >= at(b.wait) &&
                   owner_[f_.producer[f_.values.number(b.parts[k])]] != number_;
        }
        if (!fits || offset != form->row) add(rule::wrong_members, b.start, b.start);
        for (const auto& [own, other] : {std::pair{&b.packs, &form->packs}, std::pair{&b.unpacks, &form->unpacks}})
            for (const auto& [from, in] : {std::pair{own, other}, std::pair{other, own}})
                for (V v : *from)
                    if (std::ranges::count(*in, v) != 1) add(rule::wrong_copies, b.start, v);
    }

    /// Returns whether x is in the given list of a bucket.
    [[nodiscard]] bool is_one_of(const std::vector<X>& list, std::uint32_t x) const {
        return std::ranges::any_of(list, [&](const X& y) { return f_.values.number(y) == x; });
    }

    /// Checks the operands and dependences of the vertex at p: a vertex that stays may read only results of buckets,
    /// and a removed one may use only parts and vertices that are removed with it.
    void check_surroundings(std::uint32_t p) {
        const std::uint32_t own = owner_[p];
        const auto read = [&](std::uint32_t q) {
            return std::ranges::any_of(f_.operands[p], [&](std::uint32_t y) { return f_.producer[y] == q; });
        };
        for (std::uint32_t y : f_.operands[p]) {
            const std::uint32_t q = f_.producer[y];
            if (owner_[q] == own) continue;
            if (own != none && !is_one_of(plan_.buckets[own].parts, y)) {
                number_ = own;
                add(rule::other_reads, f_.vertex[p], f_.vertex[q]);
            }
            if (owner_[q] != none && !is_one_of(plan_.buckets[owner_[q]].results, y)) {
                number_ = owner_[q];
                add(rule::read_elsewhere, f_.vertex[q], f_.vertex[p]);
            }
        }
        for (V u : f_.graph.predecessors(f_.vertex[p])) {
            const std::uint32_t q = at(u);
            if (read(q) || (own == none && owner_[q] == none)) continue;
            number_ = own != none ? own : owner_[q];
            add(own != none ? rule::other_dependence : rule::read_elsewhere, own != none ? f_.vertex[p] : u,
                own != none ? u : f_.vertex[p]);
        }
        for (std::uint32_t y : f_.writes[p])
            if (own != none && owner_[f_.producer[y]] != own) {
                number_ = own;
                add(rule::other_reads, f_.vertex[p], f_.vertex[f_.producer[y]]);
            }
    }

    /// Checks that no vertex that stays writes a part between its first use in the bucket and the wait.
    void check_memory(const bucket_split<V, X>& b) {
        for (const X& part : b.parts) {
            const std::uint32_t x = f_.values.number(part);
            const auto mine = f_.storages[x];
            bool packed = false;
            for (std::uint32_t p = 0; p < at(b.wait); ++p) {
                const bool meets = std::ranges::any_of(mine, [&](std::uint32_t s) {
                    const auto writers = uses_.writers(s);
                    return std::binary_search(writers.begin(), writers.end(), p);
                });
                if (packed && meets && owner_[p] != number_) add(rule::overwritten, b.start, f_.vertex[p]);
                packed = packed || (owner_[p] == number_ && std::ranges::count(f_.operands[p], x) != 0);
            }
        }
    }

    const split_plan<V, X>& plan_;
    const program_facts<G>& f_;
    const storage_uses<program_facts<G>> uses_;
    const M& model_;
    const F& forms_;
    std::vector<std::uint32_t> owner_;  // by position: the bucket with which it is removed
    std::vector<split_violation<V>> found_;
    std::size_t number_ = 0;
};

}  // namespace detail

/// Returns facts about the plan if it is correct. The error is the list of everything that is wrong with it: at least
/// one violation. Handles are checked first, and the other checks run only if all handles are valid. Any plan is a
/// valid argument if its handles can be looked up in the view. Precondition: `g` lists its vertices in a topological
/// order. The models are trusted. The result is deterministic. O(members (V + E)).
template <dependence_graph G, op_model<G> M, bucket_form_model<G> F>
    requires dataflow_graph<G>
[[nodiscard]] expected<verified_splits, std::vector<split_violation<vertex_t<G>>>> verify_splits(
    const split_plan<vertex_t<G>, value_t<G>>& plan, G g, const M& model, const F& forms) {
    verified_splits verified;
    if (plan.empty()) return verified;
    const detail::program_facts<G> facts = detail::gather_program_facts(g, model);
    auto found = detail::split_verifier<G, M, F>(plan, facts, model, forms).run();
    if (!found.empty()) return unexpected(std::move(found));
    for (const auto& b : plan.buckets) {
        verified.members += b.parts.size();
        verified.copies += b.packs.size() + b.unpacks.size();
    }
    return verified;
}

}  // namespace stretto

#endif
