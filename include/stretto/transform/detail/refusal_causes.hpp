// Finds out which refusal of plan_chunks follows from which. The results of an operation that cannot run per chunk are
// whole, and that may keep other operations from running per chunk. Whoever wants more operations in chunks must begin
// with the first refusal of such a chain; chunk_causes.hpp reports it.
#ifndef STRETTO_TRANSFORM_DETAIL_REFUSAL_CAUSES_HPP
#define STRETTO_TRANSFORM_DETAIL_REFUSAL_CAUSES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_program.hpp"
#include "stretto/transform/detail/chunk_states.hpp"

namespace stretto::detail {

/// The first refusal behind each whole value. `follow` must be called for every operation that has not been refused, in
/// program order, in every sweep of the search. The states must outlive this object.
class refusal_causes {
public:
    static constexpr std::uint32_t none = chunk_program::none;

    explicit refusal_causes(const chunk_states& s)
        : s_(s), p_(s.p), cause_(p_.size(), none), summed_(p_.size(), none) {}

    /// Records that the results of v are behind the same refusals as its operands.
    void follow(std::uint32_t v) {
        if (!any_) return;
        cause_[v] = first_of_operands(cause_, v);
        summed_[v] = first_of_operands(summed_, v);
    }

    /// Records that v is refused. Returns the first refusal of the chain that led to this one; it is v itself if v
    /// begins the chain, for example because the refusal is `inherent`: v cannot run per chunk, whatever it reads.
    /// `possible(operands, results)` says whether v could run per chunk on operands in these states.
    template <class Possible>
    std::uint32_t note(std::uint32_t v, const chunk_fault& why, bool inherent, Possible possible) {
        any_ = true;
        std::uint32_t cause = none;
        if (why.why == chunk_reason::refused && !inherent) {
            cause = sum_that_is_missed(v, possible);
            if (cause == none) cause = first_of_operands(cause_, v);
        }
        for (std::uint32_t u : {why.vertex, why.other})
            if (cause == none && u != v && !s_.body[u] && p_.region[u] != chunk_program::no_region) cause = cause_[u];
        if (cause == none) cause = v;
        // An operation that runs once on sums is the cause of another refusal only if that needs the sum of one chunk.
        if (why.why == chunk_reason::only_sums) summed_[v] = v;
        else cause_[v] = cause;
        return cause;
    }

private:
    /// The entry of `behind` for the first operand of v that has one: the refusal because of which that operand, or a
    /// value that it derives from, is whole. Even if the operand is cut again, its rows are only in the order of the
    /// tokens. None if no operand has an entry.
    [[nodiscard]] std::uint32_t first_of_operands(const std::vector<std::uint32_t>& behind, std::uint32_t v) const {
        for (std::uint32_t x : p_.operands[v])
            if (behind[p_.producer[x]] != none) return behind[p_.producer[x]];
        return none;
    }
    /// The operation that runs once, on sums, and so makes an operand of v whole, if v could run per chunk on an addend
    /// instead: an exchange, for example, sends the rows of a chunk by the counts of that chunk and not by those of
    /// all. None if there is no such operation, or if addends would not help.
    template <class Possible>
    [[nodiscard]] std::uint32_t sum_that_is_missed(std::uint32_t v, Possible possible) const {
        std::uint32_t missed = none;
        std::vector<chunk_state> operands;
        s_.for_each_operand(v, [&](std::uint32_t x, chunk_state s) {
            const std::uint32_t sum = s.what == chunk_state::kind::whole ? summed_[p_.producer[x]] : none;
            if (missed == none) missed = sum;
            operands.push_back(sum != none ? chunk_state{chunk_state::kind::addend, -1, 0, 0, 0} : s);
        });
        if (missed == none) return none;
        const std::size_t made = p_.first_component[p_.first_result[v + 1]] - p_.first_component[p_.first_result[v]];
        std::vector<chunk_state> results(made, {chunk_state::kind::unset});
        return possible(operands, results) ? missed : none;
    }

    const chunk_states& s_;
    const chunk_program& p_;
    bool any_ = false;                   // whether any operation has been refused
    std::vector<std::uint32_t> cause_;   // by vertex: the refusal behind its results
    std::vector<std::uint32_t> summed_;  // the same for refusals of operations that run once, on sums
};

}  // namespace stretto::detail

#endif
