// NCCL between virtual ranks on one device: ranks are threads with streams of their own, and a collective is copies
// between their memories, ordered by events. Over any runtime of CUDA, also one that is imitated.
//
// A wait for an event that is not recorded yet waits for nothing. So nothing is put into streams before all members
// have come; until then, calls are in progress. The last one to come puts everything for all of them, phase by phase.
#ifndef STRETTO_TESTS_BACKEND_CUDA_NCCL_LOOPBACK_NCCL_HPP
#define STRETTO_TESTS_BACKEND_CUDA_NCCL_LOOPBACK_NCCL_HPP

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
#include "stretto/backend/detail/threads/host_fold.hpp"

namespace support {

/// `C` has the calls of CUDA, and `reach`, in which threads of the host and the device find the same memory.
template <class C>
struct loopback_nccl : C {
    using result = stretto::call_result;
    using stream = typename C::stream_type;
    struct part {
        std::size_t peer, size;
        const void* from;
        void* to;
    };
    enum class form {
        shares,
        gather,
        broadcast,
        all_reduce,
        reduce_scatter
    };
    struct post {
        form what = form::shares;
        const std::byte* send = nullptr;
        std::byte* receive = nullptr;
        std::size_t size = 0, root = 0;
        stretto::element_type element = {};
        stretto::reduction_kind reduction = {};
        stream on = {};
        std::vector<part> sends = {}, receives = {};
    };
    struct member {
        post now = {};
        std::size_t came = 0;
        typename C::event_type ready = {}, done = {};
        std::vector<std::byte> sum = {};
    };
    struct group {
        std::vector<member> members = {};
        std::size_t expected = 0, joined = 0, splits = 0, rounds = 0;
        const char* broken = nullptr;
        ~group() {
            for (member& m : members) {
                static_cast<void>(C::end_event(m.ready));
                static_cast<void>(C::end_event(m.done));
            }
        }
    };
    struct world {
        std::mutex mutex;
        std::map<std::size_t, std::shared_ptr<group>> groups;  // the world, and what each split makes
    };
    struct comm {
        std::shared_ptr<world> in;
        std::shared_ptr<group> with;
        std::size_t place = 0, splits = 0;
    };
    using comm_type = comm*;
    using id_type = std::shared_ptr<world>;
    using handle_type = int;
    using lock = std::lock_guard<std::mutex>;
    static constexpr result busy{result::state::in_progress};
    static result failed(const char* why) { return {result::state::failed, why}; }

    static result make_id(id_type& id) {
        id = std::make_shared<world>();
        return {};
    }
    static result allocate(void*& memory, std::size_t n, stretto::device_memory kind) {
        return C::allocate(memory, n, kind);
    }
    static comm* add(const std::shared_ptr<world>& in, std::size_t which, std::size_t place) {
        std::shared_ptr<group>& g = in->groups[which];
        if (!g) g = std::make_shared<group>();
        while (g->members.size() <= place) {
            member& m = g->members.emplace_back();
            static_cast<void>(C::make_event(m.ready));
            static_cast<void>(C::make_event(m.done));
        }
        ++g->joined;
        return new comm{in, g, place};
    }
    static result join(comm_type& made, std::size_t ranks, const id_type& id, std::size_t rank, int) {
        const lock l(id->mutex);
        made = add(id, 0, rank);
        made->with->expected = ranks;
        return busy;
    }
    static result split(comm_type& made, comm_type of, int color, std::size_t key, const char*, int) {
        const lock l(of->in->mutex);
        ++of->splits;
        ++of->with->splits;
        if (color >= 0) made = add(of->in, of->splits, key);
        return busy;
    }
    static bool is_null(comm_type c) { return c == nullptr; }
    static result state(comm_type c) {
        const lock l(c->in->mutex);
        const group& g = *c->with;
        if (g.broken != nullptr) return failed(g.broken);
        if (g.joined < g.expected || g.splits < c->splits * g.expected) return busy;
        return g.members[c->place].came > g.rounds ? busy : result{};
    }

    struct open_group {
        bool is_open = false;
        comm_type with = nullptr;
        post now = {};
    };
    static open_group& open() {
        static thread_local open_group g;
        return g;
    }
    static result begin_group() {
        open().is_open = true;
        return {};
    }
    static result end_group() {
        open_group g = std::exchange(open(), {});
        return g.with == nullptr ? result{} : put(g.with, std::move(g.now));
    }
    static result send(const void* from, std::size_t n, std::size_t to, comm_type c, stream s) {
        open().with = c;
        open().now.on = s;
        open().now.sends.push_back({to, n, from, nullptr});
        return busy;
    }
    static result receive(void* to, std::size_t n, std::size_t from, comm_type c, stream s) {
        open().with = c;
        open().now.on = s;
        open().now.receives.push_back({from, n, nullptr, to});
        return busy;
    }
    static post whole(form what, const void* from, void* to, std::size_t n, stream s) {
        post p;
        p.what = what;
        p.send = static_cast<const std::byte*>(from);
        p.receive = static_cast<std::byte*>(to);
        p.size = n;
        p.on = s;
        return p;
    }
    static result all_gather(const void* from, void* to, std::size_t n, comm_type c, stream s) {
        return put(c, whole(form::gather, from, to, n, s));
    }
    static result broadcast(const void* from, void* to, std::size_t n, std::size_t root, comm_type c, stream s) {
        post p = whole(form::broadcast, from, to, n, s);
        p.root = root;
        return put(c, std::move(p));
    }
    static result all_reduce(const void* from, void* to, std::size_t n, stretto::element_type e,
                             stretto::reduction_kind r, comm_type c, stream s) {
        post p = whole(form::all_reduce, from, to, n, s);
        p.element = e;
        p.reduction = r;
        return put(c, std::move(p));
    }
    static result reduce_scatter(const void* from, void* to, std::size_t n, stretto::element_type e,
                                 stretto::reduction_kind r, comm_type c, stream s) {
        post p = whole(form::reduce_scatter, from, to, n, s);
        p.element = e;
        p.reduction = r;
        return put(c, std::move(p));
    }
    static bool can_reduce(stretto::element_type e, stretto::reduction_kind r) {
        return stretto::detail::can_fold(e, r);
    }
    static result enter(int&, comm_type, void*, std::size_t) { return {}; }
    static result leave(comm_type, int) { return {}; }
    static result finish(comm_type) { return {}; }
    static result end(comm_type c) {
        const std::shared_ptr<world> keep = c->in;
        const lock l(keep->mutex);
        delete c;
        return {};
    }
    static result abort(comm_type c) {
        {
            const lock l(c->in->mutex);
            if (c->with->broken == nullptr) c->with->broken = "another rank has given up";
        }
        return end(c);
    }

private:
    static result put(comm_type c, post p) {
        const lock l(c->in->mutex);
        group& g = *c->with;
        member& me = g.members[c->place];
        if (const result r = C::record(me.ready, p.on); !r.done()) return r;
        me.now = std::move(p);
        ++me.came;
        if (std::any_of(g.members.begin(), g.members.end(), [&](const member& m) { return m.came <= g.rounds; }))
            return busy;
        ++g.rounds;
        const result r = put_all(g);
        if (r.failed()) g.broken = r.text;
        return r;
    }
    /// Everybody fetches when all are ready, and goes on, or keeps a sum, when all have fetched.
    static result put_all(group& g) {
        result bad;
        const auto did = [&](result r) {
            if (r.failed() && !bad.failed()) bad = r;
        };
        for (std::size_t j = 0; j < g.members.size(); ++j) {
            member& m = g.members[j];
            for (const member& other : g.members) {
                if (other.now.what != m.now.what || other.now.size != m.now.size)
                    return failed("virtual ranks have come for different collectives");
                did(C::wait(m.now.on, other.ready));
            }
            fetch(g, j, did);
            did(C::record(m.done, m.now.on));
        }
        for (member& m : g.members) {
            for (const member& other : g.members) did(C::wait(m.now.on, other.done));
            if (m.now.what != form::all_reduce && m.now.what != form::reduce_scatter) continue;
            auto* const job = new std::pair<std::byte*, std::vector<std::byte>*>(m.now.receive, &m.sum);
            did(C::call(
                m.now.on,
                [](void* with) {
                    const std::unique_ptr<std::pair<std::byte*, std::vector<std::byte>*>> j(
                        static_cast<std::pair<std::byte*, std::vector<std::byte>*>*>(with));
                    std::memcpy(j->first, j->second->data(), j->second->size());
                },
                job));
        }
        return bad;
    }
    struct sum_job {
        std::vector<const std::byte*> from;
        std::vector<std::byte>* to;
        stretto::element_type element;
        stretto::reduction_kind reduction;
    };
    template <class Did>
    static void fetch(group& g, std::size_t j, Did did) {
        member& m = g.members[j];
        const post& p = m.now;
        const auto copy = [&](void* to, const void* from, std::size_t n) {
            if (n != 0 && to != from) did(C::copy(to, from, n, p.on));
        };
        switch (p.what) {
            case form::shares: {
                std::vector<std::size_t> taken(g.members.size(), 0);
                for (const part& r : p.receives) {
                    std::size_t skip = taken[r.peer]++;
                    const part* sent = nullptr;
                    for (const part& s : g.members[r.peer].now.sends)
                        if (s.peer == j && skip-- == 0) sent = &s;
                    if (sent == nullptr || sent->size != r.size) return did(failed("amounts of virtual ranks differ"));
                    copy(r.to, sent->from, r.size);
                }
                break;
            }
            case form::gather:
                for (std::size_t k = 0; k < g.members.size(); ++k)
                    copy(p.receive + k * p.size, g.members[k].now.send, p.size);
                break;
            case form::broadcast:
                copy(p.receive, g.members[p.root].now.send, p.size);
                break;
            default: {
                auto* const job = new sum_job{{}, &m.sum, p.element, p.reduction};
                for (const member& other : g.members)
                    job->from.push_back(other.now.send + (p.what == form::reduce_scatter ? j * p.size : 0));
                m.sum.resize(p.size);
                did(C::call(
                    p.on,
                    [](void* with) {
                        const std::unique_ptr<sum_job> s(static_cast<sum_job*>(with));
                        std::memcpy(s->to->data(), s->from[0], s->to->size());
                        for (std::size_t k = 1; k < s->from.size(); ++k)
                            stretto::detail::fold_into(s->element, s->reduction, s->to->data(), s->from[k],
                                                       s->to->size());
                        if (s->reduction == stretto::reduction_kind::average)
                            stretto::detail::divide_sums(s->element, s->to->data(), s->to->size(), s->from.size());
                    },
                    job));
                break;
            }
        }
    }
};

}  // namespace support

#endif
