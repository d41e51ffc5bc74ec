// Stores the first failure of a run, which any thread may report.
#ifndef STRETTO_BACKEND_DETAIL_FIRST_FAILURE_HPP
#define STRETTO_BACKEND_DETAIL_FIRST_FAILURE_HPP

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "stretto/backend/run_failure.hpp"

namespace stretto::detail {

/// Keeps the first reported failure, because later ones are mostly its consequences. Every function may be called by
/// every thread at any time.
class first_failure {
public:
    /// Keeps a failure if it is the first one. Returns whether it is.
    bool keep(run_failure why) {
        const std::lock_guard lock(mutex_);
        if (failure_) return false;
        failure_ = std::move(why);
        is_there_.store(true, std::memory_order_seq_cst);
        return true;
    }
    /// Returns whether there is a failure. Lanes query it all the time, so it takes no lock.
    [[nodiscard]] bool is_there() const { return is_there_.load(std::memory_order_seq_cst); }
    /// Returns the failure, or nothing.
    [[nodiscard]] std::optional<run_failure> get() const {
        const std::lock_guard lock(mutex_);
        return failure_;
    }

private:
    mutable std::mutex mutex_;
    std::optional<run_failure> failure_;
    std::atomic<bool> is_there_ = false;
};

}  // namespace stretto::detail

#endif
