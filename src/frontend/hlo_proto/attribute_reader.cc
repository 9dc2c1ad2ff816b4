// The attributes of instructions from the fields of HloInstructionProto: the inverse of attribute_writer.cc.
#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "src/frontend/hlo_proto/reader.h"
#include "src/frontend/hlo_text/replica_groups_parser.h"
#include "src/hlo/attribute_names.h"

namespace kiln::hlo_proto {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;

// Reads fields and keeps the first error, so that structs are filled in one go.
class Reader {
 public:
  Reader(const Fields& proto, Opcode opcode) : proto_(proto), opcode_(opcode) {}

  hlo::Attributes Read();
  const absl::Status& status() const { return status_; }

 private:
  void Check(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  DimensionVector List(const Fields& message, uint32_t field) {
    const std::vector<int64_t> values = message.Ints(field);
    Check(message.status());
    return DimensionVector(values.begin(), values.end());
  }
  DimensionVector List(uint32_t field) { return List(proto_, field); }
  // The only entry of `dimensions`.
  int64_t Dimension() {
    const DimensionVector dimensions = List(14);
    if (dimensions.size() == 1) return dimensions[0];
    Check(InvalidArgument("expected one entry in 'dimensions', found ", dimensions.size()));
    return 0;
  }
  template <typename Enum, size_t N>
  Enum Number(const Fields& message, uint32_t field, const hlo::EnumName<Enum> (&names)[N], absl::string_view what) {
    const int64_t value = message.Int(field);
    for (const auto& entry : names) {
      if (static_cast<int64_t>(entry.first) == value) return entry.first;
    }
    Check(InvalidArgument("unknown ", what, " ", value));
    return names[0].first;
  }
  template <typename Enum, size_t N>
  Enum Word(uint32_t field, const hlo::EnumName<Enum> (&names)[N], absl::string_view what) {
    if (const std::optional<Enum> value = hlo::EnumFromName(names, proto_.Bytes(field))) return *value;
    Check(InvalidArgument("unknown ", what, " '", proto_.Bytes(field), "'"));
    return names[0].first;
  }
  hlo::Shape ShapeAt(absl::string_view bytes) {
    absl::StatusOr<hlo::Shape> shape = ReadShape(bytes);
    Check(shape.status());
    return shape.ok() ? *std::move(shape) : hlo::Shape();
  }
  hlo::Window Window();
  void Precisions(std::vector<hlo::Precision>* precisions, hlo::DotAlgorithm* algorithm);
  hlo::DotAttributes Dot();
  hlo::ConvolutionAttributes Convolution();
  hlo::GatherAttributes Gather();
  hlo::ScatterAttributes Scatter();
  hlo::CustomCallAttributes CustomCall();
  hlo::CollectiveAttributes Collective();

  const Fields& proto_;
  const Opcode opcode_;
  absl::Status status_;
};

hlo::Window Reader::Window() {
  hlo::Window window;
  const Fields proto = proto_.Message(15);
  for (absl::string_view bytes : proto.All(1)) {
    const Fields entry(bytes);
    window.push_back(
        {entry.Int(1), entry.Int(2), entry.Int(3), entry.Int(4), entry.Int(5), entry.Int(6), entry.Bool(7)});
    Check(entry.status());
  }
  Check(proto.status());
  return window;
}

void Reader::Precisions(std::vector<hlo::Precision>* precisions, hlo::DotAlgorithm* algorithm) {
  const Fields proto = proto_.Message(51);
  bool any = false;
  for (int64_t number : proto.Ints(1)) {
    if (number < 0 || number > 2) Check(InvalidArgument("unknown operand precision ", number));
    precisions->push_back(static_cast<hlo::Precision>(number));
    any |= number != 0;
  }
  // All default is the same as saying nothing.
  if (!any) precisions->clear();
  if (algorithm != nullptr) *algorithm = Number(proto, 2, hlo::kDotAlgorithmNames, "dot algorithm");
  Check(proto.status());
}

hlo::DotAttributes Reader::Dot() {
  hlo::DotAttributes dot;
  const Fields ragged = proto_.Message(90);
  const Fields numbers = opcode_ == Opcode::kRaggedDot ? ragged.Message(1) : proto_.Message(30);
  dot.lhs_contracting = List(numbers, 1);
  dot.rhs_contracting = List(numbers, 2);
  dot.lhs_batch = List(numbers, 3);
  dot.rhs_batch = List(numbers, 4);
  if (opcode_ == Opcode::kRaggedDot) {
    dot.lhs_ragged = List(ragged, 2);
    dot.rhs_group = List(ragged, 3);
  }
  Precisions(&dot.operand_precision, &dot.algorithm);
  return dot;
}

hlo::ConvolutionAttributes Reader::Convolution() {
  hlo::ConvolutionAttributes convolution;
  convolution.window = Window();
  const Fields numbers = proto_.Message(16);
  convolution.kernel_input_feature = numbers.Int(3);
  convolution.kernel_output_feature = numbers.Int(4);
  convolution.kernel_spatial = List(numbers, 6);
  convolution.input_batch = numbers.Int(7);
  convolution.input_feature = numbers.Int(8);
  convolution.output_batch = numbers.Int(9);
  convolution.output_feature = numbers.Int(10);
  convolution.input_spatial = List(numbers, 11);
  convolution.output_spatial = List(numbers, 12);
  // 0 means 1.
  convolution.feature_group_count = std::max<int64_t>(proto_.Int(50), 1);
  convolution.batch_group_count = std::max<int64_t>(proto_.Int(58), 1);
  Precisions(&convolution.operand_precision, nullptr);
  return convolution;
}

hlo::GatherAttributes Reader::Gather() {
  hlo::GatherAttributes gather;
  const Fields numbers = proto_.Message(33);
  gather.offset_dims = List(numbers, 1);
  gather.collapsed_slice_dims = List(numbers, 2);
  gather.start_index_map = List(numbers, 3);
  gather.index_vector_dim = numbers.Int(4);
  gather.operand_batching_dims = List(numbers, 5);
  gather.start_indices_batching_dims = List(numbers, 6);
  gather.slice_sizes = List(34);
  gather.indices_are_sorted = proto_.Bool(67);
  return gather;
}

hlo::ScatterAttributes Reader::Scatter() {
  hlo::ScatterAttributes scatter;
  const Fields numbers = proto_.Message(48);
  scatter.update_window_dims = List(numbers, 1);
  scatter.inserted_window_dims = List(numbers, 2);
  scatter.scatter_dims_to_operand_dims = List(numbers, 3);
  scatter.index_vector_dim = numbers.Int(4);
  scatter.input_batching_dims = List(numbers, 5);
  scatter.scatter_indices_batching_dims = List(numbers, 6);
  scatter.indices_are_sorted = proto_.Bool(67);
  scatter.unique_indices = proto_.Bool(69);
  return scatter;
}

hlo::CustomCallAttributes Reader::CustomCall() {
  hlo::CustomCallAttributes call;
  call.target = proto_.String(28);
  // Files from before there were versions have 0.
  call.api_version = proto_.Has(77) ? Number(proto_, 77, hlo::kApiVersionNames, "api version of a custom call")
                                    : hlo::CustomCallApiVersion::kOriginal;
  call.has_side_effect = proto_.Bool(65);
  call.has_layout_constraints = proto_.Bool(56);
  for (absl::string_view shape : proto_.All(57)) call.operand_layouts.push_back(ShapeAt(shape));
  for (absl::string_view bytes : proto_.All(74)) {
    const Fields alias(bytes);
    call.aliases.push_back({List(alias, 1), alias.Int(2), List(alias, 3)});
    Check(alias.status());
  }
  return call;
}

hlo::CollectiveAttributes Reader::Collective() {
  hlo::CollectiveAttributes collective;
  collective.channel_id = proto_.Int(26);
  collective.is_host_transfer = proto_.Bool(47);
  collective.constrain_layout = proto_.Bool(56);
  collective.use_global_device_ids = proto_.Bool(71);
  const Fields devices = proto_.Message(87);
  for (absl::string_view group : proto_.Has(87) ? devices.All(1) : proto_.All(49)) {
    collective.replica_groups.push_back(Fields(group).Ints(1));
  }
  if (proto_.Has(92)) {
    // The text form of the same, which has a parser.
    const Fields iota = proto_.Message(92);
    std::string text = absl::StrCat("[", iota.Int(1), ",", iota.Int(2), "]<=[", absl::StrJoin(iota.Ints(3), ","), "]");
    if (iota.Has(4)) absl::StrAppend(&text, "T(", absl::StrJoin(iota.Ints(4), ","), ")");
    hlo_text::Lexer lexer(text, "iota_collective_device_list");
    int64_t budget = int64_t{1} << 20;
    auto groups = hlo_text::ParseReplicaGroups(lexer, &budget);
    Check(groups.status());
    if (groups.ok()) collective.replica_groups = *std::move(groups);
  }
  if (proto_.Has(93)) Check(Unimplemented("replica groups by mesh axes are not supported"));
  for (absl::string_view bytes : proto_.All(52)) {
    const Fields pair(bytes);
    collective.source_target_pairs.emplace_back(pair.Int(1), pair.Int(2));
  }
  const bool needs_dimension =
      opcode_ == Opcode::kAllGather || opcode_ == Opcode::kAllGatherStart || opcode_ == Opcode::kReduceScatter;
  if (needs_dimension || proto_.Has(14)) collective.dimension = Dimension();
  return collective;
}

hlo::Attributes Reader::Read() {
  switch (opcode_) {
    case Opcode::kParameter:
      return hlo::ParameterAttributes{proto_.Int(9)};
    case Opcode::kConstant: {
      absl::StatusOr<hlo::Literal> literal = ReadLiteral(proto_.Bytes(8));
      Check(literal.status());
      return hlo::ConstantAttributes{literal.ok() ? *std::move(literal) : hlo::Literal()};
    }
    case Opcode::kBroadcast:
    case Opcode::kReverse:
    case Opcode::kTranspose:
    case Opcode::kReduce:
    case Opcode::kMap:
      return hlo::DimensionsAttributes{List(14)};
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kIota:
      return hlo::DimensionsAttributes{{Dimension()}};
    case Opcode::kSlice: {
      hlo::SliceAttributes slice;
      for (absl::string_view bytes : proto_.All(17)) {
        const Fields entry(bytes);
        slice.start.push_back(entry.Int(1));
        slice.limit.push_back(entry.Int(2));
        slice.stride.push_back(entry.Int(3));
        Check(entry.status());
      }
      return slice;
    }
    case Opcode::kDynamicSlice:
      return hlo::DynamicSliceAttributes{List(20)};
    case Opcode::kPad: {
      hlo::PadAttributes pad;
      const Fields config = proto_.Message(21);
      for (absl::string_view bytes : config.All(1)) {
        const Fields entry(bytes);
        pad.low.push_back(entry.Int(1));
        pad.high.push_back(entry.Int(2));
        pad.interior.push_back(entry.Int(3));
        Check(entry.status());
      }
      Check(config.status());
      return pad;
    }
    case Opcode::kCompare:
      return hlo::CompareAttributes{Word(63, hlo::kComparisonDirectionNames, "comparison direction"),
                                    proto_.Bytes(72).empty() ? hlo::ComparisonType::kDefault
                                                             : Word(72, hlo::kComparisonTypeNames, "comparison type")};
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return Dot();
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return hlo::WindowAttributes{Window()};
    case Opcode::kConvolution:
      return Convolution();
    case Opcode::kGather:
      return Gather();
    case Opcode::kScatter:
      return Scatter();
    case Opcode::kSort:
      return hlo::SortAttributes{Dimension(), proto_.Bool(60)};
    case Opcode::kTopK:
      return hlo::TopKAttributes{proto_.Int(81), proto_.Bool(85)};
    case Opcode::kScan:
      return hlo::ScanAttributes{Dimension(), proto_.Int(95), proto_.Bool(94), proto_.Int(96) == 1};
    case Opcode::kRng:
      return hlo::RngAttributes{Number(proto_, 23, hlo::kRngDistributionNames, "random distribution")};
    case Opcode::kRngBitGenerator:
      return hlo::RngAttributes{hlo::RngDistribution::kUniform,
                                Number(proto_, 70, hlo::kRngAlgorithmNames, "random algorithm")};
    case Opcode::kRngGetAndUpdateState:
      return hlo::RngAttributes{hlo::RngDistribution::kUniform, hlo::RngAlgorithm::kDefault, proto_.Int(66)};
    case Opcode::kGetTupleElement:
      return hlo::TupleIndexAttributes{proto_.Int(13)};
    case Opcode::kReducePrecision:
      return hlo::ReducePrecisionAttributes{proto_.Int(18), proto_.Int(19)};
    case Opcode::kFft:
      return hlo::FftAttributes{Number(proto_, 31, hlo::kFftTypeNames, "fft type"), List(32)};
    case Opcode::kTriangularSolve: {
      const Fields options = proto_.Message(59);
      return hlo::TriangularSolveAttributes{options.Bool(1), options.Bool(2), options.Bool(3),
                                            Number(options, 4, hlo::kTransposeKindNames, "transpose_a")};
    }
    case Opcode::kCholesky:
      return hlo::CholeskyAttributes{proto_.Message(62).Bool(1)};
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return hlo::BatchNormAttributes{proto_.Float(24), proto_.Int(25)};
    case Opcode::kCustomCall:
      return CustomCall();
    case Opcode::kFusion:
      return hlo::FusionAttributes{Word(11, hlo::kFusionKindNames, "fusion kind")};
    case Opcode::kCall:
      return hlo::CallAttributes{proto_.Bool(89)};
    case Opcode::kInfeed:
      return hlo::FeedAttributes{proto_.String(27), {}};
    case Opcode::kOutfeed:
      return hlo::FeedAttributes{proto_.String(22), ShapeAt(proto_.Bytes(29))};
    default:
      break;
  }
  if (proto_.Has(91)) {
    const Fields accuracy = proto_.Message(91);
    const Fields tolerance = accuracy.Message(2);
    const hlo::ResultAccuracyAttributes result{tolerance.Double(1), tolerance.Double(2), tolerance.Int(3),
                                               accuracy.Int(1) == 1};
    Check(tolerance.status());
    // The default mode is the same as saying nothing.
    if (result != hlo::ResultAccuracyAttributes()) return result;
  }
  if (hlo::KindOf(opcode_) == hlo::OpKind::kCommunication && opcode_ != Opcode::kCopyStart &&
      opcode_ != Opcode::kCopyDone) {
    return Collective();
  }
  return {};
}

}  // namespace

absl::StatusOr<hlo::Attributes> ReadAttributes(const Fields& proto, Opcode opcode) {
  Reader reader(proto, opcode);
  hlo::Attributes attributes = reader.Read();
  KILN_RETURN_IF_ERROR(reader.status());
  KILN_RETURN_IF_ERROR(proto.status());
  return attributes;
}

std::string ShardingText(absl::string_view bytes, int depth) {
  constexpr int kMaxDepth = 64;
  const Fields sharding(bytes);
  constexpr absl::string_view kLastDims[] = {"replicated", "maximal", "tuple",    "other",
                                             "manual",     "unknown", "unreduced"};
  const int64_t type = sharding.Int(1);
  switch (type) {
    case 0:
      return "{replicated}";
    case 1: {
      const std::vector<int64_t> devices = sharding.Ints(4);
      return absl::StrCat("{maximal device=", devices.empty() ? 0 : devices[0], "}");
    }
    case 2: {
      std::vector<std::string> parts;
      for (absl::string_view part : sharding.All(5)) {
        if (depth < kMaxDepth) parts.push_back(ShardingText(part, depth + 1));
      }
      return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
    }
    case 4:
      return "{manual}";
    case 5:
      return "{unknown}";
    case 6:
      return "{unreduced}";
    default:
      break;
  }
  std::string text = absl::StrCat("{devices=[", absl::StrJoin(sharding.Ints(3), ","), "]");
  if (sharding.Has(9)) {
    absl::StrAppend(&text, "<=[", absl::StrJoin(sharding.Ints(9), ","), "]");
    if (sharding.Ints(10).size() > 1) absl::StrAppend(&text, "T(", absl::StrJoin(sharding.Ints(10), ","), ")");
  } else {
    absl::StrAppend(&text, absl::StrJoin(sharding.Ints(4), ","));
  }
  if (sharding.Bool(6)) absl::StrAppend(&text, " last_tile_dim_replicate");
  std::vector<absl::string_view> last;
  for (int64_t dim : sharding.Ints(8)) last.push_back(kLastDims[dim >= 0 && dim <= 6 ? dim : 5]);
  if (!last.empty()) absl::StrAppend(&text, " last_tile_dims={", absl::StrJoin(last, ", "), "}");
  return absl::StrCat(text, "}");
}

}  // namespace kiln::hlo_proto
