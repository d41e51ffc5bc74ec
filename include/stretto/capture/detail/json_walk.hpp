// Reads JSON values strictly, in the order of the text, and keeps the first failure with its place. The readers of
// captures, of their fields and of runs are built on it.
//
// simdjson finds the structure on demand: it validates what it is asked for and skips the rest. So every value is
// looked at here, even those that are only kept as text, because what is written back must be JSON again. Each value
// can be read only once, and values only from front to back.
#ifndef STRETTO_CAPTURE_DETAIL_JSON_WALK_HPP
#define STRETTO_CAPTURE_DETAIL_JSON_WALK_HPP

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/capture/diagnostic.hpp"

namespace stretto::detail {

namespace od = simdjson::ondemand;

/// Returns a token without the space behind it: simdjson ends a token where the next one begins.
inline std::string_view without_space_behind(std::string_view s) noexcept {
    while (!s.empty() && (s.back() == ' ' || s.back() == '\n' || s.back() == '\r' || s.back() == '\t'))
        s.remove_suffix(1);
    return s;
}

/// Returns whether a text matches -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
inline bool is_json_number(std::string_view s) noexcept {
    const auto digits = [&s] {
        std::size_t n = 0;
        while (n < s.size() && s[n] >= '0' && s[n] <= '9') ++n;
        s.remove_prefix(n);
        return n;
    };
    if (s.starts_with('-')) s.remove_prefix(1);
    const bool leading_zero = s.starts_with('0');
    const std::size_t whole = digits();
    if (whole == 0 || (leading_zero && whole > 1)) return false;
    if (s.starts_with('.')) {
        s.remove_prefix(1);
        if (digits() == 0) return false;
    }
    if (s.starts_with('e') || s.starts_with('E')) {
        s.remove_prefix(1);
        if (s.starts_with('+') || s.starts_with('-')) s.remove_prefix(1);
        if (digits() == 0) return false;
    }
    return s.empty();
}

/// One pass over one document. Every function that reads returns false if something is wrong; the failure is then kept
/// with the place where it happened, and the pass must end there.
class json_walk {
public:
    static constexpr int deepest = 100;  ///< how deep arrays and objects may be nested in a value that is kept as text

    diagnostic failure;      ///< valid after the first false
    std::string_view outer;  ///< for messages: the object that is being read, such as "costs."
    std::string_view field;  ///< its member, such as "launch_ns"
    std::optional<std::uint32_t> node;
    std::string_view node_name;
    std::int64_t largest_reference = -1;  ///< largest k of the texts "%k" read by any() since the caller set this

    /// Starts on a text of `length` bytes, which are followed by simdjson::SIMDJSON_PADDING readable bytes.
    bool open(std::string_view padded_text, std::size_t length) {
        text_ = padded_text.substr(0, length);
        opened_ = false;
        const auto e = parser_.iterate(padded_text.data(), length, padded_text.size()).get(document_);
        opened_ = !e;
        return opened_ || fail(e);
    }
    /// Calls `each(key, value)` for the members of the object that is the whole document; nothing may follow it.
    template <class F>
    bool root(F each) {
        od::object o;
        if (const auto e = document_.get_object().get(o)) {
            if (e == simdjson::INCORRECT_TYPE) return fail("is not a JSON object", "is this a stretto-graph?");
            return fail(e);
        }
        if (!walk_object(o, each)) return false;
        // After the last token simdjson has no location any more, which is how the end of the text is known.
        const char* rest = nullptr;
        if (document_.current_location().get(rest) == simdjson::OUT_OF_BOUNDS) return true;
        outer = field = {};
        return fail("has something behind its JSON object", "was it appended to?");
    }

    /// Calls `each(value)` for the elements of the array that is the whole document.
    template <class F>
    bool root_array(F each) {
        od::array a;
        if (const auto e = document_.get_array().get(a)) return fail(e);
        return walk_array(a, each);
    }

    /// Calls `each(key, value)` for the members of an object.
    template <class F>
    bool object(od::value v, F each) {
        od::object o;
        const std::string_view token = v.raw_json_token();
        if (!token.starts_with('{')) return wrong_type(token, "an object");
        if (const auto e = v.get_object().get(o)) return fail(e);
        return walk_object(o, each);
    }
    /// Calls `each(value)` for the elements of an array.
    template <class F>
    bool array(od::value v, F each) {
        od::array a;
        const std::string_view token = v.raw_json_token();
        if (!token.starts_with('[')) return wrong_type(token, "a list");
        if (const auto e = v.get_array().get(a)) return fail(e);
        return walk_array(a, each);
    }

    [[nodiscard]] static bool is_text(od::value v) noexcept { return v.raw_json_token().starts_with('"'); }
    /// Reads a string and removes its escapes. It lives as long as both the text and this object.
    bool text(od::value v, std::string_view& out) {
        const std::string_view token = without_space_behind(v.raw_json_token());
        if (!token.starts_with('"')) return wrong_type(token, "a string");
        out = token.substr(1, token.size() - 2);
        od::raw_json_string raw;
        const auto e =
            out.find('\\') == std::string_view::npos ? v.get_raw_json_string().get(raw) : v.get_string().get(out);
        return !e || fail(e);
    }

    /// Reads an integer that fits in 64 bits.
    bool whole_number(od::value v, std::int64_t& out) {
        std::string_view token = v.raw_json_token();
        // The common case is tried first. Only a failure is looked at more closely, to say whether this is no number, a
        // fraction, or too large.
        if (!v.get_int64().get(out)) return true;
        token = without_space_behind(token);
        if (!is_json_number(token)) return wrong_type(token, "a whole number");
        if (token.find_first_of(".eE") != std::string_view::npos)
            return fail("is " + printable(token, 40) + ", which is no whole number", "round it, and write all digits");
        return fail("is " + printable(token, 40) + ", which does not fit in 64 bits", "the largest is 2^63-1");
    }
    /// Reads an integer that is not negative.
    bool amount(od::value v, std::int64_t& out) {
        if (!whole_number(v, out)) return false;
        return out >= 0 || fail("is " + std::to_string(out) + ", which is negative", "0 is the least");
    }
    /// Reads a number, whole or not.
    bool real_number(od::value v, double& out) {
        const std::string_view token = without_space_behind(v.raw_json_token());
        if (!v.get_double().get(out)) return true;
        if (!is_json_number(token)) return wrong_type(token, "a number");
        return fail("is " + printable(token, 40) + ", which is too large", "the largest is about 1.8e308");
    }

    /// Reads the text of a value of any kind, after checking that it is JSON.
    bool any(od::value v, std::string_view& out) {
        return kept(v, out, [this](od::value w) { return check(w, 0); });
    }
    /// Reads the text of a value. `check_value(v)` must read the whole value, and returns whether it is well formed.
    template <class F>
    bool kept(od::value v, std::string_view& out, F check_value) {
        out = v.raw_json_token();
        if (!out.starts_with('{') && !out.starts_with('[')) {
            out = without_space_behind(out);
            return check_value(v);
        }
        // A list or an object has no token of its own but its opening bracket. Walking over it leaves the document just
        // behind it, and the text between is the value.
        const char* begin = out.data();
        const char* end = nullptr;
        if (!check_value(v)) return false;
        if (const auto e = document_.current_location().get(end)) return fail(e);
        out = without_space_behind({begin, static_cast<std::size_t>(end - begin)});
        return true;
    }

    /// Records a failure at the current place, and returns false.
    bool fail(std::string cause, std::string hint) {
        failure = {};
        failure.node = node;
        failure.node_name = std::string(node_name);
        failure.field = std::string(outer).append(field);
        failure.cause = std::move(cause);
        failure.hint = std::move(hint);
        return false;
    }

private:
    template <class F>
    bool walk_array(od::array& a, F& each) {
        for (auto item : a) {
            od::value element;
            if (const auto e = std::move(item).get(element)) return fail(e);
            if (!each(element)) return false;
        }
        return true;
    }
    template <class F>
    bool walk_object(od::object& o, F& each) {
        for (auto item : o) {
            od::field member;
            if (const auto e = std::move(item).get(member)) return fail(e);
            std::string_view key;
            const char* const begin = member.key().raw();
            const char* end = begin;
            while (*end != '"' && *end != '\\') ++end;  // the closing quote is there: strings were matched before
            if (*end == '"') key = {begin, static_cast<std::size_t>(end - begin)};
            else if (const auto e = member.unescaped_key().get(key)) return fail(e);
            if (!each(key, member.value())) return false;
        }
        return true;
    }

    /// Returns whether a value is JSON that is nested at most `deepest` levels deep.
    bool check(od::value v, int depth) {
        const std::string_view token = v.raw_json_token();
        const char first = token.empty() ? '\0' : token[0];
        if (first == '{' || first == '[') {
            if (depth == deepest)
                return fail("is nested more than " + std::to_string(deepest) + " levels deep",
                            "is it generated in a loop?");
            if (first == '[') return array(v, [&](od::value w) { return check(w, depth + 1); });
            return object(v, [&](std::string_view, od::value w) { return check(w, depth + 1); });
        }
        if (first == '"') {
            std::string_view s;
            if (!text(v, s)) return false;
            if (s.starts_with('%')) note_reference(s.substr(1));
            return true;
        }
        const std::string_view scalar = without_space_behind(token);
        if (scalar == "true" || scalar == "false" || scalar == "null" || is_json_number(scalar)) return true;
        return fail("has \"" + printable(scalar, 20) + "\", which is not JSON", "NaN and Infinity must be strings");
    }

    /// Notes a text "%k", which names an operand. Other texts that begin with a percent sign are texts. A number with
    /// more digits than any index has is left to capture_tensors, which refuses it.
    void note_reference(std::string_view digits) noexcept {
        if (digits.empty() || digits.size() > 10) return;
        std::int64_t k = 0;
        for (char c : digits) {
            if (c < '0' || c > '9') return;
            k = k * 10 + (c - '0');
        }
        largest_reference = std::max(largest_reference, k);
    }

    /// Fails because a value has another type than `due`, or is no JSON at all.
    bool wrong_type(std::string_view token, const char* due) {
        const char first = token.empty() ? '\0' : token[0];
        const char* found = first == '{'                   ? "an object"
                            : first == '['                 ? "a list"
                            : first == '"'                 ? "a string"
                            : first == 'n'                 ? "null"
                            : first == 't' || first == 'f' ? "a boolean"
                                                           : "a number";
        const std::string_view scalar = without_space_behind(token);
        if (first != '{' && first != '[' && first != '"' && scalar != "true" && scalar != "false" && scalar != "null" &&
            !is_json_number(scalar))
            return fail("has \"" + printable(scalar, 20) + "\", which is not JSON", "NaN and Infinity must be strings");
        return fail(std::string("is ") + found + " where " + due + " is due", "");
    }

    /// Records what simdjson has found wrong, with the byte at which it stopped if that is known. Returns false.
    bool fail(simdjson::error_code e) {
        const char* const hint = "was the file written completely?";
        switch (e) {
            case simdjson::EMPTY:
                return fail("is empty", hint);
            case simdjson::UNCLOSED_STRING:
                return fail("ends inside of a string", hint);
            case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
                return fail("ends before its JSON does", hint);
            case simdjson::UTF8_ERROR:
                return fail("is not valid UTF-8", "captures are UTF-8 text, or that in gzip");
            case simdjson::MEMALLOC:
                return fail("does not fit in memory", "");
            default:
                break;
        }
        fail(std::string("is not JSON: ") + simdjson::error_message(e), "");
        const char* at = nullptr;
        if (opened_ && !document_.current_location().get(at) && at >= text_.data() && at <= text_.data() + text_.size())
            failure.byte = static_cast<std::uint64_t>(at - text_.data());
        return false;
    }

    od::parser parser_;
    od::document document_;
    std::string_view text_;
    bool opened_ = false;  // whether document_ may be asked for its location
};

}  // namespace stretto::detail

#endif
