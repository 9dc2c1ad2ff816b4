// Where the formats of HLO keep the attributes of instructions: one description of each family, by which HLO text and
// HloModuleProto are read and written.
#ifndef KILN_HLO_ATTRIBUTE_FIELDS_H_
#define KILN_HLO_ATTRIBUTE_FIELDS_H_

#include <cstdint>
#include <variant>

#include "absl/strings/string_view.h"
#include "src/hlo/attribute_names.h"
#include "src/hlo/opcode.h"

namespace kiln::hlo {

struct Field {
  absl::string_view text;  // The name in HLO text; empty where that has none.
  uint32_t proto = 0;      // The number in HloInstructionProto, or in the message that `Inside` names; 0: none.
  bool needed = false;     // HLO text without it is an error.
  bool always = needed;    // HLO text is written with it even where it says nothing.
  int64_t absent = 0;      // What a number or an enum is where HLO text has none.
};
constexpr Field Needed(absl::string_view text, uint32_t proto) { return {text, proto, true}; }
constexpr Field Always(absl::string_view text, uint32_t proto) { return {text, proto, false, true}; }

template <typename... Opcodes>
constexpr bool IsOneOf(Opcode opcode, Opcodes... others) {
  return ((opcode == others) || ...);
}

// The functions below call, of a reader or writer `io`:
//   io(field, value)                    a value in the way of its type
//   io.Dimension(field, value)          a list that has one entry
//   io.Word(field, what, names, value)  an enum by its word; `what` is for messages
//   io.Number(...)                      an enum by its number in the proto and its word in text
//   io.Inside(number, describe)         what `describe` calls is in a submessage
// in the order in which HLO text is written, or inside submessages, with Io::kByNumber, in that of their numbers.
template <typename Io>
void Describe(Io&, Opcode, std::monostate&) {}

template <typename Io>
void Describe(Io& io, Opcode, ParameterAttributes& a) {
  io({"", 9}, a.number);
}

template <typename Io>
void Describe(Io& io, Opcode, ConstantAttributes& a) {
  io({"", 8}, a.literal);
}

template <typename Io>
void Describe(Io& io, Opcode opcode, DimensionsAttributes& a) {
  if (IsOneOf(opcode, Opcode::kIota, Opcode::kConcatenate, Opcode::kGetDimensionSize, Opcode::kSetDimensionSize)) {
    a.dimensions.resize(1);
    if (opcode == Opcode::kIota) io(Needed("iota_dimension", 0), a.dimensions[0]);
    return io.Dimension(opcode == Opcode::kIota ? Field{"", 14} : Needed("dimensions", 14), a.dimensions[0]);
  }
  // A broadcast scalar maps no dimension.
  io({"dimensions", 14, !IsOneOf(opcode, Opcode::kBroadcast, Opcode::kMap), true}, a.dimensions);
}

template <typename Io>
void Describe(Io& io, Opcode, SliceAttributes& a) {
  io(Needed("slice", 17), a);
}

template <typename Io>
void Describe(Io& io, Opcode, DynamicSliceAttributes& a) {
  io(Needed("dynamic_slice_sizes", 20), a.sizes);
}

template <typename Io>
void Describe(Io& io, Opcode, PadAttributes& a) {
  io(Needed("padding", 21), a);
}

template <typename Io>
void Describe(Io& io, Opcode, CompareAttributes& a) {
  io.Word(Needed("direction", 63), "comparison direction", kComparisonDirectionNames, a.direction);
  io.Word({"type", 72}, "comparison type", kComparisonTypeNames, a.type);
}

template <typename Io>
void Describe(Io& io, Opcode opcode, DotAttributes& a) {
  const bool ragged = opcode == Opcode::kRaggedDot;
  const auto dimensions = [&] {
    const auto lhs_contracting = [&] { io(Always("lhs_contracting_dims", 1), a.lhs_contracting); };
    const auto rhs_contracting = [&] { io(Always("rhs_contracting_dims", 2), a.rhs_contracting); };
    if (Io::kByNumber) lhs_contracting(), rhs_contracting();
    io({"lhs_batch_dims", 3}, a.lhs_batch);
    if (!Io::kByNumber) lhs_contracting();
    io({"rhs_batch_dims", 4}, a.rhs_batch);
    if (!Io::kByNumber) rhs_contracting();
  };
  if (ragged) {
    io.Inside(90, [&] {
      io.Inside(1, dimensions);
      io({"lhs_ragged_dims", 2}, a.lhs_ragged);
      io({"rhs_group_dims", 3}, a.rhs_group);
    });
  } else {
    io.Inside(30, dimensions);
  }
  io.Inside(51, [&] {
    io({"operand_precision", 1}, a.operand_precision);
    io.Number({ragged ? "" : "algorithm", 2}, "dot algorithm", kDotAlgorithmNames, a.algorithm);
  });
}

template <typename Io>
void Describe(Io& io, Opcode, WindowAttributes& a) {
  io({"window", 15}, a.window);
}

template <typename Io>
void Describe(Io& io, Opcode, ConvolutionAttributes& a) {
  io({"window", 15}, a.window);
  io(Needed("dim_labels", 0), a);
  io.Inside(16, [&] {
    io({"", 3}, a.kernel_input_feature);
    io({"", 4}, a.kernel_output_feature);
    io({"", 6}, a.kernel_spatial);
    io({"", 7}, a.input_batch);
    io({"", 8}, a.input_feature);
    io({"", 9}, a.output_batch);
    io({"", 10}, a.output_feature);
    io({"", 11}, a.input_spatial);
    io({"", 12}, a.output_spatial);
  });
  io({"feature_group_count", 50, false, false, /*absent=*/1}, a.feature_group_count);
  io({"batch_group_count", 58, false, false, /*absent=*/1}, a.batch_group_count);
  io.Inside(51, [&] { io({"operand_precision", 1}, a.operand_precision); });
}

template <typename Io>
void Describe(Io& io, Opcode, GatherAttributes& a) {
  io.Inside(33, [&] {
    io(Needed("offset_dims", 1), a.offset_dims);
    io(Needed("collapsed_slice_dims", 2), a.collapsed_slice_dims);
    io(Needed("start_index_map", 3), a.start_index_map);
    if (Io::kByNumber) io(Needed("index_vector_dim", 4), a.index_vector_dim);
    io({"operand_batching_dims", 5}, a.operand_batching_dims);
    io({"start_indices_batching_dims", 6}, a.start_indices_batching_dims);
    if (!Io::kByNumber) io(Needed("index_vector_dim", 4), a.index_vector_dim);
  });
  io(Needed("slice_sizes", 34), a.slice_sizes);
  io({"indices_are_sorted", 67}, a.indices_are_sorted);
}

template <typename Io>
void Describe(Io& io, Opcode, ScatterAttributes& a) {
  io.Inside(48, [&] {
    io(Needed("update_window_dims", 1), a.update_window_dims);
    io(Needed("inserted_window_dims", 2), a.inserted_window_dims);
    io(Needed("scatter_dims_to_operand_dims", 3), a.scatter_dims_to_operand_dims);
    if (Io::kByNumber) io(Needed("index_vector_dim", 4), a.index_vector_dim);
    io({"input_batching_dims", 5}, a.input_batching_dims);
    io({"scatter_indices_batching_dims", 6}, a.scatter_indices_batching_dims);
    if (!Io::kByNumber) io(Needed("index_vector_dim", 4), a.index_vector_dim);
  });
  io({"indices_are_sorted", 67}, a.indices_are_sorted);
  io({"unique_indices", 69}, a.unique_indices);
}

template <typename Io>
void Describe(Io& io, Opcode, SortAttributes& a) {
  io.Dimension(Needed("dimensions", 14), a.dimension);
  io({"is_stable", 60}, a.is_stable);
}

template <typename Io>
void Describe(Io& io, Opcode, TopKAttributes& a) {
  io(Needed("k", 81), a.k);
  io(Always("largest", 85), a.largest);
}

template <typename Io>
void Describe(Io& io, Opcode, ScanAttributes& a) {
  io.Dimension(Needed("dimensions", 14), a.dimension);
  io(Needed("num_carries", 95), a.num_carries);
  io({"is_reverse", 94}, a.is_reverse);
  io({"is_associative", 0}, a.is_associative);
  int64_t truth = a.is_associative ? 1 : 2;  // 0 is unknown.
  io({"", 96}, truth);
  a.is_associative = truth == 1;
}

template <typename Io>
void Describe(Io& io, Opcode opcode, RngAttributes& a) {
  if (opcode == Opcode::kRng) {
    io.Number(Needed("distribution", 23), "random distribution", kRngDistributionNames, a.distribution);
  } else if (opcode == Opcode::kRngBitGenerator) {
    io.Number(Needed("algorithm", 70), "random algorithm", kRngAlgorithmNames, a.algorithm);
  } else {
    io(Needed("delta", 66), a.delta);
  }
}

template <typename Io>
void Describe(Io& io, Opcode, TupleIndexAttributes& a) {
  io(Needed("index", 13), a.index);
}

template <typename Io>
void Describe(Io& io, Opcode, ReducePrecisionAttributes& a) {
  io(Needed("exponent_bits", 18), a.exponent_bits);
  io(Needed("mantissa_bits", 19), a.mantissa_bits);
}

template <typename Io>
void Describe(Io& io, Opcode, FftAttributes& a) {
  io.Number(Needed("fft_type", 31), "fft type", kFftTypeNames, a.type);
  io(Needed("fft_length", 32), a.length);
}

template <typename Io>
void Describe(Io& io, Opcode, TriangularSolveAttributes& a) {
  io.Inside(59, [&] {
    io({"left_side", 1}, a.left_side);
    io({"lower", 2}, a.lower);
    io({"unit_diagonal", 3}, a.unit_diagonal);
    io.Number(Always("transpose_a", 4), "transpose_a", kTransposeKindNames, a.transpose_a);
  });
}

template <typename Io>
void Describe(Io& io, Opcode, CholeskyAttributes& a) {
  io.Inside(62, [&] { io({"lower", 1}, a.lower); });
}

template <typename Io>
void Describe(Io& io, Opcode, BatchNormAttributes& a) {
  io(Needed("epsilon", 24), a.epsilon);
  io(Needed("feature_index", 25), a.feature_index);
}

template <typename Io>
void Describe(Io& io, Opcode, CustomCallAttributes& a) {
  io(Needed("custom_call_target", 28), a.target);
  io({"", 56}, a.has_layout_constraints);
  // Text that has them, if only an empty list, says that there are constraints.
  if (Io::kReads || a.has_layout_constraints) io(Always("operand_layout_constraints", 57), a.operand_layouts);
  io({"custom_call_has_side_effect", 65}, a.has_side_effect);
  io({"output_to_operand_aliasing", 74}, a.aliases);
  constexpr int64_t kOriginal = static_cast<int64_t>(CustomCallApiVersion::kOriginal);
  io.Number({"api_version", 77, false, false, kOriginal}, "api version of a custom call", kApiVersionNames,
            a.api_version);
}

template <typename Io>
void Describe(Io& io, Opcode, FusionAttributes& a) {
  io.Word(Needed("kind", 11), "fusion kind", kFusionKindNames, a.kind);
}

template <typename Io>
void Describe(Io& io, Opcode, CallAttributes& a) {
  io({"is_composite", 89}, a.is_composite);
}

template <typename Io>
void Describe(Io& io, Opcode opcode, CollectiveAttributes& a) {
  const bool gathers = IsOneOf(opcode, Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kReduceScatter);
  const bool reduces = IsOneOf(opcode, Opcode::kAllReduce, Opcode::kAllReduceStart, Opcode::kCollectiveReduce);
  const bool exchanges = IsOneOf(opcode, Opcode::kAllToAll, Opcode::kRaggedAllToAll);
  const bool permutes = IsOneOf(opcode, Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart);
  const bool talks = IsOneOf(opcode, Opcode::kSend, Opcode::kSendDone, Opcode::kRecv, Opcode::kRecvDone);
  const bool constrains = gathers || reduces || exchanges;
  const bool groups = constrains || opcode == Opcode::kCollectiveBroadcast;
  const auto in_text = [](bool known, absl::string_view name) { return known ? name : absl::string_view(); };
  io({in_text(groups || permutes || talks, "channel_id"), 26}, a.channel_id);
  io({in_text(talks, "is_host_transfer"), 47}, a.is_host_transfer);
  io(Always(in_text(groups, "replica_groups"), 87), a.replica_groups);
  io(Always(in_text(permutes, "source_target_pairs"), 52), a.source_target_pairs);
  io({in_text(constrains, "constrain_layout"), 56}, a.constrain_layout);
  if (gathers || exchanges) io.Dimension({"dimensions", 14, gathers}, a.dimension);
  io({in_text(gathers || reduces, "use_global_device_ids"), 71}, a.use_global_device_ids);
}

template <typename Io>
void Describe(Io& io, Opcode opcode, FeedAttributes& a) {
  if (opcode == Opcode::kInfeed) return io({"infeed_config", 27}, a.config);
  io(Needed("outfeed_shape", 29), a.outfeed_shape);
  io({"outfeed_config", 22}, a.config);
}

template <typename Io>
void Describe(Io& io, Opcode opcode, ResultAccuracyAttributes& a) {
  const bool in_text =
      IsOneOf(opcode, Opcode::kCbrt, Opcode::kCos, Opcode::kErf, Opcode::kExp, Opcode::kExp2, Opcode::kExpMinusOne,
              Opcode::kLog, Opcode::kLog2, Opcode::kLogPlusOne, Opcode::kLogistic, Opcode::kRsqrt, Opcode::kSin,
              Opcode::kSqrt, Opcode::kTan, Opcode::kTanh);
  io({in_text ? "result_accuracy" : "", 91}, a);
}

// Reads or writes the attributes of an instruction of `opcode` through `io`; they hold the opcode's family.
template <typename Io>
void DescribeAttributes(Io& io, Opcode opcode, Attributes& attributes) {
  attributes.VisitMutable([&](auto& family) { Describe(io, opcode, family); });
  // An accuracy in the default mode is the same as none.
  const auto* accuracy = attributes.GetIf<ResultAccuracyAttributes>();
  if (Io::kReads && accuracy != nullptr && *accuracy == ResultAccuracyAttributes()) attributes = Attributes();
}

}  // namespace kiln::hlo

#endif  // KILN_HLO_ATTRIBUTE_FIELDS_H_
