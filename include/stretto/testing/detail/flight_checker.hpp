// Finds operations that access memory which a collective has in flight: the rule of check_op_model that needs the whole
// program.
//
// A view and a model may be right for each operation, and the program may still be wrong: a kernel may read the result
// of a start instead of that of its wait. Nothing fails until a schedule delays the collective. So the program is
// replayed in program order, tracking the memory that every collective fills and reads from its start to its first
// wait.
#ifndef STRETTO_TESTING_DETAIL_FLIGHT_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_FLIGHT_CHECKER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// Replays one program. Memory is followed through aliases of aliases. Only kernels and starts access memory: views
/// read shapes, waits only wait, and the caller of the step may still have to wait for outputs. Preconditions:
/// check_graph finds nothing; launches, aliases and effects name only values that exist at that point.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
class flight_checker {
    using V = vertex_t<G>;
    using X = value_t<G>;

public:
    flight_checker(const G& g, const M& model) : g_(g), model_(model), values_(g) {}

    /// The first operation in program order that reads or writes what a collective in flight fills, or writes what one
    /// reads. The finding names it, and the start. O(V + E + aliases), times the memories that one value is in.
    finding check() {
        std::vector<std::size_t> position(g_.index_bound(), finding::none);
        for (V v : g_.vertices()) {
            position[g_.index(v)] = here_;
            const op_kind kind = model_.kind(v);
            if (kind == op_kind::wait) land(v, position);
            if (kind == op_kind::compute || kind == op_kind::start)
                if (finding f = touch(v); *f.rule) return f;
            add_results(v);
            if (kind == op_kind::start) launch(v);
            ++here_;
        }
        return {};
    }

private:
    using memories = std::vector<std::uint32_t>;

    /// The memories of x: that of its own, if it has any, and those of what it aliases. A memory has the number of the
    /// value that allocates it.
    [[nodiscard]] const memories& of(X x) const { return memories_[values_.number(x)]; }
    void add_results(V v) {
        values_.add(v);
        for (X x : g_.results(v)) {
            memories own;
            for_each_alias<G>(model_, x, [&](X y) {
                for (std::uint32_t m : of(y))
                    if (std::find(own.begin(), own.end(), m) == own.end()) own.push_back(m);
            });
            const auto number = static_cast<std::uint32_t>(memories_.size());
            if (own.empty() || allocation_of<G>(model_, x) > bytes{}) own.push_back(number);
            memories_.push_back(std::move(own));
            filled_by_.push_back(finding::none);
            read_by_.emplace_back();
        }
    }

    [[nodiscard]] finding touch(V v) const {
        for (X x : g_.operands(v))
            for (std::uint32_t m : of(x))
                if (filled_by_[m] != finding::none)
                    return {.rule = "in-flight",
                            .hint =
                                "the first reads what the collective of the second still has in flight, perhaps "
                                "through an alias; it must read the result of the wait, or stand behind the wait",
                            .vertex = here_,
                            .other = filled_by_[m]};
        finding f;
        for_each_effect<G>(model_, v, [&](X x) {
            if (*f.rule || values_.number(x) == value_numbering<G>::none) return;  // a result of its own
            for (std::uint32_t m : of(x)) {
                const std::size_t filling = filled_by_[m];
                if (filling == finding::none && read_by_[m].empty()) continue;
                f = {.rule = "in-flight",
                     .hint = "the first writes what the collective of the second still has in flight, or still reads",
                     .vertex = here_,
                     .other = filling != finding::none ? filling : read_by_[m].front()};
                return;
            }
        });
        return f;
    }

    /// Calls f for every memory that the collective of a start fills: those of its results and of what it writes in
    /// place.
    template <class F>
    void for_each_filled(V start, F f) const {
        for (X x : g_.results(start))
            for (std::uint32_t m : of(x)) f(m);
        for_each_effect<G>(model_, start, [&](X x) {
            for (std::uint32_t m : of(x)) f(m);
        });
    }
    /// Begins the flight of the collective that the operation at `here_` launches.
    void launch(V start) {
        for_each_filled(start, [&](std::uint32_t m) { filled_by_[m] = here_; });
        for (X x : g_.operands(start))
            for (std::uint32_t m : of(x)) read_by_[m].push_back(here_);
    }
    /// The first wait ends the flight; later ones find nothing to end.
    void land(V wait, const std::vector<std::size_t>& position) {
        const V start = launch_of<G>(g_, model_, wait);
        if (start == wait) return;
        const std::size_t flight = position[g_.index(start)];
        for_each_filled(start, [&](std::uint32_t m) {
            if (filled_by_[m] == flight) filled_by_[m] = finding::none;
        });
        for (X x : g_.operands(start))
            for (std::uint32_t m : of(x)) std::erase(read_by_[m], flight);
    }

    G g_;
    const M& model_;
    std::size_t here_ = 0;
    value_numbering<G> values_;                      // of the results so far
    std::vector<memories> memories_;                 // by value
    std::vector<std::size_t> filled_by_;             // by memory: the start that fills it, if one is in flight
    std::vector<std::vector<std::size_t>> read_by_;  // by memory: the starts in flight that read it
};

}  // namespace stretto::detail

#endif
