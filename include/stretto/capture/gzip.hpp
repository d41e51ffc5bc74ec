// Reads and writes whole files, compressed or not, within limits. Needs zlib.
#ifndef STRETTO_CAPTURE_GZIP_HPP
#define STRETTO_CAPTURE_GZIP_HPP

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/replace_file.hpp"
#include "stretto/core/expected.hpp"

namespace stretto {

/// The limits beyond which a file is refused.
struct file_limits {
    std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< size of the text, decompressed
    /// The largest ratio of decompressed to compressed size. A text of up to 64 MiB is accepted at any ratio. Captures
    /// reach 15, a decompression bomb 1,000.
    std::uint64_t max_expansion = 50;
};

namespace detail {

inline unexpected<diagnostic> too_large(std::string_view file, std::uint64_t limit, const char* hint) {
    return unexpected(file_fault(file, "is larger than " + std::to_string(limit) + " bytes", hint));
}

/// Returns the size of a buffer that distinguishes a text of exactly `limit` bytes from a larger one. No text is larger
/// than the largest limit.
inline std::uint64_t one_beyond(std::uint64_t limit) noexcept { return limit + (limit < UINT64_MAX ? 1 : 0); }

/// The state of zlib while it decompresses a gzip stream; it is released at the end of its scope.
struct inflater {
    z_stream stream = {};
    bool ready = inflateInit2(&stream, 15 + 16) == Z_OK;  // 16: expect a gzip header
    inflater() = default;
    inflater(const inflater&) = delete;
    inflater& operator=(const inflater&) = delete;
    ~inflater() {
        if (ready) inflateEnd(&stream);
    }
};

}  // namespace detail

/// Returns whether the bytes begin like a gzip file.
inline bool is_gzip(std::string_view bytes_read) noexcept {
    return bytes_read.size() >= 2 && bytes_read[0] == '\x1f' && bytes_read[1] == '\x8b';
}

/// Decompresses a gzip file of one or several members. It fails if the file is damaged, truncated, followed by other
/// data, or larger than the limits. It writes at most one byte more than the limits allow. O(size of the result) time.
/// While it grows, the buffer is at most 2 times the result, 4 times the input, or 64 KiB, whichever is largest.
inline expected<std::string, diagnostic> gunzip(std::string_view compressed, std::string_view file,
                                                const file_limits& limits = {}) {
    constexpr std::uint64_t always_allowed = std::uint64_t{64} << 20;
    const std::uint64_t by_expansion =
        compressed.size() > limits.max_bytes / std::max<std::uint64_t>(limits.max_expansion, 1)
            ? limits.max_bytes
            : std::max(always_allowed, compressed.size() * limits.max_expansion);
    const std::uint64_t limit = std::min(limits.max_bytes, by_expansion);

    detail::inflater z;
    if (!z.ready) return unexpected(detail::file_fault(file, "cannot be decompressed: out of memory", ""));
    std::string text;
    std::size_t made = 0, taken = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END || taken < compressed.size()) {
        if (status == Z_STREAM_END) {
            if (!is_gzip(compressed.substr(taken)))
                return unexpected(
                    detail::file_fault(file, "has something behind its compressed data", "was it appended to?"));
            inflateReset(&z.stream);
        }
        if (made == text.size()) {
            if (made > limit)
                return detail::too_large(file, limit, "raise max_bytes or max_expansion if it is no mistake");
            const std::uint64_t wanted = std::max<std::uint64_t>({made * 2, compressed.size() * 4, 1 << 16});
            text.resize(static_cast<std::size_t>(std::min(wanted, detail::one_beyond(limit))));
        }
        constexpr std::size_t piece = std::size_t{1} << 30;  // zlib counts in 32 bits
        const std::size_t in = std::min(compressed.size() - taken, piece);
        const std::size_t out = std::min(text.size() - made, piece);
        z.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data() + taken));
        z.stream.avail_in = static_cast<uInt>(in);
        z.stream.next_out = reinterpret_cast<Bytef*>(text.data() + made);
        z.stream.avail_out = static_cast<uInt>(out);
        status = inflate(&z.stream, Z_NO_FLUSH);
        taken += in - z.stream.avail_in;
        made += out - z.stream.avail_out;
        if (status == Z_BUF_ERROR && taken == compressed.size())
            return unexpected(
                detail::file_fault(file, "ends in the middle of its compressed data", "was it copied completely?"));
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return unexpected(
                detail::file_fault(file, "has damaged compressed data", z.stream.msg ? z.stream.msg : ""));
    }
    if (made > limit) return detail::too_large(file, limit, "raise max_bytes or max_expansion if it is no mistake");
    text.resize(made);
    return text;
}

/// Compresses a text to one gzip member without a name or a time stamp, so that the same text and zlib give the same
/// bytes. `file` appears only in the diagnostic if memory runs out.
inline expected<std::string, diagnostic> gzip(std::string_view text, std::string_view file) {
    z_stream z = {};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return unexpected(detail::file_fault(file, "cannot be compressed: out of memory", ""));
    std::string compressed;
    std::size_t made = 0, taken = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        constexpr std::size_t piece = std::size_t{1} << 30;
        if (made == compressed.size()) compressed.resize(std::max(made * 2, text.size() / 8 + (1 << 12)));
        const std::size_t in = std::min(text.size() - taken, piece);
        const std::size_t out = std::min(compressed.size() - made, piece);
        z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data() + taken));
        z.avail_in = static_cast<uInt>(in);
        z.next_out = reinterpret_cast<Bytef*>(compressed.data() + made);
        z.avail_out = static_cast<uInt>(out);
        status = deflate(&z, taken + in == text.size() ? Z_FINISH : Z_NO_FLUSH);
        taken += in - z.avail_in;
        made += out - z.avail_out;
    }
    deflateEnd(&z);
    compressed.resize(made);
    return compressed;
}

/// Returns the text of a file ("-" is standard input), decompressed if it begins like a gzip file. Fails if the file
/// cannot be opened or read, exceeds the limits, or is gzip that gunzip() refuses.
inline expected<std::string, diagnostic> read_text(const std::string& path, const file_limits& limits = {}) {
    errno = 0;
    const detail::file_handle f(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
    if (!f) return unexpected(detail::file_fault(path, std::string("cannot be opened: ") + std::strerror(errno), ""));
    std::string text;
    std::size_t filled = 0;
    for (;;) {
        if (filled == text.size()) {
            if (filled > limits.max_bytes) return detail::too_large(path, limits.max_bytes, "is this the right file?");
            const std::uint64_t wanted = std::max<std::uint64_t>(filled * 2, 1 << 16);
            text.resize(static_cast<std::size_t>(std::min(wanted, detail::one_beyond(limits.max_bytes))));
        }
        const std::size_t got = std::fread(text.data() + filled, 1, text.size() - filled, f.get());
        filled += got;
        if (got == 0) break;
    }
    if (std::ferror(f.get()))
        return unexpected(detail::file_fault(path, std::string("cannot be read: ") + std::strerror(errno), ""));
    if (filled > limits.max_bytes) return detail::too_large(path, limits.max_bytes, "is this the right file?");
    text.resize(filled);
    if (is_gzip(text)) return gunzip(text, path, limits);
    return text;
}

/// Writes a file ("-" is standard output) by replace_file, compressed if its name ends in ".gz", and returns the number
/// of bytes written.
inline expected<std::uint64_t, diagnostic> write_text(const std::string& path, std::string_view text) {
    std::string compressed;
    if (path.ends_with(".gz")) {
        expected<std::string, diagnostic> packed = gzip(text, path);
        if (!packed) return unexpected(packed.error());
        compressed = *std::move(packed);
        text = compressed;
    }
    if (auto fault = replace_file(path, text)) return unexpected(*std::move(fault));
    return static_cast<std::uint64_t>(text.size());
}

}  // namespace stretto

#endif
