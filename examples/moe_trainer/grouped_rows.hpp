// The only rule kind that the trainer defines itself; all others are in stretto/transform/chunk_rules/.
#ifndef MOE_TRAINER_GROUPED_ROWS_HPP
#define MOE_TRAINER_GROUPED_ROWS_HPP

#include <cstddef>

#include "stretto/transform/chunk_rules/chunk_call.hpp"

namespace trainer {

/// The rule kind of operations on rows that are grouped by expert, where each row is computed by itself. The library
/// has none for them, because their last operand counts the rows of each group.
struct each_grouped_row {
    stretto::chunk_verdict verdict(const stretto::chunk_rules::chunk_call& c) const {
        using namespace stretto::chunk_rules;
        const std::size_t counts = c.operands.size() - 1;
        for (std::size_t k = 0; k < counts; ++k)
            if (!is_cut(c.state(k)) || c.state(k).dim != 0 || !(c.state(k) == c.state(0)))
                return c.refuse("needs rows of one order");
        return is_addend(c.state(counts)) ? c.give(c.state(0)) : c.refuse("needs the counts of the chunk's rows");
    }
};

}  // namespace trainer

#endif
