// Reads the request of the caller of plan_chunks: checks it, and writes it into the numbered program and the plan.
//
// The regions, sizes and token dimensions of a request may name what the program does not have, or contradict each
// other. All such errors are found here, before the search, which therefore checks nothing of this. The steps must be
// called in the order in which the class declares them.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_REQUEST_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_REQUEST_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/convexity.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/config.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_program.hpp"

namespace stretto::detail {

/// The steps of reading a request. Each returns whether it has succeeded; if not, `error()` says why.
template <class G, class C>
class chunk_request {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    chunk_request(const G& g, const C& chunks, numbered_chunk_program<G>& numbered, chunk_plan<V, X>& plan)
        : g_(g), chunks_(chunks), n_(numbered), p_(numbered.p), plan_(plan) {}

    [[nodiscard]] const chunk_error<V>& error() const { return error_; }

    /// Takes the regions with their sizes and candidates. Empty chunks are left out, because their clones would do
    /// nothing. One region may list a candidate twice, but two regions may not share one, because an operation is
    /// cloned for one set of chunks. An entry of `kept` that is no candidate of its region has no effect.
    bool take_regions(std::span<const chunk_region<V>> regions) {
        if (regions.empty()) return fail(chunk_reason::no_regions, 0);
        for (std::uint32_t r = 0; r < regions.size(); ++r) {
            typename chunk_plan<V, X>::region made;
            for (std::int64_t size : regions[r].sizes) {
                if (size < 0) return fail(chunk_reason::negative_size, r);
                if (size > INT64_MAX - made.tokens) return fail(chunk_reason::too_many_rows, r);
                made.tokens += size;
                if (size > 0) made.sizes.push_back(size);
            }
            if (made.sizes.empty()) return fail(chunk_reason::no_sizes, r);
            p_.tokens.push_back(made.tokens);
            plan_.regions.push_back(std::move(made));
            for (const V& v : regions[r].candidates) {
                const std::uint32_t id = n_.number(g_, v);
                if (id == chunk_program::none) return fail(chunk_reason::not_in_graph, r, v, v);
                if (p_.region[id] != chunk_program::no_region && p_.region[id] != r)
                    return fail(chunk_reason::overlapping, r, v, v);
                p_.region[id] = r;
            }
            for (const V& v : regions[r].kept) {
                const std::uint32_t id = n_.number(g_, v);
                if (id == chunk_program::none) return fail(chunk_reason::not_in_graph, r, v, v);
                if (p_.region[id] == r) p_.kept[id] = true;
            }
        }
        return true;
    }

    /// Takes the token dimensions. One of a result in flight is ignored: its wait gives the value that can be cut.
    bool take_tokens(std::span<const token_dimension<X>> tokens) {
        std::vector<char> flies(p_.size(), false);
        for (std::uint32_t w = 0; w < p_.size(); ++w)
            if (p_.launch[w] != w) flies[p_.launch[w]] = true;
        for (const token_dimension<X>& t : tokens) {
            const std::uint32_t x = n_.number_of(t.value);
            const V from = g_.producer(t.value);
            if (x == chunk_program::none) return fail(chunk_reason::not_in_graph, 0, from, from);
            if (chunks_.components_of(t.value) != 1 || t.dim >= chunks_.rank(t.value, 0))
                return fail(chunk_reason::dim_out_of_range, 0, from, from);
            for (std::uint32_t r = 0; r < p_.tokens.size(); ++r)
                if (chunks_.extent(t.value, 0, t.dim) % p_.tokens[r] != 0)
                    return fail(chunk_reason::extent_indivisible, r, from, from);
            if (!flies[p_.producer[x]]) p_.token_dim[x] = static_cast<std::int8_t>(t.dim);
        }
        return true;
    }

    /// Removes the candidates of regions with a single chunk, because such a region stays as it is.
    void leave_single_chunks() {
        for (std::uint32_t& r : p_.region)
            if (r != chunk_program::no_region && plan_.regions[r].sizes.size() == 1) r = chunk_program::no_region;
    }

    /// Checks for every region that its candidates which tokens reach are convex. All chunks share the results of the
    /// other candidates, so it does not matter where these are.
    bool check_convex() {
        const auto order = topological_sort(g_);
        STRETTO_ASSERT(order.has_value(), "a view lists its vertices in a topological order");
        convexity<G> question(g_, *order);
        std::vector<std::vector<V>> reached(p_.tokens.size());
        std::vector<char> in(p_.size(), false);
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            // Tokens are followed through every operation, candidate or not: a path that leaves a region and enters it
            // again needs all parts before it goes on, so everything behind it waits for all chunks.
            for (std::uint32_t x : p_.operands[v]) in[v] = in[v] || p_.token_dim[x] >= 0 || in[p_.producer[x]];
            if (in[v] && p_.region[v] != chunk_program::no_region) reached[p_.region[v]].push_back(n_.vertices[v]);
        }
        for (std::uint32_t r = 0; r < reached.size(); ++r) {
            const std::span<const V> path = question.violation(reached[r]);
            if (path.empty()) continue;
            fail(chunk_reason::not_convex, r, path.front(), path.back());
            error_.path.assign(path.begin(), path.end());
            return false;
        }
        return true;
    }

private:
    /// Records the error, and returns false.
    bool fail(chunk_reason why, std::uint32_t region, V vertex = {}, V other = {}) {
        error_ = chunk_error<V>{why, region, vertex, other};
        return false;
    }

    const G& g_;
    const C& chunks_;
    numbered_chunk_program<G>& n_;
    chunk_program& p_;
    chunk_plan<V, X>& plan_;
    chunk_error<V> error_{chunk_reason::no_regions};
};

}  // namespace stretto::detail

#endif
