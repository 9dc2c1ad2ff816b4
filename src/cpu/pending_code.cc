#include "src/cpu/pending_code.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "src/base/catch_exceptions.h"

namespace kiln::cpu {
namespace {

// Enough for any number of threads to share evenly.
constexpr size_t kMaxWaiting = 256;

}  // namespace

void PendingCode::Add(CodeUnit unit) {
  bool help = false;
  {
    absl::MutexLock lock(&mutex_);
    ++unfinished_;
    const auto size = static_cast<int64_t>(unit.module->getInstructionCount());
    waiting_.push_back({std::make_unique<CodeUnit>(std::move(unit)), size, objects_.size()});
    objects_.emplace_back();
    std::push_heap(waiting_.begin(), waiting_.end());
    help = waiting_.size() > kMaxWaiting;
  }
  compiler_->InBackground([self = shared_from_this()] { self->CompileOne(); });
  if (!help) return;
  const auto begin = std::chrono::steady_clock::now();
  CompileOne();
  seconds_in_add_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void PendingCode::Close() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    if (!IsComplete()) return;
  }
  Complete();
}

void PendingCode::Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

bool PendingCode::CompileOne() {
  Waiting work;
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.empty()) return false;
    std::pop_heap(waiting_.begin(), waiting_.end());
    work = std::move(waiting_.back());
    waiting_.pop_back();
  }
  CompileTimes times;
  absl::StatusOr<Object> object = absl::CancelledError("the program is no longer needed");
  if (!cancelled_.load(std::memory_order_relaxed)) {
    // Nobody above would catch what is thrown on a thread of its own, nor be told of an end.
    const absl::Status thrown = CatchExceptions([&] {
      object = compiler_->CompileUnit(work.unit.get(), cache_, &times);
      return absl::OkStatus();
    });
    if (!thrown.ok()) object = thrown;
  }
  work.unit.reset();
  bool complete;
  {
    absl::MutexLock lock(&mutex_);
    if (object.ok()) objects_[work.place] = *std::move(object);
    status_.Update(object.status());
    times_.Add(times);
    --unfinished_;
    complete = IsComplete();
  }
  if (complete) Complete();
  return true;
}

void PendingCode::Complete() {
  std::vector<Object> objects;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    objects = std::move(objects_);
    status = status_;
  }
  CompileTimes times;
  if (status.ok()) {
    status = CatchExceptions([&] {
      result_ = compiler_->Link(std::move(objects), &times);
      return absl::OkStatus();
    });
  }
  if (!status.ok()) result_ = std::move(status);
  std::vector<std::function<void()>> callbacks;
  {
    absl::MutexLock lock(&mutex_);
    times_.Add(times);
    ready_at_ = std::chrono::steady_clock::now();
    ready_.store(true, std::memory_order_release);
    callbacks = std::move(callbacks_);
  }
  for (const std::function<void()>& callback : callbacks) callback();
}

const absl::StatusOr<std::unique_ptr<JitModule>>& PendingCode::Await() {
  if (IsReady()) return result_;
  while (CompileOne()) {
  }
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &PendingCode::IsReady));
  return result_;
}

void PendingCode::OnReady(std::function<void()> callback) {
  {
    absl::MutexLock lock(&mutex_);
    if (!IsReady()) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

}  // namespace kiln::cpu
