#include "src/hlo/attribute_printer.h"

#include <algorithm>
#include <functional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/hlo/attribute_names.h"
#include "src/hlo/carried_text.h"
#include "src/hlo/computation.h"
#include "src/hlo/literal_text.h"

namespace kiln::hlo {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// "{a, b}" of the texts that `text` makes of the elements.
template <typename List, typename Text>
std::string Braced(const List& list, absl::string_view separator, const Text& text) {
  return absl::StrCat(
      "{", absl::StrJoin(list, separator, [&](std::string* out, const auto& x) { absl::StrAppend(out, text(x)); }), "}");
}

// Writes ", name=value" parts.
class AttributeWriter {
 public:
  explicit AttributeWriter(std::string* text) : text_(text) {}

  void Text(absl::string_view name, absl::string_view value) { absl::StrAppend(text_, ", ", name, "=", value); }
  void Quoted(absl::string_view name, absl::string_view value) {
    absl::StrAppend(text_, ", ", name, "=\"", absl::CEscape(value), "\"");
  }
  void Int(absl::string_view name, int64_t value) { absl::StrAppend(text_, ", ", name, "=", value); }
  // Only true is written.
  void Flag(absl::string_view name, bool value) {
    if (value) absl::StrAppend(text_, ", ", name, "=true");
  }
  void List(absl::string_view name, const DimensionVector& values) { Text(name, IndexText(values)); }
  void NonEmptyList(absl::string_view name, const DimensionVector& values) {
    if (!values.empty()) List(name, values);
  }
  void Precisions(const std::vector<Precision>& precisions) {
    if (std::all_of(precisions.begin(), precisions.end(), [](Precision p) { return p == Precision::kDefault; })) return;
    Text("operand_precision", Braced(precisions, ",", [](Precision p) { return EnumToName(kPrecisionNames, p); }));
  }
  void Computation(absl::string_view name, const Instruction& instruction, size_t index) {
    if (index >= instruction.called_computations().size()) return;
    absl::StrAppend(text_, ", ", name, "=%", instruction.called_computation(index)->name());
  }
  void Computations(absl::string_view name, const std::vector<hlo::Computation*>& computations) {
    Text(name, Braced(computations, ", ", [](const auto* computation) { return "%" + computation->name(); }));
  }

 private:
  std::string* text_;
};

std::string WindowPart(const Window& window, absl::string_view name, bool always,
                       const std::function<std::string(const WindowDimension&)>& value, absl::string_view neutral) {
  std::vector<std::string> parts;
  for (const WindowDimension& dimension : window) parts.push_back(value(dimension));
  if (!always && std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return part == neutral; })) {
    return "";
  }
  return absl::StrCat(name, "=", absl::StrJoin(parts, "x"));
}

void AppendDimensions(const Instruction& instruction, const DimensionsAttributes& attributes, AttributeWriter* out) {
  if (instruction.opcode() == Opcode::kIota) {
    out->Int("iota_dimension", attributes.dimensions.empty() ? 0 : attributes.dimensions[0]);
  } else {
    out->List("dimensions", attributes.dimensions);
  }
}

void AppendSlice(const SliceAttributes& slice, AttributeWriter* out) {
  std::string text = "{";
  for (size_t i = 0; i < slice.start.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", "[", slice.start[i], ":", slice.limit[i]);
    if (slice.stride[i] != 1) absl::StrAppend(&text, ":", slice.stride[i]);
    text += "]";
  }
  out->Text("slice", text + "}");
}

void AppendPad(const PadAttributes& pad, AttributeWriter* out) {
  const bool interior = std::any_of(pad.interior.begin(), pad.interior.end(), [](int64_t value) { return value != 0; });
  std::string text;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? "x" : "", pad.low[i], "_", pad.high[i]);
    if (interior) absl::StrAppend(&text, "_", pad.interior[i]);
  }
  out->Text("padding", text);
}

void AppendDot(const DotAttributes& dot, AttributeWriter* out) {
  out->NonEmptyList("lhs_batch_dims", dot.lhs_batch);
  out->List("lhs_contracting_dims", dot.lhs_contracting);
  out->NonEmptyList("rhs_batch_dims", dot.rhs_batch);
  out->List("rhs_contracting_dims", dot.rhs_contracting);
  out->Precisions(dot.operand_precision);
  if (dot.algorithm != DotAlgorithm::kUnset) out->Text("algorithm", EnumToName(kDotAlgorithmNames, dot.algorithm));
  out->NonEmptyList("lhs_ragged_dims", dot.lhs_ragged);
  out->NonEmptyList("rhs_group_dims", dot.rhs_group);
}

void AppendConvolution(const ConvolutionAttributes& convolution, AttributeWriter* out) {
  if (!convolution.window.empty()) out->Text("window", WindowText(convolution.window));
  out->Text("dim_labels", DimLabelsText(convolution));
  if (convolution.feature_group_count != 1) out->Int("feature_group_count", convolution.feature_group_count);
  if (convolution.batch_group_count != 1) out->Int("batch_group_count", convolution.batch_group_count);
  out->Precisions(convolution.operand_precision);
}

void AppendGather(const GatherAttributes& gather, AttributeWriter* out) {
  out->List("offset_dims", gather.offset_dims);
  out->List("collapsed_slice_dims", gather.collapsed_slice_dims);
  out->List("start_index_map", gather.start_index_map);
  out->NonEmptyList("operand_batching_dims", gather.operand_batching_dims);
  out->NonEmptyList("start_indices_batching_dims", gather.start_indices_batching_dims);
  out->Int("index_vector_dim", gather.index_vector_dim);
  out->List("slice_sizes", gather.slice_sizes);
  out->Flag("indices_are_sorted", gather.indices_are_sorted);
}

void AppendScatter(const ScatterAttributes& scatter, AttributeWriter* out) {
  out->List("update_window_dims", scatter.update_window_dims);
  out->List("inserted_window_dims", scatter.inserted_window_dims);
  out->List("scatter_dims_to_operand_dims", scatter.scatter_dims_to_operand_dims);
  out->NonEmptyList("input_batching_dims", scatter.input_batching_dims);
  out->NonEmptyList("scatter_indices_batching_dims", scatter.scatter_indices_batching_dims);
  out->Int("index_vector_dim", scatter.index_vector_dim);
  out->Flag("indices_are_sorted", scatter.indices_are_sorted);
  out->Flag("unique_indices", scatter.unique_indices);
}

void AppendRng(Opcode opcode, const RngAttributes& rng, AttributeWriter* out) {
  if (opcode == Opcode::kRng) out->Text("distribution", EnumToName(kRngDistributionNames, rng.distribution));
  if (opcode == Opcode::kRngBitGenerator) out->Text("algorithm", EnumToName(kRngAlgorithmNames, rng.algorithm));
  if (opcode == Opcode::kRngGetAndUpdateState) out->Int("delta", rng.delta);
}

std::string AliasText(const OutputOperandAlias& alias) {
  return absl::StrCat(IndexText(alias.output_index), ": (", alias.operand, ", ", IndexText(alias.operand_index), ")");
}

void AppendCustomCall(const CustomCallAttributes& call, AttributeWriter* out) {
  out->Quoted("custom_call_target", call.target);
  if (call.has_layout_constraints) {
    out->Text("operand_layout_constraints",
              Braced(call.operand_layouts, ", ", [](const Shape& shape) { return shape.ToString(); }));
  }
  out->Flag("custom_call_has_side_effect", call.has_side_effect);
  if (!call.aliases.empty()) out->Text("output_to_operand_aliasing", Braced(call.aliases, ", ", AliasText));
  if (call.api_version != CustomCallApiVersion::kOriginal) {
    out->Text("api_version", EnumToName(kApiVersionNames, call.api_version));
  }
}

bool HasReplicaGroups(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

void AppendCollective(const Instruction& instruction, const CollectiveAttributes& collective, AttributeWriter* out) {
  const Opcode opcode = instruction.opcode();
  if (collective.channel_id != 0) out->Int("channel_id", collective.channel_id);
  out->Flag("is_host_transfer", collective.is_host_transfer);
  if (HasReplicaGroups(opcode)) {
    out->Text("replica_groups", Braced(collective.replica_groups, ",", [](const std::vector<int64_t>& group) {
                return absl::StrCat("{", absl::StrJoin(group, ","), "}");
              }));
  }
  if (opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart) {
    out->Text("source_target_pairs", Braced(collective.source_target_pairs, ",", [](const auto& pair) {
                return absl::StrCat("{", pair.first, ",", pair.second, "}");
              }));
  }
  out->Flag("constrain_layout", collective.constrain_layout);
  const bool has_dimension =
      opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart || opcode == Opcode::kReduceScatter ||
      // All-to-all over a tuple has no dimension.
      (opcode == Opcode::kAllToAll && !instruction.shape().IsTuple());
  if (has_dimension) out->List("dimensions", {collective.dimension});
  out->Flag("use_global_device_ids", collective.use_global_device_ids);
}

void AppendAccuracy(const ResultAccuracyAttributes& accuracy, AttributeWriter* out) {
  if (accuracy.highest) {
    out->Text("result_accuracy", "{mode=highest}");
  } else {
    out->Text("result_accuracy", absl::StrCat("{tolerance={atol=", DoubleToText(accuracy.atol),
                                              ",rtol=", DoubleToText(accuracy.rtol), ",ulps=", accuracy.ulps, "}}"));
  }
}

void AppendCalledComputations(const Instruction& instruction, AttributeWriter* out) {
  const std::vector<Computation*>& called = instruction.called_computations();
  if (called.empty()) return;
  switch (instruction.opcode()) {
    case Opcode::kWhile:
      out->Computation("condition", instruction, 1);
      out->Computation("body", instruction, 0);
      break;
    case Opcode::kConditional:
      if (called.size() == 2 && instruction.operand_count() > 0 &&
          instruction.operand(0)->shape().element_type() == PrimitiveType::kPred) {
        out->Computation("true_computation", instruction, 0);
        out->Computation("false_computation", instruction, 1);
      } else {
        out->Computations("branch_computations", called);
      }
      break;
    case Opcode::kSelectAndScatter:
      out->Computation("select", instruction, 0);
      out->Computation("scatter", instruction, 1);
      break;
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      out->Computation("calls", instruction, 0);
      break;
    case Opcode::kCustomCall:
      if (called.size() == 1) {
        out->Computation("to_apply", instruction, 0);
      } else {
        out->Computations("called_computations", called);
      }
      break;
    default:
      out->Computation("to_apply", instruction, 0);
  }
}

void AppendVariant(const Instruction& instruction, AttributeWriter* out) {
  std::visit(
      Overloaded{
          [](const std::monostate&) {},
          // Written between the parentheses.
          [](const ParameterAttributes&) {},
          [](const ConstantAttributes&) {},
          [&](const DimensionsAttributes& a) { AppendDimensions(instruction, a, out); },
          [&](const SliceAttributes& a) { AppendSlice(a, out); },
          [&](const DynamicSliceAttributes& a) { out->List("dynamic_slice_sizes", a.sizes); },
          [&](const PadAttributes& a) { AppendPad(a, out); },
          [&](const CompareAttributes& a) {
            out->Text("direction", EnumToName(kComparisonDirectionNames, a.direction));
            if (a.type != ComparisonType::kDefault) out->Text("type", EnumToName(kComparisonTypeNames, a.type));
          },
          [&](const DotAttributes& a) { AppendDot(a, out); },
          [&](const WindowAttributes& a) {
            if (!a.window.empty()) out->Text("window", WindowText(a.window));
          },
          [&](const ConvolutionAttributes& a) { AppendConvolution(a, out); },
          [&](const GatherAttributes& a) { AppendGather(a, out); },
          [&](const ScatterAttributes& a) { AppendScatter(a, out); },
          [&](const SortAttributes& a) {
            out->List("dimensions", {a.dimension});
            out->Flag("is_stable", a.is_stable);
          },
          [&](const TopKAttributes& a) {
            out->Int("k", a.k);
            out->Text("largest", a.largest ? "true" : "false");
          },
          [&](const ScanAttributes& a) {
            out->List("dimensions", {a.dimension});
            out->Int("num_carries", a.num_carries);
            out->Flag("is_reverse", a.is_reverse);
            out->Flag("is_associative", a.is_associative);
          },
          [&](const RngAttributes& a) { AppendRng(instruction.opcode(), a, out); },
          [&](const TupleIndexAttributes& a) { out->Int("index", a.index); },
          [&](const ReducePrecisionAttributes& a) {
            out->Int("exponent_bits", a.exponent_bits);
            out->Int("mantissa_bits", a.mantissa_bits);
          },
          [&](const FftAttributes& a) {
            out->Text("fft_type", EnumToName(kFftTypeNames, a.type));
            out->List("fft_length", a.length);
          },
          [&](const TriangularSolveAttributes& a) {
            out->Flag("left_side", a.left_side);
            out->Flag("lower", a.lower);
            out->Flag("unit_diagonal", a.unit_diagonal);
            out->Text("transpose_a", EnumToName(kTransposeKindNames, a.transpose_a));
          },
          [&](const CholeskyAttributes& a) { out->Flag("lower", a.lower); },
          [&](const BatchNormAttributes& a) {
            out->Text("epsilon", FloatToText(a.epsilon));
            out->Int("feature_index", a.feature_index);
          },
          [&](const CustomCallAttributes& a) { AppendCustomCall(a, out); },
          [&](const FusionAttributes& a) { out->Text("kind", EnumToName(kFusionKindNames, a.kind)); },
          // After to_apply.
          [](const CallAttributes&) {},
          [&](const CollectiveAttributes& a) { AppendCollective(instruction, a, out); },
          [&](const FeedAttributes& a) {
            if (instruction.opcode() == Opcode::kOutfeed) out->Text("outfeed_shape", a.outfeed_shape.ToString());
            const bool infeed = instruction.opcode() == Opcode::kInfeed;
            if (!a.config.empty()) out->Quoted(infeed ? "infeed_config" : "outfeed_config", a.config);
          },
          [&](const ResultAccuracyAttributes& a) { AppendAccuracy(a, out); },
      },
      instruction.attributes());
}

}  // namespace

std::string IndexText(const DimensionVector& index) { return absl::StrCat("{", absl::StrJoin(index, ","), "}"); }

std::string WindowText(const Window& window) {
  std::string text = "{";
  auto append = [&](const std::string& part) {
    if (!part.empty()) absl::StrAppend(&text, text.size() > 1 ? " " : "", part);
  };
  append(WindowPart(window, "size", true, [](const auto& d) { return absl::StrCat(d.size); }, ""));
  append(WindowPart(window, "stride", false, [](const auto& d) { return absl::StrCat(d.stride); }, "1"));
  append(WindowPart(
      window, "pad", false, [](const auto& d) { return absl::StrCat(d.padding_low, "_", d.padding_high); }, "0_0"));
  append(WindowPart(window, "lhs_dilate", false, [](const auto& d) { return absl::StrCat(d.base_dilation); }, "1"));
  append(WindowPart(window, "rhs_dilate", false, [](const auto& d) { return absl::StrCat(d.window_dilation); }, "1"));
  append(WindowPart(window, "rhs_reversal", false, [](const auto& d) { return d.reversal ? "1" : "0"; }, "0"));
  return text + "}";
}

std::string DimLabelsText(const ConvolutionAttributes& convolution) {
  auto labels = [](int64_t first, char first_label, int64_t second, char second_label, const DimensionVector& spatial) {
    int64_t rank = std::max(first, second) + 1;
    for (int64_t dimension : spatial) rank = std::max(rank, dimension + 1);
    std::vector<std::string> parts(rank, "?");
    parts[first] = first_label;
    parts[second] = second_label;
    for (size_t i = 0; i < spatial.size(); ++i) parts[spatial[i]] = absl::StrCat(i);
    return absl::StrJoin(parts, "");
  };
  return absl::StrCat(
      labels(convolution.input_batch, 'b', convolution.input_feature, 'f', convolution.input_spatial), "_",
      labels(convolution.kernel_input_feature, 'i', convolution.kernel_output_feature, 'o', convolution.kernel_spatial),
      "->", labels(convolution.output_batch, 'b', convolution.output_feature, 'f', convolution.output_spatial));
}

void AppendOpcodeAttributes(const Instruction& instruction, std::string* text) {
  AttributeWriter out(text);
  AppendVariant(instruction, &out);
  AppendCalledComputations(instruction, &out);
  if (const auto* call = instruction.GetIf<CallAttributes>()) out.Flag("is_composite", call->is_composite);
  for (const auto& [name, value] : instruction.carried_attributes()) out.Text(name, value);
}

void AppendCommonAttributes(const Instruction& instruction, bool metadata, std::string* text) {
  AttributeWriter out(text);
  if (!instruction.sharding().empty()) out.Text("sharding", BracedOrQuoted(instruction.sharding()));
  if (!instruction.frontend_attributes().empty()) {
    out.Text("frontend_attributes", DictionaryText(instruction.frontend_attributes()));
  }
  if (!instruction.control_predecessors().empty()) {
    out.Text("control-predecessors", Braced(instruction.control_predecessors(), ", ",
                                            [](const Instruction* before) { return "%" + before->name(); }));
  }
  const Metadata& data = instruction.metadata();
  if (metadata && data != Metadata()) {
    std::string fields;
    auto append = [&](absl::string_view name, const std::string& value) {
      absl::StrAppend(&fields, fields.empty() ? "" : " ", name, "=", value);
    };
    auto quoted = [](const std::string& value) { return absl::StrCat("\"", absl::CEscape(value), "\""); };
    if (!data.op_type.empty()) append("op_type", quoted(data.op_type));
    if (!data.op_name.empty()) append("op_name", quoted(data.op_name));
    if (!data.source_file.empty()) append("source_file", quoted(data.source_file));
    if (data.source_line != 0) append("source_line", absl::StrCat(data.source_line));
    if (data.source_column != 0) append("source_column", absl::StrCat(data.source_column));
    out.Text("metadata", absl::StrCat("{", fields, "}"));
  }
  if (!instruction.backend_config().empty()) out.Text("backend_config", BracedOrQuoted(instruction.backend_config()));
}

}  // namespace kiln::hlo
