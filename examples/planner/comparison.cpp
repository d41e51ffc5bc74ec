#include "comparison.hpp"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "human_units.hpp"
#include "stretto/interop/capture_chunker.hpp"
#include "stretto/interop/capture_tensors.hpp"
#include "stretto/interop/capture_tokens.hpp"
#include "stretto/interop/capture_view.hpp"
#include "stretto/interop/check_plan.hpp"
#include "stretto/interop/diagnostic.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::task_graph_error;
using stretto::task_id;
using stretto::unexpected;

/// Captures name groups by numbers, as frameworks do, and may describe them: {"name": "69", "desc": "mesh_ep"}.
std::vector<std::string> names_of_groups(const stretto::capture& step) {
    std::vector<std::string> names;
    for (const stretto::capture_group& g : step.groups()) {
        simdjson::dom::parser parser;
        std::string_view described;
        const simdjson::padded_string members("{" + g.fields + "}");
        if (parser.parse(members)["desc"].get(described) == simdjson::SUCCESS && !described.empty())
            names.emplace_back(described);
        else if (g.name.find_first_not_of("0123456789") == std::string::npos) names.push_back("group " + g.name);
        else names.push_back(g.name);
    }
    const std::vector<std::string> plain = names;
    for (std::size_t k = 0; k < names.size(); ++k)
        if (std::count(plain.begin(), plain.end(), plain[k]) > 1) names[k] += " (" + step.groups()[k].name + ")";
    return names;
}

std::string cause_of(const task_graph_error& e, const stretto::capture& step) {
    using why = task_graph_error::reason;
    const std::string other = e.other < step.size() ? stretto::printable(step.name(e.other)) : "a node";
    switch (e.why) {
        case why::reads_later_task:
            return "reads " + other + ", which comes later";
        case why::launch_is_no_start:
            return "waits for " + other + ", which is no start";
        case why::negative_duration:
            return "takes less than no time";
        case why::negative_bytes:
            return "allocates less than nothing";
        case why::overflow:
            return "makes the step too large: times and bytes may add up to 2^62 at most";
        case why::operand_not_in_graph:
            break;
    }
    return "reads a value that no node produces";
}

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

expected<std::shared_ptr<const program>, failure> make_program(stretto::capture step, const std::string& file) {
    auto made = std::make_shared<program>(program{std::move(step), {}, {}});
    auto graph =
        stretto::make_task_graph(stretto::capture_view{&made->capture}, stretto::capture_op_model{&made->capture});
    if (!graph)
        return refused(failure::reason::unusable, made->capture, file, graph.error().task,
                       cause_of(graph.error(), made->capture), "");
    made->graph = *std::move(graph);
    made->group_names = names_of_groups(made->capture);
    return std::shared_ptr<const program>(std::move(made));
}

timeline in_program_order(std::shared_ptr<const program> p) {
    timeline t{std::move(p), {}, {}, {}, {}};
    t.order.resize(t.of->graph.size());
    std::iota(t.order.begin(), t.order.end(), 0u);
    t.times = stretto::simulate(t.of->graph, t.order);
    t.memory = stretto::profile_memory(t.of->graph, t.order);
    t.exposures = stretto::explain_exposure(t.of->graph, t.order, t.times);
    return t;
}

/// A program and the best order of it.
struct certified {
    std::shared_ptr<const program> of;
    stretto::schedule schedule;
};

expected<certified, failure> schedule(const std::shared_ptr<const program>& p, const std::string& file,
                                      stretto::bytes limit) {
    stretto::schedule_options options;
    options.memory_limit = limit;
    auto scheduled = stretto::list_schedule(p->graph, options);
    if (scheduled) return certified{p, *std::move(scheduled)};
    return refused(failure::reason::finding, p->capture, file, scheduled.error().at,
                   "the input order needs " + human(scheduled.error().input_peak) + " here, and the limit is " +
                       human(scheduled.error().limit),
                   "no plan is known below the peak of the input order: use --memory-limit 1.00x or more");
}

/// The step with everything that its tokens reach cut into chunks of them.
expected<stretto::capture, failure> in_chunks(const stretto::capture& step, const stretto::capture_tensors& tensors,
                                              const std::string& file, std::size_t chunks) {
    const std::vector<stretto::token_symbol> symbols = stretto::token_symbols_of(step);
    if (symbols.empty())
        return refused(failure::reason::finding, step, file, stretto::no_task, "no input has a symbolic extent",
                       "chunks are cut along the tokens: capture with a symbolic batch or number of tokens");
    const stretto::token_symbol& tokens = symbols.front();
    if (static_cast<std::int64_t>(chunks) > tokens.value)
        return refused(
            failure::reason::finding, step, file, stretto::no_task,
            tokens.name + " is " + std::to_string(tokens.value) + ": too few for " + std::to_string(chunks) + " chunks",
            "");
    stretto::chunk_region<std::uint32_t> region;
    region.sizes = stretto::equal_chunks(tokens.value, chunks);
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (step.kind(v) != stretto::op_kind::input && step.kind(v) != stretto::op_kind::output)
            region.candidates.push_back(v);
    const stretto::capture_view view{&step};
    stretto::aten_ledger ledger;
    const stretto::capture_chunk_model model(view, {&step, &tensors}, ledger);
    const auto plan = stretto::plan_chunks(view, stretto::capture_op_model{&step}, model,
                                           std::span<const stretto::chunk_region<std::uint32_t>>(&region, 1),
                                           std::span<const stretto::token_dimension<std::uint32_t>>(tokens.dimensions),
                                           {.skip_refused = true});
    if (!plan) return refused(failure::reason::finding, step, file, plan.error().vertex, "cannot be chunked", "");
    stretto::aten_ledger second_ledger;
    const auto verified = stretto::verify_chunks(*plan, view, stretto::capture_op_model{&step},
                                                 stretto::capture_chunk_model(view, {&step, &tensors}, second_ledger));
    if (!verified)
        return refused(
            failure::reason::finding, step, file, verified.error()[0].vertex,
            std::string("the plan of its chunks breaks a rule: ") + std::string(hint(verified.error()[0].broken)),
            "this is a defect of stretto: please report the step");
    stretto::capture_chunker chunker(step, tensors, model);
    stretto::apply_chunks(*plan, view, chunker);
    auto chunked = chunker.build();
    if (!chunked) return unexpected(failure{failure::reason::finding, chunked.error().message()});
    return *std::move(chunked);
}

class stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
    }

private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace

double comparison::gap() const {
    if (bound.value.count == 0) return 0;
    return static_cast<double>((after.times.step - bound.value).count) / static_cast<double>(bound.value.count);
}

expected<comparison, failure> plan_step(stretto::capture step, const std::string& file, stretto::memory_budget limit,
                                        chunking chunks) {
    const stopwatch watch;
    auto made = make_program(std::move(step), file);
    if (!made) return unexpected(made.error());
    comparison c{std::string((*made)->capture.name()), in_program_order(*made), {}, {}, {}};
    c.memory_limit = limit.limit(c.before.memory.peak);

    // The step as it is, unless a number of chunks is asked for; then its chunked forms, as far as they fit.
    expected<certified, failure> best = unexpected(failure{failure::reason::finding, ""});
    if (chunks.choose || chunks.most <= 1) best = schedule(*made, file, c.memory_limit);
    if (chunks.most > 1) {
        const auto tensors = stretto::capture_tensors::read((*made)->capture);
        if (!tensors) return unexpected(failure{failure::reason::unusable, tensors.error().message()});
        for (std::size_t k = chunks.choose ? 2 : chunks.most; k <= chunks.most; ++k) {
            auto cut = in_chunks((*made)->capture, *tensors, file, k);
            if (!cut && chunks.choose) break;  // more chunks than rows, or nothing to cut
            if (!cut) return unexpected(cut.error());
            auto program = make_program(*std::move(cut), file);
            if (!program) return unexpected(program.error());
            expected<certified, failure> tried = schedule(*program, file, c.memory_limit);
            if (!tried && (best || chunks.choose)) continue;
            const bool hopeless = tried && best && tried->schedule.bound().value >= best->schedule.step();
            if (!tried || !best || tried->schedule.step() < best->schedule.step()) {
                if (tried) c.chunks = k;
                best = std::move(tried);
            }
            if (hopeless) break;  // more chunks only add work
        }
    }
    if (!best) return unexpected(best.error());
    const stretto::schedule& s = best->schedule;
    const auto verified = stretto::verify_order(best->of->graph, s.order(), c.memory_limit);
    if (!verified)
        return refused(failure::reason::finding, best->of->capture, file, verified.error().task,
                       "the schedule breaks a dependence here", "this is a defect of stretto: please report the step");
    c.after = {best->of, s.order(), s.times(), s.memory(), s.exposures()};
    c.bound = s.bound();
    c.plan_seconds = watch.seconds();
    return c;
}

expected<comparison, failure> check(stretto::capture step, const std::string& file, stretto::capture plan,
                                    const std::string& plan_file, stretto::memory_budget limit) {
    const stopwatch watch;
    auto before = make_program(std::move(step), file);
    if (!before) return unexpected(before.error());
    auto after = make_program(std::move(plan), plan_file);
    if (!after) return unexpected(after.error());
    comparison c{std::string((*before)->capture.name()), in_program_order(*before), in_program_order(*after), {}, {}};
    c.memory_limit = limit.limit(c.before.memory.peak);
    c.bound = stretto::bound_below((*after)->graph);
    c.violations = stretto::check_plan((*before)->capture, (*after)->capture, c.memory_limit).violations;
    c.plan_seconds = watch.seconds();
    return c;
}

}  // namespace planner
