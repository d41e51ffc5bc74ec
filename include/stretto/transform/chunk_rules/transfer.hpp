// The rule kind of asynchronous moves to other memory, such as activations that are offloaded to the host and loaded
// again, and of the waits for them.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_TRANSFER_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_TRANSFER_HPP

#include <cstddef>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Returns the elements of operand `x` in other memory: an asynchronous move, or the wait for it. All states of `x`
/// pass. An operand in `sizes` must be the same in every chunk or count the rows of the chunk. Any other operand is
/// listed only to keep it alive until then; its elements are not read, so it may be in any state. O(sizes).
struct transfer {
    std::size_t x = 0;
    std::vector<std::size_t> sizes = {};  ///< for each extent, the operand that gives it, or no_operand; may be empty

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("sizes", sizes); }
};

inline chunk_verdict transfer::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::reads_unknown);
    const chunk_state& s = c.state(x);
    const bool fits = is_cut(s) ? detail::sizes_fit(c, sizes, s, static_cast<std::size_t>(s.dim))
                                : detail::sizes_shared(c, sizes, -1);
    return fits ? c.give(s) : c.refuse(detail::chunk_number);
}

}  // namespace stretto::chunk_rules

#endif
