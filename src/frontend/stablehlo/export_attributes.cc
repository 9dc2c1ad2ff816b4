// Types and attributes of exported ops.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/frontend/stablehlo/dot_algorithms.h"
#include "src/frontend/stablehlo/exporter.h"
#include "src/hlo/attribute_names.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using mlir::AttributeRef;
using mlir::FloatKind;

absl::StatusOr<mlir::TypeRef> ElementType(PrimitiveType type, mlir::Context& context) {
  const auto real = [&](FloatKind kind) { return context.MakeType(mlir::FloatType{kind}); };
  if (type == PrimitiveType::kPred) return context.MakeType(mlir::IntegerType{1});
  if (hlo::IsIntegral(type)) {
    const bool is_signed = hlo::IsSignedIntegral(type);
    return context.MakeType(mlir::IntegerType{static_cast<uint32_t>(hlo::BitWidth(type)),
                                              is_signed ? mlir::Signedness::kSignless : mlir::Signedness::kUnsigned});
  }
  if (type == PrimitiveType::kC64) return context.MakeType(mlir::ComplexType{real(FloatKind::kF32)});
  if (type == PrimitiveType::kC128) return context.MakeType(mlir::ComplexType{real(FloatKind::kF64)});
  // MLIR's names are HLO's in other case.
  const std::string wanted(hlo::PrimitiveTypeName(type));
  for (int i = 0; i <= static_cast<int>(FloatKind::kF4E2M1FN); ++i) {
    const FloatKind kind = static_cast<FloatKind>(i);
    if (absl::AsciiStrToLower(mlir::FloatName(kind)) == wanted) return real(kind);
  }
  return Unimplemented("element type ", wanted, " has no form in StableHLO");
}

class Attributes {
 public:
  Attributes(const hlo::Instruction& instruction, mlir::Context& context) : op_(instruction), context_(context) {}

  absl::Status status;
  std::vector<mlir::NamedAttribute> entries;

  void operator()(const std::monostate&) {}
  void operator()(const hlo::ParameterAttributes&) {}
  void operator()(const hlo::TupleIndexAttributes&) {}
  void operator()(const hlo::FusionAttributes&) {}
  void operator()(const hlo::CallAttributes&) {}
  void operator()(const hlo::ConstantAttributes& a) {
    absl::StatusOr<AttributeRef> value = ExportLiteral(a.literal, context_);
    if (!value.ok()) return Fail(value.status());
    Add("value", *value);
  }
  void operator()(const hlo::DimensionsAttributes& a) {
    switch (op_.opcode()) {
      case Opcode::kBroadcast:
        return List("broadcast_dimensions", a.dimensions);
      case Opcode::kTranspose:
        return List("permutation", a.dimensions);
      case Opcode::kIota:
        return Number("iota_dimension", a.dimensions[0]);
      case Opcode::kConcatenate:
      case Opcode::kGetDimensionSize:
      case Opcode::kSetDimensionSize:
        return Number("dimension", a.dimensions[0]);
      default:
        return List("dimensions", a.dimensions);
    }
  }
  void operator()(const hlo::SliceAttributes& a) {
    List("start_indices", a.start);
    List("limit_indices", a.limit);
    List("strides", a.stride);
  }
  void operator()(const hlo::DynamicSliceAttributes& a) { List("slice_sizes", a.sizes); }
  void operator()(const hlo::PadAttributes& a) {
    List("edge_padding_low", a.low);
    List("edge_padding_high", a.high);
    List("interior_padding", a.interior);
  }
  void operator()(const hlo::CompareAttributes& a) {
    Word("comparison_direction", "comparison_direction", hlo::EnumToName(hlo::kComparisonDirectionNames, a.direction));
    if (a.type != hlo::ComparisonType::kDefault) {
      Word("compare_type", "comparison_type", hlo::EnumToName(hlo::kComparisonTypeNames, a.type));
    }
  }
  void operator()(const hlo::DotAttributes& a) {
    List("lhs_batching_dimensions", a.lhs_batch);
    List("rhs_batching_dimensions", a.rhs_batch);
    List("lhs_contracting_dimensions", a.lhs_contracting);
    List("rhs_contracting_dimensions", a.rhs_contracting);
    Precisions(a.operand_precision);
    if (a.algorithm != hlo::DotAlgorithm::kUnset) Algorithm(a.algorithm);
  }
  void operator()(const hlo::WindowAttributes& a) {
    if (op_.opcode() == Opcode::kSelectAndScatter) return Window(a.window, "", "");
    Window(a.window, "base_dilations", "window_dilations");
  }
  void operator()(const hlo::ConvolutionAttributes& a) {
    Number("batch_group_count", a.batch_group_count);
    Number("feature_group_count", a.feature_group_count);
    Number("input_batch_dimension", a.input_batch);
    Number("input_feature_dimension", a.input_feature);
    List("input_spatial_dimensions", a.input_spatial);
    Number("kernel_input_feature_dimension", a.kernel_input_feature);
    Number("kernel_output_feature_dimension", a.kernel_output_feature);
    List("kernel_spatial_dimensions", a.kernel_spatial);
    Number("output_batch_dimension", a.output_batch);
    Number("output_feature_dimension", a.output_feature);
    List("output_spatial_dimensions", a.output_spatial);
    Precisions(a.operand_precision);
    Window(a.window, "lhs_dilation", "rhs_dilation");
  }
  void operator()(const hlo::GatherAttributes& a) {
    List("offset_dims", a.offset_dims);
    List("collapsed_slice_dims", a.collapsed_slice_dims);
    List("operand_batching_dims", a.operand_batching_dims);
    List("start_indices_batching_dims", a.start_indices_batching_dims);
    List("start_index_map", a.start_index_map);
    Number("index_vector_dim", a.index_vector_dim);
    List("slice_sizes", a.slice_sizes);
    Flag("indices_are_sorted", a.indices_are_sorted);
  }
  void operator()(const hlo::ScatterAttributes& a) {
    List("update_window_dims", a.update_window_dims);
    List("inserted_window_dims", a.inserted_window_dims);
    List("input_batching_dims", a.input_batching_dims);
    List("scatter_indices_batching_dims", a.scatter_indices_batching_dims);
    List("scatter_dims_to_operand_dims", a.scatter_dims_to_operand_dims);
    Number("index_vector_dim", a.index_vector_dim);
    Flag("indices_are_sorted", a.indices_are_sorted);
    Flag("unique_indices", a.unique_indices);
  }
  void operator()(const hlo::SortAttributes& a) {
    Number("dimension", a.dimension);
    Flag("is_stable", a.is_stable);
  }
  void operator()(const hlo::TopKAttributes& a) {
    if (!a.largest) return Fail(Unimplemented("the smallest elements have no op in CHLO"));
    Number("k", a.k);
  }
  void operator()(const hlo::ScanAttributes&) { Fail(Unimplemented("scan has no op in StableHLO")); }
  void operator()(const hlo::RngAttributes& a) {
    if (op_.opcode() == Opcode::kRng) {
      return Word("rng_distribution", "rng_distribution",
                  a.distribution == hlo::RngDistribution::kNormal ? "NORMAL" : "UNIFORM");
    }
    constexpr absl::string_view kNames[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
    Word("rng_algorithm", "rng_algorithm", kNames[static_cast<int>(a.algorithm)]);
  }
  void operator()(const hlo::ReducePrecisionAttributes& a) {
    Number("exponent_bits", a.exponent_bits, 32);
    Number("mantissa_bits", a.mantissa_bits, 32);
  }
  void operator()(const hlo::FftAttributes& a) {
    Word("fft_type", "fft_type", hlo::EnumToName(hlo::kFftTypeNames, a.type));
    List("fft_length", a.length);
  }
  void operator()(const hlo::TriangularSolveAttributes& a) {
    Flag("left_side", a.left_side);
    Flag("lower", a.lower);
    Flag("unit_diagonal", a.unit_diagonal);
    Word("transpose_a", "transpose", hlo::EnumToName(hlo::kTransposeKindNames, a.transpose_a));
  }
  void operator()(const hlo::CholeskyAttributes& a) { Flag("lower", a.lower); }
  void operator()(const hlo::BatchNormAttributes& a) {
    const mlir::TypeRef f32 = context_.MakeType(mlir::FloatType{FloatKind::kF32});
    Add("epsilon", context_.MakeAttribute(mlir::FloatAttribute{f32, std::bit_cast<uint32_t>(a.epsilon)}));
    Number("feature_index", a.feature_index);
  }
  void operator()(const hlo::CustomCallAttributes& a) {
    Add("call_target_name", Text(a.target));
    Flag("has_side_effect", a.has_side_effect);
    // The typed FFI has its configuration as a dictionary, which the text is.
    const bool dictionary = a.api_version == hlo::CustomCallApiVersion::kTypedFfi && !op_.backend_config().empty();
    Number("api_version", static_cast<int64_t>(a.api_version), 32);
    Add("backend_config", dictionary
                              ? context_.MakeAttribute(mlir::OpaqueAttribute{context_.Keep(op_.backend_config())})
                              : Text(op_.backend_config()));
    if (a.has_layout_constraints) {
      std::vector<const hlo::Shape*> operands, results = op_.shape().Leaves();
      for (const hlo::Shape& shape : a.operand_layouts) {
        for (const hlo::Shape* leaf : shape.Leaves()) operands.push_back(leaf);
      }
      Layouts("operand_layouts", operands);
      Layouts("result_layouts", results);
    }
    if (a.aliases.empty()) return;
    mlir::ArrayAttribute aliases;
    for (const hlo::OutputOperandAlias& alias : a.aliases) {
      aliases.elements.push_back(
          context_.MakeAttribute(mlir::StructAttribute{"stablehlo.output_operand_alias",
                                                       {{"output_tuple_indices", Integers(alias.output_index)},
                                                        {"operand_index", context_.MakeInteger(alias.operand)},
                                                        {"operand_tuple_indices", Integers(alias.operand_index)}}}));
    }
    Add("output_operand_aliases", context_.MakeAttribute(std::move(aliases)));
  }
  void operator()(const hlo::CollectiveAttributes& a) {
    if (a.channel_id != 0) {
      Number("channel_id", a.channel_id);
      Number("channel_type", 1);
    }
    if (op_.opcode() == Opcode::kCollectivePermute) {
      std::vector<int64_t> flat;
      for (const auto& [source, target] : a.source_target_pairs) flat.insert(flat.end(), {source, target});
      return Matrix("source_target_pairs", flat, static_cast<int64_t>(a.source_target_pairs.size()));
    }
    size_t size = 0;
    for (const auto& group : a.replica_groups) size = std::max(size, group.size());
    std::vector<int64_t> flat;
    for (const auto& group : a.replica_groups) {
      flat.insert(flat.end(), group.begin(), group.end());
      flat.insert(flat.end(), size - group.size(), -1);
    }
    Matrix("replica_groups", flat, static_cast<int64_t>(a.replica_groups.size()));
    if (a.use_global_device_ids) Add("use_global_device_ids", context_.unit_attribute());
    if (op_.opcode() == Opcode::kAllGather) Number("all_gather_dim", a.dimension);
    if (op_.opcode() == Opcode::kReduceScatter) Number("scatter_dimension", a.dimension);
    if (op_.opcode() == Opcode::kAllToAll) {
      Number("split_dimension", a.dimension);
      Number("concat_dimension", a.dimension);
      Number("split_count", static_cast<int64_t>(size));
    }
  }
  void operator()(const hlo::FeedAttributes& a) {
    Add(op_.opcode() == Opcode::kInfeed ? "infeed_config" : "outfeed_config", Text(a.config));
  }
  void operator()(const hlo::ResultAccuracyAttributes& a) {
    mlir::StructAttribute accuracy{"stablehlo.result_accuracy", {}};
    const mlir::TypeRef f64 = context_.MakeType(mlir::FloatType{FloatKind::kF64});
    const auto number = [&](double value) {
      return context_.MakeAttribute(mlir::FloatAttribute{f64, std::bit_cast<uint64_t>(value)});
    };
    accuracy.fields.push_back({"atol", number(a.atol)});
    accuracy.fields.push_back({"rtol", number(a.rtol)});
    accuracy.fields.push_back({"ulps", context_.MakeInteger(a.ulps)});
    accuracy.fields.push_back({"mode", context_.MakeAttribute(mlir::EnumAttribute{
                                           "result_accuracy_mode", a.highest ? "HIGHEST" : "TOLERANCE"})});
    Add("result_accuracy", context_.MakeAttribute(std::move(accuracy)));
  }

 private:
  void Fail(const absl::Status& problem) {
    if (status.ok()) status = problem;
  }
  void Add(absl::string_view name, AttributeRef value) { entries.push_back({name, value}); }
  AttributeRef Text(const std::string& text) {
    return context_.MakeAttribute(mlir::StringAttribute{context_.Keep(text)});
  }
  template <typename List>
  AttributeRef Integers(const List& values) {
    return context_.MakeIntegers(std::vector<int64_t>(values.begin(), values.end()));
  }
  void List(absl::string_view name, const hlo::DimensionVector& values) { Add(name, Integers(values)); }
  void Number(absl::string_view name, int64_t value, uint32_t width = 64) {
    Add(name, context_.MakeInteger(value, width));
  }
  void Flag(absl::string_view name, bool value) { Add(name, context_.MakeAttribute(mlir::BoolAttribute{value})); }
  void Word(absl::string_view name, absl::string_view kind, absl::string_view value) {
    Add(name, context_.MakeAttribute(mlir::EnumAttribute{kind, value}));
  }
  // dense<...> : tensor<ROWSxNxi64>
  void Matrix(absl::string_view name, const std::vector<int64_t>& values, int64_t rows) {
    Add(name, context_.MakeMatrix(values, rows, rows == 0 ? 0 : static_cast<int64_t>(values.size()) / rows));
  }
  void Layouts(absl::string_view name, const std::vector<const hlo::Shape*>& shapes) {
    mlir::ArrayAttribute layouts;
    for (const hlo::Shape* shape : shapes) {
      const auto& order = shape->layout().minor_to_major;
      mlir::DenseAttribute dense;
      dense.type = context_.MakeType(
          mlir::TensorType{{static_cast<int64_t>(order.size())}, context_.MakeType(mlir::IndexType{})});
      dense.data = context_.KeepIntegers({order.begin(), order.end()});
      dense.splat = order.size() == 1;
      layouts.elements.push_back(context_.MakeAttribute(dense));
    }
    Add(name, context_.MakeAttribute(std::move(layouts)));
  }
  void Precisions(const std::vector<hlo::Precision>& precisions) {
    if (precisions.empty()) return;
    mlir::ArrayAttribute list;
    constexpr absl::string_view kNames[] = {"DEFAULT", "HIGH", "HIGHEST"};
    for (hlo::Precision precision : precisions) {
      list.elements.push_back(
          context_.MakeAttribute(mlir::EnumAttribute{"precision", kNames[static_cast<int>(precision)]}));
    }
    Add("precision_config", context_.MakeAttribute(std::move(list)));
  }
  void Algorithm(hlo::DotAlgorithm algorithm) {
    const auto type = [&](absl::string_view name) {
      FloatKind kind = FloatKind::kF8E5M2;  // Stands for any 8-bit float.
      mlir::FloatKindFromName(name, kind);
      return context_.MakeAttribute(mlir::TypeAttribute{context_.MakeType(mlir::FloatType{kind})});
    };
    for (const DotAlgorithmRow& row : kDotAlgorithms) {
      if (row.algorithm != algorithm) continue;
      Add("lhs_precision_type", type(row.operands));
      Add("rhs_precision_type", type(row.operands));
      Add("accumulation_type", type(row.accumulation));
      Number("lhs_component_count", 1);
      Number("rhs_component_count", 1);
      Number("num_primitive_operations", row.primitive_operations);
      Flag("allow_imprecise_accumulation", row.imprecise);
    }
  }
  // Reduce windows have sizes; convolutions find theirs in the kernel.
  void Window(const hlo::Window& window, absl::string_view base, absl::string_view dilation) {
    std::vector<int64_t> sizes, strides, bases, dilations, padding;
    std::string reversal;
    bool reversed = false;
    for (const hlo::WindowDimension& dimension : window) {
      sizes.push_back(dimension.size);
      strides.push_back(dimension.stride);
      bases.push_back(dimension.base_dilation);
      dilations.push_back(dimension.window_dilation);
      padding.insert(padding.end(), {dimension.padding_low, dimension.padding_high});
      reversal.push_back(dimension.reversal ? 1 : 0);
      reversed |= dimension.reversal;
    }
    const bool convolution = op_.opcode() == Opcode::kConvolution;
    if (!convolution) Add("window_dimensions", context_.MakeIntegers(sizes));
    Add("window_strides", context_.MakeIntegers(strides));
    Matrix("padding", padding, static_cast<int64_t>(window.size()));
    if (!base.empty()) {
      Add(base, context_.MakeIntegers(bases));
      Add(dilation, context_.MakeIntegers(dilations));
    }
    if (!reversed) return;
    if (!convolution) return Fail(Unimplemented("a reversed window has no form in StableHLO"));
    Add("window_reversal", context_.MakeFlags(std::move(reversal)));
  }

  const hlo::Instruction& op_;
  mlir::Context& context_;
};

}  // namespace

absl::StatusOr<mlir::TypeRef> ExportType(const hlo::Shape& shape, mlir::Context& context) {
  if (shape.IsToken()) return context.MakeType(mlir::TokenType{});
  if (!shape.IsArray()) return Unimplemented("values of type ", shape.ToString(false), " have no form in StableHLO");
  mlir::TensorType tensor;
  KILN_ASSIGN_OR_RETURN(tensor.element, ElementType(shape.element_type(), context));
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const bool dynamic = shape.is_dynamic_dimension(i);
    tensor.dims.push_back(dynamic ? mlir::kDynamicSize : shape.dimensions(i));
    if (shape.has_dynamic_dimensions()) tensor.bounds.push_back(dynamic ? shape.dimensions(i) : mlir::kDynamicSize);
  }
  return context.MakeType(std::move(tensor));
}

absl::StatusOr<AttributeRef> ExportLiteral(const hlo::Literal& literal, mlir::Context& context) {
  mlir::DenseAttribute dense;
  KILN_ASSIGN_OR_RETURN(dense.type, ExportType(literal.shape(), context));
  const auto bytes = literal.bytes();
  const size_t width = static_cast<size_t>(hlo::ByteWidth(literal.shape().element_type()));
  // Equal elements are written once.
  dense.splat = bytes.size() >= width &&
                (bytes.size() == width || std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  dense.data = context.Keep(std::string(text, dense.splat ? width : bytes.size()));
  return context.MakeAttribute(dense);
}

absl::StatusOr<std::vector<mlir::NamedAttribute>> ExportAttributes(const hlo::Instruction& instruction,
                                                                   mlir::Context& context) {
  Attributes attributes(instruction, context);
  instruction.attributes().Visit(attributes);
  KILN_RETURN_IF_ERROR(attributes.status);
  return std::move(attributes.entries);
}

}  // namespace kiln::stablehlo
