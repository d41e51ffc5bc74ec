// A rule: a kind of operation with its members. A dialect returns the rule of each operation that it is asked about.
//
// Kinds are separate types, so that authors can add kinds without a change here. A dialect returns a rule for every
// operation of a program, so a rule must not allocate. any_rule therefore erases the type of a kind and stores the kind
// inline. It does not use std::any or std::function, because these allocate for all but the smallest kinds and because
// this layer avoids <functional>: a rule needs only a few functions of its kind.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_ANY_RULE_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_ANY_RULE_HPP

#include <concepts>
#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/has_member.hpp"
#include "stretto/transform/chunk_rules/blocks.hpp"
#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"

namespace stretto::chunk_rules {

namespace detail {

STRETTO_MEMBER_NAME(name_operands);
STRETTO_MEMBER_NAME(accumulates);

// An optional member must be either missing or exactly as documented.
template <class K>
concept has_name_operands_as_documented = requires(const K& k, operand_names& to) { k.name_operands(to); };
template <class K>
concept has_accumulates_as_documented = requires(const K& k) {
    { k.accumulates() } -> std::convertible_to<bool>;
};
template <class K>
concept name_operands_takes_operand_names = !has_name_operands<K, operand_names> || has_name_operands_as_documented<K>;
template <class K>
concept accumulates_returns_bool = !has_accumulates<K, int> || has_accumulates_as_documented<K>;

}  // namespace detail

/// A kind of rule: a small value whose members identify the roles of operands, and which judges calls. The headers in
/// this folder have a kind for each family of operations; authors may add others.
///
/// `verdict(c)` either sets the states of all results of `c` and accepts the operation, or returns the reason for a
/// refusal (`chunk_call::refuse`), in which case the results may be left as they are. It must depend only on the
/// members and on `c`, so that a repeated query gives the same answer. Moving a kind must not throw, because assignment
/// destroys the old kind first.
///
/// Optional: `name_operands(to)` calls `to.add("part", part)` for each member that identifies an operand or is a list
/// of operands. If the operation does not have such an operand, the rule is refused without a call of `verdict`, and
/// check_chunk_model reports the member.
///
/// Optional: `accumulates()` returns whether the operation adds to one operand something that depends only on the
/// others. If such an operation works in place, its clones may add their shares one after another.
template <class K>
concept rule_kind =
    std::copy_constructible<K> && std::is_nothrow_move_constructible_v<K> && requires(const K& k, const chunk_call& c) {
        { k.verdict(c) } -> std::same_as<chunk_verdict>;
    } && detail::name_operands_takes_operand_names<K> && detail::accumulates_returns_bool<K>;

/// The effect of an operation as far as chunking is concerned: a kind, and the operand that it writes in place, if any.
/// A kind converts to a rule implicitly. A rule without a kind means that the operation is unknown, and is refused.
/// Kinds are stored inline, so making a rule costs no more than making the members of its kind.
class any_rule {
public:
    /// Stands for the written operand if it may be any of them.
    static constexpr std::size_t every_operand = SIZE_MAX - 1;
    /// The maximum size of a kind, in bytes.
    static constexpr std::size_t capacity = 160;

    any_rule() : any_rule(unknown{}) {}
    /// Makes a rule of the given kind. A kind that is larger than `capacity` does not compile.
    template <class Kind>
        requires(!std::same_as<Kind, any_rule> && rule_kind<Kind>)
    any_rule(Kind members) : kind_(&functions_of<Kind>) {  // NOLINT: a kind is a rule
        static_assert(sizeof(Kind) <= capacity && alignof(Kind) <= alignof(std::max_align_t),
                      "a kind of rule is too large to be kept inside a any_rule");
        ::new (static_cast<void*>(kept_)) Kind(std::move(members));
    }
    any_rule(const any_rule& other) : writes_(other.writes_), kind_(other.kind_) {
        kind_->manage(kept_, other.kept_, nullptr);
    }
    any_rule(any_rule&& other) noexcept : writes_(other.writes_), kind_(other.kind_) {
        kind_->manage(kept_, nullptr, other.kept_);
    }
    any_rule& operator=(const any_rule& other) { return *this = any_rule(other); }
    any_rule& operator=(any_rule&& other) noexcept {
        if (this == &other) return *this;
        kind_->manage(kept_, nullptr, nullptr);
        writes_ = other.writes_;
        kind_ = other.kind_;
        kind_->manage(kept_, nullptr, other.kept_);
        return *this;
    }
    ~any_rule() { kind_->manage(kept_, nullptr, nullptr); }

    /// Returns the same rule for an operation that writes its result into operand `target` in place.
    [[nodiscard]] any_rule in_place(std::size_t target = 0) const {
        any_rule r = *this;
        r.writes_ = target;
        return r;
    }

    /// Returns the operand that is written in place, every_operand if it may be any of them, or no_operand if there is
    /// none.
    [[nodiscard]] std::size_t writes() const { return writes_; }
    [[nodiscard]] bool writes_in_place() const { return writes_ != no_operand; }
    /// Returns the members of the rule if it is of that kind; otherwise nullptr. The address of the kind's function
    /// table identifies the kind, because RTTI is not used.
    template <rule_kind Kind>
    [[nodiscard]] const Kind* as() const {
        return kind_ == &functions_of<Kind> ? std::launder(reinterpret_cast<const Kind*>(kept_)) : nullptr;
    }

    /// Returns the name of the kind: its type, without namespaces.
    [[nodiscard]] std::string_view kind_name() const { return kind_->name; }
    /// Returns the first operand that the rule names but that an operation with this many operands lacks. O(members).
    [[nodiscard]] operand_names missing_operand(std::size_t operands) const {
        operand_names names(operands);
        kind_->name_operands(kept_, names);
        if (writes_ != every_operand) names.add("in_place", writes_);
        return names;
    }

    /// Sets the states of the results of a call, or returns why it cannot run per chunk: see chunk_model. O(operands of
    /// the call), plus the depth of the history of counts and zeros.
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const {
        return writes_in_place() ? verdict_in_place(c) : kind_->judge(kept_, c);
    }

private:
    /// The functions that a rule calls on its kind.
    struct functions {
        chunk_verdict (*judge)(const std::byte* kept, const chunk_call& c);
        bool (*accumulates)(const std::byte* kept);
        void (*manage)(std::byte* kept, const std::byte* copied, std::byte* moved);
        void (*name_operands)(const std::byte* kept, operand_names& to);
        std::string_view name;
    };

    /// Returns the name of a type, parsed from the text of `__PRETTY_FUNCTION__` ("... [with Kind = a::b::name; ...]"
    /// or "... [Kind = a::b::name]"), because RTTI is not used.
    template <class Kind>
    static constexpr std::string_view name_of() {
        const std::string_view all = __PRETTY_FUNCTION__, before = "Kind = ";
        const std::string_view from = all.substr(all.find(before) + before.size());
        const std::string_view name = from.substr(0, from.find_first_of(";]"));
        const std::size_t scope = name.substr(0, name.find('<')).rfind("::");
        return scope == std::string_view::npos ? name : name.substr(scope + 2);
    }
    template <class Kind>
    static void name_operands([[maybe_unused]] const std::byte* kept, [[maybe_unused]] operand_names& to) {
        if constexpr (detail::has_name_operands_as_documented<Kind>)
            std::launder(reinterpret_cast<const Kind*>(kept))->name_operands(to);
    }

    template <class Kind>
    static chunk_verdict verdict_of(const std::byte* kept, const chunk_call& c) {
        return std::launder(reinterpret_cast<const Kind*>(kept))->verdict(c);
    }
    template <class Kind>
    static bool accumulates([[maybe_unused]] const std::byte* kept) {
        if constexpr (detail::has_accumulates_as_documented<Kind>)
            return std::launder(reinterpret_cast<const Kind*>(kept))->accumulates();
        else return false;
    }
    /// Copies `copied` or moves `moved`, a kind of another rule, into `kept`; if both are null, destroys what is there.
    template <class Kind>
    static void manage(std::byte* kept, const std::byte* copied, std::byte* moved) {
        if (copied != nullptr)
            ::new (static_cast<void*>(kept)) Kind(*std::launder(reinterpret_cast<const Kind*>(copied)));
        else if (moved != nullptr)
            ::new (static_cast<void*>(kept)) Kind(std::move(*std::launder(reinterpret_cast<Kind*>(moved))));
        else std::launder(reinterpret_cast<Kind*>(kept))->~Kind();
    }

    template <class Kind>
    static constexpr functions functions_of{&verdict_of<Kind>, &accumulates<Kind>, &manage<Kind>, &name_operands<Kind>,
                                            name_of<Kind>()};

    /// Returns whether the operation adds the share of a chunk to a buffer: an addend, or rows in places that indices
    /// name. The kind is asked as if the buffer were a sum over chunks. It accepts this only if what each chunk adds
    /// sums up over the chunks to what the whole operation adds.
    [[nodiscard]] bool adds_shares(const chunk_call& c) const {
        if (const arithmetic* computes = as<arithmetic>()) {
            // Every chunk would add a constant again, and a factor that differs by chunk is not that of the whole.
            for (std::size_t k = 0; k < c.operands.size(); ++k)
                if (k != computes->right.operand && !is_whole(c.state(k))) return false;
            return computes->what == arithmetic::op::add && !computes->has_constants &&
                   computes->left.operand == writes_ && c.is_tensor(computes->right.operand) &&
                   is_addend(c.state(computes->right.operand));
        }
        if (!kind_->accumulates(kept_)) return false;
        std::vector<chunk_state> states(c.states.begin(), c.states.end());
        states[c.operands[writes_].first] = a_sum;
        chunk_call as_sum = c;
        as_sum.states = states;
        return kind_->judge(kept_, as_sum).possible && is_addend(c.results[0]);
    }

    /// Returns the verdict on an operation in place. It may write rows of the chunk. It may not write a value that all
    /// chunks share, because every chunk would write it again. Additions are the exception: the clones add their shares
    /// one after another, and after the last of them the buffer holds what the whole operation would have left there.
    /// The verdict then says that the clones form a chain.
    [[nodiscard]] chunk_verdict verdict_in_place(const chunk_call& c) const {
        if (writes_ == every_operand) return c.refuse("may write in place into any of its operands");
        if (!c.is_tensor(writes_) || c.results.empty()) return c.refuse("writes what is no tensor");
        const arithmetic* computes = as<arithmetic>();
        const chunk_state before = c.state(writes_);
        if (is_whole(before)) {
            if (adds_shares(c)) {
                chunk_verdict chained = c.give({});
                chained.chain = true;
                return chained;
            }
            return c.refuse("writes rows of one chunk into a value that all chunks share");
        }
        // The buffer had a state before, which its other readers rely on. It must have the same one afterwards, and
        // hold row numbers only if it held the same kind of them before.
        const chunk_verdict v = computes != nullptr ? computes->verdict_in_place(c) : kind_->judge(kept_, c);
        if (!v.possible) return v;
        const chunk_state after = c.results[0];
        if (after.what == before.what && after.dim == before.dim && after.order == before.order) {
            if ((after.positions == before.positions && after.into == before.into) || c.read_here_only(writes_))
                return v;
            return c.refuse("writes other row numbers than the ones that other readers of the buffer rely on");
        }
        // If the rows were all equal, they have a definite order after this write. Other readers would still take them
        // for equal, so this operation must be the only reader.
        const bool orderly = after.what == chunk_kind::permuted || after.what == chunk_kind::sliced;
        if (before.what == chunk_kind::permuted && c.orders->all_alike(before.order) && orderly &&
            after.dim == before.dim && c.read_here_only(writes_))
            return v;
        return c.refuse("writes rows of the chunk in another order than the one they are in");
    }

    alignas(std::max_align_t) std::byte kept_[capacity];
    std::size_t writes_ = no_operand;
    const functions* kind_;
};

}  // namespace stretto::chunk_rules

#endif
