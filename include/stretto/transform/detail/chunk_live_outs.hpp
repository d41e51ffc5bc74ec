// Decides whether values that leave a region can be recombined from their parts.
//
// Such a value must be one that is recombined in a known way, it must have arrived, and it must not be written any
// more. Otherwise the operation that produces it must run whole, and then its operands leave the region too.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_LIVE_OUTS_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_LIVE_OUTS_HPP

#include <cstdint>
#include <optional>
#include <utility>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_program.hpp"
#include "stretto/transform/detail/chunk_states.hpp"

namespace stretto::detail {

/// Checks the operations that run per chunk for uses of their results outside their regions. `waits` lists the waits of
/// each start. The arguments must outlive this object.
class chunk_live_outs {
public:
    chunk_live_outs(const chunk_states& states, const index_lists& waits) : p_(states.p), s_(states), waits_(waits) {}

    /// Returns why v cannot run per chunk as the states are now; nothing if it can. Precondition: v runs per chunk.
    /// O(uses of the results of v, and writes of their storages).
    [[nodiscard]] std::optional<chunk_fault> fault_of(std::uint32_t v) const {
        using reason = chunk_reason;
        if (!s_.together(p_.launch[v], v)) return chunk_fault{reason::left_in_flight, p_.launch[v], v, {}};
        for (std::uint32_t w : waits_[v])
            if (!s_.together(w, v)) return chunk_fault{reason::left_in_flight, v, w, {}};
        for (std::uint32_t x = p_.first_result[v]; x < p_.first_result[v + 1]; ++x) {
            std::uint32_t last_write = 0;
            for (std::uint32_t w : p_.writers[p_.storage[x]]) {
                if (s_.chain[v]) break;  // a chain leaves no parts: its memory is whole for every reader and writer
                if (!s_.together(w, v)) return chunk_fault{reason::written_outside, v, w, {}};
                last_write = w;
            }
            bool first = true;  // whether u is the first reader outside
            for (std::uint32_t u : p_.readers[x]) {
                if (s_.together(u, v)) continue;
                if (!waits_[v].empty() || (std::exchange(first, false) && !has_arrived(x, u)))
                    return chunk_fault{reason::left_in_flight, v, u, {}};
                if (!is_known(x)) return chunk_fault{reason::unknown_live_out, v, u, {}};
                if (u < last_write) return chunk_fault{reason::read_between_writes, v, u, {}};
            }
        }
        return std::nullopt;
    }

private:
    /// Whether all collectives that fill the memory of x have been waited for where the parts of x are recombined:
    /// right after x or, if the memory is written in place, before u, its first reader outside. A collective without a
    /// wait never arrives. A value that is the same in all chunks is not recombined, so it need not have arrived.
    [[nodiscard]] bool has_arrived(std::uint32_t x, std::uint32_t u) const {
        if (s_.state[p_.first_component[x]].what == chunk_state::kind::whole) return true;
        const std::uint32_t m = p_.storage[x], v = p_.producer[x];
        const std::uint32_t last = p_.writers[m].empty() ? v : u - 1;
        for (std::uint32_t start : p_.launches[m]) {
            if (start > last) break;
            if (waits_[start].empty() || waits_[start].back() > last) return false;
        }
        return true;
    }

    /// Whether the parts of x can be recombined. This is not known of values with several components, and integers that
    /// count rows from the first row of their chunk cannot be.
    [[nodiscard]] bool is_known(std::uint32_t x) const {
        using kind = chunk_state::kind;
        const chunk_state& s = s_.state[p_.first_component[x]];
        if (p_.components(x) != 1) return false;
        return s.what == kind::sliced ? s.positions == 0 && s.into == 0
                                      : s.what == kind::whole || s.what == kind::addend;
    }

    const chunk_program& p_;
    const chunk_states& s_;
    const index_lists& waits_;
};

}  // namespace stretto::detail

#endif
