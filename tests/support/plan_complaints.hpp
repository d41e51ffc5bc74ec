// stretto::check_plan as a text, compiled once: it takes longer to compile than what asks it.
#ifndef STRETTO_TESTS_SUPPORT_PLAN_COMPLAINTS_HPP
#define STRETTO_TESTS_SUPPORT_PLAN_COMPLAINTS_HPP

#include <string>

#include "stretto/capture/capture.hpp"

namespace support {

/// The rules that a plan for a step breaks, one in each line; empty if it keeps them all. Memory is not limited.
std::string complaints_about(const stretto::capture& step, const stretto::capture& plan);

}  // namespace support

#endif
