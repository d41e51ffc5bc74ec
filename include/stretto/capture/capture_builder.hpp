// Builds captures, node by node. This is the only place where a capture is checked: the reader, the writer of plans,
// and transforms that add buckets or chunks all end in build(). So no capture exists that a reader would refuse, as
// long as the texts of outputs and further fields are JSON that follows the format. Those texts are not parsed here.
#ifndef STRETTO_CAPTURE_CAPTURE_BUILDER_HPP
#define STRETTO_CAPTURE_CAPTURE_BUILDER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/detail/capture_check.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"

namespace stretto {

/// The description of a node for append(). It refers to its texts and does not own them.
struct capture_node {
    std::string_view name;  ///< unique in its capture
    std::string_view op;    ///< the framework's name for the operator
    op_kind kind = op_kind::compute;
    std::vector<std::uint32_t> inputs;   ///< positions of the distinct nodes that it reads, all before its own
    std::vector<std::uint32_t> aliases;  ///< nodes whose storage it shares
    std::vector<std::uint32_t> writes;   ///< nodes whose storage it writes
    bytes allocation;
    nanoseconds duration;
    collective_kind collective = collective_kind::other;  ///< for a start; `other` for every other node
    group_id group = 0;
    bytes payload;
    std::string_view outputs = "[]";  ///< JSON: a list of {"shape":[...],"dtype":"..."}
    std::vector<json_field> fields;   ///< everything else, under keys that are not among the above; each text is JSON
};

/// Returns node v of a capture as a description, to be changed and appended elsewhere. The texts to which it refers
/// live as long as the capture.
inline capture_node node_of(const capture& c, std::uint32_t v) {
    capture_node n;
    n.name = c.name(v);
    n.op = c.op(v);
    n.kind = c.kind(v);
    n.inputs.assign(c.inputs(v).begin(), c.inputs(v).end());
    n.aliases.assign(c.aliases(v).begin(), c.aliases(v).end());
    n.writes.assign(c.writes(v).begin(), c.writes(v).end());
    n.allocation = c.allocation(v);
    n.duration = c.duration(v);
    n.collective = c.collective(v);
    n.group = c.group(v);
    n.payload = c.payload(v);
    n.outputs = c.outputs(v);
    for (std::size_t i = 0; i < c.field_count(v); ++i) n.fields.push_back(c.field(v, i));
    return n;
}

/// Collects nodes in program order. The result is deterministic. Time and space are linear in the appended data, plus
/// O(V log V) time once in build() for the names.
class capture_builder {
public:
    using node_id = capture::node_id;

    explicit capture_builder(std::string step_name) { made_.name_ = std::move(step_name); }

    /// Returns a builder with the name, groups, costs, symbols and further members of another capture, and no nodes
    /// yet.
    static capture_builder like(const capture& c) {
        capture_builder b(c.name_);
        b.made_.groups_ = c.groups_;
        b.made_.costs_ = c.costs_;
        b.made_.symbols_ = c.symbols_;
        b.made_.fields_ = c.fields_;
        return b;
    }

    /// Returns a builder that takes over a text. Texts appended later that lie inside it are not copied.
    static capture_builder over(std::string text) {
        capture_builder b{std::string()};
        b.made_.text_ = std::move(text);
        return b;
    }
    [[nodiscard]] std::string_view text() const noexcept { return made_.text_; }

    void set_name(std::string step_name) { made_.name_ = std::move(step_name); }
    void set_costs(capture_costs costs) { made_.costs_ = std::move(costs); }
    void set_fields(std::string members) { made_.fields_ = std::move(members); }
    void add_symbol(std::string symbol, std::int64_t value) { made_.symbols_.push_back({std::move(symbol), value}); }
    /// Adds a group and returns its id, which is its position.
    group_id add_group(capture_group group) {
        made_.groups_.push_back(std::move(group));
        return static_cast<group_id>(made_.groups_.size() - 1);
    }

    /// Reserves memory for that many nodes, inputs and uninterpreted fields in total. It is optional, but saves time.
    void reserve(std::size_t nodes, std::size_t inputs, std::size_t fields) {
        made_.records_.reserve(nodes);
        made_.inputs_.reserve(nodes, inputs);
        made_.aliases_.reserve(nodes, 0);
        made_.writes_.reserve(nodes, 0);
        made_.node_fields_.reserve(fields);
    }

    [[nodiscard]] std::size_t size() const noexcept { return made_.records_.size(); }

    /// Adds the next node in program order and returns its position. build() checks whether it is legal.
    node_id append(const capture_node& n) {
        detail::capture_record r;
        r.name = slice(n.name);
        r.op = slice(n.op);
        r.outputs = slice(n.outputs);
        r.allocation = n.allocation;
        r.payload = n.payload;
        r.duration = n.duration;
        r.group = n.group;
        r.kind = n.kind;
        r.collective = n.collective;
        r.first_field = static_cast<std::uint32_t>(made_.node_fields_.size());
        for (const json_field& f : n.fields) made_.node_fields_.push_back({slice(f.key), slice(f.text)});
        r.last_field = static_cast<std::uint32_t>(made_.node_fields_.size());
        made_.records_.push_back(r);
        append_to(made_.inputs_, n.inputs);
        append_to(made_.aliases_, n.aliases);
        append_to(made_.writes_, n.writes);
        return static_cast<node_id>(size() - 1);
    }

    /// Returns the capture, or, as the error, its first fault: of nodes, in program order; of sums over the step; of
    /// groups; of names of groups and symbols; of costs; and at last a node with the name of an earlier one. The
    /// builder is used up.
    [[nodiscard]] expected<capture, diagnostic> build() && {
        if (overflowed_)
            return unexpected(detail::fault_of_step("", "more than 4 GiB of text", "split the step in several"));
        made_.text_ += added_;
        std::ranges::sort(made_.costs_.collectives, {}, [](const collective_cost_table& t) {
            return std::pair<std::string_view, collective_kind>(t.group, t.collective);
        });
        std::optional<diagnostic> fault = detail::fault_of(made_);
        if (!fault) fault = index_names();
        if (fault) return unexpected(std::move(*fault));
        made_.readers_ = made_.inputs_.inverse(size());
        share_operators();
        return std::move(made_);
    }

private:
    static void append_to(index_lists& lists, const std::vector<node_id>& items) {
        for (node_id u : items) lists.push(u);
        lists.close_row();
    }

    /// Returns the place of a text in the text of the capture, to which it is added if it is not part of it. A capture
    /// cannot hold more than 4 GiB of text; build() reports it.
    detail::text_slice slice(std::string_view s) {
        const std::string& text = made_.text_;
        const std::less<const char*> before;  // unlike <, this is defined for pointers into different objects
        const bool inside = !before(s.data(), text.data()) && !before(text.data() + text.size(), s.data() + s.size());
        std::size_t offset = text.size() + added_.size();
        if (inside) offset = static_cast<std::size_t>(s.data() - text.data());
        else added_ += s;
        if (offset + s.size() > std::numeric_limits<std::uint32_t>::max()) {
            overflowed_ = true;
            return {};
        }
        return {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(s.size())};
    }

    /// Fills the table that find() uses. Fails with the first node, in program order, whose name is already taken.
    std::optional<diagnostic> index_names() {
        const capture& c = made_;
        std::vector<detail::hashed_name>& order = made_.by_name_;
        order.resize(size());
        for (std::size_t i = 0; i < size(); ++i) {
            const auto v = static_cast<node_id>(i);
            order[i] = {detail::hash_of(c.name(v)), v};
        }
        // Names order entries with equal hashes, so no choice of names makes this slower than O(V log V).
        std::sort(order.begin(), order.end(), [&c](detail::hashed_name a, detail::hashed_name b) {
            if (a.hash != b.hash) return a.hash < b.hash;
            const int order_of_names = c.name(a.node).compare(c.name(b.node));
            return order_of_names != 0 ? order_of_names < 0 : a.node < b.node;
        });
        std::optional<std::pair<node_id, node_id>> taken;  // the later node, and the one before it
        for (std::size_t k = 1; k < size(); ++k) {
            const detail::hashed_name a = order[k - 1], b = order[k];
            if (a.hash == b.hash && c.name(a.node) == c.name(b.node) && (!taken || b.node < taken->first))
                taken = {b.node, a.node};
        }
        if (!taken) return {};
        return detail::fault_of_node(c, taken->first, "name",
                                     "is that of node " + std::to_string(taken->second) + " already",
                                     "names are unique in a step");
    }

    /// Lets nodes with the same operator share the text of its name, as far as a small table remembers it. Rules look
    /// at these names again and again, and a few hundred texts stay in the caches. O(V).
    void share_operators() {
        std::vector<detail::text_slice> known(1024);
        for (detail::capture_record& r : made_.records_) {
            const std::string_view op = made_.text(r.op);
            detail::text_slice& slot = known[detail::hash_of(op) % known.size()];
            if (made_.text(slot) == op) r.op = slot;
            else slot = r.op;
        }
    }

    capture made_;
    std::string added_;  // text from elsewhere, appended to the text of the capture when that is complete
    bool overflowed_ = false;
};

}  // namespace stretto

#endif
