// Shows a line on a terminal while something takes more than a second, and removes the line when it is done.
#ifndef STRETTO_PLANNER_PROGRESS_HPP
#define STRETTO_PLANNER_PROGRESS_HPP

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace planner {

/// The line is shown by a thread of its own until the object is destroyed.
class progress {
public:
    /// Shows `what` and the seconds since now on standard error, if that is a terminal.
    explicit progress(std::string what) {
        if (isatty(STDERR_FILENO) != 0) shower_ = std::thread([this, text = std::move(what)] { show(text); });
    }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() {
        if (!shower_.joinable()) return;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            done_ = true;
        }
        finished_.notify_one();
        shower_.join();
    }

private:
    void show(const std::string& text) {
        std::unique_lock<std::mutex> lock(mutex_);
        int seconds = 0;
        while (!finished_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; }))
            std::fprintf(stderr, "\r%s ... %d s", text.c_str(), ++seconds);
        if (seconds > 0) std::fputs("\r\x1b[K", stderr);
    }

    std::mutex mutex_;
    std::condition_variable finished_;
    bool done_ = false;
    std::thread shower_;
};

}  // namespace planner

#endif
