// Feeds stretto-plan with damaged steps: fuzz.tool [OPTION...] STEP..., or --help. The same seed is the same case
// everywhere. Cases run in a process that may die: the one beside it then keeps the files of the case and goes on with
// the next, and lists the commands that show what happened. STRETTO_CASES=20 in the environment runs twenty times as
// many cases.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/damage.hpp"
#include "fuzz/exercise_tool.hpp"
#include "fuzz/json_tree.hpp"
#include "stretto/capture/gzip.hpp"
#include "stretto/transform/module_pattern.hpp"

// A process that dies on purpose frees nothing. (ASan's own limit of memory is for the process that it started with:
// the thread that watches it is not forked.)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

using support::dice;
using support::json_tree;

struct fuzz_options {
    std::uint64_t cases = 100, seed = 1;
    unsigned seconds = 0, seconds_per_case = 60;
    std::string out = "fuzz-findings";
    std::string minimise;
    bool tell = false;
    std::vector<std::string> steps;
};

/// What a case needs; the names of its files are those of the findings.
struct fuzz_case {
    std::string step, plan;
    std::vector<std::string> arguments, blows;
};

/// What the process that may die tells the other.
struct progress {
    std::uint64_t at, ran, read, planned, in_chunks;
    std::uint64_t slowest;   ///< the case that took most
    double slowest_seconds;  ///< of processor time
};

json_tree read_tree(const std::string& file) {
    auto text = stretto::read_text(file);
    std::optional<json_tree> tree;
    if (text) tree = json_tree::parse(*text);
    if (!tree) {
        std::fprintf(stderr, "%s: no captured step\n", file.c_str());
        std::exit(2);
    }
    return *std::move(tree);
}

/// A module of the step, often all that are alike. Empty: there is none that can be named.
std::string any_module_pattern(const json_tree& step, dice& d) {
    const json_tree* nodes = step.find("nodes");
    std::string module;
    for (int tries = 0; tries < 20 && module.empty() && nodes != nullptr; ++tries)
        if (const json_tree* path = nodes->items[d.below(nodes->items.size())].find("fqn"))
            if (path->text.size() > 2 && path->text.find('\\') == std::string::npos)
                module = path->text.substr(1, path->text.size() - 2);
    if (d.one_in(2)) module.resize(std::min(module.size(), module.find('.', module.find('.') + 1)));
    module = stretto::exact_pattern(module);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto number = std::find_if(module.begin(), module.end(), is_digit);
    if (number == module.end() || d.one_in(2)) return module;
    const auto end = std::find_if_not(number, module.end(), is_digit);
    return std::string(module.begin(), number) + (d.one_in(2) ? "*" : "0-26") + std::string(end, module.end());
}

/// So many chunks for a module as --chunk takes them.
std::string any_module(const json_tree& step, dice& d) {
    const std::string module = any_module_pattern(step, d);
    if (module.empty()) return ":forward=2";
    static const char* ways[] = {"=2", "=3", ":forward=2", ":backward=3", "=1+3", "=4"};
    return module + ways[d.below(std::size(ways))];
}

/// A module as --bucket names it.
std::string any_bucket_module(const json_tree& step, dice& d) {
    const std::string module = any_module_pattern(step, d);
    return module.empty() ? "layers.*" : module;
}

/// Two modules as --bucket names them: each by itself, or together if they have as many wildcards.
std::string several_bucket_modules(const std::string& one, const std::string& other, dice& d) {
    const bool alike = stretto::wildcards_in(one) == stretto::wildcards_in(other);
    return one + (alike && d.one_in(2) ? "+" : ",") + other;
}

/// One of some texts.
template <std::size_t N>
std::string any_of(const char* const (&all)[N], dice& d) {
    return all[d.below(N)];
}

/// A process group as the step names it.
std::string any_group(const json_tree& step, dice& d) {
    const json_tree* groups = step.find("groups");
    if (groups == nullptr || groups->items.empty()) return "0";
    const json_tree* name = groups->items[d.below(groups->items.size())].find("name");
    if (name == nullptr || name->text.size() < 3 || name->text.find('\\') != std::string::npos) return "0";
    return name->text.substr(1, name->text.size() - 2);
}

/// All options that change what the tool does, most of them rarely, so that they meet one another in many ways. What
/// one of them takes is drawn from every form that --help names.
/// `thorough` searches with more effort, which takes some ten times as long.
std::vector<std::string> any_arguments(const json_tree& step, bool thorough, const std::string& out, dice& d) {
    std::vector<std::string> all;
    const auto add = [&](const char* option, std::string value) { all.insert(all.end(), {option, std::move(value)}); };
    switch (d.below(9)) {
        case 0:
            break;
        case 1:
            add("--chunk", any_module(step, d) + "," + any_module(step, d));
            break;
        case 2:
            add("--chunk", any_module(step, d));
            break;
        case 3:  // the last one counts
            add("--chunk", std::to_string(2 + d.below(3)));
            add("--chunk", any_module(step, d));
            break;
        case 4:
        case 5:
            add("--chunk", "auto");
            break;
        default:
            add("--chunk", std::to_string(2 + d.below(3)));
    }
    if (!all.empty()) add("--recombine", any_of({"concat", "slices", "slices", "auto"}, d));
    if (d.one_in(6)) add("--memory-limit", any_of({"0.95x", "0x", "0.5MiB", "0", "40GiB", "17179869184"}, d));
    else add("--memory-limit", any_of({"unlimited", "1.00x", "1.10x", "2x", "1000x", "100GB", "3TB"}, d));
    if (d.one_in(3)) add("--reduce-once", any_of({"never", "auto"}, d));
    if (d.one_in(3)) {
        const std::string size = any_of({"25MiB", "1KiB", "1", "64GB", "90%", "1%", "unlimited"}, d);
        const std::string module = any_bucket_module(step, d);
        switch (d.below(6)) {
            case 0:
                add("--bucket", "none");
                break;
            case 1:
                add("--bucket", size);
                break;
            case 2:
                add("--bucket", module + "=" + size);
                break;
            case 3:
                add("--bucket", several_bucket_modules(module, any_bucket_module(step, d), d) + "=" + size);
                break;
            default:
                add("--bucket", "auto");
        }
    }
    if (d.one_in(3)) add("--payload-order", any_of({"execution", "execution", "registration"}, d));
    if (d.one_in(3)) add("--isolate", d.one_in(3) ? any_group(step, d) : any_of({"ep", "none"}, d));
    std::string contention;
    if (d.one_in(3)) contention = any_of({"1", "1.25", "5/4", "2", "1:1.5", "1:2", "5/4:3/2", "1.5:1.5", "1:16"}, d);
    if (!contention.empty()) add("--contention", contention);
    // Under contention every search is three, and in a range of it there are three of these.
    const bool in_range = contention.find(':') != std::string::npos;
    if (thorough) add("--effort", std::to_string(1 + d.below(in_range ? 2 : d.one_in(4) ? 6 : 3)));
    if (d.one_in(5)) add("--host-reads", any_of({"12us", "1ns", "0.1ms", "1s", "0"}, d));
    if (d.one_in(4)) add("--apart", out + "/apart.json");
    if (d.one_in(5)) all.emplace_back("--pareto");
    if (d.one_in(3)) all.emplace_back("--json");
    if (d.one_in(3)) add("-o", out + any_of({"/written.plan.json", "/written.plan.json.gz"}, d));
    if (d.one_in(3)) add("--explain", any_of({"0", "1", "3", "1000000"}, d));
    return all;
}

fuzz_case make_case(const std::vector<json_tree>& steps, const std::string& out, std::uint64_t seed) {
    dice d(seed);
    for (int k = 0; k < 4; ++k) d.next();
    fuzz_case c;
    const bool thorough = d.one_in(4);
    json_tree step = some_of(steps[d.below(steps.size())], d, thorough ? 40 : 400);  // so that none takes long
    if (d.one_in(6)) {  // with what only plans have, such as buckets and chunks
        std::vector<std::string> wanted = {"--bucket", any_of({"auto", "unlimited"}, d), "--memory-limit", "unlimited"};
        if (d.one_in(2)) wanted.insert(wanted.end(), {"--chunk", any_of({"2", "auto"}, d)});
        if (auto made = json_tree::parse(support::plan_of(step.printed(), wanted))) step = *std::move(made);
    }
    c.arguments = any_arguments(step, thorough, out, d);
    json_tree plan;
    const bool check = d.one_in(5);
    if (check) {
        c.plan = support::plan_of(step.printed(), c.arguments);
        if (auto made = json_tree::parse(c.plan); made && !c.plan.empty()) plan = *std::move(made);
        else c.plan.clear();
    }
    json_tree& damaged = c.plan.empty() || d.one_in(6) ? step : plan;
    for (std::size_t blows = d.one_in(12) ? 0 : 1 + d.below(d.one_in(4) ? 6 : 2); blows > 0; --blows)
        c.blows.push_back(support::damage(damaged, d));
    c.step = step.printed();
    if (!c.plan.empty()) c.plan = plan.printed();
    return c;
}

void write_file(const std::string& path, std::string_view text) {
    if (std::FILE* f = std::fopen(path.c_str(), "wb")) {
        std::fwrite(text.data(), 1, text.size(), f);
        std::fclose(f);
    }
}
std::string read_file(const std::string& path) {
    std::string text;
    if (std::FILE* f = std::fopen(path.c_str(), "rb")) {
        char piece[1 << 16];
        while (const std::size_t got = std::fread(piece, 1, sizeof piece, f)) text.append(piece, got);
        std::fclose(f);
    }
    return text;
}

/// So that somebody can run the tool on it.
void write_case(const std::string& prefix, const fuzz_case& c) {
    write_file(prefix + ".json", c.step);
    std::string command;
    for (const std::string& a : c.arguments) command += a + "\n";
    write_file(prefix + ".arguments", command);
    if (c.plan.empty()) std::filesystem::remove(prefix + ".plan.json");
    else write_file(prefix + ".plan.json", c.plan);
    std::string blows;
    for (const std::string& b : c.blows) blows += b + "\n";
    write_file(prefix + ".damage", blows);
}
std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        all.push_back(text.substr(at, end - at));
    return all;
}
fuzz_case read_case(const std::string& prefix) {
    return {read_file(prefix + ".json"), read_file(prefix + ".plan.json"), lines(read_file(prefix + ".arguments")),
            lines(read_file(prefix + ".damage"))};
}

/// The process dies of SIGPROF when it has worked for so long; a busy machine does not count.
void limit_time(unsigned seconds) {
    itimerval limit{};
    limit.it_value.tv_sec = static_cast<time_t>(seconds);
    setitimer(ITIMER_PROF, &limit, nullptr);
}

/// What this process has worked so far, as the limit counts it.
double seconds_worked() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// A case that wants so much memory is a defect, not a reason to disturb the machine: from there on allocations fail.
/// What the process has mapped so far, terabytes with sanitizers, does not count.
void limit_memory(std::uint64_t bytes) {
    std::FILE* status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return;
    unsigned long long kibibytes = 0;
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr && std::sscanf(line, "VmData: %llu", &kibibytes) != 1) {
    }
    std::fclose(status);
    rlimit limit{};
    if (kibibytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kibibytes * 1024 + bytes);
    setrlimit(RLIMIT_DATA, &limit);
}

/// Runs it in a process of its own, whose words go to a file: whether it ended as it should.
template <class F>
bool survives(const std::string& words, F run) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int to = open(words.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dup2(to, STDERR_FILENO);
        dup2(to, STDOUT_FILENO);
        limit_memory(std::uint64_t{6} << 30);
        run();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        write_file(words, "takes longer than a case may: it hangs, or is too slow\n");
    return status == 0;
}

void note(progress* shared, const support::tool_result& r, double seconds) {
    if (seconds > shared->slowest_seconds) {
        shared->slowest = shared->at;
        shared->slowest_seconds = seconds;
    }
    if (!r.broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", r.broken.c_str());
        _exit(3);
    }
    ++shared->ran;
    shared->read += r.is_read;
    shared->planned += r.is_read && r.message.empty();
    shared->in_chunks += r.in_chunks;
}

/// The line of a report that tells findings apart.
std::string headline(const std::string& words) {
    std::string found;
    for (std::size_t at = 0, end; (end = words.find('\n', at)) != std::string::npos; at = end + 1) {
        const std::string line = words.substr(at, end - at);
        const bool frame = line.find("    #") != std::string::npos &&
                           (line.find("stretto::") != std::string::npos || line.find("planner::") != std::string::npos);
        const bool says = line.find("ERROR:") != std::string::npos || line.find("runtime error") != std::string::npos ||
                          line.find("broken promise") != std::string::npos ||
                          line.find("assert") != std::string::npos || line.find("too slow") != std::string::npos ||
                          line.find("terminate") != std::string::npos;
        if (says && found.empty()) found = line;
        if (frame) return found + " " + line;
    }
    return found.empty() ? "died without a word" : found;
}

int fuzz(const fuzz_options& o) {
    std::vector<json_tree> steps;
    for (const std::string& file : o.steps) steps.push_back(read_tree(file));
    std::filesystem::create_directories(o.out);
    auto* shared = static_cast<progress*>(
        mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::memset(shared, 0, sizeof *shared);
    const std::string current = o.out + "/current", words = current + ".words";
    const auto begun = std::chrono::steady_clock::now();
    const auto time_is_up = [&] {
        return o.seconds != 0 && std::chrono::steady_clock::now() - begun >= std::chrono::seconds(o.seconds);
    };
    std::FILE* outcomes = o.tell ? std::fopen((o.out + "/outcomes").c_str(), "w") : nullptr;
    std::size_t findings = 0;
    shared->at = o.seed;
    const std::uint64_t end = o.seconds != 0 ? UINT64_MAX : o.seed + o.cases;
    while (shared->at < end && !time_is_up()) {
        const bool fine = survives(words, [&] {
            for (; shared->at < end && !time_is_up(); ++shared->at) {
                limit_time(o.seconds_per_case);
                const double before = seconds_worked();
                const fuzz_case c = make_case(steps, o.out, shared->at);
                write_case(current, c);
                const bool sound = c.blows.empty();
                const support::tool_result r = support::exercise_tool(c.step, c.plan, c.arguments, sound);
                const double seconds = seconds_worked() - before;
                if (outcomes != nullptr) {
                    std::fprintf(outcomes, "%llu: %.2f s: %s\n", static_cast<unsigned long long>(shared->at), seconds,
                                 r.message.empty() ? "fine" : r.message.c_str());
                    std::fflush(outcomes);
                }
                note(shared, r, seconds);
            }
        });
        if (fine) break;
        ++findings;
        const std::string kept = o.out + "/" + std::to_string(shared->at), told = headline(read_file(words));
        for (const char* part : {".json", ".plan.json", ".arguments", ".damage", ".words"}) {
            std::error_code none;
            std::filesystem::rename(current + part, kept + part, none);
        }
        std::printf("case %llu: %s\n", static_cast<unsigned long long>(shared->at), told.c_str());
        std::fflush(stdout);
        ++shared->at;
    }
    std::printf("%llu cases: %llu read, %llu planned or checked, %llu of them in chunks; %zu findings\n",
                static_cast<unsigned long long>(shared->ran + findings), static_cast<unsigned long long>(shared->read),
                static_cast<unsigned long long>(shared->planned), static_cast<unsigned long long>(shared->in_chunks),
                findings);
    std::printf("case %llu took longest: %.1f s of the %u s that a case may\n",
                static_cast<unsigned long long>(shared->slowest), shared->slowest_seconds, o.seconds_per_case);
    if (findings > 0) {
        std::printf("files, arguments and words of each are in %s; --minimise %s/CASE makes one smaller\n",
                    o.out.c_str(), o.out.c_str());
        return 1;
    }
    // A fuzzer that is refused at the door finds nothing.
    if (shared->ran >= 50 && (2 * shared->read < shared->ran || 20 * shared->in_chunks < shared->ran)) {
        std::printf("too few of them are read or cut in chunks\n");
        return 1;
    }
    return 0;
}

/// Takes out whatever the finding does not need.
int minimise(const fuzz_options& o) {
    fuzz_case c = read_case(o.minimise);
    const std::string words = o.minimise + ".min.words";
    const auto fails = [&](const fuzz_case& tried) {
        return !survives(words, [&] {
            limit_time(o.seconds_per_case);
            if (!support::exercise_tool(tried.step, tried.plan, tried.arguments, tried.blows.empty()).broken.empty())
                _exit(3);
        });
    };
    if (!fails(c)) {
        std::printf("%s: nothing happens\n", o.minimise.c_str());
        return 2;
    }
    auto step = json_tree::parse(c.step);
    if (!step) return 2;
    json_tree best = *std::move(step);
    const auto try_out = [&](json_tree tried) {
        fuzz_case with = c;
        with.step = tried.printed();
        if (with.step.size() >= c.step.size() || !fails(with)) return false;
        c = std::move(with);
        best = std::move(tried);
        return true;
    };
    const auto count = [&] { return best.find("nodes") == nullptr ? 0 : best.find("nodes")->items.size(); };
    for (std::size_t length = (count() + 1) / 2; length > 0; length /= 2)
        for (std::size_t first = 0; first < count(); first += length) {
            std::vector<char> keep(count(), true);
            for (std::size_t v = first; v < std::min(count(), first + length); ++v) keep[v] = false;
            if (try_out(part_of(best, keep))) first -= std::min(first, length);
        }
    for (std::size_t v = 0; v < count(); ++v)
        for (std::size_t k = best.find("nodes")->items[v].keys.size(); k-- > 0;) {
            json_tree tried = best;
            tried.find("nodes")->items[v].erase(k);
            try_out(std::move(tried));
        }
    fails(c);
    write_case(o.minimise + ".min", c);
    std::printf("%s.min.json: %zu nodes: %s\n", o.minimise.c_str(), count(), headline(read_file(words)).c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    fuzz_options o;
    CLI::App app("Feeds stretto-plan with damaged steps");
    app.add_option("--cases", o.cases, "How many; STRETTO_CASES scales it")->capture_default_str();
    app.add_option("--seconds", o.seconds, "Goes on for so long instead");
    app.add_option("--seconds-per-case", o.seconds_per_case, "A case that takes longer hangs")->capture_default_str();
    app.add_option("--seed", o.seed, "Of the first case; the next has the next")->capture_default_str();
    app.add_option("--out", o.out, "Where findings go")->capture_default_str();
    app.add_option("--minimise", o.minimise, "Make a finding smaller, such as fuzz-findings/17");
    app.add_flag("--tell", o.tell,
                 "Write into the file \"outcomes\" there what the tool says of every case, and how long it takes");
    app.add_option("STEP", o.steps, "Sound captured steps to damage");
    CLI11_PARSE(app, argc, argv);
    if (!o.minimise.empty()) return minimise(o);
    if (o.steps.empty()) {
        std::fprintf(stderr, "give a captured step, such as examples/graphs/moe_ep_step.json.gz\n");
        return 2;
    }
    if (const char* scale = std::getenv("STRETTO_CASES"))
        o.cases = static_cast<std::uint64_t>(std::max(1.0, static_cast<double>(o.cases) * std::atof(scale)));
    return fuzz(o);
}
