// The payload at which each channel of a captured step is saturated, from the durations that the capture has for its
// collectives: a limit for buckets that needs no profile of the machine. Needs simdjson.
#ifndef STRETTO_CAPTURE_SATURATING_PAYLOADS_HPP
#define STRETTO_CAPTURE_SATURATING_PAYLOADS_HPP

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/detail/capture_check.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/group_names.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/cost/saturation.hpp"
#include "stretto/transform/bucket_plan.hpp"

namespace stretto {

/// Limits for buckets_up_to: the payload at which a collective moves data at a share of the best rate of its group.
/// Refers to the step, which must outlive it.
class saturating_payloads {
public:
    /// Computes the limits of the collectives that `choose(v) -> bucket_choice` allows to be merged. The error names
    /// the first of them whose collective the step has no durations for, or for which more bytes take no more time.
    /// O(V log groups + tables · points). Precondition: 0 <= efficiency < 1.
    template <class Choose>
    [[nodiscard]] static expected<saturating_payloads, diagnostic> make(const capture& step, const Choose& choose,
                                                                        double efficiency = 0.9) {
        saturating_payloads made(step);
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            if (step.kind(v) != op_kind::start || choose(v).label == bucket_choice::apart) continue;
            const auto [at, fresh] = made.most_.try_emplace({step.group(v), step.collective(v)});
            if (!fresh) continue;
            const collective_cost_table* const table = step.cost_table(step.group(v), step.collective(v));
            if (table == nullptr) return unexpected(fault(step, v, "the step has no durations"));
            const auto payload = saturating_payload(table->points, efficiency);
            if (!payload) return unexpected(fault(step, v, "more bytes take no more time by the durations"));
            at->second = *payload;
        }
        return made;
    }

    /// The most bytes that a bucket with the start v sends. O(log groups). Precondition: v may be merged.
    [[nodiscard]] bytes operator()(std::uint32_t v) const { return most_.at({step_->group(v), step_->collective(v)}); }

private:
    explicit saturating_payloads(const capture& step) : step_(&step) {}

    static diagnostic fault(const capture& step, std::uint32_t v, std::string_view cause) {
        return detail::fault_of_node(step, v, "costs.collectives",
                                     std::string(cause) + " of " + std::string(name_of(step.collective(v))) + " on " +
                                         printable(names_of_groups(step)[step.group(v)]) +
                                         ", so no payload saturates it",
                                     "limit buckets by bytes instead, such as 25MiB");
    }

    const capture* step_;
    std::map<std::pair<group_id, collective_kind>, bytes> most_;
};

}  // namespace stretto

#endif
