// Writes a file whole or not at all, so that a full disk costs nobody the file that was there before.
#ifndef STRETTO_CAPTURE_REPLACE_FILE_HPP
#define STRETTO_CAPTURE_REPLACE_FILE_HPP

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "stretto/capture/diagnostic.hpp"

namespace stretto {

namespace detail {

/// Returns a diagnostic about a file as a whole.
[[nodiscard]] inline diagnostic file_fault(std::string_view file, std::string cause, std::string hint) {
    diagnostic d;
    d.file = file;
    d.cause = std::move(cause);
    d.hint = std::move(hint);
    return d;
}

struct close_file {
    void operator()(std::FILE* f) const noexcept {
        if (f != stdin && f != stdout) std::fclose(f);
    }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

/// Writes all of `text` and closes the file. Returns whether everything has arrived; errno says why not.
[[nodiscard]] inline bool write_and_close(file_handle f, std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), f.get()) == text.size() && std::fflush(f.get()) == 0;
    const int fault = errno;
    const bool closed = f.get() == stdout || std::fclose(f.release()) == 0;
    if (!written) errno = fault;
    return written && closed;
}

/// How a file can be written.
class write_target {
public:
    explicit write_target(const std::string& path) : path_(path) {
        std::error_code error;
        const std::filesystem::file_status old = std::filesystem::status(path, error);
        if (std::filesystem::is_regular_file(old)) {
            permissions_ = old.permissions();
            // The file behind a link is replaced, and not the link.
            if (const auto real = std::filesystem::canonical(path, error); !error) path_ = real.string();
        } else {
            // A device or a pipe is written to. A link that leads nowhere is followed by whoever opens it.
            in_place_ = std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)) ||
                        std::filesystem::exists(old);
        }
    }

    /// Returns whether it is written in place because it is no regular file.
    [[nodiscard]] bool is_in_place() const { return in_place_; }

    /// Opens a new file beside the target, or nothing if it must be written in place.
    [[nodiscard]] file_handle open_beside() {
        if (path_.empty()) errno = ENOENT;
        if (in_place_ || path_.empty() || is_protected()) return nullptr;
        for (int k = 0; k < 100; ++k) {
            beside_ = path_ + ".part" + (k == 0 ? "" : std::to_string(k));
            if (file_handle f{std::fopen(beside_.c_str(), "wbx")}) {  // x: fails if there is such a file
                // Before anything is written, so that nobody reads what the old file kept from them.
                std::error_code ignored;
                if (permissions_) std::filesystem::permissions(beside_, *permissions_, ignored);
                return f;
            }
            if (errno != EEXIST) break;
        }
        beside_.clear();
        return nullptr;
    }
    /// Opens the target itself.
    [[nodiscard]] file_handle open_in_place() const { return file_handle(std::fopen(path_.c_str(), "wb")); }

    /// Puts the file beside the target in its place. Returns whether that went well; errno says why not.
    [[nodiscard]] bool replace() {
        std::error_code error;
        std::filesystem::rename(beside_, path_, error);
        if (error) errno = error.value();
        else beside_.clear();
        return !error;
    }
    write_target(const write_target&) = delete;
    write_target& operator=(const write_target&) = delete;
    /// Removes the file beside the target if it has not replaced it.
    ~write_target() {
        std::error_code ignored;
        if (!beside_.empty()) std::filesystem::remove(beside_, ignored);
    }

    /// Returns whether there is a regular file, which may be writable even if no file can be made beside it.
    [[nodiscard]] bool is_there() const { return permissions_.has_value(); }

private:
    /// Returns whether there is a regular file that may not be written: it must not be replaced either.
    [[nodiscard]] bool is_protected() const { return is_there() && !file_handle(std::fopen(path_.c_str(), "ab")); }

    std::string path_, beside_;
    std::optional<std::filesystem::perms> permissions_;
    bool in_place_ = false;
};

}  // namespace detail

/// Writes a file ("-" is standard output). The text is written to a new file in the same directory, which then takes
/// the place and the permissions of the old one; so readers see the old file or the new one, and after a failure the
/// old file is as it was. Only what is no regular file (a device, a pipe), and a file beside which no other can be made
/// (in a directory that may not be written), is written in place. A file that may not be written is not replaced.
/// Behind a symbolic link, the file that it leads to is replaced. Returns what went wrong, if anything did.
[[nodiscard]] inline std::optional<diagnostic> replace_file(const std::string& path, std::string_view text) {
    const auto fault = [&](const char* what) {
        return detail::file_fault(path, std::string(what) + std::strerror(errno), "");
    };
    errno = 0;
    if (path == "-")
        return detail::write_and_close(detail::file_handle(stdout), text) ? std::nullopt
                                                                          : std::optional(fault("cannot be written: "));
    detail::write_target target(path);
    detail::file_handle f = target.open_beside();
    const bool beside = f != nullptr;
    if (!beside && (target.is_in_place() || target.is_there())) f = target.open_in_place();
    if (!f) return fault("cannot be opened: ");
    if (!detail::write_and_close(std::move(f), text) || (beside && !target.replace()))
        return fault("cannot be written: ");
    return std::nullopt;
}

/// Returns what would keep replace_file from opening that file, if anything would. Changes no file that is there.
[[nodiscard]] inline std::optional<diagnostic> fault_of_path(const std::string& path) {
    if (path == "-") return std::nullopt;
    errno = 0;
    detail::write_target target(path);
    std::error_code error;
    if (target.is_in_place() && std::filesystem::is_directory(path, error)) errno = EISDIR;
    else if (target.is_in_place() || target.open_beside()) return std::nullopt;
    else if (target.is_there() && detail::file_handle(std::fopen(path.c_str(), "ab"))) return std::nullopt;
    return detail::file_fault(path, std::string("cannot be opened: ") + std::strerror(errno), "");
}

}  // namespace stretto

#endif
