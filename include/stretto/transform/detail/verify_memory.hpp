// Checks the values that leave the regions of a chunk plan, and the memory that they live in. A state describes parts
// at the time when they are made. Three later events can make it untrue, and are checked here: an operation outside
// writes the memory of the parts, an operation outside reads it between two writes of the region, or the parts have not
// arrived when they are recombined.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_MEMORY_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/detail/verify_states.hpp"

namespace stretto::detail {

/// The third pass of verify_chunks. It needs the matched structure and the checked states, and reports to the
/// structure. Takes O(V + E) time; a memory that several regions write is examined once for each of them.
template <class G, class C>
class verify_memory {
public:
    using V = vertex_t<G>;
    using kind = chunk_state::kind;

    verify_memory(verify_structure<G>& structure, const verify_states<G, C>& states)
        : s_(structure), f_(structure.facts()), states_(states) {}

    /// Checks the results of every operation of the plan, and then all collectives of the program.
    void check() {
        note_writers();
        for (std::size_t k = 0; k < s_.plan().operations.size(); ++k) {
            const std::uint32_t v = s_.vertex(k);
            for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x) check_result(k, v, x);
        }
        check_flights();
    }

private:
    /// The last write of a memory by one region, or by the operations outside all regions (`region` is verify_none).
    struct last_write {
        std::uint32_t region, vertex, next;
    };

    /// The region in which v is chunked; verify_none if it is in none.
    [[nodiscard]] std::uint32_t region_of(std::uint32_t v) const {
        return s_.place(v) == verify_none ? verify_none : s_.plan().operations[s_.place(v)].region;
    }

    /// Finds the last write of each memory by each region. The entries of one memory form a linked list, because memory
    /// is rarely written by more than one region.
    void note_writers() {
        first_write_.assign(f_.values.size(), verify_none);
        for (std::uint32_t v = 0; v < f_.size(); ++v)
            for (std::uint32_t x : f_.writes[v]) {
                const std::uint32_t m = f_.memory[x], r = region_of(v);
                std::uint32_t e = first_write_[m];
                while (e != verify_none && writes_[e].region != r) e = writes_[e].next;
                if (e == verify_none) {
                    e = static_cast<std::uint32_t>(writes_.size());
                    writes_.push_back({r, v, first_write_[m]});
                    first_write_[m] = e;
                }
                writes_[e].vertex = v;
            }
    }

    /// Checks result x of operation k of the plan: the writes of its memory, its readers outside, and its join.
    void check_result(std::size_t k, std::uint32_t v, std::uint32_t x) {
        const auto& o = s_.plan().operations[k];
        std::uint32_t last_inside = v;
        for (std::uint32_t e = first_write_[f_.memory[x]]; e != verify_none; e = writes_[e].next) {
            if (writes_[e].region == o.region) last_inside = writes_[e].vertex > v ? writes_[e].vertex : v;
            else if (writes_[e].vertex > v && !o.is_chain())  // a chain leaves no parts
                s_.report(chunk_rule::written_outside, k, o.vertex, f_.vertices[writes_[e].vertex]);
        }
        outside_.clear();
        for (std::uint32_t u : f_.readers[x])
            if (!s_.chunked_in(o.region, u) && (outside_.empty() || outside_.back() != u)) outside_.push_back(u);
        for (std::uint32_t u : outside_)
            if (u < last_inside && !o.is_chain())
                s_.report(chunk_rule::read_between_writes, k, o.vertex, f_.vertices[u]);
        const std::uint32_t join = s_.join_of(x);
        if (join == verify_none) {
            if (!outside_.empty()) s_.report(chunk_rule::join_missing, k, o.vertex, f_.vertices[outside_[0]]);
            return;
        }
        if (outside_.empty()) s_.report(chunk_rule::join_unread, join, o.vertex);
        check_readers(join, o.vertex);
        check_way(join, o.vertex, x);
        const auto& j = s_.plan().joins[join];
        if (!j.late && last_inside > v && j.how != recombination::first)
            s_.report(chunk_rule::join_too_early, join, o.vertex, f_.vertices[last_inside]);
    }

    /// Checks that the readers of a join are exactly those that read the value outside the region, in program order.
    void check_readers(std::uint32_t join, V vertex) {
        const std::vector<V>& said = s_.plan().joins[join].readers;
        bool same = said.size() == outside_.size();
        for (std::size_t n = 0; same && n < said.size(); ++n) same = said[n] == f_.vertices[outside_[n]];
        if (same) return;
        bool other = false;
        for (std::uint32_t u : outside_) {
            bool there = false;
            for (const V& r : said) there = there || r == f_.vertices[u];
            if (!there) s_.report(chunk_rule::reader_left_behind, join, vertex, f_.vertices[u]);
            other = other || !there;
        }
        for (const V& r : said) {
            bool there = false;
            for (std::uint32_t u : outside_) there = there || r == f_.vertices[u];
            if (!there) s_.report(chunk_rule::reader_uninvolved, join, vertex, r);
            other = other || !there;
        }
        if (!other) s_.report(chunk_rule::readers_out_of_order, join, vertex);
    }

    /// Checks that a join recombines its value as the state of the value requires.
    void check_way(std::uint32_t join, V vertex, std::uint32_t x) {
        const auto& j = s_.plan().joins[join];
        const chunk_state& s = states_.state(f_.first_component[x]);
        bool whole = true;
        for (std::uint32_t c = f_.first_component[x]; c < f_.first_component[x + 1]; ++c)
            whole = whole && states_.state(c).what == kind::whole;
        // Integers that count rows from the first row of their chunk cannot be recombined.
        const bool rows = s.what == kind::sliced && s.positions == 0 && s.into == 0;
        if (whole) {
            if (j.how != recombination::first) s_.report(chunk_rule::join_way, join, vertex);
        } else if (f_.components(x) != 1 || (!rows && s.what != kind::addend)) {
            s_.report(chunk_rule::join_impossible, join, vertex);
        } else if (!rows) {
            if (j.how != recombination::sum) s_.report(chunk_rule::join_way, join, vertex);
        } else if (const bool slices = j.how == recombination::slices;
                   (!slices && j.how != recombination::concat) || static_cast<std::int64_t>(j.dim) != s.dim) {
            s_.report(chunk_rule::join_way, join, vertex);
        } else if (slices && j.late) {
            s_.report(chunk_rule::slices_late, join, vertex);
        }
    }

    /// Checks that waits are chunked with their starts, and that values have arrived where they are recombined.
    void check_flights() {
        std::vector<std::uint32_t> last_wait(f_.size(), verify_none);  // by start: the last wait for it
        for (std::uint32_t w = 0; w < f_.size(); ++w) {
            const std::uint32_t start = f_.launch[w];
            if (start == w) continue;
            last_wait[start] = w;
            const std::uint32_t in = s_.place(w) != verify_none ? w : start;
            if (region_of(w) != region_of(start))
                s_.report(chunk_rule::collective_torn, s_.place(in), f_.vertices[in], f_.vertices[in == w ? start : w]);
        }
        // By reader: the late joins that are made before it, as linked lists from `late` on through `next_late`.
        std::vector<std::uint32_t> late(f_.size(), verify_none), next_late(s_.plan().joins.size(), verify_none);
        for (std::size_t k = 0; k < s_.plan().operations.size(); ++k) {
            const std::uint32_t v = s_.vertex(k);
            for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x) {
                const std::uint32_t j = s_.join_of(x), reader = first_reader(x, region_of(v));
                if (j == verify_none || !s_.plan().joins[j].late || reader == verify_none) continue;
                next_late[j] = late[reader];
                late[reader] = j;
            }
        }
        // By memory: the last wait for the collectives that fill it. Without a wait it never arrives.
        std::vector<std::uint32_t> arrives(f_.values.size(), 0);
        const auto check_join = [&](std::uint32_t j, std::uint32_t x, bool arrived) {
            if (!arrived && s_.plan().joins[j].how != recombination::first)
                s_.report(chunk_rule::join_in_flight, j, f_.vertices[f_.producer[x]]);
        };
        for (std::uint32_t v = 0; v < f_.size(); ++v) {
            for (std::uint32_t j = late[v]; j != verify_none; j = next_late[j])
                for (std::uint32_t x : f_.operands[v])
                    if (s_.join_of(x) == j) {
                        check_join(j, x, arrives[f_.memory[x]] < v);
                        break;
                    }
            for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x) {
                std::uint32_t& arrival = arrives[f_.memory[x]];
                if (f_.kind[v] == op_kind::start && arrival < last_wait[v]) arrival = last_wait[v];
                if (const std::uint32_t j = s_.join_of(x); j != verify_none && !s_.plan().joins[j].late)
                    check_join(j, x, arrival <= v);
            }
        }
    }

    /// The first reader of x outside that region, before which a late join is made; verify_none if there is none.
    [[nodiscard]] std::uint32_t first_reader(std::uint32_t x, std::uint32_t region) const {
        for (std::uint32_t u : f_.readers[x])
            if (!s_.chunked_in(region, u)) return u;
        return verify_none;
    }

    verify_structure<G>& s_;
    const verify_facts<G>& f_;
    const verify_states<G, C>& states_;
    std::vector<std::uint32_t> first_write_;  // by memory: an entry of writes_
    std::vector<last_write> writes_;
    std::vector<std::uint32_t> outside_;  // the readers of one result outside its region, ascending
};

}  // namespace stretto::detail

#endif
