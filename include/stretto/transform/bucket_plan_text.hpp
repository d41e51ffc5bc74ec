// A bucket plan as text that programs can parse: to store it, to send it to other ranks, or to edit it by hand.
//
//     stretto-bucket-plan 1
//     bucket pack 80 160 300 180 90
//     member "a_start" sends "w0" wait "a" gives "a"
//     member "b_start" sends "w1" wait "b" gives "b"
//     cast "v0"
//     order "w0" "w1" "a_start" "b_start" "a" "b" "out"
//     end
//
// There is one item per line, and words are separated by blanks. The items are `bucket pack|coalesced SENT RECEIVED
// ALONE MERGED COPIES`, in bytes and nanoseconds, which begins a bucket; `member START sends VALUE wait WAIT gives
// VALUE` and `cast VERTEX`, in the order of the payload, which belong to the bucket above them; and `order VERTEX...`.
// Collectives that are not merged are left out. Names are quoted, with the escapes \" \\ and \xHH.
#ifndef STRETTO_TRANSFORM_BUCKET_PLAN_TEXT_HPP
#define STRETTO_TRANSFORM_BUCKET_PLAN_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/detail/plan_text_words.hpp"
#include "stretto/transform/plan_text_error.hpp"

namespace stretto {

/// Returns the plan in the form above; equal plans give equal texts. `vertex_name(v)` and `value_name(x)` return texts.
/// Precondition: the names of vertices are distinct, and so are the names of values. O(size of the plan).
template <handle V, handle X, detail::names_handles<V> VertexName, detail::names_handles<X> ValueName>
[[nodiscard]] std::string write_bucket_plan(const bucket_plan<V, X>& plan, VertexName vertex_name,
                                            ValueName value_name) {
    std::string text = "stretto-bucket-plan 1\n";
    const auto vertex = [&](const V& v) { detail::append_quoted_name(text, vertex_name(v)); };
    const auto value = [&](const X& x) { detail::append_quoted_name(text, value_name(x)); };
    for (const bucket<V, X>& b : plan.buckets) {
        text += b.mode == bucket_mode::pack ? "bucket pack" : "bucket coalesced";
        for (std::int64_t n : {b.payload.count, b.received.count, b.alone.count, b.merged.count, b.copies.count})
            text += ' ' + std::to_string(n);
        text += '\n';
        for (std::size_t k = 0; k < b.members.size(); ++k) {
            text += "member";
            vertex(b.members[k]);
            text += " sends";
            value(b.parts[k]);
            text += " wait";
            vertex(b.waits[k]);
            text += " gives";
            value(b.results[k]);
            text += '\n';
        }
        for (const V& c : b.casts) {
            text += "cast";
            vertex(c);
            text += '\n';
        }
    }
    if (!plan.order.empty()) {
        text += "order";
        for (const V& v : plan.order) vertex(v);
        text += '\n';
    }
    return text + "end\n";
}

/// Parses a text of the form above, such as the output of write_bucket_plan. Any other text is rejected, and the error
/// describes its first fault.
/// `find_vertex(name)` and `find_value(name)` return a handle or nothing. The plan may not fit the program; use
/// verify_buckets to check that. Takes O(size of the text) time, apart from the look-ups of names.
template <handle V, handle X, detail::finds_handles<V> FindVertex, detail::finds_handles<X> FindValue>
[[nodiscard]] expected<bucket_plan<V, X>, plan_text_error> read_bucket_plan(std::string_view text,
                                                                            FindVertex find_vertex,
                                                                            FindValue find_value) {
    bucket_plan<V, X> plan;
    detail::plan_text_words in(text);
    const auto vertex = [&] { return in.named<V>(find_vertex, "vertex"); };
    const auto value = [&] { return in.named<X>(find_value, "value"); };
    const auto read_item = [&](std::string_view item) {
        if (item == "bucket") {
            bucket<V, X> b;
            b.mode = in.skip("coalesced") ? bucket_mode::coalesced : bucket_mode::pack;
            if (b.mode == bucket_mode::pack) in.expect("pack");
            b.payload.count = in.number(0, INT64_MAX);
            b.received.count = in.number(0, INT64_MAX);
            b.alone.count = in.number(0, INT64_MAX);
            b.merged.count = in.number(0, INT64_MAX);
            b.copies.count = in.number(INT64_MIN, INT64_MAX);
            plan.buckets.push_back(b);
        } else if ((item == "member" || item == "cast") && plan.buckets.empty()) {
            in.fail("no bucket has been begun");
        } else if (item == "member") {
            bucket<V, X>& b = plan.buckets.back();
            b.members.push_back(vertex());
            in.expect("sends");
            b.parts.push_back(value());
            in.expect("wait");
            b.waits.push_back(vertex());
            in.expect("gives");
            b.results.push_back(value());
        } else if (item == "cast") {
            plan.buckets.back().casts.push_back(vertex());
        } else if (item == "order" && plan.order.empty()) {
            do plan.order.push_back(vertex());
            while (in.good() && in.more());
        } else {
            return false;
        }
        return true;
    };
    return detail::read_plan_items(in, "stretto-bucket-plan", plan, read_item);
}

}  // namespace stretto

#endif
