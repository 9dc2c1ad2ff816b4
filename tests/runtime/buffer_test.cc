#include "src/runtime/buffer.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/status.h"
#include "src/runtime/client.h"

namespace kiln::runtime {
namespace {

using hlo::PrimitiveType;

class BufferTest : public ::testing::Test {
 protected:
  BufferTest() : client_(*Client::Create(ClientOptions{.device_count = 2, .max_threads = 2})) {}
  Memory* memory() { return client_->device(0)->default_memory(); }
  RefPtr<const BufferType> F32(absl::Span<const int64_t> dimensions) {
    return *BufferType::Create(PrimitiveType::kF32, dimensions);
  }
  RefPtr<Buffer> FromVector(const std::vector<float>& values) {
    return *client_->BufferFromHost(values.data(), F32({static_cast<int64_t>(values.size())}), nullptr,
                                    HostBufferSemantics::kImmutableOnlyDuringCall, memory(), nullptr);
  }
  std::vector<float> ToVector(Buffer* buffer) {
    std::vector<float> values(buffer->type().element_count());
    EXPECT_TRUE((*client_->CopyToHost(buffer, values.data(), nullptr))->Await().ok());
    return values;
  }
  int64_t InUse() { return client_->allocator()->statistics().bytes_in_use; }

  std::unique_ptr<Client> client_;
};

TEST_F(BufferTest, RoundTrip) {
  RefPtr<Buffer> buffer = FromVector({1, 2, 3});
  EXPECT_TRUE(buffer->IsReady());
  EXPECT_EQ(ToVector(buffer.get()), (std::vector<float>{1, 2, 3}));
}

TEST_F(BufferTest, HostStridesAndDeviceLayouts) {
  const std::vector<float> host = {0, 1, 2, 3, 4, 5};  // 2 x 3, row-major
  const std::vector<int64_t> order = {0, 1};           // column-major on the device
  const absl::Span<const int64_t> minor_to_major(order);
  auto type = *BufferType::Create(PrimitiveType::kF32, {2, 3}, &minor_to_major);
  RefPtr<Buffer> buffer =
      *client_->BufferFromHost(host.data(), type, nullptr, HostBufferSemantics::kImmutableZeroCopy, memory(), nullptr);
  std::vector<float> raw(6);
  EXPECT_TRUE((*client_->CopyRawToHost(buffer.get(), raw.data(), 0, 24))->Await().ok());
  EXPECT_EQ(raw, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ToVector(buffer.get()), host);
  const std::vector<int64_t> backwards = {-12, 4};
  const absl::Span<const int64_t> strides(backwards);
  RefPtr<Buffer> flipped = *client_->BufferFromHost(host.data() + 3, F32({2, 3}), &strides,
                                                    HostBufferSemantics::kImmutableOnlyDuringCall, memory(), nullptr);
  EXPECT_EQ(ToVector(flipped.get()), (std::vector<float>{3, 4, 5, 0, 1, 2}));
}

TEST_F(BufferTest, BorrowsAlignedMemoryAndGivesItBackOnce) {
  alignas(64) float host[16] = {7};
  int released = 0;
  RefPtr<Buffer> buffer = *client_->BufferFromHost(host, F32({16}), nullptr, HostBufferSemantics::kImmutableZeroCopy,
                                                   memory(), [&] { ++released; });
  EXPECT_EQ(buffer->data(), host);
  EXPECT_EQ(released, 0);
  BufferHold hold = BufferHold::Acquire(buffer.get());
  buffer->Delete();
  EXPECT_EQ(released, 0);  // held
  hold = BufferHold();
  EXPECT_EQ(released, 1);
  buffer = nullptr;
  EXPECT_EQ(released, 1);
  // Not aligned: copied, and given back before the call returns.
  buffer = *client_->BufferFromHost(host + 1, F32({8}), nullptr, HostBufferSemantics::kImmutableZeroCopy, memory(),
                                    [&] { ++released; });
  EXPECT_EQ(released, 2);
  EXPECT_NE(buffer->data(), host + 1);
}

TEST_F(BufferTest, DeleteFreesWithTheLastHolder) {
  RefPtr<Buffer> buffer = FromVector(std::vector<float>(100, 1));
  EXPECT_GT(InUse(), 0);
  ASSERT_TRUE(buffer->Hold());
  ASSERT_TRUE(buffer->AddPin().ok());
  buffer->Delete();
  EXPECT_TRUE(buffer->IsDeleted());
  EXPECT_FALSE(buffer->Hold());
  EXPECT_GT(InUse(), 0);
  buffer->Drop();
  EXPECT_GT(InUse(), 0);
  EXPECT_TRUE(buffer->RemovePin().ok());
  EXPECT_EQ(InUse(), 0);
  EXPECT_FALSE(buffer->RemovePin().ok());
  EXPECT_FALSE(buffer->ReadyEvent()->Await().ok());
  EXPECT_FALSE(client_->CopyToHost(buffer.get(), nullptr, nullptr).ok());
  EXPECT_FALSE(client_->Copy(buffer.get(), memory()).ok());
}

TEST_F(BufferTest, DonateTakesTheMemoryOnlyFromASoleHolder) {
  RefPtr<Buffer> buffer = FromVector({1});
  ASSERT_TRUE(buffer->Hold());
  ASSERT_TRUE(buffer->Hold());
  EXPECT_FALSE(buffer->Donate().has_value());
  EXPECT_TRUE(buffer->IsDeleted());
  buffer->Drop();
  EXPECT_GT(InUse(), 0);
  buffer->Drop();
  EXPECT_EQ(InUse(), 0);
  buffer = FromVector({2});
  void* data = buffer->data();
  ASSERT_TRUE(buffer->Hold());
  std::optional<MemoryBlock> block = buffer->Donate();
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->data(), data);
  EXPECT_TRUE(buffer->IsDeleted());
}

TEST_F(BufferTest, ImmutableForeignMemoryIsNeverDonated) {
  alignas(64) float host[16] = {};
  for (bool writable : {false, true}) {
    RefPtr<Buffer> buffer = *client_->BufferFromHost(
        host, F32({16}), nullptr,
        writable ? HostBufferSemantics::kMutableZeroCopy : HostBufferSemantics::kImmutableZeroCopy, memory(), nullptr);
    ASSERT_TRUE(buffer->Hold());
    const bool donated = buffer->Donate().has_value();
    EXPECT_EQ(donated, writable);
    if (!donated) buffer->Drop();
  }
}

TEST_F(BufferTest, MemoryInProductionStays) {
  RefPtr<Event> definition = Event::Create();
  MemoryBlock block = *MemoryBlock::Allocate(client_->allocator(), 64);
  RefPtr<Buffer> buffer = MakeRef<Buffer>(F32({16}), memory(), std::move(block), definition, /*produced=*/true);
  buffer->Delete();
  EXPECT_GT(InUse(), 0);
  buffer->EndProduction();
  EXPECT_EQ(InUse(), 0);
  definition->Set(absl::OkStatus());
}

TEST_F(BufferTest, CopiesWaitForTheirSource) {
  RefPtr<Event> definition = Event::Create();
  RefPtr<Buffer> source = *client_->CreateUninitialized(F32({2}), memory(), definition);
  RefPtr<Buffer> copy = *client_->Copy(source.get(), client_->device(1)->default_memory());
  std::vector<float> host(2);
  RefPtr<Event> read = *client_->CopyToHost(copy.get(), host.data(), nullptr);
  EXPECT_FALSE(read->IsSettled());
  static_cast<float*>(source->data())[0] = 5;
  static_cast<float*>(source->data())[1] = 6;
  source->Delete();  // pending uses keep the content
  definition->Set(absl::OkStatus());
  EXPECT_TRUE(read->Await().ok());
  EXPECT_EQ(host, (std::vector<float>{5, 6}));
}

TEST_F(BufferTest, ErrorsTravelWithBuffers) {
  RefPtr<Buffer> bad = client_->CreateError(F32({2}), memory(), Internal("broken"));
  EXPECT_FALSE(bad->IsReady());
  float host[2];
  EXPECT_EQ((*client_->CopyToHost(bad.get(), host, nullptr))->Await().message(), "broken");
  EXPECT_EQ((*client_->Copy(bad.get(), memory()))->ReadyEvent()->Await().message(), "broken");
}

TEST_F(BufferTest, RefusesBadTypesAndRanges) {
  EXPECT_FALSE(BufferType::Create(PrimitiveType::kF32, {-1}).ok());
  EXPECT_FALSE(BufferType::Create(PrimitiveType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(BufferType::Create(PrimitiveType::kF32, {int64_t{1} << 40, 0, int64_t{1} << 40}).ok());
  EXPECT_FALSE(BufferType::Create(PrimitiveType::kTuple, {}).ok());
  const std::vector<int64_t> order = {0, 0};
  const absl::Span<const int64_t> minor_to_major(order);
  EXPECT_FALSE(BufferType::Create(PrimitiveType::kF32, {2, 2}, &minor_to_major).ok());
  RefPtr<Buffer> buffer = FromVector({1, 2});
  char bytes[8];
  EXPECT_FALSE(client_->CopyRawToHost(buffer.get(), bytes, 4, 5).ok());
  EXPECT_FALSE(client_->CopyRawToHost(buffer.get(), bytes, -1, 1).ok());
  EXPECT_FALSE(Client::Create(ClientOptions{.device_count = 0}).ok());
  EXPECT_FALSE(Client::Create(ClientOptions{.max_threads = -1}).ok());
}

TEST_F(BufferTest, HoldsAndDeletesRace) {
  for (int round = 0; round < 200; ++round) {
    RefPtr<Buffer> buffer = FromVector(std::vector<float>(64, 3));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          BufferHold hold = BufferHold::Acquire(buffer.get());
          if (!hold) return;
          EXPECT_EQ(static_cast<float*>(hold->data())[63], 3);
        }
      });
    }
    threads.emplace_back([&] { buffer->Delete(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(InUse(), 0);
  }
}

}  // namespace
}  // namespace kiln::runtime
