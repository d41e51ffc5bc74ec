// The common part of all backends that execute something: the channels by group, events that live as long as the rank,
// and single collectives.
#ifndef STRETTO_BACKEND_DETAIL_RANK_LANES_HPP
#define STRETTO_BACKEND_DETAIL_RANK_LANES_HPP

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The base of the backend `Rank`, which passes itself as the first argument. A rank does not move, because what is
/// bound to it has its address.
template <class Rank, class Communicator, class Event>
class rank_lanes {
public:
    using communicator_type = Communicator;
    using event_type = Event;

    rank_lanes() = default;
    rank_lanes(const rank_lanes&) = delete;
    rank_lanes& operator=(const rank_lanes&) = delete;

    /// Returns the channel of a group, or null for a group of which this rank is not a member.
    [[nodiscard]] communicator_type* channel(group_id group) {
        return group < channels_.size() ? channels_[group].get() : nullptr;
    }
    /// Performs one collective outside of any order, with all other members of its group. Returns when it is complete,
    /// with the failure if there is one. Precondition: this rank is a member of the group,
    /// `channel(group)->can(operation)` is true, and the amounts of the operation match, as described at
    /// collective_operation.
    [[nodiscard]] std::optional<run_failure> perform(group_id group, const collective_operation& operation) {
        communicator_type* const members = channel(group);
        STRETTO_ASSERT(members != nullptr, "a rank performs collectives with groups of which it is a member");
        STRETTO_ASSERT(members->can(operation), "the communicator does not reduce such elements in this way");
        auto& self = static_cast<Rank&>(*this);
        self.begin();
        members->launch(operation);
        return self.finish();
    }

protected:
    ~rank_lanes() = default;
    using channel_list = std::vector<std::unique_ptr<communicator_type>>;

    [[nodiscard]] channel_list& channels() noexcept { return channels_; }
    /// Calls f(channel) for every channel, in the order of groups, until it returns false. Returns whether it never
    /// did.
    template <class F>
    bool for_all_channels(F f) {
        for (const auto& c : channels_)
            if (c && !f(*c)) return false;
        return true;
    }
    /// Makes n events that live as long as the rank. They do not move, because what is bound has their addresses.
    [[nodiscard]] event_type* add_events(std::size_t n) { return events_.emplace_back(new event_type[n]).get(); }

private:
    std::deque<std::unique_ptr<event_type[]>> events_;
    channel_list channels_;  // by group
};

}  // namespace stretto::detail

#endif
