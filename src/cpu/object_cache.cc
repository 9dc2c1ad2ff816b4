#include "src/cpu/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/build_id.h"
#include "src/base/catch_exceptions.h"
#include "src/base/fingerprint.h"
#include "src/base/job_queue.h"
#include "src/base/write_file.h"

namespace kiln::cpu {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMemoryBytes = 64 << 20;
constexpr int64_t kFileBytes = 512 << 20;
// No kernel comes near.
constexpr int64_t kMaxObjectBytes = 64 << 20;
constexpr size_t kChecksumDigits = 32;
// In the names of all files: others in the directory are somebody else's and stay.
constexpr absl::string_view kSuffix = ".kiln";
// Whoever ends waits no longer for files to be written.
constexpr absl::Duration kPatience = absl::Seconds(5);
// A file's time says when it was last of use, to the day.
constexpr auto kFresh = std::chrono::hours(24);

// Nobody else may put code there.
bool IsOwn(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// An own directory at `path`, made if need be, or "".
std::string OwnDirectory(const std::string& path) {
  std::error_code error;
  const fs::path directory = fs::absolute(path, error);
  if (error) return "";
  fs::create_directories(directory.parent_path(), error);
  mkdir(directory.c_str(), S_IRWXU);
  return IsOwn(directory) ? directory.string() : "";
}

std::string UsualDirectory() {
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && *caches == '/') {
    return absl::StrCat(caches, "/kiln");
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? absl::StrCat(home, "/.cache/kiln") : "";
}

}  // namespace

ObjectCache::ObjectCache(std::string directory, int64_t memory_bytes, int64_t file_bytes)
    : directory_(directory.empty() ? "" : OwnDirectory(directory)),
      memory_bytes_(memory_bytes),
      file_bytes_(file_bytes),
      written_since_look_(std::chrono::steady_clock::now().time_since_epoch().count() % (file_bytes / 8 + 1)) {
  if (!directory_.empty()) writer_ = std::make_unique<JobQueue>(1);
}

ObjectCache::~ObjectCache() = default;

ObjectCache* ObjectCache::Shared() {
  static ObjectCache* const cache = []() -> ObjectCache* {
    const char* chosen = std::getenv("KILN_KERNEL_CACHE");
    const absl::string_view choice = chosen == nullptr ? "" : chosen;
    if (choice == "off") return nullptr;
    // Code is bound to the build that made it; one that does not know its name has no part in files.
    const bool has_files = choice != "memory" && !BuildId().empty();
    return new ObjectCache(!has_files       ? ""
                           : choice.empty() ? UsualDirectory()
                                            : std::string(choice),
                           kMemoryBytes, kFileBytes);
  }();
  return cache;
}

Object ObjectCache::Find(const std::string& key) {
  {
    absl::MutexLock lock(&mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->object;
    }
  }
  if (directory_.empty()) return nullptr;
  Object object = ReadFile(key);
  if (object != nullptr) Remember(key, object);
  return object;
}

void ObjectCache::Insert(const std::string& key, Object object) {
  Remember(key, object);
  if (writer_ == nullptr) return;
  {
    absl::MutexLock lock(&mutex_);
    ++to_write_;
  }
  writer_->Push([this, key, object = std::move(object)] {
    CatchExceptions([&] {
      WriteFile(key, *object);
      return absl::OkStatus();
    }).IgnoreError();
    absl::MutexLock lock(&mutex_);
    --to_write_;
  });
}

void ObjectCache::Flush() {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(
      +[](int64_t* count) { return *count == 0; }, &to_write_), kPatience);
}

void ObjectCache::Remember(const std::string& key, Object object) {
  absl::MutexLock lock(&mutex_);
  if (by_key_.contains(key)) return;
  bytes_ += static_cast<int64_t>(object->size());
  entries_.push_front({key, std::move(object)});
  by_key_[key] = entries_.begin();
  while (bytes_ > memory_bytes_ && entries_.size() > 1) {
    bytes_ -= static_cast<int64_t>(entries_.back().object->size());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

// Many small files want several directories.
std::string ObjectCache::PathOf(absl::string_view key) const {
  return absl::StrCat(directory_, "/", key.substr(0, 2), "/", key.substr(2), kSuffix);
}

Object ObjectCache::ReadFile(const std::string& key) const {
  const std::string path = PathOf(key);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return nullptr;
  struct stat status;
  std::string bytes;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      status.st_size > static_cast<int64_t>(kChecksumDigits) && status.st_size <= kMaxObjectBytes) {
    bytes.resize(static_cast<size_t>(status.st_size));
    if (read(file, bytes.data(), bytes.size()) != status.st_size) bytes.clear();
  }
  close(file);
  if (bytes.empty()) return nullptr;
  const size_t size = bytes.size() - kChecksumDigits;
  const bool is_whole = bytes.substr(size) == Fingerprint({key, absl::string_view(bytes).substr(0, size)});
  std::error_code error;
  if (!is_whole) {
    fs::remove(path, error);
    return nullptr;
  }
  bytes.resize(size);
  const auto now = fs::file_time_type::clock::now();
  if (now - fs::last_write_time(path, error) > kFresh) fs::last_write_time(path, now, error);
  return std::make_shared<const std::string>(std::move(bytes));
}

void ObjectCache::WriteFile(const std::string& key, const std::string& object) {
  const std::string path = PathOf(key);
  mkdir(fs::path(path).parent_path().c_str(), S_IRWXU);
  if (!WriteWholeFile(path, absl::StrCat(object, Fingerprint({key, object}))).ok()) return;
  const auto size = static_cast<int64_t>(object.size());
  if (written_since_look_.fetch_add(size) + size <= file_bytes_ / 8) return;
  written_since_look_ = 0;
  RemoveOldFiles();
}

void ObjectCache::RemoveOldFiles() const {
  std::vector<std::tuple<fs::file_time_type, int64_t, fs::path>> files;
  std::error_code error;
  int64_t bytes = 0;
  for (fs::recursive_directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // another process looks it over as well
    if (!it->is_regular_file(gone) || gone) continue;
    if (it->path().filename().string().find(kSuffix) == std::string::npos) continue;
    const auto size = static_cast<int64_t>(it->file_size(gone));
    const fs::file_time_type time = it->last_write_time(gone);
    if (gone) continue;
    files.emplace_back(time, size, it->path());
    bytes += size;
  }
  if (bytes <= file_bytes_) return;
  std::sort(files.begin(), files.end());
  for (const auto& [time, size, path] : files) {
    if (bytes <= file_bytes_ / 4 * 3) break;
    if (fs::remove(path, error)) bytes -= size;
  }
}

}  // namespace kiln::cpu
