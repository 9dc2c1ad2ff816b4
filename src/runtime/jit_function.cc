#include "src/runtime/jit_function.h"

#include <chrono>
#include <numeric>
#include <utility>

#include "absl/base/call_once.h"
#include "src/base/status.h"

namespace kiln::runtime {
namespace {

// Element types, ranks and dimensions as bytes: equal exactly for equal types (arguments are row-major).
std::string KeyOf(absl::Span<Buffer* const> arguments) {
  std::string key;
  for (const Buffer* argument : arguments) {
    key.push_back(static_cast<char>(argument->type().element_type()));
    key.push_back(static_cast<char>(argument->type().rank()));
    const hlo::DimensionVector& dimensions = argument->type().dimensions();
    key.append(reinterpret_cast<const char*>(dimensions.data()), dimensions.size() * sizeof(int64_t));
  }
  return key;
}

}  // namespace

struct JitFunction::Entry {
  std::vector<RefPtr<const BufferType>> types;
  absl::once_flag once;
  absl::Status status;
  RefPtr<LoadedExecutable> executable;

  bool Matches(absl::Span<Buffer* const> arguments) const {
    if (arguments.size() != types.size()) return false;
    for (size_t i = 0; i < types.size(); ++i) {
      if (!(arguments[i]->type() == *types[i])) return false;
    }
    return true;
  }
};

absl::StatusOr<std::unique_ptr<JitFunction>> JitFunction::Create(Client* client, std::unique_ptr<hlo::Module> module) {
  std::unique_ptr<JitFunction> function(new JitFunction());
  function->client_ = client;
  for (const hlo::Instruction* parameter : module->entry()->parameters()) {
    for (const hlo::Shape* leaf : parameter->shape().Leaves()) {
      KILN_ASSIGN_OR_RETURN(RefPtr<const BufferType> type, BufferType::FromShape(*leaf));
      // Callers of this interface hold row-major arrays, so layouts of the program's text do not bind them.
      if (!type->is_row_major()) {
        KILN_ASSIGN_OR_RETURN(type, BufferType::Create(type->element_type(), type->dimensions()));
      }
      function->parameter_types_.push_back(std::move(type));
    }
  }
  function->output_count_ = static_cast<size_t>(module->entry()->root()->shape().leaf_count());
  function->all_parameters_.resize(function->parameter_types_.size());
  std::iota(function->all_parameters_.begin(), function->all_parameters_.end(), 0);
  function->module_ = std::move(module);
  return function;
}

JitFunction::~JitFunction() = default;

absl::Status JitFunction::CheckArguments(absl::Span<Buffer* const> arguments) const {
  if (arguments.size() != parameter_types_.size()) {
    return InvalidArgument("function ", name(), " takes ", parameter_types_.size(), " arguments, found ",
                           arguments.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i]->type() == *parameter_types_[i]) continue;
    return InvalidArgument("argument ", i, " of function ", name(), " is ", arguments[i]->type().ToString(),
                           ", but the program is written for ", parameter_types_[i]->ToString(),
                           " and has no open dimensions");
  }
  return absl::OkStatus();
}

void JitFunction::Compile(Entry* entry) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<hlo::Module> module = module_->Clone();
  // Arguments and results are row-major here.
  module->mutable_entry_parameter_layouts()->clear();
  for (const hlo::Instruction* parameter : module->entry()->parameters()) {
    hlo::Shape shape = parameter->shape();
    if (shape.IsArray()) shape.ResetLayout();
    module->mutable_entry_parameter_layouts()->push_back(std::move(shape));
  }
  hlo::Shape result = module->entry()->root()->shape();
  if (result.IsArray()) result.ResetLayout();
  *module->mutable_entry_result_layout() = std::move(result);
  module->set_has_entry_layout(true);
  absl::StatusOr<CompileOptions> options = ParseCompileOptions("");
  auto executable = options.ok() ? LoadedExecutable::Compile(client_, std::move(module), *options) : options.status();
  entry->status = executable.status();
  if (executable.ok()) entry->executable = *std::move(executable);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  absl::MutexLock lock(&mutex_);
  ++compiles_;
  compile_seconds_ += seconds.count();
}

absl::StatusOr<JitFunction::Entry*> JitFunction::Lookup(absl::Span<Buffer* const> arguments) {
  Entry* last = last_.load(std::memory_order_acquire);
  if (last != nullptr && last->Matches(arguments)) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return last;
  }
  KILN_RETURN_IF_ERROR(CheckArguments(arguments));
  Entry* entry;
  {
    absl::MutexLock lock(&mutex_);
    std::unique_ptr<Entry>& slot = entries_[KeyOf(arguments)];
    if (slot == nullptr) {
      slot = std::make_unique<Entry>();
      for (const Buffer* argument : arguments) slot->types.push_back(argument->shared_type());
    }
    entry = slot.get();
  }
  bool compiled_here = false;
  absl::call_once(entry->once, [&] {
    compiled_here = true;
    Compile(entry);
  });
  if (!compiled_here) hits_.fetch_add(1, std::memory_order_relaxed);
  KILN_RETURN_IF_ERROR(entry->status);
  last_.store(entry, std::memory_order_release);
  return entry;
}

absl::Status JitFunction::Call(absl::Span<Buffer* const> arguments, Buffer** outputs) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  KILN_ASSIGN_OR_RETURN(Entry * entry, Lookup(arguments));
  LoadedExecutable::ExecuteOptions options;
  options.non_donatable = all_parameters_;
  return entry->executable->Execute(arguments, options, outputs, nullptr);
}

JitStatistics JitFunction::statistics() const {
  JitStatistics statistics;
  statistics.calls = calls_.load(std::memory_order_relaxed);
  statistics.cache_hits = hits_.load(std::memory_order_relaxed);
  absl::MutexLock lock(&mutex_);
  statistics.compiles = compiles_;
  statistics.compile_seconds = compile_seconds_;
  return statistics;
}

}  // namespace kiln::runtime
