// views::numbered gives dense numbers to an IR that has none. The numbers live in a `numbering`, a hash table that is
// built once; the view only points to it. This is the library's only hash table, and it is never iterated in hash
// order: the numbers follow program order.
#ifndef STRETTO_VIEWS_NUMBERED_HPP
#define STRETTO_VIEWS_NUMBERED_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/views/adaptor.hpp"

namespace stretto {

/// Hashes the bytes of a handle. A handle that has padding, or whose equality is not equality of its bytes, needs a
/// hash function of its own.
template <handle V>
struct byte_hash {
    std::size_t operator()(const V& v) const noexcept {
        static_assert(std::has_unique_object_representations_v<V>,
                      "equal handles may differ in their bytes: give numbering a hash of your own");
        struct image {
            unsigned char byte[sizeof(V)];
        };
        const image copy = std::bit_cast<image>(v);
        std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
        for (unsigned char b : copy.byte) h = (h ^ b) * 0x100000001b3u;
        return static_cast<std::size_t>(h ^ (h >> 32));
    }
};

/// The position of every vertex in program order. It takes O(V) expected time to build and O(1) expected time per
/// query. It becomes stale when the graph changes; `renumber` updates it, and `epoch` counts how often that was done.
template <handle V, class Hash = byte_hash<V>>
class numbering {
public:
    // The first condition excludes copies. Without it, the compiler would check whether a numbering is a graph when it
    // is copied, and for that whether it can be copied.
    template <class G>
        requires(!std::same_as<G, numbering> && vertex_list_graph<G>)
    explicit numbering(G g, Hash hash = {}) : hash_(hash) {
        renumber(g);
    }

    /// Assigns the numbers 0, 1, 2, … in the order of `g.vertices()`, and increments `epoch`. O(V) expected time.
    /// Precondition: `g` lists each vertex once.
    template <vertex_list_graph G>
    void renumber(G g) {
        std::vector<V> order;
        for (V v : g.vertices()) order.push_back(v);
        size_ = static_cast<std::uint32_t>(order.size());
        // The table is at most half full, so that a probe for an unknown vertex ends.
        slots_.assign(std::bit_ceil(2 * order.size() + 1), slot{});
        for (std::uint32_t i = 0; i < size_; ++i) {
            slot& s = slots_[find(order[i])];
            STRETTO_ASSERT(s.number == unused, "vertices() lists a vertex twice");
            s = {order[i], i};
        }
        ++epoch_;
    }

    [[nodiscard]] bool contains(V v) const { return slots_[find(v)].number != unused; }
    /// The number of v. If v was not listed when the numbers were assigned, this is size(), which no vertex has.
    [[nodiscard]] std::size_t index(V v) const {
        const std::uint32_t number = slots_[find(v)].number;
        return number != unused ? number : size_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t epoch() const noexcept { return epoch_; }

private:
    static constexpr std::uint32_t unused = UINT32_MAX;
    struct slot {
        V vertex{};
        std::uint32_t number = unused;
    };

    /// The slot of `v`, or the free one where it belongs.
    std::size_t find(const V& v) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = hash_(v) & mask;
        while (slots_[i].number != unused && !(slots_[i].vertex == v)) i = (i + 1) & mask;
        return i;
    }

    std::vector<slot> slots_;
    std::uint32_t size_ = 0;
    std::size_t epoch_ = 0;
    Hash hash_;
};

template <vertex_list_graph G>
numbering(G) -> numbering<vertex_t<G>>;
template <vertex_list_graph G, class Hash>
numbering(G, Hash) -> numbering<vertex_t<G>, Hash>;

/// The base graph unchanged, values included, with numbers.
template <vertex_list_graph G, class Hash = byte_hash<vertex_t<G>>>
class numbered_view : public detail::everything_of_base<G> {
public:
    using typename detail::everything_of_base<G>::vertex_type;

    numbered_view(G g, const numbering<vertex_type, Hash>& numbers)
        : detail::everything_of_base<G>(g), numbers_(&numbers) {}

    std::size_t index(vertex_type v) const { return numbers_->index(v); }
    std::size_t index_bound() const { return numbers_->size(); }
    std::size_t epoch() const { return numbers_->epoch(); }

private:
    const numbering<vertex_type, Hash>* numbers_;
};

namespace views {

/// `g` with the numbers of `numbers`. The view refers to `numbers`, which must outlive it.
template <vertex_list_graph G, class Hash>
[[nodiscard]] numbered_view<G, Hash> numbered(G g, const numbering<vertex_t<G>, Hash>& numbers) {
    return {g, numbers};
}
template <vertex_list_graph G, class Hash>
void numbered(G g, const numbering<vertex_t<G>, Hash>&& numbers) = delete;

}  // namespace views
}  // namespace stretto

#endif
