// A chunk model for any graph whose author gives the rule of each operation. This is the usual way to use plan_chunks
// and verify_chunks with an IR. docs/algorithms/chunk-states.md describes the rules and proves them.
//
// Rules are compiled once and work on flat arrays, while the graph is a template parameter; laid_out_call connects the
// two. It is constructed anew for every query, which costs a few allocations, so it has no state that could become
// stale when the graph is rewritten.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_RULE_CHUNK_MODEL_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_RULE_CHUNK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/analysis/value_numbers.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/factories.hpp"
#include "stretto/transform/chunk_rules/row_orders.hpp"
#include "stretto/transform/chunk_rules/value_history.hpp"

namespace stretto {

/// One operation and the states of its operands, laid out for its rule: `call()` is the chunk_call that the rule reads.
/// It cannot be copied, because the call points into it.
template <dataflow_graph G, chunk_dialect<G> D>
    requires indexed_graph<G>
class laid_out_call {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    /// `operands` and `results` are those of combine_rule. Precondition: they and the orders outlive this object.
    /// O(types of operands and results).
    laid_out_call(G view, D dialect, row_orders& orders, const value_numbers<G>* numbers, vertex_type v,
                  std::int64_t tokens, std::span<const chunk_state> operands, std::span<chunk_state> results)
        : history_(view, dialect, numbers) {
        operands_.reserve(operands.size());  // every component has a state, and every value has at least one
        values_.reserve(operands.size());
        types_.reserve(operands.size());
        result_types_.reserve(results.size());
        for (value_type x : view.operands(v)) {
            const std::span<const tensor_type> own = dialect.components(x);
            operands_.push_back({types_.size(), own.size(), history_.key_read(v, values_.size(), x)});
            values_.push_back(x);
            add(types_, own);
        }
        for (value_type x : view.results(v)) add(result_types_, dialect.components(x));
        call_.name = name(dialect, v);
        call_.key = key(view, numbers, v);
        call_.tokens = tokens;
        call_.operands = operands_;
        call_.types = types_;
        call_.states = operands;
        call_.results = results;
        call_.orders = &orders;
        call_.history = {this, &all_zero, &read_here_only, &counts, &integers, &ascending, &groups};
        sound_ = operands.size() == types_.size() && results.size() == result_types_.size() && tokens > 0 && ranks();
        if (result_types_.empty()) result_types_.push_back({});  // rules may read the first one
        call_.result_types = result_types_;
    }
    laid_out_call(const laid_out_call&) = delete;
    laid_out_call& operator=(const laid_out_call&) = delete;

    /// Returns whether states fit shapes: there is a state for each component, cut dimensions exist and have rows of
    /// all tokens, and the orders of permuted values are known.
    [[nodiscard]] bool is_sound() const { return sound_; }
    [[nodiscard]] const chunk_rules::chunk_call& call() const { return call_; }

    /// Returns whether the operation converts the elements of a sum to another type, given the current states of its
    /// results.
    [[nodiscard]] bool converts_addend() const {
        for (std::size_t k = 0; k < types_.size(); ++k) {
            if (!chunk_rules::is_addend(call_.states[k]) || types_[k].element == element_type::other) continue;
            for (std::size_t r = 0; r < call_.results.size(); ++r)
                if (chunk_rules::is_addend(call_.results[r]) && result_types_[r].element != types_[k].element)
                    return true;
        }
        return false;
    }

private:
    /// Returns the name of v if the dialect provides one.
    [[nodiscard]] static std::string_view name([[maybe_unused]] const D& dialect, [[maybe_unused]] vertex_type v) {
        if constexpr (requires { dialect.name(v); }) return dialect.name(v);
        else return {};
    }
    /// Returns a number that only operations with the same effect on the same operands share: that of the first result
    /// or, without value numbers or results, the index of v.
    [[nodiscard]] static std::int64_t key(const G& view, const value_numbers<G>* numbers, vertex_type v) {
        if (numbers != nullptr)
            for (value_type x : view.results(v)) return numbers->number(x);
        return static_cast<std::int64_t>(view.index(v));
    }
    /// Appends the types of a value. A number has no component but one state, so it gets an empty type.
    static void add(std::vector<tensor_type>& to, std::span<const tensor_type> own) {
        if (own.empty()) to.push_back({});
        else to.insert(to.end(), own.begin(), own.end());
    }

    /// Returns whether ranks and states are valid. Ranks are limited because a rule keeps dimensions as bits of one
    /// integer. A cut dimension must exist and, if it is sliced, have equally many rows for every token. A permuted
    /// value must be in an order that the orders know.
    [[nodiscard]] bool ranks() const {
        for (const tensor_type& t : result_types_)
            if (t.shape.size() > 60) return false;
        for (std::size_t k = 0; k < types_.size(); ++k) {
            const chunk_state& s = call_.states[k];
            if (types_[k].shape.size() > 60) return false;
            if (!chunk_rules::is_cut(s)) continue;
            if (s.dim < 0 || static_cast<std::size_t>(s.dim) >= types_[k].shape.size()) return false;
            if (s.what == chunk_state::kind::permuted && !call_.orders->knows(s.order)) return false;
            if (s.what == chunk_state::kind::sliced &&
                types_[k].shape[static_cast<std::size_t>(s.dim)] % call_.tokens != 0)
                return false;
        }
        return true;
    }

    // The implementation of call_history. `self` is the laid_out_call; rules do not know the type of its graph.
    static const laid_out_call& of(const void* self) { return *static_cast<const laid_out_call*>(self); }
    static bool all_zero(const void* self, std::size_t k) { return of(self).history_.is_zero(of(self).values_[k]); }
    static bool read_here_only(const void* self, std::size_t k) {
        return of(self).history_.has_one_reader(of(self).values_[k]);
    }
    static std::int64_t counts(const void* self, std::size_t k, std::int64_t& place) {
        const laid_out_call& own = of(self);
        place = -1;
        const std::int64_t held = own.operands_[k].key;
        return held == own.history_.key(own.values_[k]) ? own.history_.counted(own.values_[k], place) : held;
    }
    static bool integers(const void* self, std::size_t k) {
        return of(self).history_.holds_integers(of(self).values_[k]);
    }
    static bool ascending(const void* self, std::size_t k) {
        return of(self).history_.is_ascending(of(self).values_[k]);
    }
    static std::int64_t groups(const void* self, std::size_t k, bool ends) {
        return of(self).history_.groups(of(self).values_[k], ends);
    }

    value_history<G, D> history_;
    std::vector<chunk_rules::call_operand> operands_;
    std::vector<value_type> values_;
    std::vector<tensor_type> types_, result_types_;
    chunk_rules::chunk_call call_;
    bool sound_ = false;
};

/// A chunk_model for any graph with a chunk_dialect: `rule_chunk_model model(view, dialect, orders)`. Its answers do
/// not depend on names. Precondition: the orders outlive the model and every reason that it returns. Models that share
/// orders may exchange states.
///
/// `numbers`, for the same view, identifies values that are computed twice: rows that are sorted again by recomputed
/// keys are in the same order. It must outlive the model. Without it, a value is equal only to itself.
///
/// The model assumes two properties of the program without proof. First, numbers that are sums over chunks and that are
/// used as split sizes, offsets or row counts really count those rows, in each chunk as in the whole. Second, row
/// numbers that the program computes from such counts contain each row once. Both hold if the program works for any
/// number of tokens.
template <dataflow_graph G, chunk_dialect<G> D>
    requires indexed_graph<G>
class rule_chunk_model {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    rule_chunk_model(G view, D dialect, row_orders& orders, const value_numbers<G>* numbers = nullptr)
        : view_(view), dialect_(dialect), orders_(&orders), numbers_(numbers) {}

    // Members of the chunk_model concept:
    [[nodiscard]] std::size_t components_of(value_type x) const { return components(x).size(); }
    [[nodiscard]] std::size_t rank(value_type x, std::size_t component) const {
        return components(x)[component].shape.size();
    }
    [[nodiscard]] std::int64_t extent(value_type x, std::size_t component, std::size_t dim) const {
        return components(x)[component].shape[dim];
    }

    /// See chunk_model. O(operands of v and members of its rule), plus the depth of the history of counts.
    [[nodiscard]] chunk_verdict combine_rule(vertex_type v, std::int64_t tokens, std::span<const chunk_state> operands,
                                             std::span<chunk_state> results) const {
        const chunk_rules::any_rule rule = dialect_.rule(v);
        const laid_out_call<G, D> q(view_, dialect_, *orders_, numbers_, v, tokens, operands, results);
        if (rule.as<chunk_rules::unknown>() != nullptr) return chunk_rules::unknown{}.verdict(q.call());
        if (const chunk_rules::operand_names names = rule.missing_operand(q.call().operands.size()); names.is_missing())
            return q.call().refuse_rule(rule.kind_name(), names);
        if (!q.is_sound()) return q.call().refuse("has operands that its arguments and shapes do not describe");
        chunk_verdict verdict = rule.verdict(q.call());
        verdict.converts = verdict.possible && q.converts_addend();
        return verdict;
    }

    /// Returns whether v fills fresh memory, not a buffer in place, with elements that are known to be zero. O(members
    /// of its rule).
    [[nodiscard]] bool makes_zeros(vertex_type v) const {
        const chunk_rules::any_rule rule = dialect_.rule(v);
        if (rule.writes_in_place()) return false;
        if (const auto* made = rule.as<chunk_rules::fill>()) return made->zero;
        if (const auto* made = rule.as<chunk_rules::fill_beside>()) return made->zero;
        const auto* made = rule.as<chunk_rules::fill_like>();
        return made != nullptr && made->zero;
    }

    /// Returns whether v is a cast to a wider type that an addition does by itself (chunk_rules::cast). O(members of
    /// its rule).
    [[nodiscard]] bool sum_widens(vertex_type v) const {
        const chunk_rules::any_rule rule = dialect_.rule(v);
        const auto* made = rule.as<chunk_rules::cast>();
        if (made == nullptr || !made->added_unconverted || rule.writes_in_place()) return false;
        std::size_t operands = 0;
        bool wider = false;
        for (value_type from : view_.operands(v))
            for (value_type to : view_.results(v))
                wider = ++operands == 1 && components(from).size() == 1 && components(to).size() == 1 &&
                        widens(components(from)[0].element, components(to)[0].element);
        return wider;
    }

private:
    [[nodiscard]] std::span<const tensor_type> components(value_type x) const { return dialect_.components(x); }

    G view_;
    [[no_unique_address]] D dialect_;  // often empty
    row_orders* orders_;
    const value_numbers<G>* numbers_;
};

}  // namespace stretto

#endif
