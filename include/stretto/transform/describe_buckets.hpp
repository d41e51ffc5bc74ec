// Describes a bucket plan as text: what it removes from the program (-), what it adds (+), what it saves and what it
// costs.
#ifndef STRETTO_TRANSFORM_DESCRIBE_BUCKETS_HPP
#define STRETTO_TRANSFORM_DESCRIBE_BUCKETS_HPP

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/detail/described_program.hpp"

namespace stretto {

/// Returns the changes that the plan makes to the program, bucket by bucket:
///
///     2 collectives become one: 80 bytes sent, 160 received; 300 ns together, 180 merged, 90 for copies
///     - a = all_gather(w0)
///     - b = all_gather(w1)
///     - 2 waits, 1 casts
///     + packed = pack(v0, w1)
///     + all_gather(packed), wait
///     + a, b = unpack
///     stays apart: c, see a: together they exceed a limit
///
/// `operator_name(v)` and `value_name(x)` return texts. Precondition: `g` is the view from which the plan was made.
/// O(length of the text).
template <dataflow_graph G, class OperatorName, class ValueName>
    requires requires(OperatorName& operator_name, ValueName& value_name, vertex_t<G> v, value_t<G> x) {
        { operator_name(v) } -> std::convertible_to<std::string_view>;
        { value_name(x) } -> std::convertible_to<std::string_view>;
    }
[[nodiscard]] std::string describe_buckets(const bucket_plan<vertex_t<G>, value_t<G>>& plan, G g,
                                           OperatorName operator_name, ValueName value_name) {
    const detail::described_program program(g, operator_name, value_name);
    std::string all;
    for (const auto& b : plan.buckets) {
        const bool packs = b.mode == bucket_mode::pack;
        all += std::to_string(b.members.size()) + " collectives become one: " + std::to_string(b.payload.count) +
               " bytes sent, " + std::to_string(b.received.count) + " received; " + std::to_string(b.alone.count) +
               " ns together, " + std::to_string(b.merged.count) + " merged, " + std::to_string(b.copies.count) +
               " for copies\n";
        for (const vertex_t<G>& m : b.members) {
            all += "- " + program.made_by(m) + " = " + program.op(m) + "(" + program.list(g.operands(m)) + ")\n";
        }
        all += "- " + std::to_string(b.waits.size()) + " waits, " + std::to_string(b.casts.size()) + " casts\n";
        if (packs) all += "+ packed = pack(" + program.list(b.parts) + ")\n";
        all += "+ " + program.op(b.members[0]) + "(" + (packs ? std::string("packed") : program.list(b.parts)) +
               "), wait\n";
        all += "+ " + program.list(b.results) + (packs ? " = unpack\n" : " = parts of the result\n");
    }
    for (const auto& r : plan.refused)
        all += "stays apart: " + program.made_by(r.vertex) +
               (r.other == r.vertex ? "" : ", see " + program.made_by(r.other)) + ": " + std::string(explain(r.why)) +
               "\n";
    return all;
}

}  // namespace stretto

#endif
