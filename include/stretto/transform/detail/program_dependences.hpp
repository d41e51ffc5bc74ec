// Everything that must come before an operation, by position in program order: what it reads, what the graph says
// beyond that, and what memory implies.
#ifndef STRETTO_TRANSFORM_DETAIL_PROGRAM_DEPENDENCES_HPP
#define STRETTO_TRANSFORM_DETAIL_PROGRAM_DEPENDENCES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/transform/detail/program_facts.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// The dependences of a program whose facts are given. Uses of one memory keep their order where one of them writes it.
/// A wait counts as reading what its start reads and as writing what its start fills: nobody overwrites the operand of
/// a collective before its wait, or reads its result. A view that only looks at a result in flight, at its shape, is no
/// use of it. O(V + E + uses of memory that is written in place).
template <class Facts>
class program_dependences {
public:
    explicit program_dependences(const Facts& f) : f_(f), waited_(f.size(), false), history_(f.values.size()) {
        written_.resize(f.values.size());
        for (std::uint32_t p = 0; p < f.size(); ++p) for_each_written(p, [&](std::uint32_t s) { written_[s] = true; });
        for (std::uint32_t p = 0; p < f.size(); ++p) add(p);
        after_ = before_.inverse(f.size());
    }
    program_dependences(const program_dependences&) = delete;
    program_dependences& operator=(const program_dependences&) = delete;

    /// Positions, each once, not sorted.
    [[nodiscard]] const index_lists& before() const noexcept { return before_; }
    /// The inverse.
    [[nodiscard]] const index_lists& after() const noexcept { return after_; }
    /// A view of positions in program order. Valid as long as this object.
    [[nodiscard]] snapshot_view view() const { return {after_, before_}; }

private:
    struct uses {
        std::uint32_t writer = Facts::none;
        std::vector<std::uint32_t> readers;  // since
    };

    /// What p writes, in terms of memories. A start fills memory that is not its own; its first wait fills all of it.
    template <class F>
    void for_each_written(std::uint32_t p, F f) const {
        for (std::uint32_t x : f_.writes[p])
            for (std::uint32_t s : f_.storages[x]) f(s);
        const std::uint32_t start = f_.kind[p] == op_kind::start ? p : f_.launch[p];
        if (start == Facts::none || (start != p && waited_[start])) return;
        for (std::uint32_t x = f_.first_result[start]; x < f_.first_result[start + 1]; ++x)
            for (std::uint32_t s : f_.storages[x])
                if (start != p || s < f_.first_result[start] || s >= f_.first_result[start + 1]) f(s);
        if (start != p)
            for (std::uint32_t x : f_.writes[start])
                for (std::uint32_t s : f_.storages[x]) f(s);
    }
    /// Whether memory s is that of a collective for which nobody has waited yet.
    [[nodiscard]] bool in_flight(std::uint32_t s) const {
        const std::uint32_t p = f_.producer[s];
        return f_.kind[p] == op_kind::start && !waited_[p];
    }

    void add(std::uint32_t p) {
        const auto depend = [&](std::uint32_t q) {
            if (q != Facts::none && q != p) rows_.add(before_, q);
        };
        for (const auto& u : f_.graph.predecessors(f_.vertex[p])) depend(f_.position_of(u));
        depend(f_.launch[p]);
        const auto read = [&](std::uint32_t x) {
            for (std::uint32_t s : f_.storages[x])
                if (written_[s] && !(f_.kind[p] == op_kind::view && in_flight(s))) {
                    depend(history_[s].writer);
                    history_[s].readers.push_back(p);
                }
        };
        for (std::uint32_t x : f_.operands[p]) read(x);
        if (f_.launch[p] != Facts::none)
            for (std::uint32_t x : f_.operands[f_.launch[p]]) read(x);
        for_each_written(p, [&](std::uint32_t s) {
            depend(history_[s].writer);
            for (std::uint32_t q : history_[s].readers) depend(q);
            history_[s].writer = p;
            history_[s].readers.clear();
        });
        if (f_.launch[p] != Facts::none) waited_[f_.launch[p]] = true;
        rows_.close(before_);
    }

    const Facts& f_;
    std::vector<char> waited_;  // by position of a start
    std::vector<char> written_;
    std::vector<uses> history_;  // by memory
    unique_rows<> rows_;
    index_lists before_, after_;
};

}  // namespace stretto::detail

#endif
