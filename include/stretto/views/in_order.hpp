// views::in_order: the same graph with its vertices listed in another order, such as that of a schedule. Algorithms
// that read program order then see the order in which the step will run.
#ifndef STRETTO_VIEWS_IN_ORDER_HPP
#define STRETTO_VIEWS_IN_ORDER_HPP

#include <span>
#include <vector>

#include "stretto/views/adaptor.hpp"

namespace stretto {

/// The base graph unchanged, values and numbers included, except that `vertices()` lists a given order.
template <graph_view G>
class ordered_view : public detail::everything_of_base<G> {
public:
    using typename detail::everything_of_base<G>::vertex_type;

    constexpr ordered_view(G g, std::span<const vertex_type> order) : detail::everything_of_base<G>(g), order_(order) {}

    [[nodiscard]] constexpr std::span<const vertex_type> vertices() const noexcept { return order_; }

private:
    std::span<const vertex_type> order_;
};

namespace views {

/// `g` with its vertices listed as in `order`. The view refers to the elements of `order`, which must outlive it; a
/// temporary vector is rejected at compile time. Precondition: `order` has every vertex of `g` once. Most algorithms
/// also need it to be topological. O(1).
template <graph_view G>
[[nodiscard]] constexpr ordered_view<G> in_order(G g, std::span<const vertex_t<G>> order) {
    return {g, order};
}
template <graph_view G>
void in_order(G g, const std::vector<vertex_t<G>>&& order) = delete;
template <graph_view G>
[[nodiscard]] constexpr ordered_view<G> in_order(G g, const std::vector<vertex_t<G>>& order) {
    return {g, order};
}

}  // namespace views
}  // namespace stretto

#endif
