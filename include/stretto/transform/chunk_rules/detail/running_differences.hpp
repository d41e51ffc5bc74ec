// Counts that went through their running sum and back. Programs have the ends of groups at hand, and take how many rows
// a group has as the difference of two neighbouring ends. These are the counts again that the ends were summed from,
// and a rule that asks whose rows a count counts wants to hear of those.
//
// Counts c with the running sum e are e - (0, e without its last element), in whatever way a program spells it: a zero
// is joined to the front of e, or e is written into zeros behind the first, and the last element is cut off, or the
// other way round, as torch.diff does with `prepend`; or the first element of e is joined to the differences of the
// others.
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

/// Follows vectors back to others with the same elements in the same order, where value_walk alone finds no copy.
/// Values of other ranks are left alone, and so is whatever something writes into in place.
template <class G, class D>
class running_differences {
public:
    using value_type = typename value_walk<G, D>::value_type;

    explicit running_differences(const value_walk<G, D>& walk) : walk_(&walk) {}

    /// Goes one step back: from what was joined and cut out again, or from the differences of a running sum. False if x
    /// is neither, and stays as it is. O(operations on the way and their readers).
    [[nodiscard]] bool step_back(value_type& x) const {
        value_type from = x;
        if (!walk_->copied_from(from) || (!cut_out_again(from) && !summed_and_back(from)) || walk_->is_written(from))
            return false;
        x = from;
        return true;
    }
    /// Goes back as far as elements are the same, over copies too. False if something is written in place on the way.
    [[nodiscard]] bool copied_from(value_type& x) const {
        while (step_back(x)) {
        }
        return walk_->copied_from(x);
    }

private:
    /// The number of elements of a vector; -1 if x is none.
    [[nodiscard]] std::int64_t length(value_type x) const {
        const auto types = walk_->components(x);
        return types.size() == 1 && types[0].shape.size() == 1 ? types[0].shape[0] : -1;
    }
    /// Whether both are vectors with the same elements.
    [[nodiscard]] bool same(value_type x, value_type y) const {
        return length(x) >= 0 && walk_->copied_from(x) && walk_->copied_from(y) && walk_->key(x) == walk_->key(y);
    }

    /// A vector that has the first `before` elements of `front`, and behind them `back`.
    struct two_parts {
        value_type front, back;
        std::int64_t before;
    };
    /// The two that x is joined of, or the vector into which, and the one that, was written to make x.
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
    /// Where neighbouring elements x were cut out of another vector, which x becomes, begin there; -1 if they were not.
    [[nodiscard]] std::int64_t cut_from(value_type& x) const {
        const any_rule r = walk_->made_by(x);
        const auto* part = r.template as<slice>();
        if (part == nullptr || length(x) < 0 || part->first < 0 || part->step != 1 || !walk_->step(x, part->x))
            return -1;
        return walk_->copied_from(x) && length(x) >= 0 ? part->first : -1;
    }
    /// Whether x is that part of `of`, from `first` on, for as many elements as x has.
    [[nodiscard]] bool is_part(value_type x, std::int64_t first, value_type of) const {
        return walk_->copied_from(x) && cut_from(x) == first && same(x, of);
    }
    /// Goes from a vector that was joined to another, and cut out of that again, to itself.
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

    /// Whether a single zero stands in front.
    [[nodiscard]] bool begins_with_zero(const two_parts& both) const {
        return both.before == 1 && walk_->is_zero(both.front);
    }
    /// Whether x is 0 and behind it all elements of `ends` but the last.
    [[nodiscard]] bool is_moved_by_one(value_type x, value_type ends) const {
        if (!walk_->copied_from(x) || length(x) != length(ends)) return false;
        if (const auto both = joined(x)) return begins_with_zero(*both) && is_part(both->back, 0, ends);
        if (cut_from(x) != 0) return false;
        const auto both = joined(x);
        return both && begins_with_zero(*both) && same(both->back, ends);
    }
    /// The operands of an operation that does nothing but subtract the second from the first.
    [[nodiscard]] std::optional<std::pair<value_type, value_type>> subtracted(value_type x) const {
        const any_rule r = walk_->made_by(x);
        const auto* a = r.template as<arithmetic>();
        if (a == nullptr || r.writes_in_place() || a->what != arithmetic::op::subtract || a->scaled || a->has_constants)
            return {};
        value_type left = x, right = x;
        if (!walk_->step(left, a->left.operand) || !walk_->step(right, a->right.operand)) return {};
        return std::pair(left, right);
    }
    /// Goes from a running sum to what it sums.
    [[nodiscard]] bool unsummed(value_type& ends) const {
        const any_rule r = walk_->made_by(ends);
        const auto* sums = r.template as<running_sum>();
        return sums != nullptr && length(ends) >= 0 && wrapped(sums->dim, 1) == 0 && walk_->step(ends, sums->x);
    }
    /// Goes from the differences of neighbouring elements of a running sum, the first one among them, to what it sums.
    [[nodiscard]] bool summed_and_back(value_type& x) const {
        if (const auto both = joined(x)) {  // the first end, and the differences of the others
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
