// What a piece of work costs: processor time of this thread, and memory of this process.
#ifndef STRETTO_BENCH_SUPPORT_MEASURE_HPP
#define STRETTO_BENCH_SUPPORT_MEASURE_HPP

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace bench {

/// The seconds that this thread has computed, page faults included. On a machine that others use as well, wall time
/// measures the others too; this does not, except for the caches that they share.
[[nodiscard]] inline double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The least time of several runs of `work`, in seconds, because noise only ever adds. There are at least `runs` runs,
/// and they take at least `seconds` together.
template <class Work>
[[nodiscard]] double least_seconds(Work work, int runs = 5, double seconds = 0.05) {
    double least = 1e300, total = 0;
    for (int run = 0; run < runs || total < seconds; ++run) {
        const double before = thread_seconds();
        work();
        const double taken = thread_seconds() - before;
        least = std::min(least, taken);
        total += taken;
    }
    return least;
}

/// The median of at least one measurement.
[[nodiscard]] inline double median(std::vector<double> all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

/// Keeps the compiler from dropping a result that nobody reads.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

/// The resident memory of this process in bytes, now and at its peak since `reset_peak_memory`.
struct resident_memory {
    double now = 0, peak = 0;
};

[[nodiscard]] inline resident_memory measure_resident_memory() {
    resident_memory m;
    if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, status)) {
            double kib = 0;
            if (std::sscanf(line, "VmRSS: %lf", &kib) == 1) m.now = kib * 1024;
            if (std::sscanf(line, "VmHWM: %lf", &kib) == 1) m.peak = kib * 1024;
        }
        std::fclose(status);
    }
    return m;
}

/// Lets the peak begin at what is resident now. (Where /proc forbids that, the peak of the whole process remains.)
inline void reset_peak_memory() {
    if (std::FILE* clear = std::fopen("/proc/self/clear_refs", "w")) {
        std::fputs("5", clear);
        std::fclose(clear);
    }
}

}  // namespace bench

#endif
