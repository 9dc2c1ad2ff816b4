#include "src/cpu/workspace.h"

#include <cstdlib>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "src/analysis/buffer_assignment.h"

namespace kiln::cpu {
namespace {

// Blocks that nobody uses are kept for the next run, but not more than so many runs at once want.
constexpr size_t kKeptBlocks = 8;

struct Pool {
  absl::Mutex mutex;
  std::vector<void*> free ABSL_GUARDED_BY(mutex);
};

Pool& SharedPool() {
  static Pool* const pool = new Pool();
  return *pool;
}

}  // namespace

Workspace::Workspace(bool needed) {
  if (!needed) return;
  Pool& pool = SharedPool();
  {
    absl::MutexLock lock(&pool.mutex);
    if (!pool.free.empty()) {
      data_ = pool.free.back();
      pool.free.pop_back();
      return;
    }
  }
  data_ = std::aligned_alloc(64, static_cast<size_t>(analysis::kMaxWorkspaceBytes));
}

Workspace::~Workspace() {
  if (data_ == nullptr) return;
  Pool& pool = SharedPool();
  {
    absl::MutexLock lock(&pool.mutex);
    if (pool.free.size() < kKeptBlocks) {
      pool.free.push_back(data_);
      return;
    }
  }
  std::free(data_);
}

}  // namespace kiln::cpu
