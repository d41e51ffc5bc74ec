#include "transport.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "rank_program.hpp"
#include "real_time.hpp"
#include "stretto/backend/host/host_world.hpp"

namespace trainer {
namespace {

class threads : public transport {
public:
    explicit threads(const transport_options& o) : options_(o) {}

    std::optional<std::string> run(rank_job& job) override {
        const stretto::rank_groups groups = groups_of_ranks(job.p);
        std::unique_ptr<stretto::host_world> world;
        {
            const real_time priority(options_.real_time, urgency::channels);  // whose threads are made here
            world = std::make_unique<stretto::host_world>(
                options_.ranks, groups.all(), stretto::host_options{.link = options_.link, .timed = job.options.timed});
        }
        const auto failure = world->run([&](stretto::host_rank& r) {
            const real_time priority(options_.real_time, urgency::kernels);
            static_cast<void>(run_rank(job, groups, r));
        });
        return failure ? std::optional(explain(*failure, names_of(job.p))) : std::nullopt;
    }
    bool has_emulated_link() const override { return true; }

private:
    transport_options options_;
};

/// Returns the modules to try, the likeliest first. The environment of a process tells which MPI has started it.
std::vector<std::string> modules_of(place_of_ranks where) {
    if (where == place_of_ranks::nccl) return {"moe_trainer_nccl.so"};
    if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return {"moe_trainer_openmpi.so"};
    if (std::getenv("PMI_SIZE") != nullptr) return {"moe_trainer_mpich.so"};
    return {"moe_trainer_openmpi.so", "moe_trainer_mpich.so", "moe_trainer_mpi.so"};
}

}  // namespace

std::unique_ptr<transport> ranks_as_threads(const transport_options& o) { return std::make_unique<threads>(o); }

stretto::expected<std::unique_ptr<transport>, std::string> open_transport(place_of_ranks where,
                                                                          const transport_options& o) {
    if (where == place_of_ranks::host) return ranks_as_threads(o);
    std::error_code unknown;
    const auto directory = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
    std::string why;
    for (const std::string& name : modules_of(where)) {
        // MPI libraries load plugins, which look for symbols of the library in the global scope.
        void* const module = dlopen((directory / name).c_str(), RTLD_NOW | RTLD_GLOBAL);
        void* const found = module == nullptr ? nullptr : dlsym(module, name_of_transport_maker);
        if (found == nullptr) {
            why += std::string(why.empty() ? "" : "; ") + dlerror();
            continue;
        }
        std::string wrong;
        std::unique_ptr<transport> made(reinterpret_cast<transport_maker*>(found)(o, wrong));
        if (!made) return stretto::unexpected(std::move(wrong));
        return made;
    }
    return stretto::unexpected(
        (where == place_of_ranks::mpi
             ? "--backend mpi: there is no MPI; install libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich, "
               "build again, and start it with mpiexec ("
             : "--backend nccl: there is no NCCL; install CUDA and NCCL 2.19 or later, and build again (") +
        why + ")");
}

}  // namespace trainer
