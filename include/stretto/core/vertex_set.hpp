// A dense set of vertices, by the index of a view: one bit for each.
#ifndef STRETTO_CORE_VERTEX_SET_HPP
#define STRETTO_CORE_VERTEX_SET_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto {

/// A subset of the vertices of one view. It takes index_bound()/8 bytes and is valid until the graph is renumbered.
/// Union, intersection and difference work on 64 vertices at a time; both sides must come from views with the same
/// numbering. Precondition of the members that take a vertex: its index is below the index_bound() that the set was
/// made with.
template <indexed_graph G>
class vertex_set {
public:
    explicit vertex_set(G g) : graph_(g), words_((g.index_bound() + 63) / 64) {}

    [[nodiscard]] bool contains(vertex_t<G> v) const {
        const std::size_t i = slot(v);
        return (words_[i / 64] >> (i % 64)) & 1u;
    }
    /// Inserts `v` and returns whether it is new.
    bool insert(vertex_t<G> v) {
        const std::size_t i = slot(v);
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        const bool fresh = !(words_[i / 64] & bit);
        words_[i / 64] |= bit;
        return fresh;
    }
    void erase(vertex_t<G> v) {
        const std::size_t i = slot(v);
        words_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    void clear() {
        for (std::uint64_t& w : words_) w = 0;
    }
    /// The number of members. O(index_bound() / 64).
    [[nodiscard]] std::size_t size() const {
        std::size_t n = 0;
        for (std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
        return n;
    }
    [[nodiscard]] bool empty() const {
        for (std::uint64_t w : words_)
            if (w) return false;
        return true;
    }

    vertex_set& operator|=(const vertex_set& other) {
        return combine(other, [](std::uint64_t a, std::uint64_t b) { return a | b; });
    }
    vertex_set& operator&=(const vertex_set& other) {
        return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & b; });
    }
    vertex_set& operator-=(const vertex_set& other) {
        return combine(other, [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
    }
    friend bool operator==(const vertex_set& a, const vertex_set& b) { return a.words_ == b.words_; }

private:
    std::size_t slot(vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i / 64 < words_.size(), "vertex index is not below the index_bound() this set was made with");
        return i;
    }
    template <class F>
    vertex_set& combine(const vertex_set& other, F f) {
        STRETTO_ASSERT(words_.size() == other.words_.size(), "the two sets belong to differently numbered graphs");
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = f(words_[i], other.words_[i]);
        return *this;
    }

    G graph_;
    std::vector<std::uint64_t> words_;
};

}  // namespace stretto

#endif
