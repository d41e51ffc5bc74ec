// Verifies a chunk plan against the program for which it was made and the models of that program. The verifier shares
// no code with the planner, so it is an independent check of the planner's plans, and of plans that others make or
// edit.
#ifndef STRETTO_TRANSFORM_VERIFY_CHUNKS_HPP
#define STRETTO_TRANSFORM_VERIFY_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/verify_facts.hpp"
#include "stretto/transform/detail/verify_memory.hpp"
#include "stretto/transform/detail/verify_states.hpp"
#include "stretto/transform/detail/verify_structure.hpp"
#include "stretto/transform/verify_rules.hpp"

namespace stretto {

/// Facts about a correct plan.
struct verified_chunks {
    chunk_counts counts;
    std::size_t collectives = 0;  ///< the number of clones of starts

    /// A fingerprint of the order in which the clones of starts are launched, with their groups and chunks. Ranks that
    /// run the same program launch their collectives in the same order if their fingerprints are equal.
    std::uint64_t collective_order = 0;
    friend bool operator==(const verified_chunks&, const verified_chunks&) = default;
};

namespace detail {

/// The FNV-1a hash over 32-bit words.
class program_fingerprint {
public:
    void add(std::uint32_t word) {
        for (int shift = 0; shift < 32; shift += 8) hash_ = (hash_ ^ ((word >> shift) & 0xffu)) * 0x100000001b3u;
    }
    [[nodiscard]] std::uint64_t value() const { return hash_; }

private:
    std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace detail

/// Returns facts about the plan if it is correct. The error is the list of everything that is wrong with it: at least
/// one violation, in the order of the plan within each of three passes. Later passes are skipped if regions,
/// operations, splits and joins do not match the program. Handles in the plan are only compared, never dereferenced, so
/// any plan is a valid argument. Precondition: `g` lists its vertices in a topological order, and it lists the
/// producers of the operands of every operation that it lists.
///
/// The verifier trusts the models. It also trusts the rewriter: parts are views of the value that is split,
/// concatenations and sums are copies, and the clones of an operation take its position, chunk after chunk, as with
/// apply_chunks.
///
/// The result is deterministic. Takes O(V + E) time and one call of the chunk model for each chunked operation, plus
/// O(n log n) for the n states that name row orders. A storage that several regions write is examined once for each of
/// them.
template <dependence_graph G, op_model<G> M, chunk_model<G> C>
    requires dataflow_graph<G>
[[nodiscard]] expected<verified_chunks, std::vector<chunk_violation<vertex_t<G>>>> verify_chunks(
    const chunk_plan<vertex_t<G>, value_t<G>>& plan, G g, M model, C chunks) {
    std::vector<chunk_violation<vertex_t<G>>> found;
    const detail::verify_facts<G> facts = detail::gather_verify_facts(g, model, chunks);
    detail::verify_structure<G> structure(plan, facts, found);
    if (structure.match()) {
        detail::verify_states<G, C> states(structure, chunks);
        states.check();
        detail::verify_memory<G, C>(structure, states).check();
    }
    if (!found.empty()) return unexpected(std::move(found));

    verified_chunks verified;
    verified.counts = plan.counts();
    detail::program_fingerprint order;
    for (std::size_t k = 0; k < plan.operations.size(); ++k) {
        const std::uint32_t v = structure.vertex(k);
        if (facts.kind[v] != op_kind::start) continue;
        const chunked_operation<vertex_t<G>>& o = plan.operations[k];
        const std::size_t clones = o.clones(plan.regions[o.region].sizes.size());
        for (std::uint32_t chunk = 0; chunk < clones; ++chunk) {
            order.add(facts.group[v]);
            order.add(v);
            order.add(chunk);
        }
        verified.collectives += clones;
    }
    verified.collective_order = order.value();
    return verified;
}

}  // namespace stretto

#endif
