// A machine with devices and a network, on the CPU, for tests of the backend over CUDA and NCCL: streams are threads
// that do what was put into them in its order, events order them, communicators are meetings of such threads. Any call
// may fail, or be in progress for ever; what is not given back is counted, as are calls that NCCL does not allow.
#ifndef STRETTO_TESTS_BACKEND_CUDA_NCCL_IMITATED_CUDA_HPP
#define STRETTO_TESTS_BACKEND_CUDA_NCCL_IMITATED_CUDA_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"
#include "stretto/backend/detail/threads/host_fold.hpp"

namespace support {

/// The calls, to say which one fails.
enum class imitated_call : std::uint8_t {
    use_device,
    make_stream,
    end_stream,
    make_event,
    make_timed_event,
    end_event,
    record,
    wait,
    query,
    elapsed,
    may_put,
    call,
    copy,
    allocate,
    release,
    begin_capture,
    end_capture,
    launch,
    end_graph,
    join,
    split,
    state,
    begin_group,
    end_group,
    send,
    receive,
    all_gather,
    broadcast,
    all_reduce,
    reduce_scatter,
    enter,
    leave,
    finish,
    end,
    abort,
    count
};
inline constexpr std::size_t imitated_calls = static_cast<std::size_t>(imitated_call::count);
/// What failures call them.
inline constexpr std::array<const char*, imitated_calls> imitated_names = {
    "use_device",    "make_stream", "end_stream",  "make_event", "make_timed_event",
    "end_event",     "record",      "wait",        "query",      "elapsed",
    "may_put",       "call",        "copy",        "allocate",   "release",
    "begin_capture", "end_capture", "launch",      "end_graph",  "join",
    "split",         "state",       "begin_group", "end_group",  "send",
    "receive",       "all_gather",  "broadcast",   "all_reduce", "reduce_scatter",
    "enter",         "leave",       "finish",      "end",        "abort"};

struct imitated_fault {
    imitated_call what = imitated_call::count;  ///< count: no fault
    int rank = 0;
    std::size_t at = 0;  ///< which of its calls, from 0
    bool hangs = false;  ///< it, and all later ones, are in progress for ever; else it fails
};

struct imitated_stream;
struct imitated_comm;

/// Everything that threads share. One at a time exists.
struct imitated_machine {
    explicit imitated_machine(imitated_fault planted = {}, std::uint32_t in_progress = 0, bool is_silent = false)
        : fault(planted), polls(in_progress), silent(is_silent) {
        current = this;
    }
    ~imitated_machine() { current = nullptr; }
    imitated_machine(const imitated_machine&) = delete;
    imitated_machine& operator=(const imitated_machine&) = delete;

    static inline imitated_machine* current = nullptr;
    static inline thread_local int rank = -1;  // of this thread; others have no faults
    static inline thread_local bool last_failed = false;

    imitated_fault fault;
    std::uint32_t polls;  ///< how often a call of NCCL is said to be in progress
    bool silent;          ///< ranks are not told when another one aborts
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::array<std::size_t, imitated_calls>> calls =
        std::vector<std::array<std::size_t, imitated_calls>>(8);
    bool struck = false;
    bool lost = false;  ///< a rank has ended with a failure, which others notice unless the machine is silent
    int streams = 0, events = 0, memories = 0, graphs = 0, comms = 0, handles = 0;  ///< that live
    std::set<std::string> breaches;  ///< of what CUDA and NCCL ask of their callers

    [[nodiscard]] bool is_clean() const {
        return streams == 0 && events == 0 && memories == 0 && graphs == 0 && comms == 0 && handles == 0;
    }
};

/// Members that meet, operation by operation.
struct imitated_group {
    struct post {
        enum class form : std::uint8_t {
            none,
            shares,
            gather,
            broadcast,
            all_reduce,
            reduce_scatter
        } what = form::none;
        const std::byte* send = nullptr;
        std::byte* receive = nullptr;
        std::size_t size = 0, root = 0;
        stretto::element_type element = {};
        stretto::reduction_kind reduction = {};
        struct part {
            std::size_t peer, size;
            const std::byte* from;
            std::byte* to;
        };
        std::vector<part> sends = {}, receives = {};
    };
    explicit imitated_group(std::size_t n) : posts(n), came(n), aborted(n) {}

    std::vector<post> posts;
    std::vector<std::size_t> came;  // how often each member has come
    std::vector<char> aborted;
    std::size_t joined = 0, splits = 0;
    bool broken = false;  // members have come for what does not fit; nobody will go on
    [[nodiscard]] std::size_t size() const { return posts.size(); }
};

struct imitated_comm {
    std::shared_ptr<imitated_group> group;
    std::size_t place = 0;
    std::shared_ptr<std::map<std::size_t, std::shared_ptr<imitated_group>>> others = {};
    std::size_t splits = 0;
    std::uint32_t pending = 0;
    imitated_stream* stream = nullptr;
    int handles = 0;
    imitated_comm *child = nullptr, **child_to = nullptr;  // what a split in progress makes, and where it will be
};

/// The groups that ranks with one id are in: the world, and what each of its splits makes.
struct imitated_id {
    using splits = std::map<std::size_t, std::shared_ptr<imitated_group>>;
    std::shared_ptr<splits> groups = std::make_shared<splits>();
};

struct imitated_graph {
    using clock = std::map<imitated_stream*, std::size_t>;
    struct node {
        imitated_stream* stream;
        bool collective;
        clock after;
        std::function<void(imitated_stream&)> run;
    };
    std::vector<node> nodes;
    std::map<imitated_stream*, clock> clocks;
    imitated_stream* origin = nullptr;
};

struct imitated_stream {
    imitated_stream() : worker([this] { work(); }) {}
    ~imitated_stream() {
        {
            const std::lock_guard lock(imitated_machine::current->mutex);
            ends = true;
        }
        imitated_machine::current->changed.notify_all();
        worker.join();
    }
    using entry = std::function<void(imitated_stream&)>;
    /// With the machine locked.
    void put(entry e, bool collective = false) {
        if (capture) {
            auto& clock = capture->clocks[this];
            capture->nodes.push_back({this, collective, clock, std::move(e)});
            ++clock[this];
        } else {
            entries.push_back(std::move(e));
            imitated_machine::current->changed.notify_all();
        }
    }
    void work() {
        imitated_machine& m = *imitated_machine::current;
        for (std::unique_lock lock(m.mutex);;) {
            m.changed.wait(lock, [&] { return ends || !entries.empty(); });
            if (ends) return;
            const entry e = std::move(entries.front());
            entries.pop_front();
            lock.unlock();
            e(*this);
            lock.lock();
        }
    }
    std::deque<entry> entries;
    bool ends = false;
    std::shared_ptr<imitated_graph> capture;
    imitated_comm* user = nullptr;
    std::thread worker;
};

struct imitated_event {
    struct state {
        bool timed = false;
        std::size_t recorded = 0, done = 0;
        std::chrono::steady_clock::time_point at = {};  // when it was done last
        std::shared_ptr<imitated_graph> capture;
        imitated_graph::clock clock;
    };
    std::shared_ptr<state> s = std::make_shared<state>();
};

/// What a thread has noted since it has begun a group.
struct imitated_open_group {
    int depth = 0;
    bool failed = false;
    imitated_comm* comm = nullptr;
    imitated_stream* stream = nullptr;
    imitated_group::post post = {};
    std::vector<imitated_comm*> ends = {};
};

/// The calls of the backend, made to the machine.
struct imitated_cuda {
    using result = stretto::call_result;
    using stream_type = imitated_stream*;
    using event_type = imitated_event*;
    using comm_type = imitated_comm*;
    using id_type = imitated_id;
    using graph_type = std::shared_ptr<imitated_graph>*;
    using handle_type = int*;
    using what = imitated_call;
    using lock = std::lock_guard<std::mutex>;

    static imitated_machine& machine() { return *imitated_machine::current; }
    static constexpr result busy{result::state::in_progress};
    static result failed(const char* why) { return {result::state::failed, why}; }
    static result breach(const char* why) {
        machine().breaches.insert(why);
        return failed(why);
    }
    /// With the machine locked: what is planted at this call, or that it is done.
    static result planted(what w) {
        imitated_machine& m = machine();
        if (m.rank < 0) return {};
        const std::size_t n = m.calls[static_cast<std::size_t>(m.rank)][static_cast<std::size_t>(w)]++;
        if (m.fault.what != w || m.fault.rank != m.rank) return {};
        if (m.fault.hangs ? n < m.fault.at : n != m.fault.at) return {};
        m.struck = true;
        if (!m.fault.hangs) m.last_failed = true;
        return (m.fault.hangs ? busy : failed("planted")).of(imitated_names[static_cast<std::size_t>(w)]);
    }

    static result use_device(int) {
        const lock l(machine().mutex);
        return planted(what::use_device);
    }
    static result make_stream(stream_type& s, bool) {
        {
            const lock l(machine().mutex);
            if (const result r = planted(what::make_stream); !r.done()) return r;
            ++machine().streams;
        }
        s = new imitated_stream;
        return {};
    }
    static result end_stream(stream_type s) {
        delete s;
        const lock l(machine().mutex);
        --machine().streams;
        return planted(what::end_stream);
    }
    static result make_event(event_type& e) { return make_any_event(e, what::make_event); }
    static result make_timed_event(event_type& e) { return make_any_event(e, what::make_timed_event); }
    static result make_any_event(event_type& e, what by) {
        const lock l(machine().mutex);
        if (const result r = planted(by); !r.done()) return r;
        ++machine().events;
        e = new imitated_event;
        e->s->timed = by == what::make_timed_event;
        return {};
    }
    static result end_event(event_type e) {
        const lock l(machine().mutex);
        delete e;
        --machine().events;
        return planted(what::end_event);
    }
    /// Work may not be put where a communicator is not ready.
    static bool is_free(stream_type s) { return s->user == nullptr || s->user->pending == 0; }
    static result record(event_type e, stream_type s) {
        const lock l(machine().mutex);
        if (const result r = planted(what::record); !r.done()) return r;
        if (!is_free(s)) return breach("work for a stream of a communicator in progress");
        e->s->capture = s->capture;
        if (s->capture) {
            e->s->clock = s->capture->clocks[s];
            return {};
        }
        const std::size_t n = ++e->s->recorded;
        s->put([n, state = e->s](imitated_stream&) {
            const lock inner(machine().mutex);
            state->done = n;
            state->at = std::chrono::steady_clock::now();
            machine().changed.notify_all();
        });
        return {};
    }
    static result wait(stream_type s, event_type e) {
        const lock l(machine().mutex);
        if (const result r = planted(what::wait); !r.done()) return r;
        if (!is_free(s)) return breach("work for a stream of a communicator in progress");
        if (e->s->capture) {
            if (s->capture && s->capture != e->s->capture) return breach("two captures meet");
            s->capture = e->s->capture;
            auto& clock = s->capture->clocks[s];
            for (const auto& [stream, n] : e->s->clock) clock[stream] = std::max(clock[stream], n);
            return {};
        }
        if (s->capture) return breach("a capture waits for what is not in it");
        s->put([n = e->s->recorded, state = e->s](imitated_stream& self) {
            std::unique_lock inner(machine().mutex);
            machine().changed.wait(inner, [&] { return self.ends || state->done >= n; });
        });
        return {};
    }
    static result query(event_type e) {
        const lock l(machine().mutex);
        if (const result r = planted(what::query); !r.done()) return r;
        if (e->s->capture) return failed("the event is in a capture");
        return e->s->done == e->s->recorded ? result{} : busy.of("query");
    }
    static result elapsed(std::int64_t& ns, event_type from, event_type to) {
        const lock l(machine().mutex);
        if (const result r = planted(what::elapsed); !r.done()) return r;
        for (const event_type e : {from, to}) {
            if (!e->s->timed) return breach("the time of an event that measures none");
            if (e->s->recorded == 0 || e->s->done != e->s->recorded) return breach("the time of an event not reached");
        }
        ns = std::chrono::duration_cast<std::chrono::nanoseconds>(to->s->at - from->s->at).count();
        return {};
    }
    static result may_put() {
        const lock l(machine().mutex);
        if (std::exchange(machine().last_failed, false)) return failed("planted");
        return planted(what::may_put);
    }
    static result call(stream_type s, void (*f)(void*), void* with) {
        const lock l(machine().mutex);
        if (const result r = planted(what::call); !r.done()) return r;
        s->put([f, with](imitated_stream&) { f(with); });
        return {};
    }
    static result copy(void* to, const void* from, std::size_t n, stream_type s) {
        const lock l(machine().mutex);
        if (const result r = planted(what::copy); !r.done()) return r;
        if (!is_free(s)) return breach("work for a stream of a communicator in progress");
        s->put([=](imitated_stream&) { std::memcpy(to, from, n); });
        return {};
    }
    static result allocate(void*& memory, std::size_t n, stretto::device_memory) {
        const lock l(machine().mutex);
        if (const result r = planted(what::allocate); !r.done()) return r;
        memory = ::operator new(n, std::align_val_t{256});
        std::memset(memory, 0x5a, n);
        ++machine().memories;
        return {};
    }
    static result release(void* memory, stretto::device_memory) {
        const lock l(machine().mutex);
        ::operator delete(memory, std::align_val_t{256});
        --machine().memories;
        return planted(what::release);
    }

    static result begin_capture(stream_type s) {
        const lock l(machine().mutex);
        if (const result r = planted(what::begin_capture); !r.done()) return r;
        s->capture = std::make_shared<imitated_graph>();
        s->capture->origin = s;
        return {};
    }
    static result end_capture(graph_type& made, stream_type s) {
        const lock l(machine().mutex);
        const result r = planted(what::end_capture);
        const std::shared_ptr<imitated_graph> g = s->capture;
        if (!g) return breach("no capture to end");
        bool joined = true;
        for (auto& [stream, clock] : g->clocks) {
            joined = joined && (stream == s || g->clocks[s][stream] == clock[stream]);
            stream->capture.reset();
        }
        s->capture.reset();
        if (!r.done()) return r;
        if (!joined) return failed("the capture has work that was not joined");
        made = new std::shared_ptr<imitated_graph>(g);
        ++machine().graphs;
        return {};
    }
    /// Runs nodes in some order that the captured dependences allow, which is another one than that of the capture:
    /// collectives in theirs, and of what else may run always the last.
    static result launch(graph_type graph, stream_type s) {
        const lock l(machine().mutex);
        if (const result r = planted(what::launch); !r.done()) return r;
        s->put([g = *graph](imitated_stream& self) {
            std::map<imitated_stream*, std::size_t> done;
            std::vector<char> ran(g->nodes.size(), false);
            for (std::size_t n = 0; n < ran.size(); ++n) {
                std::size_t next = ran.size();
                bool first = true;
                for (std::size_t k = 0; k < ran.size(); ++k) {
                    if (ran[k]) continue;
                    const imitated_graph::node& node = g->nodes[k];
                    const bool turn = !node.collective || std::exchange(first, false);
                    bool ready = turn;
                    for (const auto& [stream, count] : node.after) ready = ready && done[stream] >= count;
                    if (ready) next = k;
                }
                ran[next] = true;
                g->nodes[next].run(self);
                ++done[g->nodes[next].stream];
            }
        });
        return {};
    }
    static result end_graph(graph_type graph) {
        const lock l(machine().mutex);
        delete graph;
        --machine().graphs;
        return planted(what::end_graph);
    }

    // Of NCCL.
    static thread_local inline imitated_open_group open = {};

    static result join(comm_type& comm, std::size_t ranks, const id_type& id, std::size_t rank, int) {
        const lock l(machine().mutex);
        if (const result r = planted(what::join); !r.done()) return r;
        std::shared_ptr<imitated_group>& world = (*id.groups)[0];
        if (!world) world = std::make_shared<imitated_group>(ranks);
        comm = new imitated_comm{world, rank, id.groups};
        ++machine().comms;
        ++comm->group->joined;
        return busy;
    }
    /// A member's place is that of its key among those of its color.
    static result split(comm_type& made, comm_type of, int color, std::size_t key, const char*, int) {
        const lock l(machine().mutex);
        if (const result r = planted(what::split); !r.done()) return r;
        if (of->pending != 0) return breach("a communicator in progress is split");
        ++of->splits;
        ++of->group->splits;
        if (color < 0) return busy;
        // As with NCCL, a split says where its communicator is when it is complete.
        of->child = new imitated_comm{nullptr, key};
        of->child_to = &made;
        ++machine().comms;
        std::shared_ptr<imitated_group>& same = (*of->others)[of->splits];
        if (!same) same = std::make_shared<imitated_group>(0);
        const std::size_t size = std::max(same->size(), key + 1);
        same->posts.resize(size);
        same->came.resize(size);
        same->aborted.resize(size);
        ++same->joined;
        of->child->group = same;
        return busy;
    }
    static bool is_null(comm_type comm) { return comm == nullptr; }
    static result state(comm_type comm) {
        const lock l(machine().mutex);
        if (const result r = planted(what::state); !r.done()) return r;
        const imitated_group& g = *comm->group;
        if (machine().lost && !machine().silent) return failed("a connection was closed");
        if (!machine().silent)
            for (std::size_t k = 0; k < g.size(); ++k)
                if (g.aborted[k]) return failed("remote process exited or there was a network error");
        // All have joined, and all have called the last split that this one has.
        if (g.joined < g.size() || g.splits < comm->splits * g.size()) return busy;
        if (comm->pending != 0) return --comm->pending, busy;
        if (comm->child != nullptr) *comm->child_to = std::exchange(comm->child, nullptr);
        return {};
    }
    static result begin_group() {
        const lock l(machine().mutex);
        if (const result r = planted(what::begin_group); !r.done()) return r;
        ++open.depth;
        return {};
    }
    static result end_group() {
        const std::vector<imitated_comm*> ends = std::exchange(open.ends, {});
        for (imitated_comm* c : ends) destroy(c);
        const lock l(machine().mutex);
        const result r = planted(what::end_group);
        if (open.depth != 0) --open.depth;
        const bool bad = std::exchange(open.failed, false);
        imitated_comm* const comm = std::exchange(open.comm, nullptr);
        imitated_group::post post = std::exchange(open.post, {});
        if (!r.done()) return r;
        if (bad) return failed("the group has failed");
        return comm == nullptr ? result{} : put(comm, open.stream, std::move(post));
    }
    static result part(what w, imitated_group::post::part p, comm_type comm, stream_type s) {
        const lock l(machine().mutex);
        if (const result r = planted(w); !r.done()) {
            open.failed = true;
            return r;
        }
        if (open.depth == 0) return breach("a send or a receive that is in no group");
        if (open.comm != nullptr && open.comm != comm) return breach("two communicators in one group");
        open.comm = comm;
        open.stream = s;
        open.post.what = imitated_group::post::form::shares;
        (w == what::send ? open.post.sends : open.post.receives).push_back(p);
        return busy;
    }
    static result send(const void* from, std::size_t n, std::size_t to, comm_type comm, stream_type s) {
        return part(what::send, {to, n, static_cast<const std::byte*>(from), nullptr}, comm, s);
    }
    static result receive(void* to, std::size_t n, std::size_t from, comm_type comm, stream_type s) {
        return part(what::receive, {from, n, nullptr, static_cast<std::byte*>(to)}, comm, s);
    }
    static result whole(what w, imitated_group::post::form form, const void* from, void* to, std::size_t n,
                        std::size_t root, stretto::element_type element, stretto::reduction_kind reduction,
                        comm_type comm, stream_type s) {
        const lock l(machine().mutex);
        if (const result r = planted(w); !r.done()) return r;
        return put(
            comm, s,
            {form, static_cast<const std::byte*>(from), static_cast<std::byte*>(to), n, root, element, reduction});
    }
    using form = imitated_group::post::form;
    static result all_gather(const void* from, void* to, std::size_t n, comm_type comm, stream_type s) {
        return whole(what::all_gather, form::gather, from, to, n, 0, {}, {}, comm, s);
    }
    static result broadcast(const void* from, void* to, std::size_t n, std::size_t root, comm_type comm,
                            stream_type s) {
        return whole(what::broadcast, form::broadcast, from, to, n, root, {}, {}, comm, s);
    }
    static result all_reduce(const void* from, void* to, std::size_t n, stretto::element_type e,
                             stretto::reduction_kind r, comm_type comm, stream_type s) {
        return whole(what::all_reduce, form::all_reduce, from, to, n, 0, e, r, comm, s);
    }
    static result reduce_scatter(const void* from, void* to, std::size_t n, stretto::element_type e,
                                 stretto::reduction_kind r, comm_type comm, stream_type s) {
        return whole(what::reduce_scatter, form::reduce_scatter, from, to, n, 0, e, r, comm, s);
    }
    static bool can_reduce(stretto::element_type e, stretto::reduction_kind r) {
        return stretto::detail::can_fold(e, r);
    }
    static result enter(handle_type& handle, comm_type comm, void*, std::size_t) {
        const lock l(machine().mutex);
        if (const result r = planted(what::enter); !r.done()) return r;
        if (comm->pending != 0) return breach("memory is registered with a communicator in progress");
        handle = &comm->handles;
        ++machine().handles;
        ++comm->handles;
        return {};
    }
    static result leave(comm_type comm, handle_type handle) {
        const lock l(machine().mutex);
        if (handle != &comm->handles) return breach("memory leaves a communicator that it is not in");
        --comm->handles;
        --machine().handles;
        return planted(what::leave);
    }
    static result finish(comm_type comm) {
        const lock l(machine().mutex);
        if (comm->handles != 0) return breach("memory is in a communicator that ends");
        return planted(what::finish);
    }
    static result end(comm_type comm) {
        if (open.depth != 0) open.ends.push_back(comm);
        else destroy(comm);
        const lock l(machine().mutex);
        return planted(what::end);
    }
    static result abort(comm_type comm) {
        {
            const lock l(machine().mutex);
            comm->group->aborted[comm->place] = true;
            machine().changed.notify_all();
        }
        return end_of_abort(comm);
    }

private:
    static result end_of_abort(comm_type comm) {
        if (open.depth != 0) open.ends.push_back(comm);
        else destroy(comm);
        const lock l(machine().mutex);
        return planted(what::abort);
    }
    static void destroy(imitated_comm* comm) {
        const lock l(machine().mutex);
        if (comm->stream != nullptr && comm->stream->user == comm) comm->stream->user = nullptr;
        machine().handles -= comm->handles;
        if (comm->child != nullptr) --machine().comms;
        delete comm->child;
        delete comm;
        --machine().comms;
    }
    static result put(comm_type comm, stream_type s, imitated_group::post post) {
        if (comm->pending != 0) return breach("a call on a communicator in progress");
        if (comm->stream != nullptr && comm->stream != s) return breach("a communicator on two streams");
        comm->stream = s;
        s->user = comm;
        comm->pending = machine().polls;
        s->put([group = comm->group, place = comm->place,
                post = std::move(post)](imitated_stream& self) { perform(*group, place, post, self); },
               true);
        return comm->pending == 0 ? result{} : busy;
    }

    /// Waits, with the machine locked, until all members have come as often as this one. Returns whether to go on.
    static bool meet(std::unique_lock<std::mutex>& l, imitated_group& g, std::size_t place, imitated_stream& self) {
        const std::size_t mine = ++g.came[place];
        machine().changed.notify_all();
        const auto gone = [&] {
            if (self.ends || g.aborted[place]) return true;
            return !machine().silent && std::any_of(g.aborted.begin(), g.aborted.end(), [](char a) { return a; });
        };
        machine().changed.wait(l, [&] {
            if (gone()) return true;
            return !g.broken && std::all_of(g.came.begin(), g.came.end(), [&](std::size_t n) { return n >= mine; });
        });
        return !gone();
    }
    /// What this member receives, from what all members send; or nothing, if they do not fit together.
    static std::optional<std::vector<std::vector<std::byte>>> pull(const imitated_group& g, std::size_t place) {
        const imitated_group::post& mine = g.posts[place];
        std::vector<std::vector<std::byte>> parts;
        const auto add = [&](const std::byte* from, std::size_t n) { parts.emplace_back(from, from + n); };
        for (const imitated_group::post& p : g.posts)
            if (p.what != mine.what || p.size != mine.size || p.root != mine.root || p.reduction != mine.reduction ||
                p.element != mine.element)
                return {};
        const auto folded = [&](std::size_t from) {
            add(g.posts[0].send + from, mine.size);
            for (std::size_t k = 1; k < g.size(); ++k)
                stretto::detail::fold_into(mine.element, mine.reduction, parts[0].data(), g.posts[k].send + from,
                                           mine.size);
            if (mine.reduction == stretto::reduction_kind::average)
                stretto::detail::divide_sums(mine.element, parts[0].data(), mine.size, g.size());
        };
        switch (mine.what) {
            case form::shares: {
                std::vector<std::size_t> taken(g.size(), 0);  // messages of a pair are in their order
                for (const auto& r : mine.receives) {
                    std::size_t n = taken[r.peer]++;
                    for (const auto& s : g.posts[r.peer].sends) {
                        if (s.peer != place || n-- != 0) continue;
                        if (s.size != r.size) return {};
                        add(s.from, s.size);
                    }
                }
                if (parts.size() != mine.receives.size()) return {};
                break;
            }
            case form::gather:
                for (const imitated_group::post& p : g.posts) add(p.send, p.size);
                break;
            case form::broadcast:
                add(g.posts[mine.root].send, mine.size);
                break;
            case form::all_reduce:
                folded(0);
                break;
            default:
                folded(place * mine.size);
                break;
        }
        return parts;
    }
    /// Nobody who has aborted is read from, since his memory may be gone. Whoever comes for what does not fit the
    /// others' spins until he is aborted, as a device does.
    static void perform(imitated_group& g, std::size_t place, const imitated_group::post& post, imitated_stream& self) {
        std::unique_lock l(machine().mutex);
        g.posts[place] = post;
        if (!meet(l, g, place, self)) return;
        std::optional<std::vector<std::vector<std::byte>>> parts;
        const bool all = std::none_of(g.aborted.begin(), g.aborted.end(), [](char a) { return a; });
        if (all) parts = pull(g, place);
        if (!parts) g.broken = true;
        if (!meet(l, g, place, self)) return;
        std::size_t k = 0;
        std::byte* to = post.receive;
        for (const std::vector<std::byte>& p : *parts) {
            if (post.what == form::shares) to = post.receives[k++].to;
            if (!p.empty()) std::memcpy(to, p.data(), p.size());
            to += p.size();
        }
    }
};
static_assert(stretto::cuda_nccl_calls<imitated_cuda>);
using imitated_rank = stretto::cuda_nccl_rank<imitated_cuda>;

/// How each rank has ended.
struct imitated_outcome {
    std::vector<std::optional<stretto::run_failure>> failures;
    [[nodiscard]] bool failed() const {
        return std::any_of(failures.begin(), failures.end(), [](const auto& f) { return f.has_value(); });
    }
};

/// Runs `program(rank)`, which returns a failure or nothing, on a thread for each rank of a machine.
template <class Program>
imitated_outcome run_imitated(std::size_t ranks, const stretto::process_groups& groups,
                              stretto::cuda_nccl_options options, Program program) {
    imitated_outcome all;
    all.failures.resize(ranks);
    const imitated_id id;
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            imitated_machine::rank = static_cast<int>(r);
            auto made = imitated_rank::make(static_cast<stretto::rank_id>(r), ranks, id, groups, options);
            if (made) all.failures[r] = program(**made);
            else all.failures[r] = made.error();
            const std::lock_guard lock(imitated_machine::current->mutex);
            if (all.failures[r]) imitated_machine::current->lost = true;
        });
    for (std::thread& t : threads) t.join();
    return all;
}

}  // namespace support

#endif
