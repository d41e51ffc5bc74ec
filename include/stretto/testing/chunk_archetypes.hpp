// Archetypes for chunking other than the chunk model: a dialect of rules, labels, and symbols of extents. They are
// separate from model_archetypes.hpp because including the rules makes a header several times as expensive.
#ifndef STRETTO_TESTING_CHUNK_ARCHETYPES_HPP
#define STRETTO_TESTING_CHUNK_ARCHETYPES_HPP

#include <span>

#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/value_history.hpp"
#include "stretto/transform/explain_chunks.hpp"
#include "stretto/transform/token_symbols.hpp"

namespace stretto::archetypes {

/// Models chunk_dialect, and no more: operation 4 combines its operands element by element, collectives pass on their
/// operands, and nothing is known about the others.
class dialect : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    chunk_rules::any_rule rule(vertex v) const {
        switch (detail::graph[detail::position(v)].kind) {
            case op_kind::start:
            case op_kind::wait:
                return chunk_rules::copy{};
            case op_kind::compute:
                if (detail::position(v) == 4) return chunk_rules::elementwise{};
                return {};
            default:
                return {};
        }
    }
    std::span<const tensor_type> components(value) const { return detail::four; }
};

/// Models chunk_labels, and no more.
class names : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    const char* name(vertex v) const {
        static constexpr const char* all[] = {"x", "gather", "weights", "both", "product", "send", "received", "out"};
        return v.where() == nullptr ? "nobody" : all[detail::position(v)];
    }
};

/// Models extent_symbol, and no more.
struct symbol {
    text name;
    number value;
};

static_assert(chunk_dialect<dialect, program>);
static_assert(chunk_labels<names, graph> && value_shapes<chunks, dataflow> && extent_symbol<symbol>);

}  // namespace stretto::archetypes

#endif
