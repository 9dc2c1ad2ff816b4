// What fusion knows of single instructions: which may live inside a fusion, what evaluating one element costs, and how
// often the elements of an operand are evaluated when a user is.
#ifndef KILN_ANALYSIS_FUSION_MODEL_H_
#define KILN_ANALYSIS_FUSION_MODEL_H_

#include <cstdint>
#include <optional>

#include "src/analysis/box.h"
#include "src/hlo/instruction.h"

namespace kiln::analysis {

enum class EvaluationCost : uint8_t {
  kFree,       // a change of index, or a value made from nothing
  kCheap,      // an instruction or few per element: evaluating twice beats a trip through memory
  kExpensive,  // divisions, transcendentals, gathers: never evaluated more often than there are elements
};
EvaluationCost CostOf(const hlo::Instruction& instruction);

// Row-major, static, an array: what generated loops work on.
bool HasPlainShape(const hlo::Instruction& instruction);

// Elementwise over plain shapes; copies and bitcast-converts of equal width included.
bool IsElementwiseLike(const hlo::Instruction& instruction);

// May be evaluated inside another instruction's loop, element by element.
bool IsLoopProducer(const hlo::Instruction& instruction);

// May be what a loop fusion computes. Reshapes may not: alone they are no code at all.
bool IsLoopRoot(const hlo::Instruction& instruction);

// Constants small enough to be part of the code.
bool IsInlineConstant(const hlo::Instruction& instruction);

// Made anew in every fusion that wants it, whatever other users it has: inline constants, iota, splats.
bool IsRematerialized(const hlo::Instruction& instruction);

// Computed from indices and constants alone, in few steps: every kernel makes it anew.
bool IsMadeFromNothing(const hlo::Instruction& value, int steps = 4);

// Computed elementwise from arguments, in so many cheap steps at most: made anew it needs no memory but what is taken
// anyway.
bool IsMadeFromArguments(const hlo::Instruction& value, int steps);

// The work of a kernel of its own, around which fusions form: reduce, dot, convolution.
bool IsReduction(const hlo::Instruction& instruction);
bool IsContraction(const hlo::Instruction& instruction);

// Whether a dot may make operand number `index` where it reads it, block by block: of matrices of floats that are as
// large as its kernels' tiles at least.
bool MakesOperand(const hlo::Instruction& dot, int64_t index);

// Whether a dot that makes `operand` makes each element once: the other side is one block.
bool MakesOnce(const hlo::Instruction& dot, const hlo::Instruction& operand);

// The bytes of arrays that `value` is made of elementwise, by steps that nothing else reads; nothing where it is no
// such value, or is made of what a kernel makes that would store `value` as well. `cheap`: without functions before the
// last step.
std::optional<double> BytesMadeOf(const hlo::Instruction& value, bool cheap);

// Whether dear values and products that only `value` is made of, at cheap steps, are more bytes than it is: whoever
// makes it again has them stored in its place.
bool IsMadeOfMore(const hlo::Instruction& value);

// A concatenate of columns, each element of which is evaluated where its column is known: as one code for all columns,
// where elements are stored in their order (ColumnsOf), or in a gather that reads indices so.
bool JoinsColumns(const hlo::Instruction& instruction);

// Whether what it joins, of so many pieces at most, had better be stored in a loop for each of them.
bool CheaperAsPieces(const hlo::Instruction& concatenate, int64_t max_pieces = 32);

// What a dynamic-update-slice writes, where its start is known; of one in a fusion, `fusion`.
std::optional<Box> UpdatedBox(const hlo::Instruction& update, const hlo::Instruction* fusion = nullptr);

// Whether that is at least half of the array: to write it elsewhere, with a copy of what is around it, costs little
// more than to write it in place.
bool UpdatesMost(const Box& box, const hlo::Shape& array);

// The parts of a piece of what is joined that are loops of their own, each met by one piece of what is joined before:
// an array that is rolled along several dimensions comes from its corners. The piece begins at `start`.
std::vector<Box> BoxesOf(const hlo::Instruction& piece, const hlo::DimensionVector& start);

// Whether a fusion with this root that goes by pieces goes by those of `concatenate` as well.
bool IsCutWith(const hlo::Instruction& root, const hlo::Instruction& concatenate);

// Whether several of the pieces that it joins are made of something expensive, or of some cheap ops.
bool PiecesShareWork(const hlo::Instruction& concatenate);

// A dimension of so many elements may run inside the lanes, where what does not depend on it is computed once. Rows of
// more are too many streams: a rope of 32 rows of 2048 by 128 took 2.4 times as long as with tables.
inline constexpr int64_t kMaxRepeats = 8;

// One way in which a fusion evaluates an instruction. Generated code is shared between equal maps only.
struct IndexPath {
  uint64_t map = 0;        // identifies the index map from the fusion's loops; 0 is the identity
  double evaluations = 0;  // how many elements are evaluated this way
  // The map, and a hash of the dimensions it leads to, from which this one came by changes of shape alone: whoever has
  // these dimensions again is back at it.
  uint64_t ordered_map = 0;
  uint64_t ordered_dimensions = 0;
  // The map along which elements are met in their order, so that columns go by blocks of one element from each, and how
  // many they are in a row; 0: any number.
  uint64_t block_map = 0;
  int64_t block_row = 0;
  // How often each element is evaluated because the first dimension of the fusion's result does not change it.
  double repeats = 1;

  // The identity over results of these dimensions.
  static IndexPath Whole(const hlo::Shape& shape);
};

// The columns that become the elements of a fusion's `root` in their order, by what changes each alone; null where
// there are none.
const hlo::Instruction* ColumnsOf(const hlo::Instruction& root);

// Whether a reduce may reduce so many elements beside each other first, of each row that it meets.
bool ReducesBlocks(const hlo::Instruction& reduce);

// The path of operand `index` of `user`, when `user` is evaluated along `path`.
IndexPath PathOfOperand(const hlo::Instruction& user, int64_t index, IndexPath path);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_FUSION_MODEL_H_
