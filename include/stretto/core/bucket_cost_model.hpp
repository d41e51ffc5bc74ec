// The cost of merged collectives: the facts about a machine that decide whether merging pays off.
#ifndef STRETTO_CORE_BUCKET_COST_MODEL_HPP
#define STRETTO_CORE_BUCKET_COST_MODEL_HPP

#include <concepts>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/has_member.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

namespace detail {

namespace bucket_costs {

STRETTO_MEMBER_NAME(size_of);

}  // namespace bucket_costs

template <class C, class X>
concept has_size_as_documented = requires(const C& c, const X x) {
    { c.size_of(x) } -> std::convertible_to<bytes>;
};
// An optional member is either missing or as documented. It takes a value, which a graph need not have.
template <class C, class G>
concept size_of_returns_bytes = !dataflow_graph<G> || !bucket_costs::has_size_of<C, typename G::value_type> ||
                                has_size_as_documented<C, typename G::value_type>;

}  // namespace detail

/// `of_merged(v, payload)` is the time on the channel of a collective like the start v that sends `payload` bytes.
/// `of_moving(moved)` is the time of a kernel that reads and writes `moved` bytes in total, including its launch.
/// Neither is negative, and more bytes take no less time; `check_bucket_costs` checks both. A model may also have
/// `size_of(x)`, the bytes of a value that a pack would read in place of a cast, since a view allocates no bytes
/// itself.
template <class C, class G>
concept bucket_cost_model = graph_view<G> && requires(const C& c, vertex_t<G> v, bytes amount) {
    { c.of_merged(v, amount) } -> std::same_as<nanoseconds>;
    { c.of_moving(amount) } -> std::same_as<nanoseconds>;
} && detail::size_of_returns_bytes<C, G>;

/// The model for unknown costs: everything takes no time.
struct no_bucket_costs {
    template <class V>
    [[nodiscard]] constexpr nanoseconds of_merged(V, bytes) const noexcept {
        return {};
    }
    [[nodiscard]] constexpr nanoseconds of_moving(bytes) const noexcept { return {}; }
};

}  // namespace stretto

#endif
