#include "files.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <type_traits>
#include <utility>

#include "stretto/capture/replace_file.hpp"

namespace trainer {
namespace {

constexpr char magic[] = "stretto moe_trainer checkpoint 1\n";

/// Writes numbers and arrays, one after another. Numbers have the same bytes on every machine, arrays those of this
/// machine.
class spelling {
public:
    void number(std::uint64_t x) {
        for (int k = 0; k < 8; ++k) text_ += static_cast<char>(x >> 8 * k & 0xff);
    }
    void number(std::int64_t x) { number(static_cast<std::uint64_t>(x)); }
    void bytes(const void* x, std::size_t n) {
        number(static_cast<std::uint64_t>(n));
        text_.append(static_cast<const char*>(x), n);
    }
    std::string take() && {
        std::string all = magic + std::move(text_);
        text_.clear();
        number(hash_of(all));
        return all + text_;
    }

private:
    std::string text_;
};

/// Reads what `spelling` has written. Whatever is missing is read as zero, and then is_sound() is false.
class reading {
public:
    reading(const char* at, std::size_t left) : at_(at), left_(left) {}
    [[nodiscard]] bool is_sound() const { return sound_; }
    [[nodiscard]] bool is_over() const { return sound_ && left_ == 0; }
    std::uint64_t number() {
        std::uint64_t x = 0;
        const char* const from = take(8);
        for (int k = 0; from != nullptr && k < 8; ++k) x |= std::uint64_t{static_cast<unsigned char>(from[k])} << 8 * k;
        return x;
    }
    std::int64_t amount() { return static_cast<std::int64_t>(number()); }
    template <class T>
    T bytes() {
        const std::uint64_t n = number();
        const char* const from = take(n);
        T made;
        using element = typename T::value_type;
        if (from == nullptr || n % sizeof(element) != 0) return sound_ = false, made;
        made.resize(n / sizeof(element));
        if (n != 0) std::memcpy(made.data(), from, n);
        return made;
    }

private:
    const char* take(std::uint64_t n) {
        if (n > left_) sound_ = false;
        if (!sound_) return nullptr;
        left_ -= static_cast<std::size_t>(n);
        return std::exchange(at_, at_ + n);
    }
    const char* at_;
    std::size_t left_;
    bool sound_ = true;
};

/// Calls f(number) for every member of a shape and a mesh that determines the program, except `rounds`.
template <class F>
void each_extent(model_shape& s, mesh& m, F f) {
    for (std::int64_t* x : {&s.vocabulary, &s.width, &s.heads, &s.layers, &s.experts, &s.chosen, &s.hidden, &s.shared,
                            &s.sequence, &s.batch, &m.ranks, &m.expert_ranks})
        f(*x);
}

}  // namespace

stretto::expected<std::string, std::string> read_file(const std::string& path) {
    std::error_code unknown;
    std::ifstream file;
    if (!std::filesystem::is_directory(path, unknown)) file.open(path, std::ios::binary);
    if (!file.is_open()) return stretto::unexpected(path + ": cannot be read: give a file that is there");
    std::string content;
    for (char some[4096]; file.read(some, sizeof some), file.gcount() > 0;)
        content.append(some, static_cast<std::size_t>(file.gcount()));
    return content;
}

std::optional<std::string> write_file(const std::string& path, const std::string& content) {
    if (!stretto::replace_file(path, content)) return {};
    return path + ": cannot be written: give a file in a directory that is there, and on which there is room";
}

std::optional<std::string> fault_of_file(const std::string& path) {
    if (!stretto::fault_of_path(path)) return {};
    return path + ": cannot be written: give a file in a directory that is there";
}

std::uint64_t hash_of(const std::string& bytes) {  // FNV-1a
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

std::string spelled(const checkpoint& c) {
    spelling s;
    checkpoint copy{c.shape, c.mesh, c.text, {}, {}};
    each_extent(copy.shape, copy.mesh, [&](std::int64_t x) { s.number(x); });
    s.number(std::uint64_t{c.shape.rounds});
    s.number(c.text);
    s.number(std::uint64_t{c.chunks.size()});
    for (const stretto::module_chunks& m : c.chunks) {
        s.bytes(m.pattern.data(), m.pattern.size());
        s.number(static_cast<std::uint64_t>(m.direction));
        s.bytes(m.sizes.data(), m.sizes.size() * sizeof m.sizes[0]);
    }
    s.number(c.state.seed);
    s.number(c.state.steps);
    s.number(std::uint64_t{c.state.ranks.size()});
    for (const rank_state& r : c.state.ranks) {
        s.number(std::uint64_t{r.size()});
        for (const auto& [x, memory] : r) {
            s.number(std::uint64_t{x});
            s.bytes(memory.data(), memory.size() * sizeof memory[0]);
        }
    }
    return std::move(s).take();
}

stretto::expected<checkpoint, std::string> parsed_checkpoint(const std::string& bytes) {
    constexpr std::size_t head = sizeof magic - 1;
    const auto wrong = [](const char* what) { return stretto::unexpected(std::string(what)); };
    if (bytes.compare(0, head, magic) != 0)
        return wrong("is no checkpoint of this trainer: give a file that --checkpoint has written");
    const std::size_t body = bytes.size() < head + 8 ? 0 : bytes.size() - 8;
    if (body == 0 || reading(bytes.data() + body, 8).number() != hash_of(bytes.substr(0, body)))
        return wrong("is truncated or was changed: its check sum differs; use an older checkpoint, or begin anew");
    reading r(bytes.data() + head, body - head);
    checkpoint c;
    each_extent(c.shape, c.mesh, [&](std::int64_t& x) { x = r.amount(); });
    c.shape.rounds = r.number() != 0;
    c.text = r.number();
    for (std::uint64_t n = r.number(); n > 0 && r.is_sound(); --n) {
        auto pattern = r.bytes<std::string>();
        const auto direction = static_cast<stretto::pass_direction>(r.number());
        c.chunks.push_back({std::move(pattern), direction, r.bytes<std::vector<std::int64_t>>()});
    }
    c.state.seed = r.number();
    c.state.steps = r.amount();
    for (std::uint64_t n = r.number(); n > 0 && r.is_sound(); --n) {
        rank_state& rank = c.state.ranks.emplace_back();
        for (std::uint64_t tensors = r.number(); tensors > 0 && r.is_sound(); --tensors) {
            const auto x = static_cast<tensor_id>(r.number());
            rank[x] = r.bytes<std::vector<float>>();
        }
    }
    if (!r.is_over()) return wrong("contradicts itself: use an older checkpoint, or begin anew");
    return c;
}

}  // namespace trainer
