// Rule kinds of operations that are complete blocks of a network, such as attention, and of operations without a rule:
// custom kernels, and operations that the dialect does not know. any_rule.hpp includes this header, because a
// default-constructed rule is `unknown`.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_BLOCKS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Attention over sequences, forward or backward. The sequences of a batch are independent, but the rows of a sequence
/// are not. Operands and results with at least three dimensions are cut along the batch, dimension 0; other operands
/// (random state) are shared. An operand of extent 1 in that dimension is broadcast over the batch and may be whole.
/// O(operands).
struct attention {
    bool drops = false;  ///< has random dropout, which is refused: chunks would draw different random numbers

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

/// Runs on whole values only. `why` is the predicate of the refusal; its text must live as long as the program.
struct refused {
    std::string_view why = "is a kernel of the program's own: what it does with rows is not known";

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const { return c.refuse_itself(why); }
};

/// An operation that the dialect does not know. The refusal contains its name.
struct unknown {
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const {
        chunk_verdict v{false, c.orders->say("no rule for", c.name.empty() ? "this operation" : c.name)};
        v.inherent = true;
        return v;
    }
};

inline chunk_verdict attention::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (drops) return c.refuse_itself("drops at random: chunks would draw other numbers");
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        const chunk_state& s = c.state(k);
        if (is_addend(s)) return c.refuse(detail::not_linear);
        if (is_cut(s) && (s.what != chunk_kind::sliced || s.dim != 0))
            return c.refuse_itself("would need the keys and values of all chunks: chunk it along the batch");
    }
    constexpr chunk_state sequences{chunk_kind::sliced, 0, 0, 0, 0};
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (c.is_tensor(k) && is_whole(c.state(k)) && c.shape(k).size() >= 3 && c.extent(k, 0) != 1)
            return c.want(k, 0, sequences);
    for (std::size_t j = 0; j < c.results.size(); ++j)
        c.results[j] = c.result_types[j].shape.size() >= 3 ? sequences : chunk_state{};
    return {};
}

}  // namespace stretto::chunk_rules

#endif
