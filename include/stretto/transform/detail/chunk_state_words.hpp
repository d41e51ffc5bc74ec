// Chunk states as words of a text: how chunk_plan_text.hpp writes and reads them. The form is described there.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_STATE_WORDS_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_STATE_WORDS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/detail/plan_text_words.hpp"

namespace stretto::detail {

/// The words for the kinds of states, in the order of chunk_state::kind. `unset` occurs in no plan of plan_chunks.
inline constexpr std::array<std::string_view, 6> chunk_state_words = {"whole",  "sliced", "permuted",
                                                                      "addend", "opaque", "unset"};

/// Appends a blank and a state: its kind, then each other member that differs from its default. read_chunk_state reads
/// it.
inline void append_chunk_state(std::string& text, const chunk_state& s) {
    text += ' ';
    text += chunk_state_words[static_cast<std::size_t>(s.what)];
    if (s.dim >= 0) text += '@' + std::to_string(int{s.dim});
    if (s.positions != 0) text += ",positions=" + std::to_string(s.positions);
    if (s.order != 0) text += ",order=" + std::to_string(s.order);
    if (s.into != 0) text += ",into=" + std::to_string(s.into);
}

/// Takes the next word, which must be a state as append_chunk_state writes it, except that the members after the
/// dimension may come in any order.
inline chunk_state read_chunk_state(plan_text_words& in) {
    chunk_state s;
    std::string_view text = in.word();
    const std::string_view kind = text.substr(0, text.find_first_of("@,"));
    std::size_t k = 0;
    while (k < chunk_state_words.size() && chunk_state_words[k] != kind) ++k;
    if (k == chunk_state_words.size()) return in.fail("no state is called like this"), s;
    s.what = static_cast<chunk_state::kind>(k);
    text.remove_prefix(kind.size());
    while (in.good() && !text.empty()) {
        const std::size_t end = text.find(',', 1);
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(part.size());
        const std::size_t at = part[0] == '@' ? 0 : part.find('=');
        const std::string_view digits = at == std::string_view::npos ? std::string_view() : part.substr(at + 1);
        const std::string_view key = part.substr(0, at);
        if (part[0] == '@') s.dim = static_cast<std::int8_t>(in.number_of(digits, 0, INT8_MAX));
        else if (key == ",positions") s.positions = in.number_of(digits, INT64_MIN, INT64_MAX);
        else if (key == ",order") s.order = static_cast<std::uint32_t>(in.number_of(digits, 1, UINT32_MAX));
        else if (key == ",into") s.into = static_cast<std::uint32_t>(in.number_of(digits, 1, UINT32_MAX));
        else in.fail("a state has @, positions=, order= and into=");
    }
    return s;
}

}  // namespace stretto::detail

#endif
