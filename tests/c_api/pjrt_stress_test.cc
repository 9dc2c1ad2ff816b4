// Eight threads that compile, run, donate, pass on and destroy at once. KILN_FULL_TESTS=1: for a minute.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "absl/strings/substitute.h"
#include "tests/c_api/pjrt.h"

namespace kiln::test {
namespace {

constexpr int kThreads = 8;
constexpr int kSize = 1000;

// Loops long enough for several threads to share, and results that tell one program from another. Of its few texts,
// those in use at a time are compiled by several threads at once.
std::string Program(int constant) {
  return absl::Substitute(R"(
HloModule stress_$0, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  x = f32[$1] parameter(0)
  y = f32[$1] parameter(1)
  c = f32[$1] broadcast(f32[] constant($0)), dimensions={}
  ROOT result = (f32[$1], f32[$1]) tuple(f32[$1] add(x, c), f32[$1] multiply(y, c))
}
)",
                          constant, kSize);
}

class PjrtStressTest : public ::testing::Test {
 protected:
  static PJRT_LoadedExecutable* Reload(PJRT_Client* client, PJRT_LoadedExecutable* loaded) {
    KILN_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
    get.loaded_executable = loaded;
    KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_GetExecutable(&get));
    KILN_ARGS(PJRT_Executable_Serialize, serialize);
    serialize.executable = get.executable;
    KILN_EXPECT_OK(Api()->PJRT_Executable_Serialize(&serialize));
    KILN_ARGS(PJRT_Executable_DeserializeAndLoad, load);
    load.client = client;
    load.serialized_executable = serialize.serialized_bytes;
    load.serialized_executable_size = serialize.serialized_bytes_size;
    KILN_EXPECT_OK(Api()->PJRT_Executable_DeserializeAndLoad(&load));
    serialize.serialized_executable_deleter(serialize.serialized_executable);
    KILN_ARGS(PJRT_Executable_Destroy, destroy);
    destroy.executable = get.executable;
    KILN_EXPECT_OK(Api()->PJRT_Executable_Destroy(&destroy));
    return load.loaded_executable;
  }

  // A chain of donations, each link with its own listener; every second one is destroyed before it has run.
  static void RunChain(PJRT_Client* client, PJRT_LoadedExecutable* executable, int constant, int links,
                       std::atomic<int>* heard) {
    PJRT_Buffer* x = FromHost(client, std::vector<float>(kSize, 1), {kSize});
    PJRT_Buffer* y = FromHost(client, std::vector<float>(kSize, 2), {kSize});
    PJRT_Buffer* product = nullptr;
    for (int i = 0; i < links; ++i) {
      Call call = Execute(executable, {x, y}, 2);
      ASSERT_TRUE(call.failure.ok()) << call.failure.message;
      KILN_ARGS(PJRT_Event_OnReady, listen);
      listen.event = call.done;
      listen.user_arg = heard;
      listen.callback = [](PJRT_Error* error, void* heard) {
        EXPECT_TRUE(Take(error).ok());
        ++*static_cast<std::atomic<int>*>(heard);
      };
      KILN_EXPECT_OK(Api()->PJRT_Event_OnReady(&listen));
      if (i % 2 == 0) {
        KILN_ARGS(PJRT_Event_Destroy, destroy);
        destroy.event = call.done;
        KILN_EXPECT_OK(Api()->PJRT_Event_Destroy(&destroy));
      } else {
        EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
      }
      EXPECT_TRUE(IsDeleted(x));
      DestroyBuffer(x);
      if (product != nullptr) DestroyBuffer(product);
      x = call.outputs[0];
      product = call.outputs[1];
    }
    EXPECT_EQ(ToHost(x), std::vector<float>(kSize, 1.0f + static_cast<float>(links * constant)));
    EXPECT_EQ(ToHost(product), std::vector<float>(kSize, 2.0f * static_cast<float>(constant)));
    for (PJRT_Buffer* buffer : {x, y, product}) DestroyBuffer(buffer);
  }
};

TEST_F(PjrtStressTest, CompileRunAndDestroyAtOnce) {
  const auto duration = std::chrono::milliseconds(std::getenv("KILN_FULL_TESTS") != nullptr ? 60000 : 1000);
  const auto end = std::chrono::steady_clock::now() + duration;
  // Half of the runs go through the pool: both clients run programs of the same texts and share what is compiled.
  PJRT_Client* pooled = CreateClient({IntegerOption("inline_nanoseconds", 0), IntegerOption("max_threads", 4)});
  PJRT_Client* inlined = CreateClient({IntegerOption("max_threads", 2)});
  PJRT_LoadedExecutable* shared = Compile(pooled, Program(7));
  std::atomic<int> heard{0}, wanted{0}, round{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      do {
        PJRT_Client* client = t % 2 == 0 ? pooled : inlined;
        // Each text is new to the process until a few threads have come by.
        const int constant = 1 + round++ / 4 % 500;
        PJRT_LoadedExecutable* own = Compile(client, Program(constant));
        if (t % 4 == 1) {
          PJRT_LoadedExecutable* reloaded = Reload(client, own);
          Destroy(own);
          own = reloaded;
        }
        RunChain(client, own, constant, 6, &heard);
        RunChain(pooled, shared, 7, 5, &heard);
        Destroy(own);
        wanted += 11;
        if (t == 0) {  // clients come and go beside the others, with work in flight
          PJRT_Client* brief = CreateClient({IntegerOption("inline_nanoseconds", 0)});
          PJRT_LoadedExecutable* executable = Compile(brief, Program(constant));
          PJRT_Buffer* x = FromHost(brief, std::vector<float>(kSize, 1), {kSize});
          PJRT_Buffer* y = FromHost(brief, std::vector<float>(kSize, 1), {kSize});
          Call call = Execute(executable, {x, y}, 2);
          Destroy(executable);
          for (PJRT_Buffer* buffer : {x, y}) DestroyBuffer(buffer);
          DestroyClient(brief);
          EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
          for (PJRT_Buffer* buffer : call.outputs) DestroyBuffer(buffer);
        }
      } while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure());
    });
  }
  for (std::thread& thread : threads) thread.join();
  Destroy(shared);
  DestroyClient(pooled);  // waits for the last listeners
  DestroyClient(inlined);
  EXPECT_EQ(heard, wanted);
  RecordProperty("rounds", round);
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)  // which keep memory to themselves
int64_t ResidentBytes() {
  int64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %" SCNd64, &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

// Programs, buffers and events that come and go leave nothing behind. (tests/jax/test_leaks.py makes a million calls.)
TEST_F(PjrtStressTest, NothingStaysOfWhatIsDestroyed) {
  const int programs = std::getenv("KILN_FULL_TESTS") != nullptr ? 20000 : 600;
  PJRT_Client* client = CreateClient();
  std::atomic<int> heard{0};
  const auto use = [&](int first, int count) {
    for (int i = first; i < first + count; ++i) {
      const int constant = 1 + i % 100;  // machine code is kept on purpose
      PJRT_LoadedExecutable* executable = Compile(client, Program(constant));
      RunChain(client, executable, constant, 2, &heard);
      Destroy(executable);
    }
  };
  use(0, 200);
  const int64_t before = ResidentBytes();
  ASSERT_GT(before, 0);
  use(200, programs);
  EXPECT_LT(ResidentBytes() - before, int64_t{1} << 20);
  DestroyClient(client);
}
#endif

}  // namespace
}  // namespace kiln::test
