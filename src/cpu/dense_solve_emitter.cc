// Factorizations and triangular solves of real matrices: calls of dense_solver.h.
#include <algorithm>
#include <limits>
#include <optional>

#include "src/cpu/dense_solver.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/runtime_call.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

namespace {

// `shape` without its last dimensions, then `last`.
Shape VectorsOf(const Shape& shape, PrimitiveType type, int64_t last) {
  hlo::DimensionVector dimensions(shape.dimensions().begin(), shape.dimensions().end() - 2);
  dimensions.push_back(last);
  return Shape(type, dimensions);
}

// Whether the custom call is one of those below, with operands and result as they should be.
bool ReadCustomCall(const Instruction& instruction, DenseSolve* solve) {
  const auto* call = instruction.GetIf<hlo::CustomCallAttributes>();
  if (call == nullptr || instruction.operand_count() == 0) return false;
  const Shape& shape = instruction.operand(0)->shape();
  if (!shape.IsArray() || shape.rank() < 2) return false;
  const PrimitiveType type = shape.element_type();
  const int64_t m = shape.dimensions(shape.rank() - 2), n = shape.dimensions(shape.rank() - 1), k = std::min(m, n);
  const bool is_unary = instruction.operand_count() == 1;
  const auto gives = [&](const Shape& result) { return Shape::Compatible(instruction.shape(), result); };
  if (call->target == "LuDecomposition") {
    solve->kind = DenseSolve::kLu;
    return is_unary && m <= std::numeric_limits<int32_t>::max() &&
           gives(Shape::Tuple({shape, VectorsOf(shape, PrimitiveType::kS32, k),
                               VectorsOf(shape, PrimitiveType::kS32, m)}));
  }
  if (call->target == "Qr") {
    solve->kind = DenseSolve::kQr;
    return is_unary && shape.element_count() > 0 && gives(Shape::Tuple({shape, VectorsOf(shape, type, k)}));
  }
  if (call->target != "ProductOfElementaryHouseholderReflectors" || instruction.operand_count() != 2) return false;
  const Shape& taus = instruction.operand(1)->shape();
  if (!taus.IsArray() || taus.rank() != shape.rank() - 1) return false;
  solve->kind = DenseSolve::kReflectors;
  solve->steps = taus.dimensions(taus.rank() - 1);
  return solve->steps <= k && shape.element_count() > 0 && gives(shape) &&
         Shape::Compatible(taus, VectorsOf(shape, type, solve->steps));
}

// The operand that results take the place of: right sides with solutions, else a matrix with what is made of it.
int64_t ReplacedOperand(const DenseSolve& solve) { return solve.kind == DenseSolve::kTriangular ? 1 : 0; }

std::optional<DenseSolve> SolveOf(const Instruction& instruction) {
  DenseSolve solve;
  if (instruction.opcode() == Opcode::kCholesky) {
    solve.kind = DenseSolve::kCholesky;
    if (instruction.Get<hlo::CholeskyAttributes>().lower) solve.flags |= DenseSolve::kLower;
  } else if (instruction.opcode() == Opcode::kTriangularSolve) {
    solve.kind = DenseSolve::kTriangular;
    const auto& attributes = instruction.Get<hlo::TriangularSolveAttributes>();
    if (attributes.lower) solve.flags |= DenseSolve::kLower;
    if (attributes.unit_diagonal) solve.flags |= DenseSolve::kUnitDiagonal;
    if (attributes.transpose_a != hlo::TransposeKind::kNoTranspose) solve.flags |= DenseSolve::kTransposed;
    if (!attributes.left_side) solve.flags |= DenseSolve::kRightSide;
  } else if (!ReadCustomCall(instruction, &solve)) {
    return std::nullopt;
  }
  const Shape& shape = instruction.operand(ReplacedOperand(solve))->shape();
  if (shape.element_type() != PrimitiveType::kF32 && shape.element_type() != PrimitiveType::kF64) return std::nullopt;
  solve.width = hlo::ByteWidth(shape.element_type());
  solve.count = 1;
  for (int64_t d = 0; d < shape.rank() - 2; ++d) solve.count *= shape.dimensions(d);
  solve.rows = shape.dimensions(shape.rank() - 2);
  solve.columns = shape.dimensions(shape.rank() - 1);
  return solve;
}

absl::Status EmitDenseSolve(llvm::IRBuilder<>* builder, const Instruction& instruction, const OpArrays& arrays) {
  const DenseSolve solve = *SolveOf(instruction);
  // A matrix without columns still has a permutation.
  if (solve.count * solve.rows == 0 || (solve.columns == 0 && solve.kind != DenseSolve::kLu)) return absl::OkStatus();
  llvm::IRBuilder<>& b = *builder;
  llvm::Value* constant =
      ConstantStruct(b, {solve.kind, solve.width, solve.count, solve.rows, solve.columns, solve.flags, solve.steps});
  CallRuntime(b, kDenseSolveName, {arrays.context, constant, PointerTable(b, arrays.All()), arrays.scratch});
  return absl::OkStatus();
}

// Each task reads what it replaces before it writes.
bool DenseSolveMayShare(const Instruction& instruction, int64_t leaf, int64_t operand) {
  return leaf == 0 && operand == ReplacedOperand(*SolveOf(instruction));
}

}  // namespace

constexpr OpEmitter kDenseSolveEmitter = {[](const Instruction& i) { return SolveOf(i).has_value(); },
                                          [](const Instruction& i) { return DenseSolveScratchBytes(*SolveOf(i)); },
                                          [](const Instruction& i) { return DenseSolveNanoseconds(*SolveOf(i)); },
                                          EmitDenseSolve, DenseSolveMayShare};

}  // namespace kiln::cpu
