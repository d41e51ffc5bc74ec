// A fingerprint represents the order in which collectives are issued. Ranks compare fingerprints before they run, to
// detect that they would hang: if the ranks of a group issue its collectives in different orders, they wait forever.
#ifndef STRETTO_SCHEDULE_ORDER_FINGERPRINT_HPP
#define STRETTO_SCHEDULE_ORDER_FINGERPRINT_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// A fingerprint of 128 bits. It is a fixed function of integers: the same on every rank, with every compiler, and for
/// every byte order.
struct order_fingerprint {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr bool operator==(const order_fingerprint&, const order_fingerprint&) = default;
};

namespace detail {

/// Hashes 64-bit words, one after the other, to 128 bits: two multiply-rotate lanes that depend on each other, and the
/// finaliser of splitmix64 (Steele, Lea and Flood 2014) on each word.
class word_hash {
public:
    constexpr void add(std::uint64_t word) noexcept {
        const std::uint64_t mixed = finish(word + 0x9e3779b97f4a7c15u);
        a_ = std::rotl(a_ ^ mixed, 29) * 0xbf58476d1ce4e5b9u + b_;
        b_ = std::rotl(b_ + mixed, 37) * 0x94d049bb133111ebu ^ a_;
    }
    constexpr void add(const stretto::order_fingerprint& f) noexcept {
        add(f.high);
        add(f.low);
    }
    [[nodiscard]] constexpr stretto::order_fingerprint value() const noexcept {
        return {finish(a_ + b_), finish(a_ ^ ~b_)};
    }

private:
    static constexpr std::uint64_t finish(std::uint64_t x) noexcept {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }

    std::uint64_t a_ = 0x243f6a8885a308d3u, b_ = 0x13198a2e03707344u;  // digits of pi
};

}  // namespace detail

namespace detail {

/// Adds the properties of the start `t` on which ranks must agree when they launch it: kind, element type, logical id
/// and chunk. Properties that the op model omits count as equal.
inline void add_call(word_hash& hash, const task_graph& g, task_id t) {
    const call_identity who = g.identity.empty() ? call_identity{} : g.identity[t];
    hash.add(static_cast<std::uint64_t>(g.collective[t]) | static_cast<std::uint64_t>(who.element) << 8 |
             std::uint64_t{who.chunk} << 32);
    hash.add(who.logical_id);
}

}  // namespace detail

/// Returns the fingerprint of the collectives that `order` issues: for each group that it uses, in ascending order of
/// ids, the sequence of (kind, element type, logical id, chunk). Each entry also counts how often the host has waited
/// for a number before it, because ranks whose hosts wait between different launches can hang, too. Two orders, of one
/// graph or of two, have the same fingerprint if these sequences are the same for every group, and otherwise only if
/// the 128-bit hashes collide. The interleaving of collectives of different groups does not matter; durations and
/// payloads, on which ranks need not agree, do not matter either. Properties that an op model omits (`call`,
/// core/collective_call.hpp) count as equal. O(V + groups).
template <class = void>
[[nodiscard]] order_fingerprint fingerprint_of(const task_graph& g, std::span<const task_id> order) {
    struct sequence {
        detail::word_hash calls;
        std::uint64_t count = 0;
    };
    std::vector<sequence> of_group(g.groups);
    std::uint64_t held = 0;
    for (const task_id t : order) {
        held += g.holds_host(t);
        if (g.kind[t] != op_kind::start) continue;
        sequence& s = of_group[g.group[t]];
        detail::add_call(s.calls, g, t);
        if (held != 0) s.calls.add(held);
        ++s.count;
    }
    detail::word_hash all;
    for (std::size_t group = 0; group < of_group.size(); ++group) {
        if (of_group[group].count == 0) continue;
        all.add(group);
        all.add(of_group[group].count);
        all.add(of_group[group].calls.value());
    }
    return all.value();
}

}  // namespace stretto

#endif
