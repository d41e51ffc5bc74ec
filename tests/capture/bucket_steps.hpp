// Captured steps of two ranks in buckets as PyTorch writes them, drawn from bytes: nodes that an interpreter can run.
#ifndef STRETTO_TESTS_CAPTURE_BUCKET_STEPS_HPP
#define STRETTO_TESTS_CAPTURE_BUCKET_STEPS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capture/plan_drafts.hpp"

namespace support {

/// Builds a step node by node. Every group has both ranks.
struct pytorch_step {
    using shape = std::vector<std::int64_t>;
    struct value {
        std::string name;
        shape extents;
        std::string type = "f64";
    };
    enum class form : std::uint8_t {
        gather,        ///< of a concatenation
        gather_into,   ///< of a slice of the buffer that it fills
        gather_slice,  ///< of such a slice, into a buffer of its own
        scatter,
        reduce
    };

    draft d;
    pytorch_step() { d.groups = {{"dp", 2, ""}, {"ep", 2, ""}, {"tp", 2, ""}}; }

    static std::int64_t elements(const shape& s) {
        std::int64_t n = 1;
        for (std::int64_t extent : s) n *= extent;
        return n;
    }
    static std::string text_of(const shape& s) {
        std::string text;
        for (std::int64_t extent : s) text += (text.empty() ? "" : ",") + std::to_string(extent);
        return text;
    }
    static std::int64_t width(const std::string& type) { return type == "f32" ? 4 : 8; }
    static std::int64_t size(const value& v) { return width(v.type) * elements(v.extents); }

    std::string next(const std::string& what) const { return what + std::to_string(d.nodes.size()); }
    value push(draft_node n, value v) {
        v.name = n.name;
        n.outputs = tensor(text_of(v.extents), v.type);
        d.nodes.push_back(std::move(n));
        return v;
    }
    value input(shape s, const std::string& type = "f64") {
        value v{"", std::move(s), type};
        return push(support::input(next("x"), size(v), ""), v);
    }
    value kernel(const std::string& op, const std::vector<value>& of, value made, const std::string& args = "") {
        std::vector<std::string> names;
        for (const value& x : of) names.push_back(x.name);
        draft_node n = support::kernel(next("k"), op, names, 500, size(made), "");
        if (!args.empty()) n.field("args") = args;
        return push(std::move(n), std::move(made));
    }
    value view(const std::string& op, const value& of, shape s, const std::string& args) {
        draft_node n = support::view(next("v"), of.name, "");
        n.op = op;
        if (!args.empty()) n.field("args") = args;
        return push(std::move(n), {"", std::move(s), of.type});
    }
    value reshape(const value& of, shape s) {
        const std::string args = "[\"%0\",[" + text_of(s) + "]]";
        return view("aten.view.default", of, std::move(s), args);
    }
    value twice(const value& of) {
        draft_node n = support::in_place(next("a"), "aten.add_.Tensor", {of.name}, of.name);
        n.field("args") = R"(["%0","%0"])";
        return push(std::move(n), of);
    }
    void output(const std::vector<value>& of) {
        std::vector<std::string> once;
        for (const value& x : of)
            if (std::find(once.begin(), once.end(), x.name) == once.end()) once.push_back(x.name);
        d.nodes.push_back({.name = "output", .op = "output", .kind = op_kind::output, .inputs = std::move(once)});
    }

    /// What the members would give by themselves.
    static shape result_of(form f, shape s) {
        if (f == form::scatter) s[0] /= 2;
        else if (f != form::reduce) s[0] *= 2;
        return s;
    }
    /// A bucket of these values; `copies` has a bit for each result that is copied out. Gives the results.
    std::vector<value> bucket(form f, const std::vector<value>& parts, std::size_t copies, const std::string& type) {
        const bool gathers = f != form::scatter && f != form::reduce, scatters = f == form::scatter;
        std::vector<value> flat;
        std::string list, sizes, type_packed = "f32";
        std::vector<std::int64_t> columns;
        std::int64_t total = 0;
        for (const value& x : parts) {
            columns.push_back(elements(x.extents) / (scatters ? 2 : 1));
            total += columns.back();
            const bool is_flat = !scatters && x.extents.size() == 1;
            flat.push_back(is_flat ? x : reshape(x, scatters ? shape{2, columns.back()} : shape{columns.back()}));
            list += (list.empty() ? "\"%" : ",\"%") + std::to_string(flat.size() - 1) + "\"";
            sizes += (sizes.empty() ? "" : ",") + std::to_string(columns.back());
            if (x.type == "f64") type_packed = "f64";
        }
        const bool copies_in = f == form::gather_into || f == form::gather_slice;
        value buffer, slice;
        if (copies_in) {
            buffer = kernel("aten.empty.memory_format", {}, {"", {2 * total}, type},
                            "[[" + std::to_string(2 * total) + "]]");
            d[buffer.name].field("kwargs") = "{\"dtype\":\"" + type + "\"}";
            slice = view("aten.slice.Tensor", buffer, {total}, "[\"%0\",0,0," + std::to_string(total) + "]");
        }
        value sent = kernel("aten.cat.default", flat, {"", scatters ? shape{2, total} : shape{total}, type_packed},
                            "[[" + list + "]" + (scatters ? ",1]" : "]"));
        if (copies_in) {
            draft_node n = support::in_place(next("c"), "aten.copy_.default", {slice.name, sent.name}, slice.name);
            sent = push(std::move(n), slice);
        }
        if (scatters) sent = reshape(sent, {2 * total});
        const auto kind = gathers    ? collective_kind::all_gather
                          : scatters ? collective_kind::reduce_scatter
                                     : collective_kind::all_reduce;
        value arrived{"", result_of(f, sent.extents), sent.type};
        draft_node start = launch(next("s"), kind, 0, sent.name, size(sent), size(arrived), "");
        start.op = gathers    ? "_c10d_functional.all_gather_into_tensor.default"
                   : scatters ? "_c10d_functional.reduce_scatter_tensor.default"
                              : "_c10d_functional.all_reduce.default";
        start.field("args") = gathers ? R"(["%0",2,"0"])" : scatters ? R"(["%0","sum",2,"0"])" : R"(["%0","sum","0"])";
        if (f == form::gather_into) {
            start.op = "_c10d_functional.all_gather_into_tensor_out.default";
            start.inputs.push_back(buffer.name);
            start.field("kwargs") = R"({"out":"%1"})";
            start.allocation = 0;
            start.aliases = start.writes = {buffer.name};
        }
        arrived = push(std::move(start), arrived);
        draft_node w = wait(next("w"), arrived.name, "");
        w.op = "_c10d_functional.wait_tensor.default";
        arrived = push(std::move(w), arrived);
        if (gathers) arrived = reshape(arrived, {2, total});
        draft_node split = support::view(next("p"), arrived.name, "");
        split.op = "aten.split_with_sizes.default";
        split.field("args") = "[\"%0\",[" + sizes + "]" + (gathers ? ",1]" : "]");
        std::string outputs;
        for (std::int64_t n : columns)
            outputs += (outputs.empty() ? "" : ",") + ("{\"shape\":[" + std::string(gathers ? "2," : "")) +
                       std::to_string(n) + "],\"dtype\":\"" + arrived.type + "\"}";
        split.outputs = "[" + outputs + "]";
        const std::string name = split.name;
        d.nodes.push_back(std::move(split));
        std::vector<value> results;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            value x = view("getitem", {name, {}, arrived.type}, gathers ? shape{2, columns[k]} : shape{columns[k]},
                           "[\"%0\"," + std::to_string(k) + "]");
            const bool copied = gathers || (copies >> k & 1) != 0;
            if (copied) x = kernel("aten.clone.default", {x}, x);
            results.push_back(reshape(x, result_of(f, parts[k].extents)));
        }
        return results;
    }
};

/// Buckets of any form, of values that other buckets gave, and of buckets; some whose parts or buffers others use.
inline pytorch_step random_pytorch_step(const std::vector<std::uint8_t>& bytes) {
    using form = pytorch_step::form;
    using value = pytorch_step::value;
    pytorch_step s;
    std::size_t at = 0;
    const auto next = [&](std::size_t bound) {
        return bound == 0 || at >= bytes.size() ? std::size_t{0} : bytes[at++] % bound;
    };
    std::vector<value> values = {s.input({4}), s.input({2, 3}), s.input({4, 2}), s.input({2}), s.input({6}, "f32")};
    std::vector<value> seen;
    const auto recent = [&] { return values[values.size() - 1 - next(std::min<std::size_t>(values.size(), 6))]; };
    while (at < bytes.size()) {
        const std::size_t what = next(8);
        if (what == 0) {
            const value x = recent();
            values.push_back(s.kernel("aten.neg.default", {x}, x));
        } else if (what == 1) {
            values.push_back(s.twice(recent()));
        } else if (what == 2) {
            seen.push_back(recent());
        } else if (what == 3) {  // anything may be looked at, or overwritten, that is not in flight
            const std::size_t k = next(s.d.nodes.size());
            const draft_node& n = s.d.nodes[s.d.nodes.size() - 1 - std::min<std::size_t>(k % 6, s.d.nodes.size() - 1)];
            const bool holds = n.op != "getitem" && n.op != "aten.split_with_sizes.default";
            if (n.kind != op_kind::start && holds && n.outputs.find("f64") != std::string::npos) {
                const std::size_t from = n.outputs.find('[', 2);
                pytorch_step::shape extents;
                for (std::size_t i = from + 1; n.outputs[i - 1] != ']';) {
                    std::size_t length = 0;
                    extents.push_back(std::stoll(n.outputs.substr(i), &length));
                    i += length + 1;
                }
                const value x{n.name, extents, "f64"};
                if (next(2) == 0) s.twice(x);
                else seen.push_back(s.kernel("aten.neg.default", {x}, x));
            }
        } else {
            const form f = static_cast<form>(next(5));
            std::vector<value> parts;
            for (std::size_t k = 1 + next(4); k > 0; --k) {
                value x = recent();
                const bool fits = f == form::scatter ? x.extents[0] % 2 == 0 : x.extents[0] <= 16;
                const bool typed = parts.empty() || f == form::gather_into || x.type == parts[0].type;
                const bool twice =
                    std::any_of(parts.begin(), parts.end(), [&](const value& y) { return y.name == x.name; });
                if (fits && typed && !twice && pytorch_step::elements(x.extents) <= 64) parts.push_back(std::move(x));
            }
            if (parts.empty()) continue;
            const std::string type = f == form::gather_into && next(2) == 0 ? "f32" : parts[0].type;
            const auto results = s.bucket(f, parts, next(16), type);
            values.insert(values.end(), results.begin(), results.end());
        }
    }
    seen.push_back(values.back());
    seen.push_back(recent());
    s.output(seen);
    return s;
}

}  // namespace support

#endif
