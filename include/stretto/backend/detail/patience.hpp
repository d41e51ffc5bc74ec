// How to wait for something that must be polled.
#ifndef STRETTO_BACKEND_DETAIL_PATIENCE_HPP
#define STRETTO_BACKEND_DETAIL_PATIENCE_HPP

#include <chrono>
#include <thread>

namespace stretto::detail {

/// The pause between two polls. MPI and NCCL make progress, or report failures, only when they are called, so a waiting
/// thread cannot sleep until it is woken. At first it yields the processor; after `questions` polls, when the wait is
/// evidently longer, the thread sleeps for a while, so that kernels can use its core.
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
