#include "files.hpp"
// Checkpoints and command lines of the trainer: what is resumed has the bits of what was not interrupted, and what
// cannot be used is said, with status 2 and no file left.
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "examples/moe_trainer_blas.hpp"
#include "session.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/run_reader.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "support/prop.hpp"

using namespace trainer;

namespace {

namespace fs = std::filesystem;

/// A directory that is gone afterwards.
struct scratch {
    fs::path path;
    scratch() {
        std::string name = (fs::temp_directory_path() / "moe_trainer_XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~scratch() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
    }
};

int status_of(std::vector<std::string> words) {
    words.insert(words.begin(), "moe_trainer");
    std::vector<const char*> all;
    for (const std::string& w : words) all.push_back(w.c_str());
    const parsed_arguments a = parse(static_cast<int>(all.size()), all.data());
    return a.status >= 0 ? a.status : run_session(a.made);
}

/// A network that is trained in no time, in two chunks, without a link.
std::vector<std::string> small(const scratch& at, const std::vector<std::string>& more) {
    std::string text;
    for (int k = 0; k < 2000; ++k) text += static_cast<char>('a' + k * k % 7);
    REQUIRE(!write_file(at.file("text"), text));
    std::vector<std::string> all = {
        "--width", "16", "--layers", "1", "--experts",        "4", "--sequence", "4",
        "--batch", "4",  "--chunks", "2", "--link-bandwidth", "0", "--text",     at.file("text")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

checkpoint some_checkpoint() {
    checkpoint c;
    c.mesh = {2, 2};
    c.text = 77;
    c.chunks = {{"layers.*", stretto::pass_direction::backward, {3, 1}}};
    c.state.seed = 9;
    c.state.steps = 4;
    c.state.ranks = {{{3, {1.5f, -2.0f}}, {8, {}}}, {{3, {0.25f, 7.0f}}, {8, {1.0f}}}};
    return c;
}

}  // namespace

TEST_CASE("a resumed training has the bits of an uninterrupted one") {
    const scratch at;
    CHECK(status_of(small(at, {"--steps", "6", "--checkpoint", at.file("all")})) == 0);
    CHECK(status_of(small(at, {"--steps", "4", "--checkpoint", at.file("some")})) == 0);
    CHECK(*read_file(at.file("some")) != *read_file(at.file("all")));
    CHECK(status_of(small(at, {"--steps", "6", "--resume", at.file("some"), "--checkpoint", at.file("rest")})) == 0);
    CHECK(*read_file(at.file("rest")) == *read_file(at.file("all")));
    // Nothing is left to do, or it is another training.
    CHECK(status_of(small(at, {"--steps", "6", "--resume", at.file("all")})) == 2);
    CHECK(status_of(small(at, {"--steps", "9", "--resume", at.file("all"), "--ranks", "4"})) == 2);
    CHECK(status_of(small(at, {"--steps", "9", "--resume", at.file("all"), "--layers", "2"})) == 2);
    CHECK(at.files() == 4);
}

TEST_CASE("and so it has if a BLAS computes the products, in both runs") {
    support::with_each_blas([](const std::string& library) {
        const scratch at;
        const auto run = [&](std::vector<std::string> more) {
            more.insert(more.end(), {"--chunks", "3+1", "--blas", library});
            return status_of(small(at, more));
        };
        CHECK(run({"--steps", "6", "--checkpoint", at.file("all")}) == 0);
        CHECK(run({"--steps", "4", "--checkpoint", at.file("some")}) == 0);
        CHECK(run({"--steps", "6", "--resume", at.file("some"), "--checkpoint", at.file("rest")}) == 0);
        CHECK(*read_file(at.file("rest")) == *read_file(at.file("all")));
    });
}

TEST_CASE("a checkpoint is read as it was written; cut short or changed anywhere, it is refused") {
    const std::string whole = spelled(some_checkpoint());
    const auto c = parsed_checkpoint(whole);
    REQUIRE(c);
    CHECK(c->state == some_checkpoint().state);
    CHECK(c->shape == some_checkpoint().shape);
    CHECK(c->chunks.size() == 1);
    CHECK(c->chunks[0].sizes == std::vector<std::int64_t>{3, 1});
    CHECK(spelled(*c) == whole);
    stretto_check("damaged checkpoints", 300, [&](std::uint32_t place, std::uint32_t bit, bool cuts) {
        std::string damaged = whole;
        if (cuts) damaged.resize(place % whole.size());
        else damaged[place % whole.size()] ^= static_cast<char>(1u << bit % 8);
        const auto read = parsed_checkpoint(damaged);
        RC_ASSERT(!read);
        RC_ASSERT(read.error().find(": ") != std::string::npos);  // what, and a hint
    });
}

TEST_CASE("what cannot be used is said, with status 2, and no file is left") {
    const scratch at;
    const auto refuses = [&](const std::vector<std::string>& more) { return status_of(small(at, more)) == 2; };
    REQUIRE(!write_file(at.file("damaged"), "stretto moe_trainer checkpoint 1\nand then something else"));
    CHECK(refuses({"--ranks", "3"}));
    CHECK(refuses({"--ranks", "4", "--expert-ranks", "3"}));
    CHECK(refuses({"--memory-limit", "1KiB", "--checkpoint", at.file("c"), "--report", at.file("r")}));
    CHECK(refuses({"--memory-limit", "much"}));
    CHECK(refuses({"--memory-limit", "1000000000000GiB"}));
    CHECK(refuses({"--chunks", "5"}));
    CHECK(refuses({"--chunks", "1+1"}));
    CHECK(refuses({"--steps", "0"}));
    CHECK(refuses({"--steps", "some"}));
    CHECK(refuses({"--trace", at.file("nowhere/trace")}));
    CHECK(refuses({"--report", at.path.string()}));
    CHECK(refuses({"--checkpoint", at.file("nowhere/c")}));
    CHECK(refuses({"--resume", at.file("damaged"), "--report", at.file("r")}));
    CHECK(refuses({"--resume", at.file("nothing")}));
    CHECK(refuses({"--text", at.file("nothing")}));
    CHECK(refuses({"--text", at.path.string()}));
    CHECK(refuses({"--blas", "libnobody.so.7", "--checkpoint", at.file("c"), "--report", at.file("r")}));
    CHECK(refuses({"--blas", at.file("damaged"), "--checkpoint", at.file("c")}));
    CHECK(refuses({"--stepz", "3"}));
    CHECK(at.files() == 2);
}

TEST_CASE("a training leaves a report, a trace, the step and a checkpoint") {
    const scratch at;
    REQUIRE(status_of(small(at, {"--steps", "5", "--report", at.file("r"), "--trace", at.file("t"), "--write-step",
                                 at.file("s"), "--checkpoint", at.file("c")})) == 0);
    CHECK(read_file(at.file("r"))->find("<polyline") != std::string::npos);
    CHECK(read_file(at.file("t"))->find("all_to_all") != std::string::npos);
    CHECK(parsed_checkpoint(*read_file(at.file("c"))).has_value());
    CHECK(at.files() == 5);

    // The trace is a run of the step: every kernel and collective of it was measured on both ranks.
    const auto step = stretto::read_capture(at.file("s"));
    REQUIRE_MESSAGE(step, step.error().message());
    const auto run = stretto::read_run(at.file("t"));
    REQUIRE_MESSAGE(run, run.error().message());
    const stretto::run_of_step found = stretto::match_run(*run, *step);
    CHECK(found.unknown == 0);
    const auto tasks = stretto::make_task_graph(stretto::capture_view{&*step}, stretto::capture_op_model{&*step});
    REQUIRE(tasks);
    const stretto::measured_run all = stretto::summarize_run(*tasks, found.spans);
    CHECK(all.ranks == 2);
    CHECK(all.steps.size() == 5);
    for (stretto::task_id t = 0; t < tasks->size(); ++t)
        if (does_work(tasks->kind[t])) CHECK_MESSAGE(all.tasks[t].spans == 10, step->name(t));
}
