// The search of plan_chunks, on numbers: which candidates run per chunk, and in which state every value is.
//
// It starts from all candidates and takes out those that cannot stay. One sweep in program order gives every candidate
// the states of its operands and asks its rule for those of its results. A candidate that is refused runs whole; its
// readers come later, and are asked in the same sweep with what it makes whole. Two things need another sweep: an
// operand that is cut for a candidate after others have seen it whole, and a result that leaves its region and cannot
// be recombined there, so that its operation must run whole. An operation that was taken out never comes back, and an
// operand that was cut stays cut, which is why this ends.
//
// Longer than 300 lines: one search, pass by pass, over arrays that all passes share.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_SWEEP_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_SWEEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_program.hpp"

namespace stretto::detail {

/// Sweeps over the program, judging candidates by the states of their operands, until nothing changes. Asks
/// `rule(v, tokens, operands, results)` for a chunk_verdict, `extent(value, dim)`: -1 if there is none, and `zeros(v)`:
/// whether v makes nothing but zeros.
template <class Rule, class Extent, class Zeros>
class chunk_sweep {
public:
    chunk_sweep(chunk_program& program, Rule rule, Extent extent, Zeros zeros, bool skip_refused, bool convert_sums)
        : p_(program), rule_(rule), extent_(extent), zeros_(zeros), skip_(skip_refused), convert_sums_(convert_sums) {
        body_.assign(p_.size(), false);
        apart_.assign(p_.size(), apart::no);
        zeros_behind_.assign(p_.size(), none);
        chain_.assign(p_.size(), false);
        converts_.assign(p_.size(), false);
        cause_.assign(p_.size(), none);
        state_.resize(p_.first_component.back());
        index_lists launches;
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            if (p_.launch[v] != v) launches.push(p_.launch[v]);
            launches.close_row();
        }
        waits_ = launches.inverse(p_.size());
        keep_collectives_together();
        refused_ = p_.kept;
    }

    /// Whether the search has succeeded; if not, `fault()` says why. The number of rounds is bounded: every one but the
    /// last takes out a candidate or cuts an operand.
    bool run() {
        do {
            if (!sweep()) return false;
            take_out_tails();
            take_in_chains();
            if (share_idle_zeros()) continue;
            if (!check_live_outs()) return false;
        } while (again_);
        return true;
    }

    [[nodiscard]] const chunk_fault& fault() const { return fault_; }
    [[nodiscard]] bool in_body(std::uint32_t v) const { return body_[v]; }
    /// The candidates that a token reaches but that must stay whole, with the reasons. They are in program order.
    struct refusal {
        std::uint32_t vertex;
        chunk_fault why;
        std::uint32_t cause;  // the refusal that led to this one, or the vertex itself
    };
    [[nodiscard]] std::vector<refusal> refusals() const {
        std::vector<refusal> found = refusals_;
        std::sort(found.begin(), found.end(), [](const refusal& a, const refusal& b) { return a.vertex < b.vertex; });
        return found;
    }
    /// Whether an operation of the body writes memory that all chunks share, one chunk after the other.
    [[nodiscard]] bool is_chain(std::uint32_t v) const { return body_[v] && chain_[v]; }
    [[nodiscard]] bool together(std::uint32_t u, std::uint32_t v) const {
        return body_[u] && body_[v] && p_.region[u] == p_.region[v];
    }
    /// The operand that a chain writes.
    [[nodiscard]] std::uint32_t chained_operand(std::uint32_t v) const {
        std::uint32_t k = 0;
        for (std::uint32_t x : p_.operands[v]) {
            if (x == p_.writes[v][0]) break;
            ++k;
        }
        return k;
    }
    /// The state of a component that an operation of the body produces.
    [[nodiscard]] chunk_state state(std::uint32_t component) const { return state_[component]; }
    /// The state of component c of value x, as an operation of region r sees it.
    [[nodiscard]] chunk_state seen_in(std::uint32_t r, std::uint32_t x, std::uint32_t c) const {
        if (made_in(r, x)) return state_[c];
        if (p_.token_dim[x] < 0) return {};
        return {chunk_state::kind::sliced, p_.token_dim[x], 0};
    }

    /// Whether x is made in parts in region r.
    [[nodiscard]] bool made_in(std::uint32_t r, std::uint32_t x) const {
        return body_[p_.producer[x]] && p_.region[p_.producer[x]] == r;
    }

private:
    using kind = chunk_state::kind;
    static constexpr std::uint32_t none = chunk_program::none;

    /// If a start or one of its waits must stay whole, so must the others: a launch in chunks has a wait for each.
    void keep_collectives_together() {
        for (std::uint32_t w = 0; w < p_.size(); ++w)
            if (p_.kept[w]) p_.kept[p_.launch[w]] = true;
        for (std::uint32_t w = 0; w < p_.size(); ++w)
            if (p_.kept[p_.launch[w]]) p_.kept[w] = true;
    }

    /// Calls f(value, state) for each component of the operands of v, in order, as its region sees them.
    template <class F>
    void for_each_operand(std::uint32_t v, F f) const {
        for (std::uint32_t x : p_.operands[v])
            for (std::uint32_t c = p_.first_component[x]; c < p_.first_component[x + 1]; ++c)
                f(x, seen_in(p_.region[v], x, c));
    }

    /// Judges every candidate that has not been refused, in program order, so that the states of its operands are final
    /// in this round. Returns false if the search cannot go on: a rule has left a result unset, or a refusal is not to
    /// be skipped.
    bool sweep() {
        again_ = false;
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            body_[v] = chain_[v] = false;
            if (refused_[v]) continue;
            cause_[v] = cause_of_operands(v);
            if (p_.region[v] == chunk_program::no_region) continue;
            zeros_behind_[v] = find_zeros_behind(v);
            operands_.clear();
            // `rows` tells a candidate that has rows of its own chunk from one that only has addends: the latter can
            // run once on the sum, so that its refusal is no failure.
            bool reached = false, rows = false;
            for_each_operand(v, [&](std::uint32_t, chunk_state s) {
                operands_.push_back(s);
                reached = reached || s.what != kind::whole;
                rows = rows || (s.what != kind::whole && s.what != kind::addend);
            });
            if (!reached) {
                if (apart_[v] == apart::yes) body_[v] = true, make_addend(v);
                continue;
            }
            const bool shared = writes_what_is_shared(v);
            if (shared) chain_[v] = can_be_chain(v);
            if (chain_[v] && want_apart(v)) {
                // Back to where the zeros are made, before anything has read what the chain leaves.
                v = p_.producer[p_.storage[p_.writes[v][0]]] - 1;
                continue;
            }
            const chunk_verdict verdict = shared ? chunk_verdict{} : judge(v);
            if (fault_.why == chunk_reason::result_unset) return false;
            if (shared) continue;
            body_[v] = verdict.possible;
            converts_[v] = verdict.converts;
            if (verdict.possible && apart_[v] == apart::yes && result_state(v).what == kind::whole) make_addend(v);
            if (verdict.possible) continue;
            if (rows && share_zeros_behind(v)) continue;
            refuse(v, {rows ? chunk_reason::refused : chunk_reason::only_sums, v, v, std::string(verdict.reason)},
                   verdict.inherent);
            if (!skip_ && rows) return false;
        }
        return true;
    }

    /// Memory that all chunks share is written once, by the operation as it is, unless take_in_chains finds something
    /// better. The same holds if the operation also reads that memory through another value that is not in parts of
    /// this chunk: the next chunk would read what this one has written.
    bool writes_what_is_shared(std::uint32_t v) const {
        const std::uint32_t r = p_.region[v];
        for (std::uint32_t x : p_.writes[v]) {
            if (seen_in(r, x, p_.first_component[x]).what == kind::whole) return true;
            for (std::uint32_t y : p_.operands[v]) {
                if (y == x || p_.storage[y] != p_.storage[x]) continue;
                if (!made_in(r, y)) return true;
                for (std::uint32_t c = p_.first_component[y]; c < p_.first_component[y + 1]; ++c)
                    if (state_[c].what == kind::whole) return true;
            }
        }
        return false;
    }

    /// Whether each chunk may write its share into the memory in which all chunks write. There must be only one such
    /// value; nothing else may be read through its memory, and the result must be in it.
    bool can_be_chain(std::uint32_t v) {
        const auto writes = p_.writes[v];
        const std::uint32_t result = p_.first_result[v];
        if (writes.size() != 1 || p_.first_result[v + 1] != result + 1 || p_.components(result) != 1 ||
            p_.storage[result] != p_.storage[writes[0]])
            return false;
        std::size_t same = 0;
        for (std::uint32_t x : p_.operands[v]) same += p_.storage[x] == p_.storage[writes[0]];
        if (same != 1 || chained_operand(v) == p_.operands[v].size()) return false;
        const chunk_verdict verdict = ask(v);
        return verdict.possible && verdict.chain && state_[p_.first_component[result]].what == kind::whole;
    }

    /// Whether zeros, made by one operation of the region, are to be made by each chunk for itself, so that what chain
    /// v adds to them is a sum that its readers have in parts, instead of a whole for which all chunks must have run.
    bool want_apart(std::uint32_t v) {
        const std::uint32_t x = p_.storage[p_.writes[v][0]], z = p_.producer[x];
        if (apart_[z] != apart::no || refused_[z] || p_.region[z] != p_.region[v] || p_.controlled[z] || !zeros_(z) ||
            p_.first_result[z + 1] != p_.first_result[z] + 1 || p_.components(x) != 1 || p_.token_dim[x] >= 0 ||
            !p_.writes[z].empty())
            return false;
        apart_[z] = apart::yes;
        return true;
    }
    /// An operation that makes zeros in every chunk, from which v or an operand of v has its sums; none if there is
    /// none.
    [[nodiscard]] std::uint32_t find_zeros_behind(std::uint32_t v) const {
        if (apart_[v] == apart::yes) return v;
        for (std::uint32_t x : p_.operands[v])
            if (made_in(p_.region[v], x) && zeros_behind_[p_.producer[x]] != none) return zeros_behind_[p_.producer[x]];
        return none;
    }
    /// Zeros behind an operation that is refused beside them are shared after all: what chunks add to them is whole
    /// then, which v may be able to read. Returns whether there are such zeros.
    bool share_zeros_behind(std::uint32_t v) {
        const std::uint32_t z = zeros_behind_[v];
        if (z == none || apart_[z] != apart::yes) return false;
        apart_[z] = apart::denied;
        return again_ = true;
    }
    [[nodiscard]] const chunk_state& result_state(std::uint32_t v) const {
        return state_[p_.first_component[p_.first_result[v]]];
    }
    void make_addend(std::uint32_t z) { state_[p_.first_component[p_.first_result[z]]] = {kind::addend, -1, 0, 0, 0}; }

    /// Zeros are shared after all, and what is added to them is a chain, if no operation of the body has use for the
    /// parts: each of those that read them, or what is made of them, reads nothing but sums. Returns whether there are
    /// such zeros.
    bool share_idle_zeros() {
        if (std::find(apart_.begin(), apart_.end(), apart::yes) == apart_.end()) return false;
        std::vector<char> useful(p_.size(), false);        // reads rows of a chunk, or is read by what does
        std::vector<char> read(p_.storage.size(), false);  // by storage: by something useful that does not write it
        for (std::uint32_t v = p_.size(); v-- > 0;) {
            if (!body_[v]) continue;
            bool uses = false;
            for_each_operand(v, [&](std::uint32_t, chunk_state s) {
                uses = uses || (s.what != kind::whole && s.what != kind::addend);
            });
            for (std::uint32_t x = p_.first_result[v]; !uses && x < p_.first_result[v + 1]; ++x)
                for (std::uint32_t u : p_.readers[x]) uses = uses || (useful[u] && p_.region[u] == p_.region[v]);
            useful[v] = uses;
            if (!uses) continue;
            for (std::uint32_t x : p_.operands[v]) {
                bool written = false;
                for (std::uint32_t w : p_.writes[v]) written = written || p_.storage[w] == p_.storage[x];
                if (!written) read[p_.storage[x]] = true;
            }
        }
        bool any = false;
        for (std::uint32_t z = 0; z < p_.size(); ++z) {
            if (apart_[z] != apart::yes || read[p_.storage[p_.first_result[z]]]) continue;
            apart_[z] = apart::denied;
            any = again_ = true;
        }
        return any;
    }

    /// Asks the rule. If it accepts an operation and leaves a state of a result unset, that is the fault, even when
    /// refusals are skipped: no state may be taken for granted.
    chunk_verdict ask(std::uint32_t v) {
        const std::span<chunk_state> results(state_.data() + p_.first_component[p_.first_result[v]],
                                             state_.data() + p_.first_component[p_.first_result[v + 1]]);
        for (chunk_state& s : results) s = {kind::unset};
        const chunk_verdict verdict =
            rule_(v, p_.tokens[p_.region[v]], std::span<const chunk_state>(operands_), results);
        for (std::uint32_t c = static_cast<std::uint32_t>(results.size()); verdict.possible && c-- > 0;)
            if (results[c].what == kind::unset) fault_ = {chunk_reason::result_unset, v, v, {}, c};
        return verdict;
    }

    /// The verdict of the rule. If it refuses because an operand is whole along a chunked dimension, that operand is
    /// cut, if possible, and the rule is asked again.
    chunk_verdict judge(std::uint32_t v) {
        const chunk_verdict verdict = ask(v);
        if (verdict.possible) return verdict;
        std::int32_t k = 0;
        for (std::uint32_t x : p_.operands[v]) {
            const bool wanted =
                verdict.wanted == k && p_.components(x) == 1 && p_.token_dim[x] < 0 && waits_[p_.producer[x]].empty();
            k += static_cast<std::int32_t>(p_.components(x));
            if (!wanted || operands_[static_cast<std::size_t>(verdict.wanted)].what != kind::whole) continue;
            const std::int64_t extent = extent_(x, static_cast<std::size_t>(verdict.wanted_dim));
            if (extent <= 0 || extent % p_.tokens[p_.region[v]] != 0) continue;
            p_.token_dim[x] = verdict.wanted_dim;
            operands_[static_cast<std::size_t>(verdict.wanted)] = {kind::sliced, verdict.wanted_dim};
            again_ = true;  // others have seen it whole
            return judge(v);
        }
        return verdict;
    }

    /// Operations that only pass addends on to the outside run once, on the sum. Those that take an addend out of a
    /// value with several components do not: such a value has no sum.
    void take_out_tails() {
        // Readers come first, so that a whole series of such operations is taken out in one pass.
        for (std::uint32_t v = p_.size(); v-- > 0;) {
            if (!body_[v]) continue;
            bool tail = convert_sums_ || !converts_[v];
            for_each_operand(v, [&](std::uint32_t x, chunk_state s) {
                tail = tail && (s.what == kind::whole || (s.what == kind::addend && p_.components(x) == 1));
            });
            for (std::uint32_t x = p_.first_result[v]; tail && x < p_.first_result[v + 1]; ++x)
                for (std::uint32_t u : p_.readers[x]) tail = tail && !body_[u];
            if (tail) body_[v] = false;
        }
    }

    /// What is added to shared memory need not be summed first, unless something else reads the sum. Rows that are
    /// added there are in parts in any case. The rule is asked again, because sums may have become whole by now.
    void take_in_chains() {
        for (std::uint32_t v = 0; v < p_.size(); ++v) {
            if (!chain_[v]) continue;
            const std::uint32_t r = p_.region[v];
            bool parts = false;                                 // they may have become a sum by now
            bool alone = p_.token_dim[p_.first_result[v]] < 0;  // what a chain leaves is not cut
            operands_.clear();
            for_each_operand(v, [&](std::uint32_t x, chunk_state s) {
                operands_.push_back(s);
                if (s.what == kind::whole) return;
                parts = true;
                if (s.what != kind::addend) return;
                alone = alone && made_in(r, x);
                for (std::uint32_t u : p_.readers[x]) alone = alone && p_.region[u] == r && (body_[u] || chain_[u]);
            });
            chain_[v] = body_[v] = parts && alone && can_be_chain(v);
        }
    }

    /// A value that leaves a region must recombine in a known way, must have arrived, and must not change any more.
    bool check_live_outs() {
        using reason = chunk_reason;
        for (std::uint32_t v = p_.size(); v-- > 0;) {
            if (!body_[v]) continue;
            bool fine = together(p_.launch[v], v) || note({reason::left_in_flight, p_.launch[v], v, {}});
            for (std::uint32_t w : waits_[v])
                fine = fine && (together(w, v) || note({reason::left_in_flight, v, w, {}}));
            for (std::uint32_t x = p_.first_result[v]; fine && x < p_.first_result[v + 1]; ++x) {
                std::uint32_t last_write = 0;
                for (std::uint32_t w : p_.writers[p_.storage[x]]) {
                    if (chain_[v]) break;  // no parts: whoever writes or reads the memory finds it whole
                    if (together(w, v)) last_write = w;
                    else fine = fine && note({reason::written_outside, v, w, {}});
                }
                bool first = true;  // of the readers outside
                for (std::uint32_t u : p_.readers[x]) {
                    if (together(u, v)) continue;
                    if (!waits_[v].empty() || (std::exchange(first, false) && !has_arrived(x, u)))
                        fine = fine && note({reason::left_in_flight, v, u, {}});
                    else if (!is_known(x)) fine = fine && note({reason::unknown_live_out, v, u, {}});
                    else if (u < last_write) fine = fine && note({reason::read_between_writes, v, u, {}});
                }
            }
            if (fine) continue;
            if (apart_[v] == apart::yes) {
                apart_[v] = apart::denied;  // zeros that all chunks share, as they were
                again_ = true;
                continue;
            }
            refuse(v, fault_);
            body_[v] = false;  // what it reads now leaves the region
            again_ = true;
            if (!skip_) return false;
        }
        return true;
    }

    /// Whether all collectives that bring parts of x have arrived where the parts are recombined: where x is made, or,
    /// if something writes its memory, in front of u, which is the first outside to read it. What nothing waits for
    /// never arrives. The same value in all chunks is not recombined.
    [[nodiscard]] bool has_arrived(std::uint32_t x, std::uint32_t u) const {
        if (state_[p_.first_component[x]].what == kind::whole) return true;
        const std::uint32_t m = p_.storage[x], v = p_.producer[x];
        const std::uint32_t last = p_.writers[m].empty() ? v : u - 1;
        for (std::uint32_t start : p_.launches[m]) {
            if (start > last) break;
            if (waits_[start].empty() || waits_[start].back() > last) return false;
        }
        return true;
    }

    /// Whether the parts of x recombine to x. Integers that count rows from the first one of the chunk do not.
    [[nodiscard]] bool is_known(std::uint32_t x) const {
        const chunk_state& s = state_[p_.first_component[x]];
        if (p_.components(x) != 1) return false;
        return s.what == kind::sliced ? s.positions == 0 && s.into == 0
                                      : s.what == kind::whole || s.what == kind::addend;
    }

    /// Takes v out for good, and notes which refusal this one follows from: that of an operand, unless the reason is
    /// `inherent`, which means that v does what no rule allows, whatever it reads.
    void refuse(std::uint32_t v, const chunk_fault& why, bool inherent = false) {
        std::uint32_t cause = none;
        if (why.why == chunk_reason::refused && !inherent) cause = cause_of_operands(v);
        for (std::uint32_t u : {why.vertex, why.other})
            if (cause == none && u != v && !body_[u] && p_.region[u] != chunk_program::no_region) cause = cause_[u];
        if (cause == none) cause = v;
        if (why.why != chunk_reason::only_sums) cause_[v] = cause;  // a sum is whole, but not for want of a rule
        refused_[v] = true;
        refusals_.push_back({v, fault_ = why, cause});
    }
    /// The refusal that left an operand of v whole, or an operand of what made it, and so on: cut again, its rows are
    /// those of no order but the tokens'. None if there is none.
    [[nodiscard]] std::uint32_t cause_of_operands(std::uint32_t v) const {
        for (std::uint32_t x : p_.operands[v])
            if (cause_[p_.producer[x]] != none) return cause_[p_.producer[x]];
        return none;
    }

    bool note(const chunk_fault& fault) {  // always false
        fault_ = fault;
        return false;
    }

    /// Whether an operation that makes zeros is to run in every chunk.
    enum class apart : std::uint8_t {
        no,
        yes,
        denied
    };

    chunk_program& p_;
    Rule rule_;
    Extent extent_;
    Zeros zeros_;
    bool skip_, convert_sums_;
    bool again_ = false;
    index_lists waits_;  // start -> waits
    std::vector<char> body_, refused_;
    std::vector<apart> apart_;
    std::vector<std::uint32_t> zeros_behind_;  // of an operation: see find_zeros_behind
    std::vector<char> chain_;                  // may add its addend in place, chunk by chunk
    std::vector<char> converts_;               // as its verdict says
    std::vector<std::uint32_t> cause_;         // of an operation: the refusal that it follows from, or none
    std::vector<chunk_state> state_;           // by component
    std::vector<chunk_state> operands_;
    std::vector<refusal> refusals_;  // in the order in which they were found
    chunk_fault fault_{};
};

}  // namespace stretto::detail

#endif
