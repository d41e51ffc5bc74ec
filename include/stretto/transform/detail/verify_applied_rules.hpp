// The origins of the operations of a chunked program, and the rules that such a program must satisfy: the vocabulary of
// verify_applied, which includes this header. docs/algorithms/verify-chunks.md describes how they are checked.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_APPLIED_RULES_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_APPLIED_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/concepts.hpp"

namespace stretto {

/// The origin of an operation of a chunked program, in terms of the program before.
template <handle V, handle X>
struct applied_origin {
    enum class kind : std::uint8_t {
        kept,   ///< it is an operation of the program before
        clone,  ///< it is a copy of such an operation for one chunk
        split,  ///< it makes parts of a value, or helps to make them
        join,   ///< it recombines the parts of a value, or some of them
        empty,  ///< it allocates memory for a value that is written slice by slice; what it reads does not matter
        slice   ///< it writes a part to its place in such memory, or only makes a view of the place
    };
    /// The `chunk` of a split that is not for one part. If it has as many results as there are chunks, result k is part
    /// k; otherwise only other splits of the value may read its results.
    static constexpr std::uint32_t all_parts = UINT32_MAX;

    kind what = kind::kept;
    V vertex{};                ///< for kept and clone: the operation of the program before
    X value{};                 ///< for split, join and empty: the value of the program before
    std::uint32_t region = 0;  ///< for split: the region for which the value is split
    std::uint32_t chunk = 0;   ///< for clone; for split: the part that its results are; for slice: the part written
};

/// The rules that verify_applied checks; `hint` describes each of them.
enum class applied_rule : std::uint8_t {
    plan_unfit,
    out_of_step,
    unfinished,
    original_remains,
    clone_unplanned,
    split_unplanned,
    join_unplanned,
    arity,
    reads_ahead,
    reads_other_value,
    reads_part,
    reads_whole,
    reads_other_chunk,
    parts_out_of_order,
    join_too_early,
    slice_misplaced,
    slice_doubled,
    slice_missing
};

/// Returns what the rule requires, in one sentence.
[[nodiscard]] constexpr std::string_view hint(applied_rule rule) {
    switch (rule) {
        case applied_rule::plan_unfit:
            return "the plan is one for the program before";
        case applied_rule::out_of_step:
            return "kept operations and clones stand in the order before, chunk after chunk, each once";
        case applied_rule::unfinished:
            return "every operation is kept, or has a clone for every chunk";
        case applied_rule::original_remains:
            return "an operation that is chunked is no longer there itself";
        case applied_rule::clone_unplanned:
            return "clones are of chunked operations, one for every chunk or only one";
        case applied_rule::split_unplanned:
            return "values are split for regions as the plan says, into as many parts";
        case applied_rule::join_unplanned:
            return "values are recombined as the plan says";
        case applied_rule::arity:
            return "a kept operation or clone has as many operands and results as the original";
        case applied_rule::reads_ahead:
            return "an operation stands behind those whose results it reads";
        case applied_rule::reads_other_value:
            return "an operation reads what stands for the operand of the original";
        case applied_rule::reads_part:
            return "nobody outside of a region reads a part, or parts that are not all recombined";
        case applied_rule::reads_whole:
            return "a clone reads its part of a value that its region has in parts";
        case applied_rule::reads_other_chunk:
            return "a clone reads the parts of its own chunk";
        case applied_rule::parts_out_of_order:
            return "a join reads parts that follow each other";
        case applied_rule::join_too_early:
            return "a late join stands behind everything that comes before its first reader";
        case applied_rule::slice_misplaced:
            return "a part is written to its own place, in memory for the value that it is a part of";
        case applied_rule::slice_doubled:
            return "memory for a value is made once, and each of its slices is written once";
        case applied_rule::slice_missing:
            return "a value that the plan has in slices has memory, and every slice of it is written";
    }
    return {};
}

/// A violation of a rule by a chunked program. A vertex that is not known is W{} or V{}.
template <handle W, handle V>
struct applied_violation {
    applied_rule broken;
    W vertex{};  ///< in the program after; W{} for plan_unfit, unfinished and a slice_missing
    V other{};   ///< in the program before: the original, the operation that is expected, or the producer of the value
                 ///< that is read wrongly
};

}  // namespace stretto

#endif
