#include "support/plan_complaints.hpp"

#include "stretto/capture/check_plan.hpp"

namespace support {

std::string complaints_about(const stretto::capture& step, const stretto::capture& plan) {
    std::string all;
    for (const stretto::plan_violation& v : stretto::check_plan(step, plan, stretto::unlimited_bytes).violations)
        all += v.message() + "\n";
    return all;
}

}  // namespace support
