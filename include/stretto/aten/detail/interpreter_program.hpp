// The interpreter itself, over a flat, numbered program; stretto/aten/interpreter.hpp makes such a program from any
// graph. Every node runs on all ranks before the next one does, so a collective has the data of all its ranks.
//
// A collective moves its data when it is launched. Its result is in flight until a wait: reading the result earlier
// fails, and so does reading or writing the part of an operand's storage that the collective writes in place. The wait
// fails if an operand of the collective has been written in the meantime. With a real transport such programs have data
// races, so these are errors of the program.
//
// Longer than 300 lines: it is one machine, and its parts share the state of all values.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_PROGRAM_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_collectives.hpp"
#include "stretto/aten/detail/interpreter_operators.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/aten/tensor.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::aten::detail {

/// An operation of a flat program.
struct program_node {
    std::size_t vertex = 0;  ///< its index in the view
    op_kind kind = op_kind::compute;
    group_id group = 0;
    std::string_view operation;
    std::string_view name;
    std::span<const tensor_argument> positional;
    std::span<const named_tensor_argument> named;
    std::vector<std::uint32_t> operands;                 ///< the values that it reads, by number
    std::uint32_t first_result = 0;                      ///< the number of its first result; the others follow
    std::vector<std::span<const tensor_type>> recorded;  ///< the types that the program records for each result
};

/// A program in the order in which it runs. The numbers of values are less than `values`.
struct program {
    std::vector<program_node> nodes;
    std::uint32_t values = 0;
};

/// One run of a program. It is a template only so that files which merely include it do not compile it. The program and
/// the options must outlive it.
template <class = void>
class program_run {
public:
    program_run(const program& p, const interpreter_options& options) : program_(p), options_(options) {
        values_.assign(options.ranks, std::vector<interpreted_value>(p.values));
        last_use_.assign(p.values, 0);
        producer_.assign(p.values, 0);
        for (std::size_t n = 0; n < p.nodes.size(); ++n) {
            const program_node& node = p.nodes[n];
            for (const std::uint32_t x : node.operands) last_use_[x] = n;
            for (std::uint32_t k = 0; k < node.recorded.size(); ++k)
                producer_[node.first_result + k] = last_use_[node.first_result + k] = n;
        }
    }

    /// Runs the program, once. `input(n)` returns the values of input node n on all ranks. Returns the results, or the
    /// first failure.
    template <class Input>
    [[nodiscard]] expected<interpretation, interpretation_failure> run(Input input) {
        STRETTO_ASSERT(options_.ranks > 0, "a program runs on one rank at least");
        for (std::size_t n = 0; n < program_.nodes.size(); ++n) {
            const program_node& node = program_.nodes[n];
            node_ = n;
            if (node.kind == op_kind::input) take_input(node, input(n));
            else if (node.kind == op_kind::output) take_outputs(node);
            else if (node.kind == op_kind::start) launch(node);
            else if (node.kind == op_kind::wait) wait(node);
            else compute(node);
            for (std::size_t rank = 0; rank < options_.ranks && !failed_; ++rank) check_results(node, rank);
            if (failed_) return unexpected(std::move(failure_));
            keep_or_drop(node);
        }
        for (std::size_t k = 0; k < made_.inputs.size(); ++k)
            for (std::size_t rank = 0; rank < options_.ranks; ++rank)
                for (const tensor& t : made_.inputs[k].by_rank[rank].tensors)
                    if (t.storage()->writes != 0) made_.inputs[k].written = true;
        return std::move(made_);
    }

private:
    interpreted_value& value(std::size_t rank, std::uint32_t x) { return values_[rank][x]; }

    /// Records why the program cannot continue, and the values that the node reads. Only the first failure counts.
    void fail(std::size_t rank, std::string cause, std::string hint = {}) {
        if (failed_) return;
        failed_ = true;
        const program_node& node = program_.nodes[node_];
        failure_ = {.vertex = node.vertex,
                    .name = std::string(node.name),
                    .operation = std::string(node.operation),
                    .rank = rank,
                    .cause = std::move(cause),
                    .hint = std::move(hint),
                    .operands = {}};
        for (const std::uint32_t x : node.operands) {
            std::string text = std::string(program_.nodes[producer_[x]].name);
            const interpreted_value& v = value(rank, x);
            if (v.is_number) text += " = " + type_text(v);
            for (const tensor& t : v.tensors) text += " " + text_of(t);
            failure_.operands.push_back({program_.nodes[producer_[x]].vertex, std::move(text)});
        }
    }

    /// Copies the input, so that the caller's tensors stay unchanged when the program writes in place. The entry shares
    /// the storage of the copy, and so shows what the program writes into it.
    void take_input(const program_node& node, std::span<const interpreted_value> by_rank) {
        if (by_rank.size() != options_.ranks) return fail(0, "has no value for every rank");
        interpreted_entry entry{.vertex = node.vertex, .name = std::string(node.name), .written = false, .by_rank = {}};
        for (std::size_t rank = 0; rank < options_.ranks; ++rank) {
            interpreted_value own = by_rank[rank];
            for (tensor& t : own.tensors) {
                t = t.cloned();
                if (options_.round) round_elements(t);
            }
            entry.by_rank.push_back(own);
            if (!node.recorded.empty()) value(rank, node.first_result) = std::move(own);
        }
        made_.inputs.push_back(std::move(entry));
    }
    /// Records the values that an output node reads. A value in flight makes the run fail.
    void take_outputs(const program_node& node) {
        for (const std::uint32_t x : node.operands) {
            const program_node& from = program_.nodes[producer_[x]];
            interpreted_entry entry{
                .vertex = from.vertex, .name = std::string(from.name), .written = false, .by_rank = {}};
            for (std::size_t rank = 0; rank < options_.ranks; ++rank) {
                if (value(rank, x).in_flight || overlaps(value(rank, x), written_[rank]))
                    fail(rank, "returns " + std::string(from.name) + ", which is in flight");
                entry.by_rank.push_back(value(rank, x));
            }
            made_.outputs.push_back(std::move(entry));
        }
    }

    /// Returns a call of the node's operator on one rank. It is valid until the next call on that rank.
    operator_call call_of(const program_node& node, std::size_t rank) {
        operator_call c;
        c.operation = node.operation;
        c.positional = node.positional;
        c.named = node.named;
        c.only_views = node.kind == op_kind::view;
        c.balanced_routing = options_.balanced_routing;
        c.in_flight = written_[rank];
        pointers_[rank].clear();
        for (const std::uint32_t x : node.operands) pointers_[rank].push_back(&value(rank, x));
        c.operands = pointers_[rank];
        return c;
    }

    /// Runs an operator that is no collective on every rank.
    void compute(const program_node& node) {
        const operator_match found = find_operator(node.operation);
        if (!found.entry)
            return fail(0, "the interpreter does not know this operator",
                        "the families of operators are in stretto/aten/detail/interpreter_*.hpp");
        for (std::size_t rank = 0; rank < options_.ranks && !failed_; ++rank) {
            operator_call c = call_of(node, rank);
            c.only_shapes = found.entry->special == operator_entry::trait::only_shapes;
            found.entry->run(c);
            if (found.in_place && !c.failed()) write_back(c);
            if (c.failed()) return fail(rank, std::move(c.cause), std::move(c.hint));
            if (options_.round)
                for (const tensor& t : c.result.tensors)
                    if (!c.result.in_flight) round_elements(t);
            settle(node, rank, std::move(c.result));
        }
    }
    /// Copies the result of an operator that works in place into its first operand.
    void write_back(operator_call& c) {
        const tensor self = c.input(0, "self");
        if (c.failed()) return;
        if (c.result.tensors.size() != 1 || c.result.tensors[0].shape() != self.shape())
            return c.fail("the result does not fit into " + text_of(self));
        if (c.result.tensors[0].category() > self.category())
            return c.fail(text_of(c.result.tensors[0]) + " cannot be stored as " + text_of(self));
        write_elements(self, c.result.tensors[0]);
        c.result.tensors[0] = self;
    }

    /// Runs a collective in every group of ranks.
    void launch(const program_node& node) {
        const std::string_view name = collective_name(node.operation);
        if (name.empty()) return fail(0, "the interpreter does not know this collective");
        const process_groups& all = node.group < options_.groups.size() ? options_.groups[node.group] : everyone_;
        const group_complaint wrong = complaint_about(all, options_.ranks);
        if (!wrong.cause.empty())
            return fail(wrong.rank, wrong.cause, "the groups in the options hold every rank once");
        for (group_id k = 0; k < all.group_count() && !failed_; ++k) launch_among(node, name, all.group_at(k).ranks);
    }
    void launch_among(const program_node& node, std::string_view name, std::span<const rank_id> ranks) {
        std::vector<operator_call> calls;
        std::vector<operator_call*> members;
        for (const rank_id rank : ranks) calls.push_back(call_of(node, rank));
        for (operator_call& c : calls) members.push_back(&c);
        run_collective(name, members, {options_.rings, options_.round});
        for (std::size_t k = 0; k < ranks.size() && !failed_; ++k)
            if (calls[k].failed()) fail(ranks[k], std::move(calls[k].cause), std::move(calls[k].hint));
        for (std::size_t k = 0; k < ranks.size() && !failed_; ++k) fly(node, ranks[k], calls[k]);
    }
    /// Marks the result of a collective as in flight, and records the storages that it reads, how often each had been
    /// written at the launch, and the results that share the storage of an operand.
    void fly(const program_node& node, std::size_t rank, operator_call& c) {
        interpreted_value v = std::move(c.result);
        v.in_flight = true;
        for (const interpreted_value* read : c.operands)
            for (const tensor& t : read->tensors) {
                v.reads.push_back({t.storage(), t.storage()->writes});
                for (const tensor& made : v.tensors)
                    if (made.storage() == t.storage()) written_[rank].push_back(made);
            }
        if (options_.round)
            for (const tensor& t : v.tensors) round_elements(t);
        settle(node, rank, std::move(v));
    }
    /// Ends the flight of a result: the first operand of the node. Fails if a storage that the collective reads has
    /// been written since.
    void wait(const program_node& node) {
        if (node.operands.empty()) return fail(0, "waits for nothing at all");
        for (std::size_t rank = 0; rank < options_.ranks && !failed_; ++rank) {
            interpreted_value v = value(rank, node.operands[0]);
            for (const interpreted_value::guarded& g : v.reads)
                if (g.storage->writes != g.writes)
                    fail(rank, "what the collective reads was written while it was in flight",
                         "writes must come before the launch or after the wait");
            for (const tensor& t : v.tensors)
                std::erase_if(written_[rank], [&](const tensor& w) {
                    return w.storage() == t.storage() && w.offset() == t.offset() && w.shape() == t.shape();
                });
            v.in_flight = false;
            v.reads.clear();
            settle(node, rank, std::move(v));
        }
    }

    /// Assigns the result of a node to the values that it defines. If it defines several, each gets as many tensors as
    /// the program records for it.
    void settle(const program_node& node, std::size_t rank, interpreted_value made) {
        if (node.recorded.size() == 1) {
            value(rank, node.first_result) = std::move(made);
            return;
        }
        std::size_t next = 0;
        for (std::uint32_t k = 0; k < node.recorded.size(); ++k) {
            interpreted_value part;
            part.in_flight = made.in_flight;
            part.reads = made.reads;
            for (std::size_t n = node.recorded[k].size(); n > 0 && next < made.tensors.size(); --n)
                part.tensors.push_back(made.tensors[next++]);
            value(rank, node.first_result + k) = std::move(part);
        }
    }

    /// Compares the results of a node with the types that the program records, as strictly as the options request. A
    /// number has no recorded type.
    void check_results(const program_node& node, std::size_t rank) {
        for (std::uint32_t k = 0; k < node.recorded.size() && !failed_; ++k) {
            const std::span<const tensor_type> recorded = node.recorded[k];
            const interpreted_value& v = value(rank, node.first_result + k);
            if (recorded.empty() || options_.recorded == recorded_types::ignored) continue;
            if (v.tensors.size() != recorded.size())
                return fail(rank, "made " + std::to_string(v.tensors.size()) + " tensors where " +
                                      std::to_string(recorded.size()) + " are recorded");
            for (std::size_t i = 0; i < recorded.size(); ++i) {
                const tensor& t = v.tensors[i];
                const extents shape(recorded[i].shape.begin(), recorded[i].shape.end());
                if (t.shape() == shape && t.element() == recorded[i].element) continue;
                const bool same_kind = t.rank() == shape.size() && t.element() == recorded[i].element;
                if (same_kind && options_.recorded == recorded_types::kinds) {
                    made_.other_extents.push_back({node.vertex, rank, k, i, t.shape()});
                    continue;
                }
                return fail(rank, "made " + text_of(t) + " where " +
                                      text_of(tensor(recorded[i].element, {}))
                                          .substr(0, text_of(tensor(recorded[i].element, {})).size() - 2) +
                                      text_of(shape) + " is recorded");
            }
        }
    }

    /// Keeps the results of a node if keep_everything is set, and drops those of its operands and results that no later
    /// node reads.
    void keep_or_drop(const program_node& node) {
        for (std::size_t rank = 0; rank < options_.ranks; ++rank) {
            for (std::uint32_t k = 0; options_.keep_everything && k < node.recorded.size(); ++k) {
                if (made_.values.size() <= node.vertex) made_.values.resize(node.vertex + 1);
                if (made_.values[node.vertex].size() <= k) made_.values[node.vertex].resize(k + 1);
                made_.values[node.vertex][k].push_back(value(rank, node.first_result + k));
            }
            for (const std::uint32_t x : node.operands)
                if (last_use_[x] == node_) value(rank, x) = {};
            for (std::uint32_t k = 0; k < node.recorded.size(); ++k)
                if (last_use_[node.first_result + k] == node_) value(rank, node.first_result + k) = {};
        }
    }

    const program& program_;
    const interpreter_options& options_;
    process_groups everyone_ = strided_groups(options_.ranks, options_.ranks);
    std::vector<std::vector<interpreted_value>> values_;  // by rank, then by value
    std::vector<std::size_t> last_use_;  // by value: the position of the last node that reads or makes it
    std::vector<std::size_t> producer_;  // by value: the position of the node that makes it
    std::vector<std::vector<const interpreted_value*>> pointers_ =
        std::vector<std::vector<const interpreted_value*>>(options_.ranks);
    std::vector<std::vector<tensor>> written_ =  // by rank: what collectives in flight write in place
        std::vector<std::vector<tensor>>(options_.ranks);
    std::size_t node_ = 0;
    bool failed_ = false;
    interpretation_failure failure_;
    interpretation made_;
};

}  // namespace stretto::aten::detail

#endif
