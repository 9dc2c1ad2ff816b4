#include "src/frontend/hlo_text/attribute_builder.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "src/hlo/attribute_names.h"

namespace kiln::hlo_text {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;

// Looks attributes up by name. Lookups that fail note the first error, so that structs are filled in one go.
class Reader {
 public:
  Reader(const Lexer& lexer, const ParsedInstruction& instruction, Opcode opcode)
      : lexer_(lexer), instruction_(instruction), opcode_(opcode) {}

  template <typename T>
  const T* Find(absl::string_view name) const {
    const ParsedAttribute* attribute = FindAttribute(name);
    return attribute == nullptr ? nullptr : std::get_if<T>(&attribute->value);
  }
  template <typename T>
  T Get(absl::string_view name, T otherwise) const {
    const T* value = Find<T>(name);
    return value == nullptr ? otherwise : *value;
  }
  template <typename T>
  T Need(absl::string_view name) {
    const T* value = Find<T>(name);
    if (value != nullptr) return *value;
    Fail(absl::StrCat(hlo::OpcodeName(opcode_), " needs the attribute '", name, "'"), instruction_.offset);
    return T();
  }
  bool Flag(absl::string_view name) const { return Get<bool>(name, false); }
  DimensionVector List(absl::string_view name) const { return Get<DimensionVector>(name, {}); }
  DimensionVector NeedList(absl::string_view name) { return Need<DimensionVector>(name); }

  // A list of exactly one dimension.
  int64_t NeedOneDimension() {
    DimensionVector dimensions = Need<DimensionVector>("dimensions");
    if (dimensions.size() == 1) return dimensions[0];
    Fail(absl::StrCat(hlo::OpcodeName(opcode_), " needs one entry in 'dimensions'"), instruction_.offset);
    return 0;
  }

  template <typename Enum, size_t N>
  Enum Word(absl::string_view name, const hlo::EnumName<Enum> (&names)[N], Enum otherwise) {
    const ParsedAttribute* attribute = FindAttribute(name);
    if (attribute == nullptr) return otherwise;
    if (std::optional<Enum> value = hlo::EnumFromName(names, std::get<std::string>(attribute->value))) return *value;
    Fail(absl::StrCat("unknown value '", std::get<std::string>(attribute->value), "' of ", name, "; expected one of ",
                      absl::StrJoin(names, ", ",
                                    [](std::string* out, const auto& entry) { absl::StrAppend(out, entry.second); })),
         attribute->offset);
    return otherwise;
  }
  template <typename Enum, size_t N>
  Enum NeedWord(absl::string_view name, const hlo::EnumName<Enum> (&names)[N], Enum otherwise) {
    if (FindAttribute(name) == nullptr) {
      Fail(absl::StrCat(hlo::OpcodeName(opcode_), " needs the attribute '", name, "'"), instruction_.offset);
    }
    return Word(name, names, otherwise);
  }

  void Fail(const std::string& message, size_t offset) {
    if (status_.ok()) status_ = lexer_.Error(offset, message);
  }
  const absl::Status& status() const { return status_; }

 private:
  const ParsedAttribute* FindAttribute(absl::string_view name) const {
    for (const ParsedAttribute& attribute : instruction_.attributes) {
      if (attribute.name == name) return &attribute;
    }
    return nullptr;
  }

  const Lexer& lexer_;
  const ParsedInstruction& instruction_;
  const Opcode opcode_;
  absl::Status status_;
};

hlo::DotAttributes BuildDot(Reader& in) {
  hlo::DotAttributes dot;
  dot.lhs_batch = in.List("lhs_batch_dims");
  dot.rhs_batch = in.List("rhs_batch_dims");
  dot.lhs_contracting = in.List("lhs_contracting_dims");
  dot.rhs_contracting = in.List("rhs_contracting_dims");
  dot.operand_precision = in.Get<std::vector<hlo::Precision>>("operand_precision", {});
  dot.algorithm = in.Word("algorithm", hlo::kDotAlgorithmNames, hlo::DotAlgorithm::kUnset);
  dot.lhs_ragged = in.List("lhs_ragged_dims");
  dot.rhs_group = in.List("rhs_group_dims");
  return dot;
}

hlo::ConvolutionAttributes BuildConvolution(Reader& in) {
  auto convolution = in.Need<hlo::ConvolutionAttributes>("dim_labels");
  convolution.window = in.Get<hlo::Window>("window", {});
  convolution.feature_group_count = in.Get<int64_t>("feature_group_count", 1);
  convolution.batch_group_count = in.Get<int64_t>("batch_group_count", 1);
  convolution.operand_precision = in.Get<std::vector<hlo::Precision>>("operand_precision", {});
  return convolution;
}

hlo::GatherAttributes BuildGather(Reader& in) {
  hlo::GatherAttributes gather;
  gather.offset_dims = in.NeedList("offset_dims");
  gather.collapsed_slice_dims = in.NeedList("collapsed_slice_dims");
  gather.operand_batching_dims = in.List("operand_batching_dims");
  gather.start_indices_batching_dims = in.List("start_indices_batching_dims");
  gather.start_index_map = in.NeedList("start_index_map");
  gather.index_vector_dim = in.Need<int64_t>("index_vector_dim");
  gather.slice_sizes = in.NeedList("slice_sizes");
  gather.indices_are_sorted = in.Flag("indices_are_sorted");
  return gather;
}

hlo::ScatterAttributes BuildScatter(Reader& in) {
  hlo::ScatterAttributes scatter;
  scatter.update_window_dims = in.NeedList("update_window_dims");
  scatter.inserted_window_dims = in.NeedList("inserted_window_dims");
  scatter.input_batching_dims = in.List("input_batching_dims");
  scatter.scatter_indices_batching_dims = in.List("scatter_indices_batching_dims");
  scatter.scatter_dims_to_operand_dims = in.NeedList("scatter_dims_to_operand_dims");
  scatter.index_vector_dim = in.Need<int64_t>("index_vector_dim");
  scatter.indices_are_sorted = in.Flag("indices_are_sorted");
  scatter.unique_indices = in.Flag("unique_indices");
  return scatter;
}

hlo::CustomCallAttributes BuildCustomCall(Reader& in) {
  hlo::CustomCallAttributes call;
  call.target = in.Need<std::string>("custom_call_target");
  call.api_version = in.Word("api_version", hlo::kApiVersionNames, hlo::CustomCallApiVersion::kOriginal);
  call.has_side_effect = in.Flag("custom_call_has_side_effect");
  if (const auto* shapes = in.Find<std::vector<hlo::Shape>>("operand_layout_constraints")) {
    call.has_layout_constraints = true;
    call.operand_layouts = *shapes;
  }
  call.aliases = in.Get<std::vector<hlo::OutputOperandAlias>>("output_to_operand_aliasing", {});
  return call;
}

hlo::CollectiveAttributes BuildCollective(Reader& in, size_t offset, Opcode opcode) {
  hlo::CollectiveAttributes collective;
  collective.channel_id = in.Get<int64_t>("channel_id", 0);
  using Lists = std::vector<std::vector<int64_t>>;
  collective.replica_groups = in.Get<Lists>("replica_groups", {});
  for (const std::vector<int64_t>& pair : in.Get<Lists>("source_target_pairs", {})) {
    if (pair.size() != 2) {
      in.Fail("source_target_pairs need two entries each", offset);
      break;
    }
    collective.source_target_pairs.emplace_back(pair[0], pair[1]);
  }
  const bool needs_dimension =
      opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart || opcode == Opcode::kReduceScatter;
  if (needs_dimension || in.Find<DimensionVector>("dimensions") != nullptr) {
    collective.dimension = in.NeedOneDimension();
  }
  collective.use_global_device_ids = in.Flag("use_global_device_ids");
  collective.constrain_layout = in.Flag("constrain_layout");
  collective.is_host_transfer = in.Flag("is_host_transfer");
  return collective;
}

hlo::Attributes Build(Reader& in, const ParsedInstruction& instruction, Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
      return hlo::ParameterAttributes{instruction.parameter_number};
    case Opcode::kConstant:
      return hlo::ConstantAttributes{*instruction.literal};
    case Opcode::kBroadcast:
    case Opcode::kReverse:
    case Opcode::kTranspose:
      // A broadcast scalar maps no dimension.
      return hlo::DimensionsAttributes{opcode == Opcode::kBroadcast ? in.List("dimensions")
                                                                    : in.NeedList("dimensions")};
    case Opcode::kReduce:
      return hlo::DimensionsAttributes{in.NeedList("dimensions")};
    case Opcode::kMap:
      return hlo::DimensionsAttributes{in.List("dimensions")};
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
      return hlo::DimensionsAttributes{{in.NeedOneDimension()}};
    case Opcode::kIota:
      return hlo::DimensionsAttributes{{in.Need<int64_t>("iota_dimension")}};
    case Opcode::kSlice:
      return in.Need<hlo::SliceAttributes>("slice");
    case Opcode::kDynamicSlice:
      return hlo::DynamicSliceAttributes{in.NeedList("dynamic_slice_sizes")};
    case Opcode::kPad:
      return in.Need<hlo::PadAttributes>("padding");
    case Opcode::kCompare:
      return hlo::CompareAttributes{
          in.NeedWord("direction", hlo::kComparisonDirectionNames, hlo::ComparisonDirection::kEq),
          in.Word("type", hlo::kComparisonTypeNames, hlo::ComparisonType::kDefault)};
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return BuildDot(in);
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return hlo::WindowAttributes{in.Get<hlo::Window>("window", {})};
    case Opcode::kConvolution:
      return BuildConvolution(in);
    case Opcode::kGather:
      return BuildGather(in);
    case Opcode::kScatter:
      return BuildScatter(in);
    case Opcode::kSort:
      return hlo::SortAttributes{in.NeedOneDimension(), in.Flag("is_stable")};
    case Opcode::kTopK:
      return hlo::TopKAttributes{in.Need<int64_t>("k"), in.Get<bool>("largest", true)};
    case Opcode::kScan:
      return hlo::ScanAttributes{in.NeedOneDimension(), in.Need<int64_t>("num_carries"), in.Flag("is_reverse"),
                                 in.Flag("is_associative")};
    case Opcode::kRng:
      return hlo::RngAttributes{
          in.NeedWord("distribution", hlo::kRngDistributionNames, hlo::RngDistribution::kUniform)};
    case Opcode::kRngBitGenerator:
      return hlo::RngAttributes{hlo::RngDistribution::kUniform,
                                in.NeedWord("algorithm", hlo::kRngAlgorithmNames, hlo::RngAlgorithm::kDefault)};
    case Opcode::kRngGetAndUpdateState:
      return hlo::RngAttributes{hlo::RngDistribution::kUniform, hlo::RngAlgorithm::kDefault,
                                in.Need<int64_t>("delta")};
    case Opcode::kGetTupleElement:
      return hlo::TupleIndexAttributes{in.Need<int64_t>("index")};
    case Opcode::kReducePrecision:
      return hlo::ReducePrecisionAttributes{in.Need<int64_t>("exponent_bits"), in.Need<int64_t>("mantissa_bits")};
    case Opcode::kFft:
      return hlo::FftAttributes{in.NeedWord("fft_type", hlo::kFftTypeNames, hlo::FftType::kFft),
                                in.NeedList("fft_length")};
    case Opcode::kTriangularSolve:
      return hlo::TriangularSolveAttributes{
          in.Flag("left_side"), in.Flag("lower"), in.Flag("unit_diagonal"),
          in.Word("transpose_a", hlo::kTransposeKindNames, hlo::TransposeKind::kNoTranspose)};
    case Opcode::kCholesky:
      return hlo::CholeskyAttributes{in.Flag("lower")};
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return hlo::BatchNormAttributes{static_cast<float>(in.Need<double>("epsilon")),
                                      in.Need<int64_t>("feature_index")};
    case Opcode::kCustomCall:
      return BuildCustomCall(in);
    case Opcode::kFusion:
      return hlo::FusionAttributes{in.NeedWord("kind", hlo::kFusionKindNames, hlo::FusionKind::kLoop)};
    case Opcode::kCall:
      return hlo::CallAttributes{in.Flag("is_composite")};
    case Opcode::kInfeed:
      return hlo::FeedAttributes{in.Get<std::string>("infeed_config", ""), {}};
    case Opcode::kOutfeed: {
      hlo::FeedAttributes feed{in.Get<std::string>("outfeed_config", ""), {}};
      auto shapes = in.Need<std::vector<hlo::Shape>>("outfeed_shape");
      if (!shapes.empty()) feed.outfeed_shape = std::move(shapes[0]);
      return feed;
    }
    default:
      break;
  }
  if (const auto* accuracy = in.Find<hlo::ResultAccuracyAttributes>("result_accuracy")) {
    // The default mode is the same as saying nothing.
    if (*accuracy != hlo::ResultAccuracyAttributes()) return *accuracy;
  }
  if (hlo::KindOf(opcode) == hlo::OpKind::kCommunication && opcode != Opcode::kCopyStart &&
      opcode != Opcode::kCopyDone) {
    return BuildCollective(in, instruction.offset, opcode);
  }
  return {};
}

}  // namespace

absl::StatusOr<hlo::Attributes> BuildAttributes(const Lexer& lexer, const ParsedInstruction& instruction,
                                                Opcode opcode) {
  Reader reader(lexer, instruction, opcode);
  hlo::Attributes attributes = Build(reader, instruction, opcode);
  KILN_RETURN_IF_ERROR(reader.status());
  return attributes;
}

absl::StatusOr<std::vector<NameReference>> CalledComputations(const Lexer& lexer, const ParsedInstruction& instruction,
                                                              Opcode opcode) {
  Reader reader(lexer, instruction, opcode);
  std::vector<NameReference> called;
  auto append = [&](absl::string_view name, bool needed) {
    using References = std::vector<NameReference>;
    const References references = needed ? reader.Need<References>(name) : reader.Get<References>(name, {});
    called.insert(called.end(), references.begin(), references.end());
  };
  switch (opcode) {
    case Opcode::kWhile:
      append("body", true);
      append("condition", true);
      break;
    case Opcode::kConditional:
      if (reader.Find<std::vector<NameReference>>("branch_computations") != nullptr) {
        append("branch_computations", true);
      } else {
        append("true_computation", true);
        append("false_computation", true);
      }
      break;
    case Opcode::kSelectAndScatter:
      append("select", true);
      append("scatter", true);
      break;
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      append("calls", true);
      break;
    case Opcode::kCall:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kScan:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kCollectiveReduce:
      append("to_apply", true);
      break;
    case Opcode::kCustomCall:
      append("to_apply", false);
      append("called_computations", false);
      break;
    default:
      break;
  }
  KILN_RETURN_IF_ERROR(reader.status());
  return called;
}

}  // namespace kiln::hlo_text
