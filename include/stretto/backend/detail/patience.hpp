// Waits between two polls of something that makes progress only when it is polled.
#ifndef STRETTO_BACKEND_DETAIL_PATIENCE_HPP
#define STRETTO_BACKEND_DETAIL_PATIENCE_HPP

#include <chrono>
#include <thread>

namespace stretto::detail {

/// The pauses of one wait. MPI and NCCL make progress, or report failures, only when they are called, so a waiting
/// thread cannot sleep until it is woken. It yields the processor for the first `questions` pauses. Then the wait is
/// evidently longer, and each pause is a sleep of 20 us, so that kernels can use the core.
class patience {
public:
    explicit patience(int questions) : left_(questions) {}
    void pause() {
        if (left_ > 0) {
            --left_;
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

private:
    int left_;
};

}  // namespace stretto::detail

#endif
