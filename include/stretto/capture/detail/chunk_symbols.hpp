// Names the symbols that a captured step binds, chunk by chunk: what an operation measures for the whole, each of its
// clones measures for its own chunk.
//
// A symbol such as u3 is the number of rows that a rank receives in an exchange, known only when the program runs. If
// the exchange is cloned, each clone receives a number of its own, and every shape and argument of that chunk that
// mentions u3 must mention the chunk's symbol instead. So a clone that binds symbols must be made before the clones
// that use them. This is so because clones are made in program order.
#ifndef STRETTO_CAPTURE_DETAIL_CHUNK_SYMBOLS_HPP
#define STRETTO_CAPTURE_DETAIL_CHUNK_SYMBOLS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto::detail {

/// The symbols of the clones that have been made so far. A symbol u3 that a chunk binds is u3_0, u3_1, ... in the
/// chunks, and its values there are the shares of the recorded one, with which shapes of parts are computed.
class chunk_symbols {
public:
    explicit chunk_symbols(const capture& step) : step_(&step), fields_(step) {}

    /// Returns the symbols that v binds; none if its `binds` is not a list of texts. The answer is valid until the next
    /// call. It is kept for further calls with v, because the clones of v are made one after the other.
    const std::vector<std::string>& bound_by(std::uint32_t v) {
        if (recalled_ == v) return bound_;
        recalled_ = v;
        bound_.clear();
        if (step_->field(v, "binds")) bound_ = fields_.texts(v, "binds").value_or(std::vector<std::string>());
        return bound_;
    }
    /// Returns the name that a symbol has in a chunk.
    [[nodiscard]] static std::string name_in(const std::string& symbol, std::uint32_t chunk) {
        return symbol + "_" + std::to_string(chunk);
    }

    /// Gives each symbol that v binds a name and a value of its own in the chunk.
    void bind_symbols(std::uint32_t v, const chunk_part& part) {
        if (part.chunks == 1) return;
        for (const std::string& symbol : bound_by(v)) {
            if (symbols_.size() <= part.region) symbols_.resize(part.region + 1);
            if (symbols_[part.region].size() < part.chunks) symbols_[part.region].resize(part.chunks);
            std::int64_t value = 0;
            for (const capture_symbol& s : step_->symbols())
                if (s.name == symbol) value = part.share(s.value);
            new_symbols_.push_back({name_in(symbol, part.chunk), value});
            symbols_[part.region][part.chunk].emplace(symbol, name_in(symbol, part.chunk));
        }
    }
    /// Returns an extent such as "u3 + u4" in the symbols of a chunk; empty if it mentions other symbols.
    [[nodiscard]] std::string in_symbols_of(const chunk_part& part, std::string_view extent) const {
        bool all = true;
        std::string text = with_symbols_of(part, extent, [&] { all = false; });
        return all ? text : std::string();
    }
    /// Returns the same, except that other symbols stay as they are.
    [[nodiscard]] std::string with_symbols_of(const chunk_part& part, std::string_view extent) const {
        return with_symbols_of(part, extent, [] {});
    }

    /// Returns the symbols of clones that were bound so far, with the values with which shapes of parts are computed.
    [[nodiscard]] const std::vector<capture_symbol>& made() const noexcept { return new_symbols_; }

private:
    /// Returns the extent in the symbols of a chunk. Calls `other` for every symbol that has no name there.
    template <class F>
    [[nodiscard]] std::string with_symbols_of(const chunk_part& part, std::string_view extent, F other) const {
        return extent_expression::substituted(extent, [&](std::string_view symbol) -> std::optional<std::string> {
            if (const own_names* own = names_in(part))
                if (const auto at = own->find(symbol); at != own->end()) return at->second;
            other();
            return std::nullopt;
        });
    }

    using own_names = std::map<std::string, std::string, std::less<>>;

    /// Returns the names of a chunk; null if it binds nothing, or if the part is not one of several chunks.
    [[nodiscard]] const own_names* names_in(const chunk_part& part) const {
        if (part.chunks == 1 || part.region >= symbols_.size()) return nullptr;
        return part.chunk < symbols_[part.region].size() ? &symbols_[part.region][part.chunk] : nullptr;
    }

    const capture* step_;
    capture_fields fields_;
    std::uint32_t recalled_ = UINT32_MAX;
    std::vector<std::string> bound_;               // by the node recalled_
    std::vector<std::vector<own_names>> symbols_;  // by region and chunk
    std::vector<capture_symbol> new_symbols_;
};

}  // namespace stretto::detail

#endif
