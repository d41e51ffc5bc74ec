// The messages between the control threads of processes (mpi_control.hpp), serialized as 32-bit numbers and texts. A
// process that fails sends its progress to all others and a report to rank 0. Rank 0 may then send a question to all
// others, and finally sends them the verdict.
#ifndef STRETTO_BACKEND_MPI_DETAIL_MPI_MESSAGE_HPP
#define STRETTO_BACKEND_MPI_DETAIL_MPI_MESSAGE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/backend/run_failure.hpp"

namespace stretto::detail {

/// The kind of a message, which is also its tag.
enum class message_kind : int {
    progress,  ///< to all: the runs that a process has left, whether it has failed, and collectives begun by group
    report,    ///< to rank 0: the first failure of a process
    question,  ///< from rank 0: an empty message that asks which lanes wait
    answer,    ///< to rank 0: a failure of which only the waiting lanes are meaningful
    verdict,   ///< from rank 0: the failure that all processes report
};

/// Serializes a message by appending to a text. Numbers have the byte order of the machine, because all processes of a
/// run are on machines of one kind.
class message_writer {
public:
    void number(std::uint32_t x) {
        char bytes[sizeof(x)];
        std::memcpy(bytes, &x, sizeof(x));
        text_.append(bytes, sizeof(x));
    }
    /// Appends the length of a text, and then the text.
    void words(std::string_view x) {
        number(static_cast<std::uint32_t>(x.size()));
        text_.append(x);
    }
    /// Appends how many numbers there are, and then the numbers.
    void numbers(std::span<const std::uint32_t> all) {
        number(static_cast<std::uint32_t>(all.size()));
        for (const std::uint32_t x : all) number(x);
    }
    /// Appends the progress of a process: the runs that it has left, whether it has failed, and collectives begun by
    /// group.
    void progress(std::uint32_t runs, bool failed, std::span<const std::uint32_t> begun) {
        number(runs);
        number(failed ? 1 : 0);
        numbers(begun);
    }
    /// Appends all members of a failure, so that every process reports it in the same words.
    void failure(const run_failure& f) {
        number(static_cast<std::uint32_t>(f.why));
        for (const std::uint32_t x : {f.rank, f.group, f.sequence, f.task}) number(x);
        words(f.detail);
        number(static_cast<std::uint32_t>(f.waiting.size()));
        for (const waiting_lane& w : f.waiting) {
            for (const std::uint32_t x : {w.rank, w.lane, w.group, w.task, w.sequence}) number(x);
            numbers(w.for_ranks);
            numbers(w.for_tasks);
        }
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

/// Reads what a message_writer has written, in the same order. If the text ends too early, the missing values are zero
/// or empty, and the reader is broken from then on, so a caller need check only once, after the last value.
class message_reader {
public:
    explicit message_reader(std::string_view text) : rest_(text) {}

    std::uint32_t number() {
        std::uint32_t x = 0;
        if (rest_.size() < sizeof(x)) return broken_ = true, rest_ = {}, 0;
        std::memcpy(&x, rest_.data(), sizeof(x));
        rest_.remove_prefix(sizeof(x));
        return x;
    }
    std::string words() {
        const std::size_t size = number();
        if (size > rest_.size()) return broken_ = true, rest_ = {}, std::string();
        std::string x(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return x;
    }
    std::vector<std::uint32_t> numbers() {
        const std::size_t size = number();  // it may be anything in a broken text, so nothing is reserved
        std::vector<std::uint32_t> all;
        for (std::size_t k = 0; k < size && !broken_; ++k) all.push_back(number());
        return all;
    }
    run_failure failure() {
        run_failure f;
        f.why = static_cast<run_failure::reason>(number());
        for (std::uint32_t* x : {&f.rank, &f.group, &f.sequence, &f.task}) *x = number();
        f.detail = words();
        const std::size_t size = number();
        for (std::size_t k = 0; k < size && !broken_; ++k) {
            waiting_lane& w = f.waiting.emplace_back();
            for (std::uint32_t* x : {&w.rank, &w.lane, &w.group, &w.task, &w.sequence}) *x = number();
            w.for_ranks = numbers();
            w.for_tasks = numbers();
        }
        return f;
    }
    [[nodiscard]] bool is_broken() const noexcept { return broken_; }

private:
    std::string_view rest_;
    bool broken_ = false;  // whether the text has ended too early
};

/// Returns the text of a message that consists of a failure.
[[nodiscard]] inline std::string message_of(const run_failure& f) {
    message_writer out;
    out.failure(f);
    return out.text();
}

}  // namespace stretto::detail

#endif
