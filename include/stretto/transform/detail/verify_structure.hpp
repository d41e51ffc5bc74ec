// Checks the structure of a chunk plan: its operations, splits and joins are matched with the program. Handles of the
// plan are compared and never dereferenced, so a plan for another program is detected. Operations, splits and joins are
// listed in program order, so one walk along the program matches each list.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_STRUCTURE_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_STRUCTURE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/verify_facts.hpp"
#include "stretto/transform/verify_rules.hpp"

namespace stretto::detail {

/// The first pass of verify_chunks, and of verify_applied. The later passes look up entries of the plan here, and
/// report violations through it. The plan, the facts and `found` must outlive it. O(V + E + size of the plan) for a
/// plan without violations.
template <class G>
class verify_structure {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;
    using plan_type = chunk_plan<V, X>;

    verify_structure(const plan_type& plan, const verify_facts<G>& facts, std::vector<chunk_violation<V>>& found)
        : plan_(plan), f_(facts), found_(found) {}

    /// Matches everything. Returns whether the later passes can run.
    bool match() {
        match_handles();
        for (std::size_t k = 0; k < vertex_.size(); ++k) check_slices(k);
        return found_.empty();
    }

    /// The same without the number of states, because the number of components is known only from a chunk model.
    bool match_handles() {
        check_regions();
        match_operations();
        // Splits and joins are matched along the operations, so those must be right.
        if (!found_.empty()) return false;
        match_splits();
        match_joins();
        return found_.empty();
    }

    [[nodiscard]] const plan_type& plan() const { return plan_; }
    [[nodiscard]] const verify_facts<G>& facts() const { return f_; }

    /// The position in the plan of a vertex; verify_none if it is not chunked.
    [[nodiscard]] std::uint32_t place(std::uint32_t v) const { return place_[v]; }
    /// The vertex of an operation of the plan.
    [[nodiscard]] std::uint32_t vertex(std::size_t operation) const { return vertex_[operation]; }
    /// Whether a vertex is chunked in that region.
    [[nodiscard]] bool chunked_in(std::uint32_t region, std::uint32_t v) const {
        return place_[v] != verify_none && plan_.operations[place_[v]].region == region;
    }
    /// The split of a value for a region; verify_none if there is none.
    [[nodiscard]] std::uint32_t split_of(std::uint32_t region, std::uint32_t x) const {
        std::uint32_t s = first_split_[x];
        while (s != verify_none && plan_.splits[s].region != region) s = next_split_[s];
        return s;
    }
    /// The operation of the plan before which a split is made.
    [[nodiscard]] std::uint32_t made_at(std::uint32_t split) const { return made_at_[split]; }
    /// The join of a value; verify_none if there is none.
    [[nodiscard]] std::uint32_t join_of(std::uint32_t x) const { return join_[x]; }

    /// Whether the sum of the result of operation k can read the only operand of the operation instead: the region
    /// makes parts of that, and nothing in it reads the result.
    [[nodiscard]] bool may_be_widened(std::size_t k) const {
        const chunked_operation<V>& o = plan_.operations[k];
        const std::uint32_t v = vertex_[k], x = f_.first_result[v];
        if (o.once || o.is_chain() || f_.operands[v].size() != 1 || f_.end_of_results(v) != x + 1) return false;
        const std::uint32_t join = join_[x];
        if (join == verify_none || plan_.joins[join].how != recombination::sum || plan_.joins[join].late) return false;
        for (std::uint32_t u : f_.readers[x])
            if (chunked_in(o.region, u)) return false;
        return chunked_in(o.region, f_.producer[f_.operands[v][0]]);
    }

    /// Records a violation of a rule. `position` is that of the region, operation, split or join in the plan.
    void report(chunk_rule rule, std::size_t position, V vertex = {}, V other = {}, std::string_view detail = {}) {
        found_.push_back({rule, position, vertex, other, std::string(detail)});
    }
    /// The same for a result component that the model has left unset.
    void report_unset(std::size_t position, V vertex, std::size_t component) {
        found_.push_back({chunk_rule::result_unset, position, vertex, {}, {}, component});
    }

private:
    /// Checks that the sizes of each region are positive and add up to its tokens.
    void check_regions() {
        for (std::size_t r = 0; r < plan_.regions.size(); ++r) {
            std::int64_t sum = 0;
            bool fine = !plan_.regions[r].sizes.empty();
            for (std::int64_t size : plan_.regions[r].sizes) {
                fine = fine && size > 0 && size <= plan_.regions[r].tokens - sum;  // no overflow
                if (fine) sum += size;
            }
            if (!fine || sum != plan_.regions[r].tokens) report(chunk_rule::sizes, r);
        }
    }

    /// Finds the vertices of the operations of the plan, and checks that those it lists as refused are not among them.
    void match_operations() {
        place_.assign(f_.size(), verify_none);
        std::uint32_t at = 0;
        for (std::size_t k = 0; k < plan_.operations.size(); ++k) {
            const chunked_operation<V>& o = plan_.operations[k];
            if (!advance_to(o.vertex, at)) {
                report(is_listed(o.vertex) ? chunk_rule::operation_out_of_order : chunk_rule::operation_unknown, k,
                       o.vertex);
                return;
            }
            place_[at] = static_cast<std::uint32_t>(k);
            vertex_.push_back(at);
            if (o.region >= plan_.regions.size()) report(chunk_rule::region_unknown, k, o.vertex);
            if (f_.kind[at] == op_kind::input || f_.kind[at] == op_kind::output)
                report(chunk_rule::step_boundary, k, o.vertex);
            if (f_.bound_to[at] != at) report(chunk_rule::other_dependence, k, o.vertex, f_.vertices[f_.bound_to[at]]);
            ++at;
        }
        at = 0;
        for (std::size_t k = 0; k < plan_.refused.size(); ++k) {
            const V v = plan_.refused[k].vertex;
            if (!advance_to(v, at)) {
                report(is_listed(v) ? chunk_rule::operation_out_of_order : chunk_rule::operation_unknown, k, v);
                return;
            }
            if (place_[at] != verify_none) report(chunk_rule::refused_and_chunked, k, v);
            ++at;
        }
    }

    /// Checks that operation k has one state for each component of its operands and results.
    void check_slices(std::size_t k) {
        const chunked_operation<V>& o = plan_.operations[k];
        const std::uint32_t v = vertex_[k];
        std::size_t operands = 0;
        for (std::uint32_t x : f_.operands[v]) operands += f_.components(x);
        const std::size_t results = f_.first_component[f_.end_of_results(v)] - f_.first_component[f_.first_result[v]];
        const std::size_t first = o.first_operand, middle = o.first_result, last = o.last_result;
        if (last > plan_.states.size() || middle != first + operands || last != middle + results)
            report(chunk_rule::states_misplaced, k, o.vertex);
    }

    /// Moves `at` forward to vertex v. Returns false if v is not at or after it.
    bool advance_to(const V& v, std::uint32_t& at) const {
        while (at < f_.size() && !(f_.vertices[at] == v)) ++at;
        return at < f_.size();
    }
    [[nodiscard]] bool is_listed(const V& v) const {
        for (const V& u : f_.vertices)
            if (u == v) return true;
        return false;
    }

    /// Matches splits. A split belongs to an operation of its region that reads the value, which comes from outside;
    /// verify_states checks that this is the first such operation.
    void match_splits() {
        first_split_.assign(f_.values.size(), verify_none);
        next_split_.assign(plan_.splits.size(), verify_none);
        std::size_t next = 0;
        for (std::size_t k = 0; k < plan_.operations.size(); ++k) {
            const std::uint32_t region = plan_.operations[k].region;
            for (std::uint32_t x : f_.operands[vertex_[k]]) {
                if (next == plan_.splits.size()) return;
                const chunk_split<X>& s = plan_.splits[next];
                if (s.region != region || !(s.value == f_.values[x]) || chunked_in(region, f_.producer[x]) ||
                    split_of(region, x) != verify_none)
                    continue;
                made_at_.push_back(static_cast<std::uint32_t>(k));
                next_split_[next] = first_split_[x];
                first_split_[x] = static_cast<std::uint32_t>(next++);
            }
        }
        if (next < plan_.splits.size()) report(fault_of_split(next), next);
    }

    /// The rule that a split breaks, if it could not be matched.
    [[nodiscard]] chunk_rule fault_of_split(std::size_t at) const {
        const chunk_split<X>& s = plan_.splits[at];
        if (s.region >= plan_.regions.size()) return chunk_rule::region_unknown;
        for (std::size_t k = 0; k < at; ++k)
            if (plan_.splits[k].region == s.region && plan_.splits[k].value == s.value)
                return chunk_rule::split_doubled;
        chunk_rule fault = chunk_rule::split_unused;
        for (std::size_t k = 0; k < plan_.operations.size(); ++k) {
            if (plan_.operations[k].region != s.region) continue;
            const std::uint32_t v = vertex_[k];
            for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x)
                if (f_.values[x] == s.value) return chunk_rule::split_of_own;
            for (std::uint32_t x : f_.operands[v])
                if (f_.values[x] == s.value) fault = chunk_rule::split_out_of_order;
        }
        return fault;
    }

    /// Matches joins. A join belongs to the operation that produces its value, and joins are in the order of these.
    void match_joins() {
        join_.assign(f_.values.size(), verify_none);
        std::size_t next = 0;
        for (std::size_t k = 0; k < plan_.operations.size(); ++k) {
            for (; next < plan_.joins.size(); ++next) {
                const std::uint32_t x = result_of(vertex_[k], plan_.joins[next].value);
                if (x == verify_none || plan_.joins[next].region != plan_.operations[k].region ||
                    join_[x] != verify_none)
                    break;
                join_[x] = static_cast<std::uint32_t>(next);
            }
        }
        if (next < plan_.joins.size()) report(fault_of_join(next), next);
    }

    /// The rule that a join breaks, if it could not be matched.
    [[nodiscard]] chunk_rule fault_of_join(std::size_t at) const {
        if (plan_.joins[at].region >= plan_.regions.size()) return chunk_rule::region_unknown;
        for (std::size_t k = 0; k < at; ++k)
            if (plan_.joins[k].value == plan_.joins[at].value) return chunk_rule::join_doubled;
        return chunk_rule::join_misplaced;
    }
    /// The result of v that is this value; verify_none if it has no such result.
    [[nodiscard]] std::uint32_t result_of(std::uint32_t v, const X& value) const {
        for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x)
            if (f_.values[x] == value) return x;
        return verify_none;
    }

    const plan_type& plan_;
    const verify_facts<G>& f_;
    std::vector<chunk_violation<V>>& found_;
    std::vector<std::uint32_t> place_;        // by vertex: its operation of the plan
    std::vector<std::uint32_t> vertex_;       // by operation of the plan: its vertex
    std::vector<std::uint32_t> first_split_;  // by value: its splits, linked by next_split_
    std::vector<std::uint32_t> next_split_;
    std::vector<std::uint32_t> made_at_;  // by split: its operation of the plan
    std::vector<std::uint32_t> join_;     // by value: its join
};

}  // namespace stretto::detail

#endif
