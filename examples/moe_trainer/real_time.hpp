// Gives the threads of a training priority, so that other processes do not disturb its measurements.
#ifndef MOE_TRAINER_REAL_TIME_HPP
#define MOE_TRAINER_REAL_TIME_HPP

#include <pthread.h>
#include <sched.h>

namespace trainer {

/// The priority of a thread. Channels come before kernels, because a network does not wait for a core.
enum class urgency {
    kernels = 1,
    channels = 2
};

/// While this object exists, this thread and the threads that it creates have priority over those of other processes,
/// if that is wanted and permitted.
class real_time {
public:
    real_time(bool wanted, urgency u) {
        sched_param most{};
        most.sched_priority = static_cast<int>(u);
        pthread_getschedparam(pthread_self(), &policy_, &before_);
        changed_ = wanted && pthread_setschedparam(pthread_self(), SCHED_FIFO, &most) == 0;
    }
    real_time(const real_time&) = delete;
    real_time& operator=(const real_time&) = delete;
    ~real_time() {
        if (changed_) pthread_setschedparam(pthread_self(), policy_, &before_);
    }
    [[nodiscard]] bool is_on() const { return changed_; }

private:
    int policy_ = 0;
    sched_param before_{};
    bool changed_ = false;
};

}  // namespace trainer

#endif
