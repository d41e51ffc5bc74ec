// A split plan as text that programs can parse: to store it, to send it to other ranks, or to edit it by hand.
//
//     stretto-split-plan 1
//     bucket "gathered_start" wait "gathered"
//     member 80 sends "w0" gives "a"
//     member 160 sends "w1" gives "b"
//     pack "packed"
//     unpack "unpacked"
//     unpack "a"
//     end
//
// There is one item per line, and words are separated by blanks. The items are `bucket START wait WAIT`, which begins a
// bucket; `member SIZE sends VALUE gives VALUE`, with its size in bytes in one row of the buffer, in the order of the
// payload; and `pack VERTEX` and `unpack VERTEX`, in program order. Buckets that stay whole are left out. Names are
// quoted, with the escapes \" \\ and \xHH.
#ifndef STRETTO_TRANSFORM_SPLIT_PLAN_TEXT_HPP
#define STRETTO_TRANSFORM_SPLIT_PLAN_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/transform/detail/plan_text_words.hpp"
#include "stretto/transform/plan_text_error.hpp"
#include "stretto/transform/split_plan.hpp"

namespace stretto {

/// Returns the plan in the form above; equal plans give equal texts. `vertex_name(v)` and `value_name(x)` return texts.
/// Precondition: the names of vertices are distinct, and so are the names of values. O(size of the plan).
template <handle V, handle X, detail::names_handles<V> VertexName, detail::names_handles<X> ValueName>
[[nodiscard]] std::string write_split_plan(const split_plan<V, X>& plan, VertexName vertex_name, ValueName value_name) {
    std::string text = "stretto-split-plan 1\n";
    const auto vertex = [&](std::string_view word, const V& v) {
        text += word;
        detail::append_quoted_name(text, vertex_name(v));
    };
    const auto value = [&](std::string_view word, const X& x) {
        text += word;
        detail::append_quoted_name(text, value_name(x));
    };
    for (const bucket_split<V, X>& b : plan.buckets) {
        vertex("bucket", b.start);
        vertex(" wait", b.wait);
        for (std::size_t k = 0; k < b.parts.size(); ++k) {
            text += "\nmember " + std::to_string(b.sizes[k].count);
            value(" sends", b.parts[k]);
            value(" gives", b.results[k]);
        }
        for (const V& v : b.packs) vertex("\npack", v);
        for (const V& v : b.unpacks) vertex("\nunpack", v);
        text += '\n';
    }
    return text + "end\n";
}

/// Parses a text of the form above, such as the output of write_split_plan. Any other text is rejected, and the error
/// describes its first fault.
/// `find_vertex(name)` and `find_value(name)` return a handle or nothing. The plan may not fit the program; use
/// verify_splits to check that. Takes O(size of the text) time, apart from the look-ups of names.
template <handle V, handle X, detail::finds_handles<V> FindVertex, detail::finds_handles<X> FindValue>
[[nodiscard]] expected<split_plan<V, X>, plan_text_error> read_split_plan(std::string_view text, FindVertex find_vertex,
                                                                          FindValue find_value) {
    split_plan<V, X> plan;
    detail::plan_text_words in(text);
    const auto vertex = [&] { return in.named<V>(find_vertex, "vertex"); };
    const auto value = [&] { return in.named<X>(find_value, "value"); };
    const auto read_item = [&](std::string_view item) {
        if (item == "bucket") {
            bucket_split<V, X>& b = plan.buckets.emplace_back();
            b.start = vertex();
            in.expect("wait");
            b.wait = vertex();
            return true;
        }
        if (item != "member" && item != "pack" && item != "unpack") return false;
        if (plan.buckets.empty()) return in.fail("no bucket has been begun"), true;
        bucket_split<V, X>& b = plan.buckets.back();
        if (item == "member") {
            b.sizes.push_back(bytes{in.number(0, INT64_MAX)});
            in.expect("sends");
            b.parts.push_back(value());
            in.expect("gives");
            b.results.push_back(value());
        } else {
            (item == "pack" ? b.packs : b.unpacks).push_back(vertex());
        }
        return true;
    };
    return detail::read_plan_items(in, "stretto-split-plan", plan, read_item);
}

}  // namespace stretto

#endif
