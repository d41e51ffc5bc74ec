// Whether what leaves a region can be recombined from its parts.
//
// A value that leaves a region must recombine in a known way, must have arrived, and must not change any more. If it
// does not, the operation that makes it runs whole, and what that reads leaves the region in turn.
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

/// Judges the operations that run per chunk by what becomes of their results outside of their regions. `waits` lists
/// the waits of each start. Keeps references to its arguments.
class chunk_live_outs {
public:
    chunk_live_outs(const chunk_states& states, const index_lists& waits) : p_(states.p), s_(states), waits_(waits) {}

    /// Why v cannot run per chunk as things are; nothing if it can. Precondition: v runs per chunk. O(uses of what v
    /// makes, and of the storages that it is in).
    [[nodiscard]] std::optional<chunk_fault> fault_of(std::uint32_t v) const {
        using reason = chunk_reason;
        if (!s_.together(p_.launch[v], v)) return chunk_fault{reason::left_in_flight, p_.launch[v], v, {}};
        for (std::uint32_t w : waits_[v])
            if (!s_.together(w, v)) return chunk_fault{reason::left_in_flight, v, w, {}};
        for (std::uint32_t x = p_.first_result[v]; x < p_.first_result[v + 1]; ++x) {
            std::uint32_t last_write = 0;
            for (std::uint32_t w : p_.writers[p_.storage[x]]) {
                if (s_.chain[v]) break;  // no parts: whoever writes or reads the memory finds it whole
                if (!s_.together(w, v)) return chunk_fault{reason::written_outside, v, w, {}};
                last_write = w;
            }
            bool first = true;  // of the readers outside
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
    /// Whether all collectives that bring parts of x have arrived where the parts are recombined: where x is made, or,
    /// if something writes its memory, in front of u, which is the first outside to read it. What nothing waits for
    /// never arrives. The same value in all chunks is not recombined.
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

    /// Whether the parts of x recombine to x. Integers that count rows from the first one of the chunk do not.
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
