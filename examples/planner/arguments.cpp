#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

#include "stretto/version.hpp"

namespace planner {
namespace {

namespace fs = std::filesystem;

constexpr const char* description =
    "Reads captured training steps, orders their operations so that communication runs under computation,\n"
    "and says what that buys and how much could still be gained.";

constexpr const char* footer = R"(
STEP is a stretto-graph file (JSON, gzipped or not; "-" is standard input). The plan that -o writes is the same format;
so are plans for --check. With several steps, every PLAN or FILE needs a "{}" in its name, which stands for the name of
the step's file without .json and .gz, or is a directory ("out/"), where files get that name.

Example: what can overlap buy for one step, with 5 % more memory, and where does the rest go?

    $ stretto-plan moe.json.gz --memory-limit 1.05x --html moe.html -o moe.plan.json.gz
    $ stretto-plan moe.json.gz --check moe.plan.json.gz --memory-limit 1.05x

Example: the mixture-of-experts blocks in 4 chunks, the backward of layer 3 in one of 1 row and one of 3, the rest whole:

    $ stretto-plan moe.json.gz --chunk 'layers.*.moe=4,layers.3:backward=1+3' --memory-limit 1.10x

A MODULE is the beginning of a module path; * stands for one component, 0-26 for a number from 0 to 26, and nothing
before :forward or :backward for all modules. A \ takes the meaning from the letter behind it: layers.\* is a module
called *, layers.0\-26 one called 0-26, and \, \= \: \\ and a blank behind a \ are letters of a name. Of several settings that name an operation the last one counts. Rows are
those of the symbolic extent that most of the step's shapes have, a batch or a number of tokens; without one that tokens
are exchanged along, of the tokens that its all-to-alls exchange.

A RUN is a trace that a backend has written: slices that say of which rank and step they are. --durations makes planning
by profile one command; --overlay compares what a plan has taken with what it should take:

    $ stretto-plan moe.json.gz --durations moe.run.json -o moe.plan.json.gz
    $ stretto-plan moe.json.gz --check moe.plan.json.gz --overlay planned.run.json --html planned.html

"exposed" is the time in which the compute lane waits for communication. The lower bound holds for every order of the
plan's operations within the memory limit, so the gap to it is the most that any other order could gain.

Exit status: 0 fine; 1 a finding: a checked plan breaks a rule, or no plan exists within the limit; 2 unusable input
or arguments. Colours only on a terminal, and not if NO_COLOR is set.)";

struct usage_error {
    std::string message;
};

/// Returns the name of the step in a file: "moe" for "a/moe.json.gz".
std::string name_of_step(const std::string& path) {
    if (path == "-") return "stdin";
    std::string name = fs::path(path).filename().string();
    for (std::string_view ending : {".gz", ".json"})
        if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
    return name;
}

/// Returns the file that `pattern` names for one step. Throws if the pattern is one file for several steps.
std::string file_for(std::string pattern, const std::string& step, const char* option, const char* ending,
                     bool several) {
    if (pattern.empty()) return pattern;
    std::error_code ignored;
    if (pattern.ends_with('/') || fs::is_directory(pattern, ignored))
        return (fs::path(pattern) / (step + ending)).string();
    const std::size_t place = pattern.find("{}");
    if (place != std::string::npos) return pattern.replace(place, 2, step);
    if (several)
        throw usage_error{std::string(option) + " " + pattern +
                          ": one file for several steps; put {} into its name, or give a directory"};
    return pattern;
}

/// Throws if a file would be written twice, or a file that is read would be overwritten.
void check_files(const std::vector<job>& jobs) {
    std::set<fs::path> read, written;
    const auto canonical = [](const std::string& file) {
        std::error_code unknown;
        const fs::path path = fs::weakly_canonical(file, unknown);
        return unknown ? fs::path(file) : path;
    };
    for (const job& j : jobs)
        for (const std::string& file : {j.step, j.check, j.overlay, j.durations})
            if (!file.empty() && file != "-") read.insert(canonical(file));
    for (const job& j : jobs)
        for (const std::string& file : {j.plan, j.trace, j.html, j.svg, j.apart}) {
            if (file.empty()) continue;
            if (file == "-") throw usage_error{"standard output is for the report; give a file a name"};
            if (read.contains(canonical(file))) throw usage_error{file + ": would overwrite a file that is read"};
            if (!written.insert(canonical(file)).second) throw usage_error{file + ": would be written twice"};
        }
}

/// Returns the least number of letters to insert, delete or replace that turns one text into the other.
std::size_t edits_between(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::optional<std::string> similar_option(const std::string& misspelt, const std::vector<std::string>& options) {
    std::optional<std::string> best;
    std::size_t least = 4;  // a name with more than three edits is another word
    for (const std::string& option : options) {
        const std::size_t edits = edits_between(misspelt, option);
        if (edits < least && edits * 2 < option.size()) {
            least = edits;
            best = option;
        }
    }
    return best;
}

std::optional<stretto::memory_budget> parse_memory_limit(const std::string& text) {
    if (text == "unlimited") return stretto::memory_budget(stretto::unlimited_bytes);
    double x = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, x, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(x) || x < 0) return std::nullopt;
    const std::string unit(rest, end);
    if (unit == "x") return stretto::memory_budget::times_input_peak(x);
    static const std::pair<const char*, double> units[] = {
        {"", 1},     {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
        {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},     {"TB", 1e12}};
    for (const auto& [name, size] : units) {
        if (unit != name) continue;
        if (x * size >= 9e18) return std::nullopt;
        std::int64_t count = 0;
        if (unit.empty()) {
            // A number of bytes is read exactly and has no fraction, because 1.05 probably means 1.05x.
            if (std::from_chars(text.data(), end, count).ptr != end) return std::nullopt;
        } else {
            count = static_cast<std::int64_t>(x * size);
        }
        return stretto::memory_budget(stretto::bytes{count});
    }
    return std::nullopt;
}

namespace {

/// Parses "1.25" or "5/4" as a fraction. Returns nothing if it is neither, or below 1.
std::optional<stretto::contention> parse_factor(std::string_view text) {
    const auto whole_number = [](std::string_view digits) -> std::optional<std::int64_t> {
        std::int64_t n = 0;
        const char* const end = digits.data() + digits.size();
        const auto [rest, error] = std::from_chars(digits.data(), end, n);
        if (digits.empty() || digits.size() > 8 || error != std::errc{} || rest != end || n < 0) return std::nullopt;
        return n;
    };
    std::string top, bottom = "1";
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        top = text.substr(0, slash);
        bottom = text.substr(slash + 1);
    } else {
        const std::size_t point = std::min(text.find('.'), text.size());
        const std::string_view behind = text.substr(std::min(point + 1, text.size()));
        top = std::string(text.substr(0, point)) + std::string(behind);
        bottom.append(behind.size(), '0');
    }
    const auto p = whole_number(top), q = whole_number(bottom);
    if (!p || !q || *q == 0) return std::nullopt;
    const std::int64_t common = std::gcd(*p, *q);
    const stretto::contention c{*p / common, *q / common};
    return c.valid() ? std::optional(c) : std::nullopt;
}

}  // namespace

std::optional<stretto::nanoseconds> parse_time(std::string_view text) {
    if (text == "0") return stretto::nanoseconds{};
    double x = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, x, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(x) || x < 0) return std::nullopt;
    static constexpr std::pair<std::string_view, double> units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (const auto& [name, length] : units)
        if (name == std::string_view(rest, static_cast<std::size_t>(end - rest)) && x * length <= 1e9)
            return stretto::nanoseconds{std::llround(x * length)};
    return std::nullopt;
}

std::optional<contention_range> parse_contention(const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto from = parse_factor(std::string_view(text).substr(0, colon));
    const auto to = colon == std::string::npos ? from : parse_factor(std::string_view(text).substr(colon + 1));
    if (!from || !to || from->numerator * to->denominator > to->numerator * from->denominator) return std::nullopt;
    return contention_range{*from, *to};
}

std::variant<arguments, nothing_to_do> parse_arguments(int argc, const char* const* argv) {
    arguments all;
    std::vector<std::string> steps;
    std::vector<std::string> chunks;
    std::string limit = "1.00x", recombine = "auto", reduce_once = "auto", contention = "1", buckets = "auto",
                payload = "registration", host_reads = "0", plan, trace, html, svg, check, overlay, durations, apart;

    CLI::App app(description, "stretto-plan");
    app.set_version_flag("--version", std::string("stretto-plan ") + STRETTO_VERSION);
    app.footer(footer);
    app.allow_extras();
    app.add_option("STEP", steps, "Captured steps")->type_name("FILE...");
    app.add_option(
           "--memory-limit", limit,
           "Peak that a plan may reach: times the peak of the input order (1.05x), an amount (40GiB, or a number of "
           "bytes), or unlimited")
        ->capture_default_str()
        ->type_name("LIMIT");
    app.add_option("--chunk", chunks,
                   "Cut what depends on the tokens into so many chunks, which run under each other's communication; "
                   "auto: each part of the model into as many, up to 8, as are best within the memory limit, or none. "
                   "MODULE=K: those of a module, such as layers.*.moe=4, layers.3:backward=2 or :forward=1+3")
        ->type_name("K|auto|MODULE=K,...")
        ->allow_extra_args(false);
    app.add_option("--recombine", recombine,
                   "How chunks are put together that are slices of a value: concatenated (concat), each copied to its "
                   "place as soon as it is there (slices), or all in the way with which the step is faster (auto)")
        ->capture_default_str()
        ->type_name("concat|slices|auto");
    app.add_option("--reduce-once", reduce_once,
                   "Collectives whose results are only added to each other become one of the sum, where that makes the "
                   "step faster (auto); float sums are then made in another order. Or they stay apart (never)")
        ->capture_default_str()
        ->type_name("auto|never");
    app.add_option("--bucket", buckets,
                   "Gathers of parameters travel together, and so do reductions of results, where that makes the step "
                   "faster within the memory limit (auto); up to so many bytes of each at a time (SIZE, such as "
                   "25MiB), or as many as its channel needs to move them at a share of its best rate (90%); only those "
                   "of a module, each module by itself (layers.*=64MiB, or =unlimited), or several "
                   "together (norm+lm_head=unlimited; with *, those for which it is the same); or each alone (none)")
        ->capture_default_str()
        ->type_name("auto|none|SIZE|SHARE%|MODULE+...,...=SIZE");
    app.add_option("--payload-order", payload,
                   "Where members of a bucket lie in it: as parameters are registered, which gives the sums of an "
                   "eager run to the last bit (registration), or as the program launches them (execution)")
        ->capture_default_str()
        ->type_name("registration|execution");
    app.add_option("--apart", apart,
                   "Take the buckets of the step apart, those of PyTorch and of plans of stretto-plan, write the step "
                   "without them, and plan that: what -o writes is a plan of this file, and so is what --check reads")
        ->type_name("FILE");
    app.add_option("--isolate", all.wishes.isolate,
                   "All-to-alls that share a communicator with other collectives get one of their own, with the same "
                   "ranks, where that makes the step faster (ep); only those of one group (GROUP); or none")
        ->capture_default_str()
        ->type_name("ep|none|GROUP");
    app.add_option(
           "--contention", contention,
           "How many times slower kernels run while a channel transfers, such as 1.25; the plan and all figures "
           "are for that. A range, such as 1:1.5: the plan whose worst ratio to the best plan known, over the "
           "range, is least; figures are for its beginning")
        ->capture_default_str()
        ->type_name("C|A:B");
    app.add_option(
           "--host-reads", host_reads,
           "What it takes that the host reads a number, such as 12us: so long, wherever it does, no kernel runs")
        ->capture_default_str()
        ->type_name("TIME");
    app.add_option(
           "--effort", all.wishes.effort,
           "How thoroughly to search within memory: from how many orders; N takes about N (N + 1) / 2 times as long")
        ->capture_default_str()
        ->check(CLI::Range(1, 6))
        ->type_name("1..6");
    app.add_flag("--pareto", all.wishes.pareto,
                 "Show what the step takes with how much memory, whatever the limit: of all orders found, in the forms "
                 "that are best within several limits, those that no other one beats in both");
    app.add_option("-o,--output", plan, "Write the plan, gzipped if the name ends in .gz")->type_name("PLAN");
    app.add_flag("--json", all.json, "Print the figures as JSON: an array with one object per step");
    app.add_option("--trace", trace, "Write before and after as a trace for ui.perfetto.dev")->type_name("FILE");
    app.add_option("--html", html, "Write before and after as a page to look at and zoom into")->type_name("FILE");
    app.add_option("--svg", svg, "Write the picture of that page alone")->type_name("FILE");
    app.add_option("--explain", all.explain, "How many of the worst collectives to explain")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    app.add_option("--check", check, "Verify a plan of the step, instead of making one, and show what it achieves")
        ->type_name("PLAN");
    app.add_option("--overlay", overlay,
                   "Show a run of the plan beside it: RUN is the trace of a run, whose operations are found by name")
        ->type_name("RUN");
    app.add_option("--durations", durations,
                   "Plan with durations as a run of the step has measured them: of each operation the middle one")
        ->type_name("RUN");
    try {
        app.parse(argc, argv);
        for (const std::string& extra : app.remaining()) {
            std::vector<std::string> known;
            for (const CLI::Option* o : app.get_options())
                for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
            const std::string name = extra.substr(0, extra.find('='));
            const std::optional<std::string> meant = similar_option(name, known);
            throw usage_error{"unknown option " + name + (meant ? "; did you mean " + *meant + "?" : "")};
        }
        if (steps.empty()) throw usage_error{"no STEP given"};
        if (std::count(steps.begin(), steps.end(), "-") > 1) throw usage_error{"standard input can be read once only"};
        const std::optional<stretto::memory_budget> parsed = parse_memory_limit(limit);
        if (!parsed)
            throw usage_error{"--memory-limit " + limit +
                              ": is no limit; write 1.05x, 40GiB, a number of bytes, or unlimited"};
        all.limit = *parsed;
        if (!chunks.empty()) {
            std::string joined = chunks[0];
            for (std::size_t k = 1; k < chunks.size(); ++k) joined += "," + chunks[k];
            const auto wanted = parse_chunks(joined);
            if (!wanted) throw usage_error{wanted.error()};
            if (!check.empty()) throw usage_error{"--check and --chunk: a plan is either checked or made"};
            all.chunks = *wanted;
        }
        if (recombine == "concat") all.chunks.how = stretto::recombining::concat;
        else if (recombine == "slices") all.chunks.how = stretto::recombining::slices;
        else if (recombine != "auto")
            throw usage_error{"--recombine " + recombine + ": is no way to recombine; write concat, slices or auto"};
        if (reduce_once != "auto" && reduce_once != "never")
            throw usage_error{"--reduce-once " + reduce_once + ": is neither auto nor never"};
        all.wishes.reduce_once = reduce_once == "auto";
        auto bucketed = parse_buckets(buckets);
        if (!bucketed) throw usage_error{bucketed.error()};
        all.wishes.buckets = *std::move(bucketed);
        if (payload != "registration" && payload != "execution")
            throw usage_error{"--payload-order " + payload + ": is neither registration nor execution"};
        if (payload == "execution") all.wishes.buckets.order = stretto::payload_order::execution;
        const std::optional<contention_range> range = parse_contention(contention);
        if (!range)
            throw usage_error{"--contention " + contention +
                              ": is no contention; write 1.25, 5/4, or a range such as 1:1.5, none of them below 1"};
        all.wishes.under = *range;
        if (!check.empty() && range->is_wide())
            throw usage_error{"--check and --contention " + contention + ": a plan is checked by one clock"};
        if (!check.empty() && all.wishes.pareto)
            throw usage_error{"--check and --pareto: a plan is either checked or made"};
        if (!check.empty() && !plan.empty())
            throw usage_error{"--check and -o: a plan is either checked or made; run the tool twice"};
        if (!check.empty() && !durations.empty())
            throw usage_error{"--check and --durations: a plan is checked by the durations of its step"};
        const std::optional<stretto::nanoseconds> charge = parse_time(host_reads);
        if (!charge)
            throw usage_error{"--host-reads " + host_reads + ": is no time; write 12us, 500ns or 0.1ms, at most 1s"};
        all.host_reads = *charge;
        if (!check.empty() && charge->count != 0)
            throw usage_error{"--check and --host-reads: a plan is checked by the durations of its step"};
        const bool several = steps.size() > 1;
        for (const std::string& step : steps) {
            const std::string name = name_of_step(step);
            all.jobs.push_back({step, file_for(plan, name, "-o", ".plan.json.gz", several),
                                file_for(trace, name, "--trace", ".trace.json", several),
                                file_for(html, name, "--html", ".html", several),
                                file_for(svg, name, "--svg", ".svg", several),
                                file_for(check, name, "--check", ".plan.json.gz", several),
                                file_for(overlay, name, "--overlay", ".run.json", several),
                                file_for(durations, name, "--durations", ".run.json", several),
                                file_for(apart, name, "--apart", ".apart.json.gz", several)});
        }
        check_files(all.jobs);
    } catch (const CLI::CallForHelp&) {
        return nothing_to_do{app.help(), 0};
    } catch (const CLI::CallForVersion&) {
        return nothing_to_do{app.version() + "\n", 0};
    } catch (const CLI::Error& e) {
        return nothing_to_do{std::string("stretto-plan: ") + e.what() + "; see stretto-plan --help\n", 2};
    } catch (const usage_error& e) {
        return nothing_to_do{"stretto-plan: " + e.message + "; see stretto-plan --help\n", 2};
    }
    return all;
}

}  // namespace planner
