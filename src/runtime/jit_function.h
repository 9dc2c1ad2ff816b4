// A program that is compiled on first call of each combination of shapes and element types, and cached.
#ifndef KILN_RUNTIME_JIT_FUNCTION_H_
#define KILN_RUNTIME_JIT_FUNCTION_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "src/hlo/module.h"
#include "src/runtime/loaded_executable.h"

namespace kiln::runtime {

struct JitStatistics {
  int64_t calls = 0;
  int64_t compiles = 0;
  int64_t cache_hits = 0;
  double compile_seconds = 0;
};

// Thread-safe. One thread compiles, others that want the same code wait. A call whose arguments have the types of the
// call before it takes no lock.
class JitFunction {
 public:
  // `module` must be verified.
  static absl::StatusOr<std::unique_ptr<JitFunction>> Create(Client* client, std::unique_ptr<hlo::Module> module);
  ~JitFunction();

  const std::string& name() const { return module_->name(); }
  size_t parameter_count() const { return parameter_types_.size(); }
  size_t output_count() const { return output_count_; }

  // As LoadedExecutable::Execute, without donation.
  absl::Status Call(absl::Span<Buffer* const> arguments, Buffer** outputs);
  JitStatistics statistics() const;

 private:
  struct Entry;
  JitFunction() = default;
  // The entry for arguments of these types, compiled (its status says whether that went well).
  absl::StatusOr<Entry*> Lookup(absl::Span<Buffer* const> arguments);
  void Compile(Entry* entry);
  absl::Status CheckArguments(absl::Span<Buffer* const> arguments) const;

  Client* client_ = nullptr;
  std::unique_ptr<hlo::Module> module_;
  std::vector<RefPtr<const BufferType>> parameter_types_;
  std::vector<int64_t> all_parameters_;
  size_t output_count_ = 0;
  std::atomic<Entry*> last_{nullptr};
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> hits_{0};
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  int64_t compiles_ ABSL_GUARDED_BY(mutex_) = 0;
  double compile_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_JIT_FUNCTION_H_
