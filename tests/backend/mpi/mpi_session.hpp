// MPI in a test: every process of mpiexec runs the same test cases, in the same order, and says whether its own part
// is right. mpiexec fails if one of them does.
#ifndef STRETTO_TESTS_BACKEND_MPI_MPI_SESSION_HPP
#define STRETTO_TESTS_BACKEND_MPI_MPI_SESSION_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/backend/mpi/mpi_world.hpp"
#include "stretto/core/process_groups.hpp"

namespace mpi_test {

/// Lives from before the first test case to after the last one. STRETTO_TEST_THREADS=serialised asks MPI for less than
/// a world needs.
class session {
public:
    session() {
        before_ = fault_of(stretto::mpi_world::make(MPI_COMM_NULL, {}));
        const char* const level = std::getenv("STRETTO_TEST_THREADS");
        const bool serialised = level != nullptr && std::string_view(level) == "serialised";
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, serialised ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() { MPI_Finalize(); }

    [[nodiscard]] std::size_t rank() const { return static_cast<std::size_t>(rank_); }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(size_); }
    /// What was wrong with a world before MPI was initialised.
    [[nodiscard]] const std::optional<stretto::mpi_fault>& before() const { return before_; }

    template <class Expected>
    [[nodiscard]] static std::optional<stretto::mpi_fault> fault_of(const Expected& made) {
        return made ? std::nullopt : std::optional(made.error());
    }

private:
    int rank_ = 0, size_ = 1;
    std::optional<stretto::mpi_fault> before_;
};
inline session here;

/// Whether all processes say so: who shrinks a counterexample must do so together with the others.
[[nodiscard]] inline bool everywhere(bool fine) {
    int all = fine ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

/// Whether all processes have been told the same, in every word.
[[nodiscard]] inline bool told_alike(const std::optional<stretto::run_failure>& f) {
    const std::string mine = f ? stretto::detail::message_of(*f) : std::string();
    auto size = static_cast<unsigned long>(mine.size());
    MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    std::string first = mine;
    first.resize(size);
    MPI_Bcast(first.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
    return everywhere(f.has_value() && first == mine);
}

[[nodiscard]] inline stretto::process_groups one_group(std::size_t ranks) {
    std::vector<stretto::rank_id> all(ranks);
    std::iota(all.begin(), all.end(), 0u);
    stretto::process_groups groups;
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    return groups;
}
/// All ranks, all in reverse, those of even number (and perhaps one, those of odd number), and all once more.
[[nodiscard]] inline stretto::process_groups groups_of(std::size_t ranks) {
    std::vector<stretto::rank_id> all(ranks), even, odd;
    std::iota(all.begin(), all.end(), 0u);
    for (const stretto::rank_id r : all) (r % 2 == 0 ? even : odd).push_back(r);
    stretto::process_groups groups;
    const auto add = [&](const std::vector<stretto::rank_id>& some) {
        if (!some.empty()) groups.add({.size = static_cast<std::int64_t>(some.size()), .ranks = some});
    };
    add(all);
    add({all.rbegin(), all.rend()});
    add(all);
    add(even);
    add(odd);
    return groups;
}

}  // namespace mpi_test

#endif
