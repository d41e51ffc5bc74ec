// The chunk model of programs in PyTorch's ATen and prims operators: how each of them behaves when it runs on some of
// the rows of its operands at a time. docs/algorithms/chunk-states.md has the rules, and why they hold.
#ifndef STRETTO_TRANSFORM_ATEN_CHUNK_MODEL_HPP
#define STRETTO_TRANSFORM_ATEN_CHUNK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/detail/aten_call.hpp"
#include "stretto/transform/detail/aten_ledger.hpp"
#include "stretto/transform/detail/aten_rules.hpp"
#include "stretto/transform/detail/aten_spelling.hpp"

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

    aten_chunk_model(G view, T tensors, aten_ledger& ledger) : view_(view), tensors_(tensors), ledger_(&ledger) {}

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

    [[nodiscard]] std::int64_t key(value_type x) const {
        const vertex_type p = view_.producer(x);
        std::int64_t place = 0;
        for (value_type y : view_.results(p)) {
            if (y == x) break;
            ++place;
        }
        return static_cast<std::int64_t>(view_.index(p)) * 256 + place;
    }

    /// An operation laid out for its rule.
    struct question {
        question(const aten_chunk_model& m, vertex_type v, std::int64_t tokens, std::span<const chunk_state> states,
                 std::span<chunk_state> results)
            : model(m) {
            for (value_type x : m.view_.operands(v)) {
                const std::span<const tensor_type> own = m.components(x);
                operands.push_back({types.size(), own.size(), m.key(x)});
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
            call.history = {this, &all_zero, &read_here_only, &counts, &integers, &ascending};
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
            return q.model.is_zero(q.values[operand]);
        }
        static bool read_here_only(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.has_one_reader(q.values[operand]);
        }
        static std::int64_t counts(const void* self, std::size_t operand, std::int64_t& place) {
            const question& q = *static_cast<const question*>(self);
            return q.model.counted(q.values[operand], place);
        }
        static bool integers(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.holds_integers(q.values[operand]);
        }
        static bool ascending(const void* self, std::size_t operand) {
            const question& q = *static_cast<const question*>(self);
            return q.model.is_ascending(q.values[operand]);
        }
    };

    /// The operand that v is a copy or a view of, if v is an operator that `passes`; false otherwise.
    template <class Passes>
    [[nodiscard]] bool step_back(value_type& x, Passes passes) const {
        const vertex_type p = view_.producer(x);
        if (!passes(tensors_.operation(p), p)) return false;
        for (value_type y : view_.operands(p)) {
            x = y;
            return true;
        }
        return false;
    }

    [[nodiscard]] static bool one_of(std::string_view name, std::span<const std::string_view> names) {
        for (std::string_view n : names)
            if (n == name) return true;
        return false;
    }

    static constexpr std::string_view arranged[] = {
        "aten._to_copy.default", "aten.alias.default",     "aten.clone.default", "aten.expand.default",
        "aten.permute.default",  "aten.reshape.default",   "aten.slice.Tensor",  "aten.t.default",
        "aten.transpose.int",    "aten.unsqueeze.default", "aten.view.default",  "prims.convert_element_type.default"};

    /// Whether v, an operator in place, may write x: it writes its first argument.
    [[nodiscard]] bool may_write(vertex_type v, value_type x) const {
        const std::span<const tensor_argument> arguments = tensors_.arguments(v);
        if (arguments.empty() || arguments[0].what != tensor_argument::form::operand) return true;
        std::int64_t k = 0;
        for (value_type y : view_.operands(v))
            if (y == x) return k == arguments[0].integer;
            else ++k;
        return true;
    }
    /// Whether somebody writes into x in place, or into something that is made of x as it is.
    [[nodiscard]] bool is_written(value_type x, bool and_views = true) const {
        for (vertex_type reader : view_.consumers(x)) {
            const std::string_view name = tensors_.operation(reader);
            const std::size_t at = name.rfind('.');
            if (at != std::string_view::npos && at > 0 && name[at - 1] == '_' && may_write(reader, x)) return true;
            if (!and_views || !one_of(name, arranged)) continue;
            for (value_type y : view_.results(reader))
                if (is_written(y, false)) return true;
        }
        return false;
    }

    /// Whether x was made of zeros, and nobody writes into it in place.
    [[nodiscard]] bool is_zero(value_type x) const {
        static constexpr std::string_view zeros[] = {"aten.new_zeros.default", "aten.zeros.default",
                                                     "aten.zeros_like.default"};
        do {
            if (is_written(x)) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) { return one_of(name, arranged); }));
        const vertex_type p = view_.producer(x);
        const std::string_view name = tensors_.operation(p);
        if (one_of(name, zeros)) return true;
        const std::span<const tensor_argument> arguments = tensors_.arguments(p);
        const std::size_t filled_with = name == "aten.full.default" ? 1 : name == "aten.new_full.default" ? 2 : 0;
        if (filled_with == 0 || arguments.size() <= filled_with) return false;
        const tensor_argument& a = arguments[filled_with];
        return (a.what == tensor_argument::form::integer && a.integer == 0) ||
               (a.what == tensor_argument::form::real && !(a.real < 0) && !(a.real > 0));
    }

    /// Whether x holds integers, whatever its type.
    [[nodiscard]] bool holds_integers(value_type x) const {
        do {
            const element_type e = components(x).empty() ? element_type::other : components(x)[0].element;
            if (detail::aten::is_integral(e) || e == element_type::boolean) return true;
            if (is_written(x)) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) {
            return one_of(name, arranged) || name == "aten.sum.default" || name == "aten.sum.dim_IntList";
        }));
        return tensors_.operation(view_.producer(x)) == "aten.histc.default";
    }

    /// Whether x was made by arange from 0 in steps of 1, and nobody writes into it in place.
    [[nodiscard]] bool is_ascending(value_type x) const {
        static constexpr std::string_view copies[] = {"aten._to_copy.default", "aten.alias.default",
                                                      "aten.clone.default", "prims.convert_element_type.default"};
        do {
            if (is_written(x)) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) { return one_of(name, copies); }));
        const vertex_type p = view_.producer(x);
        const std::string_view name = tensors_.operation(p);
        const std::span<const tensor_argument> a = tensors_.arguments(p);
        const auto is = [&](std::size_t k, std::int64_t n) {
            return k < a.size() && a[k].what == tensor_argument::form::integer && a[k].integer == n;
        };
        if (name == "aten.arange.default") return true;
        return (name == "aten.arange.start" || name == "aten.arange.start_step") && is(0, 0) &&
               (a.size() < 3 || is(2, 1));
    }

    /// Whether x, and whatever it is a view of, has one reader.
    [[nodiscard]] bool has_one_reader(value_type x) const {
        do {
            std::size_t readers = 0;
            for ([[maybe_unused]] vertex_type reader : view_.consumers(x)) ++readers;
            if (readers > 1) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) { return one_of(name, arranged); }));
        return true;
    }

    /// The value that x, a count or a tensor of counts, was read from: see aten_history.
    [[nodiscard]] std::int64_t counted(value_type x, std::int64_t& place) const {
        static constexpr std::string_view read[] = {"_c10d_functional.wait_tensor.default",
                                                    "aten._local_scalar_dense.default",
                                                    "aten._to_copy.default",
                                                    "aten.alias.default",
                                                    "aten.clone.default",
                                                    "aten.reshape.default",
                                                    "aten.view.default",
                                                    "prims.convert_element_type.default",
                                                    "prims.device_put.default"};
        place = -1;
        while (step_back(x, [&](std::string_view name, vertex_type p) {
            const std::span<const tensor_argument> arguments = tensors_.arguments(p);
            if (name == "getitem" || name == "aten.select.int") {
                const std::size_t which = name == "getitem" ? 1 : 2;
                if (arguments.size() <= which || place >= 0) return false;
                for (value_type from : view_.operands(p))
                    if (name == "getitem" && tensors_.operation(view_.producer(from)) != "aten.unbind.int")
                        return false;
                place = arguments[which].integer;
                return true;
            }
            if (name == "aten.unbind.int") return arguments.size() < 2 || arguments[1].integer == 0;
            if (name == "aten.sum.dim_IntList") return inner_sum(p);
            return one_of(name, read);
        })) {
        }
        return key(x);
    }

    /// Whether p sums over its innermost dimensions, and not over all.
    [[nodiscard]] bool inner_sum(vertex_type p) const {
        const std::span<const tensor_argument> arguments = tensors_.arguments(p);
        if (arguments.size() < 2) return false;
        for (value_type x : view_.operands(p)) {
            const std::size_t rank = components(x)[0].shape.size();
            std::uint64_t gone = 0;
            for (const tensor_argument& a : arguments[1].items) {
                const std::int64_t d = detail::aten::wrapped(a.integer, rank);
                if (d >= 0) gone |= std::uint64_t{1} << d;
            }
            if (gone == 0 || (gone & 1) != 0) return false;
            const std::uint64_t outer_end = gone & (~gone + 1);
            return gone == (std::uint64_t{1} << rank) - outer_end;
        }
        return false;
    }

    G view_;
    T tensors_;
    aten_ledger* ledger_;
};

}  // namespace stretto

#endif
