// Where the tokens of a captured step are if its inputs name none: at the all-to-alls that send each rank an amount of
// rows of its own. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_EXCHANGES_HPP
#define STRETTO_CAPTURE_CAPTURE_EXCHANGES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/analysis/cone.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto {

/// Tokens on their way to experts and back, forward or backward.
struct token_exchange {
    std::uint32_t dispatch;                 ///< the start that sends copies of the tokens to the ranks of their experts
    std::uint32_t combine;                  ///< the start that sends back what the experts have made of them
    token_dimension<std::uint32_t> tokens;  ///< what the copies are gathered from: a row is a token, or several
    std::int64_t rows;                      ///< the extent of that dimension
    std::vector<std::uint32_t> nodes;       ///< what depends on tokens, from these to those of the next one; ascending
};

namespace detail {

class exchange_finder {
public:
    using node_id = std::uint32_t;

    /// `order`: that of the program. All must outlive the finder.
    exchange_finder(const capture& step, const capture_tensors& tensors, const topological_order<node_id>& order)
        : step_(&step), tensors_(&tensors), cones_(capture_view{&step}, order) {}

    [[nodiscard]] std::vector<token_exchange> find() {
        std::vector<token_exchange> found;
        capture_fields fields(*step_);
        bool is_open = false;  // the last one has not come back yet
        for (node_id v = 0; v < step_->size(); ++v) {
            if (!exchanges_rows(v, fields)) continue;
            if (const auto gathered = gathered_from(v)) {
                if (is_open) found.pop_back();
                const node_id tokens = counted_from(*gathered, v);
                found.push_back({v, v, {tokens, 0}, rows(tokens), {}});
                is_open = true;
            } else if (is_open && depends_on(v, found.back().dispatch)) {
                found.back().combine = v;
                is_open = false;
            }
        }
        if (is_open) found.pop_back();
        collect_nodes(found);
        return found;
    }

private:
    /// Rows of real numbers, in amounts that the program measures or names, to and from all ranks.
    [[nodiscard]] bool exchanges_rows(node_id v, capture_fields& fields) const {
        if (step_->kind(v) != op_kind::start || step_->collective(v) != collective_kind::all_to_all) return false;
        if (rank(v) < 2 || step_->inputs(v).empty() || rank(step_->inputs(v)[0]) < 2) return false;
        if (!is_real(tensors_->components(v)[0].element)) return false;
        const std::span<const tensor_argument> args = tensors_->arguments(v);
        if (args.size() > 2 && !args[1].items.empty() && !args[2].items.empty()) return true;
        const std::vector<capture_tensor> outputs = fields.outputs(v);
        return !outputs[0].symbolic.empty() && extent_expression::has_symbols(outputs[0].symbolic[0]);
    }

    /// Where the copies that a start sends come from: the last value before it, over operands that are as wide and have
    /// as many rows, that has a row, or as many rows as each was copied, for every token. Nothing if there is none
    /// behind the collective before.
    [[nodiscard]] std::optional<node_id> gathered_from(node_id start) const {
        const std::int64_t copies = rows(step_->inputs(start)[0]), width = width_of(step_->inputs(start)[0]);
        std::vector<node_id> open{step_->inputs(start)[0]};
        std::optional<node_id> found;
        while (!open.empty()) {
            const node_id v = *std::max_element(open.begin(), open.end());
            std::erase(open, v);
            if (found && v < *found) break;
            if (step_->kind(v) == op_kind::start || step_->kind(v) == op_kind::wait) continue;
            for (node_id u : step_->inputs(v)) {
                if (rank(u) < 2 || width_of(u) != width) continue;
                const std::span<const std::int64_t> shape = tensors_->components(u)[0].shape;
                const std::int64_t outer =
                    std::accumulate(shape.begin(), shape.end() - 1, std::int64_t{1}, std::multiplies<>());
                const bool of_tokens = shape[0] > 1 && shape[0] < copies && copies % shape[0] == 0;
                if (of_tokens && (shape.size() == 2 || outer == copies)) found = std::max(found.value_or(0), u);
                else if (outer == copies) open.push_back(u);
            }
        }
        return found;
    }

    /// What the amounts of a start are computed from, too: `tokens`, or what that is a view of. `tokens` if they come
    /// from elsewhere, as backward.
    [[nodiscard]] node_id counted_from(node_id tokens, node_id start) {
        std::vector<node_id> names{tokens};
        while (step_->kind(names.back()) == op_kind::view && !step_->inputs(names.back()).empty()) {
            const node_id u = step_->inputs(names.back())[0];
            if (rank(u) < 2 || width_of(u) != width_of(tokens)) break;
            names.push_back(u);
        }
        const auto needed = cones_.down_set(step_->inputs(start).subspan(1), {names.back(), start});
        for (node_id x : names)
            if (std::binary_search(needed.begin(), needed.end(), x)) return x;
        return tokens;
    }

    [[nodiscard]] bool depends_on(node_id w, node_id v) {
        const std::array seeds{w};
        return cones_.down_set(seeds, {v, w + 1}).front() == v;
    }

    /// Hands every node that depends on tokens to the exchange whose tokens are the last ones before it.
    void collect_nodes(std::vector<token_exchange>& exchanges) {
        std::vector<node_id> tokens;
        for (const token_exchange& e : exchanges) tokens.push_back(e.tokens.value);
        std::size_t begun = 0;
        for (node_id v : cones_.up_set(tokens)) {
            while (begun < tokens.size() && tokens[begun] < v) ++begun;
            if (begun > 0 && step_->kind(v) != op_kind::output) exchanges[begun - 1].nodes.push_back(v);
        }
    }

    [[nodiscard]] static bool is_real(element_type e) noexcept {
        return e == element_type::f16 || e == element_type::bf16 || e == element_type::f32 || e == element_type::f64;
    }
    /// Dimensions of what is one tensor, else 0.
    [[nodiscard]] std::size_t rank(node_id v) const {
        const std::span<const tensor_type> made = tensors_->components(v);
        return made.size() == 1 ? made[0].shape.size() : 0;
    }
    [[nodiscard]] std::int64_t rows(node_id v) const { return tensors_->components(v)[0].shape.front(); }
    [[nodiscard]] std::int64_t width_of(node_id v) const { return tensors_->components(v)[0].shape.back(); }

    const capture* step_;
    const capture_tensors* tensors_;
    cone_finder<capture_view> cones_;
};

}  // namespace detail

/// The exchanges of a step, forward and backward, in program order. An exchange is a pair of all-to-alls of rows of
/// real numbers, in amounts that the program measures or, traced for one routing, names: one whose rows go back, over
/// operands of the same width, to a value that has a row for every token, or to what that is a view of if the program
/// counts rows from there; and the next one that depends on it and has no such value behind the collective before.
/// Their nodes and tokens are what plan_chunks asks for; backward keeps what forward has permuted, so both belong into
/// one region. Where a step tells its modules and the symbol of its tokens, transform/module_regions.hpp and
/// capture_tokens.hpp cut more than what lies around exchanges. O(nodes and edges), and those between dispatch and
/// combine once more.
[[nodiscard]] inline std::vector<token_exchange> token_exchanges(const capture& step, const capture_tensors& tensors) {
    const auto order = topological_sort(capture_view{&step});  // a capture is in one
    return detail::exchange_finder(step, tensors, *order).find();
}

}  // namespace stretto

#endif
