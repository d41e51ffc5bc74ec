// Recognises counts that were computed as differences of their running sum. Programs often keep the ends of groups, and
// compute the number of rows of a group as the difference of two neighbouring ends. The result equals the counts of
// which the ends are the running sum. Rules that ask which rows a count counts need to know this (value_history.hpp).
//
// If e is the running sum of the counts c, then c = e - (0, e without its last element). Programs write this in several
// ways. They join a zero to the front of e, or write e into zeros behind the first element, and cut the last element
// off before or afterwards, as torch.diff does with `prepend`. Or they join the first element of e to the differences
// of the other elements. Only vectors are followed.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_RUNNING_DIFFERENCES_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_RUNNING_DIFFERENCES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/detail/value_walk.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/joining.hpp"
#include "stretto/transform/chunk_rules/layout.hpp"
#include "stretto/transform/chunk_rules/parts.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"

namespace stretto::chunk_rules::detail {

/// Follows vectors back to others with the same elements in the same order where value_walk alone finds no copy. It
/// leaves alone values of other ranks, and values into which an operation writes in place.
template <class G, class D>
class running_differences {
public:
    using value_type = typename value_walk<G, D>::value_type;

    explicit running_differences(const value_walk<G, D>& walk) : walk_(&walk) {}

    /// Goes one step back: from a vector that was joined to another one and cut out again, or from the differences of a
    /// running sum. Returns false, and leaves x unchanged, if x is neither. O(operations on the way and their readers).
    [[nodiscard]] bool step_back(value_type& x) const {
        value_type from = x;
        if (!walk_->copied_from(from) || (!cut_out_again(from) && !summed_and_back(from)) || walk_->is_written(from))
            return false;
        x = from;
        return true;
    }
    /// Goes back as far as the elements stay the same, including over copies. Returns false if something writes in
    /// place into a value on the way, or if such a value is not a single tensor.
    [[nodiscard]] bool copied_from(value_type& x) const {
        while (step_back(x)) {
        }
        return walk_->copied_from(x);
    }

private:
    /// Returns the number of elements of a vector; -1 if x is not a vector.
    [[nodiscard]] std::int64_t length(value_type x) const {
        const auto types = walk_->components(x);
        return types.size() == 1 && types[0].shape.size() == 1 ? types[0].shape[0] : -1;
    }
    /// Returns whether both are vectors and known to have the same elements.
    [[nodiscard]] bool same(value_type x, value_type y) const {
        return length(x) >= 0 && walk_->copied_from(x) && walk_->copied_from(y) && walk_->key(x) == walk_->key(y);
    }

    /// A vector that consists of the first `before` elements of `front`, followed by `back`.
    struct two_parts {
        value_type front, back;
        std::int64_t before;
    };
    /// Returns the parts of x if it was made by joining two vectors, or by writing one vector over the end of another.
    [[nodiscard]] std::optional<two_parts> joined(value_type x) const {
        const any_rule r = walk_->made_by(x);
        value_type front = x, back = x, more = x;
        std::int64_t before = -1;
        if (const auto* all = r.template as<concat>()) {
            if (wrapped(all->dim, 1) != 0 || all->first > 1 || walk_->step(more, 2)) return {};
            if (!walk_->step(front, all->first) || !walk_->step(back, 1 - all->first)) return {};
            before = length(front);
        } else if (const auto* part = r.template as<put_slice>(); part != nullptr && !r.writes_in_place()) {
            if (wrapped(part->dim, 1) != 0) return {};
            if (!walk_->step(front, part->base) || !walk_->step(back, part->source)) return {};
            before = length(front) == length(x) ? part->first : -1;
        }
        if (before < 0 || length(x) < 0 || length(back) < 0 || before + length(back) != length(x)) return {};
        return two_parts{front, back, before};
    }
    /// If x is a range of neighbouring elements of another vector, replaces x by that vector and returns the position
    /// of the first element in it. Otherwise returns -1, and x is of no use.
    [[nodiscard]] std::int64_t cut_from(value_type& x) const {
        const any_rule r = walk_->made_by(x);
        const auto* part = r.template as<slice>();
        if (part == nullptr || length(x) < 0 || part->first < 0 || part->step != 1 || !walk_->step(x, part->x))
            return -1;
        return walk_->copied_from(x) && length(x) >= 0 ? part->first : -1;
    }
    /// Returns whether x is the range of `of` that begins at `first`.
    [[nodiscard]] bool is_part(value_type x, std::int64_t first, value_type of) const {
        return walk_->copied_from(x) && cut_from(x) == first && same(x, of);
    }
    /// If x is a range of two joined vectors, and that range is exactly one of them, replaces x by that one.
    [[nodiscard]] bool cut_out_again(value_type& x) const {
        value_type all = x;
        const std::int64_t first = cut_from(all), n = length(x);
        if (first < 0) return false;
        const auto both = joined(all);
        if (!both) return false;
        if (first == 0 && n == both->before && n == length(both->front)) return x = both->front, true;
        if (first == both->before && n == length(both->back)) return x = both->back, true;
        return false;
    }

    /// Returns whether the first part is a single zero.
    [[nodiscard]] bool begins_with_zero(const two_parts& both) const {
        return both.before == 1 && walk_->is_zero(both.front);
    }
    /// Returns whether x is a zero followed by all elements of `ends` except the last.
    [[nodiscard]] bool is_moved_by_one(value_type x, value_type ends) const {
        if (!walk_->copied_from(x) || length(x) != length(ends)) return false;
        if (const auto both = joined(x)) return begins_with_zero(*both) && is_part(both->back, 0, ends);
        if (cut_from(x) != 0) return false;
        const auto both = joined(x);
        return both && begins_with_zero(*both) && same(both->back, ends);
    }
    /// Returns the two operands if x is their plain difference: the first one minus the second one.
    [[nodiscard]] std::optional<std::pair<value_type, value_type>> subtracted(value_type x) const {
        const any_rule r = walk_->made_by(x);
        const auto* a = r.template as<arithmetic>();
        if (a == nullptr || r.writes_in_place() || a->what != arithmetic::op::subtract || a->scaled || a->has_constants)
            return {};
        value_type left = x, right = x;
        if (!walk_->step(left, a->left.operand) || !walk_->step(right, a->right.operand)) return {};
        return std::pair(left, right);
    }
    /// Replaces a running sum by the vector that it sums. Returns false if `ends` is not a running sum.
    [[nodiscard]] bool unsummed(value_type& ends) const {
        const any_rule r = walk_->made_by(ends);
        const auto* sums = r.template as<running_sum>();
        return sums != nullptr && length(ends) >= 0 && wrapped(sums->dim, 1) == 0 && walk_->step(ends, sums->x);
    }
    /// If x is the first element of a running sum followed by the differences of neighbouring elements, replaces x by
    /// the vector that was summed.
    [[nodiscard]] bool summed_and_back(value_type& x) const {
        if (const auto both = joined(x)) {  // x joins the first end to the differences of the others
            value_type ends = both->front;
            const auto others = subtracted(both->back);
            if (!others || length(both->front) != 1 || !walk_->copied_from(ends) || cut_from(ends) != 0 ||
                length(ends) != length(x) || !is_part(others->first, 1, ends) || !is_part(others->second, 0, ends) ||
                !unsummed(ends))
                return false;
            return x = ends, true;
        }
        const auto both = subtracted(x);
        if (!both) return false;
        value_type ends = both->first;
        do
            if (!walk_->copied_from(ends)) return false;
        while (cut_out_again(ends));
        if (length(ends) != length(x) || !is_moved_by_one(both->second, ends) || !unsummed(ends)) return false;
        return x = ends, true;
    }

    const value_walk<G, D>* walk_;
};

}  // namespace stretto::chunk_rules::detail

#endif
