#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "session.hpp"
#include "stretto/transform/chunk_sizes.hpp"

namespace trainer {
namespace {

constexpr const char* footer = R"(
SIZE is a number of bytes, with KiB, MiB or GiB, or a multiple of what the step as written needs ("1.5x"). A chunk has
sequences of every rank: "3" is three chunks of as many as can be, "5+2+1" says how many each has, "1" leaves the step
whole. Without --link-bandwidth 0, collectives of threads take the time of a link that is made up; nothing else is. On
other backends the plan is made for the link that is measured.

Exit status: 0 fine; 1 the run has failed, or forms of the step differ in a bit; 2 unusable arguments or files.)";

/// Parses a limit such as "1.5x", "64MiB" or a number of bytes. Returns nothing if it is none of these.
std::optional<stretto::memory_budget> memory_limit_of(const std::string& text) {
    double x = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    const std::string unit(rest, text.data() + text.size());
    if (error != std::errc{} || !(x >= 0) || x > 1e15) return {};
    if (unit == "x") return stretto::memory_budget::times_input_peak(x);
    for (const auto& [name, size] :
         {std::pair("", 1.0), std::pair("KiB", 1024.0), std::pair("MiB", 1048576.0), std::pair("GiB", 1073741824.0)})
        if (unit == name && x * size < 0x1p63)  // more bytes than that are no limit that a number can hold
            return stretto::memory_budget(stretto::bytes{static_cast<std::int64_t>(x * size)});
    return {};
}

/// Parses a number of chunks, or their sizes with + between them. Returns the sequences of each chunk, or nothing if
/// they do not add up to those of a rank.
std::optional<std::vector<std::int64_t>> chunks_of(const std::string& text, std::int64_t batch) {
    std::vector<std::int64_t> sizes;
    std::int64_t sum = 0;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('+', at), text.size());
        std::int64_t n = 0;
        const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, n);
        if (error != std::errc{} || rest != text.data() + end || n < 1 || n > batch) return {};
        sizes.push_back(n);
        sum += n;
        at = end + 1;
    }
    if (sizes.size() == 1) return stretto::equal_chunks(batch, static_cast<std::size_t>(sizes[0]));
    return sum == batch ? std::optional(sizes) : std::nullopt;
}

}  // namespace

parsed_arguments parse(int argc, const char* const* argv) {
    parsed_arguments all;
    arguments& a = all.made;
    std::string chunks = "auto", limit = "1.5x";
    double latency = 200, bandwidth = 40;
    std::int64_t expert_ranks = 0;
    CLI::App app("Trains a small mixture-of-experts transformer on text, and hides its communication.", "moe_trainer");
    app.footer(footer);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_option("--ranks", a.ranks.ranks, "ranks of the training [2]")->type_name("N");
    app.add_option("--backend", a.where,
                   "where ranks are: host, threads of this process; mpi, the processes of an "
                   "mpiexec that starts this; nccl, devices [host]")
        ->type_name("WHERE")
        ->transform(CLI::Transformer(std::map<std::string, place_of_ranks>{
            {"host", place_of_ranks::host}, {"mpi", place_of_ranks::mpi}, {"nccl", place_of_ranks::nccl}}));
    app.add_option("--expert-ranks", expert_ranks, "neighbouring ranks that share one set of experts [all]")
        ->type_name("N");
    app.add_option("--chunks", chunks, "chunks of a step, or auto [auto]")->type_name("K");
    app.add_option("--link-latency", latency, "microseconds until a collective moves its first byte [200]")
        ->type_name("US");
    app.add_option("--link-bandwidth", bandwidth, "megabytes a second that a rank sends or receives [40]; 0: no link")
        ->type_name("MB");
    app.add_option("--memory-limit", limit, "of live tensors, on each rank [1.5x]")->type_name("SIZE");
    app.add_option("--steps", a.steps, "steps of the whole training [300]")->type_name("N");
    app.add_option("--seed", a.seed, "of weights and of what is drawn from the text [1]")->type_name("N");
    app.add_option("--batch", a.shape.batch, "sequences of a rank in a step [8]")->type_name("N");
    app.add_option("--sequence", a.shape.sequence, "bytes of a sequence [64]")->type_name("N");
    app.add_option("--layers", a.shape.layers, "layers of the network [2]")->type_name("N");
    app.add_option("--width", a.shape.width, "numbers that stand for a byte [64]")->type_name("N");
    app.add_option("--experts", a.shape.experts, "experts of a layer [8]")->type_name("N");
    app.add_flag("--round", a.shape.rounds, "round rows to 16 bits (bf16) before they travel");
    app.add_option("--text", a.text, "what is learned; its bytes [/usr/share/common-licenses/GPL-3]")
        ->type_name("FILE");
    app.add_option("--blas", a.blas, "library that multiplies matrices, such as libopenblas.so.0 [own loops]")
        ->type_name("FILE");
    app.add_option("--trace", a.trace, "write the step and the last ones of the run, for ui.perfetto.dev")
        ->type_name("FILE");
    app.add_option("--write-step", a.step_file, "write the planned step for stretto-plan, of which --trace is a run")
        ->type_name("FILE");
    app.add_option("--report", a.report, "write a page with the loss curve and all figures")->type_name("FILE");
    app.add_option("--checkpoint", a.checkpoint, "write the training after the last step")->type_name("FILE");
    app.add_option("--checkpoint-every", a.checkpoint_every, "write it after every so many steps, too [0: never]")
        ->type_name("N");
    app.add_option("--resume", a.resume, "go on from a checkpoint, up to --steps")->type_name("FILE");
    app.add_flag("--priority", a.real_time,
                 "let no other process interrupt the training: real-time priority, of channels before kernels");
    const auto refuse = [&](const std::string& what) {
        std::fprintf(stderr, "moe_trainer: %s\n", what.c_str());
        all.status = 2;
        return all;
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return all.status = app.exit(e), all;
        return refuse(std::string(e.what()) + ": moe_trainer --help tells all options");
    }
    a.ranks.expert_ranks = expert_ranks == 0 ? a.ranks.ranks : expert_ranks;
    if (a.shape.batch < 1 || a.shape.sequence < 2 || a.shape.layers < 1 || a.shape.width < 1 || a.shape.experts < 1 ||
        a.shape.batch > 4096 || a.shape.sequence > 4096 || a.shape.layers > 256 || a.shape.width > 8192 ||
        a.shape.experts > 4096 || a.ranks.ranks > 64)
        return refuse(
            "the network is too small or too large: use extents of at least 1, and a --sequence of 2 or more");
    if (!(latency >= 0 && latency <= 1e7) || !(bandwidth >= 0 && bandwidth <= 1e6))
        return refuse("--link-latency and --link-bandwidth are not negative, and below 10 seconds and 1 TB/s");
    a.link = {.latency = {static_cast<std::int64_t>(latency * 1000)},
              .bytes_per_second = static_cast<std::int64_t>(bandwidth * 1e6)};
    if (a.checkpoint_every < 0) return refuse("--checkpoint-every is not negative; 0 writes none on the way");
    const auto budget = memory_limit_of(limit);
    if (!budget) return refuse("--memory-limit " + limit + ": is no size; use one such as 64MiB, or 1.5x");
    a.memory_limit = *budget;
    a.chooses_chunks = chunks == "auto";
    if (!a.chooses_chunks) {
        const auto sizes = chunks_of(chunks, a.shape.batch);
        if (!sizes)
            return refuse("--chunks " + chunks + ": use auto, a number up to " + std::to_string(a.shape.batch) +
                          ", or sizes that add up to it, such as " + std::to_string(a.shape.batch - 1) + "+1");
        a.chunks = *sizes;
    }
    return all;
}

}  // namespace trainer
