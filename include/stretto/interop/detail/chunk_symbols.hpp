// The symbols that a captured step binds, in chunks: what one operation has measured, its clones measure each for
// itself.
#ifndef STRETTO_INTEROP_DETAIL_CHUNK_SYMBOLS_HPP
#define STRETTO_INTEROP_DETAIL_CHUNK_SYMBOLS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/interop/capture.hpp"
#include "stretto/interop/capture_fields.hpp"
#include "stretto/interop/detail/argument_text.hpp"
#include "stretto/transform/apply_chunks.hpp"

namespace stretto::detail {

class chunk_symbols {
public:
    explicit chunk_symbols(const capture& step) : step_(&step), fields_(step) {}

    /// What all clones of a node have in common.
    struct original_node {
        std::uint32_t node = UINT32_MAX;
        std::vector<std::string> binds;
        std::vector<capture_tensor> outputs;  // only if some extent is an expression
    };
    const original_node& recall(std::uint32_t v) {
        if (recalled_.node == v) return recalled_;
        recalled_.node = v;
        recalled_.binds.clear();
        recalled_.outputs.clear();
        if (step_->field(v, "binds")) recalled_.binds = fields_.texts(v, "binds").value_or(std::vector<std::string>());
        if (step_->outputs(v).find("\"symbolic\"") != std::string_view::npos) recalled_.outputs = fields_.outputs(v);
        return recalled_;
    }
    [[nodiscard]] static std::string name_in(const std::string& symbol, std::uint32_t chunk) {
        return symbol + "_" + std::to_string(chunk);
    }

    /// A symbol that an operation binds has a value of its own in every chunk.
    void bind_symbols(std::uint32_t v, const chunk_part& part) {
        if (part.chunks == 1) return;
        for (const std::string& symbol : recall(v).binds) {
            if (symbols_.size() < part.chunks) symbols_.resize(part.chunks);
            std::int64_t value = 0;
            for (const capture_symbol& s : step_->symbols())
                if (s.name == symbol) value = part.share(s.value);
            new_symbols_.push_back({name_in(symbol, part.chunk), value});
            symbols_[part.chunk].emplace(symbol, name_in(symbol, part.chunk));
        }
    }
    /// An extent such as "u3 + u4" in the symbols of a chunk; empty if it has others.
    [[nodiscard]] std::string in_symbols_of(std::uint32_t chunk, std::string_view extent) const {
        std::string text;
        for (std::size_t i = 0; i < extent.size();) {
            std::size_t end = i;
            while (end < extent.size() && is_word(extent[end])) ++end;
            if (end == i) {
                text += extent[i++];
                continue;
            }
            const std::string_view word = extent.substr(i, end - i);
            i = end;
            const bool number = word[0] >= '0' && word[0] <= '9';
            const bool function = end < extent.size() && extent[end] == '(';
            std::string_view own = number || function ? word : std::string_view();
            if (own.empty() && chunk < symbols_.size())
                if (const auto at = symbols_[chunk].find(word); at != symbols_[chunk].end()) own = at->second;
            if (own.empty()) return {};
            text += own;
        }
        return text;
    }

    /// What has been bound so far, with the values that shapes of parts are computed with.
    [[nodiscard]] const std::vector<capture_symbol>& made() const noexcept { return new_symbols_; }

private:
    const capture* step_;
    capture_fields fields_;
    original_node recalled_;
    std::vector<std::map<std::string, std::string, std::less<>>> symbols_;  // of a chunk: symbol, its own name for it
    std::vector<capture_symbol> new_symbols_;
};

}  // namespace stretto::detail

#endif
