// The arguments of rule kinds: operands by position, numbers that are constants or operands, and lists of dimensions.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_RULE_OPERANDS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_RULE_OPERANDS_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "stretto/core/config.hpp"

namespace stretto::chunk_rules {

/// Stands for a missing operand. Operands are identified by their positions among `operands(v)` of the view.
inline constexpr std::size_t no_operand = SIZE_MAX;

/// A numeric argument of an operation: an operand that is a number, an integer constant, or something that rules do not
/// interpret (a real constant, or an omitted argument).
struct rule_number {
    std::size_t operand = no_operand;
    std::int64_t value = 0;    ///< the value of a constant, otherwise 0
    bool is_constant = false;  ///< whether it is an integer constant, `value`

    [[nodiscard]] static constexpr rule_number of_operand(std::size_t k) { return {k, 0, false}; }
    [[nodiscard]] static constexpr rule_number constant(std::int64_t n) { return {no_operand, n, true}; }
    friend bool operator==(const rule_number&, const rule_number&) = default;
};

/// Checks the operands that the members of a rule name, and keeps the first one that the operation does not have.
/// `no_operand` and constants are ignored. Each call of `add` names one member, `part`; its text must outlive this
/// object.
class operand_names {
public:
    /// `operands` is the number of operands of the operation.
    explicit constexpr operand_names(std::size_t operands) : operands_(operands) {}

    constexpr operand_names& add(std::string_view part, std::size_t operand) {
        if (!is_missing() && operand != no_operand && operand >= operands_) part_ = part, missing_ = operand;
        return *this;
    }
    constexpr operand_names& add(std::string_view part, const rule_number& n) { return add(part, n.operand); }
    template <class List>
        requires requires(const List& list) { list.begin() != list.end(); }
    constexpr operand_names& add(std::string_view part, const List& list) {
        for (const auto& each : list) add(part, each);
        return *this;
    }

    [[nodiscard]] constexpr bool is_missing() const { return missing_ != no_operand; }
    [[nodiscard]] constexpr std::size_t missing() const { return missing_; }  ///< no_operand if all operands exist
    [[nodiscard]] constexpr std::string_view part() const {
        return part_;
    }  ///< the member of the rule that names the missing operand
    [[nodiscard]] constexpr std::size_t operands() const { return operands_; }

private:
    std::size_t operands_, missing_ = no_operand;
    std::string_view part_;
};

/// A short list of dimensions; negative ones count from the last. It may contain a dimension that the tensor does not
/// have, which a rule then reports.
class dim_list {
public:
    /// The maximum length. A list takes 32 bytes and allocates nothing, so a rule can hold a kind with several lists.
    static constexpr std::size_t capacity = 31;

    constexpr dim_list() = default;
    constexpr dim_list(std::initializer_list<std::int64_t> dims) {
        for (std::int64_t d : dims) push_back(d);
    }

    /// Appends a dimension. Precondition: size() < capacity. A dimension that is out of the supported range is stored
    /// as 63, which no tensor has.
    constexpr void push_back(std::int64_t dim) {
        STRETTO_ASSERT(count_ < capacity, "a list of dimensions is full");
        dims_[count_++] = static_cast<std::int8_t>(dim < -64 || dim > 63 ? 63 : dim);
    }
    [[nodiscard]] constexpr std::size_t size() const { return count_; }
    [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
    [[nodiscard]] constexpr std::int64_t operator[](std::size_t k) const { return dims_[k]; }

private:
    std::int8_t dims_[capacity] = {};
    std::uint8_t count_ = 0;
};

/// Returns dimension d of a tensor of the given rank, counted from the end if d is negative; -1 if there is none. A
/// single element (rank 0) has a dimension 0.
[[nodiscard]] constexpr std::int64_t wrapped(std::int64_t d, std::size_t rank) {
    const std::int64_t n = static_cast<std::int64_t>(rank);
    if (rank == 0 && (d == 0 || d == -1)) return 0;
    return d >= n || d < -n ? -1 : d < 0 ? d + n : d;
}

/// Returns the position in the list of dimension d of a tensor of that rank; `dims.size()` if the list does not contain
/// it.
[[nodiscard]] constexpr std::size_t place_of(const dim_list& dims, std::int64_t d, std::size_t rank) {
    for (std::size_t k = 0; k < dims.size(); ++k)
        if (wrapped(dims[k], rank) == d) return k;
    return dims.size();
}

}  // namespace stretto::chunk_rules

#endif
