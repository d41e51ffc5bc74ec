#include "stretto/schedule/cost/roofline.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstring>

#include "support/prop.hpp"

using namespace stretto;

namespace {

static_assert(compute_cost_model<roofline>);

constexpr device_peaks toy{"toy", 1.0, {1, 10, 100}};

}  // namespace

TEST_CASE("the longer of arithmetic and traffic, plus the launch") {
    const roofline model{.device = toy, .launch = nanoseconds{2000}};
    CHECK(model.duration({.flops = 0, .moved = {3'000'000}}).count == 2000 + 3000);
    CHECK(model.duration({.flops = 1e9, .moved = {0}}).count == 2000 + 10'000);
    CHECK(model.duration({.flops = 1e9, .moved = {3'000'000}}).count == 2000 + 10'000);
    CHECK(model.duration({.flops = 1e9, .moved = {30'000'000}}).count == 2000 + 30'000);
    CHECK(model.duration({.flops = 1e9, .moved = {0}, .arithmetic = precision::fp32}).count == 2000 + 100'000);
    CHECK(model.duration({.flops = 1e9, .moved = {0}, .arithmetic = precision::fp64}).count == 2000 + 1'000'000);
    CHECK(model.duration({}).count == 2000);
}

TEST_CASE("shares slow a kernel down and the floor holds it up") {
    const roofline model{.device = toy, .compute_share = 0.5, .memory_share = 0.25, .floor = nanoseconds{7000}};
    CHECK(model.duration({.flops = 1e9}).count == 20'000);
    CHECK(model.duration({.moved = {3'000'000}}).count == 12'000);
    CHECK(model.duration({.moved = {1}}).count == 7000);
}

TEST_CASE("the kernel model of autoparallel") {
    const roofline model = autoparallel_roofline(devices::h100);
    // A bf16 product of 8192^3: 2 * 8192^3 / (989e12 * 0.7) s.
    CHECK(model.microseconds({.flops = 2.0 * 8192 * 8192 * 8192, .moved = {3 * 8192 * 8192 * 2}}) ==
          doctest::Approx(1588.2011090).epsilon(1e-6));
    // A copy of 1 GiB: 2 * 2^30 / (3.35 * 2^40 * 0.7) s.
    CHECK(model.microseconds({.moved = {std::int64_t{2} << 30}}) == doctest::Approx(832.8891).epsilon(1e-6));
    CHECK(model.duration({.moved = {64}}).count == 7000);
}

TEST_CASE("devices are named after themselves and faster at lower precision") {
    for (const device_peaks& device : devices::all) {
        CAPTURE(device.name);
        CHECK(std::strlen(device.name) >= 4);
        CHECK(device.memory_terabytes_per_second > 0);
        CHECK(device.teraflops[0] > 0);
        CHECK(device.teraflops[1] > device.teraflops[0]);
        CHECK(device.teraflops[2] > device.teraflops[1]);
    }
    CHECK(devices::h100.teraflops[2] == 989);
}

TEST_CASE("more work never takes less time") {
    stretto_check("roofline is monotone", 200, [](std::uint32_t flops, std::uint32_t moved, std::uint32_t more) {
        const roofline model{.device = devices::a100, .floor = nanoseconds{100}, .launch = nanoseconds{50}};
        const kernel_work work{.flops = flops * 1e6, .moved = {moved}};
        const kernel_work harder{.flops = (double{1} * flops + more) * 1e6, .moved = {moved}};
        const kernel_work larger{.flops = flops * 1e6, .moved = {std::int64_t{moved} + more}};
        RC_ASSERT(model.duration(work) >= nanoseconds{150});
        RC_ASSERT(model.duration(harder) >= model.duration(work));
        RC_ASSERT(model.duration(larger) >= model.duration(work));
    });
}
