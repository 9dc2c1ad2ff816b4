#include "src/passes/triangular_solve_expander.h"

#include <vector>

#include "src/base/status.h"
#include "src/passes/matrix_stack.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// Systems this small fuse with what is around them, unless they are many.
constexpr int64_t kFewUnknowns = 4;
constexpr int64_t kManySystems = 256;

// A stack of systems M X = B with triangular M.
struct Systems {
  ArrayValue strict;    // M without its diagonal: [count, n, n]
  ArrayValue diagonal;  // [count, n]
  bool unit_diagonal;   // `diagonal` counts as ones
  bool lower;
};

// The s-th of `count` rows or blocks in the order of the substitution.
ArrayValue InOrder(const Systems& systems, const ArrayValue& s, int64_t count) {
  return systems.lower ? s : s.Number(count - 1) - s;
}

ArrayValue SolveByRows(const Systems& systems, const ArrayValue& b) {
  const int64_t count = b.shape().dimensions(0), n = b.shape().dimensions(1), columns = b.shape().dimensions(2);
  auto row_of = [&](const ArrayValue& s, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &strict = values[0], &diagonal = values[1], &right = values[2], &solved = values[3];
    const ArrayValue zero = s.Number(int64_t{0}), row = InOrder(systems, s, n);
    const ArrayValue factors = strict.DynamicSlice({zero, row, zero}, {count, 1, n}).Reshape({count, n});
    ArrayValue x = right.DynamicSlice({zero, row, zero}, {count, 1, columns}).Reshape({count, columns}) -
                   BatchedDot(factors, solved, 1, 1, 1);
    if (!systems.unit_diagonal) {
      const ArrayValue pivot = diagonal.DynamicSlice({zero, row}, {count, 1}).Reshape({count});
      x = x / pivot.Broadcast({count, columns}, {0});
    }
    return {strict, diagonal, right, solved.DynamicUpdate(x.Reshape({count, 1, columns}), {zero, row, zero})};
  };
  const ArrayValue zeros = ZeroOf(b).Broadcast(b.shape().dimensions(), {});
  return CountedLoop({systems.strict, systems.diagonal, b, zeros}, n, row_of)[3];
}

ArrayValue Solve(const Systems& systems, const ArrayValue& b) {
  const int64_t count = b.shape().dimensions(0), n = b.shape().dimensions(1), columns = b.shape().dimensions(2);
  if (n <= kMatrixBlock) return SolveByRows(systems, b);
  const int64_t blocks = (n + kMatrixBlock - 1) / kMatrixBlock, padded = blocks * kMatrixBlock;
  const ArrayValue zero_number = ZeroOf(b);
  const ArrayValue one(b.builder(), b.builder()->Constant(hlo::OneLiteral(b.type())));
  // What is added are the equations x = 0.
  const ArrayValue strict = systems.strict.PadHigh({count, padded, padded}, zero_number);
  const ArrayValue diagonal = systems.diagonal.PadHigh({count, padded}, one);
  const ArrayValue right = b.PadHigh({count, padded, columns}, zero_number);
  auto block_of = [&](const ArrayValue& s, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &matrix = values[0], &pivots = values[1], &given = values[2], &solved = values[3];
    const ArrayValue zero = s.Number(int64_t{0}), block = InOrder(systems, s, blocks);
    const ArrayValue start = block * block.Number(kMatrixBlock);
    const ArrayValue rows = matrix.DynamicSlice({zero, start, zero}, {count, kMatrixBlock, padded});
    const ArrayValue rest =
        given.DynamicSlice({zero, start, zero}, {count, kMatrixBlock, columns}) - BatchedDot(rows, solved, 1, 2, 1);
    Systems own = systems;
    own.strict = matrix.DynamicSlice({zero, start, start}, {count, kMatrixBlock, kMatrixBlock});
    own.diagonal = pivots.DynamicSlice({zero, start}, {count, kMatrixBlock});
    return {matrix, pivots, given, solved.DynamicUpdate(SolveByRows(own, rest), {zero, start, zero})};
  };
  const ArrayValue zeros = zero_number.Broadcast(right.shape().dimensions(), {});
  return CountedLoop({strict, diagonal, right, zeros}, blocks, block_of)[3].Slice(1, 0, n);
}

Instruction* ExpandTriangularSolve(Instruction* instruction) {
  const auto& attributes = instruction->Get<hlo::TriangularSolveAttributes>();
  Builder builder(instruction->parent(), instruction);
  const ArrayValue right(&builder, instruction->operand(1));
  if (right.shape().element_count() == 0) return right.instruction();
  ArrayValue matrix = AsStack({&builder, instruction->operand(0)});
  ArrayValue b = AsStack(right);
  // X op(A) = B is solved as op(A)^T X^T = B^T.
  const bool transposed = (attributes.transpose_a != hlo::TransposeKind::kNoTranspose) == attributes.left_side;
  if (transposed) matrix = Transposed(matrix);
  if (attributes.transpose_a == hlo::TransposeKind::kAdjoint) matrix = Conjugate(matrix);
  if (!attributes.left_side) b = Transposed(b);
  Systems systems;
  systems.lower = attributes.lower != transposed;
  systems.unit_diagonal = attributes.unit_diagonal;
  systems.strict = Triangle(matrix, systems.lower, /*strict=*/true);
  systems.diagonal = Diagonal(matrix);
  ArrayValue x = Solve(systems, b);
  if (!attributes.left_side) x = Transposed(x);
  return FromStack(x, right.shape()).instruction();
}

}  // namespace

absl::StatusOr<bool> ExpandTriangularSolves(Module* module, bool keeps_real) {
  return ReplaceOps(module, {Opcode::kTriangularSolve}, [&](Instruction* instruction) -> Instruction* {
    const Shape& matrix = instruction->operand(0)->shape();
    const int64_t n = matrix.dimensions(matrix.rank() - 1);
    const bool leaves =
        keeps_real && IsReal(matrix) && (n > kFewUnknowns || matrix.element_count() >= kManySystems * n * n);
    return leaves ? nullptr : ExpandTriangularSolve(instruction);
  });
}

}  // namespace kiln::passes
