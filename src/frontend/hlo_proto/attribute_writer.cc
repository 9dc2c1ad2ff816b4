// The fields of HloInstructionProto that attributes fill.
#include <variant>

#include "src/frontend/hlo_proto/writer.h"
#include "src/hlo/attribute_names.h"

namespace kiln::hlo_proto {
namespace {

WireWriter WindowProto(const hlo::Window& window) {
  WireWriter proto;
  for (const hlo::WindowDimension& dimension : window) {
    WireWriter entry;
    entry.Int64(1, dimension.size);
    entry.Int64(2, dimension.stride);
    entry.Int64(3, dimension.padding_low);
    entry.Int64(4, dimension.padding_high);
    entry.Int64(5, dimension.window_dilation);
    entry.Int64(6, dimension.base_dilation);
    entry.Bool(7, dimension.reversal);
    proto.Message(1, entry);
  }
  return proto;
}

// One precision per operand, as readers expect, whether the program names them or not.
WireWriter PrecisionProto(const std::vector<hlo::Precision>& precisions, hlo::DotAlgorithm algorithm) {
  WireWriter proto;
  std::vector<int> numbers;
  for (hlo::Precision precision : precisions) numbers.push_back(static_cast<int>(precision));
  if (numbers.empty()) numbers.assign(2, 0);
  proto.Integers(1, numbers);
  proto.Int64(2, static_cast<int64_t>(algorithm));
  return proto;
}

// One overload per family; fields and their numbers are those of HloInstructionProto.
class Appender {
 public:
  Appender(const hlo::Instruction& instruction, WireWriter* proto) : instruction_(instruction), proto_(*proto) {}

  void operator()(const std::monostate&) {}
  void operator()(const hlo::ParameterAttributes& a) { proto_.Int64(9, a.number); }
  void operator()(const hlo::ConstantAttributes& a) { proto_.Message(8, LiteralProto(a.literal)); }
  void operator()(const hlo::DimensionsAttributes& a) { proto_.Integers(14, a.dimensions); }
  void operator()(const hlo::SliceAttributes& a) {
    for (size_t i = 0; i < a.start.size(); ++i) {
      WireWriter entry;
      entry.Int64(1, a.start[i]);
      entry.Int64(2, a.limit[i]);
      entry.Int64(3, a.stride[i]);
      proto_.Message(17, entry);
    }
  }
  void operator()(const hlo::DynamicSliceAttributes& a) { proto_.Integers(20, a.sizes); }
  void operator()(const hlo::PadAttributes& a) {
    WireWriter config;
    for (size_t i = 0; i < a.low.size(); ++i) {
      WireWriter entry;
      entry.Int64(1, a.low[i]);
      entry.Int64(2, a.high[i]);
      entry.Int64(3, a.interior[i]);
      config.Message(1, entry);
    }
    proto_.Message(21, config);
  }
  void operator()(const hlo::CompareAttributes& a) {
    proto_.String(63, hlo::EnumToName(hlo::kComparisonDirectionNames, a.direction));
    const hlo::ComparisonType type = a.type != hlo::ComparisonType::kDefault
                                         ? a.type
                                         : DefaultComparison(instruction_.operand(0)->shape().element_type());
    proto_.String(72, hlo::EnumToName(hlo::kComparisonTypeNames, type));
  }
  void operator()(const hlo::DotAttributes& a) {
    WireWriter numbers;
    numbers.Integers(1, a.lhs_contracting);
    numbers.Integers(2, a.rhs_contracting);
    numbers.Integers(3, a.lhs_batch);
    numbers.Integers(4, a.rhs_batch);
    if (instruction_.opcode() == hlo::Opcode::kRaggedDot) {
      WireWriter ragged;
      ragged.Message(1, numbers);
      ragged.Integers(2, a.lhs_ragged);
      ragged.Integers(3, a.rhs_group);
      proto_.Message(90, ragged);
    } else {
      proto_.Message(30, numbers);
    }
    proto_.Message(51, PrecisionProto(a.operand_precision, a.algorithm));
  }
  void operator()(const hlo::WindowAttributes& a) { proto_.Message(15, WindowProto(a.window)); }
  void operator()(const hlo::ConvolutionAttributes& a) {
    proto_.Message(15, WindowProto(a.window));
    WireWriter numbers;
    numbers.Int64(3, a.kernel_input_feature);
    numbers.Int64(4, a.kernel_output_feature);
    numbers.Integers(6, a.kernel_spatial);
    numbers.Int64(7, a.input_batch);
    numbers.Int64(8, a.input_feature);
    numbers.Int64(9, a.output_batch);
    numbers.Int64(10, a.output_feature);
    numbers.Integers(11, a.input_spatial);
    numbers.Integers(12, a.output_spatial);
    proto_.Message(16, numbers);
    proto_.Int64(50, a.feature_group_count);
    proto_.Int64(58, a.batch_group_count);
    proto_.Message(51, PrecisionProto(a.operand_precision, hlo::DotAlgorithm::kUnset));
  }
  void operator()(const hlo::GatherAttributes& a) {
    WireWriter numbers;
    numbers.Integers(1, a.offset_dims);
    numbers.Integers(2, a.collapsed_slice_dims);
    numbers.Integers(3, a.start_index_map);
    numbers.Int64(4, a.index_vector_dim);
    numbers.Integers(5, a.operand_batching_dims);
    numbers.Integers(6, a.start_indices_batching_dims);
    proto_.Message(33, numbers);
    proto_.Integers(34, a.slice_sizes);
    proto_.Bool(67, a.indices_are_sorted);
  }
  void operator()(const hlo::ScatterAttributes& a) {
    WireWriter numbers;
    numbers.Integers(1, a.update_window_dims);
    numbers.Integers(2, a.inserted_window_dims);
    numbers.Integers(3, a.scatter_dims_to_operand_dims);
    numbers.Int64(4, a.index_vector_dim);
    numbers.Integers(5, a.input_batching_dims);
    numbers.Integers(6, a.scatter_indices_batching_dims);
    proto_.Message(48, numbers);
    proto_.Bool(67, a.indices_are_sorted);
    proto_.Bool(69, a.unique_indices);
  }
  void operator()(const hlo::SortAttributes& a) {
    proto_.Integers(14, hlo::DimensionVector{a.dimension});
    proto_.Bool(60, a.is_stable);
  }
  void operator()(const hlo::TopKAttributes& a) {
    proto_.Int64(81, a.k);
    proto_.Bool(85, a.largest);
  }
  void operator()(const hlo::ScanAttributes& a) {
    proto_.Integers(14, hlo::DimensionVector{a.dimension});
    proto_.Bool(94, a.is_reverse);
    proto_.Int64(95, a.num_carries);
    proto_.Int64(96, a.is_associative ? 1 : 2);  // a three-valued truth; 0 is unknown
  }
  void operator()(const hlo::RngAttributes& a) {
    if (instruction_.opcode() == hlo::Opcode::kRng) proto_.Int64(23, static_cast<int64_t>(a.distribution));
    proto_.Int64(66, a.delta);
    proto_.Int64(70, static_cast<int64_t>(a.algorithm));
  }
  void operator()(const hlo::TupleIndexAttributes& a) { proto_.Int64(13, a.index); }
  void operator()(const hlo::ReducePrecisionAttributes& a) {
    proto_.Int64(18, a.exponent_bits);
    proto_.Int64(19, a.mantissa_bits);
  }
  void operator()(const hlo::FftAttributes& a) {
    proto_.Int64(31, static_cast<int64_t>(a.type));
    proto_.Integers(32, a.length);
  }
  void operator()(const hlo::TriangularSolveAttributes& a) {
    WireWriter options;
    options.Bool(1, a.left_side);
    options.Bool(2, a.lower);
    options.Bool(3, a.unit_diagonal);
    options.Int64(4, static_cast<int64_t>(a.transpose_a));
    proto_.Message(59, options);
  }
  void operator()(const hlo::CholeskyAttributes& a) {
    WireWriter options;
    options.Bool(1, a.lower);
    proto_.Message(62, options);
  }
  void operator()(const hlo::BatchNormAttributes& a) {
    proto_.Float(24, a.epsilon);
    proto_.Int64(25, a.feature_index);
  }
  void operator()(const hlo::CustomCallAttributes& a) {
    proto_.String(28, a.target);
    proto_.Int64(77, static_cast<int64_t>(a.api_version));
    proto_.Bool(65, a.has_side_effect);
    proto_.Bool(56, a.has_layout_constraints);
    for (const hlo::Shape& shape : a.operand_layouts) proto_.Message(57, ShapeProto(shape));
    for (const hlo::OutputOperandAlias& alias : a.aliases) {
      WireWriter entry;
      entry.Integers(1, alias.output_index);
      entry.Int64(2, alias.operand);
      entry.Integers(3, alias.operand_index);
      proto_.Message(74, entry);
    }
  }
  void operator()(const hlo::FusionAttributes& a) { proto_.String(11, hlo::EnumToName(hlo::kFusionKindNames, a.kind)); }
  void operator()(const hlo::CallAttributes& a) { proto_.Bool(89, a.is_composite); }
  void operator()(const hlo::CollectiveAttributes& a) {
    proto_.Int64(26, a.channel_id);
    proto_.Bool(47, a.is_host_transfer);
    proto_.Bool(56, a.constrain_layout);
    proto_.Bool(71, a.use_global_device_ids);
    WireWriter devices;
    for (const std::vector<int64_t>& group : a.replica_groups) {
      WireWriter entry;
      entry.Integers(1, group);
      devices.Message(1, entry);
    }
    if (!a.replica_groups.empty()) proto_.Message(87, devices);
    for (const auto& [source, target] : a.source_target_pairs) {
      WireWriter entry;
      entry.Int64(1, source);
      entry.Int64(2, target);
      proto_.Message(52, entry);
    }
    switch (instruction_.opcode()) {
      case hlo::Opcode::kAllGather:
      case hlo::Opcode::kAllGatherStart:
      case hlo::Opcode::kReduceScatter:
        proto_.Integers(14, hlo::DimensionVector{a.dimension});
        break;
      case hlo::Opcode::kAllToAll:
        if (!instruction_.shape().IsTuple()) proto_.Integers(14, hlo::DimensionVector{a.dimension});
        break;
      default:
        break;
    }
  }
  void operator()(const hlo::FeedAttributes& a) {
    const bool infeed = instruction_.opcode() == hlo::Opcode::kInfeed;
    proto_.String(infeed ? 27 : 22, a.config);
    if (!infeed) proto_.Message(29, ShapeProto(a.outfeed_shape));
  }
  void operator()(const hlo::ResultAccuracyAttributes& a) {
    WireWriter accuracy;
    if (a.highest) {
      accuracy.Int64(1, 1);
    } else {
      WireWriter tolerance;
      tolerance.Double(1, a.atol);
      tolerance.Double(2, a.rtol);
      tolerance.Int64(3, a.ulps);
      accuracy.Message(2, tolerance);
    }
    proto_.Message(91, accuracy);
  }

 private:
  const hlo::Instruction& instruction_;
  WireWriter& proto_;
};

}  // namespace

hlo::ComparisonType DefaultComparison(hlo::PrimitiveType type) {
  if (hlo::IsFloating(type) || hlo::IsComplex(type)) return hlo::ComparisonType::kFloat;
  return hlo::IsSignedIntegral(type) ? hlo::ComparisonType::kSigned : hlo::ComparisonType::kUnsigned;
}

void AppendAttributes(const hlo::Instruction& instruction, WireWriter* proto) {
  std::visit(Appender(instruction, proto), instruction.attributes());
}

}  // namespace kiln::hlo_proto
