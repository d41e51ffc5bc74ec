// The search of plan_chunks, on numbers: it finds out which candidates run per chunk, and the chunk state of every
// value.
//
// It begins with all candidates and removes those that cannot run per chunk. One sweep in program order determines the
// states of the operands of every candidate, and asks the chunk model for the states of its results. A candidate that
// is refused runs whole; its readers come later, so the same sweep already sees its results as whole. Three events
// require another sweep: an operand is cut for a candidate after others have seen it whole; a result leaves its region
// and cannot be recombined, so its operation must run whole; or chunks must share zeros that each of them has made
// (chunk_zeros.hpp). The search ends, because a removed operation never returns, a cut operand stays cut, and shared
// zeros stay shared.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_SWEEP_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_SWEEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_live_outs.hpp"
#include "stretto/transform/detail/chunk_program.hpp"
#include "stretto/transform/detail/chunk_states.hpp"
#include "stretto/transform/detail/chunk_zeros.hpp"
#include "stretto/transform/detail/refusal_causes.hpp"

namespace stretto::detail {

/// The search. `rule(v, tokens, operands, results)` returns a chunk_verdict, `extent(value, dim)` the extent of a
/// single tensor (-1 if the value has no such dimension), and `zeros(v)` whether v only makes zeros. The program must
/// outlive this object.
template <class Rule, class Extent, class Zeros>
class chunk_sweep {
public:
    chunk_sweep(chunk_program& program, Rule rule, Extent extent, Zeros zeros, bool skip_refused, bool convert_sums)
        : p_(program), rule_(rule), extent_(extent), zeros_(zeros), skip_(skip_refused), convert_sums_(convert_sums) {
        keep_collectives_together();
        refused_ = p_.kept;
    }
    chunk_sweep(const chunk_sweep&) = delete;  // its members refer to each other
    chunk_sweep& operator=(const chunk_sweep&) = delete;

    /// Returns whether the search has succeeded; if not, `fault()` says why. The number of sweeps is bounded, because
    /// each one except the last removes a candidate, cuts an operand, or makes a final decision about zeros.
    bool run() {
        do {
            if (!sweep()) return false;
            take_out_tails();
            take_in_chains();
            if (fault_.why == chunk_reason::result_unset) return false;
            if (apart_.share_idle()) {
                again_ = true;
                continue;
            }
            if (!check_live_outs()) return false;
        } while (again_);
        return true;
    }

    [[nodiscard]] const chunk_fault& fault() const { return fault_; }
    /// Which candidates run per chunk, and the states of their results.
    [[nodiscard]] const chunk_states& states() const { return s_; }
    /// The candidates that a token reaches but that must stay whole, with the reasons. They are in program order.
    [[nodiscard]] std::vector<chunk_refusal> refusals() const {
        std::vector<chunk_refusal> found = refusals_;
        std::sort(found.begin(), found.end(),
                  [](const chunk_refusal& a, const chunk_refusal& b) { return a.vertex < b.vertex; });
        return found;
    }

private:
    using kind = chunk_state::kind;
    static constexpr std::uint32_t none = chunk_program::none;

    /// Makes a start and all its waits stay whole if one of them must, because they can only be chunked together.
    void keep_collectives_together() {
        for (std::uint32_t w = 0; w < p_.size(); ++w)
            if (p_.kept[w]) p_.kept[p_.launch[w]] = true;
        for (std::uint32_t w = 0; w < p_.size(); ++w)
            if (p_.kept[p_.launch[w]]) p_.kept[w] = true;
    }

    /// Sets the state of zeros that every chunk makes for itself: what the chunks add to them are addends of the whole.
    void make_addend(std::uint32_t z) { s_.first_state(z) = {kind::addend, -1, 0, 0, 0}; }

    /// Decides on every candidate that has not been refused. In program order, the states of its operands are final for
    /// this sweep. Returns false if the search has failed: the rule left a result unset, or a candidate was refused and
    /// refusals may not be skipped.
    bool sweep() {
        again_ = false;
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            s_.body[v] = s_.chain[v] = false;
            if (refused_[v]) continue;
            causes_.follow(v);
            if (p_.region[v] == chunk_program::no_region) continue;
            apart_.look_behind(v);
            operands_.clear();
            // `rows` is false for a candidate that reads only addends and whole values. It can run once, on the sums,
            // so its refusal is no failure.
            bool reached = false, rows = false;
            s_.for_each_operand(v, [&](std::uint32_t, chunk_state s) {
                operands_.push_back(s);
                reached = reached || s.what != kind::whole;
                rows = rows || (s.what != kind::whole && s.what != kind::addend);
            });
            if (!reached) {
                if (apart_.runs_per_chunk(v)) s_.body[v] = true, make_addend(v);
                continue;
            }
            const bool shared = writes_what_is_shared(v);
            if (shared) s_.chain[v] = can_be_chain(v);
            if (s_.chain[v] && apart_.take_apart(v, [&](std::uint32_t z) { return !refused_[z] && zeros_(z); })) {
                // Go back to where the zeros are made. Nothing has read the result of the chain in this sweep yet.
                v = p_.producer[p_.storage[p_.writes[v][0]]] - 1;
                continue;
            }
            const chunk_verdict verdict = shared ? chunk_verdict{} : judge(v);
            if (fault_.why == chunk_reason::result_unset) return false;
            if (shared) continue;
            s_.body[v] = verdict.possible;
            converts_[v] = verdict.converts;
            if (verdict.possible && apart_.runs_per_chunk(v) && s_.first_state(v).what == kind::whole) make_addend(v);
            if (verdict.possible) continue;
            if (rows && apart_.share_behind(v)) {
                again_ = true;
                continue;
            }
            refuse(v, {rows ? chunk_reason::refused : chunk_reason::only_sums, v, v, std::string(verdict.reason)},
                   verdict.inherent);
            if (!skip_ && rows) return false;
        }
        return true;
    }

    /// Whether v writes memory that all chunks share. Then it runs once, whole, unless take_in_chains makes it a chain.
    /// The same holds if v also reads the memory through another value that is not in parts of this chunk, because the
    /// next chunk would read what this one has written.
    bool writes_what_is_shared(std::uint32_t v) const {
        const std::uint32_t r = p_.region[v];
        for (std::uint32_t x : p_.writes[v]) {
            if (s_.seen_in(r, x, p_.first_component[x]).what == kind::whole) return true;
            for (std::uint32_t y : p_.operands[v]) {
                if (y == x || p_.storage[y] != p_.storage[x]) continue;
                if (!s_.made_in(r, y)) return true;
                for (std::uint32_t c = p_.first_component[y]; c < p_.first_component[y + 1]; ++c)
                    if (s_.state[c].what == kind::whole) return true;
            }
        }
        return false;
    }

    /// Whether the chunks of v may add their shares, one after the other, to memory that they all share. v must write
    /// one value, which is its only operand in that memory; its only result must live there too; and the rule must
    /// agree.
    bool can_be_chain(std::uint32_t v) {
        const auto writes = p_.writes[v];
        const std::uint32_t result = p_.first_result[v];
        if (writes.size() != 1 || p_.first_result[v + 1] != result + 1 || p_.components(result) != 1 ||
            p_.storage[result] != p_.storage[writes[0]])
            return false;
        std::size_t same = 0;
        for (std::uint32_t x : p_.operands[v]) same += p_.storage[x] == p_.storage[writes[0]];
        if (same != 1 || s_.chained_operand(v) == p_.operands[v].size()) return false;
        const chunk_verdict verdict = ask(v);
        return verdict.possible && verdict.chain && s_.state[p_.first_component[result]].what == kind::whole;
    }

    /// Asks the rule. If it accepts v and leaves the state of a result unset, that is recorded as the fault, even if
    /// refusals are skipped, because no state may be assumed.
    chunk_verdict ask(std::uint32_t v) {
        const std::span<chunk_state> results(s_.state.data() + p_.first_component[p_.first_result[v]],
                                             s_.state.data() + p_.first_component[p_.first_result[v + 1]]);
        for (chunk_state& s : results) s = {kind::unset};
        const chunk_verdict verdict =
            rule_(v, p_.tokens[p_.region[v]], std::span<const chunk_state>(operands_), results);
        for (std::uint32_t c = static_cast<std::uint32_t>(results.size()); verdict.possible && c-- > 0;)
            if (results[c].what == kind::unset) fault_ = {chunk_reason::result_unset, v, v, {}, c};
        return verdict;
    }

    /// Returns the verdict of the rule. If the rule refuses v because an operand is whole, that operand is cut along
    /// the wanted dimension, if possible, and the rule is asked again.
    chunk_verdict judge(std::uint32_t v) {
        const chunk_verdict verdict = ask(v);
        if (verdict.possible) return verdict;
        std::int32_t k = 0;
        for (std::uint32_t x : p_.operands[v]) {
            const bool wanted =
                verdict.wanted == k && p_.components(x) == 1 && p_.token_dim[x] < 0 && waits_[p_.producer[x]].empty();
            k += static_cast<std::int32_t>(p_.components(x));
            if (!wanted || operands_[static_cast<std::size_t>(verdict.wanted)].what != kind::whole) continue;
            if (!divisible(x, extent_(x, static_cast<std::size_t>(verdict.wanted_dim)))) continue;
            p_.token_dim[x] = verdict.wanted_dim;
            operands_[static_cast<std::size_t>(verdict.wanted)] = {kind::sliced, verdict.wanted_dim};
            again_ = true;  // other candidates may have seen it whole
            return judge(v);
        }
        return verdict;
    }

    /// Whether x may be cut along a dimension of this extent. Once it is cut, it is cut for every region that reads it,
    /// so the extent must be a multiple of the tokens of each of them, except where only refused candidates read it.
    bool divisible(std::uint32_t x, std::int64_t extent) const {
        return extent > 0 && std::ranges::all_of(p_.readers[x], [&](std::uint32_t u) {
                   return refused_[u] || p_.region[u] == chunk_program::no_region ||
                          extent % p_.tokens[p_.region[u]] == 0;
               });
    }

    /// Removes operations that only pass addends on to the outside; they run once, on the sum. An operation that reads
    /// an addend from a value with several components stays, because such a value cannot be summed.
    void take_out_tails() {
        // Readers are visited first, so one pass removes a whole series of such operations.
        for (std::uint32_t v = p_.size(); v-- > 0;) {
            if (!s_.body[v]) continue;
            bool tail = convert_sums_ || !converts_[v];
            s_.for_each_operand(v, [&](std::uint32_t x, chunk_state s) {
                tail = tail && (s.what == kind::whole || (s.what == kind::addend && p_.components(x) == 1));
            });
            for (std::uint32_t x = p_.first_result[v]; tail && x < p_.first_result[v + 1]; ++x)
                for (std::uint32_t u : p_.readers[x]) tail = tail && !s_.body[u];
            if (tail) s_.body[v] = false;
        }
    }

    /// Decides which writes to shared memory become chains. Addends that are only added there need not be summed first;
    /// if another operation reads their sum, the write runs once, on the sum. Rows that are added there are in parts in
    /// any case. The rule is asked again, because addends may have become whole by now.
    void take_in_chains() {
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            if (!s_.chain[v]) continue;
            const std::uint32_t r = p_.region[v];
            bool parts = false;                                 // whether an operand is still in parts
            bool alone = p_.token_dim[p_.first_result[v]] < 0;  // the result of a chain is never cut
            operands_.clear();
            s_.for_each_operand(v, [&](std::uint32_t x, chunk_state s) {
                operands_.push_back(s);
                if (s.what == kind::whole) return;
                parts = true;
                if (s.what != kind::addend) return;
                alone = alone && s_.made_in(r, x);
                for (std::uint32_t u : p_.readers[x]) alone = alone && p_.region[u] == r && (s_.body[u] || s_.chain[u]);
            });
            s_.chain[v] = s_.body[v] = parts && alone && can_be_chain(v);
        }
    }

    /// Removes operations whose results leave their region and cannot be recombined. Readers are visited first, because
    /// the operands of a removed reader leave the region too. Returns false if that must not happen.
    bool check_live_outs() {
        for (std::uint32_t v = p_.size(); v-- > 0;) {
            if (!s_.body[v]) continue;
            const std::optional<chunk_fault> fault = live_outs_.fault_of(v);
            if (!fault) continue;
            again_ = true;
            if (apart_.share(v)) continue;
            refuse(v, *fault);
            s_.body[v] = false;  // its operands now leave the region
            if (!skip_) return false;
        }
        return true;
    }

    /// Removes v for good, and records why, and from which refusal this one follows.
    void refuse(std::uint32_t v, const chunk_fault& why, bool inherent = false) {
        const auto possible = [&](std::span<const chunk_state> operands, std::span<chunk_state> results) {
            return rule_(v, p_.tokens[p_.region[v]], operands, results).possible;
        };
        refusals_.push_back({v, fault_ = why, causes_.note(v, why, inherent, possible)});
        refused_[v] = true;
    }

    chunk_program& p_;
    Rule rule_;
    Extent extent_;
    Zeros zeros_;
    bool skip_, convert_sums_;
    bool again_ = false;  // whether another sweep is needed
    const index_lists waits_ = waits_of_starts(p_);
    chunk_states s_{p_};
    chunk_zeros apart_{s_};
    chunk_live_outs live_outs_{s_, waits_};
    refusal_causes causes_{s_};
    std::vector<char> refused_;
    std::vector<char> converts_ = std::vector<char>(p_.size(), false);  // by vertex: the last verdict says `converts`
    std::vector<chunk_state> operands_;
    std::vector<chunk_refusal> refusals_;  // in the order in which they were found
    chunk_fault fault_{};
};

}  // namespace stretto::detail

#endif
