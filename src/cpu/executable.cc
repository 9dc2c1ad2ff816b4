#include "src/cpu/executable.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "src/analysis/buffer_assignment.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/jit.h"
#include "src/cpu/program_abi.h"
#include "src/cpu/program_emitter.h"
#include "src/hlo/builder.h"
#include "src/hlo/module.h"
#include "src/passes/pipeline.h"
#include "src/passes/schedule.h"

namespace kiln::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One compiler for the process: it lends target machines to whoever compiles.
absl::StatusOr<JitCompiler*> SharedCompiler() {
  static absl::StatusOr<std::unique_ptr<JitCompiler>>* const compiler =
      new absl::StatusOr<std::unique_ptr<JitCompiler>>(JitCompiler::Create());
  KILN_RETURN_IF_ERROR(compiler->status());
  return (*compiler)->get();
}

int64_t FlatIndex(const hlo::Shape& shape, const hlo::DimensionVector& path) {
  int64_t leaf = 0;
  const hlo::Shape* at = &shape;
  for (int64_t index : path) {
    for (int64_t i = 0; i < index; ++i) leaf += at->tuple_shapes(i).leaf_count();
    at = &at->tuple_shapes(index);
  }
  return leaf;
}

class NativeExecutable : public Executable {
 public:
  explicit NativeExecutable(std::unique_ptr<hlo::Module> module, const CompileOptions& options)
      : module_(std::move(module)), options_(options) {}

  absl::Status Build() {
    Clock::time_point start = Clock::now();
    RecordInterface();
    passes::PipelineOptions pipeline_options;
    pipeline_options.disabled_passes = options_.disabled_passes;
    KILN_RETURN_IF_ERROR(passes::RunPipeline(module_.get(), passes::CpuPipeline(), pipeline_options));
    statistics_.passes_seconds = SecondsSince(start);
    for (const hlo::Computation* computation : module_->computations()) {
      for (const hlo::Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() == hlo::Opcode::kFusion) {
          statistics_.fused_instruction_count += instruction->called_computation()->instruction_count() -
                                                 instruction->called_computation()->parameter_count();
        }
      }
    }

    KILN_RETURN_IF_ERROR(ResolveCustomCalls());
    start = Clock::now();
    KILN_ASSIGN_OR_RETURN(JitCompiler * compiler, SharedCompiler());
    auto context = std::make_unique<llvm::LLVMContext>();
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> code, EmitModule(*compiler, context.get()));
    statistics_.lowering_seconds = SecondsSince(start);

    start = Clock::now();
    CompileTimes times;
    KILN_ASSIGN_OR_RETURN(code_, compiler->Compile(std::move(context), std::move(code), &times));
    statistics_.codegen_seconds = SecondsSince(start);
    statistics_.generated_code_bytes = code_->code_bytes();
    function_ = code_->Lookup<ProgramFunction>(kProgramName);
    if (function_ == nullptr) return Internal("the compiled module has no function ", kProgramName);
    return absl::OkStatus();
  }

  const hlo::Module& module() const override { return *module_; }
  absl::Span<const hlo::Shape> parameter_leaves() const override { return parameter_leaves_; }
  absl::Span<const hlo::Shape> output_leaves() const override { return output_leaves_; }
  absl::Span<const OutputLeaf> output_aliases() const override { return output_aliases_; }
  int64_t arena_bytes() const override { return arena_bytes_; }
  int64_t estimated_nanoseconds() const override { return estimated_nanoseconds_; }
  int64_t custom_call_count() const override { return static_cast<int64_t>(custom_calls_.size()); }
  const CompileStatistics& statistics() const override { return statistics_; }

  absl::Status Run(absl::Span<const void* const> arguments, absl::Span<void* const> results, void* arena,
                   ThreadPool* pool, CustomCallRun* custom_calls) const override {
    ProgramContext context;
    context.pool = pool != nullptr && pool->threads() > 1 ? pool : nullptr;
    context.max_parallelism = options_.max_parallelism;
    context.custom_calls = custom_calls_.data();
    context.custom_call_run = custom_calls;
    function_(&context, arguments.data(), results.data(), arena, constants_.data());
    return std::move(context.status);
  }

  absl::StatusOr<std::string> LlvmIr() const override {
    KILN_ASSIGN_OR_RETURN(JitCompiler * compiler, SharedCompiler());
    llvm::LLVMContext context;
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> code, EmitAgain(*compiler, &context));
    return PrintIr(*code);
  }

  absl::StatusOr<std::string> Assembly() const override {
    KILN_ASSIGN_OR_RETURN(JitCompiler * compiler, SharedCompiler());
    llvm::LLVMContext context;
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> code, EmitAgain(*compiler, &context));
    return compiler->EmitAssembly(*code);
  }

  absl::StatusOr<std::string> KernelSchedules() const override {
    ProgramEmitter emitter(*module_, Threads(), custom_call_numbers_);
    KILN_RETURN_IF_ERROR(emitter.Prepare());
    return emitter.SchedulesText();
  }

  absl::StatusOr<std::string> MemoryPlan() const override {
    ProgramEmitter emitter(*module_, Threads(), custom_call_numbers_);
    KILN_RETURN_IF_ERROR(emitter.Prepare());
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<analysis::BufferAssignment> buffers,
                          analysis::BufferAssignment::Run(*module_, emitter.Hooks()));
    return buffers->ToString();
  }

 private:
  // Arguments and results as the caller knows them, before any pass touches the module.
  void RecordInterface() {
    const hlo::Computation& entry = *module_->entry();
    for (int64_t i = 0; i < entry.parameter_count(); ++i) {
      const hlo::Shape& shape = module_->has_entry_layout() ? module_->entry_parameter_layouts()[i]
                                                            : entry.parameter(i)->shape();
      for (const hlo::Shape* leaf : shape.Leaves()) parameter_leaves_.push_back(*leaf);
    }
    const hlo::Shape& result = module_->has_entry_layout() ? module_->entry_result_layout() : entry.root()->shape();
    for (const hlo::Shape* leaf : result.Leaves()) output_leaves_.push_back(*leaf);
    output_aliases_.resize(output_leaves_.size());
    std::vector<int64_t> first_leaf;
    int64_t leaf = 0;
    for (const hlo::Instruction* parameter : entry.parameters()) {
      first_leaf.push_back(leaf);
      leaf += parameter->shape().leaf_count();
    }
    for (const hlo::InputOutputAlias& alias : module_->aliases()) {
      OutputLeaf& output = output_aliases_[FlatIndex(entry.root()->shape(), alias.output_index)];
      output.aliased_parameter = first_leaf[alias.parameter] +
                                 FlatIndex(entry.parameter(alias.parameter)->shape(), alias.parameter_index);
      output.must_alias = alias.must_alias;
    }
  }

  absl::Status ResolveCustomCalls() {
    for (const hlo::Computation* computation : module_->computations()) {
      for (const hlo::Instruction* instruction : computation->instructions()) {
        const auto* attributes = instruction->GetIf<hlo::CustomCallAttributes>();
        if (attributes == nullptr) continue;
        if (options_.custom_calls == nullptr) {
          return Unimplemented(instruction->Describe(), ": no handler is known for the custom call target '",
                               attributes->target, "'");
        }
        KILN_ASSIGN_OR_RETURN(std::unique_ptr<CustomCall> call, options_.custom_calls(*instruction));
        custom_call_numbers_[instruction] = {static_cast<int64_t>(custom_calls_.size()), call.get()};
        custom_calls_.push_back(std::move(call));
      }
    }
    return absl::OkStatus();
  }

  int Threads() const {
    return options_.max_parallelism > 0 ? options_.max_parallelism : ThreadPool::AvailableCpus();
  }

  absl::StatusOr<std::unique_ptr<llvm::Module>> EmitModule(const JitCompiler& compiler, llvm::LLVMContext* context) {
    auto probe = std::make_unique<ProgramEmitter>(*module_, Threads(), custom_call_numbers_);
    KILN_RETURN_IF_ERROR(probe->Prepare());
    if (!probe->oversized().empty()) {
      KILN_RETURN_IF_ERROR(TakeApart(probe->oversized()));
      probe = std::make_unique<ProgramEmitter>(*module_, Threads(), custom_call_numbers_);
      KILN_RETURN_IF_ERROR(probe->Prepare());
    }
    ProgramEmitter& emitter = *probe;
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> code, EmitInto(&emitter, compiler, context, &arena_bytes_));
    for (const hlo::Literal* literal : emitter.table_constants()) constants_.push_back(literal->bytes().data());
    estimated_nanoseconds_ = static_cast<int64_t>(std::min(emitter.estimated_nanoseconds(), 1e18));
    statistics_.kernel_count = emitter.kernel_count();
    return code;
  }

  // Puts the bodies of `fusions` in their place, so that each op in them becomes a kernel of its own.
  absl::Status TakeApart(const std::vector<const hlo::Instruction*>& fusions) {
    for (hlo::Computation* computation : module_->PostOrder()) {
      bool changed = false;
      for (hlo::Instruction* instruction : std::vector<hlo::Instruction*>(computation->instructions())) {
        if (std::find(fusions.begin(), fusions.end(), instruction) == fusions.end()) continue;
        hlo::Builder builder(computation, instruction);
        instruction->ReplaceAllUsesWith(builder.Inline(*instruction->called_computation(), instruction->operands()));
        changed = true;
      }
      if (changed) computation->RemoveDeadInstructions();
    }
    module_->RemoveUnusedComputations();
    return passes::Schedule().Run(module_.get()).status();
  }

  absl::StatusOr<std::unique_ptr<llvm::Module>> EmitAgain(const JitCompiler& compiler,
                                                          llvm::LLVMContext* context) const {
    ProgramEmitter emitter(*module_, Threads(), custom_call_numbers_);
    KILN_RETURN_IF_ERROR(emitter.Prepare());
    int64_t arena_bytes = 0;
    return EmitInto(&emitter, compiler, context, &arena_bytes);
  }

  absl::StatusOr<std::unique_ptr<llvm::Module>> EmitInto(ProgramEmitter* emitter, const JitCompiler& compiler,
                                                         llvm::LLVMContext* context, int64_t* arena_bytes) const {
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<analysis::BufferAssignment> buffers,
                          analysis::BufferAssignment::Run(*module_, emitter->Hooks()));
    *arena_bytes = buffers->arena_bytes();
    auto code = std::make_unique<llvm::Module>(module_->name(), *context);
    compiler.PrepareModule(*code);
    KILN_RETURN_IF_ERROR(emitter->Emit(*buffers, code.get()));
    return code;
  }

  std::unique_ptr<hlo::Module> module_;
  CompileOptions options_;
  std::vector<std::unique_ptr<CustomCall>> custom_calls_;
  CustomCallNumbers custom_call_numbers_;
  std::vector<hlo::Shape> parameter_leaves_;
  std::vector<hlo::Shape> output_leaves_;
  std::vector<OutputLeaf> output_aliases_;
  std::vector<const void*> constants_;
  int64_t arena_bytes_ = 0;
  int64_t estimated_nanoseconds_ = 0;
  CompileStatistics statistics_;
  std::unique_ptr<JitModule> code_;
  ProgramFunction* function_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> Executable::Compile(std::unique_ptr<hlo::Module> module,
                                                                const CompileOptions& options) {
  auto executable = std::make_unique<NativeExecutable>(std::move(module), options);
  KILN_RETURN_IF_ERROR(executable->Build());
  return executable;
}

}  // namespace kiln::cpu
