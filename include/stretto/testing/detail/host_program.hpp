// A program and the contents of all its values, computed once on the host by the author's `evaluate`. The checks that
// compute compare what they get for parts with these contents of the whole.
#ifndef STRETTO_TESTING_DETAIL_HOST_PROGRAM_HPP
#define STRETTO_TESTING_DETAIL_HOST_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/detail/sample_source.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// Calls `evaluate` with the chunk_part if it takes one, and without it otherwise.
template <class V, class Evaluate>
[[nodiscard]] std::vector<host_value> evaluate_on(Evaluate& evaluate, V v, std::span<const host_value> operands,
                                                  const chunk_part& part) {
    if constexpr (requires { std::vector<host_value>(evaluate(v, operands, part)); })
        return evaluate(v, operands, part);
    else {
        static_assert(
            requires { std::vector<host_value>(evaluate(v, operands)); },
            "evaluate takes a vertex, a span of host_values and perhaps a chunk_part, and returns a vector "
            "of host_values");
        return evaluate(v, operands);
    }
}

/// A program whose vertices and values are numbered in program order.
template <class G, class C, class Evaluate>
class host_program {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;
    static constexpr std::uint32_t none = UINT32_MAX;

    std::vector<V> vertices;
    std::vector<std::vector<std::uint32_t>> operands, results;  // by vertex: the values
    std::vector<std::uint32_t> producer;                        // by value: its vertex
    std::vector<host_value> values;
    std::vector<char> is_known;    // by value: it is small enough, and its contents are there
    std::vector<char> is_made_up;  // by vertex: its results were not computed

    /// Numbers everything, and computes nothing yet. `chunks` and `evaluate` must outlive it. O(V + values + uses).
    host_program(const G& g, const C& chunks, Evaluate& evaluate, std::int64_t most_elements)
        : g_(g), chunks_(chunks), evaluate_(evaluate), most_elements_(most_elements) {
        number_.assign(g.index_bound(), none);
        for (V v : g.vertices()) {
            const auto id = static_cast<std::uint32_t>(vertices.size());
            number_[g.index(v)] = id;
            vertices.push_back(v);
            results.emplace_back();
            for (X x : g.results(v)) {
                results.back().push_back(static_cast<std::uint32_t>(handles_.size()));
                handles_.push_back(x);
                producer.push_back(id);
            }
        }
        for (const V& v : vertices) {
            operands.emplace_back();
            for (X x : g.operands(v)) operands.back().push_back(number(g, x));
        }
    }

    /// The number of a value; `none` if its producer does not list it.
    [[nodiscard]] std::uint32_t number(const G& g, const X& x) const {
        const std::uint32_t v = number_[g.index(g.producer(x))];
        for (std::uint32_t k : results[v])
            if (handles_[k] == x) return k;
        return none;
    }
    /// Whether the contents of all operands and results of v are known.
    [[nodiscard]] bool is_complete(std::size_t v) const {
        for (const auto* all : {&operands[v], &results[v]})
            for (std::uint32_t x : *all)
                if (!is_known[x]) return false;
        return true;
    }
    /// What `evaluate` returns for v on these operands; empty if it cannot compute them.
    [[nodiscard]] std::vector<host_value> run(std::size_t v, std::span<const host_value> own,
                                              const chunk_part& part) const {
        return evaluate_on(evaluate_, vertices[v], own, part);
    }

    /// Computes all values in program order. It makes up small integers where `evaluate` returns nothing, as for
    /// inputs, or where an operand is unknown. So an operation that cannot be computed is the only one left unchecked,
    /// and its readers are checked all the same. Values with more elements than the limit stay unknown.
    finding compute(sample_source& pick) {
        values.resize(handles_.size());
        is_known.assign(handles_.size(), false);
        is_made_up.assign(vertices.size(), true);
        for (std::size_t v = 0; v < vertices.size(); ++v) {
            bool complete = true;
            std::vector<host_value> own, made;
            std::vector<chunk_state> states;
            for (std::uint32_t x : operands[v]) complete = complete && is_known[x];
            for (std::uint32_t x : results[v]) complete = complete && is_small(x);
            if (complete && !results[v].empty()) {
                for (std::uint32_t x : operands[v]) own.push_back(values[x]);
                const std::vector<chunk_state> in = whole_states(operands[v]), out = whole_states(results[v]);
                made = run(v, own, chunk_part{0, 1, 1, {0, 1}, in, out, 0});
                if (!made.empty() && made.size() != results[v].size())
                    return {.rule = "results", .hint = "evaluate gives one value per result, or nothing", .vertex = v};
                is_made_up[v] = made.empty();
            }
            for (std::size_t k = 0; k < results[v].size(); ++k) {
                const std::uint32_t x = results[v][k];
                if (!is_small(x)) continue;
                values[x] = made.empty() ? make_up(x, pick) : std::move(made[k]);
                is_known[x] = true;
                if (finding f = check_shape(x, v, k); *f.rule) return f;
            }
        }
        return {};
    }

    /// The states of these values, by component, if all of them are whole.
    [[nodiscard]] std::vector<chunk_state> whole_states(const std::vector<std::uint32_t>& all) const {
        std::size_t n = 0;
        for (std::uint32_t x : all) {
            const std::size_t components = chunks_.components_of(handles_[x]);
            n += components == 0 ? 1 : components;
        }
        const chunk_state whole{chunk_state::kind::whole, -1, 0, 0, 0};
        return std::vector<chunk_state>(n, whole);
    }
    [[nodiscard]] const X& handle(std::uint32_t x) const { return handles_[x]; }

private:
    /// The extents of a component according to the chunk model.
    [[nodiscard]] std::vector<std::int64_t> shape(std::uint32_t x, std::size_t component) const {
        std::vector<std::int64_t> all(chunks_.rank(handles_[x], component));
        for (std::size_t d = 0; d < all.size(); ++d) all[d] = chunks_.extent(handles_[x], component, d);
        return all;
    }
    /// Whether no component has more elements than the limit. The product of the extents is never formed, because
    /// extents of a captured model may overflow it.
    [[nodiscard]] bool is_small(std::uint32_t x) const {
        for (std::size_t c = 0; c < chunks_.components_of(handles_[x]); ++c) {
            std::int64_t left = most_elements_;
            for (std::int64_t e : shape(x, c)) {
                if (e > left) return false;
                left /= e > 0 ? e : 1;
            }
        }
        return true;
    }
    /// A value of the shape that the chunk model gives, with small integers as elements. Their sums are exact in every
    /// order of addition, so checks that compare sums need no tolerance.
    [[nodiscard]] host_value make_up(std::uint32_t x, sample_source& pick) const {
        host_value made;
        made.number = static_cast<double>(pick.below(5));
        for (std::size_t c = 0; c < chunks_.components_of(handles_[x]); ++c) {
            host_tensor& t = made.tensors.emplace_back();
            t.shape = shape(x, c);
            for (std::int64_t e : t.shape)
                if (e < 0) return made;  // check_shape reports this
            t.elements.resize(static_cast<std::size_t>(elements_of(t.shape)));
            for (double& element : t.elements) element = pick.small();
        }
        return made;
    }
    /// Checks that result k of v has the shape that the chunk model gives. Whatever follows compares parts with wholes,
    /// and would blame a rule for a shape that is wrong.
    [[nodiscard]] finding check_shape(std::uint32_t x, std::size_t v, std::size_t k) const {
        finding f{.rule = "shape", .hint = "", .vertex = v, .detail = "result " + std::to_string(k)};
        const host_value& own = values[x];
        if (own.tensors.size() != chunks_.components_of(handles_[x])) {
            f.hint = "components_of(x) is not the number of tensors that evaluate gives";
            return f;
        }
        for (std::size_t c = 0; c < own.tensors.size(); ++c) {
            const std::vector<std::int64_t> said = shape(x, c);
            for (std::int64_t e : said)
                if (e < 0) return f.hint = "extent(x, component, dim) is negative", f;
            if (said.size() > 127) return f.hint = "rank(x, component) is beyond what a chunk_state can name", f;
            if (said != own.tensors[c].shape)
                return f.hint = "rank and extents are not those of what evaluate gives", f;
            if (own.tensors[c].elements.size() != static_cast<std::size_t>(elements_of(said)))
                return f.hint = "evaluate gives a tensor with more or fewer elements than its shape has", f;
        }
        return {};
    }

    G g_;
    const C& chunks_;
    Evaluate& evaluate_;
    std::int64_t most_elements_;
    std::vector<X> handles_;
    std::vector<std::uint32_t> number_;  // by index
};

}  // namespace stretto::detail

#endif
