#include "src/runtime/event.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/status.h"

namespace kiln::runtime {
namespace {

TEST(EventTest, SettlesOnceAndKeepsTheFirstOutcome) {
  RefPtr<Event> event = Event::Create();
  EXPECT_FALSE(event->IsSettled());
  EXPECT_TRUE(event->Set(InvalidArgument("first")));
  EXPECT_FALSE(event->Set(absl::OkStatus()));
  EXPECT_TRUE(event->IsSettled());
  EXPECT_EQ(event->Await().message(), "first");
}

TEST(EventTest, RunsCallbacksInOrderAndLateOnesAtOnce) {
  RefPtr<Event> event = Event::Create();
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) event->OnSettled([&order, i](const absl::Status&) { order.push_back(i); });
  EXPECT_TRUE(order.empty());
  event->Set(absl::OkStatus());
  event->OnSettled([&order](const absl::Status&) { order.push_back(9); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 9}));
}

TEST(EventTest, CallbackMayDropTheLastReference) {
  RefPtr<Event> event = Event::Create();
  Event* raw = event.get();
  bool called = false;
  raw->OnSettled([&](const absl::Status&) {
    event = nullptr;
    called = true;
  });
  raw->Set(absl::OkStatus());
  EXPECT_TRUE(called);
}

TEST(EventTest, ReadyIsSharedAndSurvivesReleases) {
  for (int i = 0; i < 3; ++i) {
    RefPtr<Event> event = Event::Ready();
    EXPECT_TRUE(event->IsSettled());
    EXPECT_TRUE(event->status().ok());
  }
}

TEST(EventTest, AwaitWakesAndEveryCallbackRunsUnderRaces) {
  for (int round = 0; round < 50; ++round) {
    RefPtr<Event> event = Event::Create();
    std::atomic<int> calls{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 20; ++j)
          event->OnSettled([&](const absl::Status& status) { calls += status.ok() ? 1 : 100; });
        EXPECT_TRUE(event->Await().ok());
      });
    }
    threads.emplace_back([&] { event->Set(absl::OkStatus()); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(calls, 80);
  }
}

}  // namespace
}  // namespace kiln::runtime
