// Machine code under the hash of the LLVM IR that it was made from: what one program compiled, the next one finds, in
// this process or, by way of files, in a later one.
#ifndef KILN_CPU_OBJECT_CACHE_H_
#define KILN_CPU_OBJECT_CACHE_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace kiln {
class JobQueue;
}  // namespace kiln

namespace kiln::cpu {

// A relocatable object.
using Object = std::shared_ptr<const std::string>;

// Files are written whole or not at all, by a thread of their own, and carry a checksum: one that is damaged, or that
// somebody else could have written, counts as absent. Errors of the file system mean fewer hits and nothing else.
// Thread-safe.
class ObjectCache {
 public:
  // Without a directory ("") nothing is kept in files. The least recently used objects go first, in memory from
  // `memory_bytes` on, in files, looked over now and then, from `file_bytes` on.
  ObjectCache(std::string directory, int64_t memory_bytes, int64_t file_bytes);
  ~ObjectCache();  // writes what is still to be written

  // The process's own, as KILN_KERNEL_CACHE says: a directory, "memory" for no files, or "off", which gives null.
  // Unset: the directory kiln of the user's cache directory.
  static ObjectCache* Shared();

  // Null when there is none. `key` consists of letters and digits, two or more.
  Object Find(const std::string& key);
  void Insert(const std::string& key, Object object);
  // Returns when all that was inserted stands in files, or after some seconds.
  void Flush();

 private:
  struct Entry {
    std::string key;
    Object object;
  };
  void Remember(const std::string& key, Object object);
  std::string PathOf(absl::string_view key) const;
  Object ReadFile(const std::string& key) const;
  void WriteFile(const std::string& key, const std::string& object);
  void RemoveOldFiles() const;

  const std::string directory_;
  const int64_t memory_bytes_, file_bytes_;
  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the most recently used first
  absl::flat_hash_map<std::string, std::list<Entry>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t to_write_ ABSL_GUARDED_BY(mutex_) = 0;
  // Bytes. Begins anywhere, so that of many short processes only some look the directory over. A write that blocks lets
  // the next one begin beside it.
  std::atomic<int64_t> written_since_look_;
  std::unique_ptr<JobQueue> writer_;  // null without a directory
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_OBJECT_CACHE_H_
