#include "src/hlo/attribute_requirements.h"

#include <variant>

#include "src/base/status.h"

namespace kiln::hlo {
namespace {

template <typename T>
constexpr bool Holds(const Attributes& attributes) {
  return std::holds_alternative<T>(attributes);
}

bool HasRightAttributes(Opcode opcode, const Attributes& attributes) {
  switch (opcode) {
    case Opcode::kParameter:
      return Holds<ParameterAttributes>(attributes);
    case Opcode::kConstant:
      return Holds<ConstantAttributes>(attributes);
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kIota:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReverse:
    case Opcode::kSetDimensionSize:
    case Opcode::kTranspose:
      return Holds<DimensionsAttributes>(attributes);
    case Opcode::kSlice:
      return Holds<SliceAttributes>(attributes);
    case Opcode::kDynamicSlice:
      return Holds<DynamicSliceAttributes>(attributes);
    case Opcode::kPad:
      return Holds<PadAttributes>(attributes);
    case Opcode::kCompare:
      return Holds<CompareAttributes>(attributes);
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return Holds<DotAttributes>(attributes);
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return Holds<WindowAttributes>(attributes);
    case Opcode::kConvolution:
      return Holds<ConvolutionAttributes>(attributes);
    case Opcode::kGather:
      return Holds<GatherAttributes>(attributes);
    case Opcode::kScatter:
      return Holds<ScatterAttributes>(attributes);
    case Opcode::kSort:
      return Holds<SortAttributes>(attributes);
    case Opcode::kTopK:
      return Holds<TopKAttributes>(attributes);
    case Opcode::kScan:
      return Holds<ScanAttributes>(attributes);
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kRngGetAndUpdateState:
      return Holds<RngAttributes>(attributes);
    case Opcode::kGetTupleElement:
      return Holds<TupleIndexAttributes>(attributes);
    case Opcode::kReducePrecision:
      return Holds<ReducePrecisionAttributes>(attributes);
    case Opcode::kFft:
      return Holds<FftAttributes>(attributes);
    case Opcode::kTriangularSolve:
      return Holds<TriangularSolveAttributes>(attributes);
    case Opcode::kCholesky:
      return Holds<CholeskyAttributes>(attributes);
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return Holds<BatchNormAttributes>(attributes);
    case Opcode::kCustomCall:
      return Holds<CustomCallAttributes>(attributes);
    case Opcode::kFusion:
      return Holds<FusionAttributes>(attributes);
    case Opcode::kCall:
      return Holds<CallAttributes>(attributes) || Holds<std::monostate>(attributes);
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return Holds<FeedAttributes>(attributes);
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
      return Holds<std::monostate>(attributes);
    default:
      break;
  }
  switch (KindOf(opcode)) {
    case OpKind::kCommunication:
      return Holds<CollectiveAttributes>(attributes);
    case OpKind::kElementwiseUnary:
      return Holds<ResultAccuracyAttributes>(attributes) || Holds<std::monostate>(attributes);
    default:
      return Holds<std::monostate>(attributes);
  }
}

}  // namespace

absl::Status CheckAttributesPresent(Opcode opcode, const Attributes& attributes) {
  if (HasRightAttributes(opcode, attributes)) return absl::OkStatus();
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
