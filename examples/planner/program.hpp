// A captured step as the tool handles it, and the reasons for which there is nothing to show.
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

/// The nodes of a capture and their tasks, with the names that reports use. Before and after share one program if the
/// plan is an order of the same nodes.
struct program {
    stretto::capture capture;
    stretto::task_graph graph;
    std::vector<std::string> group_names;  ///< the names of stretto::names_of_groups

    [[nodiscard]] std::string_view name(stretto::task_id t) const { return capture.name(t); }
    [[nodiscard]] std::string_view op(stretto::task_id t) const { return capture.op(t); }
    [[nodiscard]] std::string_view group(stretto::group_id g) const { return group_names[g]; }
};

/// Why there is nothing to show: the exit status and the message.
struct failure {
    enum class reason {
        unusable,  ///< the file cannot be a step, or arguments do not fit it: exit status 2
        finding,   ///< the step is fine, but no plan exists within the limit: exit status 1
    };
    reason why;
    std::string message;  ///< one line, in the form of a compiler error
};

/// Returns a failure at node `at`, or about the whole step if there is no such node.
stretto::unexpected<failure> refused(failure::reason why, const stretto::capture& step, const std::string& file,
                                     stretto::task_id at, std::string cause, std::string hint);
/// Returns a failure that a reader or a transform has described, as one about this file.
stretto::unexpected<failure> described(failure::reason why, stretto::diagnostic fault, const std::string& file);
/// Returns a failure because arguments do not fit the step.
stretto::unexpected<failure> about_arguments(const std::string& file, const std::string& cause);

/// Returns a step with its tasks, or the reason why it has none.
stretto::expected<std::shared_ptr<const program>, failure> make_program(stretto::capture step, const std::string& file);

/// Returns a failure if a node shares or writes storage that it does not read, because it could then be ordered before
/// the storage exists.
std::optional<failure> fault_of_storages(const stretto::capture& step, const std::string& file);

}  // namespace planner

#endif
