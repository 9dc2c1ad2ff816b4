#include "src/cpu/object_cache.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

namespace kiln::cpu {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMany = 1 << 20;

Object Made(const std::string& text) { return std::make_shared<const std::string>(text); }

class ObjectCacheTest : public ::testing::Test {
 protected:
  ObjectCacheTest() {
    std::string pattern = fs::temp_directory_path() / "kiln_cache_XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  ~ObjectCacheTest() override { fs::remove_all(directory_); }

  // What Find gives, or "none".
  static std::string Text(const Object& object) { return object == nullptr ? "none" : *object; }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }

  std::string PathOf(const std::string& key) const {
    return directory_ + "/" + key.substr(0, 2) + "/" + key.substr(2) + ".kiln";
  }

  std::string directory_;
};

TEST_F(ObjectCacheTest, FindsWhatWasInserted) {
  ObjectCache cache("", kMany, kMany);
  EXPECT_EQ(cache.Find("aa00"), nullptr);
  cache.Insert("aa00", Made("code"));
  EXPECT_EQ(Text(cache.Find("aa00")), "code");
  EXPECT_EQ(cache.Find("aa01"), nullptr);
}

TEST_F(ObjectCacheTest, ForgetsTheLeastRecentlyUsed) {
  ObjectCache cache("", 100, kMany);
  cache.Insert("aa00", Made(std::string(40, 'a')));
  cache.Insert("aa01", Made(std::string(40, 'b')));
  EXPECT_NE(cache.Find("aa00"), nullptr);
  cache.Insert("aa02", Made(std::string(40, 'c')));
  EXPECT_NE(cache.Find("aa00"), nullptr);
  EXPECT_EQ(cache.Find("aa01"), nullptr);
  EXPECT_NE(cache.Find("aa02"), nullptr);
}

TEST_F(ObjectCacheTest, AnotherProcessFindsTheFile) {
  {
    ObjectCache cache(directory_ + "/new", kMany, kMany);
    cache.Insert("ab12", Made("code"));
    cache.Flush();
    EXPECT_EQ(Files().size(), 1u);
  }
  ObjectCache cache(directory_ + "/new", kMany, kMany);
  EXPECT_EQ(Text(cache.Find("ab12")), "code");
}

TEST_F(ObjectCacheTest, ManyThreadsMayWriteAtOnce) {
  constexpr int kThreads = 4, kEach = 16;
  {
    ObjectCache cache(directory_, kMany, kMany);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int j = 0; j < kEach; ++j) {
          // Half of the keys are everybody's.
          const std::string key = absl::StrFormat("aa%02d%02d", j % 2 == 0 ? 0 : i, j);
          cache.Insert(key, Made(key + std::string(2000, 'x')));
          EXPECT_NE(cache.Find(key), nullptr);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  ObjectCache again(directory_, kMany, kMany);
  for (int i = 0; i < kThreads; ++i) {
    for (int j = 1; j < kEach; j += 2) {
      const std::string key = absl::StrFormat("aa%02d%02d", i, j);
      EXPECT_EQ(Text(again.Find(key)), key + std::string(2000, 'x'));
    }
  }
}

TEST_F(ObjectCacheTest, ADamagedFileCountsAsAbsent) {
  {
    ObjectCache cache(directory_, kMany, kMany);
    cache.Insert("ab12", Made("some code"));
    cache.Insert("ab13", Made("other code"));
  }
  for (const fs::path& file : Files()) {
    std::fstream stream(file, std::ios::in | std::ios::out);
    stream.put('X');
  }
  ObjectCache cache(directory_, kMany, kMany);
  EXPECT_EQ(cache.Find("ab12"), nullptr);
  // It is gone, and may be written anew.
  cache.Insert("ab12", Made("some code"));
  cache.Flush();
  EXPECT_EQ(Text(ObjectCache(directory_, kMany, kMany).Find("ab12")), "some code");
  // A whole file in the place of another one.
  fs::remove(PathOf("ab13"));
  fs::copy(PathOf("ab12"), PathOf("ab13"));
  EXPECT_EQ(ObjectCache(directory_, kMany, kMany).Find("ab13"), nullptr);
  fs::resize_file(PathOf("ab12"), 3);
  EXPECT_EQ(ObjectCache(directory_, kMany, kMany).Find("ab12"), nullptr);
  // Something that is no file and would have its reader wait.
  ASSERT_EQ(mkfifo(PathOf("ab14").c_str(), 0600), 0);
  EXPECT_EQ(ObjectCache(directory_, kMany, kMany).Find("ab14"), nullptr);
}

TEST_F(ObjectCacheTest, OthersMayNotWriteThere) {
  chmod(directory_.c_str(), 0777);
  {
    ObjectCache cache(directory_, kMany, kMany);
    cache.Insert("ab12", Made("code"));
    EXPECT_EQ(Text(cache.Find("ab12")), "code");
  }
  EXPECT_TRUE(Files().empty());
  ObjectCache nowhere("/dev/null/kiln", kMany, kMany);
  nowhere.Insert("ab12", Made("code"));
  EXPECT_EQ(Text(nowhere.Find("ab12")), "code");
}

TEST_F(ObjectCacheTest, OldFilesGo) {
  const fs::path others = directory_ + "/somebody_elses";
  std::ofstream(others) << std::string(5000, 'b');
  fs::last_write_time(others, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  {
    ObjectCache cache(directory_, kMany, 4000);
    for (int i = 10; i < 30; ++i) {
      cache.Insert("ab" + std::to_string(i), Made(std::string(300, 'a')));
      cache.Flush();
      const fs::path file = PathOf("ab" + std::to_string(i));
      if (fs::exists(file)) fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
    }
  }
  EXPECT_LE(Files().size(), 16u);
  EXPECT_FALSE(fs::exists(PathOf("ab10")));
  EXPECT_TRUE(fs::exists(PathOf("ab29")));
  EXPECT_TRUE(fs::exists(others));
}

}  // namespace
}  // namespace kiln::cpu
