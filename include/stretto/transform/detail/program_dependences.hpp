// All dependences of a program, by position in program order: those that the graph lists (values, and any others), that
// of a wait on its start, and those that follow from writes in place. plan_buckets and verify_buckets use them to
// decide which orders of the program are legal.
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

/// The dependences of a program whose facts are given. Two uses of a storage keep their order if one of them writes it.
/// A wait counts as reading what its start reads and as writing what its start fills, because the collective uses both
/// until then: no other vertex may overwrite the operand or read the result before the wait. A view of a result in
/// flight reads only its shape, which is not a use. O(V + E + uses of storages that are written).
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

    /// By position: the positions that must come before it, each once, in no particular order.
    [[nodiscard]] const index_lists& before() const noexcept { return before_; }
    /// The inverse: by position, the positions that must come after it, ascending.
    [[nodiscard]] const index_lists& after() const noexcept { return after_; }
    /// The dependences as a graph whose vertices are positions. It refers to this object.
    [[nodiscard]] snapshot_view view() const { return {after_, before_}; }

private:
    struct uses {
        std::uint32_t writer = Facts::none;  // the last write of a storage so far
        std::vector<std::uint32_t> readers;  // those since that write
    };

    /// Calls f(storage) for everything that p writes, given the waits that have been visited.
    template <class F>
    void for_each_written(std::uint32_t p, F f) const {
        detail::for_each_written(f_, p, f_.launch[p] != Facts::none && !waited_[f_.launch[p]], f);
    }
    /// Whether s is the storage of a collective for which no wait has been visited yet.
    [[nodiscard]] bool in_flight(std::uint32_t s) const {
        const std::uint32_t p = f_.producer[s];
        return f_.kind[p] == op_kind::start && !waited_[p];
    }

    /// Appends the row of p. Vertices are visited in program order.
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
    std::vector<char> waited_;   // by position of a start: whether a wait for it has been visited
    std::vector<char> written_;  // by storage: whether anything writes it
    std::vector<uses> history_;  // by storage
    unique_rows<> rows_;
    index_lists before_, after_;
};

}  // namespace stretto::detail

#endif
