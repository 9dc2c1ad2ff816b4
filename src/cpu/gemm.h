// Matrix multiplication as generated code: out[b, m, n] = epilogue(sum over k of lhs[b, m, k] * rhs[b, k, n]).
//
// Use: PlanGemm chooses the schedule, EmitGemm adds its functions to a module, and whoever runs the code calls
// plan.phases in order, each over all of its tasks (in any order, on any threads) before the next one begins, as often
// as there are rounds.
#ifndef KILN_CPU_GEMM_H_
#define KILN_CPU_GEMM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "src/hlo/primitive_type.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::cpu {

// Where a matrix's elements lie: strides count elements and may be anything from 0 up.
struct GemmMatrix {
  hlo::PrimitiveType type = hlo::PrimitiveType::kF32;
  int64_t row_stride = 0;     // lhs: m, rhs: k, out: m
  int64_t column_stride = 1;  // lhs: k, rhs: n, out: n
};

// One batch dimension, or an outer part of m or k; a stride of 0 repeats an operand.
struct GemmBatchDimension {
  int64_t size = 1;
  int64_t lhs_stride = 0;
  int64_t rhs_stride = 0;
  int64_t out_stride = 0;
};

// A stretch of one row of the result (or of one column, where lanes_along_m) that the epilogue works on.
struct GemmEpilogueArguments {
  llvm::IRBuilder<>* builder = nullptr;
  llvm::Value* extra = nullptr;        // the function's `extra` argument
  llvm::Value* batch_index = nullptr;  // i64, over all batch dimensions and outer rows, the first one slowest
  llvm::Value* m_index = nullptr;      // i64, of lane 0
  llvm::Value* n_index = nullptr;      // i64, of lane 0
  bool lanes_along_m = false;          // lanes are consecutive in m instead of n
  int lanes = 1;                       // all of them exist: loads of this many elements are in bounds
};

// Maps the product, converted to result_type, to the value that is stored, of out.type. Emits straight-line code or
// whole blocks; the builder goes on where it stops. Is called once per vector of each kernel variant.
using GemmEpilogue =
    std::function<absl::StatusOr<kernel::Value>(const GemmEpilogueArguments& arguments, const kernel::Value& result)>;

// A piece of an operand that is made where it is packed or read: `outer_count` rows from row `outer` on, of
// `inner_count` elements from `inner` on. Rows are the operand's in memory if it were there: along k or along the side.
struct GemmOperandArguments {
  llvm::IRBuilder<>* builder = nullptr;
  llvm::Value *to = nullptr, *extra = nullptr, *batch_index = nullptr;
  llvm::Value *outer = nullptr, *inner = nullptr, *outer_count = nullptr, *inner_count = nullptr;
};
using GemmOperand = std::function<absl::Status(const GemmOperandArguments& arguments)>;

// How the pieces are laid out: rows `pitch` elements apart or, where there are panels, in micro-tiles of `panel`
// columns each, `panel_stride` elements apart. Along rows, pieces begin at multiples of `run`.
struct GemmOperandPlace {
  int64_t pitch = 0, panel = 0, panel_stride = 0;
  int64_t run = 1;
};

// One dimension of an lhs that is copied first, with zeros before, behind and between its elements. Innermost ones are
// contiguous.
struct GemmPadding {
  int64_t size = 1;      // of lhs as the caller passes it
  int64_t low = 0;       // zeros before it; negative: elements left out
  int64_t dilation = 1;  // distance of its elements
  int64_t padded = 1;    // of the copy
};

// One dimension of space of a convolution. Strides count elements of one place, tap or input.
struct GemmWindow {
  int64_t places = 1;  // of the result
  int64_t inputs = 1, taps = 1;
  int64_t stride = 1, dilation = 1;
  int64_t low = 0;  // zeros before the first input; negative: inputs left out
  int64_t lhs = 0, rhs = 0, out = 0;
};

struct GemmSpec {
  std::vector<GemmBatchDimension> batch;
  // Outer parts of m and of k, the slowest first: `m` and `k` are the innermost parts then.
  std::vector<GemmBatchDimension> outer_rows;
  std::vector<GemmBatchDimension> outer_steps;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;  // 0 gives zeros
  // When not empty: the dimensions of lhs, which is copied into a padded array. Strides of lhs are that array's.
  std::vector<GemmPadding> padding;
  bool padding_is_shared = false;  // by several products: the copy is made whole
  bool padded_before = false;  // a product with the same padding has just run in the same scratch: its copy is there
  // Elements before the first ones of lhs (in the padded array, if there is one), rhs and out.
  int64_t lhs_offset = 0;
  int64_t rhs_offset = 0;
  int64_t out_offset = 0;
  // When not 0: column n meets lhs elements of its own, n / column_group * column_group_stride behind those of
  // column 0.
  int64_t column_group = 0;
  int64_t column_group_stride = 0;
  // When not empty: rows are the batch, then these places, nothing of lhs is padded, and the product is one of
  // group_product.h if there is a column_group, otherwise of winograd.h, whose k counts channels.
  std::vector<GemmWindow> windows;
  GemmMatrix lhs;
  GemmMatrix rhs;
  GemmMatrix out;
  // The product's own type: sums are kept in f32 (f16, bf16, f32), f64, or integers of at least 32 bits, and rounded or
  // wrapped to it once. Differs from out.type only with an epilogue.
  hlo::PrimitiveType result_type = hlo::PrimitiveType::kF32;
  GemmEpilogue epilogue;  // may be empty
  // Operands that are no arrays: multiply-adds that stand for making an element, 0 of an array; and once the product is
  // planned, the code. Their strides are those of the array that they would be.
  double lhs_work = 0, rhs_work = 0;
  GemmOperand make_lhs, make_rhs;
};

// The choices, as data: PlanGemm fills it in. A test may change it as far as the members say, and then calls
// FinishGemmPlan again.
struct GemmSchedule {
  enum class Kind : uint8_t {
    kTile,      // rows x vectors accumulators, lhs elements broadcast against rhs vectors along n
    kBlocks,    // the same, of kernels compiled with Kiln, packed by each task (gemm_blocks.h); blocks nest k, m, n
    kGroups,    // lanes are columns with lhs elements of their group, of kernels compiled with Kiln (group_product.h)
    kWinograd,  // tiles of transformed inputs times transformed weights (winograd.h); blocks nest n, m
    kRows,      // vectors along k, of kernels compiled with Kiln (row_product.h): lhs has the few rows, or `few_columns`
    kDot,       // vectors along k, summed across lanes in the end: few rows, rhs contiguous in k
  };
  Kind kind = Kind::kTile;
  bool swapped = false;  // computes the transposed product: below, "m", "lhs" and "rows" then mean n, rhs and columns
  int lanes = 1;
  int rows = 1;     // of a micro-tile
  int vectors = 1;  // per row of a micro-tile; kDot: columns of a micro-tile
  int unroll = 1;   // of the loop over k
  // Steps of k that one instruction multiplies and adds: 2 for bf16, 4 for bytes, where the host can. Both sides are in
  // memory as groups of them then: rhs packed, lhs packed or contiguous along a k that is a multiple of it.
  int depth = 1;
  bool few_columns = false;  // kRows: rhs has few columns
  bool amx = false;  // kBlocks: sixteen rows, columns and steps with one instruction
  bool pack_lhs = false;
  bool pack_rhs = false;
  bool rows_first = false;  // kTile: each tile of rows passes by all columns of a task, as the result lies in memory
  int64_t m_block = 0;  // of a task; a multiple of rows, to which m is rounded up where there are outer rows
  int64_t n_block = 0;  // of a task; a multiple of vectors * lanes
  // What one round packs and multiplies, so that scratch memory stays small; 0: all. Multiples of the block.
  int64_t batch_chunk = 0;
  int64_t m_chunk = 0;       // only of lhs that is packed, or padded and cut along the outermost rows
  int64_t n_chunk = 0;       // only of packed, or transformed, rhs
  int64_t padded_bytes = 0;  // with an m_chunk of a padded lhs: what its copy may take
  int64_t k_block = 0;       // all steps when the sum is made in one go; a multiple of k where there are outer ones

  // Whether its loops are compiled with Kiln.
  bool IsCompiled() const { return kind != Kind::kTile && kind != Kind::kDot; }
};

// All phases have this signature. lhs, rhs, out and extra as the spec says, scratch of plan.scratch_bytes aligned to 64
// (null when 0); runs tasks [begin, end). `out` may overlap no operand, MayOverwriteOperand() aside, but an
// epilogue may read the elements of `out` that it replaces.
using GemmFunction = void(const void* lhs, const void* rhs, void* out, void* scratch, void* const* extra, int64_t begin,
                          int64_t end);

struct GemmPhase {
  std::string function;  // name in the module, of a GemmFunction
  int64_t tasks = 0;     // of a round: round number r runs [r * tasks, (r + 1) * tasks)
  int64_t grain = 1;     // tasks that are worth a thread's while: what ParallelFor takes
};

struct GemmPlan {
  GemmSchedule schedule;
  std::vector<GemmPhase> phases;  // packing, when there is any, then the product
  int64_t rounds = 1;             // in which all phases run, one round after the other
  int64_t scratch_bytes = 0;
  double multiply_adds = 0;
  int64_t estimated_nanoseconds = 0;  // on one thread
};

// The type in which operands that are made (lhs_work, rhs_work) are stored where elements have `type`: f32 for bf16
// that is multiplied one by one, and not in pairs.
hlo::PrimitiveType MadeType(const GemmSpec& spec, hlo::PrimitiveType type);

// Chooses a schedule for the host, to be run by up to `threads` threads. `name` prefixes the functions' names. Fails
// with UNIMPLEMENTED for element types without a product here (8-bit floats and narrower), and with INVALID_ARGUMENT
// for negative sizes or strides, mixtures of types that no dot has, and sizes past 2^47 bytes.
absl::StatusOr<GemmPlan> PlanGemm(const GemmSpec& spec, absl::string_view name, int threads);

// The plan of a plain product of kernels compiled with Kiln (gemm_blocks.h), not swapped; nothing where there are none
// for it or, unless it may have `any_size`, it is too small for them.
std::optional<GemmPlan> PlanGemmBlocks(const GemmSpec& spec, absl::string_view name, int threads,
                                       bool any_size = false);

// Whether the result may have the place of lhs or rhs, if its elements have as many bytes.
bool MayOverwriteOperand(const GemmSpec& spec, const GemmPlan& plan);

// For people: the sizes as the schedule has them, tile, task, phases.
std::string ToString(const GemmSpec& spec, const GemmPlan& plan);

// Recomputes everything in the plan that follows from its schedule.
absl::Status FinishGemmPlan(const GemmSpec& spec, absl::string_view name, GemmPlan& plan);

// Of a plan of kernels compiled with Kiln: its description as it stands in memory, and functions, which are added to
// `module`: from sums to results, null where sums are the results,
struct GemmBlocksParts {
  std::vector<int64_t> description;
  llvm::Function* finish = nullptr;
  llvm::Function *make_lhs = nullptr, *make_rhs = nullptr;  // of operands that are made
};
absl::StatusOr<GemmBlocksParts> EmitGemmBlocks(const GemmSpec& spec, const GemmPlan& plan, absl::string_view name,
                                               llvm::Module& module);

// Of a plan with operands that are made: where their pieces go.
GemmOperandPlace PlaceOfOperand(const GemmSpec& spec, const GemmPlan& plan, bool is_lhs);

// Whether the phase only calls code that is compiled with Kiln: then it is not worth a module of its own.
bool IsOneCall(const GemmSpec& spec, const GemmPlan& plan, size_t phase);

// Adds the function that plan.phases[phase] names, and internal helpers, to `module`, and returns it; its name is
// another one when the module has that already. All sizes and strides become constants. Phases may go to different
// modules.
absl::StatusOr<llvm::Function*> EmitGemmPhase(const GemmSpec& spec, const GemmPlan& plan, size_t phase,
                                              llvm::Module& module);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_H_
