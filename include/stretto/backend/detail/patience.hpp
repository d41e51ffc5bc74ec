// How to wait for what must be asked for again and again.
#ifndef STRETTO_BACKEND_DETAIL_PATIENCE_HPP
#define STRETTO_BACKEND_DETAIL_PATIENCE_HPP

#include <chrono>
#include <thread>

namespace stretto::detail {

/// What goes between two questions. MPI and NCCL make progress, or tell of failures, when they are asked, so whoever
/// waits cannot sleep until somebody wakes him. At first others get the processor; after `questions` of them, when it
/// will take longer anyway, the thread sleeps, so that kernels have its core.
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
