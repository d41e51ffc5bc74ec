#include "stretto/schedule/cost/nccl_autoparallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/schedule/cost/table.hpp"

using namespace stretto;
using kind = collective_kind;

namespace {

static_assert(collective_cost_model<nccl_autoparallel>);

constexpr nccl_autoparallel a100 = nccl_autoparallel::a100();
constexpr nccl_autoparallel h100 = nccl_autoparallel::h100();
constexpr nccl_autoparallel gb200 = nccl_autoparallel::gb200();

nccl_autoparallel without_nvswitch(nccl_autoparallel model) {
    model.nvswitch = false;
    return model;
}
nccl_autoparallel with_collnet(nccl_autoparallel model) {
    model.collnet = true;
    return model;
}
nccl_autoparallel with_network_latency(nccl_autoparallel model, double microseconds) {
    model.network_latency_microseconds = microseconds;
    return model;
}
nccl_autoparallel with_gpus_per_node(nccl_autoparallel model, std::int64_t gpus) {
    model.gpus_per_node = gpus;
    return model;
}

struct layout {
    std::int64_t ranks, nodes, per_node;
};

struct golden {
    std::string cluster;
    nccl_autoparallel model;
    std::vector<std::int64_t> mesh;
    std::size_t dimension;
    layout expected;
    std::int64_t size;
    double gather, reduce, exchange;  // microseconds
};

// Made with the original implementation.
// clang-format off
const std::vector<golden> reference = {
    {"A100 1 node", a100, {8}, 0, {8, 1, 8}, 1024, 10.820433, 15.040867, 35.616680},
    {"A100 1 node", a100, {8}, 0, {8, 1, 8}, 1048576, 31.723694, 56.847389, 52.680567},
    {"A100 1 node", a100, {8}, 0, {8, 1, 8}, 16777216, 199.589555, 390.779111, 308.889070},
    {"A100 1 node", a100, {8}, 0, {8, 1, 8}, 268435456, 2710.432885, 5412.465770, 4408.225118},
    {"A100 1 node", a100, {8}, 0, {8, 1, 8}, 1073741824, 10745.131539, 21481.863079, 17526.100472},
    {"A100 4 nodes", a100, {32}, 0, {32, 4, 8}, 1024, 61.579360, 35.575961, 149.058514},
    {"A100 4 nodes", a100, {32}, 0, {32, 4, 8}, 1048576, 142.165565, 227.598705, 208.918629},
    {"A100 4 nodes", a100, {32}, 0, {32, 4, 8}, 16777216, 2331.457067, 1794.552857, 1107.698057},
    {"A100 4 nodes", a100, {32}, 0, {32, 4, 8}, 268435456, 13500.135795, 24963.861136, 15488.168914},
    {"A100 4 nodes", a100, {32}, 0, {32, 4, 8}, 1073741824, 41771.895680, 83637.231360, 61505.675657},
    {"H100 1 node", h100, {8}, 0, {8, 1, 8}, 1024, 30.002599, 31.003835, 50.002695},
    {"H100 1 node", h100, {8}, 0, {8, 1, 8}, 1048576, 32.661360, 34.927251, 52.759411},
    {"H100 1 node", h100, {8}, 0, {8, 1, 8}, 16777216, 72.581766, 93.836015, 94.150568},
    {"H100 1 node", h100, {8}, 0, {8, 1, 8}, 268435456, 711.308264, 1036.376240, 756.409095},
    {"H100 1 node", h100, {8}, 0, {8, 1, 8}, 1073741824, 2755.233056, 4052.504959, 2875.636379},
    {"H100 1 node", h100, {3}, 0, {3, 1, 3}, 16777216, 47.056573, 72.418629, 94.150568},
    {"H100 2 nodes", h100, {16}, 0, {16, 2, 8}, 1024, 25.761538, 25.268541, 37.013128},
    {"H100 2 nodes", h100, {16}, 0, {16, 2, 8}, 1048576, 49.523447, 62.503419, 75.409377},
    {"H100 2 nodes", h100, {16}, 0, {16, 2, 8}, 16777216, 123.375148, 140.370412, 299.307942},
    {"H100 2 nodes", h100, {16}, 0, {16, 2, 8}, 268435456, 899.569620, 1059.507147, 3478.480205},
    {"H100 2 nodes", h100, {16}, 0, {16, 2, 8}, 1073741824, 3083.149425, 4079.028586, 13802.920821},
    {"H100 4 nodes", h100, {32}, 0, {32, 4, 8}, 1048576, 84.287508, 83.224408, 69.613483},
    {"H100 4 nodes", h100, {32}, 0, {32, 4, 8}, 268435456, 1141.457779, 1758.721600, 4682.198029},
    {"H100 8 nodes", h100, {64}, 0, {64, 8, 8}, 1024, 86.446860, 45.330779, 60.018963},
    {"H100 8 nodes", h100, {64}, 0, {64, 8, 8}, 1048576, 153.569372, 100.224408, 85.550097},
    {"H100 8 nodes", h100, {64}, 0, {64, 8, 8}, 16777216, 231.109945, 271.560356, 415.750975},
    {"H100 8 nodes", h100, {64}, 0, {64, 8, 8}, 268435456, 1308.740588, 1786.721600, 5167.219482},
    {"H100 8 nodes", h100, {64}, 0, {64, 8, 8}, 1073741824, 3780.949874, 6819.886400, 19944.107852},
    {"H100 16 nodes", h100, {16, 8}, 0, {16, 16, 1}, 1024, 81.646972, 47.032200, 98.019743},
    {"H100 16 nodes", h100, {16, 8}, 0, {16, 16, 1}, 1048576, 129.699817, 181.296970, 122.139416},
    {"H100 16 nodes", h100, {16, 8}, 0, {16, 16, 1}, 16777216, 497.704161, 1141.167677, 436.710131},
    {"H100 16 nodes", h100, {16, 8}, 0, {16, 16, 1}, 268435456, 5461.280000, 12001.807287, 5273.490797},
    {"H100 16 nodes", h100, {16, 8}, 0, {16, 16, 1}, 1073741824, 21189.920000, 41124.308168, 20799.963188},
    {"H100 16 nodes", h100, {16, 8}, 1, {8, 1, 8}, 1048576, 32.661360, 34.927251, 52.759411},
    {"H100 2 nodes", h100, {2, 8}, 0, {2, 2, 1}, 1024, 11.621333, 16.922342, 37.013128},
    {"H100 2 nodes", h100, {2, 8}, 0, {2, 2, 1}, 1048576, 33.322667, 52.272464, 55.934200},
    {"H100 2 nodes", h100, {2, 8}, 0, {2, 2, 1}, 16777216, 197.162667, 113.461315, 263.413171},
    {"H100 2 nodes", h100, {2, 8}, 0, {2, 2, 1}, 268435456, 2818.602667, 902.980800, 3478.480205},
    {"H100 2 nodes", h100, {2, 8}, 0, {2, 2, 1}, 1073741824, 11207.210667, 3419.563200, 13802.920821},
    {"H100 32 nodes", h100, {64, 4}, 0, {64, 32, 2}, 1048576, 172.955845, 151.148485, 314.064722},
    {"H100 32 nodes", h100, {64, 4}, 0, {64, 32, 2}, 268435456, 3191.391483, 7727.507273, 5649.193958},
    {"H100 64 nodes", h100, {512}, 0, {512, 64, 8}, 1024, 2448.460271, 43.040880, 290.020300},
    {"H100 64 nodes", h100, {512}, 0, {512, 64, 8}, 1048576, 2499.710565, 84.861120, 310.786749},
    {"H100 64 nodes", h100, {512}, 0, {512, 64, 8}, 16777216, 2997.786695, 268.582254, 667.940889},
    {"H100 64 nodes", h100, {512}, 0, {512, 64, 8}, 268435456, 17295.573821, 1950.244800, 5881.671858},
    {"H100 64 nodes", h100, {512}, 0, {512, 64, 8}, 1073741824, 17295.573821, 6973.579200, 21973.155388},
    {"H100 2 nodes no nvswitch", without_nvswitch(h100), {16}, 0, {16, 2, 8}, 1048576, 57.339130, 61.163961, 78.081143},
    {"H100 2 nodes no nvswitch", without_nvswitch(h100), {16}, 0, {16, 2, 8}, 268435456, 925.025806, 1888.651613, 1271.772571},
    {"H100 4 nodes collnet", with_collnet(h100), {32}, 0, {32, 4, 8}, 1048576, 84.287508, 83.224408, 69.613483},
    {"H100 4 nodes collnet", with_collnet(h100), {32}, 0, {32, 4, 8}, 268435456, 1141.457779, 1758.721600, 4682.198029},
    {"H100 4 nodes no nvswitch, collnet", with_collnet(without_nvswitch(h100)), {32}, 0, {32, 4, 8}, 1048576, 46.912711, 81.008565, 178.959314},
    {"H100 4 nodes no nvswitch, collnet", with_collnet(without_nvswitch(h100)), {32}, 0, {32, 4, 8}, 268435456, 789.654044, 9518.192565, 7818.584457},
    {"A100 2 nodes net_latency 5", with_network_latency(a100, 5), {16}, 0, {16, 2, 8}, 1024, 37.724615, 35.307173, 83.416680},
    {"A100 2 nodes net_latency 5", with_network_latency(a100, 5), {16}, 0, {16, 2, 8}, 1048576, 62.906154, 104.708297, 100.480567},
    {"GB200 2x8", with_gpus_per_node(gb200, 8), {16}, 0, {16, 2, 8}, 1024, 24.530769, 25.234270, 37.013128},
    {"GB200 2x8", with_gpus_per_node(gb200, 8), {16}, 0, {16, 2, 8}, 1048576, 41.833937, 55.501709, 75.409377},
    {"GB200 2x8", with_gpus_per_node(gb200, 8), {16}, 0, {16, 2, 8}, 16777216, 83.987574, 96.685206, 299.307942},
    {"GB200 2x8", with_gpus_per_node(gb200, 8), {16}, 0, {16, 2, 8}, 268435456, 484.784810, 556.253573, 3478.480205},
    {"GB200 2x8", with_gpus_per_node(gb200, 8), {16}, 0, {16, 2, 8}, 1073741824, 1576.574713, 2066.014293, 13802.920821},
    {"GB200 1 rack", gb200, {72}, 0, {72, 1, 72}, 1024, 30.001299, 31.001918, 50.001517},
    {"GB200 1 rack", gb200, {72}, 0, {72, 1, 72}, 1048576, 31.330680, 32.963625, 51.553446},
    {"GB200 1 rack", gb200, {72}, 0, {72, 1, 72}, 16777216, 51.290883, 62.418007, 74.855135},
    {"GB200 1 rack", gb200, {72}, 0, {72, 1, 72}, 268435456, 370.654132, 533.688120, 447.682157},
    {"GB200 1 rack", gb200, {72}, 0, {72, 1, 72}, 1073741824, 1392.616528, 2041.752479, 1640.728628},
};
// clang-format on

/// The deepest drop of the model between two sizes, or 0.
double deepest_drop(const nccl_autoparallel& model, kind k, const process_group& group, std::int64_t lo,
                    std::int64_t hi) {
    const auto result = check_monotone(model, k, group, {lo}, {hi});
    return result.has_value() ? 0.0 : result.error().drop();
}

constexpr std::int64_t mib = 1 << 20;

}  // namespace

TEST_CASE("autoparallel A12: reference values of the original implementation") {
    REQUIRE(reference.size() == 64);
    for (const golden& row : reference) {
        CAPTURE(row.cluster);
        CAPTURE(row.size);
        const process_group group = row.model.mesh_dimension(row.mesh, row.dimension);
        CHECK(group.size == row.expected.ranks);
        CHECK(group.nodes() == row.expected.nodes);
        CHECK(group.ranks_per_node == row.expected.per_node);
        const auto close = [&](kind k, double expected) {
            return std::abs(row.model.microseconds(k, row.size, group) - expected) <= 1e-6;
        };
        CHECK(close(kind::all_gather, row.gather));
        CHECK(close(kind::reduce_scatter, row.gather));
        CHECK(close(kind::all_reduce, row.reduce));
        CHECK(close(kind::all_to_all, row.exchange));
    }
}

TEST_CASE("durations count the output of an all-gather and the input of everything else, and round once") {
    const process_group group{.size = 16, .ranks_per_node = 8};
    CHECK(h100.duration(kind::all_gather, {mib / 16}, group).count == 49523);  // 49.523447 us at 1 MiB
    CHECK(h100.duration(kind::reduce_scatter, {mib}, group).count == 49523);
    CHECK(h100.duration(kind::all_reduce, {mib}, group).count == 62503);  // 62.503419 us
    CHECK(h100.duration(kind::all_to_all, {mib}, group).count == 75409);  // 75.409377 us
    CHECK(h100.duration(kind::all_gather, {mib}, {.size = 1}).count == 0);
    CHECK(h100.duration(kind::other, {mib}, group).count == 0);
    CHECK(h100.duration(kind::all_gather, {0}, group).count > 0);
}

TEST_CASE("autoparallel A12: mesh dimensions: what is inside a dimension fills the node first") {
    const auto where = [](const nccl_autoparallel& model, std::vector<std::int64_t> mesh, std::size_t k) {
        const process_group g = model.mesh_dimension(mesh, k);
        return std::vector<std::int64_t>{g.size, g.nodes(), g.ranks_per_node};
    };
    using v = std::vector<std::int64_t>;
    CHECK(where(h100, {64}, 0) == v{64, 8, 8});
    CHECK(where(h100, {4}, 0) == v{4, 1, 4});
    CHECK(where(h100, {8, 8}, 0) == v{8, 8, 1});
    CHECK(where(h100, {8, 8}, 1) == v{8, 1, 8});
    CHECK(where(h100, {16, 2}, 0) == v{16, 4, 4});
    CHECK(where(h100, {2, 4, 8}, 1) == v{4, 4, 1});
    CHECK(where(h100, {2, 2, 2}, 0) == v{2, 1, 2});
    CHECK(where(gb200, {8, 8}, 0) == v{8, 1, 8});
}

TEST_CASE("autoparallel A12: presets by device name") {
    const auto intra = [](std::string_view name) {
        return nccl_autoparallel_for(name)->intra_node_gigabytes_per_second;
    };
    CHECK(intra("NVIDIA GB200") == 640);
    CHECK(intra("NVIDIA B200") == 640);
    CHECK(intra("NVIDIA H200") == 320);
    CHECK(intra("NVIDIA H100 80GB HBM3") == 320);
    CHECK(intra("NVIDIA A100-SXM4-80GB") == 87.7);
    CHECK(nccl_autoparallel_for("NVIDIA GB200")->gpus_per_node == 72);
    const auto unknown = nccl_autoparallel_for("Radeon");
    REQUIRE(!unknown.has_value());
    CHECK(unknown.error().name == "Radeon");
}

TEST_CASE("autoparallel A12: an all-reduce takes longer than a reduce-scatter, and both longer than nothing") {
    for (const nccl_autoparallel& model : {a100, h100})
        for (const std::int64_t size : {16 * mib, 256 * mib}) {
            const process_group node{.size = 8, .ranks_per_node = 8};
            CHECK(model.microseconds(kind::reduce_scatter, size, node) > 0);
            CHECK(model.microseconds(kind::all_reduce, size, node) >
                  model.microseconds(kind::reduce_scatter, size, node));
        }
}

TEST_CASE("defect, kept: one rank per node on two nodes reduces at NVLink speed") {
    // With no card shared, an all-reduce cannot be three times faster than an all-gather of the same size.
    const process_group group{.size = 2, .ranks_per_node = 1};
    CHECK(h100.microseconds(kind::all_gather, 1024 * mib, group) >
          3 * h100.microseconds(kind::all_reduce, 1024 * mib, group));
}

TEST_CASE("defect, kept: beyond 32 nodes data is free over two doublings") {
    const process_group group{.size = 512, .ranks_per_node = 8};
    CHECK(h100.microseconds(kind::all_gather, 256 * mib, group) ==
          doctest::Approx(h100.microseconds(kind::all_gather, 1024 * mib, group)).epsilon(1e-9));
    CHECK(h100.microseconds(kind::all_gather, 1024, group) > 50 * h100.microseconds(kind::all_reduce, 1024, group));
}

TEST_CASE("defects, kept: check_monotone finds where more bytes take less time") {
    const process_group nodes32{.size = 256, .ranks_per_node = 8};
    const process_group nodes8{.size = 64, .ranks_per_node = 8};
    const process_group rails8{.size = 8, .ranks_per_node = 1};
    const process_group rails2{.size = 2, .ranks_per_node = 1};
    const process_group nodes2{.size = 16, .ranks_per_node = 8};
    const std::int64_t all = 2048 * mib;

    // Where the index of the full-mesh ramp moves from 0 to 1: payload 128 bytes, 32 KiB gathered on 256 ranks.
    const auto gather = check_monotone(h100, kind::all_gather, nodes32, {0}, {all});
    REQUIRE(!gather.has_value());
    CHECK(gather.error().larger == bytes{128});
    CHECK(gather.error().drop() == doctest::Approx(0.165).epsilon(0.02));
    CHECK(deepest_drop(h100, kind::all_gather, nodes8, 0, all) == doctest::Approx(0.16).epsilon(0.02));

    // The same all-gather, written as a reduce-scatter of what it gathers.
    const auto scatter = check_monotone(h100, kind::reduce_scatter, nodes32, {0}, {all});
    REQUIRE(!scatter.has_value());
    CHECK(scatter.error().larger == bytes{32768});

    const auto reduce = check_monotone(h100, kind::all_reduce, rails8, {0}, {all});
    REQUIRE(!reduce.has_value());
    CHECK(reduce.error().larger == bytes{4 * mib});
    CHECK(reduce.error().drop() > 0.20);

    // One GPU per node counts as a full mesh, whose ramp ends in a jump at 1 GiB per rank.
    const auto single = check_monotone(with_gpus_per_node(h100, 1), kind::all_gather, rails2, {mib}, {2048 * mib});
    REQUIRE(!single.has_value());
    CHECK(single.error().larger == bytes{1024 * mib});
    CHECK(single.error().drop() > 0.11);

    CHECK(deepest_drop(a100, kind::all_reduce, nodes2, 100 * mib, 200 * mib) > 0.05);
    CHECK(deepest_drop(h100, kind::all_to_all, nodes2, 200 * mib, 400 * mib) > 0.03);
}

TEST_CASE("what an all-gather makes may exceed 64 bits") {
    const process_group group{.size = 64, .ranks_per_node = 8, .id = 0};
    const nanoseconds longest = h100.duration(kind::all_gather, unlimited_bytes, group);
    CHECK(h100.duration(kind::all_gather, {std::int64_t{1} << 61}, group) == longest);
    CHECK(h100.duration(kind::all_gather, {std::int64_t{1} << 50}, group) < longest);
    const auto table = tabulate(h100, std::vector<process_group>{group}, unlimited_bytes);
    REQUIRE(table.has_value());
    CHECK(table->points(kind::all_gather, 0).back().time == longest);
}

TEST_CASE("autoparallel A12: the jump between 1 and 2 MiB on 8 nodes that was once fixed is still fixed") {
    const process_group group{.size = 64, .ranks_per_node = 8};
    for (const kind k : all_collective_kinds)
        CHECK(h100.microseconds(k, 2 * mib, group) > h100.microseconds(k, mib, group));
}
