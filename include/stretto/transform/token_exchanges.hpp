// Finds the tokens of a step whose inputs do not name them. They are found at the all-to-alls in which each rank sends
// its own number of rows to every other rank. Mixture-of-experts layers send tokens to the ranks of their experts, and
// back, in this way.
#ifndef STRETTO_TRANSFORM_TOKEN_EXCHANGES_HPP
#define STRETTO_TRANSFORM_TOKEN_EXCHANGES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stretto/analysis/cone.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto {

/// The way of tokens to experts and back, in the forward or the backward pass.
template <handle V, handle X>
struct token_exchange {
    V dispatch;                 ///< the start that sends copies of the tokens to the ranks of their experts
    V combine;                  ///< the start that returns the results of the experts
    token_dimension<X> tokens;  ///< the rows from which the copies are gathered: one or more per token
    std::int64_t rows = 0;      ///< the extent of that dimension
    std::vector<V>
        vertices{};  ///< vertices that depend on these tokens, up to the tokens of the next exchange, in order
};

namespace detail {

/// Finds the exchanges in one walk along a topological order, and then the vertices of each.
template <dependence_graph G, op_model<G> Ops, tensor_model<G> Tensors>
    requires dataflow_graph<G>
class exchange_finder {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;
    using exchange = token_exchange<vertex_type, value_type>;

    /// Precondition: `order` outlives the finder.
    exchange_finder(G g, const topological_order<vertex_type>& order, const Ops& ops, const Tensors& tensors)
        : graph_(g), order_(&order), ops_(&ops), tensors_(&tensors), cones_(g, order), numbers_(g) {
        for (vertex_type v : order) numbers_.add(v);
    }

    [[nodiscard]] std::vector<exchange> find() {
        std::vector<exchange> found;
        bool is_open = false;  // the last exchange has no combine yet
        for (vertex_type v : *order_) {
            const std::optional<value_type> sent = rows_sent_by(v);
            if (!sent) continue;
            if (const auto gathered = gathered_from(*sent)) {
                if (is_open) found.pop_back();
                const value_type tokens = counted_from(*gathered, v);
                found.push_back({v, v, {tokens, 0}, rows(tokens)});
                is_open = true;
            } else if (is_open && depends_on(v, found.back().dispatch)) {
                found.back().combine = v;
                is_open = false;
            }
        }
        if (is_open) found.pop_back();
        collect_vertices(found);
        return found;
    }

private:
    using number_type = typename value_numbering<G>::number_type;

    /// Returns the value that v sends if v is an exchange: it sends rows of real numbers to all ranks, and receives
    /// rows from all ranks, in amounts that the program measures or names.
    [[nodiscard]] std::optional<value_type> rows_sent_by(vertex_type v) const {
        if (ops_->kind(v) != op_kind::start || collective_of<G>(*ops_, v) != collective_kind::all_to_all) return {};
        const std::optional<value_type> sent = first_of(graph_.operands(v)), received = first_of(graph_.results(v));
        if (!sent || !received || rank(*sent) < 2 || rank(*received) < 2 || !is_real(type_of(*received).element))
            return {};
        const collective_call call = call_of<G>(*ops_, v);
        const bool amounts = !call.input_sizes.empty() && !call.output_sizes.empty();
        if (!amounts && symbolic_extent_of<G>(*tensors_, *received, 0, 0).empty()) return {};
        return sent;
    }

    /// Returns the value from which the copies in `sent` are gathered. The search follows operands of equal width and
    /// with equally many rows, back to the previous collective. It finds the last value that has fewer rows than there
    /// are copies: one row per token or, with three or more dimensions, as many per token as there are copies of it.
    /// The result is empty if there is no such value.
    [[nodiscard]] std::optional<value_type> gathered_from(value_type sent) const {
        const std::int64_t copies = rows(sent), width = width_of(sent);
        std::vector<number_type> open{numbers_.number(sent)};
        std::optional<number_type> found;
        while (!open.empty()) {
            const number_type last = *std::max_element(open.begin(), open.end());
            std::erase(open, last);
            if (found && last < *found) break;
            const vertex_type v = graph_.producer(numbers_.value(last));
            if (ops_->kind(v) == op_kind::start || ops_->kind(v) == op_kind::wait) continue;
            for (value_type x : graph_.operands(v)) {
                if (rank(x) < 2 || width_of(x) != width) continue;
                const std::span<const std::int64_t> shape = type_of(x).shape;
                std::int64_t outer = 1;
                for (std::int64_t extent : shape.first(shape.size() - 1)) outer *= extent;
                const bool of_tokens = shape[0] > 1 && shape[0] < copies && copies % shape[0] == 0;
                const number_type n = numbers_.number(x);
                if (of_tokens && (shape.size() == 2 || outer == copies)) {
                    if (outer == copies || !reads_copies(v, x, copies)) found = std::max(found.value_or(0), n);
                } else if (outer == copies) {
                    open.push_back(n);
                }
            }
        }
        return found ? std::optional(numbers_.value(*found)) : std::nullopt;
    }

    /// Returns whether v reads copies other than x. If so, x is combined with copies (a weight, for example), and they
    /// are not gathered from it.
    [[nodiscard]] bool reads_copies(vertex_type v, value_type x, std::int64_t copies) const {
        for (value_type y : graph_.operands(v)) {
            if (y == x || rank(y) < 2 || !is_real(type_of(y).element)) continue;
            const std::span<const std::int64_t> shape = type_of(y).shape;
            std::int64_t outer = 1;
            for (std::int64_t extent : shape.first(shape.size() - 1)) outer *= extent;
            if (outer == copies) return true;
        }
        return false;
    }

    /// Returns the value from which the program also computes the amounts of a start: `tokens`, or a value of which
    /// `tokens` is a view. The result is `tokens` if the amounts have another origin, as in the backward pass.
    [[nodiscard]] value_type counted_from(value_type tokens, vertex_type start) {
        std::vector<value_type> names{tokens};
        while (true) {
            const vertex_type v = graph_.producer(names.back());
            if (ops_->kind(v) != op_kind::view) break;
            const std::optional<value_type> x = first_of(graph_.operands(v));
            if (!x || rank(*x) < 2 || width_of(*x) != width_of(tokens)) break;
            names.push_back(*x);
        }
        std::vector<vertex_type> amounts;  // producers of the operands after the first
        bool is_first = true;
        for (value_type x : graph_.operands(start)) {
            if (!is_first) amounts.push_back(graph_.producer(x));
            is_first = false;
        }
        const auto needed = cones_.down_set(amounts, {position_of(names.back()), cones_.position(start)});
        const auto is_before = [&](vertex_type v, std::size_t position) { return cones_.position(v) < position; };
        for (value_type x : names) {
            const std::size_t p = position_of(x);
            const auto at = std::lower_bound(needed.begin(), needed.end(), p, is_before);
            if (at != needed.end() && cones_.position(*at) == p) return x;
        }
        return tokens;
    }

    /// Returns whether w depends on v, which comes before it in the order.
    [[nodiscard]] bool depends_on(vertex_type w, vertex_type v) {
        const std::array seeds{w};
        return cones_.down_set(seeds, {cones_.position(v), cones_.position(w) + 1}).front() == v;
    }

    /// Assigns every vertex that depends on tokens to the exchange whose tokens are the last ones before it.
    void collect_vertices(std::vector<exchange>& exchanges) {
        std::vector<std::size_t> begins;
        std::vector<vertex_type> readers;
        for (const exchange& e : exchanges) {
            begins.push_back(position_of(e.tokens.value));
            for (vertex_type v : graph_.consumers(e.tokens.value)) readers.push_back(v);
        }
        std::size_t begun = 0;
        for (vertex_type v : cones_.up_set(readers)) {
            while (begun < begins.size() && begins[begun] < cones_.position(v)) ++begun;
            if (begun > 0 && ops_->kind(v) != op_kind::output) exchanges[begun - 1].vertices.push_back(v);
        }
    }

    template <class Values>
    [[nodiscard]] static std::optional<value_type> first_of(Values&& values) {
        for (value_type x : values) return x;
        return std::nullopt;
    }
    [[nodiscard]] static bool is_real(element_type e) noexcept {
        return e == element_type::f16 || e == element_type::bf16 || e == element_type::f32 || e == element_type::f64;
    }
    [[nodiscard]] std::size_t position_of(value_type x) const { return cones_.position(graph_.producer(x)); }
    [[nodiscard]] tensor_type type_of(value_type x) const {
        return std::span<const tensor_type>(tensors_->components(x))[0];
    }
    /// Returns the number of dimensions of a value that is one tensor; otherwise 0.
    [[nodiscard]] std::size_t rank(value_type x) const {
        const std::span<const tensor_type> made = tensors_->components(x);
        return made.size() == 1 ? made[0].shape.size() : 0;
    }
    /// The extents of the first and the last dimension. Precondition: rank(x) > 0.
    [[nodiscard]] std::int64_t rows(value_type x) const { return type_of(x).shape.front(); }
    [[nodiscard]] std::int64_t width_of(value_type x) const { return type_of(x).shape.back(); }

    G graph_;
    const topological_order<vertex_type>* order_;
    const Ops* ops_;
    const Tensors* tensors_;
    cone_finder<G> cones_;
    value_numbering<G> numbers_;  // ascending in `order`
};

}  // namespace detail

/// Returns the exchanges of a step, forward and backward, in the order `order`, which is a topological order of `g`. An
/// exchange is a pair of all-to-alls that send rows of real numbers. The amounts are measured by the program or, if it
/// was traced for one routing, are constants. From the first all-to-all, the dispatch, operands of equal width lead
/// back to a value that has a row for every token. If that value is a view, and the program counts rows from the viewed
/// value, the viewed value is used instead. The second all-to-all, the combine, is the next one that depends on the
/// dispatch and has no such value between itself and the previous collective. The first operand of a start is the value
/// that it sends, and its first result is the value that it receives.
///
/// With one expert per token (top-1 routing), there are as many copies as tokens. The shapes do not show then where
/// tokens become copies, and nothing is found: pass the token dimensions to plan_chunks yourself.
///
/// The amounts come from `call(v)` of the op model (a collective_call with the sizes for both directions), or from a
/// symbolic number of received rows. A program with neither has no exchanges.
///
/// The vertices and tokens of an exchange are suitable arguments of plan_chunks. The backward pass reads rows that the
/// forward pass has permuted, so put both into one region. If a step has modules (module_regions.hpp) and a symbol for
/// its tokens (token_symbols.hpp), larger regions than those around exchanges are possible. Takes O(V + E) time, and
/// visits the vertices between dispatch and combine a second time; the memory is 8 bytes per vertex index and a handle
/// per value.
template <dependence_graph G, op_model<G> Ops, tensor_model<G> Tensors>
    requires dataflow_graph<G>
[[nodiscard]] std::vector<token_exchange<vertex_t<G>, value_t<G>>> token_exchanges(
    G g, const topological_order<vertex_t<G>>& order, const Ops& ops, const Tensors& tensors) {
    return detail::exchange_finder<G, Ops, Tensors>(g, order, ops, tensors).find();
}

}  // namespace stretto

#endif
