#include "stretto/capture/gzip.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::complaint;
using support::scratch_folder;

TEST_CASE("what is compressed comes back") {
    stretto_check("gunzip(gzip(text)) == text", 200, [](const std::string& text) {
        const auto packed = gzip(text, "f");
        RC_ASSERT(packed);
        RC_ASSERT(is_gzip(*packed));
        const auto back = gunzip(*packed, "f");
        RC_ASSERT(back);
        RC_ASSERT(*back == text);
    });
}

TEST_CASE("the same text gives the same bytes: no time stamp, no name") {
    const auto packed = gzip("abc", "f");
    REQUIRE(packed);
    CHECK(packed->substr(3, 5) == std::string(5, '\0'));  // flags and time
    CHECK(*packed == *gzip("abc", "another name"));
}

TEST_CASE("several members are one text, as in cat a.gz b.gz") {
    CHECK(*gunzip(*gzip("abc", "f") + *gzip("", "f") + *gzip("def", "f"), "f") == "abcdef");
}

TEST_CASE("every prefix of a gzip file is refused") {
    const std::string packed = *gzip(support::tiny_step, "f");
    for (std::size_t n = 2; n < packed.size(); ++n)
        CHECK(complaint(gunzip(std::string_view(packed).substr(0, n), "f")) ==
              "f: ends in the middle of its compressed data; was it copied completely?");
}

TEST_CASE("no damaged byte changes the text") {
    const std::string packed = *gzip(support::tiny_step, "f");
    std::size_t refused = 0;
    for (std::size_t n = 0; n < packed.size(); ++n) {
        std::string damaged = packed;
        damaged[n] = static_cast<char>(damaged[n] ^ 0x10);
        const auto text = gunzip(damaged, "f");
        refused += !text;
        if (text) CHECK_MESSAGE(*text == support::tiny_step, "byte " << n);
    }
    // The time stamp, the origin and the bits that fill up the last byte of the data mean nothing.
    CHECK(refused > packed.size() - 12);
}

TEST_CASE("something behind the compressed data is refused") {
    CHECK(complaint(gunzip(*gzip("abc", "f") + "x", "f")) ==
          "f: has something behind its compressed data; was it appended to?");
    CHECK(complaint(gunzip(*gzip("abc", "f") + "\x1f\x8b", "f")) ==
          "f: ends in the middle of its compressed data; was it copied completely?");
}

TEST_CASE("limits count the text, not the file, and are exact") {
    const std::string text(100000, 'x');
    const std::string packed = *gzip(text, "f");
    CHECK(gunzip(packed, "f", {.max_bytes = 100000}));
    CHECK(complaint(gunzip(packed, "f", {.max_bytes = 99999})) ==
          "f: is larger than 99999 bytes; raise max_bytes or max_expansion if it is no mistake");
    CHECK(gunzip(*gzip("", "f"), "f", {.max_bytes = 0}));
    CHECK_FALSE(gunzip(*gzip("x", "f"), "f", {.max_bytes = 0}));
}

TEST_CASE("the largest limit is no limit") {
    const scratch_folder folder;
    const std::string text(100000, 'x'), packed = *gzip(text, "f");
    CHECK(*gunzip(packed, "f", {.max_bytes = UINT64_MAX, .max_expansion = UINT64_MAX}) == text);
    REQUIRE(write_text(folder.file("plain"), text));
    CHECK(*read_text(folder.file("plain"), {.max_bytes = UINT64_MAX}) == text);
    REQUIRE(write_text(folder.file("packed.gz"), text));
    CHECK(*read_text(folder.file("packed.gz"), {.max_bytes = UINT64_MAX, .max_expansion = UINT64_MAX}) == text);
}

TEST_CASE("a bomb ends at 64 MiB, not at the limit of honest files") {
    const std::string bomb = *gzip(std::string(std::size_t{80} << 20, ' '), "f");
    CHECK(complaint(gunzip(bomb, "f")) ==
          "f: is larger than 67108864 bytes; raise max_bytes or max_expansion if it is no mistake");
    CHECK(gunzip(bomb, "f", {.max_expansion = 2000}));
}

TEST_CASE("files are written and read back, compressed if their name says so") {
    const scratch_folder folder;
    const std::string text = support::tiny_step;
    const auto plain = write_text(folder.file("a.json"), text);
    REQUIRE(plain);
    CHECK(*plain == text.size());
    CHECK(std::filesystem::file_size(folder.file("a.json")) == text.size());
    CHECK(*read_text(folder.file("a.json")) == text);
    const auto packed = write_text(folder.file("a.json.gz"), text);
    REQUIRE(packed);
    CHECK(*packed == gzip(text, "")->size());
    CHECK(std::filesystem::file_size(folder.file("a.json.gz")) == *packed);
    CHECK(*read_text(folder.file("a.json.gz")) == text);
}

TEST_CASE("compression is told by the first bytes, not by the name") {
    const scratch_folder folder;
    REQUIRE(write_text(folder.file("packed.gz"), "abc"));
    std::filesystem::rename(folder.file("packed.gz"), folder.file("packed.json"));
    CHECK(*read_text(folder.file("packed.json")) == "abc");
    REQUIRE(write_text(folder.file("plain"), "abc"));
    std::filesystem::rename(folder.file("plain"), folder.file("plain.gz"));
    CHECK(*read_text(folder.file("plain.gz")) == "abc");
}

TEST_CASE("files that cannot be read or written are diagnostics") {
    const scratch_folder folder;
    const std::string missing = folder.file("missing");
    CHECK(complaint(read_text(missing)) == missing + ": cannot be opened: No such file or directory");
    CHECK(complaint(read_text(folder.path.string())) == folder.path.string() + ": cannot be read: Is a directory");
    CHECK(complaint(write_text(folder.path.string(), "x")) ==
          folder.path.string() + ": cannot be opened: Is a directory");
    CHECK(complaint(write_text(missing + "/a.gz", "x")) ==
          missing + "/a.gz: cannot be opened: No such file or directory");
    if (std::filesystem::exists("/dev/full"))
        CHECK(complaint(write_text("/dev/full", "x")) == "/dev/full: cannot be written: No space left on device");
    REQUIRE(write_text(folder.file("empty"), ""));
    CHECK(read_text(folder.file("empty"))->empty());
}

TEST_CASE("a file without an end stops at the limit") {
    if (std::filesystem::exists("/dev/zero"))
        CHECK(complaint(read_text("/dev/zero", {.max_bytes = 1000000})) ==
              "/dev/zero: is larger than 1000000 bytes; is this the right file?");
}
