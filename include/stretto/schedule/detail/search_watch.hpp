// Somebody who looks on while orders are searched within ascending limits, and who may end the search early. The search
// tells of a limit what it has found once nothing more will be searched within it; so what is told of a limit does not
// depend on the limits above.
#ifndef STRETTO_SCHEDULE_DETAIL_SEARCH_WATCH_HPP
#define STRETTO_SCHEDULE_DETAIL_SEARCH_WATCH_HPP

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

/// Keeps the fastest order within each limit, of several searches; and lets all of them go on.
class level_records final : public search_watch {
public:
    explicit level_records(std::span<const bytes> limits) : search_watch(limits), best_(limits.size()) {}

    [[nodiscard]] bool goes_on(const trial_progress&) override { return true; }
    void reached(std::size_t level, const found_order* best) override {
        std::optional<found_order>& known = best_[level];
        if (best && (!known || best->pass.makespan < known->pass.makespan)) known = *best;
    }
    /// Tells another one what has been found within each limit.
    void pass_on(search_watch& other) const {
        for (std::size_t k = 0; k < best_.size(); ++k) other.reached(k, best_[k] ? &*best_[k] : nullptr);
    }

private:
    std::vector<std::optional<found_order>> best_;
};

}  // namespace stretto::detail

#endif
