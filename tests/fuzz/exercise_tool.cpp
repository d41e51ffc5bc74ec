#include "fuzz/exercise_tool.hpp"

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "comparison.hpp"
#include "html_report.hpp"
#include "picture.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/capture/gzip.hpp"
#include "stretto/capture/retimed_capture.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "taking_apart.hpp"
#include "text_report.hpp"

namespace support {
namespace {

using stretto::expected;

constexpr std::string_view step_file = "step.json", plan_file = "plan.json";

std::optional<planner::arguments> parsed(const std::vector<std::string>& arguments) {
    std::vector<const char*> words{"stretto-plan", step_file.data()};
    for (const std::string& a : arguments) words.push_back(a.c_str());
    auto made = planner::parse_arguments(static_cast<int>(words.size()), words.data());
    if (auto* args = std::get_if<planner::arguments>(&made)) return std::move(*args);
    return std::nullopt;
}

expected<stretto::capture, stretto::diagnostic> read(const std::string& text, std::string_view file) {
    return stretto::parse_capture(text, std::string(file), {.file = {.max_bytes = std::uint64_t{1} << 26}});
}

/// A step as the tool plans it under these arguments: with what it takes that the host reads a number, which is for
/// planning alone, and without the buckets that it came in.
expected<stretto::capture, std::string> read_step(const std::string& text, const planner::arguments& args,
                                                  bool for_planning) {
    auto step = read(text, step_file);
    if (step && for_planning && args.host_reads.count != 0)
        step = stretto::with_synchronisation(*step, args.host_reads);
    if (!step) return stretto::unexpected(step.error().message());
    if (args.jobs[0].apart.empty()) return *std::move(step);
    auto apart = planner::take_step_apart(*std::move(step), std::string(step_file), args.wishes.under.from);
    if (!apart) return stretto::unexpected(std::move(apart.error().message));
    return std::move(apart->step);
}

/// What is wrong with a refusal.
std::string fault_of(std::string_view message) {
    if (!message.starts_with(step_file) && !message.starts_with(plan_file)) return "a refusal without its file";
    if (message.size() < step_file.size() + 12) return "a refusal without a cause";
    if (message.size() > 2000) return "a refusal that nobody reads to its end";
    for (char letter : message)
        if (letter < ' ' || letter > '~') return "a refusal with unprintable letters";
    if (message.find("defect of stretto") != message.npos) return "the tool blames itself";
    return "";
}

bool is_json(const std::string& text) {
    simdjson::dom::parser parser;
    return parser.parse(text).error() == simdjson::SUCCESS;
}

expected<std::string, std::string> plan_text(const planner::comparison& c) {
    const auto plan = stretto::reordered(c.after.of->capture, c.after.order);
    if (!plan) return stretto::unexpected("a plan that cannot be written: " + plan.error().message());
    return stretto::to_json(*plan);
}

/// What is wrong with what the tool writes about a step, if anything is.
std::string fault_of_reports(const planner::comparison& c, std::size_t explain) {
    for (bool colour : {false, true})
        if (planner::to_table(c, {explain, colour}).empty()) return "an empty table";
    if (!is_json(planner::to_json(c, {explain, false}))) return "figures that are no JSON";
    if (planner::to_html(c, explain).find("</script>") == std::string::npos) return "a page without an end";
    if (!planner::to_svg(c).ends_with("</svg>\n")) return "a picture without an end";
    stretto::chrome_trace trace;
    for (const auto& [title, side] : {std::pair{"before", &c.before}, std::pair{"after", &c.after}})
        trace.add(title, side->of->graph, side->order, side->times, side->memory, *side->of);
    return is_json(std::move(trace).json()) ? "" : "a trace that is no JSON";
}

/// What is wrong with a file that has been written, if anything is: it reads as what is in memory.
std::string fault_of_written(const expected<std::uint64_t, stretto::diagnostic>& written, const std::string& file,
                             const std::string& meant) {
    if (!written) return "a file that is not written: " + written.error().message();
    const auto text = stretto::read_text(file);
    if (!text) return "a file that the tool has written and does not read: " + text.error().message();
    const auto again = stretto::parse_capture(*text, file);
    if (!again) return "a file that the tool has written and does not read: " + again.error().message();
    return meant == stretto::to_json(*again) ? "" : "a file with another step";
}

/// What is wrong with the files that the arguments want, a plan and the step without its buckets, if anything is.
std::string fault_of_files(const planner::comparison& c, const planner::job& wanted) {
    std::string fault;
    if (const std::string& file = wanted.apart; !file.empty()) {
        const stretto::capture& step = c.before.of->capture;
        fault = fault_of_written(stretto::write_capture(step, file), file, stretto::to_json(step));
    }
    if (const std::string& file = wanted.plan; fault.empty() && !file.empty())
        if (const auto plan = plan_text(c))
            fault = fault_of_written(stretto::write_plan(c.after.of->capture, c.after.order, file), file, *plan);
    return fault;
}

/// Reads back the plan that was made of a step, and checks it.
std::string fault_of_plan(stretto::capture step, const planner::comparison& c, bool sound) {
    const auto text = plan_text(c);
    if (!text) return text.error();
    auto plan = read(*text, plan_file);
    if (!plan) return "a plan that the tool does not read: " + plan.error().message();
    if (const auto fault = planner::fault_of_storages(*plan, std::string(plan_file)))
        return "a plan that the tool would not plan again: " + fault->message;
    const auto checked = planner::check(std::move(step), std::string(step_file), *std::move(plan),
                                        std::string(plan_file), c.memory_limit, c.under);
    if (!checked) return "a plan that the tool cannot check: " + checked.error().message;
    if (checked->after.times.makespan != c.after.times.makespan)
        return "a plan that takes another time when it is read";
    if (sound && !checked->violations->empty())
        return "a plan that breaks a rule: " + planner::to_json(*checked, {0, false});
    return "";
}

}  // namespace

tool_result exercise_tool(const std::string& step, const std::string& plan, const std::vector<std::string>& arguments,
                          bool sound) {
    tool_result r;
    const auto args = parsed(arguments);
    if (!args) return {"arguments that the tool refuses", "", false, false};
    const auto refused = [&](std::string message) {
        r.message = std::move(message);
        r.broken = fault_of(r.message);
        if (!r.broken.empty()) r.broken += ": " + r.message;
        return r;
    };
    auto given = read_step(step, *args, plan.empty());
    if (!given) return refused(given.error());
    if (plan.empty()) {
        r.is_read = true;
        const auto made = planner::plan_step(*given, std::string(step_file), args->limit, args->chunks, args->wishes);
        if (!made) return refused(made.error().message);
        r.in_chunks = made->chunks > 1;
        r.broken = fault_of_reports(*made, args->explain);
        if (r.broken.empty()) r.broken = fault_of_plan(*std::move(given), *made, sound);
        if (r.broken.empty()) r.broken = fault_of_files(*made, args->jobs[0]);
        return r;
    }
    auto read_plan = read(plan, plan_file);
    if (!read_plan) return refused(read_plan.error().message());
    r.is_read = true;
    const auto checked = planner::check(*std::move(given), std::string(step_file), *std::move(read_plan),
                                        std::string(plan_file), args->limit, args->wishes.under.from);
    if (!checked) return refused(checked.error().message);
    r.broken = fault_of_reports(*checked, args->explain);
    return r;
}

std::string plan_of(const std::string& step, const std::vector<std::string>& arguments) {
    const auto args = parsed(arguments);
    if (!args) return "";
    auto given = read_step(step, *args, true);
    if (!given) return "";
    const auto made =
        planner::plan_step(*std::move(given), std::string(step_file), args->limit, args->chunks, args->wishes);
    if (!made) return "";
    const auto text = plan_text(*made);
    return text ? *text : "";
}

}  // namespace support
