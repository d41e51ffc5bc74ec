// The findings of check_plan(): which rules of the format a plan breaks, where and why, and the figures of the step
// before and after.
#ifndef STRETTO_CAPTURE_PLAN_REPORT_HPP
#define STRETTO_CAPTURE_PLAN_REPORT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// The rules for a plan that is written as a capture. "The step" is the capture from which the plan was made; "reduced
/// once" means that a collective of a sum replaces collectives whose results are added.
enum class plan_rule : std::uint8_t {
    operation_lost,          ///< an operation of the step is neither present nor replaced by the rules
    operation_still_there,   ///< it was absorbed, chunked or reduced once, and is still present
    operation_changed,       ///< kind, operator, arguments, results or collective differ
    cost_changed,            ///< duration, allocation or payload differ
    group_changed,           ///< a collective is on another group of the step, or on one of other ranks
    inputs_changed,          ///< it reads something other than in the step
    writes_changed,          ///< it writes something else in place
    storage_lost,            ///< its results no longer live in the storage that they shared in the step
    node_unexplained,        ///< a new node belongs to no bucket, no sum and no chunking
    members_invalid,         ///< a new collective lists no members or sums, or nodes that cannot be such
    members_differ,          ///< the members of a bucket cannot be one collective
    launched_twice,          ///< an operation is replaced twice, or a launched start is still there or chunked
    payload_wrong,           ///< a bucket or a sum sends another payload than it should, or clones send too little
    collective_underpaid,    ///< a new collective takes less time than the cost table of the step says; without a
                             ///< table, less than what it replaces
    not_linear,              ///< for these members, the collective of the sum is not the sum of the collectives
    sum_differs,             ///< a collective of a sum does not represent the sum of its members, each once
    sum_read_elsewhere,      ///< a part of the sum is read elsewhere, or not exactly one addition is read by others
    inputs_of_members,       ///< a bucket or sum does not read exactly what its members read
    absorbed_wrongly,        ///< an operation that a pack absorbs is not a cast, or others read it too
    pack_missing,            ///< a bucket has no pack and is not marked as coalesced
    pack_underpaid,          ///< a pack takes less time than its copy does
    unpack_missing,          ///< results of a bucket are used without the unpack that they need
    unpack_underpaid,        ///< an unpack takes less time than its copy does
    wait_lost,               ///< what replaced a collective has no wait, or the old wait does not read from it
    chunks_incomplete,       ///< the clones of an operation are not numbered 0, 1, 2, ... once each
    chunks_underpaid,        ///< clones take less than the whole and a launch for each after the first
    recombination_partial,   ///< an operation outside reads only some of the chunks
    copy_underpaid,          ///< an operator that splits, recombines or adds takes less time than moving its bytes
    memory_unaccounted,      ///< a new node allocates less than it must hold
    overtakes_a_write,       ///< two uses of one storage, one of which writes it, have changed places
    touches_data_in_flight,  ///< a node reads what a collective still writes, or writes what it still reads or writes
    exceeds_memory_limit,    ///< peak memory of the plan is above the limit
    figures_too_large,       ///< times or bytes add up to more than 2^62
};

/// One broken rule. Names are those in the files.
struct plan_violation {
    plan_rule rule;
    std::string node;   ///< the node at fault: a node of the plan if it exists there, otherwise of the step
    std::string other;  ///< the second node concerned; empty if there is none
    std::string cause;
    std::string hint;

    /// Returns the violation on one line, without a newline, whatever the names contain.
    [[nodiscard]] std::string message() const {
        std::string line = node.empty() ? "plan" : printable(node);
        line += ": " + cause;
        if (!hint.empty()) line += "; " + hint;
        return line;
    }
    friend bool operator==(const plan_violation&, const plan_violation&) = default;
};

/// The figures of a step by the exact clock and the memory rule, executed in program order. Times and the peak are 0 if
/// they are too large to be computed.
struct plan_figures {
    nanoseconds makespan;
    nanoseconds exposed;
    nanoseconds compute;
    bytes peak;
    std::size_t collectives = 0;
    std::size_t nodes = 0;
    friend bool operator==(const plan_figures&, const plan_figures&) = default;
};

/// The result of check_plan: all violations, and the figures before and after.
struct plan_report {
    std::vector<plan_violation> violations;
    plan_figures before;
    plan_figures after;

    [[nodiscard]] bool legal() const noexcept { return violations.empty(); }
};

namespace detail {

/// Collects the findings of the checks.
class plan_findings {
public:
    void add(plan_rule rule, std::string_view node, std::string_view other, std::string cause, std::string hint) {
        found_.push_back({rule, std::string(node), std::string(other), std::move(cause), std::move(hint)});
    }
    [[nodiscard]] std::vector<plan_violation> take() && { return std::move(found_); }

private:
    std::vector<plan_violation> found_;
};

}  // namespace detail
}  // namespace stretto

#endif
