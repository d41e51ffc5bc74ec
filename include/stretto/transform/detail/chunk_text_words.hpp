// The words of the text form of a chunk plan, written and read. chunk_plan_text.hpp has the grammar above words. The
// reader is almost as strict as the writer (one blank between words, none at the end), since a text that is not what
// was written is more likely damaged than meant, and every failure has its line and a cause.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_TEXT_WORDS_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_TEXT_WORDS_HPP

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "stretto/core/chunk_model.hpp"

namespace stretto::detail {

inline constexpr std::array<std::string_view, 5> chunk_state_words = {"whole", "sliced", "permuted", "addend",
                                                                      "opaque"};

/// Appends a blank and a quoted name. Quotes and backslashes are escaped by a backslash, and control characters are
/// written as \x and two digits, so that a name is one line whatever it contains.
inline void append_chunk_name(std::string& text, std::string_view name) {
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

/// Appends a blank and a state: its kind, then those of its notes that say something. state() reads it.
inline void append_chunk_state(std::string& text, const chunk_state& s) {
    text += ' ';
    text += chunk_state_words[static_cast<std::size_t>(s.what)];
    if (s.dim >= 0) text += '@' + std::to_string(int{s.dim});
    if (s.positions != 0) text += ",positions=" + std::to_string(s.positions);
    if (s.order != 0) text += ",order=" + std::to_string(s.order);
    if (s.into != 0) text += ",into=" + std::to_string(s.into);
}

/// Takes a text apart, line by line and word by word, until something is not as demanded. From then on `good()` is
/// false, and nothing more is taken: a reader can ask for all that it wants and look at the outcome once. The text must
/// outlive this object, which keeps views of it.
class chunk_text_words {
public:
    explicit chunk_text_words(std::string_view text) : rest_(text) {}

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
    [[nodiscard]] bool more() const { return !now_.empty(); }
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
    /// The next word, which must be a state as append_chunk_state writes it. Notes may come in any order.
    chunk_state state() {
        chunk_state s;
        std::string_view text = word();
        const std::string_view kind = text.substr(0, text.find_first_of("@,"));
        std::size_t k = 0;
        while (k < chunk_state_words.size() && chunk_state_words[k] != kind) ++k;
        if (k == chunk_state_words.size()) return fail("no state is called like this"), s;
        s.what = static_cast<chunk_state::kind>(k);
        text.remove_prefix(kind.size());
        while (good() && !text.empty()) {
            const std::size_t end = text.find(',', 1);
            const std::string_view part = text.substr(0, end);
            text.remove_prefix(part.size());
            const std::size_t at = part[0] == '@' ? 0 : part.find('=');
            const std::string_view digits = at == std::string_view::npos ? std::string_view() : part.substr(at + 1);
            const std::string_view key = part.substr(0, at);
            if (part[0] == '@') s.dim = static_cast<std::int8_t>(number_of(digits, 0, INT8_MAX));
            else if (key == ",positions") s.positions = number_of(digits, INT64_MIN, INT64_MAX);
            else if (key == ",order") s.order = static_cast<std::uint32_t>(number_of(digits, 1, UINT32_MAX));
            else if (key == ",into") s.into = static_cast<std::uint32_t>(number_of(digits, 1, UINT32_MAX));
            else fail("a state has @, positions=, order= and into=");
        }
        return s;
    }

private:
    std::int64_t number_of(std::string_view digits, std::int64_t least, std::int64_t most) {
        std::int64_t n = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), n);
        if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && least <= n && n <= most) return n;
        fail("a number from " + std::to_string(least) + " to " + std::to_string(most) + " is expected");
        return least;
    }
    void drop_blank() {
        if (now_.empty()) return;
        if (now_[0] != ' ' || now_.size() == 1) fail("one blank between words is expected, and none at the end");
        now_.remove_prefix(1);
    }

    std::string_view rest_, now_;
    std::size_t line_ = 0;
    std::string cause_;
};

}  // namespace stretto::detail

#endif
