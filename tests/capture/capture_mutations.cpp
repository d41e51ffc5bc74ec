// Random damage to a sound file: never a crash, and either one diagnostic or a capture that keeps every promise.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
#include "fuzz/exercise_reader.hpp"
#include "support/prop.hpp"

namespace {

/// Bytes and words that mean something in a stretto-graph.
const std::vector<std::string>& dictionary() {
    static const std::vector<std::string> words = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"",
                                                   "\\",
                                                   "0",
                                                   "1",
                                                   "4",
                                                   "-1",
                                                   "1.5",
                                                   "1e300",
                                                   "9223372036854775807",
                                                   "18446744073709551616",
                                                   "null",
                                                   "true",
                                                   "\"%0\"",
                                                   "\"%5\"",
                                                   "\"kind\":\"start\",",
                                                   "\"kind\":\"wait\",",
                                                   "\"inputs\":[1],",
                                                   "\"alias\":[0],",
                                                   "\"group\":1,",
                                                   "\"ns\":",
                                                   "\"w\"",
                                                   "\"outputs\":[],",
                                                   "{\"shape\":[],\"dtype\":\"\"}",
                                                   "\\u0000",
                                                   "\\ud800",
                                                   "\xff",
                                                   "\xc3\xa9",
                                                   std::string(1, '\0'),
                                                   "\n",
                                                   " ",
                                                   "\"nodes\":[",
                                                   "]}",
                                                   "},{"};
    return words;
}

/// Replaces `length` bytes at a place with a word; places and lengths are taken modulo what is there.
struct damage {
    std::size_t place = 0, length = 0, word = 0;
    bool random_byte = false;
};

std::ostream& operator<<(std::ostream& os, const damage& d) {
    return os << "{at " << d.place << ", " << d.length << " bytes, word " << d.word
              << (d.random_byte ? " as a byte" : "") << '}';
}

rc::Gen<damage> any_damage() {
    return rc::gen::build<damage>(
        rc::gen::set(&damage::place, rc::gen::inRange<std::size_t>(0, 100000)),
        rc::gen::set(&damage::length, rc::gen::element<std::size_t>(0, 0, 1, 1, 1, 2, 5, 20, 100)),
        rc::gen::set(&damage::word, rc::gen::inRange<std::size_t>(0, 1000)), rc::gen::set(&damage::random_byte));
}

std::string damaged(std::string text, const std::vector<damage>& blows) {
    for (const damage& d : blows) {
        if (text.empty()) break;
        const std::size_t at = d.place % text.size();
        const std::string word = d.random_byte ? std::string(1, static_cast<char>(d.word % 256))
                                               : dictionary()[d.word % dictionary().size()];
        text.replace(at, std::min(d.length, text.size() - at), word);
    }
    return text;
}

}  // namespace

TEST_CASE("the tiny step itself keeps every promise") { CHECK(support::broken_promise(support::tiny_step) == ""); }

TEST_CASE("damaged text") {
    stretto_check("a diagnostic or a sound capture", 20000, [] {
        const auto blows = *rc::gen::resize(6, rc::gen::container<std::vector<damage>>(any_damage()));
        RC_ASSERT(support::broken_promise(damaged(support::tiny_step, blows)) == "");
    });
}

TEST_CASE("damaged gzip") {
    const std::string packed = *stretto::gzip(support::tiny_step, "f");
    stretto_check("a diagnostic or a sound capture", 3000, [&] {
        const auto blows = *rc::gen::resize(3, rc::gen::container<std::vector<damage>>(any_damage()));
        RC_ASSERT(support::broken_promise(damaged(packed, blows)) == "");
    });
}

TEST_CASE("damaged text within sound gzip") {
    stretto_check("a diagnostic or a sound capture", 2000, [] {
        const auto blows = *rc::gen::resize(3, rc::gen::container<std::vector<damage>>(any_damage()));
        RC_ASSERT(support::broken_promise(*stretto::gzip(damaged(support::tiny_step, blows), "f")) == "");
    });
}

TEST_CASE("every byte of the tiny step, replaced by each of a few that matter") {
    for (std::size_t at = 0; at < support::tiny_step.size(); ++at)
        for (char c : {'"', '{', '}', '[', ']', ',', ':', '0', '-', '\\', '\xff', '\0', ' '}) {
            std::string text = support::tiny_step;
            text[at] = c;
            const std::string broken = support::broken_promise(text);
            CHECK_MESSAGE(broken.empty(), "byte " << at << " as " << static_cast<int>(c) << ": " << broken);
        }
}
