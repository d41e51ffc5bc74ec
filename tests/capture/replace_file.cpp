#include "stretto/capture/replace_file.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "capture/tiny_step.hpp"

using namespace stretto;
using support::scratch_folder;
namespace fs = std::filesystem;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
std::size_t files_in(const scratch_folder& folder) {
    std::size_t n = 0;
    for (const auto& entry : fs::directory_iterator(folder.path)) n += entry.exists() || entry.is_symlink();
    return n;
}

/// A disk with room for so many bytes of a file, and no more.
class full_disk {
public:
    explicit full_disk(rlim_t room) {
        getrlimit(RLIMIT_FSIZE, &before_);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        rlimit now = before_;
        now.rlim_cur = room;
        setrlimit(RLIMIT_FSIZE, &now);
    }
    full_disk(const full_disk&) = delete;
    full_disk& operator=(const full_disk&) = delete;
    ~full_disk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

}  // namespace

TEST_CASE("a file is made, and replaced with its permissions") {
    const scratch_folder folder;
    const std::string file = folder.file("a");
    REQUIRE(!replace_file(file, "first"));
    CHECK(content(file) == "first");
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    REQUIRE(!replace_file(file, "second"));
    CHECK(content(file) == "second");
    CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(files_in(folder) == 1);
}

TEST_CASE("a file that may not be written stays, although its directory would allow another in its place") {
    const scratch_folder folder;
    const std::string file = folder.file("a");
    REQUIRE(!replace_file(file, "protected"));
    fs::permissions(folder.path, fs::perms::all);
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    const bool is_root = geteuid() == 0;  // who may write everything
    if (is_root) REQUIRE(seteuid(65534) == 0);
    const std::optional<diagnostic> found = fault_of_path(file), fault = replace_file(file, "new");
    if (is_root) REQUIRE(seteuid(0) == 0);
    REQUIRE((found && fault));
    CHECK(found->message() == file + ": cannot be opened: Permission denied");
    CHECK(fault->message() == file + ": cannot be opened: Permission denied");
    CHECK(content(file) == "protected");
    CHECK(files_in(folder) == 1);
}

TEST_CASE("where there is no room, the old file stays, and nothing is left of the new one") {
    const scratch_folder folder;
    const std::string old = folder.file("old"), fresh = folder.file("fresh");
    REQUIRE(!replace_file(old, "what was there"));
    for (const std::size_t size : {std::size_t{101}, std::size_t{100000}}) {  // found on closing, found on writing
        std::optional<diagnostic> faults[2];
        {
            const full_disk none(100);
            faults[0] = replace_file(old, std::string(size, 'x'));
            faults[1] = replace_file(fresh, std::string(size, 'x'));
        }
        REQUIRE((faults[0] && faults[1]));
        CHECK(faults[0]->message() == old + ": cannot be written: File too large");
        CHECK(faults[1]->message() == fresh + ": cannot be written: File too large");
        CHECK(content(old) == "what was there");
        CHECK(files_in(folder) == 1);
    }
    const full_disk enough(100);
    CHECK(!replace_file(old, std::string(100, 'x')));
}

TEST_CASE("a file beside it that has the name of a part is somebody's") {
    const scratch_folder folder;
    REQUIRE(!replace_file(folder.file("a.part"), "somebody's"));
    CHECK(!fault_of_path(folder.file("a")));
    REQUIRE(!replace_file(folder.file("a"), "mine"));
    CHECK(content(folder.file("a.part")) == "somebody's");
    CHECK(content(folder.file("a")) == "mine");
    CHECK(files_in(folder) == 2);
}

TEST_CASE("behind a link, the file that it leads to is replaced") {
    const scratch_folder folder;
    const std::string link = folder.file("link"), nowhere = folder.file("nowhere");
    REQUIRE(!replace_file(folder.file("real"), "old"));
    fs::create_symlink("real", link);
    REQUIRE(!replace_file(link, "new"));
    CHECK(fs::is_symlink(link));
    CHECK(content(folder.file("real")) == "new");
    CHECK(files_in(folder) == 2);

    fs::create_symlink("made", nowhere);
    CHECK(!fault_of_path(nowhere));
    REQUIRE(!replace_file(nowhere, "new"));
    CHECK(fs::is_symlink(nowhere));
    CHECK(content(folder.file("made")) == "new");
    CHECK(files_in(folder) == 4);
}

TEST_CASE("a pipe is written to, and stays a pipe") {
    const scratch_folder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(!fault_of_path(pipe));
    std::string read;
    std::thread reader([&] { read = content(pipe); });
    CHECK(!replace_file(pipe, "through the pipe"));
    reader.join();
    CHECK(read == "through the pipe");
    CHECK(fs::is_fifo(pipe));
    CHECK(files_in(folder) == 1);
}

TEST_CASE("beside a file with the longest name there is no room for a part: it is written in place") {
    const scratch_folder folder;
    const std::string file = folder.file(std::string(255, 'n'));
    CHECK(replace_file(file, "new")->message() == file + ": cannot be opened: File name too long");
    CHECK(fault_of_path(file));
    std::ofstream(file) << "old";
    CHECK(!fault_of_path(file));
    REQUIRE(!replace_file(file, "new"));
    CHECK(content(file) == "new");
    CHECK(files_in(folder) == 1);
}

TEST_CASE("whether a file can be written is found out without changing one") {
    const scratch_folder folder;
    const std::string file = folder.file("a"), missing = folder.file("missing") + "/a";
    CHECK(!fault_of_path("-"));
    CHECK(!fault_of_path(file));
    CHECK(files_in(folder) == 0);
    REQUIRE(!replace_file(file, "content"));
    CHECK(!fault_of_path(file));
    CHECK(content(file) == "content");
    CHECK(files_in(folder) == 1);
    CHECK(fault_of_path(missing)->message() == missing + ": cannot be opened: No such file or directory");
    CHECK(fault_of_path(folder.path.string())->message() ==
          folder.path.string() + ": cannot be opened: Is a directory");
    CHECK(fault_of_path(""));
}
