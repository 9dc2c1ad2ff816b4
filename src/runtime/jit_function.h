// A program that is compiled on its first call.
#ifndef KILN_RUNTIME_JIT_FUNCTION_H_
#define KILN_RUNTIME_JIT_FUNCTION_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
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

// Thread-safe. One thread compiles, others wait; later calls take no lock.
class JitFunction {
 public:
  // `module` must be verified.
  JitFunction(Client* client, std::unique_ptr<hlo::Module> module);

  const std::string& name() const { return name_; }
  size_t parameter_count() const { return parameters_.size(); }
  size_t output_count() const { return output_count_; }

  // As LoadedExecutable::Execute, without donation. Arguments and results are row-major.
  absl::Status Call(absl::Span<Buffer* const> arguments, Buffer** outputs);
  JitStatistics statistics() const;

 private:
  absl::StatusOr<RefPtr<LoadedExecutable>> Compile();

  Client* const client_;
  const std::string name_;
  std::vector<int64_t> parameters_;  // all of them
  const size_t output_count_;
  std::unique_ptr<hlo::Module> module_;  // until it is compiled
  absl::once_flag once_;
  absl::StatusOr<RefPtr<LoadedExecutable>> executable_;
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> compiles_{0};
  std::atomic<double> compile_seconds_{0};
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_JIT_FUNCTION_H_
