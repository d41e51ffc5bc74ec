// What the threads of a run share: its first failure, after which nobody goes on, and what must not be freed under a
// copy.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_HOST_RUN_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_HOST_RUN_HPP

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/detail/first_failure.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/run_failure.hpp"

namespace stretto::detail {

/// One run of all ranks in a process. Every function may be called by every thread at any time.
class host_run {
public:
    /// In a timed run, lanes note when tasks begin and end.
    explicit host_run(bool timed = false) : timed_(timed) {}
    [[nodiscard]] bool is_timed() const noexcept { return timed_; }

    /// Gives the run up. Only the first failure counts. All words that have been entered are closed.
    void fail(run_failure why) {
        if (!first_.keep(std::move(why))) return;
        const std::lock_guard lock(mutex_);
        for (host_word* word : words_) word->close();
    }
    [[nodiscard]] bool failed() const { return first_.is_there(); }
    [[nodiscard]] std::optional<run_failure> failure() const { return first_.get(); }
    /// From now on a failure closes this word, which lives as long as the run. One that is reported meanwhile closes it
    /// too: it is kept before words are closed, so either it is seen here, or the word is in the list by then.
    void enter(host_word& word) {
        const std::lock_guard lock(mutex_);
        words_.push_back(&word);
        if (failed()) word.close();
    }

    /// While one lives and `may_read()`, the memory of all ranks stays: a rank that gives up waits for the others'.
    class reading {
    public:
        explicit reading(host_run& run) : run_(run) { run.readers_.fetch_add(1, std::memory_order_seq_cst); }
        reading(const reading&) = delete;
        reading& operator=(const reading&) = delete;
        ~reading() { run_.readers_.fetch_sub(1, std::memory_order_seq_cst); }
        [[nodiscard]] bool may_read() const { return !run_.failed(); }

    private:
        host_run& run_;
    };
    [[nodiscard]] bool is_read() const { return readers_.load(std::memory_order_seq_cst) != 0; }
    /// After a failure: returns when nobody reads the memory of another rank any more, which copies take no longer
    /// than.
    void await_readers() const {
        while (is_read()) std::this_thread::yield();
    }
    /// After a failure: what it was, when nobody reads the memory of another rank any more.
    [[nodiscard]] std::optional<run_failure> settle() {
        await_readers();
        return failure();
    }

private:
    const bool timed_;
    first_failure first_;
    std::mutex mutex_;
    std::vector<host_word*> words_;
    std::atomic<std::uint32_t> readers_ = 0;
};

}  // namespace stretto::detail

#endif
