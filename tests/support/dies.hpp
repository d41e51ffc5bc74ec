// Death tests: runs something in a child process and says how it has ended.
#ifndef STRETTO_TESTS_SUPPORT_DIES_HPP
#define STRETTO_TESTS_SUPPORT_DIES_HPP

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace support {

/// What `f` has written to stderr before it aborted, or "survived" if it did not abort.
template <class F>
std::string last_words(F f) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);  // without the report of the test framework
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        f();
        _exit(0);
    }
    close(ends[1]);
    std::string words;
    char buffer[256];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) words.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : "survived";
}

}  // namespace support

#endif
