// The chunk model of programs in PyTorch's ATen and prims operators: how each of them behaves when it runs on some of
// the rows of its operands at a time. docs/algorithms/chunk-states.md has the rules, and why they hold.
#ifndef STRETTO_ATEN_ATEN_CHUNK_MODEL_HPP
#define STRETTO_ATEN_ATEN_CHUNK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/aten/argument_spelling.hpp"
#include "stretto/aten/aten_ledger.hpp"
#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_history.hpp"
#include "stretto/aten/detail/aten_rules.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto {

/// A chunk_model of any graph with a tensor_model whose operators are called as PyTorch calls them. Operators are known
/// by name, tensors by their recorded shapes; nothing depends on names of modules, nodes or symbols. The ledger must
/// outlive the model and every reason it gives; models that share one may exchange states.
///
/// Two things are the program's word and are not proved: that numbers which are sums over chunks and are used as split
/// sizes, offsets or counts of rows do count those rows, in every chunk as in the whole; and that row numbers which the
/// program computes from such counts name each row once. Both hold if the program works for any number of tokens.
template <dataflow_graph G, tensor_model<G> T>
    requires indexed_graph<G>
class aten_chunk_model {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    aten_chunk_model(G view, T tensors, aten_ledger& ledger)
        : view_(view), tensors_(tensors), history_(view, tensors), ledger_(&ledger) {}

    [[nodiscard]] std::size_t components_of(value_type x) const { return components(x).size(); }
    [[nodiscard]] std::size_t rank(value_type x, std::size_t component) const {
        return components(x)[component].shape.size();
    }
    [[nodiscard]] std::int64_t extent(value_type x, std::size_t component, std::size_t dim) const {
        return components(x)[component].shape[dim];
    }

    /// See chunk_model. O(operands and arguments of v), and the depth of what counts were read from.
    [[nodiscard]] chunk_verdict combine_rule(vertex_type v, std::int64_t tokens, std::span<const chunk_state> operands,
                                             std::span<chunk_state> results) const {
        const std::string_view name = tensors_.operation(v);
        const detail::aten::aten_operator* known = detail::aten::find_aten_operator(name);
        if (known == nullptr) return {false, ledger_->say("no rule for", name)};
        question q(*this, v, tokens, operands, results);
        if (!q.sound) return q.call.refuse("has operands that its arguments and shapes do not describe");
        chunk_verdict verdict = known->rule(q.call);
        verdict.converts = verdict.possible && q.converts_addend();
        return verdict;
    }

    /// The arguments of v as its clone for one chunk must spell them: extents along the chunked dimension, written as
    /// integers or as numbers that all chunks share, become the chunk's own; the rest stays as it is. `operands` and
    /// `results` are states that combine_rule was given and has given. Lists that change are in `store`.
    [[nodiscard]] chunk_arguments local_arguments(vertex_type v, std::int64_t tokens, chunk_interval chunk,
                                                  std::span<const chunk_state> operands,
                                                  std::span<const chunk_state> results, argument_store& store) const {
        const detail::aten::aten_operator* known = detail::aten::find_aten_operator(tensors_.operation(v));
        std::vector<chunk_state> given(results.begin(), results.end());
        question q(*this, v, tokens, operands, given);
        STRETTO_ASSERT(known != nullptr && q.sound, "combine_rule has refused this operation");
        return detail::aten::argument_speller(q.call, chunk, store).spell(known->extents);
    }

private:
    [[nodiscard]] std::span<const tensor_type> components(value_type x) const { return tensors_.components(x); }

    /// An operation laid out for its rule.
    struct question {
        question(const aten_chunk_model& m, vertex_type v, std::int64_t tokens, std::span<const chunk_state> states,
                 std::span<chunk_state> results)
            : model(m) {
            for (value_type x : m.view_.operands(v)) {
                const std::span<const tensor_type> own = m.components(x);
                operands.push_back({types.size(), own.size(), m.history_.key(x)});
                values.push_back(x);
                add(types, own);
            }
            for (value_type x : m.view_.results(v)) add(result_types, m.components(x));
            call.name = m.tensors_.operation(v);
            call.positional = m.tensors_.arguments(v);
            call.named = m.tensors_.named_arguments(v);
            call.key = static_cast<std::int64_t>(m.view_.index(v)) * 256;
            call.tokens = tokens;
            call.operands = operands;
            call.types = types;
            call.states = states;
            call.result_types = result_types;
            call.results = results;
            call.ledger = m.ledger_;
            call.history = {this, &all_zero, &read_here_only, &counts, &integers, &ascending, &groups};
            sound = states.size() == types.size() && results.size() == result_types.size() && tokens > 0 && ranks();
        }

        /// Whether elements of a sum become elements of another type.
        [[nodiscard]] bool converts_addend() const {
            for (std::size_t k = 0; k < types.size(); ++k) {
                if (call.states[k].what != chunk_state::kind::addend || types[k].element == element_type::other)
                    continue;
                for (std::size_t r = 0; r < result_types.size(); ++r)
                    if (call.results[r].what == chunk_state::kind::addend &&
                        result_types[r].element != types[k].element)
                        return true;
            }
            return false;
        }

        aten_chunk_model model;
        std::vector<detail::aten::aten_operand> operands;
        std::vector<value_type> values;
        std::vector<tensor_type> types, result_types;
        detail::aten::aten_call call;
        bool sound;

    private:
        static void add(std::vector<tensor_type>& to, std::span<const tensor_type> own) {
            if (own.empty()) to.push_back({});
            else to.insert(to.end(), own.begin(), own.end());
        }

        /// Dimensions are kept in bits, and a cut dimension is one that there is, of rows of all tokens.
        [[nodiscard]] bool ranks() const {
            for (const tensor_type& t : result_types)
                if (t.shape.size() > 60) return false;
            for (std::size_t k = 0; k < types.size(); ++k) {
                const chunk_state& s = call.states[k];
                if (types[k].shape.size() > 60) return false;
                if (!detail::aten::is_cut(s)) continue;
                if (s.dim < 0 || static_cast<std::size_t>(s.dim) >= types[k].shape.size()) return false;
                if (s.what == chunk_state::kind::permuted && !call.ledger->knows(s.order)) return false;
                if (s.what == chunk_state::kind::sliced &&
                    types[k].shape[static_cast<std::size_t>(s.dim)] % call.tokens != 0)
                    return false;
            }
            return true;
        }

        static bool all_zero(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.history_.is_zero(q.values[operand]);
        }
        static bool read_here_only(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.history_.has_one_reader(q.values[operand]);
        }
        static std::int64_t counts(const void* self, std::size_t operand, std::int64_t& place) {
            const question& q = *static_cast<const question*>(self);
            return q.model.history_.counted(q.values[operand], place);
        }
        static bool integers(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.history_.holds_integers(q.values[operand]);
        }
        static bool ascending(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.history_.is_ascending(q.values[operand]);
        }
        static std::int64_t groups(const void* self, std::size_t operand, bool ends) {
            const question& q = *static_cast<const question*>(self);
            return q.model.history_.groups(q.values[operand], ends);
        }
    };

    G view_;
    T tensors_;
    detail::aten::program_history<G, T> history_;
    aten_ledger* ledger_;
};

}  // namespace stretto

#endif
