#include "support/prop.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>

namespace support {

namespace {

double share_of_cases() {
    const char* factor = std::getenv("STRETTO_CASES");
    return factor ? std::strtod(factor, nullptr) : 1.0;
}

}  // namespace

int scaled_cases(int cases) { return std::max(1, static_cast<int>(share_of_cases() * cases)); }

bool runs_case(std::uint32_t k) {
    // Multiples of this number are spread evenly, and have no period in common with loops over cases.
    return k == 0 || k * 2654435769u < share_of_cases() * 4294967296.0;
}

void check_property(const char* name, int cases, const rc::detail::Property& property) {
    rc::detail::TestMetadata metadata;
    metadata.id = name;
    metadata.description = name;
    rc::detail::TestParams params;
    params.seed = 20260607;
    params.maxSuccess = scaled_cases(cases);
    rc::detail::TestListenerAdapter silent;
    const std::unordered_map<std::string, rc::detail::Reproduce> reproduce;
    const auto result = rc::detail::checkProperty(property, metadata, params, silent, reproduce);
    std::ostringstream report;
    rc::detail::printResultMessage(result, report);
    const std::string text = name + (": " + report.str());
    INFO(text);
    CHECK(result.is<rc::detail::SuccessResult>());
}

template rc::detail::Property property_of(std::function<void()>);
template rc::detail::Property property_of(std::function<void(std::uint32_t)>);
template rc::detail::Property property_of(std::function<void(const std::vector<std::uint8_t>&)>);

}  // namespace support
