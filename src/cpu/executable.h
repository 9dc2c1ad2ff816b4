// A module compiled to native code for the host CPU.
#ifndef KILN_CPU_EXECUTABLE_H_
#define KILN_CPU_EXECUTABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/analysis/memory_plan.h"
#include "src/cpu/custom_call.h"

namespace kiln {
class ThreadPool;
}  // namespace kiln

namespace kiln::hlo {
class Module;
class Shape;
}  // namespace kiln::hlo

namespace kiln::cpu {

class CompileObserver;

// What the compiler did and how long it took; kept for cost analysis, `make run` and `kiln explain`.
struct CompileStatistics {
  double passes_seconds = 0;    // HLO passes, fusion and scheduling
  double lowering_seconds = 0;  // kernels and program to LLVM IR
  double codegen_seconds = 0;   // LLVM passes, machine code, linking
  double llvm_passes_seconds = 0, machine_code_seconds = 0, link_seconds = 0;  // most of codegen_seconds
  int64_t compiled_modules = 0, reused_modules = 0;  // of LLVM, one for each kernel; the latter from the cache
  int64_t kernel_count = 0;
  int64_t fused_instruction_count = 0;  // instructions that live inside a fusion
  int64_t generated_code_bytes = 0;
  int64_t workspace_bytes = 0;  // that kernels work in, besides the arena: from a pool of the process
};

// The rows of passes::FormatTimings for all phases of a compilation.
std::string FormatPhases(const CompileStatistics& statistics);

struct CompileOptions {
  // Threads that one kernel may use; 0 means as many as the pool has.
  int max_parallelism = 0;
  // Passes to leave out, by name.
  std::vector<std::string> disabled_passes;
  // As in passes::PipelineOptions.
  bool verify_each_pass = false;
  // Effort of LLVM's code generator, 0 to 3; below 0: as usual.
  int optimization_level = -1;
  // As in passes::CpuPipeline.
  bool fast_math = false;
  // Whether machine code of earlier compilations may serve: see object_cache.h.
  bool reuse_code = true;
  // Compile returns when the program is planned and emitted, and other threads go on making its machine code: see
  // Executable::HasCode. Not so where there is one CPU, or an observer, who is told of the end.
  bool in_background = false;
  // Every run prints to standard error where its time went. Such a program cannot be serialized.
  bool profile = false;
  // May be null.
  CompileObserver* observer = nullptr;
  // Bytes that temporaries should stay below, if need be by computing values again; 0: no limit.
  int64_t memory_limit = 0;
  // Null: every custom call that no pass expands is unknown.
  CustomCallResolver custom_calls;
};

// One output leaf of the program, tuples flattened in pre-order.
struct OutputLeaf {
  // The parameter leaf whose buffer this output takes over when that argument is donated.
  std::optional<int64_t> aliased_parameter;
  bool must_alias = false;
};

// How an instruction became code.
struct CompiledOperation {
  std::string instruction;
  std::string kind;                    // "kernel", "matrix product", or the opcode of what has an emitter of its own
  std::string schedule;                // of a kernel with its nests, a product, a chain; or empty
  std::vector<std::string> functions;  // symbols in the assembly; none: it stands in the program's own function
  double nanoseconds = 0;              // estimate for one thread; 0: none
};

// The code of a program for people, made anew on demand.
struct CodeView {
  std::vector<CompiledOperation> operations;  // in the order of the program
  std::string llvm_ir;                        // before LLVM's passes
  std::string assembly;
};

// Immutable after Compile and safe to run from many threads at once.
class Executable {
 public:
  // Optimizes `module` and compiles it. The module must be verified. Fails with UNIMPLEMENTED, naming the op and its
  // location, when something in it has no generated code. An error of LLVM's is Run's where code is made in the
  // background.
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<hlo::Module> module,
                                                             const CompileOptions& options);
  // An executable from what Serialize gave, without compiling: by the same build of Kiln on the same kind of processor.
  // Other bytes are refused, but damage to the machine code itself is not seen here: see runtime/serialization.h.
  // `program` is the optimized module that went with the image; custom calls are found in it. It may be null where
  // there are none.
  static absl::StatusOr<std::unique_ptr<Executable>> Load(absl::string_view image, std::unique_ptr<hlo::Module> program,
                                                          const CustomCallResolver& custom_calls);
  virtual ~Executable() = default;

  // Whether the machine code is there. Run, Serialize and statistics wait for it.
  virtual bool HasCode() const { return true; }
  // Calls `callback` once it is: at once, or from the thread that made it.
  virtual void OnCode(std::function<void()> callback) const { callback(); }

  // The module after optimization (fusions visible); its entry layout equals the compiled one. Null after Load
  // without a program.
  virtual const hlo::Module* module() const = 0;
  // The machine code and all that Run needs, for Load. Fails for code that is bound to this process.
  virtual absl::StatusOr<std::string> Serialize() const = 0;

  // Flattened leaves (tuples in pre-order) of the entry's parameters and of its result. A leaf buffer is dense, in the
  // leaf shape's layout, with pred and sub-byte types one byte per element.
  virtual absl::Span<const hlo::Shape> parameter_leaves() const = 0;
  virtual absl::Span<const hlo::Shape> output_leaves() const = 0;
  virtual absl::Span<const OutputLeaf> output_aliases() const = 0;
  // Parameter leaves that the caller gives up although no output takes over their buffer.
  virtual absl::Span<const int64_t> donated_parameters() const { return {}; }

  // Bytes and alignment (64) of the scratch memory that one run needs.
  virtual int64_t arena_bytes() const = 0;

  // Estimated nanoseconds of one run on one thread; the runtime runs short programs inline. Programs with loops whose
  // trip count is unknown report a large number.
  virtual int64_t estimated_nanoseconds() const = 0;
  // Those of them that one thread takes whatever the number of threads: short operations, and those in loops.
  virtual int64_t lone_nanoseconds() const = 0;

  // Custom calls that the program makes, each a call site.
  virtual int64_t custom_call_count() const = 0;

  // Runs the program to its end on the calling thread and `pool` (null: calling thread alone). `arguments` and
  // `results` point to the leaf buffers; `results[i]` may equal the argument it is aliased with and nothing else;
  // buffers are aligned to 64 bytes, except arguments, which may be aligned to their element only. `arena` holds
  // arena_bytes(). `custom_calls` is passed on to the custom calls; when one fails, the program stops there and results
  // are undefined.
  virtual absl::Status Run(absl::Span<const void* const> arguments, absl::Span<void* const> results, void* arena,
                           ThreadPool* pool, CustomCallRun* custom_calls = nullptr) const = 0;

  virtual const CompileStatistics& statistics() const = 0;
  // Assembly and LLVM IR of the whole program, made anew on demand.
  virtual absl::StatusOr<std::string> LlvmIr() const = 0;
  virtual absl::StatusOr<std::string> Assembly() const = 0;
  virtual absl::StatusOr<CodeView> Code() const = 0;
  // Kernels with the schedule of each nest, in the order of the program, as text.
  virtual absl::StatusOr<std::string> KernelSchedules() const = 0;
  // Where every value lives, made anew on demand; and as text.
  virtual absl::StatusOr<analysis::MemoryPlan> PlannedMemory() const = 0;
  absl::StatusOr<std::string> MemoryPlan() const;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_EXECUTABLE_H_
