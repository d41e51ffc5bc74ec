// Finds the rule of an operator by its name.
#ifndef STRETTO_ATEN_DETAIL_OPERATORS_BY_NAME_HPP
#define STRETTO_ATEN_DETAIL_OPERATORS_BY_NAME_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/aten/detail/aten_rules.hpp"

namespace stretto::detail::aten {

/// A hash table of the operators by name, computed at compile time. Whoever plans chunks looks up every operator many
/// times, and a binary search among names with common beginnings took longer than all else that a rule needs.
class operators_by_name {
public:
    constexpr operators_by_name() {
        for (std::size_t k = 0; k < aten_operator_count; ++k) {
            std::size_t at = place_of(aten_operators[k].name);
            while (number_[at] != 0) at = (at + 1) % places;
            number_[at] = static_cast<std::uint16_t>(k + 1);
        }
    }
    [[nodiscard]] constexpr const aten_operator* find(std::string_view name) const {
        for (std::size_t at = place_of(name); number_[at] != 0; at = (at + 1) % places)
            if (const aten_operator& o = aten_operators[number_[at] - 1]; o.name == name) return &o;
        return nullptr;
    }

private:
    static constexpr std::size_t places = 2048;
    static_assert(aten_operator_count < places / 4);  // so that searches are short, and end

    /// Adds up the characters, each with a factor of its place, because such products do not wait for each other.
    static constexpr std::size_t place_of(std::string_view name) {
        std::uint32_t hash = 0, factor = 0;
        for (const char c : name) hash += static_cast<unsigned char>(c) * (factor += 2'654'435'769);
        return (hash ^ hash >> 16) % places;
    }

    std::uint16_t number_[places] = {};  // of an operator, plus 1; 0 where there is none
};
inline constexpr operators_by_name aten_operators_by_name;

/// Returns the operator with that name; null if it is not listed. O(length of the name), expected.
constexpr const aten_operator* find_aten_operator(std::string_view name) { return aten_operators_by_name.find(name); }

}  // namespace stretto::detail::aten

#endif
