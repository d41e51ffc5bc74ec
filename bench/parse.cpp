// Reading captured steps: bytes of decompressed JSON a second, from text to capture. Beside it, on the same text, what
// nothing can beat: copying it, and what a reader on simdjson can hardly beat: parsing it with simdjson and building
// nothing. Both are what a process does that reads one file: memory is fresh in every iteration.
//
// The text is that of the largest captured step in STRETTO_REFERENCE_GRAPHS or STRETTO_EXAMPLE_GRAPHS, or a synthetic
// chain of operations of about the same size.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_writer.hpp"

namespace {

std::string synthetic_step(int nodes) {
    stretto::capture_builder b("synthetic");
    for (int k = 0; k < nodes; ++k) {
        const std::string name = "add_tensor_" + std::to_string(k);
        stretto::capture_node n;
        n.name = name;
        n.op = "aten.add.Tensor";
        if (k > 0) n.inputs = {static_cast<std::uint32_t>(k - 1)};
        if (k > 20) n.inputs.push_back(static_cast<std::uint32_t>(k - 20));
        n.allocation = stretto::bytes{134217728};
        n.duration = stretto::nanoseconds{152244};
        n.outputs = R"([{"shape":[4,4096,4096],"dtype":"bf16"}])";
        n.fields = {{"fqn", R"("layers.7.attention.wo")"}, {"direction", R"("forward")"}, {"kwargs", R"({"alpha":1})"}};
        b.append(n);
    }
    return stretto::to_json(*std::move(b).build());
}

const std::string& text() {
    static const std::string chosen = [] {
        std::string largest;
        for (const char* variable : {"STRETTO_REFERENCE_GRAPHS", "STRETTO_EXAMPLE_GRAPHS"}) {
            const char* folder = std::getenv(variable);
            if (folder == nullptr || !std::filesystem::is_directory(folder)) continue;
            for (const auto& entry : std::filesystem::directory_iterator(folder)) {
                const std::string path = entry.path().string();
                if (!path.ends_with(".json.gz")) continue;
                if (auto read = stretto::read_text(path); read && read->size() > largest.size())
                    largest = *std::move(read);
            }
        }
        return largest.empty() ? synthetic_step(30000) : largest;
    }();
    return chosen;
}

/// The text with the room behind it that simdjson wants.
std::string padded_text() {
    std::string copy;
    copy.reserve(text().size() + simdjson::SIMDJSON_PADDING);
    copy = text();
    return copy;
}

void count_bytes(benchmark::State& state) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text().size()));
}

void copy_text(benchmark::State& state) {
    const std::string& from = text();
    for (auto _ : state) {
        const auto to = std::make_unique_for_overwrite<char[]>(from.size());
        std::memcpy(to.get(), from.data(), from.size());
        benchmark::DoNotOptimize(to.get());
    }
    count_bytes(state);
}

void simdjson_alone(benchmark::State& state) {
    const std::string from = padded_text();
    for (auto _ : state) {
        simdjson::dom::parser parser;
        const auto e = parser.parse(from.data(), from.size(), false).error();
        if (e) state.SkipWithError(simdjson::error_message(e));
    }
    count_bytes(state);
}

void parse_to_capture(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        std::string from = padded_text();
        state.ResumeTiming();
        auto c = stretto::parse_capture(std::move(from), "text");
        if (!c) state.SkipWithError(c.error().message().c_str());
        benchmark::DoNotOptimize(c);
        state.PauseTiming();
        c = stretto::unexpected(stretto::diagnostic{});
        state.ResumeTiming();
    }
    count_bytes(state);
}

void write_to_json(benchmark::State& state) {
    const auto c = stretto::parse_capture(text(), "text");
    for (auto _ : state) benchmark::DoNotOptimize(stretto::to_json(*c));
    count_bytes(state);
}

void decompress(benchmark::State& state) {
    const auto packed = stretto::gzip(text(), "text");
    for (auto _ : state) benchmark::DoNotOptimize(stretto::gunzip(*packed, "text"));
    count_bytes(state);
}

BENCHMARK(copy_text)->Unit(benchmark::kMillisecond);
BENCHMARK(simdjson_alone)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_to_capture)->Unit(benchmark::kMillisecond);
BENCHMARK(write_to_json)->Unit(benchmark::kMillisecond);
BENCHMARK(decompress)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
