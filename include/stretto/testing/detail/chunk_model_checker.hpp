// The rules of check_chunk_model. A function returns a finding without a rule if nothing is wrong.
//
// There are two kinds of queries. Single operations are queried with operands in random states, which reaches states
// that do not occur in small programs. And chunks are carried through the program from one value, because only this
// shows whether consecutive operations interpret orders and row numbers in the same way.
//
// Longer than 300 lines: choosing states, querying and comparing share all data about the program.
#ifndef STRETTO_TESTING_DETAIL_CHUNK_MODEL_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_CHUNK_MODEL_CHECKER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/chunk_relation.hpp"
#include "stretto/testing/detail/chunked_sample.hpp"
#include "stretto/testing/detail/host_program.hpp"
#include "stretto/testing/detail/operand_samples.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// The checks of one chunk model on one program. Call compute_whole() first, then the others, each until it finds
/// something.
template <class G, class M, class C, class Evaluate, class Options, class Summary>
class chunk_model_checker {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    chunk_model_checker(const G& g, const M& model, const C& chunks, Evaluate& evaluate, const Options& options)
        : g_(g),
          model_(model),
          chunks_(chunks),
          options_(options),
          pick_(options.seed),
          alike_(options.seed + 1),
          program_(g, chunks, evaluate, options.most_elements) {}

    [[nodiscard]] const Summary& summary() const { return summary_; }

    /// Computes the contents of all values. It reports values for which `evaluate` and the model disagree about shapes.
    finding compute_whole() {
        finding f = program_.compute(pick_);
        accepted_.assign(program_.vertices.size(), false);
        claimed_.assign(program_.vertices.size(), false);
        refusals_.resize(program_.vertices.size());
        return f;
    }

    /// Queries every operation separately, with operands that are cut alike, and with operands in random states.
    finding try_operations() {
        for (std::size_t v = 0; v < program_.vertices.size(); ++v) {
            if (!is_asked(v)) continue;
            ++summary_.operations;
            if (finding f = check_widening(v); *f.rule) return f;
            if (finding f = try_alike(v); *f.rule) return f;
            for (std::size_t k = 0; k < options_.cases; ++k)
                if (finding f = try_case(v); *f.rule) return f;
        }
        return {};
    }

    /// Carries random chunks of a value through the program. Operations that the model refuses are computed whole; so
    /// are, at random, some that it accepts.
    finding walk_program() {
        for (std::size_t k = 0; k < options_.walks; ++k)
            if (finding f = walk_once(); *f.rule) return f;
        for (std::size_t v = 0; v < program_.vertices.size(); ++v) {
            summary_.never_accepted += is_asked(v) && !accepted_[v];
            if (reads(v) && !accepted_[v]) summary_.unaccepted.push_back({v, why_unaccepted(v)});
        }
        return {};
    }

private:
    /// The refusal that is kept for one operation: the first, or the first that is about the operation itself.
    struct refusal {
        std::string reason;
        bool inherent = false, any = false;
    };

    /// Whether v reads something, and is neither an input nor an output.
    [[nodiscard]] bool reads(std::size_t v) const {
        const op_kind kind = model_.kind(program_.vertices[v]);
        return kind != op_kind::input && kind != op_kind::output && !program_.operands[v].empty();
    }
    /// Whether the model is asked about v: it reads something, and the contents of its operands and results are known.
    [[nodiscard]] bool is_asked(std::size_t v) const { return reads(v) && program_.is_complete(v); }
    [[nodiscard]] std::string why_unaccepted(std::size_t v) const {
        if (!program_.is_complete(v)) return "it reads or makes a value of too many elements to be computed";
        if (claimed_[v]) return "accepted, but evaluate does not compute it, whole and in parts";
        if (!refusals_[v].any) return "it was never asked about: what it reads has no rows to cut";
        return refusals_[v].reason.empty() ? "refused without a reason" : refusals_[v].reason;
    }
    void note_refusal(std::size_t v, const chunk_verdict& verdict) {
        ++summary_.refused;
        refusal& kept = refusals_[v];
        if (!kept.any || (verdict.inherent && !kept.inherent))
            kept = {std::string(verdict.reason), verdict.inherent, true};
    }
    [[nodiscard]] const host_value& whole(std::uint32_t x) const { return program_.values[x]; }

    /// Checks that v does no more than convert its operand, if the model says that a sum does so as well.
    finding check_widening(std::size_t v) const {
        if (program_.is_made_up[v] || !sum_widens(chunks_, program_.vertices[v])) return {};
        const std::vector<std::uint32_t>&in = program_.operands[v], &out = program_.results[v];
        const auto is_tensor = [&](const std::vector<std::uint32_t>& all) {
            return all.size() == 1 && whole(all[0]).tensors.size() == 1;
        };
        if (is_tensor(in) && is_tensor(out) && whole(in[0]).tensors[0].shape == whole(out[0]).tensors[0].shape &&
            whole(in[0]).tensors[0].elements == whole(out[0]).tensors[0].elements)
            return {};
        return {.rule = "widening",
                .hint = "sum_widens is for operations that make one tensor of one other, with the same elements",
                .vertex = v};
    }

    /// Queries v with every subset of its operands cut alike, if there are at most three operands. In random states two
    /// operands are rarely sums at once, so a rule that adds where it should multiply would pass.
    finding try_alike(std::size_t v) {
        const std::size_t operands = different_operands(program_, v).size();
        if (operands > 3) return {};
        for (std::size_t chosen = 1; chosen < std::size_t{1} << operands; ++chosen)
            for (const cut_alike how : {cut_alike::first, cut_alike::second, cut_alike::third, cut_alike::sum}) {
                const sample_region region = some_region(program_, v, alike_);
                if (finding f = ask(v, region, operands_alike(program_, v, region, chosen, how, alike_)); *f.rule)
                    return f;
            }
        return {};
    }
    /// Asks about v once, with a random region and operands in random states.
    finding try_case(std::size_t v) {
        const sample_region region = some_region(program_, v, pick_);
        return ask(v, region, random_operands(program_, v, region, pick_));
    }
    /// Asks about v, unless there are no operands or nothing of them is cut.
    finding ask(std::size_t v, const sample_region& region, const std::vector<chunked_sample>& in) {
        if (std::all_of(in.begin(), in.end(), [](const chunked_sample& x) { return x.is_whole(); })) return {};
        chunked_sample out;
        order_book nothing_known;
        chunk_verdict verdict;
        return compare(v, region, in, out, verdict, nothing_known);
    }

    /// Cuts one value, and follows what reads its parts to the end of the program.
    finding walk_once() {
        std::vector<std::pair<std::uint32_t, std::size_t>> tensors;  // values of one tensor, and a dimension of each
        for (std::uint32_t x = 0; x < program_.values.size(); ++x)
            if (program_.is_known[x] && whole(x).tensors.size() == 1)
                for (std::size_t d = 0; d < whole(x).tensors[0].rank(); ++d)
                    if (whole(x).tensors[0].extent(d) > 1) tensors.push_back({x, d});
        if (tensors.empty()) return {};
        const auto [tokens, dim] = tensors[pick_.below(tensors.size())];
        sample_region region;
        region.tokens = pick_.divisor(whole(tokens).tensors[0].extent(dim));
        if (region.tokens == 0) return {};
        region.chunks = pick_.chunks(region.tokens);

        std::vector<chunked_sample> at(program_.values.size());  // a value without parts is whole
        at[tokens] = share_sample(whole(tokens), region);
        cut_rows(at[tokens], 0, dim, region, nullptr);
        order_book book;
        for (std::size_t v = program_.producer[tokens] + 1; v < program_.vertices.size(); ++v) {
            if (!is_asked(v)) continue;
            std::vector<chunked_sample> in;
            bool cut = false;
            for (std::uint32_t x : program_.operands[v]) {
                in.push_back(at[x].parts.empty() ? share_sample(whole(x), region) : at[x]);
                cut = cut || !in.back().is_whole();
            }
            if (!cut) continue;
            chunked_sample out;
            chunk_verdict verdict;
            finding f = compare(v, region, in, out, verdict, book);
            // The query is repeated once with the operand that the refusal requested; then the operation is computed
            // whole.
            if (!verdict.possible && cut_wanted(v, verdict, region, in)) f = compare(v, region, in, out, verdict, book);
            if (*f.rule) return f;
            // Its results stay whole. One in 16 is kept whole on purpose, so that readers meet cut and whole operands
            // side by side.
            if (out.parts.empty() || verdict.chain || pick_.one_in(16)) continue;
            std::size_t first = 0;  // its first state, among those of all results
            for (std::size_t k = 0; k < program_.results[v].size(); ++k) {
                const std::uint32_t x = program_.results[v][k];
                chunked_sample own;
                const std::size_t n = whole(x).is_number() ? 1 : whole(x).tensors.size();
                own.states.assign(out.states.begin() + static_cast<std::ptrdiff_t>(first),
                                  out.states.begin() + static_cast<std::ptrdiff_t>(first + n));
                first += n;
                for (std::size_t c = 0; c < region.chunks.size(); ++c)
                    own.parts.push_back(out.parts[c * program_.results[v].size() + k]);
                if (!whole(x).is_number())
                    for (std::size_t c = 0; c < n; ++c)
                        if (const std::string_view wrong = book.note(whole(x).tensors[c], own.parts, c, own.states[c]);
                            !wrong.empty())
                            return report("states", "the parts are not what the states of the results say", v, region,
                                          in, std::string(wrong));
                at[x] = std::move(own);
            }
        }
        return {};
    }

    /// Cuts the operand that a refusal asks for, as a planner does. False if this is impossible.
    bool cut_wanted(std::size_t v, const chunk_verdict& verdict, const sample_region& region,
                    std::vector<chunked_sample>& in) {
        if (verdict.wanted < 0 || verdict.wanted_dim < 0) return false;
        auto left = static_cast<std::size_t>(verdict.wanted);
        for (std::size_t k = 0; k < in.size(); ++k) {
            if (left >= in[k].states.size()) {
                left -= in[k].states.size();
                continue;
            }
            const auto dim = static_cast<std::size_t>(verdict.wanted_dim);
            const host_value& x = whole(program_.operands[v][k]);
            if (!in[k].is_whole() || x.tensors.size() != 1 || dim >= x.tensors[0].rank() ||
                x.tensors[0].extent(dim) % region.tokens != 0)
                return false;
            cut_rows(in[k], 0, dim, region, nullptr);
            for (std::size_t other = 0; other < in.size(); ++other)
                if (program_.operands[v][other] == program_.operands[v][k]) in[other] = in[k];
            return true;
        }
        return false;
    }

    /// Asks about one operation and compares the answer with what is computed. Parts of results are listed chunk by
    /// chunk; there are none if the model refuses, or if nothing was computed. A refusal is never wrong here, only
    /// counted: a model may know less than is true, but what it claims must hold.
    finding compare(std::size_t v, const sample_region& region, const std::vector<chunked_sample>& in,
                    chunked_sample& out, chunk_verdict& verdict, const order_book& book) {
        const V vertex = program_.vertices[v];
        std::vector<chunk_state> operands;
        for (const chunked_sample& x : in) operands.insert(operands.end(), x.states.begin(), x.states.end());
        std::size_t components = 0;
        for (std::uint32_t x : program_.results[v]) components += whole(x).is_number() ? 1 : whole(x).tensors.size();

        const chunk_state unset{chunk_state::kind::unset};
        std::vector<chunk_state> results(components, unset), again(components, unset);
        ++summary_.asked;
        verdict = chunks_.combine_rule(vertex, region.tokens, operands, results);
        const chunk_verdict second = chunks_.combine_rule(vertex, region.tokens, operands, again);
        if (verdict.possible != second.possible || verdict.chain != second.chain)
            return report("repeatable", "combine_rule answers differently when asked again", v, region, in);
        if (verdict.model_faulty)
            return report("rule",
                          "the model contradicts the program, which a plan would take for a refusal; is an operand "
                          "counted wrongly?",
                          v, region, in, std::string(verdict.reason));
        if (!verdict.possible) return note_refusal(v, verdict), finding{};
        claimed_[v] = true;
        for (std::size_t k = 0; k < components; ++k) {
            if (results[k].what == chunk_state::kind::unset)
                return report("unset", "combine_rule says yes, and does not say what a result is", v, region, in,
                              "result component " + std::to_string(k));
            if (results[k].what != again[k].what || results[k].dim != again[k].dim ||
                results[k].positions != again[k].positions)
                return report("repeatable", "combine_rule answers differently when asked again", v, region, in);
        }
        out.states = results;
        return verdict.chain ? compare_chain(v, region, in, operands, results)
                             : compare_parts(v, region, in, operands, out, book);
    }

    /// Computes v on each part, and compares the parts of its results with the whole results.
    finding compare_parts(std::size_t v, const sample_region& region, const std::vector<chunked_sample>& in,
                          const std::vector<chunk_state>& operands, chunked_sample& out, const order_book& book) {
        const std::size_t results = program_.results[v].size();
        for (std::size_t c = 0; c < region.chunks.size(); ++c) {
            std::vector<host_value> own;
            for (const chunked_sample& x : in) own.push_back(x.parts[c]);
            std::vector<host_value> made = run(v, own, region, c, operands, out.states);
            if (made.size() == results) {
                for (host_value& x : made) out.parts.push_back(std::move(x));
                continue;
            }
            out.parts.clear();
            ++summary_.not_computed;
            // Some operations, such as the largest element, are undefined on zero rows.
            if (program_.is_made_up[v] || region.chunks[c].count == 0) return {};
            return report("computable", "the whole can be computed, and a part that the model accepts cannot", v,
                          region, in);
        }
        if (results == 0 || program_.is_made_up[v]) return {};
        const chunk_relation relation(
            region.tokens, region.chunks, [&](std::uint32_t order) { return book.find(order); }, options_.tolerance,
            options_.row_tolerance);
        std::size_t first = 0;
        for (std::size_t k = 0; k < results; ++k) {
            const host_value& x = whole(program_.results[v][k]);
            std::vector<host_value> parts;
            for (std::size_t c = 0; c < region.chunks.size(); ++c) parts.push_back(out.parts[c * results + k]);
            const std::size_t n = x.is_number() ? 1 : x.tensors.size();
            const std::string wrong = relation.check(x, parts, std::span(out.states).subspan(first, n));
            if (!wrong.empty())
                return report(
                    "states", "the parts are not what the states of the results say", v, region, in,
                    "result " + std::to_string(k) + " is said to be " + state_text(out.states[first]) + ": " + wrong);
            summary_.number_sums += x.is_number() && out.states[first].what == chunk_state::kind::addend;
            first += n;
        }
        ++summary_.accepted;
        accepted_[v] = true;
        return {};
    }

    /// Every clone accumulates onto the result of the previous one; the last one must yield the whole result.
    finding compare_chain(std::size_t v, const sample_region& region, const std::vector<chunked_sample>& in,
                          const std::vector<chunk_state>& operands, const std::vector<chunk_state>& states) {
        std::size_t chained = in.size();
        for_each_effect<G>(model_, program_.vertices[v], [&](X x) {
            for (std::size_t k = 0; k < in.size(); ++k)
                if (program_.operands[v][k] == program_.number(g_, x) && in[k].is_whole() && chained == in.size())
                    chained = k;
        });
        if (chained == in.size() || program_.results[v].size() != 1)
            return report("chain", "a chain writes an operand that is whole, and leaves it as its only result", v,
                          region, in);
        std::vector<host_value> left;
        for (std::size_t c = 0; c < region.chunks.size(); ++c) {
            std::vector<host_value> own;
            for (const chunked_sample& x : in) own.push_back(x.parts[c]);
            if (!left.empty()) own[chained] = left[0];
            left = run(v, own, region, c, operands, states);
            if (left.empty()) return ++summary_.not_computed, finding{};
        }
        if (program_.is_made_up[v]) return {};
        const chunk_relation relation(
            region.tokens, region.chunks, [](std::uint32_t) -> const known_rows* { return nullptr; },
            options_.tolerance, options_.tolerance);
        const std::string wrong = relation.check(whole(program_.results[v][0]), left, states);
        if (!wrong.empty())
            return report("chain", "the last clone of a chain does not leave what the operation does", v, region, in,
                          wrong);
        ++summary_.accepted;
        accepted_[v] = true;
        return {};
    }

    /// The results of v on the operands of chunk c; empty if `evaluate` cannot compute them.
    std::vector<host_value> run(std::size_t v, const std::vector<host_value>& own, const sample_region& region,
                                std::size_t c, std::span<const chunk_state> operands,
                                std::span<const chunk_state> results) {
        const auto chunks = static_cast<std::uint32_t>(region.chunks.size());
        return program_.run(
            v, own,
            chunk_part{static_cast<std::uint32_t>(c), chunks, region.tokens, region.chunks[c], operands, results, 0});
    }

    /// A finding about v that lists the states and chunks of the query, so that the query can be reproduced.
    finding report(const char* rule, const char* hint, std::size_t v, const sample_region& region,
                   const std::vector<chunked_sample>& in, const std::string& wrong = {}) const {
        finding f{.rule = rule, .hint = hint, .vertex = v};
        f.detail = "operands ";
        for (std::size_t k = 0; k < in.size(); ++k)
            for (std::size_t c = 0; c < in[k].states.size(); ++c)
                f.detail += (k + c ? ", " : "") + state_text(in[k].states[c]);
        f.detail += "; " + std::to_string(region.tokens) + " tokens in chunks of ";
        for (std::size_t c = 0; c < region.chunks.size(); ++c)
            f.detail += (c ? ", " : "") + std::to_string(region.chunks[c].count);
        if (!wrong.empty()) f.detail += "; " + wrong;
        return f;
    }

    G g_;
    M model_;
    C chunks_;
    Options options_;
    sample_source pick_, alike_;
    host_program<G, C, Evaluate> program_;
    std::vector<char> accepted_, claimed_;  // by vertex: a verdict was proved; one was given
    std::vector<refusal> refusals_;         // by vertex
    Summary summary_;
};

}  // namespace stretto::detail

#endif
