// What a consumer of the compiled component does: plan a step of its own with the scheduler that the library brings.
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "stretto/schedule/compiled.hpp"
#include "stretto/schedule/plan_overlap.hpp"

namespace {

/// A kernel, a collective that does not need it, and its wait.
struct step {
    using vertex_type = int;
    using value_type = int;
    std::vector<int> vertices() const { return {0, 1, 2}; }
    std::vector<int> successors(int v) const { return v == 1 ? std::vector<int>{2} : std::vector<int>{}; }
    std::vector<int> predecessors(int v) const { return v == 2 ? std::vector<int>{1} : std::vector<int>{}; }
    std::size_t index(int v) const { return static_cast<std::size_t>(v); }
    std::size_t index_bound() const { return 3; }
    std::vector<int> operands(int v) const { return predecessors(v); }
    std::array<int, 1> results(int v) const { return {v}; }
    int producer(int x) const { return x; }
    std::vector<int> consumers(int x) const { return successors(x); }
};
struct model {
    stretto::op_kind kind(int v) const {
        return v == 0 ? stretto::op_kind::compute : v == 1 ? stretto::op_kind::start : stretto::op_kind::wait;
    }
    stretto::nanoseconds duration(int v) const { return {v == 2 ? 0 : 10}; }
};

}  // namespace

int main() {
    const auto plan = stretto::plan_overlap(step{}, model{});
    if (!plan || !stretto::certify(plan->tasks, plan->certificate.order())) return 1;
    std::printf("%d %d %d\n", plan->order[0], plan->order[1], plan->order[2]);
    return plan->order[0] == 1 ? 0 : 1;
}
