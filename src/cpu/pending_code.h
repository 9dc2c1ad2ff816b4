// Machine code in the making: the modules of a program compile while the program is still being emitted, and after that
// beside whoever asked for it.
#ifndef KILN_CPU_PENDING_CODE_H_
#define KILN_CPU_PENDING_CODE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "src/cpu/jit.h"

namespace kiln::cpu {

class ObjectCache;

// Add and Close are one thread's; the rest is thread-safe. The code does not depend on which threads compile it.
class PendingCode : public std::enable_shared_from_this<PendingCode> {
 public:
  // `compiler`, and `cache`, which may be null, outlive it.
  PendingCode(JitCompiler* compiler, ObjectCache* cache) : compiler_(compiler), cache_(cache) {}

  // Takes a prepared module over, to be compiled as soon as a thread is free. Where many are left over already, compiles
  // one of them first, which bounds what is held of a program as LLVM IR.
  void Add(CodeUnit unit);
  // There are no more.
  void Close();
  // What is not compiled yet no longer needs to be; the code is then an error.
  void Cancel();

  // Whether Await returns at once.
  bool IsReady() const { return ready_.load(std::memory_order_acquire); }
  // Helps until the code is there, after Close. The error of a module that does not compile otherwise.
  const absl::StatusOr<std::unique_ptr<JitModule>>& Await();
  // Calls `callback` once, at once if the code is there, otherwise from the thread that ends the work.
  void OnReady(std::function<void()> callback);
  // Seconds that Add compiled in, once it is closed.
  double seconds_in_add() const { return seconds_in_add_; }
  // Seconds and modules, summed over threads; once it is ready.
  const CompileTimes& times() const { return times_; }
  std::chrono::steady_clock::time_point ready_at() const { return ready_at_; }

 private:
  struct Waiting {
    std::unique_ptr<CodeUnit> unit;
    int64_t size = 0;
    size_t place = 0;
    bool operator<(const Waiting& other) const { return size < other.size; }
  };

  // Compiles the largest of the modules that wait, so that no thread begins with it when the others are done. False
  // when there is none.
  bool CompileOne();
  bool IsComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ && unfinished_ == 0; }
  // Links what was compiled and tells whoever waits. Called once.
  void Complete();

  JitCompiler* const compiler_;
  ObjectCache* const cache_;
  double seconds_in_add_ = 0;  // written before it is closed
  std::atomic<bool> ready_{false};
  std::atomic<bool> cancelled_{false};
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;          // added and not compiled
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);    // a heap
  std::vector<Object> objects_ ABSL_GUARDED_BY(mutex_);     // in the order in which their modules came
  absl::Status status_ ABSL_GUARDED_BY(mutex_);             // the first error
  std::vector<std::function<void()>> callbacks_ ABSL_GUARDED_BY(mutex_);
  // Written before ready_.
  CompileTimes times_;
  std::chrono::steady_clock::time_point ready_at_;
  absl::StatusOr<std::unique_ptr<JitModule>> result_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_PENDING_CODE_H_
