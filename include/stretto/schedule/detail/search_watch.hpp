// Somebody who looks on while orders are searched within ascending limits, and who may end the search early. The search
// tells of a limit what it has found once nothing more will be searched within it; so what is told of a limit does not
// depend on the limits above.
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

/// An order with what it takes. The order as given has no nodes.
struct found_order {
    pass_result pass;
    std::int64_t peak = 0;
};

/// Follows one search.
class search_watch {
public:
    /// `limits` ascend, must live as long, and end with the limit of the search.
    explicit search_watch(std::span<const bytes> limits) : limits_(limits) {}
    search_watch(const search_watch&) = delete;
    search_watch& operator=(const search_watch&) = delete;
    virtual ~search_watch() = default;

    [[nodiscard]] std::span<const bytes> limits() const noexcept { return limits_; }

    /// Whether a rung is to be searched (further). Once it is not, nothing more is searched or told. Nobody asks about
    /// rungs below all limits.
    [[nodiscard]] virtual bool goes_on(const trial_progress& now) = 0;
    /// The fastest order within a limit; null if there is none. Each limit is told once, in their order.
    virtual void reached(std::size_t level, const found_order* best) = 0;

private:
    std::span<const bytes> limits_;
};

/// Keeps the fastest order within each limit, of several searches, for another watch, if there is one: it is asked
/// about each of them, and told when all have come to their end.
class level_records final : public search_watch {
public:
    explicit level_records(search_watch* other)
        : search_watch(other ? other->limits() : std::span<const bytes>()), other_(other), best_(limits().size()) {}

    /// The numbers of searches in the one that begins are counted from `number` on.
    void begin_search(std::uint8_t number) noexcept { number_ = number; }
    /// Whether the other one has seen enough. Then it is told nothing more.
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
    /// Tells the other one what has been found within each limit.
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
