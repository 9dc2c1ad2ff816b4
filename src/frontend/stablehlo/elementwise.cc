// Elementwise ops, converts and comparisons.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;

// Same opcode, operands and result.
absl::Status ImportSame(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(op.row().opcode, std::move(shape), op.operands()));
}

absl::StatusOr<hlo::Attributes> ReadAccuracy(const OpImport& op) {
  const mlir::AttributeRef attribute = op.attribute("result_accuracy");
  if (attribute == nullptr) return hlo::Attributes();
  const auto* fields = attribute->As<mlir::StructAttribute>();
  if (fields == nullptr) return op.Invalid("result_accuracy must be a result_accuracy attribute");
  hlo::ResultAccuracyAttributes accuracy;
  accuracy.atol = mlir::AsDouble(mlir::Find(fields->fields, "atol")).value_or(0);
  accuracy.rtol = mlir::AsDouble(mlir::Find(fields->fields, "rtol")).value_or(0);
  accuracy.ulps = mlir::AsInteger(mlir::Find(fields->fields, "ulps")).value_or(0);
  const mlir::AttributeRef mode = mlir::Find(fields->fields, "mode");
  const auto* mode_name = mode != nullptr ? mode->As<mlir::EnumAttribute>() : nullptr;
  accuracy.highest = mode_name != nullptr && mode_name->value == "HIGHEST";
  if (accuracy == hlo::ResultAccuracyAttributes()) return hlo::Attributes();
  return accuracy;
}

// Quantized operands and results are floats here (quantization.h): what remains is at most another expressed type.
absl::Status ImportRequantize(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const hlo::Shape shape, op.ResultShape());
  if (hlo::Shape::Compatible(shape, op.operand_shape(0))) return op.Define(op.operand(0));
  if (!hlo::IsFloating(op.operand_shape(0).element_type()) || !hlo::IsFloating(shape.element_type())) {
    return op.Invalid("takes ", op.operand_shape(0).ToString(false), " to ", shape.ToString(false),
                      ", expected floats or quantized values of them");
  }
  return op.Define(op.Add(Opcode::kConvert, shape, op.operands()));
}

// Functions that may be asked for an accuracy.
absl::Status ImportAccurate(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  KILN_ASSIGN_OR_RETURN(hlo::Attributes accuracy, ReadAccuracy(op));
  return op.Define(op.Add(op.row().opcode, std::move(shape), op.operands(), std::move(accuracy)));
}

absl::Status ImportCompare(OpImport& op) {
  using hlo::ComparisonDirection;
  using hlo::ComparisonType;
  constexpr std::pair<absl::string_view, ComparisonDirection> kDirections[] = {
      {"EQ", ComparisonDirection::kEq}, {"NE", ComparisonDirection::kNe}, {"GE", ComparisonDirection::kGe},
      {"GT", ComparisonDirection::kGt}, {"LE", ComparisonDirection::kLe}, {"LT", ComparisonDirection::kLt}};
  KILN_ASSIGN_OR_RETURN(const absl::string_view direction, op.Enum("comparison_direction"));
  KILN_ASSIGN_OR_RETURN(const absl::string_view type, op.Enum("compare_type", "NOTYPE"));
  hlo::CompareAttributes compare;
  bool known = false;
  for (const auto& [name, value] : kDirections) {
    if (name != direction) continue;
    compare.direction = value;
    known = true;
  }
  if (!known) {
    return op.Invalid("attribute comparison_direction is ", direction, ", expected EQ, NE, GE, GT, LE or LT");
  }
  // The type that the operands imply is the default and stays unsaid.
  const hlo::PrimitiveType element = op.operand_shape(0).element_type();
  if (type == "TOTALORDER") {
    if (hlo::IsFloating(element)) compare.type = ComparisonType::kTotalOrder;
  } else if (type == "WEAKORDER") {
    return op.Unsupported("comparison type WEAKORDER is not supported");
  } else if (type == "SIGNED") {
    if (!hlo::IsSignedIntegral(element)) return op.Invalid("a signed comparison of ", hlo::PrimitiveTypeName(element));
  } else if (type == "UNSIGNED") {
    if (!hlo::IsUnsignedIntegral(element) && element != hlo::PrimitiveType::kPred) {
      return op.Invalid("an unsigned comparison of ", hlo::PrimitiveTypeName(element));
    }
  } else if (type == "FLOAT") {
    if (!hlo::IsFloating(element) && !hlo::IsComplex(element)) {
      return op.Invalid("a float comparison of ", hlo::PrimitiveTypeName(element));
    }
  } else if (type != "NOTYPE") {
    return op.Invalid("unknown comparison type ", type);
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(Opcode::kCompare, std::move(shape), op.operands(), compare));
}

absl::Status ImportReducePrecision(OpImport& op) {
  hlo::ReducePrecisionAttributes precision;
  KILN_ASSIGN_OR_RETURN(precision.exponent_bits, op.Integer("exponent_bits"));
  KILN_ASSIGN_OR_RETURN(precision.mantissa_bits, op.Integer("mantissa_bits"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(Opcode::kReducePrecision, std::move(shape), op.operands(), precision));
}

constexpr OpRow Same(absl::string_view name, int operands, Opcode opcode) {
  return {name, ImportSame, operands, 1, 0, opcode};
}
constexpr OpRow Accurate(absl::string_view name, Opcode opcode) { return {name, ImportAccurate, 1, 1, 0, opcode}; }

constexpr OpRow kRows[] = {
    Same("stablehlo.abs", 1, Opcode::kAbs),
    Same("stablehlo.add", 2, Opcode::kAdd),
    Same("stablehlo.and", 2, Opcode::kAnd),
    Same("stablehlo.atan2", 2, Opcode::kAtan2),
    Accurate("stablehlo.cbrt", Opcode::kCbrt),
    Same("stablehlo.ceil", 1, Opcode::kCeil),
    Same("stablehlo.clamp", 3, Opcode::kClamp),
    {"stablehlo.compare", ImportCompare, 2},
    Same("stablehlo.complex", 2, Opcode::kComplex),
    Same("stablehlo.convert", 1, Opcode::kConvert),
    Accurate("stablehlo.cosine", Opcode::kCos),
    Same("stablehlo.count_leading_zeros", 1, Opcode::kCountLeadingZeros),
    Same("stablehlo.divide", 2, Opcode::kDivide),
    Accurate("stablehlo.exp2", Opcode::kExp2),
    Accurate("stablehlo.exponential", Opcode::kExp),
    Accurate("stablehlo.exponential_minus_one", Opcode::kExpMinusOne),
    Same("stablehlo.floor", 1, Opcode::kFloor),
    Same("stablehlo.fma", 3, Opcode::kFma),
    Same("stablehlo.imag", 1, Opcode::kImag),
    Same("stablehlo.is_finite", 1, Opcode::kIsFinite),
    Accurate("stablehlo.log", Opcode::kLog),
    Accurate("stablehlo.log2", Opcode::kLog2),
    Accurate("stablehlo.log_plus_one", Opcode::kLogPlusOne),
    Accurate("stablehlo.logistic", Opcode::kLogistic),
    Same("stablehlo.maximum", 2, Opcode::kMaximum),
    Same("stablehlo.minimum", 2, Opcode::kMinimum),
    Same("stablehlo.multiply", 2, Opcode::kMultiply),
    Same("stablehlo.negate", 1, Opcode::kNegate),
    Same("stablehlo.not", 1, Opcode::kNot),
    Same("stablehlo.or", 2, Opcode::kOr),
    Same("stablehlo.popcnt", 1, Opcode::kPopcnt),
    Same("stablehlo.power", 2, Opcode::kPower),
    Same("stablehlo.real", 1, Opcode::kReal),
    {"stablehlo.reduce_precision", ImportReducePrecision, 1},
    Same("stablehlo.remainder", 2, Opcode::kRemainder),
    Same("stablehlo.round_nearest_afz", 1, Opcode::kRoundNearestAfz),
    Same("stablehlo.round_nearest_even", 1, Opcode::kRoundNearestEven),
    Accurate("stablehlo.rsqrt", Opcode::kRsqrt),
    Same("stablehlo.select", 3, Opcode::kSelect),
    Same("stablehlo.shift_left", 2, Opcode::kShiftLeft),
    Same("stablehlo.shift_right_arithmetic", 2, Opcode::kShiftRightArithmetic),
    Same("stablehlo.shift_right_logical", 2, Opcode::kShiftRightLogical),
    Same("stablehlo.sign", 1, Opcode::kSign),
    Accurate("stablehlo.sine", Opcode::kSin),
    Accurate("stablehlo.sqrt", Opcode::kSqrt),
    Same("stablehlo.subtract", 2, Opcode::kSubtract),
    Accurate("stablehlo.tan", Opcode::kTan),
    Accurate("stablehlo.tanh", Opcode::kTanh),
    {"stablehlo.uniform_dequantize", ImportRequantize, 1},
    {"stablehlo.uniform_quantize", ImportRequantize, 1},
    Same("stablehlo.xor", 2, Opcode::kXor),
    // The higher-level dialect's unary functions that HLO has.
    Same("chlo.acos", 1, Opcode::kAcos),
    Same("chlo.acosh", 1, Opcode::kAcosh),
    Same("chlo.asin", 1, Opcode::kAsin),
    Same("chlo.asinh", 1, Opcode::kAsinh),
    Same("chlo.atanh", 1, Opcode::kAtanh),
    Same("chlo.cosh", 1, Opcode::kCosh),
    Same("chlo.erf", 1, Opcode::kErf),
    Same("chlo.erfc", 1, Opcode::kErfc),
    Same("chlo.sinh", 1, Opcode::kSinh),
    Same("chlo.tan", 1, Opcode::kTan),
};

}  // namespace

absl::Span<const OpRow> ElementwiseOps() { return kRows; }

}  // namespace kiln::stablehlo
