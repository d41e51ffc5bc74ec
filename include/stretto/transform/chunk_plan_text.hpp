// A chunk plan as text that programs can parse: to store it, to send it to other ranks, or to edit it by hand.
//
//     stretto-chunk-plan 1
//     region 6 4 2
//     region 6 3 3
//     operation "y" 0 reads sliced@0 whole makes sliced@0
//     operation "t" 0 reads sliced@0 makes addend
//     split "x" 0 0
//     join "y" 0 concat 0 readers "out"
//     join "t" 0 sum readers "s" "out"
//     refused "r"
//     unreached 1
//     end
//
// There is one item per line, and words are separated by blanks. The items are `region TOKENS ROWS...`, in the order in
// which the other lines number regions; `operation VERTEX REGION [once | chain OPERAND] reads STATE... makes STATE...`;
// `split VALUE REGION DIM`; `join VALUE REGION concat DIM | slices DIM | sum | first [late] readers VERTEX...`;
// `refused VERTEX`, without the reason; and `unreached REGION`, for a region in which no token reaches anything. A
// state is its kind, followed by `@DIM` if it has a dimension, and by all other members that are not zero:
// `,positions=N`, `,order=N`, `,into=N`. Names are quoted, with the escapes \" \\ and \xHH.
#ifndef STRETTO_TRANSFORM_CHUNK_PLAN_TEXT_HPP
#define STRETTO_TRANSFORM_CHUNK_PLAN_TEXT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_state_words.hpp"
#include "stretto/transform/detail/plan_text_words.hpp"
#include "stretto/transform/plan_text_error.hpp"

namespace stretto {

/// Returns the plan in the form above; equal plans give equal texts. `vertex_name(v)` and `value_name(x)` return texts.
/// Precondition: the names of vertices are distinct, and so are the names of values. O(size of the plan).
template <handle V, handle X, detail::names_handles<V> VertexName, detail::names_handles<X> ValueName>
[[nodiscard]] std::string write_chunk_plan(const chunk_plan<V, X>& plan, VertexName vertex_name, ValueName value_name) {
    std::string text = "stretto-chunk-plan 1\n";
    const auto name = [&](std::string_view of) { detail::append_quoted_name(text, of); };
    const auto number = [&](auto n) { text += ' ' + std::to_string(n); };
    for (const auto& r : plan.regions) {
        text += "region";
        number(r.tokens);
        for (std::int64_t size : r.sizes) number(size);
        text += '\n';
    }
    for (const chunked_operation<V>& o : plan.operations) {
        text += "operation";
        name(vertex_name(o.vertex));
        number(o.region);
        if (o.once) text += " once";
        if (o.sum_widens) text += " sum-widens";
        if (o.is_chain()) text += " chain";
        if (o.is_chain()) number(o.chained);
        text += " reads";
        for (const chunk_state& s : plan.operand_states(o)) detail::append_chunk_state(text, s);
        text += " makes";
        for (const chunk_state& s : plan.result_states(o)) detail::append_chunk_state(text, s);
        text += '\n';
    }
    for (const chunk_split<X>& s : plan.splits) {
        text += "split";
        name(value_name(s.value));
        number(s.region);
        number(s.dim);
        text += '\n';
    }
    for (const chunk_join<V, X>& j : plan.joins) {
        text += "join";
        name(value_name(j.value));
        number(j.region);
        const bool concat = j.how == recombination::concat, slices = j.how == recombination::slices;
        text += concat ? " concat" : slices ? " slices" : j.how == recombination::sum ? " sum" : " first";
        if (concat || slices) number(j.dim);
        text += j.late ? " late readers" : " readers";
        for (const V& v : j.readers) name(vertex_name(v));
        text += '\n';
    }
    for (const refused_operation<V>& r : plan.refused) {
        text += "refused";
        name(vertex_name(r.vertex));
        text += '\n';
    }
    for (std::uint32_t r : plan.unreached) text += "unreached " + std::to_string(r) + '\n';
    return text + "end\n";
}

/// Parses a text of the form above, such as the output of write_chunk_plan. Any other text is rejected, and the error
/// describes its first fault. The reasons of refused operations, which the text does not contain, are empty.
/// `find_vertex(name)` and `find_value(name)` return a handle or nothing. The plan may not fit the program; use
/// verify_chunks to check that. Takes O(size of the text) time, apart from the look-ups of names.
template <handle V, handle X, detail::finds_handles<V> FindVertex, detail::finds_handles<X> FindValue>
[[nodiscard]] expected<chunk_plan<V, X>, plan_text_error> read_chunk_plan(std::string_view text, FindVertex find_vertex,
                                                                          FindValue find_value) {
    chunk_plan<V, X> plan;
    detail::plan_text_words in(text);
    const auto vertex = [&] { return in.named<V>(find_vertex, "vertex"); };
    const auto value = [&] { return in.named<X>(find_value, "value"); };
    const auto region = [&] {
        const std::int64_t r = in.number(0, UINT32_MAX);
        if (r >= static_cast<std::int64_t>(plan.regions.size())) in.fail("this region has not been described");
        return static_cast<std::uint32_t>(r);
    };
    const auto dim = [&] { return static_cast<std::uint32_t>(in.number(0, INT8_MAX)); };
    const auto states = [&] {
        while (in.good() && in.more() && !in.next_is("makes")) plan.states.push_back(detail::read_chunk_state(in));
        return static_cast<std::uint32_t>(plan.states.size());
    };
    const auto read_item = [&](std::string_view item) {
        if (item == "region") {
            typename chunk_plan<V, X>::region r;
            r.tokens = in.number(1, INT64_MAX);
            std::int64_t rest = r.tokens;
            while (in.good() && in.more()) {
                r.sizes.push_back(in.number(1, INT64_MAX));
                if (r.sizes.back() > rest) in.fail("the chunks have more rows than there are");
                rest -= r.sizes.back();
            }
            if (rest != 0) in.fail("the chunks do not have all rows");
            plan.regions.push_back(std::move(r));
        } else if (item == "operation") {
            chunked_operation<V> o;
            o.vertex = vertex();
            o.region = region();
            o.once = in.skip("once");
            o.sum_widens = in.skip("sum-widens");
            if (in.skip("chain")) o.chained = static_cast<std::uint32_t>(in.number(0, UINT32_MAX - 1));
            in.expect("reads");
            o.first_operand = static_cast<std::uint32_t>(plan.states.size());
            o.first_result = states();
            in.expect("makes");
            o.last_result = states();
            plan.operations.push_back(o);
        } else if (item == "split") {
            chunk_split<X> s{value()};
            s.region = region();
            s.dim = dim();
            plan.splits.push_back(s);
        } else if (item == "join") {
            chunk_join<V, X> j{value(), 0, recombination::first, 0, {}, false};
            j.region = region();
            if (in.skip("concat")) {
                j.how = recombination::concat;
                j.dim = dim();
            } else if (in.skip("slices")) {
                j.how = recombination::slices;
                j.dim = dim();
            } else if (in.skip("sum")) {
                j.how = recombination::sum;
            } else {
                in.expect("first");
            }
            j.late = in.skip("late");
            in.expect("readers");
            do j.readers.push_back(vertex());
            while (in.good() && in.more());
            plan.joins.push_back(std::move(j));
        } else if (item == "refused") {
            const V v = vertex();
            plan.refused.push_back({v, {chunk_reason::refused, 0, v, v}, v});
        } else if (item == "unreached") {
            const std::uint32_t r = region();
            if (!plan.unreached.empty() && r <= plan.unreached.back()) in.fail("these regions are named in order");
            plan.unreached.push_back(r);
        } else {
            return false;
        }
        return true;
    };
    return detail::read_plan_items(in, "stretto-chunk-plan", plan, read_item);
}

}  // namespace stretto

#endif
