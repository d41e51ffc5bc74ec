// Plans to be damaged: captures as lists of nodes that name each other, so that a test can move, drop and edit nodes
// and build the result. With one step that has something of everything, and good plans for it.
#ifndef STRETTO_TESTS_CAPTURE_PLAN_DRAFTS_HPP
#define STRETTO_TESTS_CAPTURE_PLAN_DRAFTS_HPP

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"

namespace support {

using stretto::collective_kind;
using stretto::op_kind;

struct draft_node {
    std::string name, op;
    op_kind kind = op_kind::compute;
    std::vector<std::string> inputs = {}, aliases = {}, writes = {};
    std::int64_t ns = 0, allocation = 0, payload = 0;
    std::string outputs = "[]";
    collective_kind collective = collective_kind::other;
    stretto::group_id group = 0;
    std::vector<std::pair<std::string, std::string>> fields = {};

    std::string& field(const std::string& key) {
        for (auto& [k, text] : fields)
            if (k == key) return text;
        fields.emplace_back(key, "");
        return fields.back().second;
    }
};

struct draft {
    std::vector<draft_node> nodes;
    std::vector<stretto::capture_group> groups = {
        {"dp", 8, ""}, {"ep", 8, "", {0, 1, 2, 3, 4, 5, 6, 7}}, {"tp", 8, ""}};

    std::size_t at(const std::string& name) const {
        const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.name == name; });
        REQUIRE_MESSAGE(found != nodes.end(), "no such node: " << name);
        return static_cast<std::size_t>(found - nodes.begin());
    }
    draft_node& operator[](const std::string& name) { return nodes[at(name)]; }
    void erase(const std::string& name) { nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at(name))); }
    void insert_before(const std::string& name, draft_node n) {
        nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at(name)), std::move(n));
    }
    void move_before(const std::string& name, const std::string& other) {
        draft_node n = (*this)[name];
        erase(name);
        insert_before(other, std::move(n));
    }
    /// Everybody reads, aliases and writes `to` in place of `from`.
    void rename(const std::string& from, const std::string& to) {
        for (draft_node& n : nodes)
            for (auto* list : {&n.inputs, &n.aliases, &n.writes}) std::replace(list->begin(), list->end(), from, to);
    }

    /// One byte of memory traffic takes 1 ns, a launch 100; a collective takes 1000 ns and 1 ns a byte.
    stretto::capture build() const {
        stretto::capture_builder b("drafted");
        stretto::capture_costs costs;
        costs.memory_bytes_per_second = 1e9;
        costs.launch = {100};
        for (const char* group : {"dp", "ep", "tp"})
            for (collective_kind kind :
                 {collective_kind::all_gather, collective_kind::reduce_scatter, collective_kind::all_to_all})
                costs.collectives.push_back({group, kind, {{{0}, {1000}}, {{1000}, {2000}}}});
        b.set_costs(costs);
        for (const auto& g : groups) b.add_group(g);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const draft_node& n = nodes[i];
            const auto positions = [&](const std::vector<std::string>& names) {
                std::vector<std::uint32_t> list;
                for (const std::string& name : names) list.push_back(static_cast<std::uint32_t>(at(name)));
                return list;
            };
            stretto::capture_node made;
            made.name = n.name;
            made.op = n.op;
            made.kind = n.kind;
            made.inputs = positions(n.inputs);
            made.aliases = positions(n.aliases);
            made.writes = positions(n.writes);
            made.allocation = {n.allocation};
            made.duration = {n.ns};
            made.collective = n.collective;
            made.group = n.group;
            made.payload = {n.payload};
            made.outputs = n.outputs;
            for (const auto& [key, text] : n.fields) made.fields.push_back({key, text});
            b.append(made);
        }
        auto c = std::move(b).build();
        REQUIRE_MESSAGE(c, complaint(c));
        return *std::move(c);
    }
};

inline std::string tensor(const std::string& shape, const std::string& dtype) {
    return "[{\"shape\":[" + shape + "],\"dtype\":\"" + dtype + "\"}]";
}
inline draft_node input(std::string name, std::int64_t size, std::string outputs) {
    return {.name = std::move(name),
            .op = "placeholder",
            .kind = op_kind::input,
            .allocation = size,
            .outputs = std::move(outputs)};
}
inline draft_node kernel(std::string name, std::string op, std::vector<std::string> inputs, std::int64_t ns,
                         std::int64_t size, std::string outputs) {
    return {.name = std::move(name),
            .op = std::move(op),
            .inputs = std::move(inputs),
            .ns = ns,
            .allocation = size,
            .outputs = std::move(outputs)};
}
inline draft_node in_place(std::string name, std::string op, std::vector<std::string> inputs, std::string target) {
    return {.name = std::move(name),
            .op = std::move(op),
            .inputs = std::move(inputs),
            .aliases = {target},
            .writes = {target},
            .ns = 300,
            .outputs = tensor("100", "f32")};
}
inline draft_node view(std::string name, std::string of, std::string outputs) {
    return {.name = std::move(name),
            .op = "aten.view.default",
            .kind = op_kind::view,
            .inputs = {of},
            .aliases = {of},
            .outputs = std::move(outputs)};
}
inline draft_node launch(std::string name, collective_kind what, stretto::group_id group, std::string of,
                         std::int64_t payload, std::int64_t size, std::string outputs) {
    draft_node n{.name = std::move(name),
                 .op = "collective.default",
                 .kind = op_kind::start,
                 .inputs = {std::move(of)},
                 .ns = 1000 + payload,
                 .allocation = size,
                 .payload = payload,
                 .outputs = std::move(outputs),
                 .collective = what,
                 .group = group};
    n.field("args") = R"(["%0", "sum", 8])";
    return n;
}
inline draft_node wait(std::string name, std::string start, std::string outputs) {
    return {.name = std::move(name),
            .op = "wait_tensor",
            .kind = op_kind::wait,
            .inputs = {start},
            .aliases = {std::move(start)},
            .outputs = std::move(outputs)};
}

/// Two gathered and cast weights, two scattered gradients, a buffer written in place, an all-to-all whose input is
/// overwritten and whose output is read through a view of the launch, and a tail that chunking is for.
inline draft sample_step() {
    const std::string f100 = tensor("100", "f32"), gathered = tensor("800", "bf16"), shard = tensor("13", "f32");
    draft d;
    d.nodes = {
        input("w1", 400, f100),
        input("w2", 400, f100),
        input("x", 400, f100),
        input("acc", 400, f100),
        kernel("cast1", "aten._to_copy.default", {"w1"}, 700, 200, tensor("100", "bf16")),
        kernel("cast2", "aten._to_copy.default", {"w2"}, 700, 200, tensor("100", "bf16")),
        launch("gather1", collective_kind::all_gather, 0, "cast1", 200, 1600, gathered),
        wait("full1", "gather1", gathered),
        launch("gather2", collective_kind::all_gather, 0, "cast2", 200, 1600, gathered),
        wait("full2", "gather2", gathered),
        kernel("mm1", "aten.mm.default", {"x", "full1"}, 5000, 400, f100),
        kernel("mm2", "aten.mm.default", {"mm1", "full2"}, 6000, 400, f100),
        launch("scatter1", collective_kind::reduce_scatter, 0, "mm1", 400, 52, shard),
        wait("grad1", "scatter1", shard),
        launch("scatter2", collective_kind::reduce_scatter, 0, "mm2", 400, 52, shard),
        wait("grad2", "scatter2", shard),
        // the buffer
        kernel("read_old", "aten.neg.default", {"acc"}, 600, 400, f100),
        in_place("write_once", "aten.add_.Tensor", {"acc", "x"}, "acc"),
        view("acc_view", "acc", f100),
        kernel("read_new", "aten.neg.default", {"acc_view"}, 600, 400, f100),
        in_place("write_twice", "aten.mul_.Tensor", {"acc", "x"}, "acc"),
        // in flight
        kernel("tokens", "aten.sort.default", {"x"}, 600, 400, f100),
        launch("route", collective_kind::all_to_all, 1, "tokens", 400, 400, f100),
        view("routed_view", "route", f100),
        wait("routed", "route", f100),
        in_place("clear_tokens", "aten.zero_.default", {"tokens"}, "tokens"),
        kernel("use_routed", "aten.neg.default", {"routed_view"}, 600, 400, f100),
        // what chunking is for
        kernel("up", "aten.gelu.default", {"mm2"}, 4000, 400, f100),
        launch("send", collective_kind::all_to_all, 1, "up", 400, 400, f100),
        wait("sent", "send", f100),
        kernel("down", "aten.relu.default", {"sent"}, 4000, 400, f100),
        kernel("loss", "aten.sum.default", {"down"}, 500, 4, tensor("", "f32")),
        {.name = "output",
         .op = "output",
         .kind = op_kind::output,
         .inputs = {"grad1", "grad2", "read_old", "read_new", "write_twice", "use_routed", "clear_tokens", "loss"}},
    };
    d["mm1"].field("args") = R"(["%0", "%1"])";
    d["loss"].field("args") = R"(["%0", [0], false])";
    return d;
}

/// Both gathers in one bucket whose pack absorbs the casts, both scatters in one that an executor coalesces.
inline draft bucketed_plan() {
    draft d = sample_step();
    const std::string gathered = tensor("800", "bf16"), shard = tensor("13", "f32");
    draft_node pack = kernel("pack", "stretto.pack", {"w1", "w2"}, 100 + 800 + 400, 400, tensor("200", "bf16"));
    pack.field("absorbs") = R"(["cast1","cast2"])";
    draft_node gather = launch("gather", collective_kind::all_gather, 0, "pack", 400, 3200, tensor("1600", "bf16"));
    gather.field("members") = R"(["gather1","gather2"])";
    d.insert_before("gather1", pack);
    d.insert_before("gather1", gather);
    d.insert_before("gather1", wait("full", "gather", tensor("1600", "bf16")));
    d.insert_before("gather1", kernel("unpack", "stretto.unpack", {"full"}, 100 + 6400, 3200, tensor("1600", "bf16")));
    for (const char* gone : {"cast1", "cast2", "gather1", "gather2"}) d.erase(gone);
    d["full1"] = view("full1", "unpack", gathered);
    d["full2"] = view("full2", "unpack", gathered);

    draft_node scatter = launch("scatter", collective_kind::reduce_scatter, 0, "mm1", 800, 104, tensor("26", "f32"));
    scatter.inputs = {"mm1", "mm2"};
    scatter.field("members") = R"(["scatter1", "scatter2"])";
    scatter.field("coalesced") = "true";
    d.insert_before("scatter1", scatter);
    d.insert_before("scatter1", wait("scattered", "scatter", tensor("26", "f32")));
    d.erase("scatter1");
    d.erase("scatter2");
    d["grad1"] = view("grad1", "scattered", shard);
    d["grad2"] = view("grad2", "scattered", shard);
    return d;
}

/// up, send, sent and down in two chunks of 40 and 60.
inline draft chunked_plan() {
    draft d = sample_step();
    const std::int64_t extents[] = {40, 60};
    for (int k = 0; k < 2; ++k) {
        const std::string c = "_chunk" + std::to_string(k), part = tensor(std::to_string(extents[k]), "f32");
        const std::int64_t size = 4 * extents[k];
        draft_node slice = view("mm2" + c, "mm2", part);
        slice.op = "aten.slice.Tensor";
        draft_node nodes[] = {kernel("up" + c, "aten.gelu.default", {slice.name}, 2050, size, part),
                              launch("send" + c, collective_kind::all_to_all, 1, "up" + c, size, size, part),
                              wait("sent" + c, "send" + c, part),
                              kernel("down" + c, "aten.relu.default", {"sent" + c}, 2050, size, part)};
        d.insert_before("up", slice);
        for (draft_node& n : nodes) {
            n.field("origin") = "\"" + n.name.substr(0, n.name.find('_')) + "\"";
            n.field("chunk") = std::to_string(k);
            d.insert_before("up", n);
        }
    }
    draft_node cat =
        kernel("down_whole", "aten.cat.default", {"down_chunk0", "down_chunk1"}, 900, 400, tensor("100", "f32"));
    d.insert_before("loss", cat);
    for (const char* gone : {"up", "send", "sent", "down"}) d.erase(gone);
    d["loss"].inputs = {"down_whole"};
    return d;
}

}  // namespace support

#endif
