// Reads the members of JSON objects whose keys are known in advance: each occurs at most once, and some are required. A
// JSON reader would silently take the last of two members with the same key; here that is an error.
#ifndef STRETTO_CAPTURE_DETAIL_JSON_MEMBERS_HPP
#define STRETTO_CAPTURE_DETAIL_JSON_MEMBERS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/capture/detail/json_walk.hpp"

namespace stretto::detail {

/// Returns the position of a name in `names`, or N if it is not there. Objects of one kind usually list their members
/// in the same order, so the search begins at a guessed position.
template <std::size_t N>
constexpr unsigned position_in(const std::array<std::string_view, N>& names, std::string_view name,
                               unsigned guess = 0) noexcept {
    for (unsigned k = guess; k < N; ++k)
        if (names[k] == name) return k;
    for (unsigned k = 0; k < guess; ++k)
        if (names[k] == name) return k;
    return N;
}

/// The keys that an object has, as numbers below 32.
class seen_keys {
public:
    /// Adds a key. Fails if it was there before.
    bool add(json_walk& json, unsigned key) {
        const std::uint32_t bit = std::uint32_t{1} << key;
        if ((seen_ & bit) != 0) return repeated(json);
        seen_ |= bit;
        return true;
    }
    /// Returns whether a key was added.
    [[nodiscard]] bool has(unsigned key) const noexcept { return (seen_ >> key & 1u) != 0; }
    /// Fails if a key is not there.
    bool require(json_walk& json, unsigned key, std::string_view name) const {
        if (has(key)) return true;
        json.field = name;
        return json.fail("is missing", "every such object has one");
    }

    /// Record a failure, because a member occurs twice or because there are too many unknown ones. Always return false.
    static bool repeated(json_walk& json) { return json.fail("occurs twice", "give every member of an object once"); }
    static bool too_many(json_walk& json, std::size_t limit) {
        return json.fail("is one of more than " + std::to_string(limit) + " unknown members",
                         "is this a stretto-graph?");
    }

private:
    std::uint32_t seen_ = 0;
};

}  // namespace stretto::detail

#endif
