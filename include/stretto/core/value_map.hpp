// Dense numbers for the values of a view, and maps keyed by value. Vertices have numbers of their own (`index`) but
// values do not, so algorithms that keep data about values number the results of one vertex after those of another.
#ifndef STRETTO_CORE_VALUE_MAP_HPP
#define STRETTO_CORE_VALUE_MAP_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"

namespace stretto {

/// Gives values the numbers 0, 1, 2, … The results of one vertex have consecutive numbers, in the order of
/// `results(v)`; vertices follow each other in the order in which `add` was called. A numbering can grow, so an
/// algorithm that walks a program can look up, at every point, the values that exist by then. It does not follow
/// changes of the graph.
///
/// It takes a handle per value and 8 bytes per index of the view, and uses no hashing.
template <dataflow_graph G>
    requires indexed_graph<G>
class value_numbering {
public:
    using number_type = std::uint32_t;
    static constexpr number_type none = UINT32_MAX;

    /// Starts without values.
    explicit value_numbering(G g) : graph_(g), results_of_(g.index_bound()) {}

    /// Numbers the results of `v` after all others. Returns the number of the first of them; if `v` has no results,
    /// that is the number of the next value. Precondition: index(v) is below the index_bound() at construction, and `v`
    /// was not added before.
    number_type add(vertex_t<G> v) {
        const std::size_t i = detail::checked_index(graph_, v, results_of_.size());
        STRETTO_ASSERT(results_of_[i].first == none, "a vertex is listed twice, or two have one index");
        const number_type first = size();
        for (value_t<G> x : graph_.results(v)) values_.push_back(x);
        results_of_[i] = {first, size()};
        return first;
    }

    /// The number of `x`; `none` if its producer was not added or does not list it. O(results of its producer).
    [[nodiscard]] number_type number(value_t<G> x) const {
        const std::size_t i = graph_.index(graph_.producer(x));
        if (i >= results_of_.size()) return none;
        for (number_type k = results_of_[i].first; k < results_of_[i].last; ++k)
            if (values_[k] == x) return k;
        return none;
    }
    /// The number of the first result of `v`, as `add` returned it; `none` if `v` was not added.
    [[nodiscard]] number_type first(vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        return i < results_of_.size() ? results_of_[i].first : none;
    }
    [[nodiscard]] bool contains(vertex_t<G> v) const { return first(v) != none; }

    /// The value with that number, which must be below size().
    [[nodiscard]] value_t<G> value(number_type number) const {
        STRETTO_ASSERT(number < values_.size(), "no value has this number");
        return values_[number];
    }
    /// All values: element k has number k.
    [[nodiscard]] const std::vector<value_t<G>>& values() const noexcept { return values_; }
    [[nodiscard]] number_type size() const noexcept { return static_cast<number_type>(values_.size()); }

private:
    struct range {
        number_type first = none, last = 0;  // empty for a vertex that was not added
    };

    G graph_;
    std::vector<range> results_of_;  // by index of a vertex
    std::vector<value_t<G>> values_;
};

/// The numbers of all values of `g`, in program order. O(V + values).
template <vertex_list_graph G>
    requires dataflow_graph<G> && indexed_graph<G>
[[nodiscard]] value_numbering<G> number_values(G g) {
    value_numbering<G> numbers(g);
    for (vertex_t<G> v : g.vertices()) numbers.add(v);
    return numbers;
}

/// Holds a `T` for every value that `numbers` knew when the map was made. `numbers` must outlive the map.
template <dataflow_graph G, class T>
class value_map {
public:
    explicit value_map(const value_numbering<G>& numbers, T initial = T())
        : numbers_(&numbers), values_(numbers.size(), std::move(initial)) {}
    explicit value_map(const value_numbering<G>&& numbers, T initial = T()) = delete;

    /// The element of `x`. O(results of its producer). Precondition: `x` had a number when the map was made.
    decltype(auto) operator[](value_t<G> x) { return values_[slot(x)]; }
    decltype(auto) operator[](value_t<G> x) const { return values_[slot(x)]; }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

private:
    std::size_t slot(value_t<G> x) const {
        const std::size_t i = numbers_->number(x);
        STRETTO_ASSERT(i < values_.size(), "the value has no number that this map was made for");
        return i;
    }
    const value_numbering<G>* numbers_;
    std::vector<T> values_;
};

}  // namespace stretto

#endif
