// Property tests: rapidcheck generates and shrinks, doctest reports. The seed is fixed, so a failure is the same
// failure everywhere; STRETTO_CASES=20 in the environment runs twenty times as many cases (0.1 runs a tenth).
#ifndef STRETTO_TESTS_SUPPORT_PROP_HPP
#define STRETTO_TESTS_SUPPORT_PROP_HPP

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

namespace support {

/// How many cases a property of `cases` cases runs under STRETTO_CASES; at least one.
inline int scaled_cases(int cases) {
    const char* factor = std::getenv("STRETTO_CASES");
    return std::max(1, static_cast<int>((factor ? std::strtod(factor, nullptr) : 1.0) * cases));
}

/// Checks `property` (a callable whose arguments rapidcheck generates, using RC_ASSERT) on `cases` cases. The
/// failure report holds the shrunk counterexample. Giving up because too many cases were discarded is a failure.
template <class Property>
void stretto_check(const char* name, int cases, Property&& property) {
    rc::detail::TestMetadata metadata;
    metadata.id = name;
    metadata.description = name;
    rc::detail::TestParams params;
    params.seed = 20260607;
    params.maxSuccess = scaled_cases(cases);
    rc::detail::TestListenerAdapter silent;
    const std::unordered_map<std::string, rc::detail::Reproduce> reproduce;
    const auto result = rc::detail::checkProperty(rc::detail::toProperty(std::forward<Property>(property)), metadata,
                                                  params, silent, reproduce);
    std::ostringstream report;
    rc::detail::printResultMessage(result, report);
    const std::string text = name + (": " + report.str());
    INFO(text);
    CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace support

using support::stretto_check;

#endif
