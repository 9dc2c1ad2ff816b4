#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/status.h"
#include "src/runtime/client.h"
#include "src/runtime/loaded_executable.h"
#include "tests/runtime/fake_executable.h"

namespace kiln::runtime {
namespace {

using hlo::PrimitiveType;
using hlo::Shape;

const int64_t kSize = 16;

class ExecuteTest : public ::testing::Test {
 protected:
  ExecuteTest() : client_(*Client::Create(ClientOptions{.device_count = 2, .max_threads = 2})) {}

  static Shape F32() { return Shape(PrimitiveType::kF32, {kSize}); }
  // output = a + b, element by element. Says where it writes.
  static std::unique_ptr<FakeExecutable> Add(std::set<const void*>* places = nullptr) {
    return std::make_unique<FakeExecutable>(
        std::vector<Shape>{F32(), F32()}, std::vector<Shape>{F32()},
        [places](absl::Span<const void* const> in, absl::Span<void* const> out, void*) {
          if (places != nullptr) places->insert(out[0]);
          for (int64_t i = 0; i < kSize; ++i) {
            static_cast<float*>(out[0])[i] = static_cast<const float*>(in[0])[i] + static_cast<const float*>(in[1])[i];
          }
          return absl::OkStatus();
        });
  }
  // Is there when `definition` is set.
  RefPtr<Buffer> Pending(float value, RefPtr<Event> definition) {
    RefPtr<Buffer> buffer = *client_->CreateUninitialized(*BufferType::Create(PrimitiveType::kF32, {kSize}),
                                                          client_->device(0)->default_memory(), std::move(definition));
    std::fill_n(static_cast<float*>(buffer->data()), kSize, value);
    return buffer;
  }
  RefPtr<LoadedExecutable> Load(std::unique_ptr<FakeExecutable> fake, bool portable = false) {
    return *LoadedExecutable::Load(client_.get(), std::move(fake), client_->device(0), portable, "fake");
  }
  RefPtr<Buffer> Make(float value, int device = 0) {
    const std::vector<float> values(kSize, value);
    return *client_->BufferFromHost(values.data(), *BufferType::Create(PrimitiveType::kF32, {kSize}), nullptr,
                                    HostBufferSemantics::kImmutableOnlyDuringCall,
                                    client_->device(device)->default_memory(), nullptr);
  }
  float First(Buffer* buffer) {
    std::vector<float> values(kSize);
    const absl::Status status = (*client_->CopyToHost(buffer, values.data(), nullptr))->Await();
    EXPECT_TRUE(status.ok()) << status;
    return values[0];
  }
  absl::StatusOr<RefPtr<Buffer>> Run(LoadedExecutable* executable, std::vector<Buffer*> arguments,
                                     LoadedExecutable::ExecuteOptions options = {}, RefPtr<Event>* done = nullptr) {
    Buffer* output = nullptr;
    KILN_RETURN_IF_ERROR(executable->Execute(arguments, options, &output, done));
    return RefPtr<Buffer>::Adopt(output);
  }

  std::unique_ptr<Client> client_;
};

TEST_F(ExecuteTest, RunsInlineWhenShortAndReady) {
  RefPtr<LoadedExecutable> add = Load(Add());
  RefPtr<Buffer> a = Make(1), b = Make(2);
  RefPtr<Event> done;
  RefPtr<Buffer> sum = *Run(add.get(), {a.get(), b.get()}, {}, &done);
  EXPECT_TRUE(done->IsSettled());
  EXPECT_TRUE(sum->IsReady());
  EXPECT_EQ(First(sum.get()), 3);
  EXPECT_FALSE(a->IsDeleted());
}

TEST_F(ExecuteTest, RunsInlineUpToEightTimesAsLongWhereThreadsShare) {
  const int64_t most = client_->options().inline_nanoseconds;
  const auto runs_here = [&](int64_t nanoseconds, int64_t lone, bool calls_out = false) {
    std::thread::id thread;
    auto fake = std::make_unique<FakeExecutable>(std::vector<Shape>{}, std::vector<Shape>{F32()},
                                                 [&](absl::Span<const void* const>, absl::Span<void* const>, void*) {
                                                   thread = std::this_thread::get_id();
                                                   return absl::OkStatus();
                                                 });
    fake->Takes(nanoseconds, lone);
    if (calls_out) fake->CallsOut();
    RefPtr<LoadedExecutable> executable = Load(std::move(fake));
    RefPtr<Event> done;
    RefPtr<Buffer> result = *Run(executable.get(), {}, {}, &done);
    EXPECT_TRUE(done->Await().ok());
    return thread == std::this_thread::get_id();
  };
  EXPECT_TRUE(runs_here(most, /*lone=*/most));
  EXPECT_FALSE(runs_here(2 * most, /*lone=*/most));
  EXPECT_TRUE(runs_here(8 * most, /*lone=*/2 * most));
  EXPECT_FALSE(runs_here(8 * most, /*lone=*/2 * most + 1));
  EXPECT_FALSE(runs_here(9 * most, /*lone=*/0));
  EXPECT_FALSE(runs_here(8 * most, /*lone=*/0, /*calls_out=*/true));
}

TEST_F(ExecuteTest, LongProgramsAndPendingInputsRunLater) {
  auto fake = Add();
  fake->Slow();
  RefPtr<LoadedExecutable> slow = Load(std::move(fake));
  RefPtr<LoadedExecutable> quick = Load(Add());
  RefPtr<Event> definition = Event::Create();
  RefPtr<Buffer> pending = Pending(0, definition);
  RefPtr<Buffer> one = Make(1);
  RefPtr<Event> done;
  RefPtr<Buffer> first = *Run(quick.get(), {pending.get(), one.get()}, {}, &done);
  RefPtr<Buffer> second = *Run(slow.get(), {first.get(), first.get()});
  first = nullptr;  // the run in flight keeps it
  EXPECT_FALSE(done->IsSettled());
  for (int i = 0; i < kSize; ++i) static_cast<float*>(pending->data())[i] = 4;
  definition->Set(absl::OkStatus());
  EXPECT_EQ(First(second.get()), 10);
  EXPECT_TRUE(done->Await().ok());
}

TEST_F(ExecuteTest, RunsWaitForCode) {
  RefPtr<Event> code = Event::Create();
  auto fake = Add();
  fake->CodeAfter(code);
  RefPtr<LoadedExecutable> late = Load(std::move(fake));
  RefPtr<LoadedExecutable> add = Load(Add());
  RefPtr<Buffer> one = Make(1);
  RefPtr<Buffer> two = *Run(late.get(), {one.get(), one.get()});
  RefPtr<Buffer> three = *Run(add.get(), {two.get(), one.get()});
  EXPECT_FALSE(two->IsReady());
  EXPECT_FALSE(three->IsReady());
  code->Set(absl::OkStatus());
  EXPECT_EQ(First(three.get()), 3);
  EXPECT_EQ(First(two.get()), 2);
  RefPtr<Event> done;
  RefPtr<Buffer> again = *Run(late.get(), {one.get(), two.get()}, {}, &done);
  EXPECT_TRUE(done->IsSettled());
}

TEST_F(ExecuteTest, LongChainsKeepTheirOrder) {
  auto fake = Add();
  fake->Slow();
  RefPtr<LoadedExecutable> add = Load(std::move(fake));
  RefPtr<Buffer> one = Make(1);
  RefPtr<Buffer> sum = Make(0);
  for (int i = 0; i < 2000; ++i) sum = *Run(add.get(), {sum.get(), one.get()});
  EXPECT_EQ(First(sum.get()), 2000);
}

// Results get their memory when their run begins, so that a queue of runs needs no more than what is alive at once.
TEST_F(ExecuteTest, QueuedRunsUseMemoryAgain) {
  std::set<const void*> places;
  auto fake = Add(&places);
  fake->Slow();
  RefPtr<LoadedExecutable> add = Load(std::move(fake));
  RefPtr<Event> definition = Event::Create();
  RefPtr<Buffer> pending = Pending(4, definition);
  RefPtr<Buffer> one = Make(1);
  RefPtr<Buffer> sum = *Run(add.get(), {pending.get(), one.get()});
  for (int i = 0; i < 9; ++i) sum = *Run(add.get(), {sum.get(), one.get()});
  const int64_t in_use = client_->allocator()->statistics().bytes_in_use;
  EXPECT_EQ(in_use, 12 * kSize * static_cast<int64_t>(sizeof(float)));  // the limit counts what is promised
  definition->Set(absl::OkStatus());
  EXPECT_EQ(First(sum.get()), 14);
  EXPECT_EQ(places.size(), 2);
  EXPECT_TRUE(places.contains(sum->data()));
}

TEST_F(ExecuteTest, ResultsOfRunsThatHaveNotBegunAreDonated) {
  std::set<const void*> places;
  auto fake = Add(&places);
  fake->Slow();
  RefPtr<LoadedExecutable> add = Load(std::move(fake));
  auto in_place = Add();
  in_place->Alias(0, 0).Slow();
  RefPtr<LoadedExecutable> add_in_place = Load(std::move(in_place));
  for (const bool asked_before : {false, true}) {
    RefPtr<Event> definition = Event::Create();
    RefPtr<Buffer> pending = Pending(4, definition);
    RefPtr<Buffer> one = Make(1);
    RefPtr<Buffer> sum = *Run(add.get(), {pending.get(), one.get()});
    const void* place = asked_before ? sum->data() : nullptr;
    RefPtr<Buffer> next = *Run(add_in_place.get(), {sum.get(), one.get()});
    EXPECT_TRUE(sum->IsDeleted());
    definition->Set(absl::OkStatus());
    EXPECT_EQ(First(next.get()), 6);
    EXPECT_TRUE(places.contains(next->data()));
    if (asked_before) EXPECT_EQ(place, next->data());
    places.clear();
  }
  EXPECT_EQ(client_->allocator()->statistics().bytes_in_use, 0);
}

TEST_F(ExecuteTest, FailuresReachOutputsAndTheirUsers) {
  for (bool slow : {false, true}) {
    auto fake = std::make_unique<FakeExecutable>(
        std::vector<Shape>{F32(), F32()}, std::vector<Shape>{F32()},
        [](absl::Span<const void* const>, absl::Span<void* const>, void*) { return Internal("the run broke"); });
    if (slow) fake->Slow();
    RefPtr<LoadedExecutable> bad = Load(std::move(fake));
    RefPtr<LoadedExecutable> add = Load(Add());
    RefPtr<Buffer> a = Make(1);
    RefPtr<Event> done;
    RefPtr<Buffer> broken = *Run(bad.get(), {a.get(), a.get()}, {}, &done);
    EXPECT_EQ(done->Await().message(), "the run broke");
    EXPECT_EQ(broken->ReadyEvent()->Await().message(), "the run broke");
    RefPtr<Buffer> next = *Run(add.get(), {broken.get(), a.get()}, {}, &done);
    EXPECT_EQ(done->Await().message(), "the run broke");
    EXPECT_EQ(next->ReadyEvent()->Await().message(), "the run broke");
    EXPECT_FALSE(next->IsDeleted());
  }
}

TEST_F(ExecuteTest, DonationReusesMemory) {
  for (bool slow : {false, true}) {
    auto fake = Add();
    fake->Alias(0, 0);
    if (slow) fake->Slow();
    RefPtr<LoadedExecutable> add = Load(std::move(fake));
    RefPtr<Buffer> a = Make(1), b = Make(2);
    void* data = a->data();
    RefPtr<Buffer> sum = *Run(add.get(), {a.get(), b.get()});
    EXPECT_TRUE(a->IsDeleted());
    EXPECT_EQ(sum->data(), data);
    EXPECT_EQ(First(sum.get()), 3);
    EXPECT_FALSE(Run(add.get(), {a.get(), b.get()}).ok());
    // A buffer that somebody else uses is copied, not reused.
    a = Make(5);
    data = a->data();
    BufferHold reader = BufferHold::Acquire(a.get());
    sum = *Run(add.get(), {a.get(), b.get()});
    EXPECT_TRUE(a->IsDeleted());
    EXPECT_NE(sum->data(), data);
    EXPECT_EQ(First(sum.get()), 7);
    EXPECT_EQ(static_cast<const float*>(reader->data())[0], 5);
    // A veto leaves the argument alone.
    a = Make(6);
    const std::vector<int64_t> veto = {0};
    sum = *Run(add.get(), {a.get(), b.get()}, {.non_donatable = veto});
    EXPECT_FALSE(a->IsDeleted());
    EXPECT_EQ(First(sum.get()), 8);
    // The same buffer twice cannot be given up, and stays.
    EXPECT_EQ(Run(add.get(), {a.get(), a.get()}).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(a->IsDeleted());
    EXPECT_EQ(First(a.get()), 6);
  }
  EXPECT_EQ(client_->allocator()->statistics().bytes_in_use, 0);
}

TEST_F(ExecuteTest, DonationWithoutAnOutputDeletes) {
  for (bool slow : {false, true}) {
    auto fake = Add();
    fake->Donate(1);
    if (slow) fake->Slow();
    RefPtr<LoadedExecutable> add = Load(std::move(fake));
    RefPtr<Buffer> a = Make(1), b = Make(2);
    const std::vector<int64_t> veto = {1};
    EXPECT_EQ(First((*Run(add.get(), {a.get(), b.get()}, {.non_donatable = veto})).get()), 3);
    EXPECT_FALSE(b->IsDeleted());
    EXPECT_EQ(First((*Run(add.get(), {a.get(), b.get()})).get()), 3);
    EXPECT_FALSE(a->IsDeleted());
    EXPECT_TRUE(b->IsDeleted());
  }
  EXPECT_EQ(client_->allocator()->statistics().bytes_in_use, 0);
}

TEST_F(ExecuteTest, CopiesLetGoBeforeTheirEnd) {
  auto fake = Add();
  fake->Slow();
  RefPtr<LoadedExecutable> add = Load(std::move(fake));
  RefPtr<Buffer> a = Make(1), b = Make(2);
  RefPtr<Buffer> sum = *Run(add.get(), {a.get(), b.get()});
  std::vector<float> values(kSize);
  RefPtr<Event> copied = *client_->CopyToHost(sum.get(), values.data(), nullptr);
  std::promise<int> holds;
  copied->OnSettled([&](const absl::Status&) { holds.set_value(sum->HoldCount()); });
  EXPECT_EQ(holds.get_future().get(), 0);
  EXPECT_EQ(values[0], 3);
}

TEST_F(ExecuteTest, ChainsOfDonationStayInPlace) {
  auto fake = Add();
  fake->Alias(0, 0).Slow();
  RefPtr<LoadedExecutable> add = Load(std::move(fake));
  RefPtr<Buffer> one = Make(1);
  RefPtr<Buffer> sum = Make(0);
  void* data = sum->data();
  for (int i = 0; i < 500; ++i) sum = *Run(add.get(), {sum.get(), one.get()});
  EXPECT_EQ(First(sum.get()), 500);
  EXPECT_EQ(sum->data(), data);
}

TEST_F(ExecuteTest, RefusesBadArguments) {
  RefPtr<LoadedExecutable> add = Load(Add());
  RefPtr<Buffer> a = Make(1), elsewhere = Make(1, 1);
  EXPECT_EQ(Run(add.get(), {a.get()}).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status wrong_device = Run(add.get(), {a.get(), elsewhere.get()}).status();
  EXPECT_NE(wrong_device.message().find("device 1"), absl::string_view::npos) << wrong_device;
  const float value = 1;
  RefPtr<Buffer> scalar = *client_->BufferFromHost(&value, *BufferType::Create(PrimitiveType::kF32, {}), nullptr,
                                                   HostBufferSemantics::kImmutableOnlyDuringCall,
                                                   client_->device(0)->default_memory(), nullptr);
  const absl::Status wrong_shape = Run(add.get(), {a.get(), scalar.get()}).status();
  EXPECT_NE(wrong_shape.message().find("f32[]{}, expected f32[16]{0}"), absl::string_view::npos) << wrong_shape;
  // The failed calls hold nothing.
  a->Delete();
  EXPECT_FALSE(Run(add.get(), {a.get(), a.get()}).ok());
  LoadedExecutable::ExecuteOptions other_device{.device = client_->device(1)};
  EXPECT_FALSE(Run(add.get(), {elsewhere.get(), elsewhere.get()}, other_device).ok());
  RefPtr<LoadedExecutable> portable = Load(Add(), /*portable=*/true);
  RefPtr<Buffer> sum = *Run(portable.get(), {elsewhere.get(), elsewhere.get()}, other_device);
  EXPECT_EQ(sum->device(), client_->device(1));
  add->Delete();
  RefPtr<Buffer> b = Make(1);
  EXPECT_FALSE(Run(add.get(), {b.get(), b.get()}).ok());
}

TEST_F(ExecuteTest, ArenaIsAlignedScratchMemory) {
  auto fake =
      std::make_unique<FakeExecutable>(std::vector<Shape>{}, std::vector<Shape>{F32()},
                                       [](absl::Span<const void* const>, absl::Span<void* const> out, void* arena) {
                                         if (arena == nullptr || reinterpret_cast<uintptr_t>(arena) % 64 != 0)
                                           return Internal("no arena");
                                         std::memset(arena, 1, 12345);
                                         std::memset(out[0], 0, kSize * sizeof(float));
                                         return absl::OkStatus();
                                       });
  fake->Arena(12345);
  RefPtr<LoadedExecutable> executable = Load(std::move(fake));
  RefPtr<Buffer> out = *Run(executable.get(), {});
  EXPECT_EQ(First(out.get()), 0);
}

TEST_F(ExecuteTest, MemoryRunsOutWithoutHarm) {
  auto small = *Client::Create(ClientOptions{.max_threads = 1, .memory_limit_bytes = 1024});
  auto fake = Add();
  fake->Arena(1 << 20);
  RefPtr<LoadedExecutable> add = *LoadedExecutable::Load(small.get(), std::move(fake), small->device(0), false, "fake");
  const std::vector<float> values(kSize, 1);
  RefPtr<Buffer> a = *small->BufferFromHost(values.data(), *BufferType::Create(PrimitiveType::kF32, {kSize}), nullptr,
                                            HostBufferSemantics::kImmutableOnlyDuringCall,
                                            small->device(0)->default_memory(), nullptr);
  RefPtr<Buffer> out = *Run(add.get(), {a.get(), a.get()});
  EXPECT_EQ(out->ReadyEvent()->Await().code(), absl::StatusCode::kResourceExhausted);
}

// What a call would have taken over stays with the caller when there is no memory for the other results.
TEST_F(ExecuteTest, FailedCallsGiveDonationsBack) {
  auto small = *Client::Create(ClientOptions{.max_threads = 1, .memory_limit_bytes = 512});
  const Shape large(PrimitiveType::kF32, {kSize * 100});
  auto fake = std::make_unique<FakeExecutable>(std::vector<Shape>{F32()}, std::vector<Shape>{F32(), large}, nullptr);
  fake->Alias(0, 0);
  RefPtr<LoadedExecutable> program =
      *LoadedExecutable::Load(small.get(), std::move(fake), small->device(0), false, "fake");
  RefPtr<Buffer> a = *small->CreateUninitialized(*BufferType::Create(PrimitiveType::kF32, {kSize}),
                                                 small->device(0)->default_memory());
  Buffer* outputs[2];
  EXPECT_EQ(program->Execute({a.get()}, {}, outputs, nullptr).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(a->IsDeleted());
}

// Memory that was taken over while it is being written stays until that is over, although the call fails.
TEST_F(ExecuteTest, FailedCallsKeepWhatIsBeingWritten) {
  auto small = *Client::Create(ClientOptions{.max_threads = 1, .memory_limit_bytes = 128});
  auto fake =
      std::make_unique<FakeExecutable>(std::vector<Shape>{F32(), F32()}, std::vector<Shape>{F32(), F32()}, nullptr);
  fake->Alias(0, 0).Alias(1, 1);
  RefPtr<LoadedExecutable> program =
      *LoadedExecutable::Load(small.get(), std::move(fake), small->device(0), false, "fake");
  const auto type = *BufferType::Create(PrimitiveType::kF32, {kSize});
  Memory* memory = small->device(0)->default_memory();
  RefPtr<Event> written = Event::Create();
  RefPtr<Buffer> a = MakeRef<Buffer>(type, memory, *MemoryBlock::Allocate(small->allocator(), type->byte_count()),
                                     written, /*produced=*/true);
  RefPtr<Buffer> b = *small->CreateUninitialized(type, memory);
  void* data = a->data();
  const BufferHold reader = BufferHold::Acquire(b.get());  // who wants b as a result has to have new memory
  Buffer* outputs[2];
  EXPECT_EQ(program->Execute({a.get(), b.get()}, {}, outputs, nullptr).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(a->IsDeleted());
  EXPECT_EQ(small->allocator()->statistics().bytes_in_use, 128);
  std::memset(data, 0, type->byte_count());
  a->EndProduction();
  written->Set(absl::OkStatus());
  EXPECT_EQ(small->allocator()->statistics().bytes_in_use, 64);
}

TEST_F(ExecuteTest, ExceptionsAreErrors) {
  for (const bool slow : {false, true}) {
    for (const bool memory : {false, true}) {
      auto fake = std::make_unique<FakeExecutable>(
          std::vector<Shape>{}, std::vector<Shape>{F32()},
          [memory](absl::Span<const void* const>, absl::Span<void* const>, void*) -> absl::Status {
            if (memory) throw std::bad_alloc();
            throw std::length_error("too long");
          });
      if (slow) fake->Slow();
      RefPtr<LoadedExecutable> executable = Load(std::move(fake));
      RefPtr<Buffer> out = *Run(executable.get(), {});
      EXPECT_EQ(out->ReadyEvent()->Await().code(),
                memory ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kInternal);
    }
  }
  RefPtr<Event> thrown = client_->RunAfter(nullptr, /*quick=*/false, []() -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(thrown->Await().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ExecuteTest, ManyThreadsShareAnExecutable) {
  auto fake = Add();
  fake->Alias(0, 0);
  RefPtr<LoadedExecutable> add = Load(std::move(fake));
  auto slow_fake = Add();
  slow_fake->Slow();
  RefPtr<LoadedExecutable> slow = Load(std::move(slow_fake));
  RefPtr<Buffer> one = Make(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      RefPtr<Buffer> sum = Make(static_cast<float>(t));
      for (int i = 0; i < 300; ++i) {
        sum = *Run(i % 3 == 0 ? slow.get() : add.get(), {sum.get(), one.get()});
      }
      EXPECT_EQ(First(sum.get()), t + 300);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ExecuteTest, ClientWaitsForWorkInFlight) {
  std::atomic<bool> finished{false};
  auto fake = std::make_unique<FakeExecutable>(std::vector<Shape>{}, std::vector<Shape>{F32()},
                                               [&](absl::Span<const void* const>, absl::Span<void* const>, void*) {
                                                 std::this_thread::sleep_for(std::chrono::milliseconds(30));
                                                 finished = true;
                                                 return absl::OkStatus();
                                               });
  fake->Slow();
  RefPtr<LoadedExecutable> executable = Load(std::move(fake));
  RefPtr<Buffer> out = *Run(executable.get(), {});
  client_.reset();
  EXPECT_TRUE(finished);
  out = nullptr;  // releases after the client are fine
}

}  // namespace
}  // namespace kiln::runtime
