// Writes and reads the words and lines of plan texts. chunk_plan_text.hpp, bucket_plan_text.hpp and split_plan_text.hpp
// describe the items of their texts. The reader is almost as strict as the writer (one blank between words, none at the
// end of a line), because a text that deviates is more likely damaged than intended. Every failure has a line and a
// cause.
#ifndef STRETTO_TRANSFORM_DETAIL_PLAN_TEXT_WORDS_HPP
#define STRETTO_TRANSFORM_DETAIL_PLAN_TEXT_WORDS_HPP

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "stretto/core/expected.hpp"
#include "stretto/transform/plan_text_error.hpp"

namespace stretto::detail {

/// `name(h)` returns the text that stands for the handle h in a plan text.
template <class Name, class H>
concept names_handles = requires(Name& name, H h) {
    { name(h) } -> std::convertible_to<std::string_view>;
};
/// `find(name)` returns the handle with that name, or nothing.
template <class Find, class H>
concept finds_handles = requires(Find& find, std::string_view name) {
    { find(name) } -> std::convertible_to<std::optional<H>>;
};

/// Appends a blank and a quoted name. Quotes and backslashes are escaped by a backslash, and control characters are
/// written as \x and two hexadecimal digits, so a name never contains a line break.
inline void append_quoted_name(std::string& text, std::string_view name) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += " \"";
    for (char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') text += '\\';
        if (byte >= ' ') text += c;
        else text.append("\\x").append({digits[byte / 16], digits[byte % 16]});
    }
    text += '"';
}

/// Reads a text line by line and word by word until something is not as required. From then on `good()` is false, and
/// every request returns a default, so a caller can make all its requests and check the outcome once at the end. The
/// text must outlive this object.
class plan_text_words {
public:
    explicit plan_text_words(std::string_view text) : rest_(text) {}

    /// Whether everything was as required so far; if not, line() and cause() say where and why.
    [[nodiscard]] bool good() const { return cause_.empty(); }
    [[nodiscard]] std::size_t line() const { return line_; }  // from 1; 0 before the first
    [[nodiscard]] const std::string& cause() const { return cause_; }
    /// Records a failure; only the first one counts. Precondition: the cause is not empty.
    void fail(std::string cause) {
        if (good()) cause_ = std::move(cause);
    }

    /// Begins the next line, which must exist and end in a line break. Returns whether it does.
    bool next_line() {
        if (!good()) return false;
        ++line_;
        const std::size_t end = rest_.find('\n');
        if (end == std::string_view::npos) {
            fail(rest_.empty() ? "the text ends before the plan does" : "this line does not end");
            return false;
        }
        now_ = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return true;
    }
    /// The text must end here.
    void end_text() {
        end_line();
        if (!rest_.empty()) {
            if (good()) ++line_;
            fail("nothing may follow the end");
        }
    }
    /// The line must end here.
    void end_line() {
        if (more()) fail("nothing more is expected in this line");
    }
    /// Whether this line has more words.
    [[nodiscard]] bool more() const { return !now_.empty(); }
    /// Whether the next word is `word`; it is not taken.
    [[nodiscard]] bool next_is(std::string_view word) const { return now_.substr(0, now_.find(' ')) == word; }

    /// Takes the next word, which ends before a blank or at the end of the line.
    std::string_view word() {
        const std::string_view taken = good() ? now_.substr(0, now_.find(' ')) : std::string_view();
        if (taken.empty()) fail("a word is missing");
        now_.remove_prefix(taken.size());
        drop_blank();
        return taken;
    }
    /// Takes the next word if it is `wanted`. Returns whether it was.
    bool skip(std::string_view wanted) {
        if (!good() || !next_is(wanted)) return false;
        (void)word();
        return true;
    }
    /// Takes the next word, which must be `wanted`.
    void expect(std::string_view wanted) {
        if (!skip(wanted)) fail("\"" + std::string(wanted) + "\" is expected");
    }
    /// Takes the next word, which must be a decimal number from `least` to `most`. Returns `least` on failure.
    std::int64_t number(std::int64_t least, std::int64_t most) {
        const std::string_view digits = word();
        return good() ? number_of(digits, least, most) : least;
    }
    /// Takes the next word, which must be a quoted name. Returns the name with its escapes resolved; it may contain
    /// blanks.
    std::string name() {
        std::string taken;
        std::size_t k = 1;
        if (!good()) return taken;
        if (now_.empty() || now_[0] != '"') return fail("a quoted name is expected"), taken;
        for (; k < now_.size() && now_[k] != '"'; ++k) {
            if (now_[k] != '\\') {
                taken += now_[k];
            } else if (k + 1 < now_.size() && (now_[k + 1] == '"' || now_[k + 1] == '\\')) {
                taken += now_[++k];
            } else {
                unsigned char byte = 0;
                const char *digits = now_.data() + k + 2, *end = digits + 2;
                const bool there = k + 3 < now_.size() && now_[k + 1] == 'x';
                if (!there || std::from_chars(digits, end, byte, 16).ptr != end)
                    return fail("a \\ in a name stands before \", \\ or x and two digits"), taken;
                taken += static_cast<char>(byte);
                k += 3;
            }
        }
        if (k >= now_.size()) return fail("this name does not end"), taken;
        now_.remove_prefix(k + 1);
        drop_blank();
        return taken;
    }
    /// Returns the number that these digits denote. It is a failure if they denote none from `least` to `most`; then
    /// returns `least`.
    std::int64_t number_of(std::string_view digits, std::int64_t least, std::int64_t most) {
        std::int64_t n = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), n);
        if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && least <= n && n <= most) return n;
        fail("a number from " + std::to_string(least) + " to " + std::to_string(most) + " is expected");
        return least;
    }
    /// Takes the next word, which must be a quoted name for which `find` returns a handle. `what` is the word for what
    /// it names, in the cause of a failure.
    template <class H, class Find>
    H named(Find& find, std::string_view what) {
        const std::optional<H> found = find(std::string_view(name()));
        if (!found) fail("there is no " + std::string(what) + " of this name");
        return found.value_or(H());
    }

private:
    /// Takes the blank after a word. One at the end of the line is a failure, and so is a missing one before more text.
    void drop_blank() {
        if (now_.empty()) return;
        if (now_[0] != ' ' || now_.size() == 1) fail("one blank between words is expected, and none at the end");
        now_.remove_prefix(1);
    }

    std::string_view rest_, now_;
    std::size_t line_ = 0;
    std::string cause_;
};

/// Reads a text that begins with the line `title 1`, has one item on each line, and ends with the line `end`.
/// `read_item(word)` reads the rest of a line that begins with `word`, and returns whether items may begin with that
/// word. Returns `plan`, which `read_item` fills, or the first fault.
template <class Plan, class ReadItem>
[[nodiscard]] expected<Plan, plan_text_error> read_plan_items(plan_text_words& in, std::string_view title, Plan& plan,
                                                              ReadItem read_item) {
    in.next_line();
    in.expect(title);
    in.expect("1");
    for (;;) {
        in.end_line();
        if (!in.next_line()) break;
        const std::string_view item = in.word();
        if (item == "end") {
            in.end_text();
            break;
        }
        if (!read_item(item)) in.fail("no item begins like this");
    }
    if (in.good()) return std::move(plan);
    return unexpected(plan_text_error{in.line(), in.cause()});
}

}  // namespace stretto::detail

#endif
