// A fuzz target for the reader of captured steps. With clang and libFuzzer:
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DSTRETTO_LIBFUZZER -Iinclude -Itests
//         tests/fuzz/capture_fuzz.cpp -lsimdjson -lz -o capture_fuzz && ./capture_fuzz CORPUS
//
// Built without STRETTO_LIBFUZZER, the program replays the files it is given, so that a finding stays a test.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/exercise_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = support::broken_promise({reinterpret_cast<const char*>(data), size});
    if (broken.empty()) return 0;
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
}

#ifndef STRETTO_LIBFUZZER
int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        std::FILE* f = std::fopen(argv[i], "rb");
        if (f == nullptr) {
            std::perror(argv[i]);
            return 2;
        }
        std::string bytes_read;
        char piece[1 << 16];
        while (const std::size_t got = std::fread(piece, 1, sizeof piece, f)) bytes_read.append(piece, got);
        std::fclose(f);
        std::printf("%s\n", argv[i]);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes_read.data()), bytes_read.size());
    }
}
#endif
