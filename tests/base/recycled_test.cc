#include "src/base/recycled.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

struct Object final : Recycled<Object> {
  int64_t words[12] = {};
};

// Sanitizers see every object freed.
bool Recycles() {
  Object* first = new Object();
  delete first;
  Object* second = new Object();
  const bool same = first == second;
  delete second;
  return same;
}

TEST(RecycledTest, MemoryIsUsedAgain) {
  if (!Recycles()) GTEST_SKIP() << "under a sanitizer";
  std::vector<Object*> objects;
  for (int i = 0; i < 20; ++i) objects.push_back(new Object());
  for (Object* object : objects) delete object;
  // The one that was freed last first.
  for (size_t i = objects.size(); i-- > 0;) {
    Object* again = new Object();
    EXPECT_EQ(again, objects[i]);
  }
  for (Object* object : objects) delete object;
}

TEST(RecycledTest, ManyComeAndGoOnDifferentThreads) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Object*> objects;
    std::thread maker([&] {
      for (int i = 0; i < 300; ++i) objects.push_back(new Object());
    });
    maker.join();
    std::thread taker([&] {
      for (Object* object : objects) {
        EXPECT_EQ(object->words[11], 0);
        delete object;
      }
    });
    taker.join();
  }
}

}  // namespace
}  // namespace kiln
