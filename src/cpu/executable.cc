#include "src/cpu/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "src/analysis/buffer_assignment.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/compile_observer.h"
#include "src/cpu/donation.h"
#include "src/cpu/executable_image.h"
#include "src/cpu/jit.h"
#include "src/cpu/object_cache.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/pending_code.h"
#include "src/cpu/program_abi.h"
#include "src/cpu/program_code.h"
#include "src/cpu/program_emitter.h"
#include "src/cpu/run_profile.h"
#include "src/cpu/workspace.h"
#include "src/hlo/builder.h"
#include "src/hlo/module.h"
#include "src/passes/pipeline.h"
#include "src/passes/schedule.h"

namespace kiln::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One compiler for the process: it lends target machines to whoever compiles.
absl::StatusOr<JitCompiler*> SharedCompiler() {
  static absl::StatusOr<std::unique_ptr<JitCompiler>>* const compiler =
      new absl::StatusOr<std::unique_ptr<JitCompiler>>(JitCompiler::Create());
  KILN_RETURN_IF_ERROR(compiler->status());
  return (*compiler)->get();
}

// The number of the leaf at `path` among all leaves.
int64_t LeafNumber(const hlo::Shape& shape, const hlo::DimensionVector& path) {
  const std::vector<const hlo::Shape*> leaves = shape.Leaves();
  return std::find(leaves.begin(), leaves.end(), shape.Part(path)) - leaves.begin();
}

constexpr std::align_val_t kConstantAlignment{64};

struct AlignedDelete {
  void operator()(char* memory) const { ::operator delete(memory, kConstantAlignment); }
};

class NativeExecutable : public Executable {
 public:
  explicit NativeExecutable(std::unique_ptr<hlo::Module> module, const CompileOptions& options)
      : module_(std::move(module)), options_(options) {
    image_.max_parallelism = options_.max_parallelism;
  }
  NativeExecutable(std::unique_ptr<hlo::Module> module, ExecutableImage image, std::unique_ptr<JitModule> code)
      : module_(std::move(module)), image_(std::move(image)), loaded_code_(std::move(code)) {
    options_.max_parallelism = static_cast<int>(image_.max_parallelism);
  }
  ~NativeExecutable() override {
    if (pending_ != nullptr) pending_->Cancel();
  }

  absl::Status Build() {
    Clock::time_point start = Clock::now();
    RecordInterface();
    passes::PipelineOptions pipeline_options;
    pipeline_options.disabled_passes = options_.disabled_passes;
    pipeline_options.verify_each_pass |= options_.verify_each_pass;
    CompileObserver nobody;
    CompileObserver& observer = options_.observer == nullptr ? nobody : *std::exchange(options_.observer, nullptr);
    std::vector<passes::PassTiming> timings;
    if (&observer != &nobody) {
      observer.BeforePasses(*module_);
      pipeline_options.before_pass = [&](absl::string_view group, const passes::Pass& pass, const hlo::Module& module) {
        observer.BeforePass(group, pass, module);
      };
      pipeline_options.after_pass = [&](const passes::Pass& pass, const hlo::Module& module, bool changed) {
        observer.AfterPass(pass, module, changed);
      };
    }
    passes::PassList list = passes::CpuPipeline(options_.fast_math);
    if (options_.memory_limit > 0) list.push_back(passes::RematerializationUnder(options_.memory_limit));
    KILN_RETURN_IF_ERROR(
        passes::RunPipeline(module_.get(), list, pipeline_options, &observer == &nobody ? nullptr : &timings));
    image_.statistics.passes_seconds = SecondsSince(start);
    observer.AfterPasses(*module_, timings);
    for (const hlo::Computation* computation : module_->computations()) {
      for (const hlo::Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() == hlo::Opcode::kFusion) {
          image_.statistics.fused_instruction_count += instruction->called_computation()->instruction_count() -
                                                       instruction->called_computation()->parameter_count();
        }
      }
    }

    KILN_RETURN_IF_ERROR(ResolveCustomCalls());
    start = Clock::now();
    KILN_ASSIGN_OR_RETURN(JitCompiler * compiler, SharedCompiler());
    const int level = options_.optimization_level < 0 ? CodeUnit::kUsualLevel : options_.optimization_level;
    ProgramCode code(module_->name(), compiler, options_.reuse_code ? ObjectCache::Shared() : nullptr, level);
    KILN_RETURN_IF_ERROR(EmitProgram(&code));
    image_.statistics.lowering_seconds = SecondsSince(start);

    emitted_ = Clock::now();
    pending_ = std::move(code).Finish();
    image_.statistics.lowering_seconds -= pending_->seconds_in_add();
    if (options_.in_background && &observer == &nobody && compiler->HasThreads()) return absl::OkStatus();
    KILN_RETURN_IF_ERROR(AwaitCode());
    observer.Compiled(*this);
    return absl::OkStatus();
  }

  // After construction from an image: copies the constants to where the program may read them.
  absl::Status Restore(const std::vector<absl::string_view>& constants, const CustomCallResolver& resolver) {
    KILN_RETURN_IF_ERROR(FindCustomCalls(resolver));
    for (absl::string_view constant : constants) {
      auto* copy = static_cast<char*>(::operator new(constant.size(), kConstantAlignment));
      owned_constants_.emplace_back(copy);
      std::copy(constant.begin(), constant.end(), copy);
      constants_.push_back(copy);
      constant_sizes_.push_back(constant.size());
    }
    absl::MutexLock lock(&mutex_);
    return FindProgram(*loaded_code_);
  }

  bool HasCode() const override {
    return function_.load(std::memory_order_acquire) != nullptr || pending_ == nullptr || pending_->IsReady();
  }
  void OnCode(std::function<void()> callback) const override {
    if (pending_ == nullptr) return callback();
    pending_->OnReady(std::move(callback));
  }

  absl::StatusOr<std::string> Serialize() const override {
    KILN_RETURN_IF_ERROR(AwaitCode());
    if (options_.profile) return FailedPrecondition("a program that profiles its runs is not serialized");
    for (size_t i = 0; i < custom_calls_.size(); ++i) {
      if (custom_calls_[i]->IsPortable()) continue;
      return FailedPrecondition("the executable calls back into this process at ", image_.custom_calls[i],
                                " and cannot be serialized");
    }
    std::vector<absl::string_view> constants;
    for (size_t i = 0; i < constants_.size(); ++i) {
      constants.emplace_back(static_cast<const char*>(constants_[i]), constant_sizes_[i]);
    }
    return WriteImage(image_, (pending_ != nullptr ? **pending_->Await() : *loaded_code_).objects(), constants);
  }

  const hlo::Module* module() const override { return module_.get(); }
  absl::Span<const hlo::Shape> parameter_leaves() const override { return image_.parameter_leaves; }
  absl::Span<const hlo::Shape> output_leaves() const override { return image_.output_leaves; }
  absl::Span<const OutputLeaf> output_aliases() const override { return image_.output_aliases; }
  absl::Span<const int64_t> donated_parameters() const override { return image_.donated_parameters; }
  int64_t arena_bytes() const override { return image_.arena_bytes; }
  int64_t estimated_nanoseconds() const override { return image_.estimated_nanoseconds; }
  int64_t lone_nanoseconds() const override { return image_.lone_nanoseconds; }
  int64_t custom_call_count() const override { return static_cast<int64_t>(custom_calls_.size()); }
  const CompileStatistics& statistics() const override {
    (void)AwaitCode();  // an error is Run's
    return image_.statistics;
  }

  absl::Status Run(absl::Span<const void* const> arguments, absl::Span<void* const> results, void* arena,
                   ThreadPool* pool, CustomCallRun* custom_calls) const override {
    KILN_RETURN_IF_ERROR(AwaitCode());
    const Workspace workspace(image_.statistics.workspace_bytes > 0);
    if (workspace.data() == nullptr && image_.statistics.workspace_bytes > 0) {
      return ResourceExhausted("no memory for the workspace of a program");
    }
    ProgramContext context;
    context.workspace = workspace.data();
    context.pool = pool != nullptr && pool->threads() > 1 ? pool : nullptr;
    context.max_parallelism = options_.max_parallelism;
    context.custom_calls = custom_calls_.data();
    context.custom_call_run = custom_calls;
    std::optional<RunProfile> profile;
    if (options_.profile) context.profile = &profile.emplace(profiled_.size());
    function_.load(std::memory_order_relaxed)(&context, arguments.data(), results.data(), arena, constants_.data());
    if (profile.has_value()) std::fputs(profile->ToString(*module_, profiled_).c_str(), stderr);
    return std::move(context.status);
  }

  absl::StatusOr<std::string> LlvmIr() const override {
    KILN_ASSIGN_OR_RETURN(const CodeView view, View(/*with_assembly=*/false));
    return view.llvm_ir;
  }

  absl::StatusOr<std::string> Assembly() const override {
    KILN_ASSIGN_OR_RETURN(const CodeView view, View(/*with_assembly=*/true));
    return view.assembly;
  }

  absl::StatusOr<CodeView> Code() const override { return View(/*with_assembly=*/true); }

  absl::StatusOr<std::string> KernelSchedules() const override {
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<ProgramEmitter> emitter, PrepareAgain());
    return emitter->SchedulesText();
  }

  absl::StatusOr<analysis::MemoryPlan> PlannedMemory() const override {
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<ProgramEmitter> emitter, PrepareAgain());
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<analysis::BufferAssignment> buffers,
                          analysis::BufferAssignment::Run(*module_, emitter->Hooks()));
    return analysis::MakeMemoryPlan(*module_, *buffers);
  }

 private:
  absl::Status FindProgram(const JitModule& code) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto* const function = code.Lookup<ProgramFunction>(kProgramName);
    if (function == nullptr) return Internal("the compiled module has no function ", kProgramName);
    function_.store(function, std::memory_order_release);
    return absl::OkStatus();
  }

  // Returns when the machine code is there.
  absl::Status AwaitCode() const {
    if (function_.load(std::memory_order_acquire) != nullptr) return absl::OkStatus();
    const absl::StatusOr<std::unique_ptr<JitModule>>& code = pending_->Await();
    KILN_RETURN_IF_ERROR(code.status());
    absl::MutexLock lock(&mutex_);
    if (function_.load(std::memory_order_relaxed) != nullptr) return absl::OkStatus();
    RecordCompilation(pending_->times(), **code);
    return FindProgram(**code);
  }

  void RecordCompilation(const CompileTimes& times, const JitModule& code) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CompileStatistics& statistics = image_.statistics;
    statistics.codegen_seconds =
        pending_->seconds_in_add() +
        std::max(0.0, std::chrono::duration<double>(pending_->ready_at() - emitted_).count());
    // Sums over threads, in proportion to the time that passed.
    const double sum = times.verify + times.optimize + times.codegen + times.link;
    const double scale = sum > 0 ? statistics.codegen_seconds / sum : 0;
    statistics.llvm_passes_seconds = (times.verify + times.optimize) * scale;
    statistics.machine_code_seconds = times.codegen * scale;
    statistics.link_seconds = times.link * scale;
    statistics.compiled_modules = times.compiled_units;
    statistics.reused_modules = times.found_units;
    statistics.generated_code_bytes = code.code_bytes();
  }

  // Arguments and results as the caller knows them, before any pass touches the module.
  void RecordInterface() {
    AliasDonors(module_.get());
    const hlo::Computation& entry = *module_->entry();
    for (int64_t i = 0; i < entry.parameter_count(); ++i) {
      const hlo::Shape& shape =
          module_->has_entry_layout() ? module_->entry_parameter_layouts()[i] : entry.parameter(i)->shape();
      for (const hlo::Shape* leaf : shape.Leaves()) image_.parameter_leaves.push_back(*leaf);
    }
    const hlo::Shape& result = module_->has_entry_layout() ? module_->entry_result_layout() : entry.root()->shape();
    for (const hlo::Shape* leaf : result.Leaves()) image_.output_leaves.push_back(*leaf);
    image_.output_aliases.resize(image_.output_leaves.size());
    std::vector<int64_t> first_leaf;
    int64_t leaf = 0;
    for (const hlo::Instruction* parameter : entry.parameters()) {
      first_leaf.push_back(leaf);
      leaf += parameter->shape().leaf_count();
    }
    for (const hlo::BufferDonor& donor : module_->donors()) {
      image_.donated_parameters.push_back(first_leaf[donor.parameter] +
                                          LeafNumber(entry.parameter(donor.parameter)->shape(), donor.parameter_index));
    }
    for (const hlo::InputOutputAlias& alias : module_->aliases()) {
      OutputLeaf& output = image_.output_aliases[LeafNumber(entry.root()->shape(), alias.output_index)];
      output.aliased_parameter =
          first_leaf[alias.parameter] + LeafNumber(entry.parameter(alias.parameter)->shape(), alias.parameter_index);
      output.must_alias = alias.must_alias;
    }
  }

  absl::Status ResolveCustomCalls() {
    if (options_.custom_calls == nullptr) return absl::OkStatus();
    for (const hlo::Computation* computation : module_->computations()) {
      for (const hlo::Instruction* instruction : computation->instructions()) {
        if (instruction->opcode() != hlo::Opcode::kCustomCall || FindOpEmitter(*instruction) != nullptr) {
          continue;
        }
        KILN_ASSIGN_OR_RETURN(std::unique_ptr<CustomCall> call, options_.custom_calls(*instruction));
        custom_call_numbers_[instruction] = {static_cast<int64_t>(custom_calls_.size()), call.get()};
        custom_calls_.push_back(std::move(call));
        image_.custom_calls.push_back(NameInProgram(*instruction));
      }
    }
    return absl::OkStatus();
  }

  static std::string NameInProgram(const hlo::Instruction& instruction) {
    return absl::StrCat(instruction.parent()->name(), "/", instruction.name());
  }

  // The custom calls of an image, from the program that went with it.
  absl::Status FindCustomCalls(const CustomCallResolver& resolver) {
    if (image_.custom_calls.empty()) return absl::OkStatus();
    if (module_ == nullptr || resolver == nullptr) return InvalidArgument("the executable's program is needed");
    absl::flat_hash_map<std::string, const hlo::Instruction*> by_name;
    for (const hlo::Computation* computation : module_->computations()) {
      for (const hlo::Instruction* instruction : computation->instructions()) {
        if (instruction->GetIf<hlo::CustomCallAttributes>() != nullptr) {
          by_name[NameInProgram(*instruction)] = instruction;
        }
      }
    }
    for (const std::string& name : image_.custom_calls) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) return InvalidArgument("the program has no custom call ", name);
      KILN_ASSIGN_OR_RETURN(custom_calls_.emplace_back(), resolver(*found->second));
      custom_call_numbers_[found->second] = {static_cast<int64_t>(custom_calls_.size()) - 1,
                                             custom_calls_.back().get()};
    }
    return absl::OkStatus();
  }

  int Threads() const { return options_.max_parallelism > 0 ? options_.max_parallelism : ThreadPool::AvailableCpus(); }

  absl::Status EmitProgram(ProgramCode* code) {
    auto probe = std::make_unique<ProgramEmitter>(*module_, Threads(), &custom_call_numbers_);
    KILN_RETURN_IF_ERROR(probe->Prepare());
    while (!probe->oversized().empty()) {
      KILN_RETURN_IF_ERROR(TakeApart(probe->oversized()));
      probe = std::make_unique<ProgramEmitter>(*module_, Threads(), &custom_call_numbers_);
      KILN_RETURN_IF_ERROR(probe->Prepare());
    }
    ProgramEmitter& emitter = *probe;
    if (options_.profile) emitter.set_profiled(&profiled_);
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<analysis::BufferAssignment> buffers,
                          analysis::BufferAssignment::Run(*module_, emitter.Hooks()));
    KILN_RETURN_IF_ERROR(emitter.Emit(*buffers, code));
    image_.arena_bytes = buffers->arena_bytes();
    image_.statistics.workspace_bytes = buffers->workspace_bytes();
    for (const hlo::Literal* literal : emitter.table_constants()) {
      constants_.push_back(literal->bytes().data());
      constant_sizes_.push_back(literal->bytes().size());
    }
    tables_ = emitter.TakeTables();
    image_.estimated_nanoseconds = static_cast<int64_t>(std::min(emitter.estimated_nanoseconds(), 1e18));
    image_.lone_nanoseconds = static_cast<int64_t>(std::min(emitter.lone_nanoseconds(), 1e18));
    image_.statistics.kernel_count = emitter.kernel_count();
    return absl::OkStatus();
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
    return passes::ScheduleModule(module_.get()).status();
  }

  absl::StatusOr<std::unique_ptr<ProgramEmitter>> PrepareAgain() const {
    if (module_ == nullptr) return FailedPrecondition("the executable was loaded as machine code, without its program");
    auto emitter = std::make_unique<ProgramEmitter>(*module_, Threads(), &custom_call_numbers_);
    KILN_RETURN_IF_ERROR(emitter->Prepare());
    return emitter;
  }

  // All in one module, for people to read.
  absl::StatusOr<CodeView> View(bool with_assembly) const {
    KILN_ASSIGN_OR_RETURN(JitCompiler * compiler, SharedCompiler());
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<ProgramEmitter> emitter, PrepareAgain());
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<analysis::BufferAssignment> buffers,
                          analysis::BufferAssignment::Run(*module_, emitter->Hooks()));
    ProgramCode code(module_->name(), compiler);
    KILN_RETURN_IF_ERROR(emitter->Emit(*buffers, &code));
    CodeView view;
    view.operations = emitter->Operations();  // with the functions that they became
    view.llvm_ir = PrintIr(code.program());
    if (with_assembly) {
      KILN_ASSIGN_OR_RETURN(view.assembly, compiler->EmitAssembly(code.program()));
    }
    return view;
  }

  std::unique_ptr<hlo::Module> module_;
  CompileOptions options_;
  std::vector<std::unique_ptr<CustomCall>> custom_calls_;
  CustomCallNumbers custom_call_numbers_;
  mutable ExecutableImage image_;  // what the statistics say of the code comes last
  std::vector<const hlo::Instruction*> profiled_;
  std::vector<std::unique_ptr<hlo::Literal>> tables_;  // what ops added to the module's literals
  std::vector<const void*> constants_;                 // the program's table: in the module's literals, or owned
  std::vector<size_t> constant_sizes_;
  std::vector<std::unique_ptr<char, AlignedDelete>> owned_constants_;
  std::unique_ptr<JitModule> loaded_code_;
  std::shared_ptr<PendingCode> pending_;  // null where code was loaded
  Clock::time_point emitted_;
  mutable absl::Mutex mutex_;
  mutable std::atomic<ProgramFunction*> function_ = nullptr;  // null until somebody waited for the code
};

}  // namespace

absl::StatusOr<std::string> Executable::MemoryPlan() const {
  KILN_ASSIGN_OR_RETURN(const analysis::MemoryPlan plan, PlannedMemory());
  return plan.ToString();
}

std::string FormatPhases(const CompileStatistics& statistics) {
  const double total = statistics.passes_seconds + statistics.lowering_seconds + statistics.codegen_seconds;
  std::string text = absl::StrFormat("%10s %6s  %s\n", "ms", "share", "phase");
  for (const auto& [name, seconds] :
       std::initializer_list<std::pair<const char*, double>>{{"HLO passes", statistics.passes_seconds},
                                                             {"emission of LLVM IR", statistics.lowering_seconds},
                                                             {"LLVM passes", statistics.llvm_passes_seconds},
                                                             {"machine code", statistics.machine_code_seconds},
                                                             {"linking", statistics.link_seconds},
                                                             {"total", total}}) {
    absl::StrAppendFormat(&text, "%10.3f %5.1f%%  %s\n", seconds * 1e3, total > 0 ? seconds / total * 100 : 0.0, name);
  }
  if (statistics.reused_modules > 0) {
    absl::StrAppend(&text, statistics.reused_modules, " of ", statistics.reused_modules + statistics.compiled_modules,
                    " modules of LLVM IR were found compiled\n");
  }
  return text;
}

absl::StatusOr<std::unique_ptr<Executable>> Executable::Compile(std::unique_ptr<hlo::Module> module,
                                                                const CompileOptions& options) {
  auto executable = std::make_unique<NativeExecutable>(std::move(module), options);
  KILN_RETURN_IF_ERROR(executable->Build());
  return executable;
}

absl::StatusOr<std::unique_ptr<Executable>> Executable::Load(absl::string_view image,
                                                             std::unique_ptr<hlo::Module> program,
                                                             const CustomCallResolver& custom_calls) {
  KILN_ASSIGN_OR_RETURN(ReadImage read, ReadImageFrom(image));
  KILN_ASSIGN_OR_RETURN(JitCompiler * compiler, SharedCompiler());
  RegisterProgramSymbols();
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<JitModule> code, compiler->Link(std::move(read.objects)));
  auto executable = std::make_unique<NativeExecutable>(std::move(program), std::move(read.image), std::move(code));
  KILN_RETURN_IF_ERROR(executable->Restore(read.constants, custom_calls));
  return executable;
}

}  // namespace kiln::cpu
