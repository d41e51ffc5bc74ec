// A host that reads a number from the device leaves the lane empty until it has launched the next kernels. This model
// charges for that time.
#ifndef STRETTO_SCHEDULE_COST_CHARGE_SYNCHRONISATION_HPP
#define STRETTO_SCHEDULE_COST_CHARGE_SYNCHRONISATION_HPP

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// An op model that adds a charge for every `synchronises(v)`. A host that runs ahead of its device launches kernels
/// while others run, which costs nothing. After it has waited for a number, nothing is left to run until the number has
/// arrived and the next kernel has been launched. So the operation occupies the lane for that much longer. A view that
/// synchronises becomes a kernel, since views take no time. Everything else is as in `M`; with a charge of 0, nothing
/// changes. Precondition: the memory of the operation does not depend on its being a view.
template <class M>
struct charge_synchronisation : M {
    nanoseconds charge;  ///< the time from the end of the number's producer to the beginning of the next kernel

    charge_synchronisation(M model, nanoseconds each) : M(std::move(model)), charge(each) {}

    template <class V>
    [[nodiscard]] op_kind kind(const V& v) const {
        const op_kind is = M::kind(v);
        return is == op_kind::view && charges(v) ? op_kind::compute : is;
    }
    template <class V>
    [[nodiscard]] nanoseconds duration(const V& v) const {
        nanoseconds own;
        if constexpr (detail::has_duration<M, V>) own = M::duration(v);
        // Task graphs and captures refuse durations that are negative or INT64_MAX. So a sum that is too large
        // saturates, and a negative duration stays as it is: the charge must not hide either.
        if (own.count >= 0 && charges(v)) own.count = std::min(own.count, INT64_MAX - charge.count) + charge.count;
        return own;
    }

private:
    /// Returns whether the duration of `v` includes the charge.
    template <class V>
    [[nodiscard]] bool charges(const V& v) const {
        if constexpr (detail::has_synchronises<M, V>) {
            const op_kind is = M::kind(v);  // other kinds are not asked
            return charge.count > 0 && (is == op_kind::compute || is == op_kind::view) && M::synchronises(v);
        } else {
            return false;
        }
    }
};

}  // namespace stretto

#endif
