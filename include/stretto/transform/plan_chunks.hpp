// Plans how to run regions of a program in chunks of their tokens.
//
// One sweep in program order propagates the chunk states of values (core/chunk_model.hpp) from the token dimensions
// through the candidates. An operation that does not depend on a token dimension stays whole, and all chunks share its
// result. An operation that does runs once per chunk. An operation that only passes sums of chunks on to the outside
// runs once, on the sum. This header knows no operator: the chunk model says how states propagate through an operation.
#ifndef STRETTO_TRANSFORM_PLAN_CHUNKS_HPP
#define STRETTO_TRANSFORM_PLAN_CHUNKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_program.hpp"
#include "stretto/transform/detail/chunk_request.hpp"
#include "stretto/transform/detail/chunk_states.hpp"
#include "stretto/transform/detail/chunk_sweep.hpp"

namespace stretto {

/// Choices of plan_chunks.
struct chunk_options {
    /// If true, operations that cannot run per chunk, or whose parts cannot be recombined, stay whole: the values that
    /// they read are recombined first, and the plan lists the operations as refused. Regions that no token reaches are
    /// listed as unreached, unless they have `kept` candidates. If false, each such operation or region is an error,
    /// except an operation that reads only sums, which runs once, on the sums. It is an error in both cases if there
    /// are unreached regions and tokens reach no other.
    bool skip_refused = false;

    /// If true, it is an error if a path leaves a region and enters it again. If false, the operations on that path
    /// wait for all chunks, and their results are split again; this is correct, but it hides no communication. The
    /// forward and backward passes of a layer are never convex as one region, because the loss lies between them.
    bool only_convex = false;

    /// If true, partial sums are added up before operations that convert their type (chunk_verdict::converts). The
    /// program then has fewer conversions, and the sums take less memory if the conversion widens the type, but they
    /// are rounded in the narrower type. If false, the parts are converted first.
    bool convert_sums = false;

    /// A value that consists of slices is written slice by slice if it has at least this many elements and its parts
    /// are not written in place. Smaller values are concatenated; the default concatenates all of them. For a different
    /// criterion, such as one in bytes, call choose_slices on the plan.
    std::int64_t slices_from = INT64_MAX;
};

namespace detail {

/// Translates a fault, which the sweep reports by number, into an error that names vertices of the graph.
template <class G>
[[nodiscard]] chunk_error<vertex_t<G>> error_of(const numbered_chunk_program<G>& n, const chunk_fault& f) {
    const std::uint32_t own = n.p.region[f.vertex];
    const std::uint32_t region = own != chunk_program::no_region ? own : n.p.region[f.other];
    return {f.why, region, n.vertices[f.vertex], n.vertices[f.other], f.detail, {}, f.component};
}

/// Returns `verdict`, which lets operation v run per chunk, unless its results cannot be in the given states. The
/// recorded shapes of a program may contradict its operators, and later steps index shapes by the dimensions in states.
template <class G, class C>
[[nodiscard]] chunk_verdict checked_verdict(const numbered_chunk_program<G>& n, const C& chunks, std::uint32_t v,
                                            std::int64_t tokens, std::span<const chunk_state> results,
                                            chunk_verdict verdict) {
    using kind = chunk_state::kind;
    const chunk_state* s = results.data();
    for (std::uint32_t x = n.p.first_result[v]; x < n.p.first_result[v + 1]; ++x) {
        const bool tensor = chunks.components_of(n.value_numbers.value(x)) != 0;
        for (std::uint32_t c = 0; c < n.p.components(x); ++c, ++s) {
            const bool cut = s->what == kind::sliced || s->what == kind::permuted;
            if (!cut && (s->what != kind::opaque || s->dim == -1)) continue;
            const auto dim = static_cast<std::size_t>(s->dim);
            if (!tensor || s->dim < 0 || dim >= chunks.rank(n.value_numbers.value(x), c))
                return {false, "its result would be cut along a dimension that the program does not record"};
            if (s->what == kind::sliced && chunks.extent(n.value_numbers.value(x), c, dim) % tokens != 0)
                return {false, "its result would be cut, and the recorded extent is no multiple of the tokens"};
        }
    }
    return verdict;
}

/// Writes the plan that the states of a finished search describe. The arguments must outlive it.
template <class G, class C>
class chunk_plan_writer {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    chunk_plan_writer(const numbered_chunk_program<G>& numbered, const C& chunks, const chunk_states& found,
                      chunk_plan<V, X>& plan)
        : n_(numbered), p_(numbered.p), chunks_(chunks), s_(found), plan_(plan), last_split_(n_.values(), none) {}

    /// Writes the refusals, the operations with their states, the splits and the joins.
    void write(const std::vector<chunk_refusal>& refusals) {
        for (const auto& [v, why, cause] : refusals)
            plan_.refused.push_back({n_.vertices[v], error_of(n_, why), n_.vertices[cause]});
        reserve();
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            if (!s_.body[v]) continue;
            chunked_operation<V> o;
            o.vertex = n_.vertices[v];
            o.region = p_.region[v];
            o.first_operand = count();
            for (std::uint32_t x : p_.operands[v]) write_operand(o.region, x);
            o.first_result = count();
            bool whole = true;
            for (std::uint32_t x = p_.first_result[v]; x < p_.first_result[v + 1]; ++x) {
                whole = write_result(x) && whole;
                write_join(v, x);
            }
            o.last_result = count();
            o.once = whole && o.first_result != o.last_result && p_.writes[v].empty();
            if (s_.chain[v]) o.chained = s_.chained_operand(v);
            o.sum_widens = !o.once && !o.is_chain() && only_summed(v) && detail::sum_widens(chunks_, o.vertex);
            plan_.operations.push_back(o);
        }
    }

private:
    static constexpr std::uint32_t none = chunk_program::none;

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(plan_.states.size()); }

    /// Reserves memory for operations as they usually are, with up to two operands and one result.
    void reserve() {
        const auto operations = static_cast<std::size_t>(std::count(s_.body.begin(), s_.body.end(), true));
        plan_.operations.reserve(operations);
        plan_.states.reserve(3 * operations);
    }
    /// Adds the states of an operand, and a split if this is the first operand in its region that reads the value
    /// split.
    void write_operand(std::uint32_t region, std::uint32_t x) {
        for (std::uint32_t c = p_.first_component[x]; c < p_.first_component[x + 1]; ++c)
            plan_.states.push_back(s_.seen_in(region, x, c));
        if (p_.token_dim[x] < 0 || s_.made_in(region, x)) return;
        for (std::uint32_t s = last_split_[x]; s != none; s = split_before_[s])
            if (plan_.splits[s].region == region) return;
        split_before_.push_back(last_split_[x]);
        last_split_[x] = static_cast<std::uint32_t>(plan_.splits.size());
        plan_.splits.push_back({n_.value(x), region, static_cast<std::uint32_t>(p_.token_dim[x])});
    }

    /// Adds the states of a result. Returns whether all its components are whole.
    bool write_result(std::uint32_t x) {
        bool whole = true;
        for (std::uint32_t c = p_.first_component[x]; c < p_.first_component[x + 1]; ++c) {
            plan_.states.push_back(s_.state[c]);
            whole = whole && s_.state[c].what == chunk_state::kind::whole;
        }
        return whole;
    }

    /// Whether all that is made of the result of v is the sum of its parts, right after the last of them, and v itself
    /// makes each part of one part of another value. The sum can then read the latter at the same place.
    [[nodiscard]] bool only_summed(std::uint32_t v) const {
        const auto one = [&](std::uint32_t x) {
            return p_.components(x) == 1 && s_.made_in(p_.region[v], x) &&
                   s_.state[p_.first_component[x]].what == chunk_state::kind::addend;
        };
        const std::uint32_t x = p_.first_result[v];
        return p_.operands[v].size() == 1 && p_.first_result[v + 1] == x + 1 && one(p_.operands[v][0]) && one(x) &&
               !p_.readers[x].empty() && p_.writers[p_.storage[x]].empty() &&
               std::ranges::none_of(p_.readers[x], [&](std::uint32_t u) { return s_.together(u, v); });
    }

    /// Adds a join if the value is read outside its region.
    void write_join(std::uint32_t v, std::uint32_t x) {
        const chunk_state s = s_.state[p_.first_component[x]];
        chunk_join<V, X> join{n_.value(x), p_.region[v], recombination::first, static_cast<std::uint32_t>(s.dim), {}};
        for (std::uint32_t u : p_.readers[x])
            if (!s_.together(u, v) && (join.readers.empty() || !(join.readers.back() == n_.vertices[u])))
                join.readers.push_back(n_.vertices[u]);
        if (join.readers.empty()) return;
        if (s.what == chunk_state::kind::sliced) join.how = recombination::concat;
        if (s.what == chunk_state::kind::addend) join.how = recombination::sum;
        join.late = join.how != recombination::first && !p_.writers[p_.storage[x]].empty();
        plan_.joins.push_back(std::move(join));
    }

    const numbered_chunk_program<G>& n_;
    const chunk_program& p_;
    const C& chunks_;
    const chunk_states& s_;
    chunk_plan<V, X>& plan_;
    std::vector<std::uint32_t> last_split_;    // by value, in any region
    std::vector<std::uint32_t> split_before_;  // by split: the previous split of the same value
};

}  // namespace detail

/// Returns a plan, or the reason why there is none; the program does not change. Chunks without rows are left out, and
/// a region with a single chunk stays as it is. An operation stays whole if it has a dependence that no value carries,
/// that is, a predecessor in the view none of whose results it reads, or a successor that reads none of its results:
/// its clones would not inherit that dependence. If your rewriter carries such a dependence over, leave it out of the
/// view.
///
/// Precondition: `g` lists its vertices in a topological order, and with them the producers of all values that they
/// read or write. The result is deterministic. Takes a few sweeps over the program, each in O(V + E) time with about
/// one call of the chunk model per operation that a token reaches. With `skip_refused`, there is one more sweep for
/// each layer of operations that must stay whole after all.
template <dependence_graph G, op_model<G> M, chunk_model<G> C>
    requires dataflow_graph<G>
[[nodiscard]] expected<chunk_plan<vertex_t<G>, value_t<G>>, chunk_error<vertex_t<G>>> plan_chunks(
    G g, M model, C chunks, std::span<const chunk_region<vertex_t<G>>> regions,
    std::span<const token_dimension<value_t<G>>> tokens, chunk_options options = {}) {
    using V = vertex_t<G>;
    auto n = detail::number_chunk_program(g, model, chunks);
    detail::chunk_program& p = n.p;
    chunk_plan<V, value_t<G>> plan;
    detail::chunk_request<G, C> request(g, chunks, n, plan);
    if (!request.take_regions(regions) || !request.take_tokens(tokens)) return unexpected(request.error());
    request.leave_single_chunks();
    if (options.only_convex && !request.check_convex()) return unexpected(request.error());

    auto rule = [&](std::uint32_t v, std::int64_t rows, std::span<const chunk_state> operands,
                    std::span<chunk_state> results) {
        if (p.controlled[v])
            return chunk_verdict{.possible = false,
                                 .reason =
                                     "it has a dependence that is no value, on another operation or of another "
                                     "on it, which clones would not have",
                                 .inherent = true};
        const chunk_verdict verdict = chunks.combine_rule(n.vertices[v], rows, operands, results);
        return verdict.possible ? detail::checked_verdict(n, chunks, v, rows, results, verdict) : verdict;
    };
    auto extent = [&](std::uint32_t x, std::size_t dim) -> std::int64_t {
        if (chunks.components_of(n.value(x)) != 1 || dim >= chunks.rank(n.value(x), 0)) return -1;
        return chunks.extent(n.value(x), 0, dim);
    };
    const auto zeros = [&](std::uint32_t v) { return detail::makes_zeros(chunks, n.vertices[v]); };
    detail::chunk_sweep sweep(p, rule, extent, zeros, options.skip_refused, options.convert_sums);
    if (!sweep.run()) return unexpected(detail::error_of(n, sweep.fault()));
    detail::chunk_plan_writer<G, C>(n, chunks, sweep.states(), plan).write(sweep.refusals());
    choose_slices(plan, [&](const chunk_join<V, value_t<G>>& j) {
        double elements = 1;  // exact as far as it matters, and cannot overflow
        for (std::size_t d = 0; d < chunks.rank(j.value, 0); ++d)
            elements *= static_cast<double>(chunks.extent(j.value, 0, d));
        return elements >= static_cast<double>(options.slices_from);
    });

    std::vector<char> reached(regions.size(), false);
    for (const chunked_operation<V>& o : plan.operations) reached[o.region] = true;
    for (const refused_operation<V>& o : plan.refused) reached[o.why.region] = true;
    std::uint32_t idle = detail::chunk_program::no_region;  // the first region in which no operation runs per chunk
    for (std::uint32_t r = 0; r < regions.size(); ++r) {
        if (reached[r] || plan.regions[r].sizes.size() <= 1) continue;
        if (idle == detail::chunk_program::no_region) idle = r;
        if (regions[r].kept.empty())
            plan.unreached.push_back(r);  // otherwise tokens may reach only the candidates that the caller keeps whole
    }
    const bool nothing = plan.empty() && plan.refused.empty() && !plan.unreached.empty();
    if (idle != detail::chunk_program::no_region && (nothing || !options.skip_refused))
        return unexpected(chunk_error<V>{chunk_reason::nothing_reached, idle});
    return plan;
}

}  // namespace stretto

#endif
