// State shared by the parts that emit a matrix product: packing, micro-kernels, and the loops around them.
#ifndef KILN_CPU_GEMM_EMITTER_H_
#define KILN_CPU_GEMM_EMITTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "src/base/rounding.h"
#include "src/cpu/gemm.h"
#include "src/cpu/gemm_layout.h"
#include "src/cpu/gemm_types.h"

namespace kiln::cpu {

class GemmEmitter {
 public:
  GemmEmitter(const GemmSpec& spec, const GemmPlan& plan, const GemmArithmetic& arithmetic, llvm::Module& module);

  // One GemmFunction each; `name` as in the plan.
  // The function with everything that it calls.
  absl::StatusOr<llvm::Function*> EmitPack(const std::string& name);
  absl::StatusOr<llvm::Function*> EmitProduct(const std::string& name);
  // What EmitGemmBlocks says.
  absl::StatusOr<GemmBlocksParts> EmitBlocksParts(const std::string& name);

 private:
  // The arguments of a GemmFunction.
  struct Entry {
    llvm::Function* function;
    llvm::Value *lhs, *rhs, *out, *scratch, *extra, *begin, *end;
  };
  // A task of one of the phases: its number in the round, and which chunk the round works on.
  struct Round {
    llvm::Value *task, *batch, *m, *n;  // the chunk's first batch, row and column
    llvm::Value* m_index;               // the chunk's number along m
    // Whether packed lhs and rhs are still there from the round before.
    llvm::Value *lhs_is_packed, *rhs_is_packed;
  };
  Round RoundOf(llvm::Value* task, int64_t tasks_per_round);
  // What a micro-kernel works on: pointers to the tile's first lhs row and rhs column at its first k, and the tile's
  // place.
  struct Tile {
    llvm::Value *lhs, *rhs, *out, *extra, *batch, *m, *n;
    // When the sum over k is made in several goes: steps in this go, whether it is the first or the last, and where the
    // partial sums of the tile are.
    llvm::Value *steps = nullptr, *first = nullptr, *last = nullptr, *partial = nullptr;
    // With outer steps: the first of them in this go, which `steps` counts then.
    llvm::Value* outer_step = nullptr;
  };
  using Sums = std::vector<GemmValue>;  // [row][vector]
  enum class Operand : uint8_t { kLhs, kRhs, kOut };

  // gemm.cc
  Entry BeginFunction(const std::string& name);
  // Element offset in an operand, as the caller passes it, of iteration `index` of all `dimensions`.
  llvm::Value* Offset(const std::vector<GemmBatchDimension>& dimensions, llvm::Value* index, Operand operand);
  llvm::Value* BatchOffset(llvm::Value* batch, Operand operand) { return Offset(problem_.batch, batch, operand); }
  // base + elements * element_bytes.
  llvm::Value* At(llvm::Value* base, llvm::Value* elements, int64_t element_bytes);
  llvm::Value* At(llvm::Value* base, int64_t bytes);
  llvm::Value* Scale(llvm::Value* value, int64_t factor);
  // A pointer whose arithmetic loop passes do not look into: their time grows with every formula that they can see.
  llvm::Value* Opaque(llvm::Value* pointer) { return b_.CreateFreeze(pointer); }
  // body(index, count) for every tile of [begin, end), a part of a side of `size` that begins with a whole tile; the
  // last tile of the side is what is left of it.
  void EmitTiles(const char* name, llvm::Value* begin, llvm::Value* end, int64_t size, int64_t tile,
                 const std::function<void(llvm::Value*, int64_t)>& body);
  // Columns n0 to n0 + columns of the rows [m_begin, m_end).
  absl::Status EmitColumnPanel(const Tile& origin, llvm::Value* n0, int64_t columns, llvm::Value* m_begin,
                               llvm::Value* m_end, llvm::Value* k0);
  absl::Status CallMicroKernel(const Tile& origin, llvm::Value* m0, llvm::Value* n0, llvm::Value* k0, int64_t rows,
                               int64_t columns);

  // gemm_blocks_emitter.cc
  // A function of Kiln's own, whose first argument is `description` as a constant.
  void CallCompiled(const char* name, const std::vector<int64_t>& description, std::vector<llvm::Value*> arguments);
  absl::Status EmitBlocks(const Entry& entry);
  absl::StatusOr<llvm::Function*> EmitFinish();
  absl::StatusOr<llvm::Function*> EmitMake(const std::string& name, const GemmOperand& make);

  // gemm_micro_kernel.cc
  absl::StatusOr<llvm::Function*> MicroKernel(int64_t rows, int64_t columns);
  absl::Status EmitTileBody(const Tile& tile, int64_t rows, int64_t columns);
  Sums ZeroSums(int64_t count);
  // Phi nodes that are `sums` where control comes from `from`; what they are elsewhere is added.
  Sums PhisOf(const Sums& sums, llvm::BasicBlock* from);
  void AddIncoming(const Sums& phis, const Sums& sums, llvm::BasicBlock* from);
  Sums EmitTileSum(const Tile& tile, int64_t rows, int64_t columns, Sums sums);
  Sums EmitGoSum(const Tile& tile, int64_t rows, int64_t columns, Sums sums);
  // Whether the groups of lhs have 128 added (GemmArithmetic::MultiplyAddGroups).
  bool AddsOffset() const { return GemmArithmetic::AddsOffset(problem_.lhs_type, problem_.rhs_type, problem_.depth); }
  // All of the innermost k.
  Sums EmitInnerSum(llvm::Value* lhs, llvm::Value* rhs, int64_t rows, int64_t columns, Sums sums);
  // sums = body(index, sums) for `count` >= 1 indices from `begin` on.
  Sums EmitOuterSum(llvm::Value* begin, llvm::Value* count, Sums sums,
                    const std::function<Sums(llvm::Value*, Sums)>& body);
  // The products of step `u` counted from the pointers.
  void EmitTileStep(llvm::Value* lhs, llvm::Value* rhs, int64_t u, int64_t rows, int64_t columns, Sums& sums);
  // Runs `steps` steps, `unroll` per turn; `steps` is a multiple of it. `step` emits turn number u from the pointers.
  Sums EmitSumLoop(llvm::Value* turns, int64_t unroll, llvm::Value*& lhs, llvm::Value*& rhs, Sums sums,
                   const std::function<void(llvm::Value*, llvm::Value*, int64_t, Sums&)>& step, int64_t lhs_bytes,
                   int64_t rhs_bytes);
  GemmValue LoadLhs(llvm::Value* pointer);
  // The lhs elements that the columns of vector `vector` meet, where each has its own.
  GemmValue LoadLhsLanes(llvm::Value* pointer, int64_t vector, int64_t columns);
  GemmValue LoadRhs(llvm::Value* pointer, int64_t vector, int64_t columns);

  // gemm_dot_kernel.cc
  absl::Status EmitDotBody(const Tile& tile, int64_t rows, int64_t columns);
  llvm::Value* SumAcrossLanes(std::vector<llvm::Value*> vectors);

  // gemm_store.cc
  absl::Status EmitStores(const Tile& tile, int64_t rows, int64_t columns, const Sums& sums);
  // One vector of sums through the epilogue, in its memory form.
  absl::StatusOr<GemmValue> FinishVector(const Tile& tile, int64_t row, int64_t column, int lanes,
                                         const GemmValue& sum);
  llvm::Value* OutPointer(const Tile& tile, int64_t row, int64_t column);
  // Four neighbouring rows in memory, from tile.m on, of one vector of finished columns.
  void StoreTransposed(const Tile& tile, int64_t column, const std::vector<llvm::Value*>& rows);
  // The columns of one row from `first_column`, which begins a vector, on; `sums` are their vectors.
  absl::Status EmitRowStores(const Tile& tile, int64_t row, int64_t first_column, int64_t columns,
                             const GemmValue* sums);
  // One vector of `lanes` sums, all of which exist, at row m + row and column n + column.
  absl::Status EmitStore(const Tile& tile, int64_t row, int64_t column, int lanes, const GemmValue& sum);
  void TransferPartial(const Tile& tile, Sums& sums, bool load);
  // Zeros, or in a later go the partial sums of the one before.
  Sums StartSums(const Tile& tile, int64_t count);
  // Emits finish(sums) for the last go; earlier ones leave the sums as partial.
  absl::Status FinishSums(const Tile& tile, Sums sums, const std::function<absl::Status(Sums&)>& finish);
  void StoreScattered(llvm::Value* pointer, int64_t stride_bytes, llvm::Value* value, int bytes);
  GemmValue Slice(const GemmValue& value, int first, int lanes);

  // gemm_load.cc: elements `stride` apart from `pointer` on, `count` of them in `lanes` lanes; the lanes behind hold
  // zero or garbage.
  GemmValue LoadLanes(llvm::Value* pointer, hlo::PrimitiveType type, int64_t stride, int64_t count, int lanes);
  llvm::Value* LoadContiguous(llvm::Value* pointer, llvm::Type* scalar, int bytes, int64_t count, int lanes);
  // With a depth: groups of `steps` elements `k_stride` apart, the rest of each group zero, as 32-bit lanes.
  llvm::Value* LoadGroups(llvm::Value* pointer, hlo::PrimitiveType type, int64_t k_stride, int64_t steps,
                          int64_t stride, int64_t count, int lanes);
  // A mask of the first `count` of `lanes`.
  llvm::Constant* LaneMask(int lanes, int64_t count);
  void StoreNative(llvm::Value* pointer, const GemmValue& value, int64_t part_stride_bytes, bool aligned);

  // gemm_pack.cc
  void PackLhsTask(const Entry& entry, const Round& round, llvm::Value* task);
  // What packing needs to know of an operand: the micro-tiles' width and the stride along it, and the chunk's begin.
  struct PackedSide {
    const GemmOperandLayout& layout;
    bool repeats;
    int64_t tile, stride;
    hlo::PrimitiveType type;
    llvm::Value* first;
  };
  PackedSide SideOf(Operand operand, const Round& round) const;
  // Whether a packing task has anything to pack.
  llvm::Value* Exists(Operand operand, const Round& round, llvm::Value* task);
  // The micro-tile of a packing task: its first row or column, and where it is and goes.
  struct Panel {
    llvm::Value *first, *from, *to;
  };
  Panel PanelOf(Operand operand, const Entry& entry, const Round& round, llvm::Value* task);
  // pack(count) for the micro-tile from `first` on, which is whole or what is left of the side.
  void PackWholeOrCut(llvm::Value* first, int64_t size, int64_t tile, const std::function<void(int64_t)>& pack);
  // gemm_padding.cc: row number `row` of the padded copy of lhs, which stands at number `slot` in the round.
  void PadRow(const std::vector<GemmPadding>& padding, const Entry& entry, llvm::Value* row, llvm::Value* slot);
  // With zeros around and between its elements.
  void CopyPaddedRow(const GemmPadding& row, llvm::Value* from, llvm::Value* to);
  void PackRhsTask(const Entry& entry, const Round& round, llvm::Value* task);
  void PackLhsRows(llvm::Value* from, llvm::Value* to, llvm::Value* rows);
  void PackLhsGroups(llvm::Value* from, llvm::Value* to);
  // body(k, elements in the step) for every step of the innermost k.
  void EmitGroups(const std::function<void(llvm::Value*, int64_t)>& body);
  void PackLhsTile(llvm::Value* from, llvm::Value* to, int64_t rows);
  // The columns of the micro-tile from n0 on and `steps` steps: those of the innermost k, or all that there are, which
  // are neighbours in memory then.
  void PackRhsColumns(llvm::Value* from, llvm::Value* to, llvm::Value* n0, bool transpose, int64_t steps);
  // Inner and outer steps by their distance in rhs, the largest first; `packed` is that in packed rows.
  struct StoredSteps {
    int64_t size, stride, packed;
  };
  std::vector<StoredSteps> StepsInMemory() const;
  bool StepsAreNeighbours() const;
  // The packed row of step number `k` in memory.
  llvm::Value* PackedStep(llvm::Value* k);
  void PackRhsPanel(llvm::Value* from, llvm::Value* to, int64_t columns);
  void PackRhsTransposed(llvm::Value* from, llvm::Value* to, llvm::Value* columns, int64_t all_steps);

  int64_t LhsBytes() const { return layout_.lhs.element_bytes; }
  int64_t RhsBytes() const { return layout_.rhs.element_bytes; }
  int64_t StoredElement(hlo::PrimitiveType type) const {
    return int64_t{GemmArithmetic::StoredBytes(type)} * (hlo::IsComplex(type) ? 2 : 1);
  }
  // Steps of k that a transposing copy handles at once: 128 bits of the sum's type.
  int TransposeSteps() const { return 16 / arithmetic_.part_bytes(); }
  int64_t VectorsOf(int64_t columns) const { return CeilDivide(columns, schedule_.lanes); }
  int64_t TileColumns() const { return dot_ ? schedule_.vectors : int64_t{schedule_.vectors} * schedule_.lanes; }
  // Bytes of partial sums per element of a task's block: kDot keeps a vector for each.
  int64_t PartialBytes() const { return arithmetic_.element_bytes() * (dot_ ? schedule_.lanes : 1); }
  bool InParts() const { return schedule_.k_block < problem_.k_total(); }
  llvm::Value* Int(int64_t value) { return b_.getInt64(value); }

  const GemmSpec& spec_;
  const GemmSchedule schedule_;
  const GemmArithmetic arithmetic_;
  GemmProblem problem_;
  const GemmLayout layout_;
  const bool dot_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::string name_;
  std::map<std::pair<int64_t, int64_t>, llvm::Function*> micro_kernels_;
};

// `vectors` are as many as elements fit in 128 bits (2 or 4): exchanges vector number and position inside each group of
// that many lanes.
void TransposeInGroups(llvm::IRBuilder<>& b, std::vector<llvm::Value*>& vectors, int lanes);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_EMITTER_H_
