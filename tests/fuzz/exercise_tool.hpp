// What stretto-plan must do with every file that somebody calls a captured step.
#ifndef STRETTO_TESTS_FUZZ_EXERCISE_TOOL_HPP
#define STRETTO_TESTS_FUZZ_EXERCISE_TOOL_HPP

#include <string>
#include <vector>

namespace support {

/// What became of a file.
struct tool_result {
    std::string broken;   ///< the promise that was broken; empty: none
    std::string message;  ///< why there is no plan; empty: there is one
    bool is_read = false;
    bool in_chunks = false;
};

/// Does what the tool does with a step, and with a plan to check if there is one, under these arguments, and writes
/// every report, in memory but for what the arguments give a file: a refusal is one printable line about the file,
/// reports are well formed, and a plan that the tool has made can be read and checked; of a sound step, it passes.
tool_result exercise_tool(const std::string& step, const std::string& plan, const std::vector<std::string>& arguments,
                          bool sound);

/// The plan that the tool makes of a step under these arguments, as it would write it; empty if there is none.
std::string plan_of(const std::string& step, const std::vector<std::string>& arguments);

}  // namespace support

#endif
