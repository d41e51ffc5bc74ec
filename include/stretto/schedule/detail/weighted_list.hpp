// A list from which a search picks at random, the heavier things the more often.
#ifndef STRETTO_SCHEDULE_DETAIL_WEIGHTED_LIST_HPP
#define STRETTO_SCHEDULE_DETAIL_WEIGHTED_LIST_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stretto::detail {

/// Things that lie one after the other, each as long as its weight.
template <class T>
class weighted_list {
public:
    /// Appends a thing, unless its weight is 0. Precondition: the weight is not negative.
    void add(T thing, std::int64_t weight) {
        if (weight > 0) entries_.push_back({thing, weight, sum() + weight});
    }
    void clear() noexcept { entries_.clear(); }

    /// Returns the weight of all.
    [[nodiscard]] std::int64_t sum() const { return entries_.empty() ? 0 : entries_.back().end; }

    struct entry {
        T thing;
        std::int64_t weight;
        std::int64_t end;  ///< the weight of all up to this one
    };
    /// Returns what lies at a place. O(log of their number). Precondition: 0 <= place < sum().
    [[nodiscard]] const entry& at(std::int64_t place) const {
        return *std::partition_point(entries_.begin(), entries_.end(), [&](const entry& e) { return e.end <= place; });
    }

private:
    std::vector<entry> entries_;
};

}  // namespace stretto::detail

#endif
