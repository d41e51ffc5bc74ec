// Which values of a program are equal: computed by the same pure calls from the same values. A training step recomputes
// activations to save memory, and gathers parameters twice; an analysis that uses the number of a value instead of its
// name sees through both.
#ifndef STRETTO_ANALYSIS_VALUE_NUMBERS_HPP
#define STRETTO_ANALYSIS_VALUE_NUMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/pure_call_model.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto {

namespace detail {

/// The vertices that are the first with their call, found by hash and compared: open addressing, in a table that is at
/// most half full.
class first_calls {
public:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// The vertex with this hash for which `is_same(vertex)` holds; if there is none, `v` is entered as that vertex.
    template <class Same>
    std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t v, Same is_same) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        for (std::size_t i = place(hash);; i = (i + 1) & (slots_.size() - 1)) {
            slot& s = slots_[i];
            if (s.vertex == none) {
                s = {hash, v};
                ++used_;
                return v;
            }
            if (s.hash == hash && is_same(s.vertex)) return s.vertex;
        }
    }

private:
    struct slot {
        std::uint64_t hash = 0;
        std::uint32_t vertex = none;
    };

    [[nodiscard]] std::size_t place(std::uint64_t hash) const {
        return static_cast<std::size_t>((hash * 0x9e3779b97f4a7c15u) >> 32) & (slots_.size() - 1);
    }
    void grow() {
        std::vector<slot> old(slots_.empty() ? 64 : 2 * slots_.size());
        old.swap(slots_);
        for (const slot& s : old) {
            if (s.vertex == none) continue;
            std::size_t i = place(s.hash);
            while (slots_[i].vertex != none) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = s;
        }
    }

    std::vector<slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace detail

/// A number for the contents of every value, as its producer leaves it and as each operation reads it. Equal numbers
/// mean equal contents, bit for bit as far as the kernels are deterministic. The converse does not hold: no algebra is
/// applied, so a + b and b + a have different numbers.
///
/// Two operations get the same numbers if they are pure, make the same call, and read the same numbers; a copy has the
/// number of its source. Inputs, and results of operations that are not pure, have numbers of their own. A write in
/// place gives all values in that storage new contents, except for the result of the write, which is a function of what
/// it reads.
///
/// Numbers are dense, from 0, in the order in which contents first appear, so they are the same on every rank. It takes
/// O(V + uses + aliases) expected time, plus a search among the results of the producer for each result and each use of
/// a value, and as many calls of `calls`, which compares calls with equal hashes. Space: 4 bytes for each use, and
/// about 50 for each vertex and value. Source: value numbering over a straight line, as in J. Cocke and J. T. Schwartz,
/// Programming Languages and Their Compilers (1970), with versions of written storage.
template <dataflow_graph G>
    requires vertex_list_graph<G> && indexed_graph<G>
class value_numbers {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;
    using number_type = std::uint32_t;

    /// Precondition: `g` lists its vertices in a topological order, and the producers of all operands.
    template <op_model<G> Ops, pure_call_model<G> Calls>
    value_numbers(G g, const Ops& ops, const Calls& calls) : graph_(g), names_(g), row_(g.index_bound(), none) {
        std::vector<vertex_type> vertices;
        for (vertex_type v : g.vertices()) {
            row_[detail::checked_index(g, v, row_.size())] = static_cast<std::uint32_t>(vertices.size());
            vertices.push_back(v);
            names_.add(v);
        }
        const std::vector<std::uint32_t> storage = storages(ops);
        number_.resize(names_.size());
        std::vector<version> seen(names_.size());
        std::vector<std::uint32_t> last_write(names_.size(), 0);  // by storage: 1 + the row of the last write; 0: none
        detail::first_calls known;
        for (std::uint32_t row = 0; row < vertices.size(); ++row) {
            const vertex_type v = vertices[row];
            std::uint64_t hash = 0xcbf29ce484222325u;
            for (value_type x : g.operands(v)) {
                const number_type read = number_now(names_.number(x), storage, last_write, seen);
                reads_.push(read);
                hash = mixed(hash, read);
            }
            reads_.close_row();
            std::uint32_t first = row;
            const op_kind kind = ops.kind(v);
            const bool pure = kind != op_kind::input && kind != op_kind::output && calls.is_pure(v);
            const std::size_t copied = pure ? copied_operand_of<G>(calls, v) : SIZE_MAX;
            const bool copies = copied < reads_[row].size() && results(v) == 1;
            if (pure && !copies) {
                hash = mixed(hash, calls.hash_of_call(v));
                first = known.find_or_add(hash, row, [&](std::uint32_t other) {
                    return is_equal(reads_[other], reads_[row]) && results(vertices[other]) == results(v) &&
                           calls.same_call(vertices[other], v);
                });
            }
            for_each_effect<G>(ops, v, [&](value_type x) { last_write[storage[names_.number(x)]] = row + 1; });
            const std::uint32_t from = names_.first(v), like = names_.first(vertices[first]);
            for (std::uint32_t k = 0; k < results(v); ++k)
                number_[from + k] = copies ? reads_[row][copied] : first == row ? size_++ : number_[like + k];
            for (std::uint32_t k = 0; k < results(v); ++k) seen[from + k] = {row + 1, number_[from + k]};
        }
    }

    /// The number of different contents.
    [[nodiscard]] number_type size() const noexcept { return size_; }

    /// The contents of x as its producer leaves them. Precondition: x existed in the graph at construction. O(results
    /// of its producer).
    [[nodiscard]] number_type number(value_type x) const {
        const std::uint32_t name = names_.number(x);
        STRETTO_ASSERT(name < number_.size(), "a value has no number: is it newer than the numbers?");
        return number_[name];
    }

    /// The contents of operand k of v, counted from 0, as v reads it. They differ from number(x) if its storage has
    /// been written in between.
    [[nodiscard]] number_type number_read(vertex_type v, std::size_t k) const {
        const std::span<const std::uint32_t> read = reads_[row_[detail::checked_index(graph_, v, row_.size())]];
        STRETTO_ASSERT(k < read.size(), "a vertex has no operand of that position");
        return read[k];
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// The contents of a value since a write, or since it was made: 1 + the row of either.
    struct version {
        std::uint32_t since = 0;
        number_type number = 0;
    };

    [[nodiscard]] static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        return hash ^ (hash >> 29);
    }
    [[nodiscard]] static bool is_equal(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
        if (a.size() != b.size()) return false;
        for (std::size_t k = 0; k < a.size(); ++k)
            if (a[k] != b[k]) return false;
        return true;
    }
    [[nodiscard]] std::uint32_t results(vertex_type v) const {
        std::uint32_t n = 0;
        for ([[maybe_unused]] value_type x : graph_.results(v)) ++n;
        return n;
    }

    /// The storage of a value is named by the first of the values that may share memory with it.
    template <class Ops>
    [[nodiscard]] std::vector<std::uint32_t> storages(const Ops& ops) const {
        std::vector<std::uint32_t> parent(names_.size());
        for (std::uint32_t x = 0; x < parent.size(); ++x) parent[x] = x;
        const auto root = [&](std::uint32_t x) {
            while (parent[x] != x) x = parent[x] = parent[parent[x]];
            return x;
        };
        for (std::uint32_t x = 0; x < parent.size(); ++x)
            for_each_alias<G>(ops, names_.value(x), [&](value_type y) {
                const std::uint32_t a = root(x), b = root(names_.number(y));
                parent[a < b ? b : a] = a < b ? a : b;
            });
        for (std::uint32_t x = 0; x < parent.size(); ++x) parent[x] = root(x);
        return parent;
    }

    [[nodiscard]] number_type number_now(std::uint32_t x, const std::vector<std::uint32_t>& storage,
                                         const std::vector<std::uint32_t>& last_write, std::vector<version>& seen) {
        STRETTO_ASSERT(x < storage.size(), "an operand is of a vertex that the graph does not list");
        const std::uint32_t written = last_write[storage[x]];
        if (written > seen[x].since) seen[x] = {written, size_++};
        return seen[x].number;
    }

    G graph_;
    value_numbering<G> names_;
    std::vector<std::uint32_t> row_;   // by index of a vertex: its position in program order
    std::vector<number_type> number_;  // by name of a value
    index_lists reads_;                // by row: the numbers of the operands
    number_type size_ = 0;
};

}  // namespace stretto

#endif
