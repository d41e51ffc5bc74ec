// A captured step as the tool handles it, and why there is nothing to show.
#ifndef STRETTO_PLANNER_PROGRAM_HPP
#define STRETTO_PLANNER_PROGRAM_HPP

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace planner {

/// Nodes of a capture and what they are called. Before and after share one if the plan is an order of the same nodes.
struct program {
    stretto::capture capture;
    stretto::task_graph graph;
    std::vector<std::string> group_names;  ///< what the capture calls them, told apart

    [[nodiscard]] std::string_view name(stretto::task_id t) const { return capture.name(t); }
    [[nodiscard]] std::string_view op(stretto::task_id t) const { return capture.op(t); }
    [[nodiscard]] std::string_view group(stretto::group_id g) const { return group_names[g]; }
};

/// Why there is nothing to show.
struct failure {
    enum class reason {
        unusable,  ///< the file cannot be a step, or arguments do not fit it: exit status 2
        finding,   ///< the step is fine, but no plan exists within the limit: exit status 1
    };
    reason why;
    std::string message;  ///< one line, the way a compiler says it
};

/// A failure at a node, or about the whole step.
stretto::unexpected<failure> refused(failure::reason why, const stretto::capture& step, const std::string& file,
                                     stretto::task_id at, std::string cause, std::string hint);
/// A failure that a reader or a transform has described; it is about this file.
stretto::unexpected<failure> described(failure::reason why, stretto::diagnostic fault, const std::string& file);
/// Arguments that do not fit the step.
stretto::unexpected<failure> about_arguments(const std::string& file, const std::string& cause);

/// A step with its tasks, or why it has none.
stretto::expected<std::shared_ptr<const program>, failure> make_program(stretto::capture step, const std::string& file);

/// A node that shares or writes storage that it does not read could be ordered before the storage is there.
std::optional<failure> fault_of_storages(const stretto::capture& step, const std::string& file);

}  // namespace planner

#endif
