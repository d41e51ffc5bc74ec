// Runs a tensor program on small tensors: the oracle for every transform of such programs. It takes any dataflow_graph
// with a tensor_model, knows each operator by name, and simulates the ranks in lock step: a vertex runs on all ranks
// before the next one runs. It knows nothing of chunks, buckets or schedules, so if two forms of a program agree here,
// they agree because of what they compute and not because of how they were made.
//
// Floats are doubles, sums run in the order of positions, and a matrix product adds its products in ascending order of
// the contracted dimension. Sums over ranks go round rings, so their order depends on where an element lies. On
// integer-valued data, everything that only adds and multiplies is exact as long as no number exceeds 2^53.
#ifndef STRETTO_ATEN_INTERPRETER_HPP
#define STRETTO_ATEN_INTERPRETER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_inputs.hpp"
#include "stretto/aten/detail/interpreter_program.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/aten/tensor.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/outlives_call.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto::aten {

namespace detail {

/// A flat program, and the names of its vertices, to which its nodes refer.
struct program_of_graph {
    program flat;
    std::vector<std::string> names;
};

/// Returns the vertices of `order` as a flat program whose values are numbered. O(V + uses). Precondition: the order
/// lists the producer of every operand.
template <class G, class Order, class O, class T>
program_of_graph flatten(const G& view, const Order& order, const O& ops, const T& tensors) {
    program_of_graph made;
    value_numbering<G> numbers(view);
    std::size_t count = 0;
    for (const vertex_t<G> v : order) {
        (void)numbers.add(v);
        ++count;
    }
    made.flat.values = numbers.size();
    made.names.reserve(count);
    made.flat.nodes.reserve(count);
    for (const vertex_t<G> v : order) {
        program_node node;
        node.vertex = view.index(v);
        node.kind = ops.kind(v);
        if (node.kind == op_kind::start) node.group = group_of<G>(ops, v);
        node.operation = tensors.operation(v);
        node.positional = tensors.arguments(v);
        node.named = tensors.named_arguments(v);
        node.first_result = numbers.first(v);
        for (const value_t<G> x : view.results(v)) node.recorded.push_back(tensors.components(x));
        for (const value_t<G> x : view.operands(v)) {
            node.operands.push_back(numbers.number(x));
            STRETTO_ASSERT(node.operands.back() != numbers.none, "the order does not list what produces an operand");
        }
        if constexpr (requires { std::string_view(tensors.name(v)); }) made.names.emplace_back(tensors.name(v));
        else made.names.push_back("vertex " + std::to_string(node.vertex));
        node.name = made.names.back();
        made.flat.nodes.push_back(std::move(node));
    }
    return made;
}

}  // namespace detail

/// Runs the vertices of `view` in the order of `order`, which lists each vertex once, after those on which it depends.
/// `input_of(v)` returns the value of input vertex v as a range with one interpreted_value for each rank. The range is
/// read after the call, so it must refer to memory that lives on: a reference or a span compiles, and a std::vector by
/// value does not. Inputs are copied, so that the program cannot change the caller's tensors. If the model has a member
/// `tensors.name(v)`, messages use that name for v.
///
/// The first failure ends the run: an unknown operator, operands that do not fit, a result that does not have its
/// recorded type, split sizes on which ranks disagree, or data of a collective that is read before its wait. Operators
/// that only read shapes (sym_size, zeros_like, ...) may read a value that is in flight. The result is deterministic.
/// Values are dropped after their last use unless options.keep_everything is set.
template <dataflow_graph G, class Order, op_model<G> O, tensor_model<G> T, class InputOf>
    requires indexed_graph<G>
[[nodiscard]] expected<interpretation, interpretation_failure> interpret_in_order(G view, const Order& order, O ops,
                                                                                  T tensors, InputOf input_of,
                                                                                  const interpreter_options& options) {
    static_assert(outlives_call<decltype(input_of(std::declval<vertex_t<G>&>())), std::span<const interpreted_value>>,
                  "input_of(v) returns a reference or a span, whose memory outlives the call");
    const detail::program_of_graph made = detail::flatten(view, order, ops, tensors);
    std::vector<vertex_t<G>> vertices;
    for (const vertex_t<G> v : order) vertices.push_back(v);
    detail::program_run<> run(made.flat, options);
    expected<interpretation, interpretation_failure> done =
        run.run([&](std::size_t n) -> std::span<const interpreted_value> { return input_of(vertices[n]); });
    if (done) detail::sort_by_vertex(done->inputs);
    return done;
}

/// Runs all vertices of `view` in program order; see interpret_in_order.
template <dataflow_graph G, op_model<G> O, tensor_model<G> T, class InputOf>
    requires indexed_graph<G>
[[nodiscard]] expected<interpretation, interpretation_failure> interpret(G view, O ops, T tensors, InputOf input_of,
                                                                         const interpreter_options& options) {
    return interpret_in_order(view, view.vertices(), ops, tensors, input_of, options);
}

/// Makes small inputs for every input vertex from its recorded type, indexed by index of the vertex, then by rank.
/// `adjust(v, rank, value)` may change or replace any of them.
///
/// Floats are small multiples of 1/8 (integers if options.whole_numbers is set). Integers are in the range that their
/// use needs: rows of a table if an embedding reads them, classes if a loss does, positions if a gather does, and 0 or
/// 1 otherwise. An integer without dimensions that is no position is the number of tokens of all ranks. Complex numbers
/// are on the unit circle. Integers, and inputs that a collective gathers, differ from rank to rank; all others are
/// replicated. The same seed always gives the same inputs.
template <dataflow_graph G, op_model<G> O, tensor_model<G> T, class Adjust>
    requires indexed_graph<G>
[[nodiscard]] std::vector<std::vector<interpreted_value>> make_inputs(G view, O ops, T tensors,
                                                                      const input_options& options, Adjust adjust) {
    const detail::program_of_graph made = detail::flatten(view, view.vertices(), ops, tensors);
    std::vector<std::vector<interpreted_value>> inputs = detail::make_inputs(made.flat, view.index_bound(), options);
    for (const vertex_t<G> v : view.vertices())
        for (std::size_t rank = 0; ops.kind(v) == op_kind::input && rank < options.ranks; ++rank)
            adjust(v, rank, inputs[view.index(v)][rank]);
    return inputs;
}
/// Makes the same inputs without adjusting them.
template <dataflow_graph G, op_model<G> O, tensor_model<G> T>
    requires indexed_graph<G>
[[nodiscard]] std::vector<std::vector<interpreted_value>> make_inputs(G view, O ops, T tensors,
                                                                      const input_options& options) {
    return make_inputs(view, ops, tensors, options, [](const vertex_t<G>&, std::size_t, interpreted_value&) {});
}

}  // namespace stretto::aten

#endif
