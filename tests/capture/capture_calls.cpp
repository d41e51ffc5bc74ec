#include "stretto/capture/capture_calls.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "capture/tiny_step.hpp"
#include "stretto/core/collective_call.hpp"
#include "support/example_step.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

struct called_step {
    explicit called_step(capture c)
        : step(std::move(c)), tensors(*capture_tensors::read(step)), calls(read_calls(step, tensors)) {}
    capture step;
    capture_tensors tensors;
    aten::collective_calls calls;

    [[nodiscard]] collective_call call(const char* name) const {
        return call_of<capture_view>(capture_call_model{{&step}, &calls}, *step.find(name));
    }
};

}  // namespace

TEST_CASE("a captured mixture of experts tells the calls of its collectives") {
    const called_step s(support::moe_ep_step().step);
    std::set<std::uint64_t> ids;
    std::size_t starts = 0;
    for (std::uint32_t v = 0; v < s.step.size(); ++v) {
        if (s.step.kind(v) != op_kind::start) continue;
        const collective_call call = call_of<capture_view>(capture_call_model{{&s.step}, &s.calls}, v);
        CHECK(call.kind == s.step.collective(v));
        CHECK(call.element != element_type::other);
        CHECK((call.kind == collective_kind::reduce_scatter ? reduction_kind::sum : reduction_kind::none) ==
              call.reduction);
        ids.insert(call.logical_id);
        ++starts;
    }
    CHECK(starts > 100);
    CHECK(s.calls.size() == starts);
    CHECK(ids.size() == starts);
    CHECK(ids.count(0) == 0);

    using form = split_size::form;
    const collective_call counts = s.call("all_to_all_single"), tokens = s.call("all_to_all_single_1");
    REQUIRE(counts.input_sizes.size() == 8);
    CHECK(counts.input_sizes[7] == split_size{form::given, 1});
    CHECK(counts.element == element_type::i64);
    REQUIRE(tokens.output_sizes.size() == 8);
    CHECK(tokens.output_sizes[0] == split_size{form::measured, 1});
    CHECK(tokens.input_sizes[7] == split_size{form::measured, 16});
    CHECK(tokens.element == element_type::bf16);
}

TEST_CASE("clones have the id of what they were cloned from, and their chunk") {
    const std::string file = support::edited(support::tiny_step, R"("name":"gather",)",
                                             R"("name":"gather_c1","origin":"gather","chunk":1,)");
    const called_step whole(*support::parse_capture(support::tiny_step, "f")),
        chunk(*support::parse_capture(file, "f"));
    const collective_call a = whole.call("gather"), b = chunk.call("gather_c1");
    CHECK(a.logical_id == b.logical_id);
    CHECK(a.chunk == 0);
    CHECK(b.chunk == 1);
}
