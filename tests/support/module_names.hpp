// Names of modules that mean something else in the text of settings, unless it is written with care.
#ifndef STRETTO_TESTS_SUPPORT_MODULE_NAMES_HPP
#define STRETTO_TESTS_SUPPORT_MODULE_NAMES_HPP

#include <rapidcheck.h>

#include <cstddef>
#include <string>

namespace support {

/// One to four components, never empty together. Few of them, so that two names often have some in common.
inline std::string any_module_name() {
    static const std::string components[] = {"*",  "0-1",  "0",     "1",        "2",     "01",  "a",   "moe", "**",
                                             "1-", "a=2,", ":b",    ":forward", "\\",    "\\*", "a b", "=",   ",",
                                             "\n", "x-y",  "0\\-1", "",         "\\x41", "+",   "a+b"};
    std::string name;
    for (std::size_t k = *rc::gen::inRange<std::size_t>(1, 5); k > 0; --k) {
        name += components[*rc::gen::inRange<std::size_t>(0, std::size(components))];
        if (k > 1) name += '.';
    }
    return name.empty() ? "a" : name;
}

}  // namespace support

#endif
