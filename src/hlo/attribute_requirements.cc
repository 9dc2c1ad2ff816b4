#include "src/hlo/attribute_requirements.h"

#include <variant>

#include "src/base/status.h"

namespace kiln::hlo {

Attributes EmptyAttributes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
      return ParameterAttributes();
    case Opcode::kConstant:
      return ConstantAttributes();
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kIota:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReverse:
    case Opcode::kSetDimensionSize:
    case Opcode::kTranspose:
      return DimensionsAttributes();
    case Opcode::kSlice:
      return SliceAttributes();
    case Opcode::kDynamicSlice:
      return DynamicSliceAttributes();
    case Opcode::kPad:
      return PadAttributes();
    case Opcode::kCompare:
      return CompareAttributes();
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return DotAttributes();
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return WindowAttributes();
    case Opcode::kConvolution:
      return ConvolutionAttributes();
    case Opcode::kGather:
      return GatherAttributes();
    case Opcode::kScatter:
      return ScatterAttributes();
    case Opcode::kSort:
      return SortAttributes();
    case Opcode::kTopK:
      return TopKAttributes();
    case Opcode::kScan:
      return ScanAttributes();
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kRngGetAndUpdateState:
      return RngAttributes();
    case Opcode::kGetTupleElement:
      return TupleIndexAttributes();
    case Opcode::kReducePrecision:
      return ReducePrecisionAttributes();
    case Opcode::kFft:
      return FftAttributes();
    case Opcode::kTriangularSolve:
      return TriangularSolveAttributes();
    case Opcode::kCholesky:
      return CholeskyAttributes();
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return BatchNormAttributes();
    case Opcode::kCustomCall:
      return CustomCallAttributes();
    case Opcode::kFusion:
      return FusionAttributes();
    case Opcode::kCall:
      return CallAttributes();
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return FeedAttributes();
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
      return std::monostate();
    default:
      break;
  }
  switch (KindOf(opcode)) {
    case OpKind::kCommunication:
      return CollectiveAttributes();
    case OpKind::kElementwiseUnary:
      return ResultAccuracyAttributes();
    default:
      return std::monostate();
  }
}

absl::Status CheckAttributesPresent(Opcode opcode, const Attributes& attributes) {
  const bool may_be_absent =
      opcode == Opcode::kCall || (KindOf(opcode) == OpKind::kElementwiseUnary && opcode != Opcode::kReducePrecision);
  if (may_be_absent && std::holds_alternative<std::monostate>(attributes)) return absl::OkStatus();
  if (attributes.index() == EmptyAttributes(opcode).index()) return absl::OkStatus();
  return InvalidArgument(OpcodeName(opcode), ": carries the attributes of another opcode or lacks its own");
}

absl::Status CheckCalledCount(Opcode opcode, size_t count) {
  size_t expected = 0;
  switch (opcode) {
    case Opcode::kConditional:
      if (count >= 1) return absl::OkStatus();
      return InvalidArgument("conditional: has no branch");
    case Opcode::kCustomCall:
      return absl::OkStatus();
    case Opcode::kWhile:
    case Opcode::kSelectAndScatter:
      expected = 2;
      break;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAsyncStart:
    case Opcode::kCall:
    case Opcode::kCollectiveReduce:
    case Opcode::kFusion:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceScatter:
    case Opcode::kReduceWindow:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kSort:
      expected = 1;
      break;
    default:
      break;
  }
  if (count == expected) return absl::OkStatus();
  return InvalidArgument(OpcodeName(opcode), ": calls ", count, " computations, expected ", expected);
}

}  // namespace kiln::hlo
