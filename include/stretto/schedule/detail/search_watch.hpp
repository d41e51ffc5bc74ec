// A watch observes a search for orders within ascending limits, and may end it early. The search reports what it has
// found within a limit once nothing more will be searched within it. So a report does not depend on the limits above.
#ifndef STRETTO_SCHEDULE_DETAIL_SEARCH_WATCH_HPP
#define STRETTO_SCHEDULE_DETAIL_SEARCH_WATCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/trial_progress.hpp"

namespace stretto::detail {

/// An order with its makespan and its peak. The order as given is represented by an empty list of nodes.
struct found_order {
    pass_result pass;
    std::int64_t peak = 0;
};

/// Follows one search.
class search_watch {
public:
    /// `limits` must ascend, outlive the watch, and end with the limit of the search.
    explicit search_watch(std::span<const bytes> limits) : limits_(limits) {}
    search_watch(const search_watch&) = delete;
    search_watch& operator=(const search_watch&) = delete;
    virtual ~search_watch() = default;

    [[nodiscard]] std::span<const bytes> limits() const noexcept { return limits_; }

    /// Returns whether to begin a rung, or to continue within it. Once it returns false, the search ends and makes no
    /// further calls. It is not called for rungs below all limits.
    [[nodiscard]] virtual bool goes_on(const trial_progress& now) = 0;
    /// Receives the fastest order within a limit, or null if there is none. It is called once for each limit, in
    /// ascending order.
    virtual void reached(std::size_t level, const found_order* best) = 0;

private:
    std::span<const bytes> limits_;
};

/// Combines several searches for another watch, which may be null. It keeps the fastest order that they find within
/// each limit. The other watch decides whether each search continues, and receives the orders once all searches have
/// ended.
class level_records final : public search_watch {
public:
    explicit level_records(search_watch* other)
        : search_watch(other ? other->limits() : std::span<const bytes>()), other_(other), best_(limits().size()) {}

    /// Begins a search; the numbers of the searches inside it count from `number`.
    void begin_search(std::uint8_t number) noexcept { number_ = number; }
    /// Returns whether the other watch has ended the search. It then receives no further calls.
    [[nodiscard]] bool ended() const noexcept { return ended_; }

    [[nodiscard]] bool goes_on(const trial_progress& now) override {
        trial_progress here = now;
        here.search = static_cast<std::uint8_t>(number_ + now.search);
        if (const auto& known = best_[now.level])
            here.so_far = std::min(here.so_far, nanoseconds{known->pass.makespan});
        ended_ = !other_->goes_on(here);
        return !ended_;
    }
    void reached(std::size_t level, const found_order* best) override {
        std::optional<found_order>& known = best_[level];
        if (best && (!known || best->pass.makespan < known->pass.makespan)) known = *best;
    }
    /// Reports to the other watch what has been found within each limit.
    void pass_on() const {
        if (!other_ || ended_) return;
        for (std::size_t k = 0; k < best_.size(); ++k) other_->reached(k, best_[k] ? &*best_[k] : nullptr);
    }

private:
    search_watch* other_;
    std::vector<std::optional<found_order>> best_;
    std::uint8_t number_ = 0;
    bool ended_ = false;
};

}  // namespace stretto::detail

#endif
