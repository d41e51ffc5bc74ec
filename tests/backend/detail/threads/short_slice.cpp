#include "stretto/backend/detail/threads/short_slice.hpp"

#include <doctest/doctest.h>

#include <thread>

#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>

using namespace stretto;

namespace {

/// Runs f() in a thread of its own, because a thread without privileges cannot take back what it changes.
template <class F>
void in_a_thread(F f) {
    std::thread(f).join();
}

}  // namespace

TEST_CASE("a thread with a short slice keeps its policy and how nice it is") {
    int policy = -1, nice = -1;
    in_a_thread([&] {
        setpriority(PRIO_PROCESS, 0, 7);  // of this thread alone, on Linux
        detail::ask_for_short_slice();
        policy = sched_getscheduler(0);
        nice = getpriority(PRIO_PROCESS, 0);
    });
    CHECK(policy == SCHED_OTHER);
    CHECK(nice == 7);
}

TEST_CASE("a thread with a policy of its own keeps that") {
    int policy = -1;
    in_a_thread([&] {
        const sched_param none{};
        sched_setscheduler(0, SCHED_BATCH, &none);
        detail::ask_for_short_slice();
        policy = sched_getscheduler(0);
    });
    CHECK(policy == SCHED_BATCH);
}

#endif
