// SPDX-License-Identifier: Apache-2.0
// Runs a function that may end the process in a forked child.
#ifndef TVM_FFI_TESTS_RUNTIME_CHILD_PROCESS_H_
#define TVM_FFI_TESTS_RUNTIME_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

struct ChildEnd {
  int exit_status;  // -1 if a signal ended the child
  int signal;       // 0 if the child exited without a signal
  std::string stderr_text;
};

// Runs `body` in a child process, which exits with 0 if `body` returns; checks that fail in the
// child are reported on stderr. The caller must be the only thread.
template <typename Body>
ChildEnd RunInChild(Body body) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {-1, 0, "pipe failed"};
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) return {-1, 0, "fork failed"};
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    // doctest installs signal handlers; in the child, signals end the process as usual.
    for (int caught : {SIGABRT, SIGSEGV}) signal(caught, SIG_DFL);
    body();
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t got; (got = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          text};
}

#endif  // TVM_FFI_TESTS_RUNTIME_CHILD_PROCESS_H_
