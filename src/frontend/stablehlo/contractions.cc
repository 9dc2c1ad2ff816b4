// Dots and convolutions.
#include <utility>

#include "src/frontend/stablehlo/dot_algorithms.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::DotAlgorithm;
using hlo::Opcode;

// The spelling of a float type attribute; "f8" for every 8-bit float, empty for what is no float.
absl::string_view FloatTypeName(mlir::AttributeRef attribute) {
  const auto* type = mlir::As<mlir::TypeAttribute>(attribute);
  const auto* real = type != nullptr ? type->value->As<mlir::FloatType>() : nullptr;
  if (real == nullptr) return {};
  return mlir::FloatWidth(real->kind) == 8 ? "f8" : mlir::FloatName(real->kind);
}

absl::StatusOr<DotAlgorithm> ReadAlgorithm(const OpImport& op) {
  if (op.attribute("accumulation_type") == nullptr) return DotAlgorithm::kUnset;
  const absl::string_view lhs = FloatTypeName(op.attribute("lhs_precision_type"));
  const absl::string_view rhs = FloatTypeName(op.attribute("rhs_precision_type"));
  const absl::string_view accumulation = FloatTypeName(op.attribute("accumulation_type"));
  KILN_ASSIGN_OR_RETURN(const int64_t lhs_components, op.Integer("lhs_component_count"));
  KILN_ASSIGN_OR_RETURN(const int64_t rhs_components, op.Integer("rhs_component_count"));
  KILN_ASSIGN_OR_RETURN(const int64_t operations, op.Integer("num_primitive_operations"));
  KILN_ASSIGN_OR_RETURN(const bool imprecise, op.Bool("allow_imprecise_accumulation"));
  if (lhs == rhs && lhs_components == 1 && rhs_components == 1) {
    for (const DotAlgorithmRow& row : kDotAlgorithms) {
      if (row.operands == lhs && row.accumulation == accumulation && row.primitive_operations == operations &&
          row.imprecise == imprecise) {
        return row.algorithm;
      }
    }
  }
  return op.Unsupported("dot algorithm ", lhs, " x ", rhs, " -> ", accumulation, " with ", operations,
                        " operations is not known");
}

// A product of complex numbers whose result is declared real is its real part, as XLA has it.
absl::Status DefineDot(OpImport& op, hlo::DotAttributes dot) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  const hlo::PrimitiveType type = op.operand_shape(0).element_type();
  if (!hlo::IsComplex(type) || !hlo::IsFloating(shape.element_type())) {
    return op.Define(op.Add(Opcode::kDot, std::move(shape), op.operands(), std::move(dot)));
  }
  hlo::Shape complex = shape, real = shape;
  complex.set_element_type(type);
  real.set_element_type(hlo::ComplexComponentType(type));
  hlo::Instruction* product = op.Add(Opcode::kDot, std::move(complex), op.operands(), std::move(dot));
  hlo::Instruction* part = op.Add(Opcode::kReal, std::move(real), {product});
  if (part->shape().element_type() == shape.element_type()) return op.Define(part);
  return op.Define(op.Add(Opcode::kConvert, std::move(shape), {part}));
}

absl::Status ImportDotGeneral(OpImport& op) {
  hlo::DotAttributes dot;
  KILN_ASSIGN_OR_RETURN(dot.lhs_batch, op.Integers("lhs_batching_dimensions", std::vector<int64_t>()));
  KILN_ASSIGN_OR_RETURN(dot.rhs_batch, op.Integers("rhs_batching_dimensions", std::vector<int64_t>()));
  KILN_ASSIGN_OR_RETURN(dot.lhs_contracting, op.Integers("lhs_contracting_dimensions", std::vector<int64_t>()));
  KILN_ASSIGN_OR_RETURN(dot.rhs_contracting, op.Integers("rhs_contracting_dimensions", std::vector<int64_t>()));
  KILN_ASSIGN_OR_RETURN(dot.operand_precision, op.Precisions());
  KILN_ASSIGN_OR_RETURN(dot.algorithm, ReadAlgorithm(op));
  return DefineDot(op, std::move(dot));
}

absl::Status ImportRaggedDot(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(std::vector<hlo::Precision> precision, op.Precisions());
  return ImportRaggedDotWith(
      op, [&op](absl::string_view name) { return op.attribute(name); }, std::move(precision));
}

// The older dot: the last dimension of the left operand with the first of the right one.
absl::Status ImportDot(OpImport& op) {
  const int64_t rank = op.operand_shape(0).rank();
  if (rank < 1 || op.operand_shape(1).rank() < 1) return op.Invalid("operands must be vectors or matrices");
  hlo::DotAttributes dot;
  dot.lhs_contracting = {rank - 1};
  dot.rhs_contracting = {0};
  KILN_ASSIGN_OR_RETURN(dot.operand_precision, op.Precisions());
  return DefineDot(op, std::move(dot));
}

absl::Status ImportConvolution(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector spatial, op.Integers("input_spatial_dimensions"));
  KILN_ASSIGN_OR_RETURN(const auto padding, op.Pairs("padding", spatial.size()));
  return ImportConvolutionWith(op, padding);
}

constexpr OpRow kContractionsOps[] = {
    {"stablehlo.dot_general", ImportDotGeneral, 2},
    {"stablehlo.dot", ImportDot, 2},
    {"chlo.ragged_dot", ImportRaggedDot, 3},
    {"stablehlo.convolution", ImportConvolution, 2},
};

}  // namespace

absl::Status ImportRaggedDotWith(OpImport& op, absl::FunctionRef<mlir::AttributeRef(absl::string_view)> attribute,
                                 std::vector<hlo::Precision> precision) {
  hlo::DotAttributes dot;
  dot.operand_precision = std::move(precision);
  for (auto [name, list] :
       {std::pair("lhs_batching_dimensions", &dot.lhs_batch), std::pair("rhs_batching_dimensions", &dot.rhs_batch),
        std::pair("lhs_contracting_dimensions", &dot.lhs_contracting),
        std::pair("rhs_contracting_dimensions", &dot.rhs_contracting),
        std::pair("lhs_ragged_dimensions", &dot.lhs_ragged), std::pair("rhs_group_dimensions", &dot.rhs_group)}) {
    const mlir::AttributeRef value = attribute(name);
    if (value == nullptr) continue;
    const std::optional<std::vector<int64_t>> integers = mlir::AsIntegers(value);
    if (!integers.has_value()) return op.Invalid("attribute ", name, " must be a list of integers");
    list->assign(integers->begin(), integers->end());
  }
  return op.Finish(Opcode::kRaggedDot, op.operands(), std::move(dot));
}

absl::Status ImportConvolutionWith(OpImport& op, const std::vector<std::pair<int64_t, int64_t>>& padding) {
  hlo::ConvolutionAttributes convolution;
  KILN_ASSIGN_OR_RETURN(convolution.input_batch, op.Integer("input_batch_dimension"));
  KILN_ASSIGN_OR_RETURN(convolution.input_feature, op.Integer("input_feature_dimension"));
  KILN_ASSIGN_OR_RETURN(convolution.input_spatial, op.Integers("input_spatial_dimensions"));
  const size_t spatial = convolution.input_spatial.size();
  KILN_ASSIGN_OR_RETURN(convolution.kernel_input_feature, op.Integer("kernel_input_feature_dimension"));
  KILN_ASSIGN_OR_RETURN(convolution.kernel_output_feature, op.Integer("kernel_output_feature_dimension"));
  KILN_ASSIGN_OR_RETURN(convolution.kernel_spatial, op.IntegersOf("kernel_spatial_dimensions", spatial));
  KILN_ASSIGN_OR_RETURN(convolution.output_batch, op.Integer("output_batch_dimension"));
  KILN_ASSIGN_OR_RETURN(convolution.output_feature, op.Integer("output_feature_dimension"));
  KILN_ASSIGN_OR_RETURN(convolution.output_spatial, op.IntegersOf("output_spatial_dimensions", spatial));
  KILN_ASSIGN_OR_RETURN(convolution.feature_group_count, op.Integer("feature_group_count", 1));
  KILN_ASSIGN_OR_RETURN(convolution.batch_group_count, op.Integer("batch_group_count", 1));
  KILN_ASSIGN_OR_RETURN(convolution.operand_precision, op.Precisions());
  const hlo::Shape& kernel = op.operand_shape(1);
  hlo::DimensionVector sizes;
  for (int64_t dimension : convolution.kernel_spatial) {
    if (dimension < 0 || dimension >= kernel.rank()) {
      return op.Invalid("kernel spatial dimension ", dimension, " is outside the kernel ", kernel.ToString(false));
    }
    sizes.push_back(kernel.dimensions(dimension));
  }
  KILN_ASSIGN_OR_RETURN(convolution.window, ReadWindow(op, sizes, padding, "lhs_dilation", "rhs_dilation"));
  return op.Finish(Opcode::kConvolution, {op.operand(0), op.operand(1)}, std::move(convolution));
}

absl::Span<const OpRow> ContractionOps() { return kContractionsOps; }

}  // namespace kiln::stablehlo
