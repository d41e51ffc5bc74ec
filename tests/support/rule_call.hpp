// A call made up to ask one rule of chunking: operands by shape and state, results by shape.
#ifndef STRETTO_TESTS_SUPPORT_RULE_CALL_HPP
#define STRETTO_TESTS_SUPPORT_RULE_CALL_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/row_orders.hpp"

namespace support {

inline constexpr stretto::chunk_state whole{};
inline constexpr stretto::chunk_state addend = stretto::chunk_rules::a_sum;
constexpr stretto::chunk_state sliced(int dim, std::int64_t positions = 0) {
    return {stretto::chunk_state::kind::sliced, static_cast<std::int8_t>(dim), positions, 0, 0};
}
constexpr stretto::chunk_state permuted(int dim, std::uint32_t order, std::uint32_t into = 0) {
    return {stretto::chunk_state::kind::permuted, static_cast<std::int8_t>(dim), 0, order, into};
}

/// Orders stay as they are from one question to the next; operands and results are those of one call.
class rule_call {
public:
    std::int64_t tokens = 4;
    stretto::row_orders orders;
    stretto::chunk_rules::call_history history;
    stretto::chunk_verdict verdict;
    std::vector<stretto::chunk_state> results;

    rule_call& tensor(std::vector<std::int64_t> shape, stretto::chunk_state state = whole,
                      stretto::element_type element = stretto::element_type::f32) {
        operands_.push_back({types_.size(), 1, static_cast<std::int64_t>(operands_.size())});
        types_.push_back({shapes_.emplace_back(std::move(shape)), element});
        states_.push_back(state);
        return *this;
    }
    rule_call& number(stretto::chunk_state state = whole) {
        operands_.push_back({types_.size(), 0, static_cast<std::int64_t>(operands_.size())});
        types_.push_back({});
        states_.push_back(state);
        return *this;
    }
    /// The operand before, and this one, are components of one value.
    rule_call& beside(std::vector<std::int64_t> shape, stretto::chunk_state state = whole) {
        ++operands_.back().tensors;
        types_.push_back({shapes_.emplace_back(std::move(shape)), stretto::element_type::f32});
        states_.push_back(state);
        return *this;
    }
    rule_call& makes(std::vector<std::int64_t> shape, stretto::element_type element = stretto::element_type::f32) {
        result_types_.push_back({shapes_.emplace_back(std::move(shape)), element});
        return *this;
    }

    /// The state of the first result; `unset` if the rule refuses. Afterwards there is no call any more.
    stretto::chunk_state gives(const stretto::chunk_rules::any_rule& rule) {
        results.assign(result_types_.empty() ? 1 : result_types_.size(), {stretto::chunk_state::kind::unset});
        if (result_types_.empty()) result_types_.emplace_back();
        verdict = rule.verdict({.name = "op",
                                .key = 77,
                                .tokens = tokens,
                                .operands = operands_,
                                .types = types_,
                                .states = states_,
                                .result_types = result_types_,
                                .results = results,
                                .orders = &orders,
                                .history = history});
        operands_.clear();
        types_.clear();
        states_.clear();
        result_types_.clear();
        return verdict.possible ? results[0] : stretto::chunk_state{stretto::chunk_state::kind::unset};
    }
    /// Why the rule refuses; empty if it does not.
    std::string refuses(const stretto::chunk_rules::any_rule& rule) {
        gives(rule);
        return std::string(verdict.reason);
    }
    /// The operand that a refusal wants cut, and along which dimension; {-1, -1} for none.
    std::pair<int, int> wants(const stretto::chunk_rules::any_rule& rule) {
        gives(rule);
        return {verdict.wanted, verdict.wanted_dim};
    }

private:
    std::deque<std::vector<std::int64_t>> shapes_;
    std::vector<stretto::chunk_rules::call_operand> operands_;
    std::vector<stretto::tensor_type> types_, result_types_;
    std::vector<stretto::chunk_state> states_;
};

}  // namespace support

namespace stretto {
/// For messages of failed checks.
inline std::ostream& operator<<(std::ostream& out, const chunk_state& s) {
    return out << static_cast<int>(s.what) << '(' << static_cast<int>(s.dim) << ") positions " << s.positions
               << " order " << s.order << " into " << s.into;
}
}  // namespace stretto

#endif
