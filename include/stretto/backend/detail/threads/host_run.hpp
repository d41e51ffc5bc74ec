// The state that the threads of a run share: its first failure, which stops all of them, and the number of threads that
// are using memory of ranks, which must not be freed meanwhile.
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

/// One run of all ranks in a process. Every function may be called by every thread at any time. A failure stops threads
/// by closing the words for which they wait (detail/threads/host_word.hpp).
class host_run {
public:
    /// In a timed run, lanes note when tasks begin and end.
    explicit host_run(bool timed = false) : timed_(timed) {}
    [[nodiscard]] bool is_timed() const noexcept { return timed_; }

    /// Ends the run with a failure, and closes all words that have been entered. Only the first call has an effect.
    void fail(run_failure why) {
        if (!first_.keep(std::move(why))) return;
        const std::lock_guard lock(mutex_);
        for (host_word* word : words_) word->close();
    }
    [[nodiscard]] bool failed() const { return first_.is_there(); }
    [[nodiscard]] std::optional<run_failure> failure() const { return first_.get(); }
    /// Makes failures close this word, which must live as long as the run may fail. A concurrent failure closes it too:
    /// it is stored before words are closed, so either it is seen here, or it finds the word in the list.
    void enter(host_word& word) {
        const std::lock_guard lock(mutex_);
        words_.push_back(&word);
        if (failed()) word.close();
    }

    /// While such an object lives, and if `may_read()` was true, the memory of all ranks stays valid: after a failure,
    /// a rank returns to its program only when no such object is left. The counter and the failure are accessed in one
    /// total order, so either the failure is seen here, or this object is seen by the rank that waits.
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
    /// Returns whether any thread may be using the memory of ranks.
    [[nodiscard]] bool is_read() const { return readers_.load(std::memory_order_seq_cst) != 0; }
    /// Returns when no thread uses the memory of ranks. Call it after a failure, when no thread begins to use it any
    /// more.
    void await_readers() const {
        while (is_read()) std::this_thread::yield();
    }
    /// Returns the failure once no thread uses the memory of ranks. Call it after a failure.
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
