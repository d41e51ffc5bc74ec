// Writes one node of a stretto-graph, with its members in a fixed order. capture_node_reader reads it.
#ifndef STRETTO_CAPTURE_DETAIL_CAPTURE_NODE_TEXT_HPP
#define STRETTO_CAPTURE_DETAIL_CAPTURE_NODE_TEXT_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "stretto/capture/capture.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto::detail {

/// Appends the shortest decimal form; std::to_chars depends on no locale.
inline void append_number(std::string& out, std::int64_t n) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
}
/// Appends `key`, which is already quoted and followed by a colon, and a list of numbers.
inline void append_numbers(std::string& out, std::string_view key, std::span<const std::uint32_t> list) {
    out += key;
    char open = '[';
    for (const std::uint32_t u : list) {
        out += open;
        append_number(out, u);
        open = ',';
    }
    out += list.empty() ? "[]" : "]";
}

/// The positions with which a node refers to others.
struct named_positions {
    std::span<const std::uint32_t> inputs, aliases, writes;
};

/// Appends node v of a capture, with the positions `named` as its references. Members that are kept as text come last;
/// `alias` and `mutates` are left out if they are empty.
inline void append_node(std::string& out, const capture& c, std::uint32_t v, const named_positions& named) {
    out += "{\"name\":";
    append_quoted(out, c.name(v));
    out += ",\"op\":";
    append_quoted(out, c.op(v));
    out += ",\"kind\":";
    append_quoted(out, kind_names[static_cast<std::size_t>(c.kind(v))]);
    append_numbers(out, ",\"inputs\":", named.inputs);
    out += ",\"outputs\":";
    out += c.outputs(v);
    out += ",\"bytes\":";
    append_number(out, c.allocation(v).count);
    if (!named.aliases.empty()) append_numbers(out, ",\"alias\":", named.aliases);
    if (!named.writes.empty()) append_numbers(out, ",\"mutates\":", named.writes);
    if (c.kind(v) == op_kind::start) {
        out += ",\"collective\":";
        append_quoted(out, collective_names[static_cast<std::size_t>(c.collective(v))]);
        out += ",\"group\":";
        append_number(out, c.group(v));
        out += ",\"payload\":";
        append_number(out, c.payload(v).count);
    }
    out += ",\"ns\":";
    append_number(out, c.duration(v).count);
    for (std::size_t i = 0; i < c.field_count(v); ++i) {
        const json_field f = c.field(v, i);
        out += ',';
        append_quoted(out, f.key);
        out += ':';
        out += f.text;
    }
    out += '}';
}

}  // namespace stretto::detail

#endif
