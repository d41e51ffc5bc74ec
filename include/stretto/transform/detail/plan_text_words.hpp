// The words and lines of the text forms of plans, written and read. chunk_plan_text.hpp, bucket_plan_text.hpp and
// split_plan_text.hpp have the grammars of their items. The reader is almost as strict as the writer (one blank between
// words, none at the end), since a text that is not what was written is more likely damaged than meant, and every
// failure has its line and a cause.
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

/// `name(h)` is the text by which a reader knows the handle h.
template <class Name, class H>
concept names_handles = requires(Name& name, H h) {
    { name(h) } -> std::convertible_to<std::string_view>;
};
/// `find(name)` is the handle of that name, or nothing.
template <class Find, class H>
concept finds_handles = requires(Find& find, std::string_view name) {
    { find(name) } -> std::convertible_to<std::optional<H>>;
};

/// Appends a blank and a quoted name. Quotes and backslashes are escaped by a backslash, and control characters are
/// written as \x and two digits, so that a name is one line whatever it contains.
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

/// Takes a text apart, line by line and word by word, until something is not as demanded. From then on `good()` is
/// false, and nothing more is taken: a reader can ask for all that it wants and look at the outcome once. The text must
/// outlive this object, which keeps views of it.
class plan_text_words {
public:
    explicit plan_text_words(std::string_view text) : rest_(text) {}

    /// Whether everything was as demanded so far; if not, line() and cause() say where and why.
    [[nodiscard]] bool good() const { return cause_.empty(); }
    [[nodiscard]] std::size_t line() const { return line_; }  // from 1; 0 before the first
    [[nodiscard]] const std::string& cause() const { return cause_; }
    /// Records a failure; only the first counts.
    void fail(std::string cause) {
        if (good()) cause_ = std::move(cause);
    }

    /// Goes on to the next line. It is a failure if there is none.
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
    /// Demands that the text ends here.
    void end_text() {
        end_line();
        if (!rest_.empty()) {
            if (good()) ++line_;
            fail("nothing may follow the end");
        }
    }
    /// Demands that the line ends here.
    void end_line() {
        if (more()) fail("nothing more is expected in this line");
    }
    /// Whether something is left in this line.
    [[nodiscard]] bool more() const { return !now_.empty(); }
    /// Whether the next word is this one; it is not taken.
    [[nodiscard]] bool next_is(std::string_view word) const { return now_.substr(0, now_.find(' ')) == word; }

    /// The next word, up to a blank.
    std::string_view word() {
        const std::string_view taken = good() ? now_.substr(0, now_.find(' ')) : std::string_view();
        if (taken.empty()) fail("a word is missing");
        now_.remove_prefix(taken.size());
        drop_blank();
        return taken;
    }
    /// Takes the next word if it is `wanted`.
    bool skip(std::string_view wanted) {
        if (!good() || !next_is(wanted)) return false;
        (void)word();
        return true;
    }
    /// Takes the next word, which must be `wanted`.
    void expect(std::string_view wanted) {
        if (!skip(wanted)) fail("\"" + std::string(wanted) + "\" is expected");
    }
    /// The next word, which must be a decimal number from `least` to `most`; `least` if it is none.
    std::int64_t number(std::int64_t least, std::int64_t most) {
        const std::string_view digits = word();
        return good() ? number_of(digits, least, most) : least;
    }
    /// The next word, which must be a quoted name, with its escapes resolved. A name may contain blanks.
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
    /// The number that these digits are; a failure, and `least`, if they are none in that range.
    std::int64_t number_of(std::string_view digits, std::int64_t least, std::int64_t most) {
        std::int64_t n = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), n);
        if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && least <= n && n <= most) return n;
        fail("a number from " + std::to_string(least) + " to " + std::to_string(most) + " is expected");
        return least;
    }
    /// The next word, which must be a quoted name that `find` knows: it returns a handle or nothing. `what` says of
    /// what.
    template <class H, class Find>
    H named(Find& find, std::string_view what) {
        const std::optional<H> found = find(std::string_view(name()));
        if (!found) fail("there is no " + std::string(what) + " of this name");
        return found.value_or(H());
    }

private:
    /// Takes the blank behind a word; a second one, or one at the end of the line, is a failure.
    void drop_blank() {
        if (now_.empty()) return;
        if (now_[0] != ' ' || now_.size() == 1) fail("one blank between words is expected, and none at the end");
        now_.remove_prefix(1);
    }

    std::string_view rest_, now_;
    std::size_t line_ = 0;
    std::string cause_;
};

/// Reads a text that begins with a line `title` 1, has one item on a line, and ends with `end`. `read_item(word)` takes
/// the rest of the line whose first word is that, and says whether an item begins like this. It gives `plan`, which
/// `read_item` fills, or the first fault.
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
