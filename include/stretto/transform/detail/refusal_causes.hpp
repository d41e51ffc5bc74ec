// Which refusal of plan_chunks follows from which: one operation that cannot run per chunk leaves whole what it makes,
// and that keeps others from running per chunk. Whoever wants more in chunks must know where to begin.
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

/// The first refusal behind each value that is whole. Every operation must be followed in program order, in each round
/// of the search anew, until it is refused.
class refusal_causes {
public:
    static constexpr std::uint32_t none = chunk_program::none;

    explicit refusal_causes(const chunk_states& s)
        : s_(s), p_(s.p), cause_(p_.size(), none), summed_(p_.size(), none) {}

    /// What v makes is behind the same refusals as what it reads.
    void follow(std::uint32_t v) {
        if (!any_) return;
        cause_[v] = first_of_operands(cause_, v);
        summed_[v] = first_of_operands(summed_, v);
    }

    /// Notes that v is refused, and returns the first refusal of the chain that led there, v itself if it begins one.
    /// It does if the reason is `inherent`, which means that v does what no rule allows, whatever it reads.
    /// `possible(operands, results)`: whether v could run per chunk on operands in these states.
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
        // A sum is whole in any case. That its operation cannot run per chunk hurts only where its shares are missed.
        if (why.why == chunk_reason::only_sums) summed_[v] = v;
        else cause_[v] = cause;
        return cause;
    }

private:
    /// The refusal, of those in the list, that left an operand of v whole, or an operand of what made it, and so on:
    /// cut again, its rows are those of no order but the tokens'. None if there is none.
    [[nodiscard]] std::uint32_t first_of_operands(const std::vector<std::uint32_t>& behind, std::uint32_t v) const {
        for (std::uint32_t x : p_.operands[v])
            if (behind[p_.producer[x]] != none) return behind[p_.producer[x]];
        return none;
    }
    /// The operation that ran once, on sums, and so made an operand of v whole, if v could run per chunk on the shares
    /// of the chunks instead: rows travel by the counts of a chunk, and not by those of all. None if there is none, or
    /// if shares would not help.
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
    bool any_ = false;                   // whether anything has been refused
    std::vector<std::uint32_t> cause_;   // the refusal that an operation follows from
    std::vector<std::uint32_t> summed_;  // the same, of what runs once, on sums
};

}  // namespace stretto::detail

#endif
