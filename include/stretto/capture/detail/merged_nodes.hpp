// Records the original nodes of a bucket with it, so that splitting the bucket restores them exactly.
//
// For a bucket, the format contains only the names of its members and of the casts that its pack has absorbed. Their
// operators, arguments, times and modules would be lost. So the start of a bucket that this library writes has a field
// `merged`. For each member, in payload order, it contains the nodes that were removed, as the format writes nodes: the
// cast, if there was one, and the start. Each reads one value, which the bucket reads in its place, so `inputs` is [0].
#ifndef STRETTO_CAPTURE_DETAIL_MERGED_NODES_HPP
#define STRETTO_CAPTURE_DETAIL_MERGED_NODES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/detail/capture_node_reader.hpp"
#include "stretto/capture/detail/capture_node_text.hpp"
#include "stretto/capture/detail/json_walk.hpp"

namespace stretto::detail {

/// Returns the text of the field `merged` for a bucket of these starts. `parts` are the values that the bucket sends
/// for them; if a member sends something else, that is a cast of the part.
[[nodiscard]] inline std::string text_of_merged(const capture& step, std::span<const std::uint32_t> members,
                                                std::span<const std::uint32_t> parts) {
    constexpr std::array<std::uint32_t, 1> first = {0};
    const auto append = [&](std::string& text, std::uint32_t v) { append_node(text, step, v, {first, {}, {}}); };
    std::string text = "[";
    for (std::size_t k = 0; k < members.size(); ++k) {
        text += k == 0 ? "[" : ",[";
        if (const std::uint32_t sent = step.inputs(members[k])[0]; sent != parts[k]) {
            append(text, sent);
            text += ',';
        }
        append(text, members[k]);
        text += ']';
    }
    return text + "]";
}

/// The contents of the field `merged` of the start v. The nodes refer to texts that this object holds. If the bucket
/// has no such field, or a malformed one, its original nodes are unknown. O(text).
class merged_nodes {
public:
    struct member {
        std::optional<capture_node> cast, start;
    };

    merged_nodes(const capture& step, std::uint32_t v) {
        const auto text = step.field(v, "merged");
        if (!text) return;
        buffer_ = *text;
        const std::size_t length = buffer_.size();
        buffer_.append(simdjson::SIMDJSON_PADDING, ' ');
        const bool whole = json_.open(buffer_, length) && json_.root_array([this](od::value nodes) {
            member& m = members_.emplace_back();
            return json_.array(nodes, [&](od::value node) { return read(node, m); }) && m.start;
        });
        if (!whole) members_.clear();
    }
    merged_nodes(const merged_nodes&) = delete;
    merged_nodes& operator=(const merged_nodes&) = delete;

    /// The original nodes of member k.
    [[nodiscard]] const member& operator[](std::size_t k) const {
        static const member unknown;
        return k < members_.size() ? members_[k] : unknown;
    }

private:
    static constexpr std::size_t most_fields = 64;

    bool read(od::value node, member& m) {
        if (m.start || !reader_.read(node)) return false;
        const capture_node& n = reader_.node();
        if (n.inputs.size() != 1 || !n.aliases.empty() || !n.writes.empty()) return false;
        if (n.kind == op_kind::start) m.start = n;
        else if (n.kind == op_kind::compute && !m.cast) m.cast = n;
        else return false;
        return true;
    }

    std::string buffer_;
    json_walk json_;
    capture_node_reader reader_{json_, most_fields};
    std::vector<member> members_;
};

}  // namespace stretto::detail

#endif
