#include "src/passes/lapack_expander.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// A call's matrix, its last two dimensions, and what it was called with.
struct LapackCall {
  absl::string_view routine;  // without the letter of the type
  Instruction* instruction = nullptr;
  int64_t m = 0, n = 0;

  const Shape& shape() const { return instruction->operand(0)->shape(); }
  int64_t rank() const { return shape().rank(); }
  std::vector<Instruction*> operands() const {
    return {instruction->operands().begin(), instruction->operands().end()};
  }
  // Integers per matrix of the stack, `last` of them where it is not negative.
  Shape IntegersPerMatrix(int64_t last) const {
    DimensionVector dimensions(shape().dimensions().begin(), shape().dimensions().end() - 2);
    if (last >= 0) dimensions.push_back(last);
    return Shape(PrimitiveType::kS32, dimensions);
  }
  bool Gives(const Shape& result) const { return Shape::Compatible(instruction->shape(), result); }
};

std::optional<LapackCall> LapackCallOf(Instruction* instruction) {
  const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
  if (call == nullptr || instruction->operand_count() == 0) return std::nullopt;
  LapackCall lapack{.routine = call->target, .instruction = instruction};
  if (!absl::ConsumePrefix(&lapack.routine, "lapack_") || !absl::ConsumeSuffix(&lapack.routine, "_ffi") ||
      lapack.routine.empty() || !lapack.shape().IsArray() || lapack.rank() < 2) {
    return std::nullopt;
  }
  constexpr std::pair<char, PrimitiveType> kTypes[] = {
      {'s', PrimitiveType::kF32}, {'d', PrimitiveType::kF64}, {'c', PrimitiveType::kC64}, {'z', PrimitiveType::kC128}};
  if (!absl::c_linear_search(kTypes, std::pair(lapack.routine.front(), lapack.shape().element_type()))) {
    return std::nullopt;
  }
  lapack.routine.remove_prefix(1);
  lapack.m = lapack.shape().dimensions(lapack.rank() - 2);
  lapack.n = lapack.shape().dimensions(lapack.rank() - 1);
  return lapack;
}

// Of the dictionary that a call comes with, as in {diag = 85 : ui8, uplo = 76 : ui8}: the letter under `name`; 0 where
// there is none.
char LetterOf(const LapackCall& call, absl::string_view name) {
  absl::string_view config = call.instruction->backend_config();
  const size_t start = config.find(absl::StrCat(name, " = "));
  if (start == absl::string_view::npos || (start > 0 && absl::ascii_isalnum(config[start - 1]))) return 0;
  config.remove_prefix(start + name.size() + 3);
  int letter = 0;
  return absl::SimpleAtoi(config.substr(0, config.find_first_of(" ,}")), &letter) ? static_cast<char>(letter) : 0;
}

// The 1-based number of the first row whose diagonal element is `bad`, 0 where none is: what routines say of failure.
ArrayValue FirstOnDiagonal(const LapackCall& call, const ArrayValue& bad) {
  Builder* builder = bad.builder();
  const absl::Span<const int64_t> dimensions = bad.shape().dimensions();
  const int64_t rank = call.rank();
  const ArrayValue rows = Iota(builder, PrimitiveType::kS32, dimensions, rank - 2),
                   columns = Iota(builder, PrimitiveType::kS32, dimensions, rank - 1);
  const ArrayValue none = rows.Number(int64_t{std::numeric_limits<int32_t>::max()});
  const ArrayValue numbers = Select((rows == columns) & bad, rows + rows.Number(int64_t{1}), none);
  const ArrayValue first(
      builder,
      builder->Reduce(numbers.instruction(), builder->Scalar(PrimitiveType::kS32, std::numeric_limits<int32_t>::max()),
                      {rank - 2, rank - 1}, Opcode::kMinimum));
  return Select(first == first.Number(int64_t{std::numeric_limits<int32_t>::max()}), first.Number(int64_t{0}), first);
}

// (factor, info); the other triangle is the operand's.
Instruction* ExpandPotrf(Builder* builder, const LapackCall& call) {
  const char uplo = LetterOf(call, "uplo");
  const Shape info = call.IntegersPerMatrix(-1);
  if ((uplo != 'L' && uplo != 'U') || call.m != call.n || !call.Gives(Shape::Tuple({call.shape(), info})))
    return nullptr;
  const ArrayValue matrix(builder, call.instruction->operand(0));
  const ArrayValue factor(builder, builder->Add(Opcode::kCholesky, call.shape(), {matrix.instruction()},
                                                hlo::CholeskyAttributes{.lower = uplo == 'L'}));
  const absl::Span<const int64_t> dimensions = call.shape().dimensions();
  const ArrayValue rows = Iota(builder, PrimitiveType::kS32, dimensions, call.rank() - 2),
                   columns = Iota(builder, PrimitiveType::kS32, dimensions, call.rank() - 1);
  const ArrayValue whole = Select(uplo == 'L' ? rows >= columns : rows <= columns, factor, matrix);
  return builder->Tuple({whole.instruction(), FirstOnDiagonal(call, factor != factor).instruction()});
}

// (both factors, rows that were exchanged, from 1 on, info).
Instruction* ExpandLu(Builder* builder, const LapackCall& call) {
  const Shape pivots = call.IntegersPerMatrix(std::min(call.m, call.n)), info = call.IntegersPerMatrix(-1);
  if (!call.Gives(Shape::Tuple({call.shape(), pivots, info}))) return nullptr;
  Instruction* lu =
      builder->Add(Opcode::kCustomCall, Shape::Tuple({call.shape(), pivots, call.IntegersPerMatrix(call.m)}),
                   {call.instruction->operand(0)}, hlo::CustomCallAttributes{.target = "LuDecomposition"});
  const ArrayValue factors(builder, builder->GetTupleElement(lu, 0)),
      exchanged(builder, builder->GetTupleElement(lu, 1));
  const ArrayValue zero = factors.Number(0.0);
  return builder->Tuple({factors.instruction(), (exchanged + exchanged.Number(int64_t{1})).instruction(),
                         FirstOnDiagonal(call, factors == zero).instruction()});
}

Instruction* ExpandSolve(Builder* builder, const LapackCall& call) {
  const char side = LetterOf(call, "side"), uplo = LetterOf(call, "uplo"), transposed = LetterOf(call, "trans_x"),
             diagonal = LetterOf(call, "diag");
  const auto is_one_of = [](char letter, absl::string_view letters) { return absl::c_linear_search(letters, letter); };
  if (call.instruction->operand_count() != 2 || call.m != call.n || !is_one_of(side, "LR") || !is_one_of(uplo, "LU") ||
      !is_one_of(transposed, "NTC") || !is_one_of(diagonal, "UN")) {
    return nullptr;
  }
  const Shape& given = call.instruction->operand(1)->shape();
  if (!given.IsArray() || given.rank() != call.rank()) return nullptr;
  Shape sides = call.shape();
  const int64_t free = call.rank() - (side == 'L' ? 1 : 2);
  sides.set_dimensions(free, given.dimensions(free));
  if (!Shape::Compatible(sides, given) || !call.Gives(given)) return nullptr;
  hlo::TriangularSolveAttributes solve{
      .left_side = side == 'L', .lower = uplo == 'L', .unit_diagonal = diagonal == 'U'};
  solve.transpose_a = transposed == 'N'   ? hlo::TransposeKind::kNoTranspose
                      : transposed == 'T' ? hlo::TransposeKind::kTranspose
                                          : hlo::TransposeKind::kAdjoint;
  return builder->Add(Opcode::kTriangularSolve, call.instruction->shape(), call.operands(), solve);
}

// QR, and Q from its reflectors, by Kiln's own calls of the same operands and results.
Instruction* ExpandReflectors(Builder* builder, const LapackCall& call, absl::string_view own) {
  constexpr int64_t kLeastSide = 25;  // below, LAPACK's takes less time
  if (std::min(call.m, call.n) < kLeastSide) return nullptr;
  return builder->Add(Opcode::kCustomCall, call.instruction->shape(), call.operands(),
                      hlo::CustomCallAttributes{.target = std::string(own)});
}

Instruction* ExpandLapackCall(Instruction* instruction) {
  const std::optional<LapackCall> call = LapackCallOf(instruction);
  if (!call) return nullptr;
  Builder builder(instruction->parent(), instruction);
  if (call->routine == "trsm") return ExpandSolve(&builder, *call);
  if (!hlo::IsFloating(call->shape().element_type())) return nullptr;
  if (call->routine == "potrf") return ExpandPotrf(&builder, *call);
  if (call->routine == "getrf") return ExpandLu(&builder, *call);
  if (call->routine == "geqrf") return ExpandReflectors(&builder, *call, "Qr");
  if (call->routine == "orgqr") return ExpandReflectors(&builder, *call, "ProductOfElementaryHouseholderReflectors");
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> ExpandLapack(Module* module) {
  return ReplaceOps(module, {Opcode::kCustomCall}, ExpandLapackCall);
}

}  // namespace kiln::passes
