// The forms of captured steps that stretto-plan chooses among, checked as any writer of forms is.
#include "step_forms.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "bucketing.hpp"
#include "chunk_settings.hpp"
#include "program.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/testing/check_form_writer.hpp"
#include "support/prop.hpp"
#include "support/reduction_step.hpp"

using namespace planner;
using stretto::form_writer_summary;

namespace {

form_writer_summary forms_of(stretto::capture step, const std::string& chunks) {
    auto made = make_program(std::move(step), "step.json");
    REQUIRE_MESSAGE(made, made.error().message);
    chunking wanted;
    if (!chunks.empty()) wanted = *parse_chunks(chunks);
    const step_forms forms("step.json", wanted, bucketing(), "ep");
    const auto checked = stretto::check_form_writer(forms, written_step{*made});
    REQUIRE_MESSAGE(checked, checked.error().message());
    return *checked;
}

stretto::capture example(const std::string& name) {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    auto step = stretto::read_capture(std::string(graphs) + "/" + name + ".json.gz");
    REQUIRE_MESSAGE(step, step.error().message());
    return *std::move(step);
}

}  // namespace

TEST_CASE("every form of a step whose exchanges share a communicator keeps its promises") {
    const auto whole = forms_of(example("moe_shared_group"), "");
    CHECK(whole.isolated == 1);
    CHECK(whole.refused == 0);
    const auto chunks = forms_of(example("moe_shared_group"), "auto");
    CHECK(chunks.isolated == 1);
    CHECK(chunks.searched == 2);
}

TEST_CASE("every form of a step with recomputation keeps its promises") {
    CHECK(forms_of(example("moe_recompute_selective"), "auto").refused == 0);
    if (support::runs_case(2)) CHECK(forms_of(example("moe_recompute_layers"), "2").refused == 0);
}

TEST_CASE("every form of a step with sums of collectives keeps its promises") {
    support::reduction_step s;
    const std::string x = s.input();
    const std::string first = s.reduced(s.kernel("aten.neg.default", {x}), true);
    const std::string second = s.reduced(s.kernel("aten.neg.default", {x}), true);
    s.output({s.add_in_place(first, second)});
    const auto forms = forms_of(s.d.build(), "");
    CHECK(forms.reduced == 1);
    CHECK(forms.searched == 2);
}

TEST_CASE("a step that cannot run in the chunks that are named has no form, and that is no broken promise") {
    CHECK(forms_of(example("llama_fsdp_forward"), "nowhere=2").refused > 0);
}
