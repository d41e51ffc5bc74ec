// Rewrites the arguments of an operation for its clone in one chunk. Programs spell extents as integers (sizes of a
// view, ends of a slice, rows of an exchange), and a clone that kept those would ask for rows that its chunk does not
// have. Arguments that say nothing about the chunked dimension stay as the program has them, so that its own arithmetic
// on extents keeps working.
#ifndef STRETTO_ATEN_ARGUMENT_SPELLING_HPP
#define STRETTO_ATEN_ARGUMENT_SPELLING_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/chunk_call.hpp"

namespace stretto {

/// An argument of a clone into which an integer was written. It spells an extent of the first result, or an amount such
/// as the rows that go to one rank.
struct written_extent {
    tensor_argument* argument;
    std::int32_t dim = -1;  ///< the dimension of the first result whose extent it spells; -1 if it is an amount
};

/// Owns argument lists. A list that it has returned keeps its address until the store is destroyed, so that the spans
/// of chunk_arguments and the pointers of written_extent may refer to it. A store only grows.
class argument_store {
public:
    /// Returns the extents that were written into lists of this store, in the order in which they were written.
    [[nodiscard]] std::span<const written_extent> extents() const noexcept { return extents_; }
    /// Records that an integer was written into `argument`, which must belong to a list of this store; see
    /// written_extent.
    void written(tensor_argument& argument, std::int32_t dim) { extents_.push_back({&argument, dim}); }

    /// Returns a copy that may be changed. O(items). Nested lists still share their items with the original.
    [[nodiscard]] std::span<tensor_argument> copy(std::span<const tensor_argument> of) {
        return lists_.emplace_back(of.begin(), of.end());
    }
    [[nodiscard]] std::span<named_tensor_argument> copy(std::span<const named_tensor_argument> of) {
        return named_.emplace_back(of.begin(), of.end());
    }

private:
    std::vector<std::vector<tensor_argument>> lists_;
    std::vector<std::vector<named_tensor_argument>> named_;
    std::vector<written_extent> extents_;
};

/// The arguments with which a clone is called. Lists that are unchanged point into the program, and lists that were
/// changed point into an argument_store.
struct chunk_arguments {
    std::span<const tensor_argument> positional;
    std::span<const named_tensor_argument> named;
};

namespace detail::aten {

/// Says which arguments of an operator spell extents. The table of operators (detail/aten_rules.hpp) has one of these
/// for each operator.
enum class spelled : std::uint8_t {
    nothing,
    sizes_first,     ///< argument 0 has the sizes of the result
    sizes_second,    ///< argument 1 has the sizes of the result
    slice_end,       ///< argument 3, along the dimension of argument 1
    amounts,         ///< arguments 1 and 2 are rows sent and received
    output_size,     ///< the argument of that name is the number of rows
    layout,          ///< arguments 2 and 3 have the sizes and strides of the result; by default, those of the operand
    samples_fourth,  ///< argument 3 is the extent of the first operand along dimension 0
    samples_sixth,   ///< argument 5 is the extent of the first operand along dimension 0
    pieces           ///< argument 1 is, or lists, the extents of the results along the dimension of argument 2
};

/// Spells the arguments of one operation for one chunk. Precondition: the call has the result states that the
/// operation's rule returned. The constructor's arguments must outlive this object, and the store must outlive the
/// returned arguments.
class argument_speller {
public:
    argument_speller(const aten_arguments& arguments, const chunk_rules::chunk_call& call, chunk_interval chunk,
                     argument_store& store)
        : a_(arguments), c_(call), chunk_(chunk), store_(store), out_{arguments.positional, arguments.named} {}

    /// Returns the arguments for the chunk. `what` says which of them spell extents. Call it only once, because it may
    /// change lists that it has already changed.
    chunk_arguments spell(spelled what) {
        switch (what) {
            case spelled::sizes_first:
                sizes(0, "size");
                break;
            case spelled::sizes_second:
                sizes(1, "size");
                sizes(SIZE_MAX, "shape");
                sizes(SIZE_MAX, "input_sizes");
                break;
            case spelled::slice_end:
                end_of_slice();
                break;
            case spelled::amounts:
                amounts(1);
                amounts(2);
                break;
            case spelled::output_size:
                rows_of_runs();
                break;
            case spelled::layout:
                layout();
                break;
            case spelled::samples_fourth:
                samples(3);
                break;
            case spelled::samples_sixth:
                samples(5);
                break;
            case spelled::pieces:
                pieces();
                break;
            case spelled::nothing:
                break;
        }
        return out_;
    }

private:
    using form = argument_form;

    /// Returns a copy of the argument that may be changed; null if the argument is left out.
    tensor_argument* writable(std::size_t position, std::string_view name) {
        if (position < a_.positional.size()) {
            if (positional_.empty()) out_.positional = positional_ = store_.copy(a_.positional);
            return &positional_[position];
        }
        for (std::size_t k = 0; k < a_.named.size(); ++k) {
            if (a_.named[k].name != name) continue;
            if (named_.empty()) out_.named = named_ = store_.copy(a_.named);
            return &named_[k].value;
        }
        return nullptr;
    }
    /// Copies the items of a list so that they may be changed. Precondition: the list itself may be changed.
    std::span<tensor_argument> writable_items(tensor_argument& list) {
        const std::span<tensor_argument> items = store_.copy(list.items);
        list.items = items;
        return items;
    }
    /// Returns whether an argument is a number that the program computes and that all chunks share.
    [[nodiscard]] bool shared_number(const tensor_argument& a) const {
        const std::size_t k = aten_arguments::operand(a);
        return k < c_.operands.size() && chunk_rules::is_whole(c_.state(k));
    }
    /// Writes the extent that the part of the first result has along `dim`. If only the operand determines it, this
    /// writes -1, which is not recorded in the store.
    void write_extent(tensor_argument& a, std::int64_t extent, std::int32_t dim) {
        a = {form::integer, chunk_rules::part_extent(c_.results[0], extent, dim, c_.tokens, chunk_), 0, {}, {}};
        if (a.integer >= 0) store_.written(a, dim);
    }

    /// Replaces the sizes of the result. If the result is sliced, its part has an exact share of the rows. If the rows
    /// are in another order, only the operand determines their number, so -1 is written. Any other -1 is replaced by
    /// the extent for which it stands, because a part without rows would leave it undetermined.
    void sizes(std::size_t position, std::string_view name) {
        const chunk_state& r = c_.results[0];
        const tensor_argument& old = a_.argument(position, name);
        const std::size_t d = static_cast<std::size_t>(r.dim);
        const std::span<const std::int64_t> shape = c_.result_types[0].shape;
        if (!chunk_rules::is_cut(r) || old.what != form::list || old.items.size() != shape.size()) return;
        const bool expands = c_.name == "aten.expand.default";  // -1 keeps the operand's extent there
        const std::span<tensor_argument> items = writable_items(*writable(position, name));
        for (std::size_t j = 0; j < items.size(); ++j) {
            const bool literal = items[j].what == form::integer;
            if (j != d && literal && items[j].integer < 0 && !expands) {
                items[j].integer = shape[j];
                store_.written(items[j], static_cast<std::int32_t>(j));
            }
            if (j != d || (literal ? items[j].integer < 0 : !shared_number(items[j]))) continue;
            write_extent(items[j], shape[j], r.dim);
        }
    }

    /// Replaces the end of a slice along the chunked dimension if it is exactly the number of all rows. A greater end
    /// stays, because a slice ends at the last row in any case.
    void end_of_slice() {
        const chunk_state& r = c_.results[0];
        const tensor_argument& end = a_.argument(3, "end");
        if (r.what != chunk_rules::chunk_kind::sliced || end.what != form::integer) return;
        const std::int64_t extent = c_.result_types[0].shape[static_cast<std::size_t>(r.dim)];
        if (chunk_rules::wrapped(a_.integer(1, "dim", 0), c_.result_types[0].shape.size()) == r.dim &&
            end.integer == extent)
            write_extent(*writable(3, "end"), extent, r.dim);
    }

    /// Replaces integer row counts per rank by the chunk's share of each. Row counts that the program computes already
    /// belong to the chunk.
    void amounts(std::size_t position) {
        const chunk_state& r = c_.results[0];
        if (!chunk_rules::is_cut(r) || r.dim != 0) return;
        const std::string_view name = position == 1 ? "output_split_sizes" : "input_split_sizes";
        bool literal = false;
        for (const tensor_argument& a : a_.argument(position, name).items) literal = literal || a.what == form::integer;
        if (!literal) return;
        for (tensor_argument& a : writable_items(*writable(position, name)))
            if (a.what == form::integer) {
                a = {form::integer, share_of(a.integer, c_.tokens, chunk_), 0, {}, {}};
                store_.written(a, -1);
            }
    }

    /// Omits the number of rows of a repeat_interleave if all chunks share it, because it cannot be the row count of
    /// each chunk. The repeat counts determine the number of rows.
    void rows_of_runs() {
        const tensor_argument& total = a_.argument(SIZE_MAX, "output_size");
        if (total.what == form::integer || shared_number(total)) *writable(SIZE_MAX, "output_size") = {};
    }

    /// Omits the sizes and the strides of a reload. The strides of a part cannot be derived as a share of the whole's,
    /// but the clone's operand has both.
    void layout() {
        if (!chunk_rules::is_cut(c_.results[0])) return;
        for (const auto& [position, name] : {std::pair(2, "original_size"), std::pair(3, "original_stride")})
            if (a_.argument(static_cast<std::size_t>(position), name).what != form::none)
                *writable(static_cast<std::size_t>(position), name) = {};
    }

    /// Replaces the sizes of the pieces of a split if it splits along the chunked dimension.
    void pieces() {
        const chunk_state& r = c_.results[0];
        const std::span<const std::int64_t> shape = c_.result_types[0].shape;
        if (!chunk_rules::is_cut(r) || chunk_rules::wrapped(a_.integer(2, "dim", 0), shape.size()) != r.dim) return;
        const std::int64_t extent = shape[static_cast<std::size_t>(r.dim)];
        const std::string_view name = a_.argument(1, "split_sizes").what == form::none ? "split_size" : "split_sizes";
        const auto own = [&](tensor_argument& a) {
            if (a.what == form::integer || shared_number(a)) write_extent(a, extent, r.dim);
        };
        tensor_argument* const all = writable(1, name);
        if (all == nullptr) return;
        own(*all);
        if (all->what == form::list)
            for (tensor_argument& a : writable_items(*all)) own(a);
    }

    /// Replaces the number of samples of the first operand. A number that belongs to the chunk is already right.
    void samples(std::size_t position) {
        const std::size_t first = aten_arguments::operand(a_.argument(0, "input"));
        const tensor_argument& n = a_.argument(position, "N");
        if (!c_.is_tensor(first) || c_.state(first).what != chunk_rules::chunk_kind::sliced) return;
        if (n.what != form::integer && !shared_number(n)) return;
        tensor_argument& own = *writable(position, "N");
        own = {form::integer,
               chunk_rules::part_extent(c_.state(first), c_.extent(first, 0), 0, c_.tokens, chunk_),
               0,
               {},
               {}};
        const chunk_state& made = c_.results[0];
        store_.written(own, made.what == chunk_rules::chunk_kind::sliced && made.dim == 0 ? 0 : -1);
    }

    const aten_arguments& a_;
    const chunk_rules::chunk_call& c_;
    chunk_interval chunk_;
    argument_store& store_;
    chunk_arguments out_;
    std::span<tensor_argument> positional_;
    std::span<named_tensor_argument> named_;
};

}  // namespace detail::aten
}  // namespace stretto

#endif
