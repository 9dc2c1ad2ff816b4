// A process may end while the library compiles and runs.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "tests/c_api/pjrt.h"

namespace kiln::test {
namespace {

// Ends the process `microseconds` after its threads have begun to compile.
[[noreturn]] void CompileAndExit(int microseconds) {
  // Registered before the library is there, it runs last, and gives the threads time to meet what was destroyed.
  std::atexit([] { usleep(30000); });
  PJRT_Client* client = CreateClient();  // compiles in the background as well
  for (int t = 0; t < 2; ++t) {
    std::thread([client, t] {
      for (int i = 0;; ++i) {
        const std::string type = "f32[" + std::to_string(100 + 2 * i + t) + "]";
        PJRT_LoadedExecutable* executable = Compile(
            client, "HloModule m\nENTRY e { p = " + type + " parameter(0)\n ROOT r = " + type + " exponential(p) }");
        if (executable != nullptr) Destroy(executable);
      }
    }).detach();
  }
  usleep(microseconds);
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST(PjrtExitTest, ProcessEndsAmidCompilations) {
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) CompileAndExit(1 << (2 * i + 4));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "run " << i << " ended with status " << status;
  }
}

}  // namespace
}  // namespace kiln::test
