// The module for ranks that are devices of this machine, each with a thread. Kernels are functions of the host, which a
// stream of the device calls, over memory that both can access. Collectives are those of NCCL, which adds in an order
// of its own.
#include <exception>
#include <thread>

#include "rank_program.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_library.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"

namespace trainer {
namespace {

using library = stretto::cuda_nccl_library;

class devices : public transport {
public:
    explicit devices(const transport_options& o) : ranks_(o.ranks) {}

    std::optional<std::string> run(rank_job& job) override {
        const stretto::rank_groups groups = groups_of_ranks(job.p);
        library::id_type id = {};
        if (const auto made = library::make_id(id); !made.done()) return std::string("NCCL: ") + made.text;
        std::vector<std::optional<std::string>> wrong(ranks_);
        std::vector<std::thread> threads;
        for (std::size_t r = 0; r < ranks_; ++r)
            threads.emplace_back([&, r] {
                try {
                    wrong[r] = run_one(job, groups, id, r);
                } catch (const std::exception& e) {
                    wrong[r] = e.what();
                }
            });
        for (std::thread& t : threads) t.join();
        for (auto& text : wrong)
            if (text) return std::move(text);
        return {};
    }

private:
    std::optional<std::string> run_one(rank_job& job, const stretto::rank_groups& groups, const library::id_type& id,
                                       std::size_t r) const {
        stretto::cuda_nccl_options options;
        options.device = static_cast<int>(r);
        options.memory = stretto::device_memory::managed;
        options.timed = job.options.timed;
        auto rank =
            stretto::cuda_nccl_rank<library>::make(static_cast<stretto::rank_id>(r), ranks_, id, groups.all(), options);
        if (!rank) return explain(rank.error(), names_of(job.p));
        const auto failure = run_rank(job, groups, **rank);
        return failure ? std::optional(explain(*failure, names_of(job.p))) : std::nullopt;
    }

    std::size_t ranks_;
};

}  // namespace
}  // namespace trainer

extern "C" trainer::transport* moe_trainer_transport(const trainer::transport_options& o, std::string& wrong) {
    int there = 0;
    const cudaError_t asked = cudaGetDeviceCount(&there);
    if (asked == cudaSuccess && static_cast<std::size_t>(there) >= o.ranks) return new trainer::devices(o);
    wrong = "--backend nccl: " + std::to_string(o.ranks) + " rank(s) need a device each, and " +
            (asked == cudaSuccess ? "there are " + std::to_string(there) + ": use fewer --ranks"
                                  : std::string(cudaGetErrorString(asked)) + ": use --backend host");
    return nullptr;
}
