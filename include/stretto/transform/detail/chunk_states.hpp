// What the search of plan_chunks has found so far: which candidates run per chunk, and the chunk state of every value.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_STATES_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_STATES_HPP

#include <cstdint>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/detail/chunk_program.hpp"

namespace stretto::detail {

/// The candidates of all regions that run per chunk, and the states of their results. The state of a component has a
/// meaning only if the operation that produces it runs per chunk. Every other value is whole, or is cut along its
/// `token_dim` where a region reads it. The program must outlive this object.
struct chunk_states {
    explicit chunk_states(const chunk_program& program) : p(program) {
        body.assign(p.size(), false);
        chain.assign(p.size(), false);
        state.resize(p.first_component.back());
    }

    const chunk_program& p;
    std::vector<char> body;          // by vertex: it runs per chunk
    std::vector<char> chain;         // by vertex: its chunks may write, one after the other, memory that they all share
    std::vector<chunk_state> state;  // by component

    /// Whether u and v run per chunk, in the same region.
    [[nodiscard]] bool together(std::uint32_t u, std::uint32_t v) const {
        return body[u] && body[v] && p.region[u] == p.region[v];
    }
    /// Whether an operation that runs per chunk in region r produces x.
    [[nodiscard]] bool made_in(std::uint32_t r, std::uint32_t x) const {
        return body[p.producer[x]] && p.region[p.producer[x]] == r;
    }
    /// The state of component c of value x, as an operation of region r sees it.
    [[nodiscard]] chunk_state seen_in(std::uint32_t r, std::uint32_t x, std::uint32_t c) const {
        if (made_in(r, x)) return state[c];
        if (p.token_dim[x] < 0) return {};
        return {chunk_state::kind::sliced, p.token_dim[x], 0};
    }
    /// Calls f(value, state) for each component of the operands of v, in order, as its region sees them.
    template <class F>
    void for_each_operand(std::uint32_t v, F f) const {
        for (std::uint32_t x : p.operands[v])
            for (std::uint32_t c = p.first_component[x]; c < p.first_component[x + 1]; ++c)
                f(x, seen_in(p.region[v], x, c));
    }

    /// The state of the first component that v produces. Precondition: v has a result.
    [[nodiscard]] chunk_state& first_state(std::uint32_t v) { return state[p.first_component[p.first_result[v]]]; }
    /// The position among the operands of v of the value that v writes; the number of operands if it is none of them.
    /// Precondition: v writes a value.
    [[nodiscard]] std::uint32_t chained_operand(std::uint32_t v) const {
        std::uint32_t k = 0;
        for (std::uint32_t x : p.operands[v]) {
            if (x == p.writes[v][0]) break;
            ++k;
        }
        return k;
    }
};

}  // namespace stretto::detail

#endif
