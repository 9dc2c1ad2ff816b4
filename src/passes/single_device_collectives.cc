#include "src/passes/single_device_collectives.h"

#include <utility>
#include <vector>

#include "src/hlo/in_place_permute.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {

namespace {

bool NamesOtherDevices(const hlo::CollectiveAttributes& collective) {
  const auto& groups = collective.replica_groups;
  const auto& pairs = collective.source_target_pairs;
  return absl::c_any_of(groups,
                        [](const auto& group) { return group.size() > 1 || (group.size() == 1 && group[0] != 0); }) ||
         absl::c_any_of(pairs, [](const auto& pair) { return pair.first != 0 || pair.second != 0; });
}

// The operand, or a tuple of them when the result is one.
Shape OperandsShape(const Instruction& instruction) {
  if (instruction.operand_count() == 1 && !instruction.shape().IsTuple()) return instruction.operand(0)->shape();
  std::vector<Shape> shapes;
  for (const Instruction* operand : instruction.operands()) shapes.push_back(operand->shape());
  return Shape::Tuple(std::move(shapes));
}

Instruction* Zeros(Builder* builder, const Shape& shape) {
  if (!shape.IsTuple()) return builder->Splat(shape, 0);
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.tuple_shapes()) elements.push_back(Zeros(builder, element));
  return builder->Tuple(std::move(elements));
}

Instruction* Operands(Builder* builder, const Instruction& instruction) {
  if (instruction.operand_count() == 1 && !instruction.shape().IsTuple()) return instruction.operand(0);
  return builder->Tuple({instruction.operands().begin(), instruction.operands().end()});
}

// What asynchronous ops start with: (operand, result, context...).
Instruction* StartTuple(Builder* builder, const Shape& shape, Instruction* operand, Instruction* result) {
  std::vector<Instruction*> elements = {operand, result};
  for (size_t i = 2; i < shape.tuple_shapes().size(); ++i) elements.push_back(Zeros(builder, shape.tuple_shapes(i)));
  return builder->Tuple(std::move(elements));
}

// Rows [input_offsets[i], + send_sizes[i]) of the input go to output_offsets[i] and on in the output, for every i.
Instruction* RaggedAllToAll(Builder* builder, const Instruction& instruction) {
  auto operand = [&](int64_t i) { return ArrayValue(builder, instruction.operand(i)); };
  const PrimitiveType index = PrimitiveType::kS64;
  const DimensionVector &to = operand(1).shape().dimensions(), &from = operand(0).shape().dimensions();
  if (operand(0).shape().element_count() == 0 || operand(1).shape().element_count() == 0) return instruction.operand(1);
  hlo::GatherAttributes gather;
  gather.collapsed_slice_dims = {0};
  gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  gather.slice_sizes = from;
  gather.slice_sizes[0] = 1;
  for (size_t d = 1; d < to.size(); ++d) gather.offset_dims.push_back(static_cast<int64_t>(d));
  const auto round = [&](const ArrayValue& i, const std::vector<ArrayValue>& values) {
    Builder* inside = i.builder();
    auto pick = [&](int64_t list) { return values[list].DynamicSlice({i}, {1}).Reshape({}); };
    const ArrayValue row = Iota(inside, index, {to[0]}, 0) - pick(4);
    const ArrayValue mine = (row >= row.Number(int64_t{0})) & (row < pick(3));
    const ArrayValue rows(inside, inside->Add(Opcode::kGather, values[1].shape(),
                                              {values[0].instruction(), (row + pick(2)).instruction()}, gather));
    std::vector<ArrayValue> next = values;
    next[1] = Select(mine.Broadcast(to, {0}), rows, values[1]);
    return next;
  };
  std::vector<ArrayValue> start = {operand(0), operand(1)};
  for (int64_t list : {2, 3, 4}) start.push_back(operand(list).Convert(index));
  return CountedLoop(start, operand(2).shape().dimensions(0), round)[1].instruction();
}

bool IsOfOneDevice(const Instruction& instruction) {
  const Module& module = *instruction.parent()->parent();
  if (module.replica_count() > 1 || module.partition_count() > 1) return false;
  const auto* collective = instruction.GetIf<hlo::CollectiveAttributes>();
  if (collective != nullptr && NamesOtherDevices(*collective)) return false;
  switch (instruction.opcode()) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectiveReduce:
    case Opcode::kReduceScatter:
      if (hlo::IsInPlacePermute(instruction)) return true;
      return instruction.operand_count() > 0 && Shape::Compatible(OperandsShape(instruction), instruction.shape());
    case Opcode::kAllGatherStart:
      return instruction.operand_count() > 0 &&
             Shape::Compatible(instruction.shape().tuple_shapes(0), instruction.shape().tuple_shapes(1));
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCopyStart:
      return instruction.operand_count() == 1 &&
             Shape::Compatible(instruction.operand(0)->shape(), instruction.shape().tuple_shapes(1));
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduceDone:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCopyDone:
    case Opcode::kDomain:
    case Opcode::kPartitionId:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReplicaId:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<Instruction*> ExpandCollective(Instruction* instruction) {
  Builder builder(instruction->parent(), instruction);
  const Shape& shape = instruction->shape();
  // A device that nobody sends to receives zeros.
  const auto* collective = instruction->GetIf<hlo::CollectiveAttributes>();
  const bool receives = collective != nullptr && !collective->source_target_pairs.empty();
  switch (instruction->opcode()) {
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return Zeros(&builder, shape);
    case Opcode::kCollectivePermute:
      if (hlo::IsInPlacePermute(*instruction)) {
        if (!receives) return instruction->operand(1);
        return hlo::PermuteInPlace(*instruction, instruction->operands(), &builder);
      }
      return receives ? Operands(&builder, *instruction) : Zeros(&builder, shape);
    case Opcode::kCollectivePermuteStart: {
      Instruction* operand = instruction->operand(0);
      return StartTuple(&builder, shape, operand, receives ? operand : Zeros(&builder, operand->shape()));
    }
    case Opcode::kAllGatherStart: {
      const absl::Span<Instruction* const> operands = instruction->operands();
      Instruction* all = operands.size() == 1 ? operands[0] : builder.Tuple({operands.begin(), operands.end()});
      return StartTuple(&builder, shape, all, all);
    }
    case Opcode::kRaggedAllToAll:
      return RaggedAllToAll(&builder, *instruction);
    case Opcode::kCopyStart:
      return StartTuple(&builder, shape, instruction->operand(0), instruction->operand(0));
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncDone:
      return builder.GetTupleElement(instruction->operand(0), 1);
    case Opcode::kCopyDone:
      return builder.GetTupleElement(instruction->operand(0), 0);
    case Opcode::kAllReduceDone:
    case Opcode::kAsyncUpdate:
    case Opcode::kDomain:
      return instruction->operand(0);
    case Opcode::kAsyncStart: {
      const absl::Span<Instruction* const> operands = instruction->operands();
      return StartTuple(&builder, shape, builder.Tuple({operands.begin(), operands.end()}),
                        builder.Inline(*instruction->called_computation(), operands));
    }
    default:
      return Operands(&builder, *instruction);
  }
}

}  // namespace

absl::StatusOr<bool> ExpandCollectives(Module* module) {
  return ReplaceOps(module, {}, [](Instruction* instruction) -> absl::StatusOr<Instruction*> {
    if (!IsOfOneDevice(*instruction)) return nullptr;
    return ExpandCollective(instruction);
  });
}

}  // namespace kiln::passes
