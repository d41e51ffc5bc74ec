// Moves the bytes of collectives by MPI, once all members of a group are known to begin them.
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

/// One member's side. MPI may reduce in any order, so its reductions are not used: each member receives its part of
/// the data of all others, and folds it in the order of members, as ranks on the host do.
class mpi_mover {
public:
    /// `fails(code)` is called immediately for the first call of MPI in a `move` that fails, so that others learn of it
    /// while the operation is still in flight.
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
    /// Precondition: no member of an all-to-all sends or receives more than `longest` bytes.
    bool move(const collective_operation& o, std::span<const std::size_t> send_sizes,
              std::span<const std::size_t> receive_sizes, std::size_t longest) {
        code_ = MPI_SUCCESS;
        return moves(o, send_sizes, receive_sizes, longest) && code_ == MPI_SUCCESS;
    }

private:
    bool moves(const collective_operation& o, std::span<const std::size_t> send_sizes,
               std::span<const std::size_t> receive_sizes, std::size_t longest) {
        const auto keep = [](std::byte* to, const std::byte* from, std::size_t size) {
            if (size != 0 && to != from) std::memcpy(to, from, size);  // in place, nothing needs to move
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
                // Parts lie in the order of members, without gaps. What a member sends to itself needs no message.
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
                // Each member folds one share for all, in the order of members, and then they exchange what they have.
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
    /// Receives this member's part of the data of all members, as placed in `send_`, and folds it.
    bool reduce(const collective_operation& o, std::byte* to) {
        const std::size_t first = send_.at[place_], mine = send_.sizes[place_];
        for (std::size_t k = 0; k < members_; ++k) receive_.place(k, k * mine, mine);
        // All members must know the same bound, since it decides which function they call. Shares differ by an element
        // at most, and none has more than 8 bytes.
        const std::size_t longest = o.send_bytes + 8 * members_;
        if (parts_.size() < longest) parts_.resize(longest);
        if (!exchange(o.send, parts_.data(), longest)) return false;
        fold_in_order(o.element, o.reduction, to, mine, members_,
                      [&](std::size_t k) { return k == place_ ? o.send + first : parts_.data() + k * mine; });
        return true;
    }
    /// Sends to each other member the bytes in `send_`, and receives those in `receive_`. `longest` bounds the bytes of
    /// every member on either side. It must be the same on all members, because it decides which function they call.
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
        // The sizes exceed an int, so each member's part becomes one element of its own datatype.
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
    /// Completes call(count, type, request) with a count and a type that describe the given number of bytes.
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
    /// failure. Returns false in that case, and if the collective cannot be begun.
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
    /// Where the bytes for, or from, each member are in a buffer, in units of the caller and in those of MPI. It
    /// belongs to the mover, so that a replay allocates nothing.
    struct placement {
        std::vector<std::size_t> at, sizes;
        std::vector<int> places, counts;

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
        /// MPI datatypes for sizes that exceed an int.
        [[nodiscard]] std::vector<mpi_bytes_at> types(std::size_t largest_block) const {
            std::vector<mpi_bytes_at> made;
            made.reserve(at.size());
            for (std::size_t k = 0; k < at.size(); ++k) made.emplace_back(at[k], sizes[k], largest_block);
            return made;
        }
    };

    /// Whether a call of MPI has worked.
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
