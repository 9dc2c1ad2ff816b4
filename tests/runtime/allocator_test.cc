#include "src/runtime/allocator.h"

#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace kiln::runtime {
namespace {

TEST(AllocatorTest, BlocksAreAlignedAndUsable) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{});
  std::vector<std::pair<void*, size_t>> blocks;
  for (size_t bytes : {0, 1, 63, 64, 65, 255, 256, 257, 321, 384, 385, 1000, 4097, 1 << 20, (3 << 20) + 1}) {
    auto block = allocator->Allocate(bytes);
    ASSERT_TRUE(block.ok()) << block.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*block) % Allocator::kAlignment, 0u);
    std::memset(*block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(*block, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t j = 0; j < blocks[i].second; ++j)
      ASSERT_EQ(static_cast<char*>(blocks[i].first)[j], static_cast<char>(i));
  }
  for (auto [block, bytes] : blocks) allocator->Deallocate(block, bytes);
  EXPECT_EQ(allocator->statistics().bytes_in_use, 0);
  EXPECT_GT(allocator->statistics().cached_bytes, 0);
}

// Kernels read and write several arrays at a time, each at the same place.
TEST(AllocatorTest, LargeBlocksBeginAtDifferentLines) {
  constexpr size_t kBytes = 4 << 20;
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{.cache_limit = 1});
  std::set<uintptr_t> lines;
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) {
    auto block = allocator->Allocate(kBytes);
    ASSERT_TRUE(block.ok()) << block.status();
    const uintptr_t line = reinterpret_cast<uintptr_t>(*block) % 4096;
    EXPECT_EQ(line % Allocator::kAlignment, 0u);
    lines.insert(line);
    std::memset(*block, i, kBytes);
    blocks.push_back(*block);
  }
  EXPECT_EQ(lines.size(), 16u);
  for (void* block : blocks) allocator->Deallocate(block, kBytes);
  EXPECT_EQ(allocator->statistics().bytes_in_use, 0);
}

TEST(AllocatorTest, GuardedBlocksEndTheProcessThatLeavesThem) {
  for (const size_t bytes : {64, 4096, 10048}) {
    RefPtr<Allocator> last = MakeRef<Allocator>(Allocator::Options{.guarded = GuardedEnd::kLast});
    char* block = static_cast<char*>(*last->Allocate(bytes));
    std::memset(block, 1, bytes);
    EXPECT_DEATH(block[bytes] = 1, "");
    last->Deallocate(block, bytes);
    EXPECT_DEATH(block[0] = 1, "");
    RefPtr<Allocator> first = MakeRef<Allocator>(Allocator::Options{.guarded = GuardedEnd::kFirst});
    block = static_cast<char*>(*first->Allocate(bytes));
    std::memset(block, 1, bytes);
    EXPECT_DEATH(block[-1] = 1, "");
    first->Deallocate(block, bytes);
    EXPECT_EQ(first->statistics().cached_bytes, 0);
  }
}

// Every size up to a few hundred thousand lands in a class that is at least as large and at most a quarter larger.
TEST(AllocatorTest, ClassesWasteAtMostAQuarter) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{});
  for (size_t bytes = 1; bytes < 300000; bytes += 1 + bytes / 7) {
    auto block = allocator->Allocate(bytes);
    ASSERT_TRUE(block.ok());
    const size_t used = allocator->statistics().bytes_in_use;
    EXPECT_GE(used, bytes);
    if (bytes > 256) {
      EXPECT_LE(used, bytes + bytes / 4 + 64) << bytes;
    }
    allocator->Deallocate(*block, bytes);
  }
}

TEST(AllocatorTest, ReusesFreedBlocks) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{});
  void* first = *allocator->Allocate(1000);
  allocator->Deallocate(first, 1000);
  void* second = *allocator->Allocate(990);
  EXPECT_EQ(first, second);
  allocator->Deallocate(second, 990);
}

TEST(AllocatorTest, HonoursTheLimitAndTheCacheLimit) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{.limit = 1 << 20, .cache_limit = 1 << 16});
  auto block = allocator->Allocate(1 << 19);
  ASSERT_TRUE(block.ok());
  auto refused = allocator->Allocate((1 << 19) + 1);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(allocator->Allocate(size_t{1} << 60).status().code(), absl::StatusCode::kResourceExhausted);
  allocator->Deallocate(*block, 1 << 19);
  EXPECT_EQ(allocator->statistics().cached_bytes, 0);  // larger than the cache
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(*allocator->Allocate(4096));
  for (void* each : blocks) allocator->Deallocate(each, 4096);
  EXPECT_LE(allocator->statistics().cached_bytes, 1 << 16);
  EXPECT_EQ(allocator->statistics().bytes_in_use, 0);
}

TEST(AllocatorTest, CacheMovesOnToNewSizes) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{.limit = 1 << 24, .cache_limit = 1 << 16});
  for (int i = 0; i < 16; ++i) {
    std::vector<void*> blocks;
    for (int j = 0; j < 16; ++j) blocks.push_back(*allocator->Allocate(4096 + 64 * i * i));
    for (void* each : blocks) allocator->Deallocate(each, 4096 + 64 * i * i);
  }
  void* block = *allocator->Allocate(40000);
  allocator->Deallocate(block, 40000);
  EXPECT_EQ(*allocator->Allocate(40000), block);  // stayed in the cache although older sizes filled it
  allocator->Deallocate(block, 40000);
}

TEST(AllocatorTest, BlocksOutliveTheOwner) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{});
  Allocator* raw = allocator.get();
  void* block = *raw->Allocate(100);
  allocator = nullptr;
  std::memset(block, 1, 100);
  raw->Deallocate(block, 100);
}

// Small blocks of each size stay, up to a bound, whatever others take.
TEST(AllocatorTest, KeepsSomeSmallBlocks) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{.limit = 1 << 24, .cache_limit = 1 << 20});
  constexpr int64_t kKept = (1 << 20) / 64;
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(*allocator->Allocate(64));
  for (void* block : blocks) allocator->Deallocate(block, 64);
  EXPECT_EQ(allocator->statistics().cached_bytes, kKept);
  EXPECT_EQ(allocator->statistics().allocation_count, 1000);
  allocator->Deallocate(*allocator->Allocate(1 << 19), 1 << 19);
  EXPECT_EQ(allocator->statistics().cached_bytes, kKept + (1 << 19));
}

// References come and go as memory does.
TEST(AllocatorTest, LastBlockOfManyThreadsOutlivesTheOwner) {
  for (int round = 0; round < 200; ++round) {
    RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{});
    Allocator* raw = allocator.get();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([raw, block = *raw->Allocate(64)]() mutable {
        for (int i = 0; i < 20; ++i) {
          void* next = *raw->Allocate(64);
          raw->Deallocate(std::exchange(block, next), 64);
        }
        raw->Deallocate(block, 64);
      });
    }
    allocator = nullptr;
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(AllocatorTest, ManyThreads) {
  RefPtr<Allocator> allocator = MakeRef<Allocator>(Allocator::Options{.limit = 1 << 26, .cache_limit = 1 << 14});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        const size_t bytes = 1 + (i * 37 + t * 101) % 5000;
        void* block = *allocator->Allocate(bytes);
        std::memset(block, t, bytes);
        EXPECT_EQ(static_cast<char*>(block)[bytes - 1], t);
        allocator->Deallocate(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator->statistics().bytes_in_use, 0);
  EXPECT_EQ(allocator->statistics().allocation_count, 20000);
}

}  // namespace
}  // namespace kiln::runtime
