// The smallest step that has a node of every kind, for the tests of captures, and ways to damage it.
#ifndef STRETTO_TESTS_CAPTURE_TINY_STEP_HPP
#define STRETTO_TESTS_CAPTURE_TINY_STEP_HPP

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "support/prop.hpp"

namespace support {

// w ── gather ── wait ── mul ── add_ ── out      view (of gather: reads its shape) ── out
inline const std::string tiny_step = R"({"format":"stretto-graph","version":1,"name":"tiny",
"groups":[{"name":"dp","size":8,"desc":"data parallel"},{"name":"ep","size":4}],
"costs":{"memory_bytes_per_second":2000000000000,"launch_ns":2000,"collectives":{
"dp":{"all_gather":[[0,30000],[1048576,50000]],"reduce_scatter":[[0,31000]]}}},
"symbols":{"u0":4},
"nodes":[
{"name":"w","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[4],"dtype":"f32"}],"bytes":16,"ns":0},
{"name":"gather","op":"all_gather.default","kind":"start","inputs":[0],"args":["%0",8,"dp"],"outputs":[{"shape":[32],"dtype":"f32"}],"bytes":128,"collective":"all_gather","group":0,"payload":16,"ns":30000},
{"name":"view","op":"size","kind":"view","inputs":[1],"outputs":[],"bytes":0,"ns":0},
{"name":"wait","op":"wait_tensor","kind":"wait","inputs":[1],"outputs":[{"shape":[32],"dtype":"f32","symbolic":["8*u0"]}],"bytes":0,"alias":[1],"ns":0},
{"name":"mul","op":"aten.mul.Tensor","kind":"compute","inputs":[3],"args":["%0","%0"],"kwargs":{"out":null},"outputs":[{"shape":[32],"dtype":"f32"}],"bytes":128,"ns":2500,"fqn":"layers.0","direction":"forward","chunk":1},
{"name":"add_","op":"aten.add_.Tensor","kind":"compute","inputs":[4,3],"outputs":[{"shape":[32],"dtype":"f32"}],"bytes":0,"alias":[4],"mutates":[4],"ns":2600,"binds":["u0"]},
{"name":"out","op":"output","kind":"output","inputs":[5,2],"outputs":[],"bytes":0,"ns":0}
]})";

/// The first occurrence of `from`, replaced. `from` must occur: a damage that misses is a test that cannot fail.
inline std::string edited(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, "no such text to edit: " << from);
    return text.replace(at, from.size(), to);
}

/// The message of an error; "read without complaint" if there is none.
template <class T>
std::string complaint(const stretto::expected<T, stretto::diagnostic>& result) {
    return result ? "read without complaint" : result.error().message();
}

/// A folder of its own, gone at the end of the test.
struct scratch_folder {
    std::filesystem::path path;
    scratch_folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "stretto-test-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path = pattern;
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder() { std::filesystem::remove_all(path); }
    [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

/// The files of captured steps of the environment variable, sorted; empty, with a message, if it is not set.
inline std::vector<std::string> captured_files(const char* variable) {
    std::vector<std::string> paths;
    const char* folder = std::getenv(variable);
    if (folder == nullptr || !std::filesystem::is_directory(folder)) {
        MESSAGE("skipped: " << std::string(variable) << " names no folder of captured steps");
        return paths;
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().string().ends_with(".json.gz")) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    return paths;
}
/// Those that a test goes through: all of them, but without large ones, which are slow with sanitizers, if only a share
/// of all cases is asked for.
inline std::vector<std::string> captured_steps(const char* variable) {
    std::vector<std::string> paths = captured_files(variable);
    if (!runs_all_cases())
        std::erase_if(paths, [](const auto& path) { return std::filesystem::file_size(path) > 100'000; });
    return paths;
}
/// The one of that name; empty if it is not there.
inline std::string captured_step(const char* variable, const char* name) {
    for (const std::string& path : captured_files(variable))
        if (path.ends_with(name)) return path;
    return {};
}

}  // namespace support

#endif
