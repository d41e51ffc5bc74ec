// What it takes that the host reads a number: until it has launched what comes behind, the lane of kernels is empty.
#ifndef STRETTO_SCHEDULE_COST_CHARGE_SYNCHRONISATION_HPP
#define STRETTO_SCHEDULE_COST_CHARGE_SYNCHRONISATION_HPP

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// An op model that charges for every `synchronises(v)`. A host that runs ahead of its device launches kernels while
/// others run, which costs nothing; after it has waited for a number there is nothing left to run, until the number has
/// come back and the next kernel has gone there. So the operation occupies the lane for that much longer, and a view
/// that synchronises becomes a kernel, since views take no time. Everything else is as the model says; without a
/// charge, that is everything. The memory of the operation must not depend on its being a view.
template <class M>
struct charge_synchronisation : M {
    nanoseconds charge;  ///< from the end of what the number depends on to the beginning of the next kernel

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
        // A sum that is too large stays the largest number there is, which graphs and captures refuse.
        if (charges(v)) own.count = std::min(own.count, INT64_MAX - charge.count) + charge.count;
        return own;
    }

private:
    template <class V>
    [[nodiscard]] bool charges(const V& v) const {
        if constexpr (detail::has_synchronises<M, V>) {
            const op_kind is = M::kind(v);  // of others nobody asks
            return charge.count > 0 && (is == op_kind::compute || is == op_kind::view) && M::synchronises(v);
        } else {
            return false;
        }
    }
};

}  // namespace stretto

#endif
