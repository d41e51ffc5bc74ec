// The data that a search reads for every vertex that it meets, stored side by side: its place in the order, its labels,
// the root into which it has been merged, and whether it has been met before. Stored separately, each of these would
// cause its own cache miss in a large graph. (Putting all 52 bytes of an overlay into one cache line would be slower,
// because fewer neighbours in the order would share a line.)
#ifndef STRETTO_ANALYSIS_DETAIL_OVERLAY_VERTEX_HPP
#define STRETTO_ANALYSIS_DETAIL_OVERLAY_VERTEX_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/analysis/detail/moving_labels.hpp"
#include "stretto/analysis/detail/order_list.hpp"

namespace stretto::detail {

/// The record of one vertex. Two fit in a cache line.
template <class Id>
struct alignas(32) overlay_vertex {
    order_place<Id> place;
    moving_label spine;
    Id root;
    std::uint32_t stamp;
};

/// One member of all the records of an array, by number, as if it were an array of its own. It does not own the
/// records.
template <class Record, class Field, Field Record::* member>
class column {
public:
    explicit column(Record* records) : records_(records) {}
    [[nodiscard]] Field& operator[](std::size_t k) const { return records_[k].*member; }

private:
    Record* records_;
};

template <class Id>
using place_column = column<overlay_vertex<Id>, order_place<Id>, &overlay_vertex<Id>::place>;
template <class Id>
using root_column = column<overlay_vertex<Id>, Id, &overlay_vertex<Id>::root>;
template <class Id>
using spine_column = column<overlay_vertex<Id>, moving_label, &overlay_vertex<Id>::spine>;
template <class Id>
using stamp_column = column<overlay_vertex<Id>, std::uint32_t, &overlay_vertex<Id>::stamp>;

}  // namespace stretto::detail

#endif
