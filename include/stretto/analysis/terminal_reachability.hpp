// Reachability among a few vertices, the terminals: usually the collectives of a step. The answers are a table with one
// bit per pair.
//
// Sweeps over the graph fill it. A sweep carries 512 bits per vertex, which say which of 512 terminals reach it.
#ifndef STRETTO_ANALYSIS_TERMINAL_REACHABILITY_HPP
#define STRETTO_ANALYSIS_TERMINAL_REACHABILITY_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto {

/// A table of which terminal reaches which; it does not access the graph once it is built. T terminals take T^2/16
/// bytes, half a table because no vertex reaches an earlier one, and 4 bytes per index. Building makes ceil(T/512)
/// sweeps, each from the first of its terminals to the last of all: O((V + E) T / 512) operations on 512 bits, with 64
/// bytes per index of scratch. The result is deterministic; there is no recursion and no hashing.
template <dependence_graph G>
class terminal_reachability {
public:
    using vertex_type = vertex_t<G>;

    /// `terminals` is a range of vertices of the order, each listed once.
    template <iterable_of<vertex_type> R>
    terminal_reachability(G g, const topological_order<vertex_type>& order, R&& terminals)
        : graph_(g), number_(g.index_bound(), none) {
        for (vertex_type v : terminals) {
            std::uint32_t& number = number_[detail::checked_index(g, v, number_.size())];
            STRETTO_ASSERT(number == none, "a terminal is given twice");
            number = 0;
        }
        std::vector<std::uint32_t> at;  // position of each terminal, ascending
        for (std::size_t p = 0; p < order.size(); ++p) {
            std::uint32_t& number = number_[detail::checked_index(g, order[p], number_.size())];
            if (number == none) continue;
            number = static_cast<std::uint32_t>(at.size());
            at.push_back(static_cast<std::uint32_t>(p));
        }
        size_ = at.size();
        words_.resize(row_begin(size_));
        if (size_ == 0) return;
        std::vector<lanes> reaching(g.index_bound());
        for (std::size_t first = 0; first < size_; first += lanes::count) sweep(order, at, first, reaching);
    }

    /// Whether there is a path from terminal `u` to terminal `v`. A terminal reaches itself. O(1). Precondition: both
    /// are terminals.
    [[nodiscard]] bool reaches(vertex_type u, vertex_type v) const {
        return reaches_number(number_of(u), number_of(v));
    }
    /// The same for the numbers of two terminals, which avoids the lookups.
    [[nodiscard]] bool reaches_number(std::size_t from, std::size_t to) const {
        STRETTO_ASSERT(from < size_ && to < size_, "this is not the number of a terminal");
        return from <= to && ((words_[row_begin(to) + from / 64] >> (from % 64)) & 1u);
    }
    /// The number of a terminal. Terminals are numbered from 0 in topological order.
    [[nodiscard]] std::size_t number_of(vertex_type v) const {
        const std::uint32_t number = number_[detail::checked_index(graph_, v, number_.size())];
        STRETTO_ASSERT(number != none, "this vertex is no terminal");
        return number;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The size of the table and of the numbers, in bytes.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return words_.size() * sizeof(std::uint64_t) + number_.size() * sizeof(std::uint32_t);
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// The bits that one sweep carries for one vertex: one cache line.
    struct alignas(64) lanes {
        static constexpr std::size_t words = 8, count = 64 * words;
        std::uint64_t word[words] = {};
    };

    /// Where the row of a terminal begins. The row says which terminals reach that terminal, and ends with the word
    /// that contains its own bit.
    static std::size_t row_begin(std::size_t number) {
        const std::size_t word = number / 64;
        return 32 * word * (word + 1) + number % 64 * (word + 1);
    }

    /// Carries terminal `first` and the 511 after it through the graph, and writes their column of words into all rows.
    void sweep(const topological_order<vertex_type>& order, const std::vector<std::uint32_t>& at, std::size_t first,
               std::vector<lanes>& reaching) {
        if (first > 0)
            for (std::size_t p = at[first - lanes::count]; p < at[first]; ++p) reaching[graph_.index(order[p])] = {};
        std::size_t next = first;
        for (std::size_t p = at[first]; next < size_; ++p) {
            lanes all;
            for (vertex_type u : graph_.predecessors(order[p])) {
                const lanes& before = reaching[detail::checked_index(graph_, u, reaching.size())];
                for (std::size_t k = 0; k < lanes::words; ++k) all.word[k] |= before.word[k];
            }
            if (p == at[next]) {
                if (const std::size_t lane = next - first; lane < lanes::count)
                    all.word[lane / 64] |= std::uint64_t{1} << (lane % 64);
                const std::size_t row = row_begin(next);
                for (std::size_t k = 0, word = first / 64; k < lanes::words && word <= next / 64; ++k, ++word)
                    words_[row + word] = all.word[k];
                ++next;
            }
            reaching[graph_.index(order[p])] = all;
        }
    }

    G graph_;
    std::vector<std::uint32_t> number_;  // by index
    std::vector<std::uint64_t> words_;
    std::size_t size_ = 0;
};

}  // namespace stretto

#endif
