// Moves the bytes of collectives by non-blocking collectives of MPI, once all members of a group are known to begin
// them.
#ifndef STRETTO_BACKEND_MPI_DETAIL_MPI_MOVER_HPP
#define STRETTO_BACKEND_MPI_DETAIL_MPI_MOVER_HPP

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/backend/detail/patience.hpp"
#include "stretto/backend/detail/threads/host_fold.hpp"
#include "stretto/backend/mpi/detail/mpi_calls.hpp"
#include "stretto/backend/mpi/detail/mpi_run.hpp"

namespace stretto::detail {

/// One member's side. MPI may reduce in any order, so its reductions are not used. Instead each member receives its
/// part of the data of all others and folds the parts in the order of members, as the members of a host_group do.
/// Amounts that exceed an int are moved as elements of derived datatypes.
class mpi_mover {
public:
    /// Makes the mover of member `place`. For the first call of MPI that fails in a `move`, it calls `fails(code)` at
    /// once, so that other processes learn of it while the operation is still in progress.
    mpi_mover(const mpi_run& run, MPI_Comm communicator, std::size_t members, std::size_t place,
              std::size_t largest_count, std::function<void(int)> fails)
        : run_(run),
          communicator_(communicator),
          members_(members),
          place_(place),
          largest_count_(largest_count),
          fails_(std::move(fails)),
          send_(members),
          receive_(members) {}

    /// Moves the bytes of an operation, and reduces them. Returns whether it is complete and no call of MPI has failed.
    /// Precondition: in an all-to-all, no member sends or receives more than `longest` bytes, and `longest` is the same
    /// on all members.
    bool move(const collective_operation& o, std::span<const std::size_t> send_sizes,
              std::span<const std::size_t> receive_sizes, std::size_t longest) {
        code_ = MPI_SUCCESS;
        return moves(o, send_sizes, receive_sizes, longest) && code_ == MPI_SUCCESS;
    }

private:
    /// Does what `move` does, but returns true also if the operation is complete although a call has failed.
    bool moves(const collective_operation& o, std::span<const std::size_t> send_sizes,
               std::span<const std::size_t> receive_sizes, std::size_t longest) {
        const auto keep = [](std::byte* to, const std::byte* from, std::size_t size) {
            if (size != 0 && to != from) std::memcpy(to, from, size);  // in place, the bytes are already there
        };
        switch (o.kind) {
            case transfer_kind::all_gather:
                keep(o.receive + place_ * o.send_bytes, o.send, o.send_bytes);
                return with_bytes(o.send_bytes, [&](int count, MPI_Datatype type, MPI_Request* r) {
                    return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, o.receive, count, type, communicator_, r);
                });
            case transfer_kind::broadcast:
                if (o.root == place_) keep(o.receive, o.send, o.send_bytes);
                return with_bytes(o.send_bytes, [&](int count, MPI_Datatype type, MPI_Request* r) {
                    return MPI_Ibcast(o.receive, count, type, static_cast<int>(o.root), communicator_, r);
                });
            case transfer_kind::all_to_all: {
                // Parts are in the order of members, without gaps. What a member sends to itself needs no message.
                std::size_t from = 0, to = 0;
                for (std::size_t k = 0; k < members_; ++k) {
                    send_.place(k, std::exchange(from, from + send_sizes[k]), send_sizes[k]);
                    receive_.place(k, std::exchange(to, to + receive_sizes[k]), receive_sizes[k]);
                }
                keep(o.receive + receive_.at[place_], o.send + send_.at[place_], send_sizes[place_]);
                return exchange(o.send, o.receive, longest);
            }
            case transfer_kind::reduce_scatter:
                for (std::size_t k = 0; k < members_; ++k) send_.place(k, k * o.receive_bytes, o.receive_bytes);
                return reduce(o, o.receive);
            case transfer_kind::all_reduce: {
                // Each member folds one share for all, and then the members exchange their shares.
                for (std::size_t k = 0; k < members_; ++k) {
                    const auto [first, last] = share_of(o, members_, k);
                    send_.place(k, first, last - first);
                }
                const std::size_t first = send_.at[place_], mine = send_.sizes[place_];
                if (!reduce(o, o.receive + first)) return false;
                // MPI does not allow send and receive buffers to overlap.
                keep(parts_.data(), o.receive + first, mine);
                for (std::size_t k = 0; k < members_; ++k) {
                    const auto [begin, end] = share_of(o, members_, k);
                    receive_.place(k, begin, end - begin);
                    send_.place(k, 0, mine);
                }
                return exchange(parts_.data(), o.receive, o.send_bytes);
            }
            case transfer_kind::barrier:
                break;  // all members have exchanged notes, which is all that a barrier requires
        }
        return true;
    }
    /// Receives this member's part of the data of all members, folds the parts, and writes the result to `to`. `send_`
    /// says which part of the data belongs to which member.
    bool reduce(const collective_operation& o, std::byte* to) {
        const std::size_t first = send_.at[place_], mine = send_.sizes[place_];
        for (std::size_t k = 0; k < members_; ++k) receive_.place(k, k * mine, mine);
        // The bound must be the same on all members, because it decides which function they call. Shares differ by one
        // element at most, which has no more than 8 bytes.
        const std::size_t longest = o.send_bytes + 8 * members_;
        if (parts_.size() < longest) parts_.resize(longest);
        if (!exchange(o.send, parts_.data(), longest)) return false;
        fold_in_order(o.element, o.reduction, to, mine, members_,
                      [&](std::size_t k) { return k == place_ ? o.send + first : parts_.data() + k * mine; });
        return true;
    }
    /// Sends to each other member the bytes that `send_` places in `from`, and receives those that `receive_` places in
    /// `to`. No size or offset of any member exceeds `longest`, which must be the same on all members, because it
    /// decides which function they call. This member's own part is not moved. Returns what `complete` returns.
    bool exchange(const std::byte* from, std::byte* to, std::size_t longest) {
        send_.sizes[place_] = receive_.sizes[place_] = 0;  // its own part is already in place
        if (longest <= largest_count_) {
            send_.count();
            receive_.count();
            return complete([&](MPI_Request* r) {
                return MPI_Ialltoallv(from, send_.counts.data(), send_.places.data(), MPI_BYTE, to,
                                      receive_.counts.data(), receive_.places.data(), MPI_BYTE, communicator_, r);
            });
        }
        // Sizes or offsets may exceed an int, so each member's part becomes one element of a datatype of its own.
        const std::vector<mpi_bytes_at> sends = send_.types(largest_count_), receives = receive_.types(largest_count_);
        std::vector<MPI_Datatype> send_types, receive_types;
        for (const bool sending : {true, false})
            for (const mpi_bytes_at& type : sending ? sends : receives) {
                if (!works(type.code())) return false;
                (sending ? send_types : receive_types).push_back(type.type());
            }
        const std::vector<int> ones(members_, 1), zeros(members_, 0);
        return complete([&](MPI_Request* r) {
            return MPI_Ialltoallw(from, ones.data(), zeros.data(), send_types.data(), to, ones.data(), zeros.data(),
                                  receive_types.data(), communicator_, r);
        });
    }
    /// Begins a collective by call(count, type, request), with a count and a type that describe the given number of
    /// bytes, and completes it. Returns what `complete` returns.
    template <class Call>
    bool with_bytes(std::size_t bytes, Call call) {
        if (bytes <= largest_count_)
            return complete([&](MPI_Request* r) { return call(static_cast<int>(bytes), MPI_BYTE, r); });
        const mpi_bytes_at all(0, bytes, largest_count_);
        if (!works(all.code())) return false;
        return complete([&](MPI_Request* r) { return call(1, all.type(), r); });
    }

    /// Begins a collective of MPI and drives progress until it is complete. If MPI returns an error, the others are
    /// still moving bytes, also in memory of this process, so polling continues as long as there is a request, and the
    /// remaining calls of the operation follow. The collective is abandoned only if the others no longer answer after a
    /// failure. Returns false in that case, and if the collective cannot be begun, else true.
    template <class Begin>
    bool complete(Begin begin) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (!works(begin(&request))) return false;
        patience between(20'000);
        while (true) {
            int done = 0;
            if (works(MPI_Test(&request, &done, MPI_STATUS_IGNORE)) && done != 0) return true;
            if (request == MPI_REQUEST_NULL) return true;  // the collective has ended with that error
            if (run_.abandoned()) return false;
            between.pause();
        }
    }
    /// Where the bytes for, or from, each member are in a buffer. It belongs to the mover, so that a replay need not
    /// allocate it.
    struct placement {
        std::vector<std::size_t> at, sizes;  // by member: the offset and the number of its bytes
        std::vector<int> places, counts;     // the same as ints, once `count` has been called

        explicit placement(std::size_t members) : at(members), sizes(members), places(members), counts(members) {}
        void place(std::size_t member, std::size_t begin, std::size_t size) {
            at[member] = begin;
            sizes[member] = size;
        }
        /// Converts sizes and offsets to MPI's int. Precondition: they fit an int.
        void count() {
            for (std::size_t k = 0; k < at.size(); ++k) {
                places[k] = static_cast<int>(at[k]);
                counts[k] = static_cast<int>(sizes[k]);
            }
        }
        /// Returns an MPI datatype for the bytes of each member.
        [[nodiscard]] std::vector<mpi_bytes_at> types(std::size_t largest_block) const {
            std::vector<mpi_bytes_at> made;
            made.reserve(at.size());
            for (std::size_t k = 0; k < at.size(); ++k) made.emplace_back(at[k], sizes[k], largest_block);
            return made;
        }
    };

    /// Returns whether a call of MPI has succeeded. The first one in a `move` that has not is passed to `fails_`.
    bool works(int code) {
        if (code == MPI_SUCCESS) return true;
        if (std::exchange(code_, code) == MPI_SUCCESS) fails_(code);
        return false;
    }

    const mpi_run& run_;
    MPI_Comm communicator_;
    std::size_t members_, place_, largest_count_;
    std::function<void(int)> fails_;
    int code_ = MPI_SUCCESS;  // the error of the last failed call in this operation
    placement send_, receive_;
    std::vector<std::byte> parts_;  // the parts of other members before they are reduced
};

}  // namespace stretto::detail

#endif
