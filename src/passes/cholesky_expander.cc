#include "src/passes/cholesky_expander.h"

#include <limits>
#include <vector>

#include "src/base/status.h"
#include "src/passes/matrix_stack.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

ArrayValue ZeroIndex(const ArrayValue& i) { return i.Number(int64_t{0}); }

// Columns `first` + 0, 1, ... of the factor, from the same columns of the matrix without the share of those before;
// `panel` is a stack of tall matrices. Rows above the diagonal become 0.
ArrayValue FactorizePanel(const ArrayValue& panel, const ArrayValue& first) {
  const int64_t count = panel.shape().dimensions(0), rows = panel.shape().dimensions(1),
                columns = panel.shape().dimensions(2);
  const ArrayValue zeros = ZeroOf(panel).Broadcast(panel.shape().dimensions(), {});
  auto column_of = [&](const ArrayValue& c, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &given = values[0], &done = values[1], &start = values[2];
    const ArrayValue zero = ZeroIndex(c), diagonal = start + c;
    const ArrayValue own = done.DynamicSlice({zero, diagonal, zero}, {count, 1, columns}).Reshape({count, columns});
    const ArrayValue column = given.DynamicSlice({zero, zero, c}, {count, rows, 1}).Reshape({count, rows}) -
                              BatchedDot(done, Conjugate(own), 1, 2, 1);
    const ArrayValue pivot = RealPart(column.DynamicSlice({zero, diagonal}, {count, 1})).Reshape({count});
    const ArrayValue root = pivot.Unary(Opcode::kSqrt);
    const ArrayValue spread = FromReal(root, column).Broadcast({count, rows}, {0});
    const ArrayValue row = Iota(c.builder(), PrimitiveType::kS32, {count, rows}, 1);
    const ArrayValue below = Select(row > diagonal, column / spread, ZeroOf(column));
    const ArrayValue next = Select(row == diagonal, spread, below);
    return {given, done.DynamicUpdate(next.Reshape({count, rows, 1}), {zero, zero, c}), start};
  };
  return CountedLoop({panel, zeros, first}, columns, column_of)[1];
}

// The lower factors of a stack of matrices, of which the lower triangles count.
ArrayValue Factorize(const ArrayValue& matrices) {
  const int64_t count = matrices.shape().dimensions(0), n = matrices.shape().dimensions(1);
  const ArrayValue origin(matrices.builder(), matrices.builder()->Scalar(PrimitiveType::kS32, 0));
  if (n <= kMatrixBlock) return FactorizePanel(matrices, origin);
  const int64_t blocks = (n + kMatrixBlock - 1) / kMatrixBlock, padded = blocks * kMatrixBlock;
  // What is added has 1 on the diagonal.
  const std::vector<int64_t> dimensions = {count, padded, padded};
  ArrayValue work = matrices.PadHigh(dimensions, ZeroOf(matrices));
  if (padded > n) {
    const ArrayValue row = Iota(work.builder(), PrimitiveType::kS32, dimensions, 1);
    const ArrayValue column = Iota(work.builder(), PrimitiveType::kS32, dimensions, 2);
    const ArrayValue added = (row == column) & (row >= row.Number(n));
    work = Select(added, work.Number(1.0), work);
  }
  auto block_of = [&](const ArrayValue& i, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue zero = ZeroIndex(i), start = i * i.Number(kMatrixBlock);
    const ArrayValue &given = values[0], &done = values[1];
    const ArrayValue own = done.DynamicSlice({zero, start, zero}, {count, kMatrixBlock, padded});
    const ArrayValue panel = given.DynamicSlice({zero, zero, start}, {count, padded, kMatrixBlock}) -
                             BatchedDot(done, Conjugate(own), 1, 2, 2);
    return {given, done.DynamicUpdate(FactorizePanel(panel, start), {zero, zero, start})};
  };
  const ArrayValue zeros = ZeroOf(work).Broadcast(dimensions, {});
  return CountedLoop({work, zeros}, blocks, block_of)[1].Slice(1, 0, n).Slice(2, 0, n);
}

// NaN throughout the triangle of every factor whose diagonal is not positive everywhere.
ArrayValue RefuseIndefinite(const ArrayValue& factors) {
  Builder* builder = factors.builder();
  const int64_t count = factors.shape().dimensions(0);
  const auto& dimensions = factors.shape().dimensions();
  const ArrayValue row = Iota(builder, PrimitiveType::kS32, dimensions, 1);
  const ArrayValue column = Iota(builder, PrimitiveType::kS32, dimensions, 2);
  const ArrayValue real = RealPart(factors);
  const ArrayValue fine = (row != column) | (real > real.Number(0.0));
  const ArrayValue definite(
      builder, builder->Reduce(fine.instruction(), builder->Scalar(PrimitiveType::kPred, 1), {1, 2}, Opcode::kAnd));
  const ArrayValue nan = factors.Number(std::numeric_limits<double>::quiet_NaN());
  return Select(definite.Broadcast({count, dimensions[1], dimensions[2]}, {0}), factors,
                Triangle(nan, /*lower=*/true, /*strict=*/false));
}

Instruction* ExpandCholeskyOp(Instruction* instruction) {
  Builder builder(instruction->parent(), instruction);
  const ArrayValue operand(&builder, instruction->operand(0));
  if (operand.shape().element_count() == 0) return operand.instruction();
  const bool lower = instruction->Get<hlo::CholeskyAttributes>().lower;
  ArrayValue matrices = AsStack(operand);
  if (!lower) matrices = Conjugate(Transposed(matrices));
  ArrayValue factors = RefuseIndefinite(Factorize(matrices));
  if (!lower) factors = Conjugate(Transposed(factors));
  return FromStack(factors, operand.shape()).instruction();
}

}  // namespace

absl::StatusOr<bool> ExpandCholesky(Module* module, bool keeps_real) {
  return ReplaceOps(module, {Opcode::kCholesky}, [&](Instruction* instruction) {
    return keeps_real && IsReal(instruction->shape()) ? nullptr : ExpandCholeskyOp(instruction);
  });
}

}  // namespace kiln::passes
