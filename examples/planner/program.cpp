#include "program.hpp"

#include <utility>

#include "stretto/analysis/unread_storage.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/group_names.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/explain_errors.hpp"

namespace planner {

using stretto::expected;
using stretto::task_id;
using stretto::unexpected;

unexpected<failure> refused(failure::reason why, const stretto::capture& step, const std::string& file, task_id at,
                            std::string cause, std::string hint) {
    stretto::diagnostic d;
    d.file = file;
    if (at < step.size()) {
        d.node = at;
        d.node_name = step.name(at);
    }
    d.cause = std::move(cause);
    d.hint = std::move(hint);
    return unexpected(failure{why, d.message()});
}

unexpected<failure> described(failure::reason why, stretto::diagnostic fault, const std::string& file) {
    fault.file = file;
    return unexpected(failure{why, fault.message()});
}

unexpected<failure> about_arguments(const std::string& file, const std::string& cause) {
    return unexpected(failure{failure::reason::unusable, stretto::printable(file, 4096) + ": " + cause});
}

expected<std::shared_ptr<const program>, failure> make_program(stretto::capture step, const std::string& file) {
    auto made = std::make_shared<program>(program{std::move(step), {}, {}});
    auto graph =
        stretto::make_task_graph(stretto::capture_view{&made->capture}, stretto::capture_op_model{&made->capture});
    if (!graph)
        return refused(failure::reason::unusable, made->capture, file, graph.error().task,
                       explain(graph.error(),
                               [&](task_id t) {
                                   return t < made->capture.size() ? stretto::printable(made->capture.name(t))
                                                                   : "a node";
                               }),
                       "");
    made->graph = *std::move(graph);
    made->group_names = stretto::names_of_groups(made->capture);
    return std::shared_ptr<const program>(std::move(made));
}

std::optional<failure> fault_of_storages(const stretto::capture& step, const std::string& file) {
    const auto found = stretto::first_unread_storage(stretto::capture_view{&step}, stretto::capture_op_model{&step});
    if (!found) return std::nullopt;
    const bool shares = found->how == stretto::unread_storage<stretto::capture_view>::use::shares;
    return refused(failure::reason::unusable, step, file, found->vertex,
                   std::string(shares ? "shares" : "writes") + " the storage of " +
                       stretto::printable(step.name(found->value)) + ", which it does not read",
                   "alias and mutates name inputs of a node, or nodes whose storage these share")
        .error();
}

}  // namespace planner
