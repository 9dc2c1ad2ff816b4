// CHLO: functions without an opcode, ops that broadcast their operands, and predicates.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/special_functions.h"

namespace kiln::stablehlo {
namespace {

using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Opcode;
using passes::ArrayValue;

absl::Status RequireFloats(const OpImport& op) {
  for (const Instruction* operand : op.operands()) {
    const hlo::Shape& shape = operand->shape();
    if (!shape.IsArray() || !hlo::IsFloating(shape.element_type()) ||
        !hlo::Shape::Compatible(shape, op.operand_shape(0))) {
      return op.Invalid("an operand is ", shape.ToString(false), ", expected floats",
                        op.operand_count() > 1 ? " of one type and shape" : "");
    }
  }
  return absl::OkStatus();
}

ArrayValue Atan(const ArrayValue& x) { return x.Binary(Opcode::kAtan2, x.Number(1.0)); }

// As an operand of a function that is written out: XLA converts bf16 to f32, so that it may come unrounded.
ArrayValue FunctionOperand(hlo::Builder* builder, const OpImport& op, int64_t index) {
  const ArrayValue value(builder, op.operand(index));
  return value.type() == hlo::PrimitiveType::kBF16 ? value.Convert(hlo::PrimitiveType::kF32) : value;
}

template <ArrayValue (*kFunction)(const ArrayValue&)>
absl::Status ImportChloFunction(OpImport& op) {
  KILN_RETURN_IF_ERROR(RequireFloats(op));
  hlo::Builder builder(op.body().computation(), nullptr);
  ArrayValue result =
      kFunction(kFunction == Atan ? ArrayValue(&builder, op.operand(0)) : FunctionOperand(&builder, op, 0));
  if (hlo::IsFloating(result.type())) result = result.Convert(op.operand_shape(0).element_type());
  op.AnnotateAll(builder);
  return op.Define(result.instruction());
}

template <ArrayValue (*kFunction)(const ArrayValue&, const ArrayValue&)>
absl::Status ImportFunctionOfTwo(OpImport& op) {
  KILN_RETURN_IF_ERROR(RequireFloats(op));
  if (kFunction == NextAfter && hlo::BitWidth(op.operand_shape(0).element_type()) < 16) {
    return op.Unsupported("of ", op.operand_shape(0).ToString(false), "; expected floats of 16 bits or more");
  }
  hlo::Builder builder(op.body().computation(), nullptr);
  const auto operand = [&](int64_t index) {
    return kFunction == NextAfter ? ArrayValue(&builder, op.operand(index)) : FunctionOperand(&builder, op, index);
  };
  const ArrayValue result = kFunction(operand(0), operand(1)).Convert(op.operand_shape(0).element_type());
  op.AnnotateAll(builder);
  return op.Define(result.instruction());
}

enum class Infinity { kAny, kPositive, kNegative };

template <Infinity kWhich>
ArrayValue IsInfinite(const ArrayValue& x) {
  const ArrayValue value = kWhich == Infinity::kAny ? x.Unary(Opcode::kAbs) : x;
  const ArrayValue wide = value.Convert(hlo::PrimitiveType::kF64);  // Not every narrow type has infinities.
  return Compare(hlo::ComparisonDirection::kEq, wide,
                 wide.Number(kWhich == Infinity::kNegative ? -HUGE_VAL : HUGE_VAL));
}

absl::Status ImportConj(OpImport& op) {
  if (!hlo::IsComplex(op.operand_shape(0).element_type())) return op.Define(op.operand(0));
  const hlo::Shape& shape = op.operand_shape(0);
  const hlo::Shape part = hlo::ChangeElementType(shape, hlo::ComplexComponentType(shape.element_type()));
  Instruction* imaginary = op.Add(Opcode::kNegate, part, {op.Add(Opcode::kImag, part, op.operands())});
  return op.Define(op.Add(Opcode::kComplex, shape, {op.Add(Opcode::kReal, part, op.operands()), imaginary}));
}

absl::Status ImportSquare(OpImport& op) {
  return op.Define(op.Add(Opcode::kMultiply, op.operand_shape(0), {op.operand(0), op.operand(0)}));
}

absl::Status ImportTopK(OpImport& op) {
  hlo::TopKAttributes top_k;
  KILN_ASSIGN_OR_RETURN(top_k.k, op.Integer("k"));
  return op.Finish(Opcode::kTopK, op.operands(), top_k);
}

// A scalar in the shape of the operand.
absl::Status ImportConstantLike(OpImport& op) {
  const hlo::Shape& shape = op.operand_shape(0);
  const mlir::AttributeRef value = op.attribute("value");
  const auto integer = mlir::AsInteger(value);
  const auto real = mlir::AsDouble(value);
  if (!shape.IsArray() || (!integer.has_value() && !real.has_value())) {
    return op.Invalid("attribute value must be a number");
  }
  const hlo::Shape scalar = hlo::Shape::Scalar(shape.element_type());
  hlo::Literal literal = integer.has_value() ? hlo::LiteralOf(scalar, *integer) : hlo::LiteralOf(scalar, *real);
  Instruction* constant = op.Add(Opcode::kConstant, scalar, {}, hlo::ConstantAttributes{std::move(literal)});
  return op.Define(op.Add(Opcode::kBroadcast, shape, {constant}, hlo::DimensionsAttributes{}));
}

// `operand` in the shape that operands of these dimensions have together: the last ones meet unless `map` says which
// dimension of the result each of them is; those of size 1 are repeated.
Instruction* BroadcastTogether(OpImport& op, Instruction* operand, const DimensionVector& dimensions,
                               const DimensionVector& map) {
  const hlo::Shape shape = operand->shape();
  if (shape.dimensions() == dimensions) return operand;
  DimensionVector kept, kept_map;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape.dimensions(i) == 1 && dimensions[map[i]] != 1) continue;
    kept.push_back(shape.dimensions(i));
    kept_map.push_back(map[i]);
  }
  Instruction* reshaped = op.Add(Opcode::kReshape, hlo::Shape(shape.element_type(), kept), {operand});
  return op.Add(Opcode::kBroadcast, hlo::Shape(shape.element_type(), dimensions), {reshaped},
                hlo::DimensionsAttributes{kept_map});
}

// chlo.broadcast_NAME: NAME over operands that are broadcast together.
absl::Status ImportBroadcasting(OpImport& op) {
  int64_t rank = 0;
  for (const Instruction* operand : op.operands()) {
    if (!operand->shape().IsArray())
      return op.Invalid("an operand is ", operand->shape().ToString(false), ", expected arrays");
    rank = std::max(rank, operand->shape().rank());
  }
  std::vector<DimensionVector> maps;
  for (const Instruction* operand : op.operands()) {
    DimensionVector map;
    for (int64_t i = 0; i < operand->shape().rank(); ++i) map.push_back(rank - operand->shape().rank() + i);
    if (op.attribute("broadcast_dimensions") != nullptr && operand->shape().rank() < rank) {
      KILN_ASSIGN_OR_RETURN(map, op.IntegersOf("broadcast_dimensions", operand->shape().rank()));
      if (!std::is_sorted(map.begin(), map.end()) || (!map.empty() && (map[0] < 0 || map.back() >= rank))) {
        return op.Invalid("attribute broadcast_dimensions must hold ascending dimensions below ", rank);
      }
    }
    maps.push_back(std::move(map));
  }
  DimensionVector dimensions(rank, 1);
  for (size_t k = 0; k < op.operand_count(); ++k) {
    for (size_t i = 0; i < maps[k].size(); ++i) {
      const int64_t size = op.operand_shape(k).dimensions(static_cast<int64_t>(i));
      int64_t& whole = dimensions[maps[k][i]];
      if (size != 1 && whole != 1 && size != whole) {
        return op.Invalid("operands ", op.operand_shape(0).ToString(false), " and ",
                          op.operand_shape(k).ToString(false), " cannot be broadcast together");
      }
      if (whole == 1) whole = size;
    }
  }
  std::vector<Instruction*> operands;
  for (size_t k = 0; k < op.operand_count(); ++k) {
    operands.push_back(BroadcastTogether(op, op.operand(k), dimensions, maps[k]));
  }
  op.set_operands(std::move(operands));
  const absl::string_view name = absl::StripPrefix(op.name(), "chlo.broadcast_");
  const OpRow* row = FindOp(absl::StrCat("stablehlo.", name));
  op.set_row(row != nullptr ? *row : *FindOp(absl::StrCat("chlo.", name)));
  return op.row().import(op);
}

constexpr OpRow kChloOps[] = {
    {"chlo.atan", ImportChloFunction<Atan>, 1},
    {"chlo.bessel_i1e", ImportChloFunction<BesselI1e>, 1},
    {"chlo.conj", ImportConj, 1},
    {"chlo.constant_like", ImportConstantLike, 1},
    {"chlo.digamma", ImportChloFunction<Digamma>, 1},
    {"chlo.erf_inv", ImportChloFunction<InverseErf>, 1},
    {"chlo.is_inf", ImportChloFunction<IsInfinite<Infinity::kAny>>, 1},
    {"chlo.is_neg_inf", ImportChloFunction<IsInfinite<Infinity::kNegative>>, 1},
    {"chlo.is_pos_inf", ImportChloFunction<IsInfinite<Infinity::kPositive>>, 1},
    {"chlo.lgamma", ImportChloFunction<LogGamma>, 1},
    {"chlo.next_after", ImportFunctionOfTwo<NextAfter>, 2},
    {"chlo.polygamma", ImportFunctionOfTwo<Polygamma>, 2},
    {"chlo.square", ImportSquare, 1},
    {"chlo.top_k", ImportTopK, 1, 2},
    {"chlo.zeta", ImportFunctionOfTwo<Zeta>, 2},
    {"chlo.broadcast_add", ImportBroadcasting, 2},
    {"chlo.broadcast_and", ImportBroadcasting, 2},
    {"chlo.broadcast_atan2", ImportBroadcasting, 2},
    {"chlo.broadcast_compare", ImportBroadcasting, 2},
    {"chlo.broadcast_complex", ImportBroadcasting, 2},
    {"chlo.broadcast_divide", ImportBroadcasting, 2},
    {"chlo.broadcast_maximum", ImportBroadcasting, 2},
    {"chlo.broadcast_minimum", ImportBroadcasting, 2},
    {"chlo.broadcast_multiply", ImportBroadcasting, 2},
    {"chlo.broadcast_next_after", ImportBroadcasting, 2},
    {"chlo.broadcast_or", ImportBroadcasting, 2},
    {"chlo.broadcast_polygamma", ImportBroadcasting, 2},
    {"chlo.broadcast_power", ImportBroadcasting, 2},
    {"chlo.broadcast_remainder", ImportBroadcasting, 2},
    {"chlo.broadcast_select", ImportBroadcasting, 3},
    {"chlo.broadcast_shift_left", ImportBroadcasting, 2},
    {"chlo.broadcast_shift_right_arithmetic", ImportBroadcasting, 2},
    {"chlo.broadcast_shift_right_logical", ImportBroadcasting, 2},
    {"chlo.broadcast_subtract", ImportBroadcasting, 2},
    {"chlo.broadcast_xor", ImportBroadcasting, 2},
    {"chlo.broadcast_zeta", ImportBroadcasting, 2},
};

}  // namespace

absl::Span<const OpRow> ChloOps() { return kChloOps; }

}  // namespace kiln::stablehlo
