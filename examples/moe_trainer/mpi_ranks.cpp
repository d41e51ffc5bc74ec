// The module for ranks that are processes started by mpiexec.
#include <cstdint>

#include "rank_program.hpp"
#include "real_time.hpp"
#include "stretto/backend/mpi/mpi_world.hpp"

namespace trainer {
namespace {

class processes : public transport {
public:
    explicit processes(const transport_options& o) : options_(o) {
        int threads = MPI_THREAD_SINGLE;  // mpi_world reports too few
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
        MPI_Comm_rank(MPI_COMM_WORLD, &me_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~processes() override {
        if (is_abandoned_) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Finalize();
    }
    [[nodiscard]] int size() const { return size_; }
    bool is_first() const override { return me_ == 0; }
    int worst_of(int status) override {
        int worst = status;
        MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return worst;
    }

    std::optional<std::string> run(rank_job& job) override {
        const stretto::rank_groups groups = groups_of_ranks(job.p);
        std::unique_ptr<stretto::mpi_world> world;
        {
            const real_time priority(options_.real_time, urgency::channels);  // whose threads are made here
            auto made = stretto::mpi_world::make(MPI_COMM_WORLD, groups.all(), {.timed = job.options.timed});
            if (!made) return explain(made.error());
            world = *std::move(made);
        }
        const auto failure = world->run([&](stretto::mpi_rank& r) {
            const real_time priority(options_.real_time, urgency::kernels);
            static_cast<void>(run_rank(job, groups, r));
        });
        is_abandoned_ = world->is_abandoned();
        if (failure) return explain(*failure, names_of(job.p));
        world.reset();
        for (int rank = 0; rank < size_; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            for (auto& [x, memory] : job.state.ranks[r]) tell(rank, memory);
            tell(rank, job.results[r].losses);
            tell(rank, job.results[r].milliseconds);
            tell(rank, job.results[r].times);
        }
        return {};
    }

private:
    /// Sends the array of one rank to all others.
    template <class T>
    void tell(int from, std::vector<T>& all) const {
        std::uint64_t count = all.size();
        MPI_Bcast(&count, 1, MPI_UINT64_T, from, MPI_COMM_WORLD);
        all.resize(count);
        constexpr std::size_t most = (std::size_t{1} << 30) / sizeof(T);  // MPI counts bytes in an int
        for (std::size_t at = 0; at < all.size(); at += most)
            MPI_Bcast(all.data() + at, static_cast<int>(std::min(most, all.size() - at) * sizeof(T)), MPI_BYTE, from,
                      MPI_COMM_WORLD);
    }

    transport_options options_;
    int me_ = 0, size_ = 1;
    bool is_abandoned_ = false;
};

}  // namespace
}  // namespace trainer

extern "C" trainer::transport* moe_trainer_transport(const trainer::transport_options& o, std::string& wrong) {
    auto made = std::make_unique<trainer::processes>(o);
    const auto there = static_cast<std::size_t>(made->size());
    if (there == o.ranks) return made.release();
    if (made->is_first())
        wrong = "--backend mpi: " + std::to_string(there) + " process(es) for " + std::to_string(o.ranks) +
                " ranks: start it with mpiexec -n " + std::to_string(o.ranks) + ", or use --ranks " +
                std::to_string(there);
    return nullptr;
}
