// Rules of collectives that backends share: which amounts an exchange moves, how members compare their operations
// before they move bytes, and which member reduces which share of an all-reduce. So all of them report the same
// differences in the same words.
#ifndef STRETTO_BACKEND_DETAIL_COLLECTIVE_RULES_HPP
#define STRETTO_BACKEND_DETAIL_COLLECTIVE_RULES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// Returns the name of a kind of collective in failures, which is that of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(transfer_kind kind) noexcept {
    constexpr std::string_view names[] = {"all_gather", "reduce_scatter", "all_reduce",
                                          "all_to_all", "broadcast",      "barrier"};
    return names[static_cast<std::size_t>(kind)];
}

/// Finds how many bytes a member of a group of `ranks` sends to and receives from each member in an all-to-all; some of
/// the amounts may have become known only now. For other collectives it does nothing. Returns in words the first amount
/// that is negative or exceeds the capacity, or nothing. On success, it allocates nothing if the vectors have capacity
/// for all members.
[[nodiscard]] inline std::optional<std::string> find_sizes(const collective_operation& o,
                                                           std::span<const rank_id> ranks,
                                                           std::vector<std::size_t>& send_sizes,
                                                           std::vector<std::size_t>& receive_sizes) {
    if (o.kind != transfer_kind::all_to_all) return {};
    send_sizes.assign(o.send_sizes.begin(), o.send_sizes.end());
    receive_sizes.assign(o.receive_sizes.begin(), o.receive_sizes.end());
    if (o.send_rows.empty()) return {};
    const auto measure = [&](std::span<const std::int64_t* const> rows, std::vector<std::size_t>& sizes,
                             std::size_t room, std::string_view verb) -> std::optional<std::string> {
        // Every amount is compared with the remaining room, so that no sum or product can overflow, whatever the
        // counts.
        std::size_t left = room;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const std::int64_t count =
                rows[k] == nullptr ? static_cast<std::int64_t>(sizes[k] / o.row_bytes) : *rows[k];
            const bool fits = count >= 0 && static_cast<std::uint64_t>(count) <= left / o.row_bytes;
            if (fits && rows[k] != nullptr) sizes[k] = static_cast<std::size_t>(count) * o.row_bytes;
            if (fits && sizes[k] <= left) {
                left -= sizes[k];
                continue;
            }
            return std::string(verb) + " " + std::to_string(count) + " rows of " + std::to_string(o.row_bytes) +
                   " bytes " + (verb == "sends" ? "to" : "from") + " rank " + std::to_string(ranks[k]) + ", where " +
                   std::to_string(left) + " of " + std::to_string(room) + " bytes are left";
        }
        return {};
    };
    if (auto overflow = measure(o.send_rows, send_sizes, o.send_bytes, "sends")) return overflow;
    return measure(o.receive_rows, receive_sizes, o.receive_bytes, "receives");
}

/// Returns whether two members perform the same operation. `here` and `there` are the bytes that they compare: for an
/// all-to-all, what this member expects from the other, and what the other sends to it; else what each of them sends.
[[nodiscard]] inline bool agree(const collective_operation& o, std::size_t here, const collective_operation& other,
                                std::size_t there) {
    return o.kind == other.kind && o.reduction == other.reduction && o.element == other.element &&
           o.root == other.root && o.logical_id == other.logical_id && o.chunk == other.chunk &&
           (o.kind == transfer_kind::barrier || here == there);
}

/// The length, in numbers of 64 bits, of the note with which a member describes its operation to the others. It is the
/// same on all machines.
inline constexpr std::size_t note_length = 7;

/// Writes the note of a member that sends `size` bytes. For an all-to-all, a note may state the bytes for its
/// recipient.
inline void write_note(const collective_operation& o, std::size_t size, std::uint64_t* to) {
    *to++ = static_cast<std::uint64_t>(o.kind);
    *to++ = static_cast<std::uint64_t>(o.reduction);
    *to++ = static_cast<std::uint64_t>(o.element);
    *to++ = o.root;
    *to++ = o.logical_id;
    *to++ = o.chunk;
    *to++ = size;
}
/// Returns the operation that a note describes, as far as members must agree on it; `send_bytes` is the size in the
/// note. It allocates nothing.
[[nodiscard]] inline collective_operation read_note(const std::uint64_t* from) {
    collective_operation o;
    o.kind = static_cast<transfer_kind>(*from++);
    o.reduction = static_cast<reduction_kind>(*from++);
    o.element = static_cast<element_type>(*from++);
    o.root = static_cast<std::uint32_t>(*from++);
    o.logical_id = *from++;
    o.chunk = static_cast<std::uint32_t>(*from++);
    o.send_bytes = *from++;
    return o;
}

/// Returns in words how the operation here differs from the one on the other rank. Precondition: they do not agree.
[[nodiscard]] inline std::string difference(const collective_operation& o, std::size_t here,
                                            const collective_operation& other, std::size_t there, rank_id other_rank) {
    const auto words = [](const collective_operation& x, std::size_t size) {
        std::string text(name_of(x.kind));
        if (x.logical_id != 0 || x.chunk != 0)
            text += " of id " + std::to_string(x.logical_id) + ", chunk " + std::to_string(x.chunk);
        return text + " of " + std::to_string(size) + " bytes";
    };
    std::string text = words(o, here) + " here, " + words(other, there) + " on rank " + std::to_string(other_rank);
    if (words(o, here) != words(other, there)) return text;
    return text +
           (o.element != other.element ? ", with other elements" : ", reduced in another way or from another root");
}

/// Compares the operation of a member with those of all members. `other(k)` is the operation of member k; for an
/// all-to-all, `expected(k)` is the amount expected from it, and `sent(k)` the amount that it sends here. Returns in
/// words how the first operation that does not agree differs, or nothing if all agree. O(members).
template <class Other, class Expected, class Sent>
[[nodiscard]] std::optional<std::string> first_difference(const collective_operation& o, std::span<const rank_id> ranks,
                                                          Other other, Expected expected, Sent sent) {
    for (std::size_t k = 0; k < ranks.size(); ++k) {
        const collective_operation& theirs = other(k);
        const bool shares = o.kind == transfer_kind::all_to_all && theirs.kind == o.kind;
        const std::size_t here = shares ? expected(k) : o.send_bytes, there = shares ? sent(k) : theirs.send_bytes;
        if (!agree(o, here, theirs, there)) return difference(o, here, theirs, there, ranks[k]);
    }
    return {};
}

/// Returns the bytes [first, second) of an all-reduce that a member reduces for all others. Shares consist of complete
/// elements and differ by one at most. Each byte is in the share of exactly one member, so all members receive the same
/// bits.
[[nodiscard]] inline std::pair<std::size_t, std::size_t> share_of(const collective_operation& o, std::size_t members,
                                                                  std::size_t place) {
    const auto element = static_cast<std::size_t>(size_of(o.element));
    const std::size_t count = o.send_bytes / element;
    return {count * place / members * element, count * (place + 1) / members * element};
}

}  // namespace stretto::detail

#endif
