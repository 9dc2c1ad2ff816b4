// Elementwise ops, converts and comparisons.
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "src/frontend/stablehlo/exporter.h"
#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;

absl::StatusOr<hlo::Attributes> ReadAccuracy(const OpImport& op) {
  const mlir::AttributeRef attribute = op.attribute("result_accuracy");
  if (attribute == nullptr) return hlo::Attributes();
  const auto* fields = attribute->As<mlir::StructAttribute>();
  if (fields == nullptr) return op.Invalid("result_accuracy must be a result_accuracy attribute");
  hlo::ResultAccuracyAttributes accuracy;
  accuracy.atol = mlir::AsDouble(mlir::Find(fields->fields, "atol")).value_or(0);
  accuracy.rtol = mlir::AsDouble(mlir::Find(fields->fields, "rtol")).value_or(0);
  accuracy.ulps = mlir::AsInteger(mlir::Find(fields->fields, "ulps")).value_or(0);
  const auto* mode_name = mlir::As<mlir::EnumAttribute>(mlir::Find(fields->fields, "mode"));
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

// The opcode of the same name; functions may be asked for an accuracy.
absl::Status ImportElementwise(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Attributes accuracy, ReadAccuracy(op));
  return op.Finish(op.row().opcode, op.operands(), std::move(accuracy));
}

absl::Status ImportCompare(OpImport& op) {
  using hlo::ComparisonType;
  KILN_ASSIGN_OR_RETURN(const absl::string_view direction, op.Enum("comparison_direction"));
  KILN_ASSIGN_OR_RETURN(const absl::string_view type, op.Enum("compare_type", "NOTYPE"));
  hlo::CompareAttributes compare;
  const auto known = hlo::EnumFromName(hlo::kComparisonDirectionNames, direction);
  if (!known.has_value()) {
    return op.Invalid("attribute comparison_direction is ", direction, ", expected EQ, NE, GE, GT, LE or LT");
  }
  compare.direction = *known;
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
  return op.Finish(Opcode::kCompare, op.operands(), compare);
}

absl::Status ImportReducePrecision(OpImport& op) {
  hlo::ReducePrecisionAttributes precision;
  KILN_ASSIGN_OR_RETURN(precision.exponent_bits, op.Integer("exponent_bits"));
  KILN_ASSIGN_OR_RETURN(precision.mantissa_bits, op.Integer("mantissa_bits"));
  return op.Finish(Opcode::kReducePrecision, op.operands(), precision);
}

constexpr OpRow kElementwiseOps[] = {
    {"stablehlo.compare", ImportCompare, 2},
    {"stablehlo.reduce_precision", ImportReducePrecision, 1},
    {"stablehlo.uniform_dequantize", ImportRequantize, 1},
    {"stablehlo.uniform_quantize", ImportRequantize, 1},
    {"chlo.tan", ImportElementwise, 1, 1, 0, Opcode::kTan},
};

}  // namespace

absl::Span<const OpRow> ElementwiseOps() {
  static const auto* const kAll = [] {
    auto* rows = new std::vector<OpRow>(std::begin(kElementwiseOps), std::end(kElementwiseOps));
    static auto* const names = new std::deque<std::string>();  // Rows point to them.
    for (int i = 0; i < hlo::kOpcodeCount; ++i) {
      const Opcode opcode = static_cast<Opcode>(i);
      const std::string name = OpName(opcode);
      if (!hlo::IsElementwise(opcode) || name.empty() || opcode == Opcode::kCompare ||
          opcode == Opcode::kReducePrecision) {
        continue;
      }
      rows->push_back(
          {names->emplace_back(name), ImportElementwise, hlo::GetOpcodeInfo(opcode).operand_count, 1, 0, opcode});
    }
    return rows;
  }();
  return *kAll;
}

}  // namespace kiln::stablehlo
