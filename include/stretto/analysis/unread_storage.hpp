// Finds an operation that shares or writes memory that it does not read. Dependences follow reads, so such an operation
// could be ordered before the memory exists, and nothing in the graph would forbid it.
#ifndef STRETTO_ANALYSIS_UNREAD_STORAGE_HPP
#define STRETTO_ANALYSIS_UNREAD_STORAGE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"

namespace stretto {

/// The operation `vertex` uses the storage of `value`, although it reads neither `value` nor a value that shares it.
template <dataflow_graph G>
struct unread_storage {
    enum class use : std::uint8_t {
        shares,  ///< a result of `vertex` is said to alias `value`
        writes,  ///< `value` is among the effects of `vertex`
    };
    vertex_t<G> vertex;
    value_t<G> value;
    use how;
    friend bool operator==(const unread_storage&, const unread_storage&) = default;
};

/// The first operation in program order that shares or writes storage that it does not read, and that storage; nothing
/// if the aliases and effects of the model name only operands, values whose storage an operand shares, and results of
/// the operation itself. Inputs are not checked: their storage is the caller's. Sharing is followed through the aliases
/// of aliases. O(V + E + aliases) if aliases name operands, and at most the square of the values behind one operation
/// if they name values further back.
template <vertex_list_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] std::optional<unread_storage<G>> first_unread_storage(G g, const M& ops) {
    using use = typename unread_storage<G>::use;
    const auto among = [](const std::vector<value_t<G>>& list, value_t<G> x) {
        return std::find(list.begin(), list.end(), x) != list.end();
    };
    std::vector<value_t<G>> read;
    bool complete = false;  // whether `read` also contains the values that operands share
    const auto reads_storage_of = [&](value_t<G> x) {
        if (among(read, x)) return true;
        for (std::size_t k = 0; !complete && k < read.size(); ++k)
            for_each_alias<G>(ops, value_t<G>(read[k]), [&](value_t<G> shared) {
                if (!among(read, shared)) read.push_back(shared);
            });
        complete = true;
        return among(read, x);
    };
    std::optional<unread_storage<G>> found;
    for (vertex_t<G> v : g.vertices()) {
        if (ops.kind(v) == op_kind::input) continue;
        read.clear();
        complete = false;
        for (value_t<G> x : g.operands(v)) read.push_back(x);
        const auto look = [&](value_t<G> x, use how) {
            if (found || vertex_t<G>(g.producer(x)) == v || reads_storage_of(x)) return;
            found = unread_storage<G>{v, x, how};
        };
        for (value_t<G> y : g.results(v)) for_each_alias<G>(ops, y, [&](value_t<G> x) { look(x, use::shares); });
        for_each_effect<G>(ops, v, [&](value_t<G> x) { look(x, use::writes); });
        if (found) break;
    }
    return found;
}

}  // namespace stretto

#endif
