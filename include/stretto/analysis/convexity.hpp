// A set of vertices is convex if no path leaves it and enters it again. Only a convex set can become one vertex, or be
// copied, moved or run as a unit, without creating a cycle.
//
// A path between two members stays between the first and the last member in topological order. All marking is therefore
// restricted to that window: first upwards from the set, then downwards within the marked vertices.
#ifndef STRETTO_ANALYSIS_CONVEXITY_HPP
#define STRETTO_ANALYSIS_CONVEXITY_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/core/expected.hpp"

namespace stretto {

/// The witness that a set is not convex: a path whose two ends are in the set and whose other vertices, at least one,
/// are not.
template <handle V>
struct reentrant_path {
    std::vector<V> vertices;
    friend bool operator==(const reentrant_path&, const reentrant_path&) = default;
};

namespace detail {
struct convex_subgraph_maker;
}

/// A set of vertices that no path leaves and enters again, in topological order, each listed once. This is a witness
/// type: only the functions of this header construct one, so a function that takes it need not check. It says nothing
/// about a graph that has changed since.
template <handle V>
class convex_subgraph {
public:
    using value_type = V;

    [[nodiscard]] const V* begin() const noexcept { return vertices_.data(); }
    [[nodiscard]] const V* end() const noexcept { return vertices_.data() + vertices_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
    [[nodiscard]] bool empty() const noexcept { return vertices_.empty(); }
    [[nodiscard]] const V& operator[](std::size_t i) const { return vertices_[i]; }
    friend bool operator==(const convex_subgraph&, const convex_subgraph&) = default;

private:
    explicit convex_subgraph(std::vector<V> vertices) : vertices_(std::move(vertices)) {}
    friend struct detail::convex_subgraph_maker;

    std::vector<V> vertices_;
};

namespace detail {

/// Constructs convex_subgraph for the functions below, which are the only ones that may.
struct convex_subgraph_maker {
    template <handle V>
    static convex_subgraph<V> make(std::span<const V> vertices) {
        return convex_subgraph<V>(std::vector<V>(vertices.begin(), vertices.end()));
    }
};

}  // namespace detail

/// Answers questions about convexity on one graph. A question takes O(edges within the window from the first to the
/// last member in the order) time. It allocates nothing unless its answer is larger than all before, except for
/// witnesses that are returned by value. The object holds 4 bytes per index and 2 bits per vertex. Two threads must not
/// use it at the same time.
template <dependence_graph G>
class convexity {
public:
    using vertex_type = vertex_t<G>;

    /// `order` is a topological order of `g` and must outlive this object; a temporary is rejected at compile time.
    convexity(G g, const topological_order<vertex_type>& order)
        : at_(g, order), members_(order.size()), reached_(order.size()) {}
    convexity(G g, const topological_order<vertex_type>&& order) = delete;

    /// The smallest convex superset of `set`, in topological order: the members, and everything that lies on a path
    /// between two of them. The span is valid until the next question.
    template <class Set = std::initializer_list<vertex_type>>
        requires vertex_collection<Set, vertex_type>
    [[nodiscard]] std::span<const vertex_type> closure(Set&& set) & {
        insert_members(set);
        // Upwards: mark what members reach, up to the last member.
        reached_.insert_words(members_, first_, behind_);
        reached_.scan_up<false>(first_, behind_, [&](std::size_t p, auto insert) {
            for (vertex_type w : at_.graph().successors(at_.vertex(p)))
                if (const std::size_t q = at_.of(w); q < behind_) insert(q);
        });
        // Downwards: of the marked vertices, keep those that reach members. Nothing before the first member was marked.
        members_.scan_down<false>(first_, behind_, [&](std::size_t p, auto insert) {
            for (vertex_type u : at_.graph().predecessors(at_.vertex(p)))
                if (const std::size_t q = at_.of(u); reached_.contains(q)) insert(q);
        });
        list_members();
        forget();
        return found_;
    }

    /// A path that leaves `set` and enters it again; empty if the set is convex. There may be many such paths. The one
    /// returned is found from its last vertex outside, which is the first such vertex in the order; from there it goes
    /// back straight into the set if possible, and otherwise to the latest possible vertex. The path therefore depends
    /// only on the order. The span is valid until the next question.
    template <class Set = std::initializer_list<vertex_type>>
        requires vertex_collection<Set, vertex_type>
    [[nodiscard]] std::span<const vertex_type> violation(Set&& set) & {
        insert_members(set);
        found_.clear();
        find_violation();
        forget();
        return found_;
    }

    /// The set as a witness of its convexity, or, as the error, the path that `violation` finds.
    template <class Set = std::initializer_list<vertex_type>>
        requires vertex_collection<Set, vertex_type>
    [[nodiscard]] expected<convex_subgraph<vertex_type>, reentrant_path<vertex_type>> check(Set&& set) {
        insert_members(set);
        found_.clear();
        find_violation();
        if (!found_.empty()) {
            forget();
            return unexpected(reentrant_path<vertex_type>{found_});
        }
        list_members();
        forget();
        return detail::convex_subgraph_maker::make<vertex_type>(found_);
    }

private:
    /// Marks the members and sets the window to what they span.
    template <class Set>
    void insert_members(Set& set) {
        first_ = at_.size();
        behind_ = 0;
        at_.for_each(set, [&](std::size_t p) {
            members_.insert(p);
            if (p < first_) first_ = p;
            if (p >= behind_) behind_ = p + 1;
        });
    }
    void list_members() {
        found_.clear();
        for (std::size_t p = first_; (p = members_.first_from(p, behind_)) < behind_; ++p)
            found_.push_back(at_.vertex(p));
    }
    /// Empties both sets again; only words of the window can contain bits.
    void forget() {
        members_.clear_words(first_, behind_);
        reached_.clear_words(first_, behind_);
    }
    std::size_t first_of_both_from(std::size_t p) const {
        return members_.first_from(p, reached_.first_from(p, behind_));
    }

    /// Here `reached_` holds only vertices outside the set that the set reaches. The first of them, in the order, that
    /// has a successor in the set closes a path.
    void find_violation() {
        for (std::size_t p = first_; (p = first_of_both_from(p)) < behind_; ++p) {
            const bool inside = members_.contains(p);
            std::size_t entry = behind_;
            for (vertex_type w : at_.graph().successors(at_.vertex(p))) {
                const std::size_t q = at_.of(w);
                if (q >= behind_) continue;
                if (!members_.contains(q)) reached_.insert(q);
                else if (!inside && q < entry) entry = q;
            }
            if (entry < behind_) return trace_back(p, entry);
        }
    }
    /// Builds the path backwards from `entry`, a member, and `outside`, its predecessor, and then reverses it.
    void trace_back(std::size_t outside, std::size_t entry) {
        found_.push_back(at_.vertex(entry));
        for (std::size_t p = outside;;) {
            found_.push_back(at_.vertex(p));
            if (members_.contains(p)) break;
            std::size_t from = 0;  // one more than the position of the best predecessor so far
            bool straight = false;
            for (vertex_type u : at_.graph().predecessors(at_.vertex(p))) {
                const std::size_t q = at_.of(u);
                const bool member = members_.contains(q);
                if ((member && (!straight || q >= from)) || (!straight && reached_.contains(q) && q >= from)) {
                    straight = member;
                    from = q + 1;
                }
            }
            p = from - 1;  // a predecessor was found, or `p` would not have been reached
        }
        for (std::size_t i = 0, j = found_.size(); i + 1 < j; ++i) std::swap(found_[i], found_[--j]);
    }

    detail::order_positions<G> at_;
    detail::position_set<> members_, reached_;  // empty between questions
    std::size_t first_ = 0, behind_ = 0;        // the window
    std::vector<vertex_type> found_;
};

/// `set` as a convex subgraph, or, as the error, a path that leaves it and enters it again. For several questions a
/// `convexity` is cheaper. It takes O(V + edges within the window of the set) time and 4 bytes per index of scratch.
template <dependence_graph G, class Set = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Set, vertex_t<G>>
[[nodiscard]] expected<convex_subgraph<vertex_t<G>>, reentrant_path<vertex_t<G>>> check_convex(
    G g, const topological_order<vertex_t<G>>& order, Set&& set) {
    return convexity<G>(g, order).check(set);
}

/// The smallest convex superset of `set`, at the cost of check_convex.
template <dependence_graph G, class Set = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Set, vertex_t<G>>
[[nodiscard]] convex_subgraph<vertex_t<G>> convex_closure(G g, const topological_order<vertex_t<G>>& order, Set&& set) {
    convexity<G> finder(g, order);
    return detail::convex_subgraph_maker::make<vertex_t<G>>(finder.closure(set));
}

}  // namespace stretto

#endif
