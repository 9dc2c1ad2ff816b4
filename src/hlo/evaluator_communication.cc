// Collectives among one participant: each gives back what it got. Copies between memories are identities.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/hlo/evaluator.h"
#include "src/hlo/evaluator_internal.h"
#include "src/hlo/in_place_permute.h"
#include "src/hlo/module.h"

namespace kiln::hlo::evaluator {
namespace {

absl::Status RequireOneParticipant(const Instruction& instruction) {
  const auto* attributes = instruction.GetIf<CollectiveAttributes>();
  if (attributes == nullptr) return absl::OkStatus();
  for (const std::vector<int64_t>& group : attributes->replica_groups) {
    if (group.size() > 1) {
      return Unimplemented(instruction.Describe(), ": the evaluator is one device; a group has ", group.size());
    }
  }
  return absl::OkStatus();
}

// One operand as it is, several as a tuple; the shape must be the instruction's.
absl::StatusOr<Literal> Identity(const Instruction& instruction, Operands operands) {
  Literal value;
  if (operands.size() == 1 && !(instruction.shape().IsTuple() && !operands[0].shape().IsTuple())) {
    value = std::move(operands[0]);
  } else {
    value = Literal::Tuple(std::move(operands));
  }
  if (!Shape::Compatible(value.shape(), instruction.shape())) {
    return Unimplemented(instruction.Describe(), ": the evaluator is one device, so the result would be ",
                         value.shape().ToString(false), " rather than ", instruction.shape().ToString(false));
  }
  return value;
}

absl::StatusOr<Literal> InPlace(const Instruction& instruction, const Operands& operands) {
  Module module("permute");
  Computation* computation = module.AddComputation("permute");
  std::vector<Instruction*> parameters;
  for (const Literal& operand : operands) {
    parameters.push_back(computation->AddParameter(static_cast<int64_t>(parameters.size()), operand.shape()));
  }
  Builder builder(computation, nullptr);
  KILN_ASSIGN_OR_RETURN(Instruction * result, PermuteInPlace(instruction, parameters, &builder));
  computation->set_root(result);
  return Evaluate(*computation, operands);
}

// Device 0 receives from itself or nothing, which is zeros.
absl::StatusOr<Literal> Permute(Evaluation& evaluation, const Instruction& instruction, Literal operand) {
  const auto& pairs = instruction.Get<CollectiveAttributes>().source_target_pairs;
  for (const auto& [source, target] : pairs) {
    if (source != 0 || target != 0) {
      return Unimplemented(instruction.Describe(), ": the evaluator is one device; it has no device ",
                           std::max(source, target));
    }
  }
  if (!pairs.empty()) return operand;
  return evaluation.Allocate(operand.shape());
}

// Rows of the input, given by offset and size, copied to other offsets of the output.
Literal RaggedAllToAll(Operands operands) {
  Literal result = std::move(operands[1]);
  const auto row_bytes = [](const Literal& array) {
    const int64_t rows = array.shape().dimensions(0);
    return rows == 0 ? 0 : static_cast<int64_t>(array.bytes().size()) / rows;
  };
  const int64_t width = row_bytes(result), rows = result.shape().dimensions(0);
  const int64_t available = operands[0].shape().dimensions(0);
  if (width == 0 || available == 0) return result;
  for (int64_t i = 0; i < operands[2].element_count(); ++i) {
    // Any numbers may come, so that sums of them need more bits.
    const __int128 from = ElementAsInt64(operands[2], i), size = ElementAsInt64(operands[3], i);
    const __int128 to = ElementAsInt64(operands[4], i), end = std::min<__int128>(to + size, rows);
    for (__int128 at = std::max<__int128>(to, 0); at < end; ++at) {
      const auto row = static_cast<int64_t>(at);
      const auto source = static_cast<int64_t>(std::clamp<__int128>(at - to + from, 0, available - 1));
      std::memcpy(result.mutable_bytes().data() + row * width, operands[0].bytes().data() + source * width, width);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Literal> StartTuple(Evaluation& evaluation, const Instruction& instruction, const Literal& operand,
                                   const Literal& result) {
  const Shape& shape = instruction.shape();
  std::vector<Literal> elements = {operand, result};
  for (size_t i = 2; i < shape.tuple_shapes().size(); ++i) {
    KILN_ASSIGN_OR_RETURN(Literal context, evaluation.Allocate(shape.tuple_shapes(static_cast<int64_t>(i))));
    elements.push_back(std::move(context));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> EvaluateCommunication(Evaluation& evaluation, const Instruction& instruction,
                                              Operands& operands) {
  KILN_RETURN_IF_ERROR(RequireOneParticipant(instruction));
  switch (instruction.opcode()) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kReduceScatter:
      return Identity(instruction, std::move(operands));
    case Opcode::kAllGatherStart: {
      const Literal all = operands.size() == 1 ? operands[0] : Literal::Tuple(operands);
      return StartTuple(evaluation, instruction, all, all);
    }
    case Opcode::kRaggedAllToAll:
      return RaggedAllToAll(std::move(operands));
    case Opcode::kCollectivePermute:
      if (IsInPlacePermute(instruction)) {
        KILN_RETURN_IF_ERROR(Permute(evaluation, instruction, operands[0]).status());  // the pairs
        const bool receives = !instruction.Get<CollectiveAttributes>().source_target_pairs.empty();
        return receives ? InPlace(instruction, operands) : std::move(operands[1]);
      }
      for (Literal& operand : operands) {
        KILN_ASSIGN_OR_RETURN(operand, Permute(evaluation, instruction, std::move(operand)));
      }
      return Identity(instruction, std::move(operands));
    case Opcode::kCollectivePermuteStart: {
      KILN_ASSIGN_OR_RETURN(const Literal result, Permute(evaluation, instruction, operands[0]));
      return StartTuple(evaluation, instruction, operands[0], result);
    }
    case Opcode::kCopyStart:  // (destination, source, context)
      return StartTuple(evaluation, instruction, operands[0], operands[0]);
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
      return operands[0].elements()[1];
    case Opcode::kCopyDone:
      return operands[0].elements()[0];
    default:
      return Unimplemented(instruction.Describe(), ": the evaluator is one device without host transfers");
  }
}

}  // namespace kiln::hlo::evaluator
