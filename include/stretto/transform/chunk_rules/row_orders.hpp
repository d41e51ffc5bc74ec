// The state that chunk rules keep between verdicts: the orders in which the rows of values can be, and the texts of the
// reasons that they have given.
//
// An operation may combine two cut values only if their rows are in the same order, and a rule never sees the rows
// themselves. An order is therefore identified by its history, and a state carries its number (chunk_state::order).
// Equal histories get equal numbers, whichever operation asks, so rows that took the same path are recognised.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_ROW_ORDERS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_ROW_ORDERS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/language.hpp"

namespace stretto {

/// An order of rows is identified by its origin. Rows that were sorted by the same keys, or exchanged among the same
/// ranks in the same amounts, are in the same order, whichever operation moved them; an exchange of the same amounts in
/// the opposite direction restores the earlier order. The object grows with each new order; asking for a known order
/// adds nothing. It must not be used by several threads at the same time.
class row_orders {
public:
    enum class origin : std::uint8_t {
        natural,    ///< the order of the tokens, with key[0] rows per token
        sorted,     ///< the rows of `before`, sorted
        exchanged,  ///< the rows of `before`, after an all-to-all
        runs,       ///< a run of rows for each kind, as long as its count; rows of one kind are interchangeable
        placed,     ///< the rows of `before`, whose origin is `runs`, once each row has a definite place in its run
        flipped,    ///< the rows of `before`, reversed
        blocks,     ///< key[0] consecutive blocks, each in the order `before`, whose origin is `natural`
        alike       ///< all rows are equal, so they are in every order with this number of rows
    };

    /// An order. The first four members are its identity; `counts` and `groups` are facts that rules find later.
    struct order {
        origin how = origin::natural;
        std::uint32_t before = 0;       ///< the order from which it was made; 0 if there is none
        std::uint32_t rows = 0;         ///< the order that represents all orders of the same rows
        std::vector<std::int64_t> key;  ///< two orders of the same origin are the same if their keys are
        std::int64_t counts = -1;       ///< for exchanged: the value from which the numbers of received rows were read
        std::int64_t groups = -1;       ///< the value that holds the number of rows in each group; -1 if unknown
    };

    /// Returns the number of an order, at least 1. If an order with the same origin, predecessor and key exists,
    /// returns its number; otherwise creates one. `rows` is the order that represents all orders of the same rows; 0
    /// means that no other order has these rows, and the new order then represents them. O(orders made directly from
    /// `before`).
    std::uint32_t name(origin how, std::uint32_t before, std::uint32_t rows, std::vector<std::int64_t> key) {
        for (std::uint32_t child : made_from(before))
            if (orders_[child].how == how && orders_[child].key == key && (rows == 0 || orders_[child].rows == rows))
                return child;
        const std::uint32_t id = static_cast<std::uint32_t>(orders_.size());
        orders_.push_back({how, before, rows == 0 ? id : rows, std::move(key), -1, -1});
        made_from(before).push_back(id);
        return id;
    }

    /// Returns the order of the tokens, with `rows_per_token` rows for each.
    std::uint32_t natural(std::int64_t rows_per_token) { return name(origin::natural, 0, 0, {rows_per_token}); }
    /// Returns the order of rows that lie in consecutive blocks, each of which has `rows_per_token` rows for every
    /// token.
    std::uint32_t in_blocks(std::int64_t blocks, std::int64_t rows_per_token) {
        return name(origin::blocks, natural(rows_per_token), 0, {blocks});
    }
    /// Returns the order of rows that are all equal. There are as many of them as in order `rows`. Precondition: `rows`
    /// represents its rows.
    std::uint32_t alike(std::uint32_t rows) { return name(origin::alike, rows, rows, {}); }

    /// Returns whether `id` is the number of an order. That is a precondition of operator[]; other members check it.
    [[nodiscard]] bool knows(std::uint32_t id) const noexcept { return id != 0 && id < orders_.size(); }
    [[nodiscard]] const order& operator[](std::uint32_t id) const { return orders_[id]; }
    order& operator[](std::uint32_t id) { return orders_[id]; }
    /// Returns the order that represents the rows of order `id`; 0 if there is no such order. Two orders with the same
    /// representative have the same rows, and therefore the same number of rows in every chunk.
    [[nodiscard]] std::uint32_t rows_of(std::uint32_t id) const { return knows(id) ? orders_[id].rows : 0; }
    /// Returns whether rows lie in blocks in the order of the tokens, possibly reversed.
    [[nodiscard]] bool lies_in_blocks(std::uint32_t id) const {
        while (knows(id) && orders_[id].how == origin::flipped) id = orders_[id].before;
        return knows(id) && orders_[id].how == origin::blocks;
    }
    [[nodiscard]] bool all_alike(std::uint32_t id) const { return knows(id) && orders_[id].how == origin::alike; }

    /// Records that the rows of an order are in groups of these counts. Only the first record for an order counts.
    void note_groups(std::uint32_t id, std::int64_t counts) {
        if (knows(id) && orders_[id].groups < 0) orders_[id].groups = counts;
    }
    /// Returns the order in which the rows of `id` are distinguished if its origin is `runs`; otherwise `id` itself.
    std::uint32_t placed(std::uint32_t id) {
        return knows(id) && orders_[id].how == origin::runs ? name(origin::placed, id, rows_of(id), {}) : id;
    }
    /// Returns whether rows in the order `id` may be used as if they were in the order `other`. This holds if all rows
    /// of `id` are equal, or if `id` consists of runs and the rows of `other` are in groups with the same counts. It
    /// does not hold for runs that represent their own rows, because these may have been written row by row; they may
    /// only be taken for their `placed` order. Precondition: both orders have the same rows (rows_of).
    [[nodiscard]] bool may_be_taken_for(std::uint32_t id, std::uint32_t other) const {
        if (all_alike(id)) return true;
        if (!knows(id) || !knows(other) || orders_[id].how != origin::runs) return false;
        if (orders_[other].how == origin::placed && orders_[other].before == id) return true;
        return orders_[id].rows != id && orders_[id].groups >= 0 && orders_[id].groups == orders_[other].groups;
    }

    /// Stores the subject and the sentence, separated by a blank, or only the sentence if the subject is empty, and
    /// returns the text. It is valid as long as this object exists. O(number of different texts stored).
    std::string_view say(std::string_view subject, std::string_view sentence) {
        const std::size_t blank = subject.empty() ? 0 : 1, size = subject.size() + blank + sentence.size();
        for (const std::vector<char>& text : said_) {
            const std::string_view said(text.data(), text.size());
            if (said.size() == size && said.starts_with(subject) && said.ends_with(sentence)) return said;
        }
        std::vector<char> text(subject.begin(), subject.end());
        text.insert(text.end(), blank, ' ');
        text.insert(text.end(), sentence.begin(), sentence.end());
        said_.push_back(std::move(text));
        return {said_.back().data(), size};
    }

private:
    std::vector<std::uint32_t>& made_from(std::uint32_t before) {
        if (children_.size() <= before) children_.resize(before + std::size_t{1});
        return children_[before];
    }

    std::vector<order> orders_ = std::vector<order>(1);  // number 0 is no order
    std::vector<std::vector<std::uint32_t>> children_;
    std::vector<std::vector<char>> said_;  // characters of a text keep their address when others are added
};

}  // namespace stretto

#endif
