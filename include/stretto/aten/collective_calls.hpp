// Reads the collectives of a program in the ATen dialect as calls: it decodes their kinds, reductions and split sizes
// from the names and the arguments of `_c10d_functional` operators. Code that merges, isolates or replays collectives
// reads a collective_call (core/collective_call.hpp) and never an operator's arguments.
#ifndef STRETTO_ATEN_COLLECTIVE_CALLS_HPP
#define STRETTO_ATEN_COLLECTIVE_CALLS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::aten {

/// Returns the reduction that PyTorch calls by this name; `unknown` for names such as "band" or "premul_sum".
[[nodiscard]] constexpr reduction_kind reduction_of(std::string_view name) noexcept {
    if (name == "sum") return reduction_kind::sum;
    if (name == "avg") return reduction_kind::average;
    if (name == "max") return reduction_kind::max;
    if (name == "min") return reduction_kind::min;
    if (name == "product") return reduction_kind::product;
    return reduction_kind::unknown;
}

/// Returns the collective that "_c10d_functional.NAME.OVERLOAD" launches; `other` for an operator that does not launch
/// any. The variants of NAME that work in place, write into a given tensor or launch several at once (NAME_, NAME_out,
/// NAME_coalesced) are the same collective.
[[nodiscard]] constexpr collective_kind collective_of_operator(std::string_view operation) noexcept {
    constexpr std::string_view home = "_c10d_functional.";
    if (!operation.starts_with(home)) return collective_kind::other;
    operation.remove_prefix(home.size());
    constexpr std::array<std::pair<std::string_view, collective_kind>, 4> names = {{
        {"all_gather_into_tensor", collective_kind::all_gather},
        {"reduce_scatter_tensor", collective_kind::reduce_scatter},
        {"all_reduce", collective_kind::all_reduce},
        {"all_to_all_single", collective_kind::all_to_all},
    }};
    for (const auto& [name, kind] : names) {
        if (!operation.starts_with(name)) continue;
        const std::string_view rest = operation.substr(name.size());
        if (rest.starts_with('.') || rest.starts_with("_.") || rest.starts_with("_out.") ||
            rest.starts_with("_coalesced"))
            return kind;
    }
    return collective_kind::other;
}

/// The calls of all starts of a program, decoded once. It owns the split sizes to which the calls refer, and does not
/// follow changes of the program.
class collective_calls {
public:
    /// The identity of a start: `logical_id` and `chunk` of its collective_call.
    struct identity {
        std::uint64_t logical_id = 0;
        std::uint32_t chunk = 0;
    };

    /// Reads every start of `view`. `identify(v)` returns the identity of the start v. The kind is that of the op
    /// model, or follows from the name of the operator where the model says `other`. Split sizes are integers, operands
    /// (measured while the step runs), or texts (symbolic, without a number). If the argument is left out or is no
    /// list, the shares are equal. O(V + arguments of starts) time and space.
    template <dataflow_graph G, op_model<G> O, tensor_model<G> T, class Identify>
        requires indexed_graph<G> && vertex_list_graph<G>
    [[nodiscard]] static collective_calls read(G view, const O& ops, const T& tensors, Identify identify) {
        collective_calls all;
        all.row_of_.assign(static_cast<std::size_t>(view.index_bound()), none);
        for (const vertex_t<G> v : view.vertices()) {
            if (ops.kind(v) != op_kind::start) continue;
            row r;
            r.kind = collective_of<G>(ops, v);
            if (r.kind == collective_kind::other) r.kind = collective_of_operator(tensors.operation(v));
            const arguments given{tensors.arguments(v), tensors.named_arguments(v)};
            if (!reduces(r.kind)) r.reduction = reduction_kind::none;
            else if (const tensor_argument* how = given.find(1, "reduce_op"); how != nullptr)
                r.reduction = reduction_of(how->text);
            for (const value_t<G> x : view.operands(v)) {
                for (const tensor_type& type : std::span<const tensor_type>(tensors.components(x))) {
                    r.element = type.element;
                    break;
                }
                break;
            }
            r.first_output = all.sizes_.size();
            if (r.kind == collective_kind::all_to_all) all.add_sizes(given.find(1, "output_split_sizes"));
            r.first_input = all.sizes_.size();
            if (r.kind == collective_kind::all_to_all) all.add_sizes(given.find(2, "input_split_sizes"));
            r.last = all.sizes_.size();
            const identity name = identify(v);
            r.logical_id = name.logical_id;
            r.chunk = name.chunk;
            all.row_of_[static_cast<std::size_t>(view.index(v))] = static_cast<std::uint32_t>(all.rows_.size());
            all.rows_.push_back(r);
        }
        return all;
    }

    /// Returns the call of the start with that index. Its spans are valid as long as this object exists. O(1).
    /// Precondition: the vertex with that index was a start when the program was read.
    [[nodiscard]] collective_call at(std::size_t index) const {
        STRETTO_ASSERT(index < row_of_.size() && row_of_[index] != none, "only a start makes a call");
        const row& r = rows_[row_of_[index]];
        const std::span<const split_size> sizes = sizes_;
        return {.kind = r.kind,
                .reduction = r.reduction,
                .element = r.element,
                .input_sizes = sizes.subspan(r.first_input, r.last - r.first_input),
                .output_sizes = sizes.subspan(r.first_output, r.first_input - r.first_output),
                .logical_id = r.logical_id,
                .chunk = r.chunk};
    }

    /// Returns the number of starts.
    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// The arguments of one operation.
    struct arguments {
        std::span<const tensor_argument> positional;
        std::span<const named_tensor_argument> named;

        /// Returns the argument at a position or with a name; null if it is left out.
        [[nodiscard]] const tensor_argument* find(std::size_t place, std::string_view name) const {
            if (place < positional.size()) return &positional[place];
            for (const named_tensor_argument& a : named)
                if (a.name == name) return &a.value;
            return nullptr;
        }
    };
    /// One start. Its split sizes are the ranges [first_output, first_input) and [first_input, last) of `sizes_`, not
    /// spans, because a growing vector would invalidate spans.
    struct row {
        collective_kind kind = collective_kind::other;
        reduction_kind reduction = reduction_kind::unknown;
        element_type element = element_type::other;
        std::uint32_t chunk = 0;
        std::uint64_t logical_id = 0;
        std::size_t first_output = 0, first_input = 0, last = 0;
    };

    /// Appends the split sizes that an argument spells. Appends nothing if the argument is left out or is not a list.
    void add_sizes(const tensor_argument* list) {
        if (list == nullptr || list->what != tensor_argument::form::list) return;
        for (const tensor_argument& a : list->items) {
            using form = split_size::form;
            if (a.what == tensor_argument::form::integer) sizes_.push_back({form::given, a.integer});
            else if (a.what == tensor_argument::form::operand) sizes_.push_back({form::measured, a.integer});
            else sizes_.push_back({form::symbolic, -1});
        }
    }

    std::vector<std::uint32_t> row_of_;  // by index of a vertex
    std::vector<row> rows_;
    std::vector<split_size> sizes_;
};

}  // namespace stretto::aten

#endif
