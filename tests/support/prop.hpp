// Property tests: rapidcheck generates and shrinks, doctest reports. The seed is fixed, so a failure is the same
// failure everywhere; STRETTO_CASES=20 in the environment runs twenty times as many cases (0.1 runs a tenth).
#ifndef STRETTO_TESTS_SUPPORT_PROP_HPP
#define STRETTO_TESTS_SUPPORT_PROP_HPP

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace support {

/// How many cases a property of `cases` cases runs under STRETTO_CASES; at least one.
int scaled_cases(int cases);
/// Whether no case is left out. If some are, luck decides what the cases have met, and a test cannot ask for it.
inline bool runs_all_cases() { return scaled_cases(1000) >= 1000; }
/// Whether the case with the number k, of those that a test goes through instead of drawing them, is among the share of
/// them that STRETTO_CASES asks for. The first is, whatever the share.
bool runs_case(std::uint32_t k);

/// As stretto_check, for what rapidcheck has made of a property.
void check_property(const char* name, int cases, const rc::detail::Property& property);

/// The property of a function whose arguments rapidcheck generates. It depends on the signature alone: every lambda of
/// one signature shares the instantiation, which costs a second, and the common ones are compiled once, in prop.cpp.
template <class Result, class... Arguments>
rc::detail::Property property_of(std::function<Result(Arguments...)> function) {
    return rc::detail::toProperty(std::move(function));
}
extern template rc::detail::Property property_of(std::function<void()>);
extern template rc::detail::Property property_of(std::function<void(std::uint32_t)>);
extern template rc::detail::Property property_of(std::function<void(const std::vector<std::uint8_t>&)>);

/// Checks `property` (a callable whose arguments rapidcheck generates, using RC_ASSERT) on `cases` cases. The
/// failure report holds the shrunk counterexample. Giving up because too many cases were discarded is a failure.
template <class Property>
void stretto_check(const char* name, int cases, Property&& property) {
    check_property(name, cases, property_of(std::function(std::forward<Property>(property))));
}

}  // namespace support

using support::stretto_check;

#endif
