// Infers the roles of a step's inputs from how they are used, if nothing states them. A captured step seldom
// distinguishes parameters from activations, but a shard of a parameter is gathered before anything is computed from
// it.
#ifndef STRETTO_ANALYSIS_INFER_INPUT_ROLES_HPP
#define STRETTO_ANALYSIS_INFER_INPUT_ROLES_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/input_role_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto {

/// Why an input got its role.
enum class role_reason : std::uint8_t {
    gathered,  ///< a parameter: it is gathered, directly or after casts, views and pads of it alone
    written,   ///< a buffer: its memory is written, and it is not gathered
    unknown,   ///< other: its role cannot be inferred
};

/// The inputs of a step with the inferred roles, in program order: an input_role_model that also gives the evidence.
template <dataflow_graph G>
    requires indexed_graph<G>
class inferred_input_roles {
public:
    struct input {
        value_t<G> value;
        input_role role = input_role::other;
        role_reason why = role_reason::unknown;
        vertex_t<G> witness;  ///< the collective that gathers it, or the operation that writes it; else its producer
        std::uint32_t place = no_place;
    };

    inferred_input_roles(value_numbering<G> numbers, std::vector<input> inputs)
        : numbers_(std::move(numbers)), inputs_(std::move(inputs)) {}

    [[nodiscard]] const std::vector<input>& inputs() const noexcept { return inputs_; }
    [[nodiscard]] input_role role(value_t<G> x) const {
        const input* const i = find(x);
        return i == nullptr ? input_role::other : i->role;
    }
    [[nodiscard]] std::uint32_t place(value_t<G> x) const {
        const input* const i = find(x);
        return i == nullptr ? no_place : i->place;
    }
    [[nodiscard]] std::size_t count(role_reason why) const noexcept {
        std::size_t n = 0;
        for (const input& i : inputs_) n += i.why == why;
        return n;
    }

private:
    [[nodiscard]] const input* find(value_t<G> x) const {
        const std::uint32_t k = numbers_.number(x);
        return k < inputs_.size() ? &inputs_[k] : nullptr;
    }

    value_numbering<G> numbers_;  // inputs only, so a number is a position in inputs_
    std::vector<input> inputs_;
};

/// Infers roles. An input is a parameter if an all-gather with a single operand sends it, or sends a value made from it
/// by a sequence of kernels and views with a single operand each. Its place in the registration order is its place
/// among the inputs, which is the order in which frameworks pass parameters. An input that is not gathered, and is
/// written in place, directly or through views, is a buffer. All others are `other`, including parameters that are not
/// sharded.
///
/// The inference can be wrong if an activation is passed in and gathered unchanged, as sequence parallelism may do in a
/// backward step; if you know the roles, write a model of your own. Precondition: `g` lists its vertices in a
/// topological order. Deterministic. O(V + E).
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] inferred_input_roles<G> infer_input_roles(G g, const M& model) {
    using input = typename inferred_input_roles<G>::input;
    constexpr std::uint32_t none = UINT32_MAX;
    value_numbering<G> numbers(g);
    std::vector<input> inputs;
    for (vertex_t<G> v : g.vertices()) {
        if (model.kind(v) != op_kind::input) continue;
        for (value_t<G> x : g.results(v)) inputs.push_back({x, input_role::other, role_reason::unknown, v, no_place});
        numbers.add(v);
    }
    const value_numbering<G> all = number_values(g);
    std::vector<std::uint32_t> made_of(all.size(), none);  // by value: the only input from which it is made
    std::vector<std::uint32_t> part_of(all.size(), none);  // by value: the input whose memory it shares
    for (vertex_t<G> v : g.vertices()) {
        const op_kind kind = model.kind(v);
        for_each_effect<G>(model, v, [&](value_t<G> x) {
            const std::uint32_t i = part_of[all.number(x)];
            if (i != none && inputs[i].why == role_reason::unknown)
                inputs[i] = {inputs[i].value, input_role::buffer, role_reason::written, v, no_place};
        });
        if (kind == op_kind::input) {
            for (value_t<G> x : g.results(v)) made_of[all.number(x)] = part_of[all.number(x)] = numbers.number(x);
            continue;
        }
        std::size_t operands = 0;
        std::uint32_t source = none;
        for (value_t<G> x : g.operands(v)) {
            ++operands;
            source = made_of[all.number(x)];
        }
        if (operands != 1) source = none;
        if (kind == op_kind::start && source != none && collective_of<G>(model, v) == collective_kind::all_gather &&
            inputs[source].why != role_reason::gathered)
            inputs[source] = {inputs[source].value, input_role::parameter, role_reason::gathered, v, source};
        const bool passes = kind == op_kind::compute || kind == op_kind::view;
        for (value_t<G> x : g.results(v)) {
            if (passes) made_of[all.number(x)] = source;
            for_each_alias<G>(model, x, [&](value_t<G> y) {
                if (const std::uint32_t i = part_of[all.number(y)]; i != none) part_of[all.number(x)] = i;
            });
        }
    }
    return {std::move(numbers), std::move(inputs)};
}

}  // namespace stretto

#endif
