// Toy IR 1: an intrusive doubly linked list of operations, pointers everywhere, no numbers. Compilers look like this.
// Users come newest first. Numbers are added by views::numbered.
#ifndef STRETTO_TESTS_SUPPORT_LINKED_IR_HPP
#define STRETTO_TESTS_SUPPORT_LINKED_IR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/views/from_values.hpp"
#include "stretto/views/numbered.hpp"
#include "support/toy_program.hpp"

namespace support::linked {

struct op;

// [linked-ir]
struct value {
    op* def = nullptr;
    std::vector<op*> users;  // once per use
    stretto::bytes size;
    std::vector<value*> aliases;
};

struct op {
    op* prev = nullptr;
    op* next = nullptr;
    stretto::op_kind kind = stretto::op_kind::compute;
    stretto::collective_kind collective = stretto::collective_kind::other;
    stretto::group_id group = 0;
    stretto::nanoseconds duration;
    stretto::bytes payload;
    std::vector<value*> operands;
    std::vector<value> results;  // never resized, so a value stays where it is
    std::vector<value*> effects;
};
// [/linked-ir]

/// Owns its operations. `head` is a sentinel: head.next is the first operation, head.prev the last.
struct block {
    op head;
    std::uint32_t groups = 0;

    block() { head.prev = head.next = &head; }
    block(const block&) = delete;
    block& operator=(const block&) = delete;
    ~block() {
        for (op* o = head.next; o != &head;) {
            op* next = o->next;
            delete o;
            o = next;
        }
    }
    void insert_before(op* o, op* at) {
        o->prev = at->prev;
        o->next = at;
        at->prev->next = o;
        at->prev = o;
    }
    void unlink(op* o) {
        o->prev->next = o->next;
        o->next->prev = o->prev;
    }
};

// [linked-view]
/// Walks the list. Six lines are enough for an iterator: stretto only ever writes `for (op* o : range)`.
struct op_range {
    struct iterator {
        op* at;
        op* operator*() const { return at; }
        iterator& operator++() { return at = at->next, *this; }
        bool operator!=(iterator other) const { return at != other.at; }
    };
    op *first, *last;
    iterator begin() const { return {first}; }
    iterator end() const { return {last}; }
};

struct block_view {
    using vertex_type = op*;
    using value_type = value*;
    const block* b;

    op_range vertices() const { return {b->head.next, b->head.prev->next}; }
    const std::vector<value*>& operands(op* o) const { return o->operands; }
    std::vector<value*> results(op* o) const {
        std::vector<value*> all;
        for (value& x : o->results) all.push_back(&x);
        return all;
    }
    op* producer(value* x) const { return x->def; }
    const std::vector<op*>& consumers(value* x) const { return x->users; }
};
// [/linked-view]
static_assert(stretto::dataflow_graph<block_view> && !stretto::indexed_graph<block_view>);

// [linked-model]
struct block_model {
    stretto::op_kind kind(op* o) const { return o->kind; }
    stretto::collective_kind collective(op* o) const { return o->collective; }
    stretto::group_id group(op* o) const { return o->group; }
    stretto::nanoseconds duration(op* o) const { return o->duration; }
    stretto::bytes payload(op* o) const { return o->payload; }
    stretto::bytes bytes_of(value* x) const { return x->size; }
    const std::vector<value*>& aliases(value* x) const { return x->aliases; }
    const std::vector<value*>& effects(op* o) const { return o->effects; }
};
// [/linked-model]

// [linked-rewriter]
struct block_rewriter {
    block* b;
    op* at = nullptr;

    void insert_before(op* o) { at = o; }
    /// Durations and sizes are those of the original: this IR knows no extents.
    std::vector<value*> clone(op* o, std::span<value* const> operands, const stretto::chunk_part&) {
        op* copy = new op;
        copy->kind = o->kind;
        copy->collective = o->collective;
        copy->group = o->group;
        copy->duration = o->duration;
        copy->payload = o->payload;
        for (value* x : operands) {
            copy->operands.push_back(x);
            x->users.push_back(copy);
        }
        copy->results.resize(o->results.size());
        // What referred to the operands or results of the original refers to those of the copy.
        const auto translate = [&](value* x) -> value* {
            for (std::size_t k = 0; k < o->operands.size(); ++k)
                if (o->operands[k] == x) return copy->operands[k];
            for (std::size_t k = 0; k < o->results.size(); ++k)
                if (&o->results[k] == x) return &copy->results[k];
            return x;
        };
        for (std::size_t k = 0; k < o->results.size(); ++k) {
            copy->results[k].def = copy;
            copy->results[k].size = o->results[k].size;
            for (value* x : o->results[k].aliases) copy->results[k].aliases.push_back(translate(x));
        }
        for (value* x : o->effects) copy->effects.push_back(translate(x));
        b->insert_before(copy, at);
        std::vector<value*> results;
        for (value& x : copy->results) results.push_back(&x);
        return results;
    }
    void replace_uses(op* o, value* from, value* to) {
        for (value*& x : o->operands) {
            if (x != from) continue;
            x = to;
            from->users.erase(std::find(from->users.begin(), from->users.end(), o));
            to->users.push_back(o);
        }
        std::replace(o->effects.begin(), o->effects.end(), from, to);
        for (value& x : o->results) std::replace(x.aliases.begin(), x.aliases.end(), from, to);
    }
    void erase(op* o) {
        for (value* x : o->operands) x->users.erase(std::find(x->users.begin(), x->users.end(), o));
        b->unlink(o);
        delete o;
    }
    void move_before(op* o, op* where) {
        b->unlink(o);
        b->insert_before(o, where);
    }
};
// [/linked-rewriter]

}  // namespace support::linked

namespace support {

class linked_ir {
public:
    explicit linked_ir(const toy_program& p, std::uint64_t allocation_seed = 0) : numbers_(fill(p, allocation_seed)) {}

    // [linked-numbered]
    auto view() const {
        const auto graph = stretto::views::from_values(linked::block_view{&block_});
        return stretto::views::numbered(graph, numbers_);  // stretto::numbering<op*> numbers_;
    }
    // [/linked-numbered]
    linked::block_model model() const { return {}; }
    linked::block_rewriter rewriter() { return {&block_}; }
    /// To be called when operations were added or removed.
    void changed() { numbers_.renumber(linked::block_view{&block_}); }

private:
    linked::block_view fill(const toy_program& p, std::uint64_t allocation_seed);

    linked::block block_;
    stretto::numbering<linked::op*> numbers_;
};

static_assert(stretto::cloning_rewriter<linked::block_rewriter, linked::block_view>);
static_assert(stretto::use_rewriter<linked::block_rewriter, linked::block_view>);
static_assert(stretto::erasing_rewriter<linked::block_rewriter, linked::block_view>);
static_assert(stretto::ordering_rewriter<linked::block_rewriter, linked::block_view>);

}  // namespace support

#endif
