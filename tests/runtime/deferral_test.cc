// Runs with large results wait in the calling thread until somebody wants them.
#include "src/runtime/deferral.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "src/runtime/client.h"
#include "src/runtime/loaded_executable.h"
#include "tests/runtime/fake_executable.h"

namespace kiln::runtime {
namespace {

using hlo::PrimitiveType;
using hlo::Shape;

constexpr int64_t kLarge = 1 << 20;  // elements
constexpr std::chrono::seconds kLongEnough(20);

TEST(DeferralTest, RunsTheOneBefore) {
  std::vector<int> runs;
  {
    Deferral deferral;
    deferral.Start();
    deferral.Put([&] { runs.push_back(1); });
    deferral.Put([&] { runs.push_back(2); });
    deferral.Start();
    EXPECT_EQ(runs, (std::vector<int>{1, 2}));
    deferral.Put([&] { runs.push_back(3); });
  }
  EXPECT_EQ(runs, (std::vector<int>{1, 2, 3}));
}

TEST(DeferralTest, RunsByItselfAfterAWhile) {
  Deferral deferral;
  for (int i = 0; i < 3; ++i) {
    std::promise<std::thread::id> ran;
    deferral.Put([&] { ran.set_value(std::this_thread::get_id()); });
    std::future<std::thread::id> thread = ran.get_future();
    ASSERT_EQ(thread.wait_for(kLongEnough), std::future_status::ready);
    EXPECT_NE(thread.get(), std::this_thread::get_id());
    // Past the time that it keeps looking.
    if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

class DeferredRunTest : public ::testing::Test {
 protected:
  DeferredRunTest() : client_(*Client::Create(ClientOptions{.device_count = 1, .max_threads = 2})) {}

  static Shape Large() { return Shape(PrimitiveType::kF32, {kLarge}); }
  // output = input + 1; says where it wrote and in which thread.
  std::unique_ptr<FakeExecutable> Increment() {
    return std::make_unique<FakeExecutable>(
        std::vector<Shape>{Large()}, std::vector<Shape>{Large()},
        [this](absl::Span<const void* const> in, absl::Span<void* const> out, void*) {
          const auto* from = static_cast<const float*>(in[0]);
          auto* to = static_cast<float*>(out[0]);
          std::transform(from, from + kLarge, to, [](float x) { return x + 1; });
          absl::MutexLock lock(&mutex_);
          places_.push_back(out[0]);
          threads_.push_back(std::this_thread::get_id());
          return absl::OkStatus();
        });
  }
  RefPtr<LoadedExecutable> Load(std::unique_ptr<FakeExecutable> fake) {
    return *LoadedExecutable::Load(client_.get(), std::move(fake), client_->device(0), /*portable=*/false, "fake");
  }
  RefPtr<Buffer> Zeros() {
    const std::vector<float> zeros(kLarge);
    return *client_->BufferFromHost(zeros.data(), Type(), nullptr, HostBufferSemantics::kImmutableOnlyDuringCall,
                                    client_->device(0)->default_memory(), nullptr);
  }
  static RefPtr<const BufferType> Type() { return *BufferType::Create(PrimitiveType::kF32, {kLarge}); }
  RefPtr<Buffer> Run(LoadedExecutable* executable, Buffer* argument, RefPtr<Event>* done = nullptr) {
    Buffer* output = nullptr;
    Buffer* arguments[] = {argument};
    const absl::Status status = executable->Execute(arguments, {}, &output, done);
    EXPECT_TRUE(status.ok()) << status;
    return RefPtr<Buffer>::Adopt(output);
  }
  float Last(Buffer* buffer) {
    float value = 0;
    const absl::Status status =
        (*client_->CopyRawToHost(buffer, &value, (kLarge - 1) * sizeof(float), sizeof(float)))->Await();
    EXPECT_TRUE(status.ok()) << status;
    return value;
  }
  size_t runs() {
    absl::MutexLock lock(&mutex_);
    return threads_.size();
  }

  absl::Mutex mutex_;
  std::vector<const void*> places_;
  std::vector<std::thread::id> threads_;
  std::unique_ptr<Client> client_;
};

TEST_F(DeferredRunTest, BeginsWhenItIsWanted) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> zeros = Zeros(), ones;
  // On a busy machine the watcher may come first now and then.
  bool has_waited = false;
  for (int i = 0; i < 50 && !has_waited; ++i) {
    RefPtr<Event> done;
    ones = Run(increment.get(), zeros.get(), &done);
    const bool waits = !done->IsSettled();
    EXPECT_TRUE(done->Await().ok());
    EXPECT_TRUE(ones->IsReady());
    EXPECT_EQ(Last(ones.get()), 1);
    absl::MutexLock lock(&mutex_);
    has_waited = waits && threads_.back() == std::this_thread::get_id();
  }
  EXPECT_TRUE(has_waited);
  // Copies want what they read.
  RefPtr<Buffer> twos = Run(increment.get(), ones.get());
  EXPECT_EQ(Last(twos.get()), 2);
}

TEST_F(DeferredRunTest, FindsTheMemoryThatWasGivenUpMeanwhile) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> zeros = Zeros(), ones;
  for (int i = 0; i < 50; ++i) ones = Run(increment.get(), zeros.get());
  EXPECT_EQ(Last(ones.get()), 1);
  EXPECT_EQ(runs(), 50);
  // Two results that took turns would never be in the place of the one before.
  int again = 0;
  for (size_t i = 1; i < places_.size(); ++i) again += places_[i] == places_[i - 1] ? 1 : 0;
  EXPECT_GT(again, 10);
}

TEST_F(DeferredRunTest, BeginsByItself) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> zeros = Zeros();
  RefPtr<Event> done;
  RefPtr<Buffer> ones = Run(increment.get(), zeros.get(), &done);
  std::promise<void> settled;
  done->OnSettled([&](const absl::Status&) { settled.set_value(); });
  EXPECT_EQ(settled.get_future().wait_for(kLongEnough), std::future_status::ready);
  EXPECT_EQ(Last(ones.get()), 1);
}

TEST_F(DeferredRunTest, RunsInOrder) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> sum = Zeros();
  for (int i = 0; i < 20; ++i) sum = Run(increment.get(), sum.get());
  EXPECT_EQ(Last(sum.get()), 20);
}

TEST_F(DeferredRunTest, ResultsGivenUpBeforeTheyAreMadeAreFreed) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> zeros = Zeros();
  const int64_t before = client_->allocator()->statistics().bytes_in_use;
  RefPtr<Event> done;
  RefPtr<Buffer> ones = Run(increment.get(), zeros.get(), &done);
  ones->Delete();
  ones = nullptr;
  EXPECT_TRUE(done->Await().ok());
  EXPECT_EQ(client_->allocator()->statistics().bytes_in_use, before);
}

// What belongs to somebody else may change once the call is back, and what is donated has its memory.
TEST_F(DeferredRunTest, BorrowedAndDonatedMemoryIsUsedAtOnce) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  std::vector<float> numbers(kLarge, 5);
  RefPtr<Buffer> view = *client_->CreateView(numbers.data(), Type(), client_->device(0)->default_memory(),
                                             /*writable=*/false, [] {});
  RefPtr<Event> done;
  RefPtr<Buffer> sixes = Run(increment.get(), view.get(), &done);
  EXPECT_TRUE(done->IsSettled());
  std::fill(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(Last(sixes.get()), 6);

  auto fake = Increment();
  fake->Alias(0, 0);
  RefPtr<LoadedExecutable> in_place = Load(std::move(fake));
  RefPtr<Buffer> sevens = Run(in_place.get(), sixes.get(), &done);
  EXPECT_TRUE(done->IsSettled());
  EXPECT_EQ(Last(sevens.get()), 7);
  // A result that waits is made before it is given away.
  RefPtr<Buffer> eights = Run(increment.get(), sevens.get());
  RefPtr<Buffer> nines = Run(in_place.get(), eights.get());
  EXPECT_EQ(Last(nines.get()), 9);
}

TEST_F(DeferredRunTest, ManyThreads) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> zeros = Zeros();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      RefPtr<Buffer> sum = zeros;
      for (int i = 0; i < 20; ++i) {
        sum = Run(increment.get(), sum.get());
        if (i % 4 == t) {
          EXPECT_EQ(Last(sum.get()), i + 1);
        }
      }
      EXPECT_EQ(Last(sum.get()), 20);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs(), 80);
}

TEST_F(DeferredRunTest, ClientsRunWhatWaitsBeforeTheyGo) {
  RefPtr<LoadedExecutable> increment = Load(Increment());
  RefPtr<Buffer> zeros = Zeros();
  RefPtr<Event> done;
  RefPtr<Buffer> ones = Run(increment.get(), zeros.get(), &done);
  client_.reset();
  EXPECT_TRUE(done->IsSettled());
  EXPECT_EQ(runs(), 1);
}

}  // namespace
}  // namespace kiln::runtime
