// Assigns a module and a direction to every vertex of a step: those that a module model gives, and for the other
// vertices those that follow from them.
#ifndef STRETTO_TRANSFORM_STEP_MODULES_HPP
#define STRETTO_TRANSFORM_STEP_MODULES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/vertex_map.hpp"
#include "stretto/transform/detail/text_order.hpp"

namespace stretto {

/// Returns the smallest module that contains both: "layers.3" for "layers.3.ffn" and "layers.3.moe". It is empty if
/// there is none. The result is a view into `a`. O(length).
[[nodiscard]] constexpr std::string_view common_module(std::string_view a, std::string_view b) noexcept {
    std::size_t boundary = 0;
    for (std::size_t same = 0;; ++same) {
        const bool a_ends = same == a.size() || a[same] == '.', b_ends = same == b.size() || b[same] == '.';
        if (a_ends && b_ends) boundary = same;
        if (same == a.size() || same == b.size() || a[same] != b[same]) return a.substr(0, boundary);
    }
}

/// The module and the direction of every vertex. Frameworks give neither for operations that they insert themselves,
/// such as additions of gradients. A vertex without a path gets the smallest module that contains all vertices whose
/// values it reads, except inputs of the step. A vertex without a direction gets the direction of these vertices if
/// they agree. Inputs and outputs of the step belong to no module. The answers are valid until the graph changes. The
/// class is itself a module_model of the same graph.
///
/// Construction takes O(V + uses) steps of O(length of a path) each, and O(log(number of paths)) comparisons of paths
/// for each vertex. It stores 5 bytes per vertex index, and each path once.
template <dataflow_graph G>
    requires vertex_list_graph<G> && indexed_graph<G>
class step_modules {
public:
    using vertex_type = vertex_t<G>;

    /// Precondition: in the program order of `g`, every vertex comes after the producers of its operands.
    template <op_model<G> Ops, module_model<G> Model>
    step_modules(G g, const Ops& ops, const Model& model)
        : graph_(g), module_(g, nowhere), direction_(g, pass_direction::both), paths_{std::string()} {
        std::map<std::string, std::uint32_t, detail::text_order> known;
        known.emplace(std::string(), 0u);
        for (vertex_type v : g.vertices()) {
            if (is_end(ops, v)) continue;
            std::optional<std::string_view> around;
            std::optional<pass_direction> way;
            for (value_t<G> x : g.operands(v)) {
                const vertex_type u = g.producer(x);
                if (is_end(ops, u)) continue;
                around = around ? common_module(*around, path(u)) : path(u);
                way = !way || *way == direction_[u] ? direction_[u] : pass_direction::both;
            }
            decltype(auto) said = model.path(v);  // the result may own its text
            const std::string_view own = said;
            const std::string_view module = own.empty() ? around.value_or(std::string_view()) : own;
            auto at = known.find(module);
            if (at == known.end()) {
                at = known.emplace(std::string(module), static_cast<std::uint32_t>(paths_.size())).first;
                paths_.push_back(at->first);
            }
            module_[v] = at->second;
            const pass_direction own_way = model.direction(v);
            direction_[v] = own_way == pass_direction::both ? way.value_or(pass_direction::both) : own_way;
        }
    }

    /// Returns the view of the step.
    [[nodiscard]] G graph() const { return graph_; }

    /// Returns whether v is an operation of the step, rather than one of its inputs or outputs.
    [[nodiscard]] bool is_operation(vertex_type v) const { return module_[v] != nowhere; }
    /// Returns the module of v, such as "layers.3.moe". It is empty for inputs and outputs, and if the module is
    /// unknown.
    [[nodiscard]] std::string_view path(vertex_type v) const { return paths_[path_number(v)]; }
    /// Returns the direction of v; `both` if it is unknown, and for inputs and outputs.
    [[nodiscard]] pass_direction direction(vertex_type v) const { return direction_[v]; }

    /// Returns all paths, numbered in the program order of their first vertices; number 0 is the empty path.
    [[nodiscard]] std::span<const std::string> paths() const noexcept { return paths_; }
    /// Returns the number of path(v).
    [[nodiscard]] std::uint32_t path_number(vertex_type v) const { return is_operation(v) ? module_[v] : 0; }

private:
    static constexpr std::uint32_t nowhere = UINT32_MAX;

    /// Returns whether v is an input or an output of the step.
    template <class Ops>
    static bool is_end(const Ops& ops, vertex_type v) {
        const op_kind kind = ops.kind(v);
        return kind == op_kind::input || kind == op_kind::output;
    }

    G graph_;
    vertex_map<G, std::uint32_t> module_;
    vertex_map<G, pass_direction> direction_;
    std::vector<std::string> paths_;
};

}  // namespace stretto

#endif
