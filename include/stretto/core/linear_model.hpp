// Which operations add, and which only lay out anew what others have made. It is all that has to be known of operators
// in order to move a linear collective across a sum.
#ifndef STRETTO_CORE_LINEAR_MODEL_HPP
#define STRETTO_CORE_LINEAR_MODEL_HPP

#include <concepts>
#include <cstdint>

#include "stretto/core/dataflow_concepts.hpp"

namespace stretto {

/// What the only result of an operation is, in terms of its operands.
enum class linear_kind : std::uint8_t {
    other,     ///< something else, or not known
    same,      ///< its only operand under another name: the same elements in the same shape
    relayout,  ///< every element of its only operand, once; where it goes follows from operator, arguments and shape
    sum,       ///< the sum of its two operands, element by element; all three have one shape and one element type
};

/// `linearity(v)` says what v computes. An operation that writes the sum into one of its operands is a sum as well; one
/// that multiplies an operand, broadcasts it or changes its element type is none, because the result of a rounded sum
/// is not the sum of rounded results. `alike(v, w)` is whether v and w are the same operator with the same arguments
/// besides their operands, on operands and with results of the same shapes and element types, one by one. So two
/// relayouts that are alike put elements in the same places, and two starts that are alike differ in their data alone.
/// alike is an equivalence.
template <class M, class G>
concept linear_model = dataflow_graph<G> && std::copy_constructible<M> &&
                       requires(const M& m, const typename G::vertex_type v, const typename G::vertex_type w) {
                           { m.linearity(v) } -> std::same_as<linear_kind>;
                           { m.alike(v, w) } -> std::convertible_to<bool>;
                       };

}  // namespace stretto

#endif
