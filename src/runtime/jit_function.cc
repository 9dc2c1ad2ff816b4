#include "src/runtime/jit_function.h"

#include <chrono>
#include <numeric>
#include <utility>

#include "src/base/catch_exceptions.h"

namespace kiln::runtime {

JitFunction::JitFunction(Client* client, std::unique_ptr<hlo::Module> module)
    : client_(client),
      name_(module->name()),
      output_count_(static_cast<size_t>(module->entry()->root()->shape().leaf_count())),
      module_(std::move(module)) {
  int64_t count = 0;
  for (const hlo::Instruction* parameter : module_->entry()->parameters()) count += parameter->shape().leaf_count();
  parameters_.resize(count);
  std::iota(parameters_.begin(), parameters_.end(), 0);
}

absl::StatusOr<RefPtr<LoadedExecutable>> JitFunction::Compile() {
  // Callers of this interface hold row-major arrays, so layouts of the program's text do not bind them.
  const auto row_major = [](hlo::Shape shape) {
    if (shape.IsArray()) shape.ResetLayout();
    return shape;
  };
  const hlo::Computation& entry = *module_->entry();
  module_->mutable_entry_parameter_layouts()->clear();
  for (const hlo::Instruction* parameter : entry.parameters()) {
    module_->mutable_entry_parameter_layouts()->push_back(row_major(parameter->shape()));
  }
  *module_->mutable_entry_result_layout() = row_major(entry.root()->shape());
  module_->set_has_entry_layout(true);
  KILN_ASSIGN_OR_RETURN(const CompileOptions options, ParseCompileOptions(""));
  return LoadedExecutable::Compile(client_, std::move(module_), options);
}

absl::Status JitFunction::Call(absl::Span<Buffer* const> arguments, Buffer** outputs) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  absl::call_once(once_, [this] {
    const auto start = std::chrono::steady_clock::now();
    // An exception would leave the others waiting.
    const absl::Status status = CatchExceptions([this] { return (executable_ = Compile()).status(); });
    if (!status.ok()) executable_ = status;
    compiles_ = 1;
    compile_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
  KILN_RETURN_IF_ERROR(executable_.status());
  LoadedExecutable::ExecuteOptions options;
  options.non_donatable = parameters_;
  return (*executable_)->Execute(arguments, options, outputs, nullptr);
}

JitStatistics JitFunction::statistics() const {
  // In this order: a call counts before it compiles.
  const int64_t compiles = compiles_.load(), calls = calls_.load();
  return {.calls = calls, .compiles = compiles, .cache_hits = calls - compiles, .compile_seconds = compile_seconds_};
}

}  // namespace kiln::runtime
