// What merged collectives cost: what must be known of a machine to say whether merging pays.
#ifndef STRETTO_CORE_BUCKET_COST_MODEL_HPP
#define STRETTO_CORE_BUCKET_COST_MODEL_HPP

#include <concepts>

#include "stretto/core/concepts.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// `of_merged(v, payload)` is the time on the channel of a collective like the start v that sends so many bytes.
/// `of_moving(moved)` is the time of a kernel that reads and writes so many bytes together, its launch included.
/// Neither is negative, and more bytes take no less time. `check_bucket_costs` checks it. A model may also say
/// `size_of(x)`, the bytes of a value that a pack would read in place of a cast: a view allocates none of its own.
template <class C, class G>
concept bucket_cost_model = graph_view<G> && requires(const C& c, vertex_t<G> v, bytes amount) {
    { c.of_merged(v, amount) } -> std::same_as<nanoseconds>;
    { c.of_moving(amount) } -> std::same_as<nanoseconds>;
};

/// Costs that are not known: everything takes no time.
struct no_bucket_costs {
    template <class V>
    [[nodiscard]] constexpr nanoseconds of_merged(V, bytes) const noexcept {
        return {};
    }
    [[nodiscard]] constexpr nanoseconds of_moving(bytes) const noexcept { return {}; }
};

}  // namespace stretto

#endif
