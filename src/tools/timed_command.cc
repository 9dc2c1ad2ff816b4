#include "src/tools/timed_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "absl/time/clock.h"
#include "src/base/status.h"

namespace kiln::tools {

absl::StatusOr<bool> Succeeds(const std::string& command, absl::Duration limit) {
  sigset_t awaited;
  sigset_t before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGINT);
  pthread_sigmask(SIG_BLOCK, &awaited, &before);
  const absl::Time deadline = absl::Now() + limit;
  const pid_t child = fork();
  if (child == 0) {
    // A group of its own, so that what the shell starts can be stopped with it.
    setpgid(0, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const int nothing = open("/dev/null", O_RDWR);
    for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, descriptor);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  absl::StatusOr<bool> result = false;
  int code = 0;
  bool running = child > 0;
  if (!running) result = Internal("cannot run the check");
  if (running) setpgid(child, child);  // Whichever of the two processes comes first.
  while (running) {
    const absl::Duration left = deadline - absl::Now();
    const timespec wait = absl::ToTimespec(left > absl::ZeroDuration() ? left : absl::ZeroDuration());
    const int signal = sigtimedwait(&awaited, nullptr, &wait);
    if (signal == SIGCHLD && waitpid(child, &code, WNOHANG) == child) {
      running = false;
      result = WIFEXITED(code) && WEXITSTATUS(code) == 0;
    } else if (signal == SIGINT || (signal < 0 && errno == EAGAIN)) {
      if (signal == SIGINT) result = absl::CancelledError("interrupted");
      kill(-child, SIGKILL);
      waitpid(child, &code, 0);
      running = false;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

}  // namespace kiln::tools
