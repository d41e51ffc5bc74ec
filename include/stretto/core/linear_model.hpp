// Which operations add, and which only change the layout of existing data. Nothing else must be known about operators
// in order to move a linear collective across a sum.
#ifndef STRETTO_CORE_LINEAR_MODEL_HPP
#define STRETTO_CORE_LINEAR_MODEL_HPP

#include <concepts>
#include <cstdint>

#include "stretto/core/dataflow_concepts.hpp"

namespace stretto {

/// How the only result of an operation relates to its operands.
enum class linear_kind : std::uint8_t {
    other,     ///< something else, or unknown
    same,      ///< its only operand under another name: the same elements in the same shape
    relayout,  ///< each element of its only operand once; operator, arguments and shape determine where it goes
    sum,       ///< the sum of its two operands, element by element; all three have one shape and one element type
};

/// `linearity(v)` says what v computes. An operation that writes the sum into one of its operands is a sum as well. An
/// operation that scales an operand, broadcasts it or changes its element type is not, because the sum of rounded
/// values is not the rounded sum. `alike(v, w)` says whether v and w are the same operator with the same arguments
/// besides their operands, on operands and with results of the same shapes and element types, one by one. So two
/// relayouts that are alike put elements in the same places, and two starts that are alike differ only in their data.
/// alike is an equivalence.
template <class M, class G>
concept linear_model = dataflow_graph<G> && std::copy_constructible<M> &&
                       requires(const M& m, const typename G::vertex_type v, const typename G::vertex_type w) {
                           { m.linearity(v) } -> std::same_as<linear_kind>;
                           { m.alike(v, w) } -> std::convertible_to<bool>;
                       };

}  // namespace stretto

#endif
