// The trainer's own IR: numbered operations and tensors in lists, where each tensor knows its maker and its readers.
// Numbers never change, so a program can be copied like any value, and each of its forms can be kept beside the others.
#ifndef MOE_TRAINER_IR_HPP
#define MOE_TRAINER_IR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/element_type.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/tensor_model.hpp"

namespace trainer {

using op_id = std::uint32_t;
using tensor_id = std::uint32_t;
using extents = std::vector<std::int64_t>;

// clang-format off
enum class code : std::uint8_t {
    given, kept,                                   // what a step begins with, and what it leaves
    embed, embed_back, norm, norm_back,            // rows of a table; x / rms(x) * gain
    project, project_back, weigh,                  // x W, g W^T, x^T g
    attend, attend_back, swish, swish_back, add,   // causal attention with rotated positions; silu(a) b
    log_softmax, log_softmax_back, loss, loss_back,
    sigmoid, sigmoid_back, choose,                 // scores, and the best of them, biased towards idle experts
    gate, gate_back, portion, portion_back,        // scores of the chosen; each in proportion to their sum
    line_up, token_of, tally, per_rank, ends,      // copies of tokens by expert; which token; how many; running sums
    fetch, blank, put, scale, dot, round16,        // rows looked up; zeros; rows added; times a number each; rounded
    expert, expert_back, weigh_experts,            // as project and so on, with a matrix for each group of rows
    expert_swish, expert_swish_back,
    adam, balance,                                 // change what was given
    reshape, pick, cut,                            // views
    send_tally, send_rows, collect, reduce, count, // exchanges; gathers of weights; sums over ranks
    arrive,
    join, total, pack, unpack                      // made by rewriting
};
enum class role : std::uint8_t { input, output, kernel, view, start, wait };
// clang-format on

/// The name of an operator, and the kind of vertex that its operations are.
struct code_entry {
    const char* name;
    role is;
};
[[nodiscard]] const code_entry& entry_of(code c);

/// One operation. `field` depends on the operator: the heads of attention, an index, a divisor, or a number of ranks.
struct operation {
    code what = code::given;
    std::vector<tensor_id> reads = {}, makes = {};
    std::int64_t field = 0;
    std::uint32_t module = 0;
    bool backward = false;
    stretto::group_id group = 0;  ///< the communicator of a start, and of a pack for one
    std::uint32_t chunk = 0;
    std::uint64_t like = 0;  ///< the logical id: that of the collective of which it is a part
    std::int64_t takes = 0;  ///< nanoseconds of its kernel or collective; 0 if not known
};

/// One tensor: the operation that makes it, its type, and the operations that read it, once for each use.
struct tensor {
    op_id by = 0;
    extents shape = {};
    stretto::element_type element = stretto::element_type::f32;
    std::vector<op_id> readers = {};
    stretto::tensor_type type = {};

    [[nodiscard]] std::int64_t size() const { return stretto::size_of(element, shape); }
    [[nodiscard]] std::int64_t count() const { return size() / stretto::size_of(element); }
};

/// How ranks share weights: experts are distributed over `expert_ranks` neighbouring ranks, and every such block has
/// all of them.
struct mesh {
    std::int64_t ranks = 1, expert_ranks = 1;
};

/// A communicator. The program is written with one for each set of ranks; the library adds others of the same ranks.
struct communicator {
    enum class of : std::uint8_t {
        world,
        block,    ///< the ranks that share one set of experts
        replicas  ///< the ranks that hold the same experts
    } what = of::world;
    stretto::group_id duplicate_of = stretto::no_group;
    std::int32_t priority = 0;
};

/// The number of ranks in a group, and their distance.
struct spread {
    std::int64_t members = 1, stride = 1;
};

/// A step: its operations in program order, their tensors, communicators and modules.
struct program {
    trainer::mesh mesh = {};
    std::vector<operation> ops = {};
    std::deque<tensor> tensors = {};
    std::vector<op_id> order = {};
    std::vector<communicator> groups = {};
    std::vector<std::string> modules = {std::string()};

    // Operations that are recorded next belong to this module and direction.
    std::uint32_t module = 0;
    bool backward = false;

    op_id cursor = 0;  ///< the operation before which rewriting inserts

    program() = default;
    program(const program& other)
        : mesh(other.mesh),
          ops(other.ops),
          tensors(other.tensors),
          order(other.order),
          groups(other.groups),
          modules(other.modules),
          module(other.module),
          backward(other.backward) {
        for (tensor& x : tensors) x.type = {x.shape, x.element};  // types refer to shapes
    }
    program(program&&) = default;
    program& operator=(const program& other) { return *this = program(other); }
    program& operator=(program&&) = default;

    void enter(const std::string& path) {
        module = static_cast<std::uint32_t>(modules.size());
        modules.push_back(path);
    }
    /// Returns how the ranks of a communicator are spread. All ranks are divided into groups of that size and distance,
    /// and each rank has the group that contains it.
    [[nodiscard]] spread spread_of(stretto::group_id g) const {
        if (groups[g].what == communicator::of::world) return {mesh.ranks, 1};
        if (groups[g].what == communicator::of::block) return {mesh.expert_ranks, 1};
        return {mesh.ranks / mesh.expert_ranks, mesh.expert_ranks};
    }
    [[nodiscard]] std::int64_t members(stretto::group_id g) const { return spread_of(g).members; }
    [[nodiscard]] std::int64_t members_of(op_id o) const { return members(ops[o].group); }

    /// Adds an operation before position `at` of the order.
    op_id insert(std::size_t at, operation o) {
        const auto id = static_cast<op_id>(ops.size());
        if (o.like == 0) o.like = id + 1;
        for (tensor_id x : o.reads) tensors[x].readers.push_back(id);
        ops.push_back(std::move(o));
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), id);
        return id;
    }
    tensor_id result(op_id o, extents shape, stretto::element_type element = stretto::element_type::f32) {
        const auto id = static_cast<tensor_id>(tensors.size());
        tensor& x = tensors.emplace_back(tensor{o, std::move(shape), element});
        x.type = {x.shape, x.element};
        ops[o].makes.push_back(id);
        return id;
    }
    op_id record(code what, std::vector<tensor_id> reads, std::int64_t field = 0, stretto::group_id group = 0) {
        return insert(order.size(), {what, std::move(reads), {}, field, module, backward, group});
    }
    tensor_id make(code what, std::vector<tensor_id> reads, extents shape,
                   stretto::element_type element = stretto::element_type::f32, std::int64_t field = 0,
                   stretto::group_id group = 0) {
        return result(record(what, std::move(reads), field, group), std::move(shape), element);
    }
    [[nodiscard]] std::size_t place_of(op_id o) const {
        return static_cast<std::size_t>(std::find(order.begin(), order.end(), o) - order.begin());
    }
    [[nodiscard]] const extents& shape(tensor_id x) const { return tensors[x].shape; }
    [[nodiscard]] const operation& maker(tensor_id x) const { return ops[tensors[x].by]; }

    /// Returns how many of its first operands an operation changes in place.
    static std::ptrdiff_t changes(const operation& o) { return o.what == code::adam ? 3 : o.what == code::balance; }
    /// Returns whether a tensor has no memory of its own, because it lives in that of the first operand of its maker.
    [[nodiscard]] bool is_elsewhere(tensor_id x) const {
        const role is = entry_of(maker(x).what).is;
        return is == role::view || is == role::wait || changes(maker(x)) != 0;
    }
    /// Returns the byte of that memory at which a tensor begins.
    [[nodiscard]] std::int64_t offset(tensor_id x) const {
        std::int64_t sum = 0;
        for (; is_elsewhere(x); x = maker(x).reads[0]) {
            if (maker(x).what == code::pick) sum += maker(x).field * tensors[x].size();
            for (std::size_t k = 0; maker(x).makes[k] != x; ++k) sum += tensors[maker(x).makes[k]].size();
        }
        return sum;
    }

    /// Adds an operation with other operands, without results, before the cursor. It belongs to the module and the
    /// group of `like`; if it has the same operator, it is a part of the same collective.
    op_id insert_like(op_id like, code what, std::span<const tensor_id> reads, std::int64_t field = 0) {
        const operation o = ops[like];
        operation made{what, {reads.begin(), reads.end()}, {}, field, o.module, o.backward, o.group};
        if (what == o.what) made.like = o.like;
        return insert(place_of(cursor), std::move(made));
    }
    void replace(op_id o, tensor_id from, tensor_id to) {
        std::replace(ops[o].reads.begin(), ops[o].reads.end(), from, to);
        const auto uses = static_cast<std::size_t>(std::erase(tensors[from].readers, o));
        tensors[to].readers.insert(tensors[to].readers.end(), uses, o);
    }
    void erase(op_id o) {
        for (tensor_id x : ops[o].reads) std::erase(tensors[x].readers, o);
        std::erase(order, o);
    }
    void move(op_id o, op_id in_front_of) {
        std::erase(order, o);
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(place_of(in_front_of)), o);
    }
    /// Returns the outputs of the step; the loss is the first of them.
    [[nodiscard]] const std::vector<tensor_id>& kept() const {
        return ops[*std::find_if(order.rbegin(), order.rend(), [&](op_id o) { return ops[o].what == code::kept; })]
            .reads;
    }
};

}  // namespace trainer

#endif
