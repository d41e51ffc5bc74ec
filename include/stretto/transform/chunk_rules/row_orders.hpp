// What rules remember from one question to the next: the orders in which rows of values can be, and the reasons that
// were given.
//
// Two values that are cut may be read side by side only if their rows are in the same order, and no rule sees the rows
// themselves. So an order is known by how it came about, and a state carries its number (chunk_state::order). The same
// history gives the same number, whichever operation asks, and that is how rows that took the same way meet again.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_ROW_ORDERS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_ROW_ORDERS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/language.hpp"

namespace stretto {

/// An order of rows is identified by its origin. Rows sorted by the same keys, or exchanged among the same ranks in the
/// same amounts, are in the same order, whatever moved them; an exchange of the same amounts in the other direction
/// leads back. The object grows with the questions asked; asking again adds nothing. It must not be used by several
/// threads at a time.
class row_orders {
public:
    enum class origin : std::uint8_t {
        natural,    ///< that of the tokens, with key[0] rows per token
        sorted,     ///< `before`, sorted
        exchanged,  ///< `before`, after an all-to-all
        runs,       ///< as many rows of each kind as counts say, known by their kind alone
        placed,     ///< `before`, which is runs, once each row has a place of its own among them
        flipped,    ///< `before`, last row first
        blocks,     ///< `before`, which is natural, in each of key[0] blocks that lie one behind the other
        alike       ///< rows that are all equal are in every order with the same number of rows
    };

    struct order {
        origin how = origin::natural;
        std::uint32_t before = 0;
        std::uint32_t rows = 0;         ///< the order that all orders of the same rows share
        std::vector<std::int64_t> key;  ///< two orders of the same origin are the same if their keys are
        std::int64_t counts = -1;       ///< for exchanged: the value from which the numbers of received rows were read
        std::int64_t groups = -1;       ///< the value that says how many rows are in each group; -1: not known
    };

    /// The number of an order, from 1: that of the same origin, predecessor and key if there is one, or a new one.
    /// `rows`: the order that all orders of the same rows share; 0 if these are rows that no other order has, in which
    /// case the order itself stands for them. O(orders made directly from `before`).
    std::uint32_t name(origin how, std::uint32_t before, std::uint32_t rows, std::vector<std::int64_t> key) {
        for (std::uint32_t child : made_from(before))
            if (orders_[child].how == how && orders_[child].key == key && (rows == 0 || orders_[child].rows == rows))
                return child;
        const std::uint32_t id = static_cast<std::uint32_t>(orders_.size());
        orders_.push_back({how, before, rows == 0 ? id : rows, std::move(key), -1, -1});
        made_from(before).push_back(id);
        return id;
    }

    /// The order of the tokens, with that many rows for each.
    std::uint32_t natural(std::int64_t rows_per_token) { return name(origin::natural, 0, 0, {rows_per_token}); }
    /// The order of rows that lie in blocks, one behind the other, of which each has so many rows for every token.
    std::uint32_t in_blocks(std::int64_t blocks, std::int64_t rows_per_token) {
        return name(origin::blocks, natural(rows_per_token), 0, {blocks});
    }
    /// The order of rows that are all equal and as many as `rows`, an order that stands for its rows.
    std::uint32_t alike(std::uint32_t rows) { return name(origin::alike, rows, rows, {}); }

    /// Whether that is the number of an order. The members below that do not ask for it require it.
    [[nodiscard]] bool knows(std::uint32_t id) const noexcept { return id != 0 && id < orders_.size(); }
    [[nodiscard]] const order& operator[](std::uint32_t id) const { return orders_[id]; }
    order& operator[](std::uint32_t id) { return orders_[id]; }
    /// The order that stands for the rows of an order; 0 if there is no order of that number. Two orders with the same
    /// answer have the same rows, so the same number of them in every chunk.
    [[nodiscard]] std::uint32_t rows_of(std::uint32_t id) const { return knows(id) ? orders_[id].rows : 0; }
    /// Whether rows lie as the tokens do, in blocks, first or last row first.
    [[nodiscard]] bool lies_in_blocks(std::uint32_t id) const {
        while (knows(id) && orders_[id].how == origin::flipped) id = orders_[id].before;
        return knows(id) && orders_[id].how == origin::blocks;
    }
    [[nodiscard]] bool all_alike(std::uint32_t id) const { return knows(id) && orders_[id].how == origin::alike; }

    /// Notes that the rows of an order are in groups; what was noted first holds.
    void note_groups(std::uint32_t id, std::int64_t counts) {
        if (knows(id) && orders_[id].groups < 0) orders_[id].groups = counts;
    }
    /// The order in which rows are told apart, for one whose rows are known by their kind alone.
    std::uint32_t placed(std::uint32_t id) {
        return knows(id) && orders_[id].how == origin::runs ? name(origin::placed, id, rows_of(id), {}) : id;
    }
    /// Whether rows of one order may be taken for those of another order of the same rows. They may if they are all
    /// equal, or if they are known by their kind alone and the others are in groups of these kinds. Runs that are the
    /// order of all rows with them may have been written row by row.
    [[nodiscard]] bool may_be_taken_for(std::uint32_t id, std::uint32_t other) const {
        if (all_alike(id)) return true;
        if (!knows(id) || !knows(other) || orders_[id].how != origin::runs) return false;
        if (orders_[other].how == origin::placed && orders_[other].before == id) return true;
        return orders_[id].rows != id && orders_[id].groups >= 0 && orders_[id].groups == orders_[other].groups;
    }

    /// Keeps both texts, with a blank between them, or only the sentence if there is no subject. The result lives as
    /// long as this object. O(different sentences kept).
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
    std::vector<std::vector<char>> said_;  // the letters of each stay where they are when others are added
};

}  // namespace stretto

#endif
