#include "src/passes/qr_expander.h"

#include <algorithm>
#include <vector>

#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/passes/householder.h"
#include "src/passes/matrix_stack.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

constexpr char kQr[] = "Qr";
constexpr char kProduct[] = "ProductOfElementaryHouseholderReflectors";

// How many of so many reflectors are applied together.
int64_t BlockFor(int64_t steps) { return std::clamp<int64_t>(steps, 1, kReflectorBlock); }

ArrayValue Number(Builder* builder, int64_t value) {
  return {builder, builder->Scalar(PrimitiveType::kS32, static_cast<double>(value))};
}

Reflectors FactorizeQr(const ArrayValue& matrices) {
  const int64_t count = matrices.shape().dimensions(0), m = matrices.shape().dimensions(1),
                n = matrices.shape().dimensions(2), steps = std::min(m, n);
  if (n <= kReflectorBlock) {
    const Reflectors all =
        FactorizeColumns(matrices.PadHigh({count, std::max(m, n), n}, ZeroOf(matrices)), Number(matrices.builder(), 0));
    return {all.packed.Slice(1, 0, m), all.taus.Slice(1, 0, steps)};
  }
  // Added rows and columns are 0, and so are their reflectors' factors.
  const int64_t block = BlockFor(steps), padded = RoundUp(steps, block), rows = std::max(m, padded),
                columns = std::max(n, padded);
  auto block_of = [&](const ArrayValue& i, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &packed = values[0], &taus = values[1];
    const ArrayValue zero = i.Number(int64_t{0}), start = i * i.Number(block);
    const ArrayValue panel = packed.DynamicSlice({zero, zero, start}, {count, rows, block});
    const Reflectors own = FactorizeColumns(panel, start);
    // Of columns alone, so that the product that reflects them can select as well.
    const ArrayValue place = Iota(i.builder(), PrimitiveType::kS32, {columns}, 0);
    const ArrayValue later = (place >= start + start.Number(block)).Broadcast(packed.shape().dimensions(), {2});
    const ArrayValue reflected = Select(later, Reflect(BlockOf(own, start), /*adjoint=*/true, packed), packed);
    return {reflected.DynamicUpdate(own.packed, {zero, zero, start}), taus.DynamicUpdate(own.taus, {zero, start})};
  };
  const ArrayValue zero = ZeroOf(matrices);
  const auto results = CountedLoop(
      {matrices.PadHigh({count, rows, columns}, zero), zero.Broadcast({count, padded}, {})}, padded / block, block_of);
  return {results[0].Slice(1, 0, m).Slice(2, 0, n), results[1].Slice(1, 0, steps)};
}

// The first n columns of the product of the reflectors in the first columns of `packed`, [count, m, n].
ArrayValue Product(const ArrayValue& packed, const ArrayValue& taus) {
  const int64_t count = packed.shape().dimensions(0), m = packed.shape().dimensions(1),
                n = packed.shape().dimensions(2), steps = taus.shape().dimensions(1);
  const int64_t block = BlockFor(steps), padded = RoundUp(steps, block), rows = std::max(m, padded),
                blocks = padded / block;
  Builder* builder = packed.builder();
  const ArrayValue zero_number = ZeroOf(packed);
  const DimensionVector dimensions = {count, rows, n};
  const ArrayValue on =
      Iota(builder, PrimitiveType::kS32, dimensions, 1) == Iota(builder, PrimitiveType::kS32, dimensions, 2);
  const ArrayValue one(builder, builder->Constant(hlo::OneLiteral(packed.type())));
  const ArrayValue identity = Select(on, one, zero_number);
  auto block_of = [&](const ArrayValue& i, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &product = values[0], &given = values[1], &factors = values[2];
    const ArrayValue zero = i.Number(int64_t{0}), start = (i.Number(blocks - 1) - i) * i.Number(block);
    const Reflectors own = {given.DynamicSlice({zero, zero, start}, {count, rows, block}),
                            factors.DynamicSlice({zero, start}, {count, block})};
    return {Reflect(BlockOf(own, start), /*adjoint=*/false, product), given, factors};
  };
  const ArrayValue vectors = packed.Slice(2, 0, steps).PadHigh({count, rows, padded}, zero_number);
  const ArrayValue factors = taus.PadHigh({count, padded}, zero_number);
  return CountedLoop({identity, vectors, factors}, blocks, block_of)[0].Slice(1, 0, m);
}

bool IsMatrices(const Shape& shape) {
  return shape.IsArray() && shape.rank() >= 2 &&
         (hlo::IsFloating(shape.element_type()) || hlo::IsComplex(shape.element_type()));
}

// `shape` without its last two dimensions, then `last`.
DimensionVector TausOf(const Shape& shape, int64_t last) {
  DimensionVector dimensions(shape.dimensions().begin(), shape.dimensions().end() - 2);
  dimensions.push_back(last);
  return dimensions;
}

absl::StatusOr<Instruction*> ExpandQrCall(Instruction* instruction, bool keeps_real) {
  const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
  if (call == nullptr || (call->target != kQr && call->target != kProduct)) return nullptr;
  Builder builder(instruction->parent(), instruction);
  const bool factorize = call->target == kQr;
  const bool counted = instruction->operand_count() == (factorize ? 1 : 2);
  if (!counted || !IsMatrices(instruction->operand(0)->shape())) {
    return InvalidArgument(instruction->Describe(), ": expected matrices", factorize ? "" : " and vectors");
  }
  const ArrayValue operand(&builder, instruction->operand(0));
  const Shape& shape = operand.shape();
  const int64_t m = shape.dimensions(shape.rank() - 2), n = shape.dimensions(shape.rank() - 1);
  if (factorize) {
    const Shape taus(shape.element_type(), TausOf(shape, std::min(m, n)));
    if (!Shape::Compatible(instruction->shape(), Shape::Tuple({shape, taus}))) {
      return InvalidArgument(instruction->Describe(), ": the result has shape ", instruction->shape().ToString(),
                             ", expected ", Shape::Tuple({shape, taus}).ToString());
    }
    if (keeps_real && IsReal(shape) && shape.element_count() > 0) return nullptr;
    if (shape.element_count() == 0) return builder.Tuple({operand.instruction(), builder.Splat(taus, 0.0)});
    const Reflectors result = FactorizeQr(AsStack(operand));
    return builder.Tuple({FromStack(result.packed, shape).instruction(), FromStack(result.taus, taus).instruction()});
  }
  const ArrayValue taus(&builder, instruction->operand(1));
  const int64_t steps = taus.shape().rank() > 0 ? taus.shape().dimensions(taus.shape().rank() - 1) : -1;
  if (steps < 0 || steps > std::min(m, n) ||
      !Shape::Compatible(taus.shape(), Shape(shape.element_type(), TausOf(shape, steps))) ||
      !Shape::Compatible(instruction->shape(), shape)) {
    return InvalidArgument(instruction->Describe(), ": the vectors have shape ", taus.shape().ToString(),
                           " and the result ", instruction->shape().ToString(), ", which does not fit matrices of ",
                           shape.ToString());
  }
  if (shape.element_count() == 0) return operand.instruction();
  if (keeps_real && IsReal(shape)) return nullptr;
  const ArrayValue packed = AsStack(operand);
  const ArrayValue factors = taus.Reshape({packed.shape().dimensions(0), steps}).Convert(packed.type());
  return FromStack(Product(packed, factors), shape).instruction();
}

}  // namespace

absl::StatusOr<bool> ExpandQr(Module* module, bool keeps_real) {
  return ReplaceOps(module, {Opcode::kCustomCall},
                    [keeps_real](Instruction* instruction) { return ExpandQrCall(instruction, keeps_real); });
}

}  // namespace kiln::passes
