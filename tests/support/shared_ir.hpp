// Toy IR 3: a std::list of std::shared_ptr nodes that own what they read and know their users weakly, like many graph
// executors. A value is a node and an output number. Node ids are never reused, so after an erasure they have holes.
#ifndef STRETTO_TESTS_SUPPORT_SHARED_IR_HPP
#define STRETTO_TESTS_SUPPORT_SHARED_IR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/rewriter_concepts.hpp"
#include "support/toy_program.hpp"

namespace support::shared {

struct node;

/// An output of a node; also the handle of a value.
struct output {
    node* def = nullptr;
    std::size_t number = 0;
    friend bool operator==(const output&, const output&) = default;
};

struct node {
    struct input {
        std::shared_ptr<node> from;
        std::size_t output;
    };
    struct tensor {
        stretto::bytes size;
        std::vector<output> aliases;
    };
    std::size_t id = 0;
    stretto::op_kind kind = stretto::op_kind::compute;
    stretto::collective_kind collective = stretto::collective_kind::other;
    stretto::group_id group = 0;
    stretto::nanoseconds duration;
    stretto::bytes payload;
    std::vector<input> inputs;
    std::vector<tensor> outputs;
    std::vector<output> writes;
    std::weak_ptr<node> launch;  // of a wait: its start
    struct use {
        std::weak_ptr<node> by;
        std::size_t output;
    };
    std::vector<use> uses;  // once per use
};

struct graph {
    std::list<std::shared_ptr<node>> nodes;
    std::size_t next_id = 0;
    std::uint32_t groups = 0;
};

// [shared-view]
/// A list of pointers as a range of raw pointers.
struct node_range {
    struct iterator {
        std::list<std::shared_ptr<node>>::const_iterator at;
        node* operator*() const { return at->get(); }
        iterator& operator++() { return ++at, *this; }
        bool operator!=(iterator other) const { return at != other.at; }
    };
    const std::list<std::shared_ptr<node>>* nodes;
    iterator begin() const { return {nodes->begin()}; }
    iterator end() const { return {nodes->end()}; }
};

struct graph_view {
    using vertex_type = node*;
    using value_type = output;
    const graph* g;

    node_range vertices() const { return {&g->nodes}; }
    std::vector<node*> successors(node* n) const {
        std::vector<node*> all;
        for (const node::use& u : n->uses) all.push_back(u.by.lock().get());
        return all;
    }
    std::vector<node*> predecessors(node* n) const {
        std::vector<node*> all;
        for (const node::input& i : n->inputs) all.push_back(i.from.get());
        return all;
    }
    std::size_t index(node* n) const { return n->id; }
    std::size_t index_bound() const { return g->next_id; }
    std::vector<output> operands(node* n) const {
        std::vector<output> all;
        for (const node::input& i : n->inputs) all.push_back({i.from.get(), i.output});
        return all;
    }
    std::vector<output> results(node* n) const {
        std::vector<output> all;
        for (std::size_t k = 0; k < n->outputs.size(); ++k) all.push_back({n, k});
        return all;
    }
    node* producer(output x) const { return x.def; }
    std::vector<node*> consumers(output x) const {
        std::vector<node*> all;
        for (const node::use& u : x.def->uses)
            if (u.output == x.number) all.push_back(u.by.lock().get());
        return all;
    }
};
// [/shared-view]

struct graph_model {
    stretto::op_kind kind(const node* n) const { return n->kind; }
    stretto::collective_kind collective(const node* n) const { return n->collective; }
    stretto::group_id group(const node* n) const { return n->group; }
    node* launch_of(node* n) const { return n->launch.expired() ? n : n->launch.lock().get(); }
    stretto::nanoseconds duration(const node* n) const { return n->duration; }
    stretto::bytes payload(const node* n) const { return n->payload; }
    stretto::bytes bytes_of(output x) const { return x.def->outputs[x.number].size; }
    const std::vector<output>& aliases(output x) const { return x.def->outputs[x.number].aliases; }
    const std::vector<output>& effects(const node* n) const { return n->writes; }
};

struct graph_rewriter {
    graph* g;
    node* at = nullptr;

    void insert_before(node* n) { at = n; }
    std::vector<output> clone(node* n, std::span<const output> operands, const stretto::chunk_part&) {
        const auto copy = *g->nodes.insert(find(at), std::make_shared<node>(*n));
        copy->id = g->next_id++;
        copy->uses.clear();
        const auto translate = [&](output x) {
            for (std::size_t k = 0; k < n->inputs.size(); ++k)
                if (output{n->inputs[k].from.get(), n->inputs[k].output} == x) return operands[k];
            return x.def == n ? output{copy.get(), x.number} : x;
        };
        for (node::tensor& t : copy->outputs)
            for (output& x : t.aliases) x = translate(x);
        for (output& x : copy->writes) x = translate(x);
        copy->inputs.clear();
        for (output x : operands) read(copy, x);
        if (copy->kind == stretto::op_kind::wait) relaunch(*copy);
        std::vector<output> results;
        for (std::size_t k = 0; k < copy->outputs.size(); ++k) results.push_back({copy.get(), k});
        return results;
    }
    void replace_uses(node* n, output from, output to) {
        const std::shared_ptr<node> self = *find(n);
        const std::shared_ptr<node> target = *find(to.def);
        for (node::input& i : n->inputs) {
            if (!(output{i.from.get(), i.output} == from)) continue;
            forget(from, n);
            target->uses.push_back({self, to.number});
            i = {target, to.number};
        }
        std::replace(n->writes.begin(), n->writes.end(), from, to);
        for (node::tensor& t : n->outputs) std::replace(t.aliases.begin(), t.aliases.end(), from, to);
        if (n->kind == stretto::op_kind::wait) relaunch(*n);
    }
    void erase(node* n) {
        for (const node::input& i : n->inputs) forget({i.from.get(), i.output}, n);
        g->nodes.erase(find(n));
    }
    void move_before(node* n, node* where) { g->nodes.splice(find(where), g->nodes, find(n)); }

    void read(const std::shared_ptr<node>& n, output x) {
        const std::shared_ptr<node> from = *find(x.def);
        n->inputs.push_back({from, x.number});
        from->uses.push_back({n, x.number});
    }
    static void relaunch(node& wait) {
        wait.launch.reset();
        if (!wait.inputs.empty() && wait.inputs.front().from->kind == stretto::op_kind::start)
            wait.launch = wait.inputs.front().from;
    }

private:
    std::list<std::shared_ptr<node>>::iterator find(const node* n) {
        return std::find_if(g->nodes.begin(), g->nodes.end(), [n](const auto& p) { return p.get() == n; });
    }
    static void forget(output x, const node* by) {
        std::vector<node::use>& uses = x.def->uses;
        uses.erase(std::find_if(uses.begin(), uses.end(),
                                [&](const node::use& u) { return u.output == x.number && u.by.lock().get() == by; }));
    }
};

}  // namespace support::shared

namespace support {

class shared_ir {
public:
    explicit shared_ir(const toy_program& p, std::uint64_t allocation_seed = 0);
    shared_ir(const shared_ir&) = delete;
    shared_ir& operator=(const shared_ir&) = delete;
    ~shared_ir() {
        // Backwards, so that a chain of owners never unwinds as a chain of destructor calls.
        while (!graph_.nodes.empty()) graph_.nodes.pop_back();
    }

    shared::graph_view view() const { return {&graph_}; }
    shared::graph_model model() const { return {}; }
    shared::graph_rewriter rewriter() { return {&graph_}; }

private:
    shared::graph graph_;
};

static_assert(stretto::dependence_graph<shared::graph_view> && stretto::dataflow_graph<shared::graph_view>);
static_assert(stretto::cloning_rewriter<shared::graph_rewriter, shared::graph_view>);
static_assert(stretto::use_rewriter<shared::graph_rewriter, shared::graph_view>);
static_assert(stretto::erasing_rewriter<shared::graph_rewriter, shared::graph_view>);
static_assert(stretto::ordering_rewriter<shared::graph_rewriter, shared::graph_view>);

}  // namespace support

#endif
