// Cuts values into parts in every way that a state allows, and infers orders from the values of programs.
// check_chunk_model makes the operands of its queries with this header. Orders are the difficulty: a model numbers them
// freely, so an order can only be inferred from the rows of the values that the model places in it.
#ifndef STRETTO_TESTING_DETAIL_CHUNKED_SAMPLE_HPP
#define STRETTO_TESTING_DETAIL_CHUNKED_SAMPLE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/testing/chunk_relation.hpp"
#include "stretto/testing/detail/sample_source.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// A value and its parts, one per chunk. A number has one state, as a tensor has.
struct chunked_sample {
    std::vector<chunk_state> states;
    std::vector<host_value> parts;

    [[nodiscard]] bool is_whole() const {
        return std::all_of(states.begin(), states.end(),
                           [](const chunk_state& s) { return s.what == chunk_state::kind::whole; });
    }
};

/// A region: its tokens and its chunks.
struct sample_region {
    std::int64_t tokens = 0;
    std::vector<chunk_interval> chunks;
};

/// A value that every chunk shares: each part is all of it.
[[nodiscard]] inline chunked_sample share_sample(const host_value& x, const sample_region& region) {
    chunked_sample made;
    made.states.assign(x.is_number() ? 1 : x.tensors.size(), {chunk_state::kind::whole});
    made.parts.assign(region.chunks.size(), x);
    return made;
}

/// Makes component k sliced if `order` is null; otherwise permuted, in an unnamed order drawn from `order`. Requires
/// that its extent along `dim` is a multiple of the tokens.
inline void cut_rows(chunked_sample& x, std::size_t k, std::size_t dim, const sample_region& region,
                     sample_source* order) {
    const host_tensor whole = x.parts[0].tensors[k];
    std::vector<std::int64_t> rows(static_cast<std::size_t>(whole.extent(dim)));
    std::iota(rows.begin(), rows.end(), 0);
    if (order != nullptr) order->shuffle(rows);
    const std::int64_t per_token = whole.extent(dim) / region.tokens;
    for (std::size_t c = 0; c < region.chunks.size(); ++c)
        x.parts[c].tensors[k] =
            take_rows(whole, dim,
                      std::span(rows).subspan(static_cast<std::size_t>(per_token * region.chunks[c].first),
                                              static_cast<std::size_t>(per_token * region.chunks[c].count)));
    x.states[k] = {order == nullptr ? chunk_state::kind::sliced : chunk_state::kind::permuted,
                   static_cast<std::int8_t>(dim), 0, 0, 0};
}

/// Makes component k a sum: each part but the last consists of small integers, and the last part is the rest. So all
/// parts of a value of small integers are exact.
inline void cut_sum(chunked_sample& x, std::size_t k, sample_source& pick) {
    x.states[k] = {chunk_state::kind::addend, -1, 0, 0, 0};
    for (std::size_t c = 0; c + 1 < x.parts.size(); ++c) {
        host_value &own = x.parts[c], &rest = x.parts.back();
        if (own.is_number()) rest.number -= own.number = pick.small();
        else
            for (std::size_t i = 0; i < own.tensors[k].elements.size(); ++i)
                rest.tensors[k].elements[i] -= own.tensors[k].elements[i] = pick.small();
    }
}

/// The known facts about the orders that a model has named while chunks are carried through a program: the rows of all
/// values in an order, side by side. Once no two of these rows are equal, they determine the position of each row.
class order_book {
public:
    /// The rows of an order; null as long as they are not known.
    [[nodiscard]] const known_rows* find(std::uint32_t order) const {
        for (const page& p : pages_)
            if (p.order == order && p.is_known) return &p.rows;
        return nullptr;
    }
    /// Records component k of a value. The result says how it contradicts the other values in its order; it is empty if
    /// it does not.
    [[nodiscard]] std::string_view note(const host_tensor& whole, std::span<const host_value> parts, std::size_t k,
                                        const chunk_state& s) {
        // Only values that are permuted in a named order give information about it. Row numbers are relative to their
        // chunk, so they cannot be compared as rows.
        if (s.what != chunk_state::kind::permuted || s.order == 0 || s.positions != 0 || s.into != 0) return {};
        page& p = page_of(s.order);
        if (p.is_known) return {};  // check() has already compared it row by row
        const auto dim = static_cast<std::size_t>(s.dim);
        const auto all = rows_of(whole, dim);
        const bool first = p.whole.empty() && p.parts.empty();
        if (first) {
            p.whole.resize(all.size());
            p.parts.resize(parts.size());
        }
        if (p.whole.size() != all.size()) return "two values in one order have different numbers of rows";
        for (std::size_t r = 0; r < all.size(); ++r) p.whole[r].insert(p.whole[r].end(), all[r].begin(), all[r].end());
        for (std::size_t c = 0; c < parts.size(); ++c) {
            const auto own = rows_of(parts[c].tensors[k], dim);
            if (first) p.parts[c].resize(own.size());
            if (p.parts[c].size() != own.size()) return "two values in one order have different numbers of rows";
            for (std::size_t r = 0; r < own.size(); ++r)
                p.parts[c][r].insert(p.parts[c][r].end(), own[r].begin(), own[r].end());
        }
        return p.settle() ? std::string_view() : "two values in one order have their rows in different orders";
    }

private:
    using row_list = std::vector<std::vector<double>>;
    /// One order: the rows of the values so far, side by side, as the whole has them and as the parts do.
    struct page {
        std::uint32_t order;
        row_list whole;
        std::vector<row_list> parts;
        known_rows rows;
        bool is_known = false;

        /// False unless the parts have the rows of the whole, each once.
        bool settle() {
            std::vector<std::size_t> places(whole.size());
            std::iota(places.begin(), places.end(), std::size_t{0});
            std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return whole[a] < whole[b]; });
            row_list sorted, found;
            for (std::size_t place : places) sorted.push_back(whole[place]);
            for (const row_list& own : parts) found.insert(found.end(), own.begin(), own.end());
            std::sort(found.begin(), found.end());
            if (found != sorted) return false;
            // Two equal rows are ambiguous. That is not a fault; another value in the same order may distinguish them.
            if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return true;
            rows.of_chunk.assign(parts.size(), {});
            for (std::size_t c = 0; c < parts.size(); ++c)
                for (const std::vector<double>& row : parts[c])
                    rows.of_chunk[c].push_back(static_cast<std::int64_t>(places[static_cast<std::size_t>(
                        std::lower_bound(sorted.begin(), sorted.end(), row) - sorted.begin())]));
            return is_known = true;
        }
    };
    page& page_of(std::uint32_t order) {
        for (page& p : pages_)
            if (p.order == order) return p;
        return pages_.emplace_back(page{order, {}, {}, {}, false});
    }

    std::vector<page> pages_;
};

/// The text of a state for messages, such as "sliced(0)+2".
[[nodiscard]] inline std::string state_text(const chunk_state& s) {
    static constexpr const char* names[] = {"whole", "sliced", "permuted", "addend", "opaque", "unset"};
    const auto kind = static_cast<std::size_t>(s.what);
    std::string text = kind < std::size(names) ? names[kind] : "no state";
    if (s.dim >= 0) text += "(" + std::to_string(s.dim) + ")";
    if (s.positions != 0) text += "+" + std::to_string(s.positions);
    if (s.order != 0) text += " in order " + std::to_string(s.order);
    if (s.into != 0) text += " into order " + std::to_string(s.into);
    return text;
}

}  // namespace stretto::detail

#endif
