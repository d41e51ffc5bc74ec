// Generates valid inputs for a program, for make_inputs in stretto/aten/interpreter.hpp: integers are in the ranges
// that their readers require.
//
// A captured program has shapes but no data. Any random floats are valid, but an integer that is a row number must lie
// within its table, and one that counts tokens must agree with the shapes. So the uses of every input are followed
// through views and copies to the operators that use it as an index, and the shapes of their tables give the bound.
// Inputs that are equal on all ranks in training (weights that are not sharded) are equal here too; otherwise a correct
// transform that relies on it would seem wrong.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_INPUTS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_INPUTS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_program.hpp"
#include "stretto/aten/detail/interpreter_sorting.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten {

/// How inputs are made.
struct input_options {
    std::size_t ranks = 1;
    std::uint64_t seed = 1;
    bool whole_numbers = false;       ///< floats are small integers
    std::int64_t integers_below = 0;  ///< a bound for every integer except counts of tokens; 0 for none
};

namespace detail {

/// Sorts entries by their vertices; entries of the same vertex keep their order.
template <class = void>
void sort_by_vertex(std::vector<interpreted_entry>& entries) {
    std::vector<std::int64_t> order;
    for (std::size_t k = 0; k < entries.size(); ++k) order.push_back(static_cast<std::int64_t>(k));
    const auto vertex = [&](std::int64_t k) { return entries[static_cast<std::size_t>(k)].vertex; };
    sort_stably(order, [&](std::int64_t a, std::int64_t b) { return vertex(a) < vertex(b); });
    std::vector<interpreted_entry> sorted_entries;
    for (const std::int64_t k : order) sorted_entries.push_back(std::move(entries[static_cast<std::size_t>(k)]));
    entries = std::move(sorted_entries);
}

/// Returns a pseudo-random hash that is injective (splitmix64).
template <class = void>
std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// How the readers of a value use it, directly or through views and copies.
struct input_use {
    std::int64_t range = 0;  ///< its integers must be less than this; 0 if no reader gives a bound
    bool gathered = false;   ///< a collective gathers it, so every rank has a different part
};
/// Finds the uses of values in a program.
class input_uses {
public:
    /// Lists the readers and the recorded types of all values. O(nodes + operands). The program must outlive this
    /// object.
    explicit input_uses(const program& p) : program_(p), readers_(p.values), seen_(p.values, 0) {
        for (std::size_t n = 0; n < p.nodes.size(); ++n)
            for (const std::uint32_t x : p.nodes[n].operands) readers_[x].push_back(n);
        recorded_.resize(p.values);
        for (const program_node& node : p.nodes)
            for (std::uint32_t k = 0; k < node.recorded.size(); ++k)
                recorded_[node.first_result + k] = node.recorded[k];
    }
    /// Returns the use of one value. O(readers that it reaches through views and copies). `round_` numbers the queries,
    /// so that the marks of earlier queries need not be cleared.
    [[nodiscard]] input_use of(std::uint32_t value) {
        input_use use;
        ++round_;
        todo_.assign(1, value);
        seen_[value] = round_;
        while (!todo_.empty()) {
            const std::uint32_t x = todo_.back();
            todo_.pop_back();
            for (const std::size_t n : readers_[x]) look(program_.nodes[n], x, use);
        }
        return use;
    }

private:
    /// Returns whether readers of the results of this operation effectively read its operands.
    static bool passes_on(const program_node& node) {
        constexpr std::string_view copies[] = {"aten.clone.", "aten._to_copy.", "aten.slice.", "aten.cat.", "prims."};
        if (node.kind == op_kind::view || node.kind == op_kind::wait) return true;
        for (const std::string_view c : copies)
            if (node.operation.starts_with(c)) return true;
        return false;
    }
    /// Returns the recorded extent of a dimension of an operand; 0 if there is none.
    std::int64_t extent(const program_node& node, std::size_t operand, std::int64_t dim) const {
        if (operand >= node.operands.size()) return 0;
        const std::span<const tensor_type> t = recorded_[node.operands[operand]];
        if (t.empty() || t[0].shape.empty()) return 0;
        const auto rank = static_cast<std::int64_t>(t[0].shape.size());
        if (dim < 0) dim += rank;
        return dim >= 0 && dim < rank ? t[0].shape[static_cast<std::size_t>(dim)] : 0;
    }
    /// Returns argument 1, which is named `dim`, of an operator on positions of one dimension; 0 if it is no constant.
    static std::int64_t dim_of(const program_node& node) {
        const tensor_argument* dim = node.positional.size() > 1 ? &node.positional[1] : nullptr;
        for (const named_tensor_argument& a : node.named)
            if (dim == nullptr && a.name == "dim") dim = &a.value;
        return dim != nullptr && dim->what == tensor_argument::form::integer ? dim->integer : 0;
    }
    /// Returns the extent of the dimension of operand 0 that `x` indexes: argument 1, which is named `indices`, lists
    /// an index, or nothing, for each dimension. A mask stands for as many dimensions as it has. The result is the
    /// smallest extent if `x` is listed several times, and 0 if it is not.
    std::int64_t indexed_extent(const program_node& node, std::uint32_t x) const {
        std::span<const tensor_argument> items;
        if (node.positional.size() > 1) items = node.positional[1].items;
        for (const named_tensor_argument& a : node.named)
            if (items.empty() && a.name == "indices") items = a.value.items;
        std::int64_t dim = 0, smallest = 0;
        for (const tensor_argument& item : items) {
            std::int64_t dims = 1;
            const auto k = static_cast<std::size_t>(item.integer);
            if (item.what == tensor_argument::form::operand && k < node.operands.size()) {
                const std::span<const tensor_type> type = recorded_[node.operands[k]];
                if (!type.empty() && type[0].element == element_type::boolean)
                    dims = static_cast<std::int64_t>(type[0].shape.size());
                const std::int64_t own = node.operands[k] == x ? extent(node, 0, dim) : 0;
                if (own > 0 && (smallest == 0 || own < smallest)) smallest = own;
            }
            dim += dims;
        }
        return smallest;
    }
    /// Adds what one reader says about value `x`, and follows its results if it passes the value on.
    void look(const program_node& node, std::uint32_t x, input_use& use) {
        const std::string_view op = node.operation;
        // In each of these operators the first operand is the table, whose values are not positions. All other operands
        // are treated as positions, unless a list says which are, because the bound does no harm to the others.
        const bool first = !node.operands.empty() && node.operands[0] == x;
        std::int64_t range = 0;
        use.gathered = use.gathered || (node.kind == op_kind::start && op.find("all_gather") != std::string_view::npos);
        if (op.starts_with("aten.embedding.") && !first) range = extent(node, 0, 0);
        if (op.starts_with("aten.nll_loss_forward.") && !first) range = extent(node, 0, -1);
        if ((op.starts_with("aten.gather.") || op.starts_with("aten.scatter") || op.starts_with("aten.index_")) &&
            !op.starts_with("aten.index_put") && !first)
            range = extent(node, 0, dim_of(node));
        if (op.starts_with("aten.index.") || op.starts_with("aten.index_put")) range = indexed_extent(node, x);
        if (range > 0 && (use.range == 0 || range < use.range)) use.range = range;
        if (!passes_on(node) || node.recorded.empty() || node.recorded[0].empty()) return;
        for (std::uint32_t k = 0; k < node.recorded.size(); ++k) {
            if (seen_[node.first_result + k] == round_) continue;
            seen_[node.first_result + k] = round_;
            todo_.push_back(node.first_result + k);
        }
    }

    const program& program_;
    std::vector<std::vector<std::size_t>> readers_;
    std::vector<std::span<const tensor_type>> recorded_;
    std::vector<std::uint32_t> seen_;
    std::vector<std::uint32_t> todo_;
    std::uint32_t round_ = 0;
};

/// Returns a tensor of pseudo-random elements: integers that are less than `range`; complex numbers as in tables of
/// rotations, by position and frequency; floats that are multiples of 1/8 from -1 to 1, or integers from -2 to 2 if
/// `whole` is set. Sums of products of two such floats are exact in doubles, so a changed order of summation makes no
/// difference, but a wrong operand does. `seed` and the position determine the element of a float or an integer tensor.
/// O(elements). Precondition: range > 0.
template <class = void>
tensor random_tensor(const tensor_type& type, std::int64_t range, std::uint64_t seed, bool whole) {
    tensor made(type.element, extents(type.shape.begin(), type.shape.end()));
    const auto n = static_cast<std::size_t>(made.elements());
    if (made.integral()) {
        std::vector<std::int64_t> x(n);
        for (std::size_t k = 0; k < n; ++k)
            x[k] = static_cast<std::int64_t>(mixed(seed + k) % static_cast<std::uint64_t>(range));
        made.assign<std::int64_t>(x);
    } else if (made.is_complex()) {  // a table of rotations: [position, frequency]
        std::vector<complex_number> x(n);
        const std::int64_t columns = made.rank() == 0 ? 1 : made.shape().back();
        for (std::size_t k = 0; k < n; ++k) {
            const auto row = static_cast<double>(static_cast<std::int64_t>(k) / columns);
            const auto column = static_cast<double>(static_cast<std::int64_t>(k) % columns);
            const double angle = row * std::pow(10000.0, -column / static_cast<double>(columns));
            x[k] = {std::cos(angle), std::sin(angle)};
        }
        made.assign<complex_number>(x);
    } else {
        std::vector<double> x(n);
        for (std::size_t k = 0; k < n; ++k) {
            const auto step = static_cast<std::int64_t>(mixed(seed + k) % (whole ? 5 : 17)) - (whole ? 2 : 8);
            x[k] = static_cast<double>(step) / (whole ? 1 : 8);
        }
        made.assign<double>(x);
    }
    made.storage()->writes = 0;
    return made;
}

/// Returns the inputs of a program, by vertex and rank; `bound` exceeds every vertex. Inputs that no collective gathers
/// are the same on all ranks, except for integers. An integer without dimensions and without a known range counts the
/// tokens of all ranks; the largest integer input gives the tokens of one rank.
template <class = void>
std::vector<std::vector<interpreted_value>> make_inputs(const program& p, std::size_t bound,
                                                        const input_options& options) {
    std::vector<std::vector<interpreted_value>> inputs(bound);
    input_uses uses(p);
    std::int64_t tokens = 1;
    for (const program_node& node : p.nodes)
        for (const std::span<const tensor_type> recorded : node.recorded)
            for (const tensor_type& t : recorded)
                if (node.kind == op_kind::input && class_of(t.element) == element_class::integer &&
                    product(t.shape) > tokens)
                    tokens = product(t.shape);
    std::uint64_t ordinal = 0;
    for (const program_node& node : p.nodes) {
        if (node.kind != op_kind::input) continue;
        ++ordinal;
        for (std::size_t rank = 0; rank < options.ranks; ++rank) {
            interpreted_value v;
            for (std::uint32_t k = 0; k < node.recorded.size(); ++k) {
                const input_use use = uses.of(node.first_result + k);
                for (const tensor_type& t : node.recorded[k]) {
                    const bool count =
                        class_of(t.element) == element_class::integer && t.shape.empty() && use.range == 0;
                    if (count) {
                        const std::int64_t all = tokens * static_cast<std::int64_t>(options.ranks);
                        v.tensors.push_back(tensor::of_integers(t.element, {}, {all}));
                        continue;
                    }
                    const bool differs = use.gathered || class_of(t.element) <= element_class::integer;
                    // The rank enters the seed only of inputs that may differ between ranks. The ordinal keeps the data
                    // of an input unchanged when a transform adds vertices before it.
                    std::uint64_t seed = mixed(options.seed) ^ mixed(ordinal << 20 | (differs ? rank : 0));
                    seed = mixed(seed + v.tensors.size());
                    std::int64_t range = use.range > 0 ? use.range : 2;
                    if (options.integers_below > 0 && options.integers_below < range) range = options.integers_below;
                    v.tensors.push_back(random_tensor(t, range, seed, options.whole_numbers));
                }
            }
            inputs[node.vertex].push_back(std::move(v));
        }
    }
    return inputs;
}

}  // namespace detail
}  // namespace stretto::aten

#endif
