#include "src/frontend/hlo_text/attribute_table.h"

#include <array>
#include <utility>

#include "absl/strings/str_split.h"

namespace kiln::hlo_text {
namespace {

using hlo::Opcode;

constexpr std::pair<absl::string_view, ValueForm> kForms[] = {
    {"api_version", ValueForm::kWord},
    {"async_execution_thread", ValueForm::kCarried},
    {"batch_group_count", ValueForm::kInteger},
    {"body", ValueForm::kComputation},
    {"branch_computations", ValueForm::kComputationList},
    {"called_computations", ValueForm::kComputationList},
    {"calls", ValueForm::kComputation},
    {"channel_id", ValueForm::kInteger},
    {"collapsed_slice_dims", ValueForm::kIndexList},
    {"condition", ValueForm::kComputation},
    {"constrain_layout", ValueForm::kBool},
    {"convolution_kind", ValueForm::kCarried},
    {"cross_program_prefetch_index", ValueForm::kCarried},
    {"custom_call_has_side_effect", ValueForm::kBool},
    {"custom_call_target", ValueForm::kString},
    {"delta", ValueForm::kInteger},
    {"dim_labels", ValueForm::kDimLabels},
    {"dimensions", ValueForm::kIndexList},
    {"direction", ValueForm::kWord},
    {"distribution", ValueForm::kWord},
    {"domain", ValueForm::kCarried},
    {"dynamic_slice_sizes", ValueForm::kIndexList},
    {"epsilon", ValueForm::kFloat},
    {"exponent_bits", ValueForm::kInteger},
    {"false_computation", ValueForm::kComputation},
    {"feature_group_count", ValueForm::kInteger},
    {"feature_index", ValueForm::kInteger},
    {"fft_length", ValueForm::kIndexList},
    {"fft_type", ValueForm::kWord},
    {"index", ValueForm::kInteger},
    {"index_vector_dim", ValueForm::kInteger},
    {"indices_are_sorted", ValueForm::kBool},
    {"infeed_config", ValueForm::kString},
    {"inferred_dimension", ValueForm::kCarried},
    {"input_batching_dims", ValueForm::kIndexList},
    {"inserted_window_dims", ValueForm::kIndexList},
    {"iota_dimension", ValueForm::kInteger},
    {"is_associative", ValueForm::kBool},
    {"is_composite", ValueForm::kBool},
    {"is_host_transfer", ValueForm::kBool},
    {"is_reverse", ValueForm::kBool},
    {"is_stable", ValueForm::kBool},
    {"k", ValueForm::kInteger},
    {"kind", ValueForm::kWord},
    {"largest", ValueForm::kBool},
    {"left_side", ValueForm::kBool},
    {"lhs_batch_dims", ValueForm::kIndexList},
    {"lhs_contracting_dims", ValueForm::kIndexList},
    {"lhs_ragged_dims", ValueForm::kIndexList},
    {"literal", ValueForm::kCarried},
    {"lower", ValueForm::kBool},
    {"mantissa_bits", ValueForm::kInteger},
    {"mode", ValueForm::kCarried},
    {"num_carries", ValueForm::kInteger},
    {"offset_dims", ValueForm::kIndexList},
    {"operand_batching_dims", ValueForm::kIndexList},
    {"operand_layout_constraints", ValueForm::kShapeList},
    {"operand_precision", ValueForm::kPrecisions},
    {"outfeed_config", ValueForm::kString},
    {"outfeed_shape", ValueForm::kShape},
    {"output_to_operand_aliasing", ValueForm::kAliases},
    {"padding", ValueForm::kPadding},
    {"padding_type", ValueForm::kCarried},
    {"replica_groups", ValueForm::kReplicaGroups},
    {"result_accuracy", ValueForm::kAccuracy},
    {"rhs_batch_dims", ValueForm::kIndexList},
    {"rhs_contracting_dims", ValueForm::kIndexList},
    {"rhs_group_dims", ValueForm::kIndexList},
    {"scatter", ValueForm::kComputation},
    {"scatter_dims_to_operand_dims", ValueForm::kIndexList},
    {"scatter_indices_batching_dims", ValueForm::kIndexList},
    {"schedule", ValueForm::kCarried},
    {"select", ValueForm::kComputation},
    {"slice", ValueForm::kSlice},
    {"source_target_pairs", ValueForm::kPairs},
    {"sparsity_config", ValueForm::kCarried},
    {"start_index_map", ValueForm::kIndexList},
    {"start_indices_batching_dims", ValueForm::kIndexList},
    {"to_apply", ValueForm::kComputation},
    {"transpose_a", ValueForm::kWord},
    {"true_computation", ValueForm::kComputation},
    {"type", ValueForm::kWord},
    {"unique_indices", ValueForm::kBool},
    {"unit_diagonal", ValueForm::kBool},
    {"update_window_dims", ValueForm::kIndexList},
    {"use_global_device_ids", ValueForm::kBool},
    {"window", ValueForm::kWindow},
};

}  // namespace

ValueForm FormOf(absl::string_view attribute, Opcode opcode) {
  if (attribute == "algorithm") return ValueForm::kWord;
  if (attribute == "slice_sizes") {
    // Of in-place collective-permute: a list of lists, carried.
    return opcode == Opcode::kGather ? ValueForm::kIndexList : ValueForm::kCarried;
  }
  // What convolutions say in a custom call is the target's business.
  const bool is_custom_call = opcode == Opcode::kCustomCall;
  if (is_custom_call && (attribute == "window" || attribute == "dim_labels" || attribute == "operand_precision" ||
                         attribute == "feature_group_count" || attribute == "batch_group_count")) {
    return ValueForm::kCarried;
  }
  if (opcode == Opcode::kFusion && attribute == "output_to_operand_aliasing") return ValueForm::kCarried;
  for (const auto& [name, form] : kForms) {
    if (name == attribute) return form;
  }
  return ValueForm::kUnknown;
}

absl::string_view AttributesOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
      return "channel_id, constrain_layout, dimensions, replica_groups, use_global_device_ids";
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kCollectiveReduce:
      return "channel_id, constrain_layout, mode, replica_groups, to_apply, use_global_device_ids";
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
      return "channel_id, constrain_layout, dimensions, replica_groups";
    case Opcode::kAsyncStart:
      return "async_execution_thread, calls";
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return "async_execution_thread, calls";
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return "epsilon, feature_index";
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kReverse:
    case Opcode::kSetDimensionSize:
    case Opcode::kTranspose:
      return "dimensions";
    case Opcode::kCall:
      return "is_composite, to_apply";
    case Opcode::kCbrt:
    case Opcode::kCos:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpMinusOne:
    case Opcode::kLog:
    case Opcode::kLogPlusOne:
    case Opcode::kLogistic:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
    case Opcode::kExp2:
    case Opcode::kLog2:
      return "result_accuracy";
    case Opcode::kCholesky:
      return "lower";
    case Opcode::kCollectiveBroadcast:
      return "channel_id, replica_groups";
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      return "channel_id, slice_sizes, source_target_pairs";
    case Opcode::kCompare:
      return "direction, type";
    case Opcode::kConditional:
      return "branch_computations, false_computation, true_computation";
    case Opcode::kConvolution:
      return "batch_group_count, convolution_kind, dim_labels, feature_group_count, operand_precision, "
             "sparsity_config, window";
    case Opcode::kCopyStart:
      return "cross_program_prefetch_index";
    case Opcode::kCustomCall:
      return "api_version, batch_group_count, called_computations, custom_call_has_side_effect, custom_call_target, "
             "dim_labels, feature_group_count, literal, operand_layout_constraints, operand_precision, "
             "output_to_operand_aliasing, padding_type, schedule, to_apply, window";
    case Opcode::kDomain:
      return "domain";
    case Opcode::kDot:
    case Opcode::kScaledDot:
      return "algorithm, lhs_batch_dims, lhs_contracting_dims, operand_precision, rhs_batch_dims, "
             "rhs_contracting_dims";
    case Opcode::kRaggedDot:
      return "lhs_batch_dims, lhs_contracting_dims, lhs_ragged_dims, operand_precision, rhs_batch_dims, "
             "rhs_contracting_dims, rhs_group_dims";
    case Opcode::kDynamicSlice:
      return "dynamic_slice_sizes";
    case Opcode::kFft:
      return "fft_length, fft_type";
    case Opcode::kFusion:
      return "calls, kind, output_to_operand_aliasing";
    case Opcode::kGather:
      return "collapsed_slice_dims, index_vector_dim, indices_are_sorted, offset_dims, operand_batching_dims, "
             "slice_sizes, start_index_map, start_indices_batching_dims";
    case Opcode::kGetTupleElement:
      return "index";
    case Opcode::kInfeed:
      return "infeed_config";
    case Opcode::kIota:
      return "iota_dimension";
    case Opcode::kMap:
    case Opcode::kReduce:
      return "dimensions, to_apply";
    case Opcode::kOutfeed:
      return "outfeed_config, outfeed_shape";
    case Opcode::kPad:
      return "padding";
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kSend:
    case Opcode::kSendDone:
      return "channel_id, is_host_transfer";
    case Opcode::kReducePrecision:
      return "exponent_bits, mantissa_bits";
    case Opcode::kReduceScatter:
      return "channel_id, constrain_layout, dimensions, mode, replica_groups, to_apply, use_global_device_ids";
    case Opcode::kReduceWindow:
      return "to_apply, window";
    case Opcode::kReshape:
    case Opcode::kDynamicReshape:
      return "inferred_dimension";
    case Opcode::kRng:
      return "distribution";
    case Opcode::kRngBitGenerator:
      return "algorithm";
    case Opcode::kRngGetAndUpdateState:
      return "delta";
    case Opcode::kScan:
      return "dimensions, is_associative, is_reverse, num_carries, to_apply";
    case Opcode::kScatter:
      return "index_vector_dim, indices_are_sorted, input_batching_dims, inserted_window_dims, "
             "scatter_dims_to_operand_dims, scatter_indices_batching_dims, to_apply, unique_indices, "
             "update_window_dims";
    case Opcode::kSelectAndScatter:
      return "scatter, select, window";
    case Opcode::kSlice:
      return "slice";
    case Opcode::kSort:
      return "dimensions, is_stable, to_apply";
    case Opcode::kTopK:
      return "k, largest";
    case Opcode::kTriangularSolve:
      return "left_side, lower, transpose_a, unit_diagonal";
    case Opcode::kWhile:
      return "body, condition";
    default:
      return "";
  }
}

bool TakesAttribute(Opcode opcode, absl::string_view attribute) {
  for (absl::string_view name : absl::StrSplit(AttributesOf(opcode), ", ")) {
    if (name == attribute) return true;
  }
  return false;
}

}  // namespace kiln::hlo_text
