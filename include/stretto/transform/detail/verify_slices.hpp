// Keeps account of the values that a chunk plan recombines slice by slice. No operation recombines such a value: it is
// complete when every part has been written to its place in memory, once. verify_replay records the writes here.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_SLICES_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_SLICES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/detail/verify_structure.hpp"

namespace stretto::detail {

/// By join: whether its memory has been allocated, and which slices have been written.
template <class G>
class written_slices {
public:
    /// O(values). The structure, and the plan in it, must outlive this object.
    explicit written_slices(const verify_structure<G>& structure) : s_(structure) {
        const auto& plan = s_.plan();
        of_.resize(plan.joins.size());
        const verify_facts<G>& f = s_.facts();
        for (std::uint32_t x = 0; x < f.values.size(); ++x) {
            const std::uint32_t j = s_.join_of(x);
            if (j == verify_none || plan.joins[j].how != recombination::slices) continue;
            const std::size_t chunks = plan.regions[plan.joins[j].region].sizes.size();
            of_[j].value = x;
            of_[j].missing = static_cast<std::uint32_t>(plan.operations[s_.place(f.producer[x])].parts(chunks));
            of_[j].written.assign(of_[j].missing, false);
        }
    }

    /// The join that recombines this value slice by slice; verify_none if there is none. The search continues where the
    /// last one ended, so it takes one step per join if values are asked for in the order of the plan.
    [[nodiscard]] std::uint32_t find(const value_t<G>& value) {
        for (std::size_t k = 0; k < of_.size(); ++k) {
            if (of_[at_].value != verify_none && s_.plan().joins[at_].value == value) return at_;
            at_ = at_ + 1 < of_.size() ? at_ + 1 : 0;
        }
        return verify_none;
    }
    /// The value of a join that find() has returned. The members below require such a join.
    [[nodiscard]] std::uint32_t value(std::uint32_t join) const { return of_[join].value; }
    /// The number of slices that the value of a join has.
    [[nodiscard]] std::uint32_t count(std::uint32_t join) const {
        return static_cast<std::uint32_t>(of_[join].written.size());
    }
    /// Whether every slice has been written.
    [[nodiscard]] bool complete(std::uint32_t join) const { return of_[join].missing == 0; }

    /// Records that the memory of a value is allocated. Returns whether this is the first time.
    bool make(std::uint32_t join) {
        const bool first = !of_[join].made;
        of_[join].made = true;
        return first;
    }
    /// Records that a slice is written. Returns whether this is the first time. Precondition: slice < count(join).
    bool write(std::uint32_t join, std::uint32_t slice) {
        if (of_[join].written[slice]) return false;
        of_[join].written[slice] = true;
        --of_[join].missing;
        return true;
    }

    /// Calls `f(value)` for every value of which a slice has not been written.
    template <class F>
    void for_each_incomplete(F f) const {
        for (const memory& m : of_)
            if (m.value != verify_none && m.missing > 0) f(m.value);
    }

private:
    struct memory {
        std::uint32_t value = verify_none;  // verify_none for a join of another kind
        std::uint32_t missing = 0;          // slices that have not been written
        bool made = false;                  // whether it has been allocated
        std::vector<char> written = {};     // by slice
    };
    const verify_structure<G>& s_;
    std::vector<memory> of_;  // by join
    std::uint32_t at_ = 0;    // the join that was found last
};

}  // namespace stretto::detail

#endif
