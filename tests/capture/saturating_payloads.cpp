#include "stretto/capture/saturating_payloads.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "stretto/capture/bucket_capture.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

/// Eight gathers on each of two groups, 1000 bytes each. An empty gather takes 9000 ns on the first group, which moves
/// a byte per nanosecond, and 100 ns on the second one, which moves two.
capture gathers_on_two_groups(const std::string& second = R"([[0,100],[1000,600]])") {
    std::string nodes, waits, results;
    for (int k = 0; k < 16; ++k) {
        const std::string n = std::to_string(k), tensor = R"("outputs":[{"shape":[500],"dtype":"bf16"}])";
        nodes += R"({"name":"w)" + n + R"(","op":"placeholder","kind":"input","inputs":[],)" + tensor +
                 R"(,"bytes":1000,"ns":0},)" + "\n";
        waits += R"({"name":"g)" + n + R"(","op":"_c10d_functional.all_gather_into_tensor.default","kind":"start",)" +
                 R"("inputs":[)" + n + R"(],"outputs":[{"shape":[1000],"dtype":"bf16"}],"bytes":2000,)" +
                 R"("collective":"all_gather","group":)" + std::to_string(k % 2) + R"(,"payload":1000,"ns":1},)" +
                 R"({"name":"f)" + n + R"(","op":"_c10d_functional.wait_tensor.default","kind":"wait","inputs":[)" +
                 std::to_string(16 + 2 * k) + R"(],"outputs":[{"shape":[1000],"dtype":"bf16"}],"bytes":0,"alias":[)" +
                 std::to_string(16 + 2 * k) + R"(],"ns":0},)" + "\n";
        results += (k > 0 ? "," : "") + std::to_string(17 + 2 * k);
    }
    auto step = support::parse_capture(
        R"({"format":"stretto-graph","version":1,"name":"gathers","groups":[{"name":"a","size":2},{"name":"b","size":2}],)"
        R"("costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{"a":{"all_gather":[[0,9000],)"
        R"([1000,10000]]})" +
            (second.empty() ? "" : R"(,"b":{"all_gather":)" + second + "}") + R"(}},"nodes":[)" + nodes + waits +
            R"({"name":"mm","op":"mm","kind":"compute","inputs":[)" + results +
            R"(],"outputs":[],"bytes":8,"ns":5},{"name":"out","op":"output","kind":"output","inputs":[48],"outputs":[],)"
            R"("bytes":0,"ns":0}]})",
        "gathers.json");
    REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
    return *std::move(step);
}

}  // namespace

TEST_CASE("buckets are as large as the channel of each group needs them, by the durations of the capture") {
    const capture step = gathers_on_two_groups();
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const traffic_tags<capture_view> tags = traffic_of(step);
    const buckets_by_traffic<capture_view> choose{&tags};
    // In closed form: share / (1 - share) times the latency times the rate.
    const auto third = saturating_payloads::make(step, choose, 0.25);
    REQUIRE(third);
    CHECK((*third)(16) == bytes{3000});
    CHECK((*third)(18) == bytes{67});
    const auto most = saturating_payloads::make(step, choose, 0.9);
    REQUIRE(most);
    CHECK((*most)(16) == bytes{81000});
    CHECK((*most)(18) == bytes{1800});
    const auto plan = plan_capture_buckets(step, *tensors, buckets_up_to{choose, *third});
    REQUIRE(plan);
    REQUIRE(plan->buckets.size() ==
            3);  // of 3, 3 and 2 on the first group; the second one moves each by itself as well
    CHECK(plan->saved() == 5);
    for (const capture_bucket& b : plan->buckets) CHECK(b.payload <= bytes{3000});
    const auto nearly_all = plan_capture_buckets(step, *tensors, buckets_up_to{choose, *most});
    REQUIRE(nearly_all);
    REQUIRE(nearly_all->buckets.size() == 1);  // 1800 bytes are no two gathers
    CHECK(nearly_all->buckets[0].payload == bytes{8000});
}

TEST_CASE("without durations there is no saturation, and the message names the collective and the group") {
    const auto anything = [](std::uint32_t) { return bucket_choice{.label = 0}; };
    const capture step = gathers_on_two_groups("");
    const auto unknown = saturating_payloads::make(step, anything);
    REQUIRE(!unknown);
    CHECK(unknown.error().message() ==
          "node 18 (g1): costs.collectives: the step has no durations of all_gather on b, so no payload saturates it; "
          "limit buckets by bytes instead, such as 25MiB");
    const auto only_first = [&](std::uint32_t v) {
        return step.group(v) == 0 ? bucket_choice{.label = 0} : bucket_choice{};
    };
    CHECK(saturating_payloads::make(step, only_first));
    const capture flat_step = gathers_on_two_groups("[[0,100],[1000,100]]");
    const auto flat = saturating_payloads::make(flat_step, anything);
    REQUIRE(!flat);
    CHECK(flat.error().message().find("more bytes take no more time by the durations of all_gather on b") !=
          std::string::npos);
}
