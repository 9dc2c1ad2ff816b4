// Communication between replicas.
#include <algorithm>
#include <utility>

#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;

// [groups, size]; -1 pads short groups.
absl::Status ReadReplicaGroups(const OpImport& op, std::vector<std::vector<int64_t>>& groups) {
  const mlir::AttributeRef attribute = op.attribute("replica_groups");
  if (attribute == nullptr) return op.Invalid("attribute replica_groups is missing");
  if (attribute->As<mlir::StructAttribute>() != nullptr) {
    return op.Unsupported("replica groups by mesh axes are not supported");
  }
  const auto* dense = attribute->As<mlir::DenseAttribute>();
  const auto* tensor = dense != nullptr ? dense->type->As<mlir::TensorType>() : nullptr;
  const std::optional<std::vector<int64_t>> ids = mlir::AsIntegers(attribute);
  if (tensor == nullptr || tensor->dims.size() != 2 || !ids.has_value()) {
    return op.Invalid("attribute replica_groups must be a matrix of integers");
  }
  const int64_t size = tensor->dims[1];
  for (int64_t group = 0; size > 0 && group < tensor->dims[0]; ++group) {
    std::vector<int64_t>& members = groups.emplace_back();
    for (int64_t i = 0; i < size; ++i) {
      const int64_t id = (*ids)[group * size + i];
      if (id >= 0) members.push_back(id);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadPairs(const OpImport& op, std::vector<std::pair<int64_t, int64_t>>& pairs) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector flat, op.Integers("source_target_pairs", std::vector<int64_t>()));
  if (flat.size() % 2 != 0) return op.Invalid("attribute source_target_pairs has ", flat.size(), " entries");
  for (size_t i = 0; i < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
  return absl::OkStatus();
}

absl::StatusOr<hlo::CollectiveAttributes> ReadCollective(const OpImport& op) {
  hlo::CollectiveAttributes collective;
  KILN_ASSIGN_OR_RETURN(collective.channel_id, op.Integer("channel_id", 0));
  KILN_ASSIGN_OR_RETURN(collective.use_global_device_ids, op.Bool("use_global_device_ids", false));
  KILN_RETURN_IF_ERROR(ReadReplicaGroups(op, collective.replica_groups));
  return collective;
}

absl::Status ImportAllGather(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::CollectiveAttributes collective, ReadCollective(op));
  KILN_ASSIGN_OR_RETURN(collective.dimension, op.Integer("all_gather_dim"));
  return op.Finish(Opcode::kAllGather, op.operands(), std::move(collective));
}

absl::Status ImportAllReduce(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::CollectiveAttributes collective, ReadCollective(op));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "all_reduce_body"));
  return op.Finish(Opcode::kAllReduce, op.operands(), std::move(collective), {body});
}

absl::Status ImportReduceScatter(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::CollectiveAttributes collective, ReadCollective(op));
  KILN_ASSIGN_OR_RETURN(collective.dimension, op.Integer("scatter_dimension"));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "reduce_scatter_body"));
  return op.Finish(Opcode::kReduceScatter, op.operands(), std::move(collective), {body});
}

absl::Status ImportCollectivePermute(OpImport& op) {
  hlo::CollectiveAttributes collective;
  KILN_ASSIGN_OR_RETURN(collective.channel_id, op.Integer("channel_id", 0));
  KILN_RETURN_IF_ERROR(ReadPairs(op, collective.source_target_pairs));
  return op.Finish(Opcode::kCollectivePermute, op.operands(), std::move(collective));
}

// From one member of a group to all of it, and, with a region, from all to one. The last operand may say which member;
// a program of several devices, to which that would matter, is refused elsewhere.
absl::Status ImportRooted(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const bool dynamic_root, op.Bool("has_dynamic_root", false));
  KILN_ASSIGN_OR_RETURN(hlo::CollectiveAttributes collective, ReadCollective(op));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShapes());
  std::vector<hlo::Instruction*> operands = op.operands();
  if (dynamic_root) {
    const auto names_others = [](const std::vector<int64_t>& group) { return group.size() > 1; };
    if (operands.empty() ||
        std::any_of(collective.replica_groups.begin(), collective.replica_groups.end(), names_others)) {
      return op.Unsupported("a root chosen at run time among several devices is not supported");
    }
    operands.pop_back();
  }
  std::vector<hlo::Computation*> called;
  if (op.row().regions == 1) {
    KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "collective_reduce_body"));
    called.push_back(body);
  }
  return op.DefineTuple(
      op.Add(op.row().opcode, std::move(shape), std::move(operands), std::move(collective), std::move(called)));
}

// HLO's all-to-all of one array splits and concatenates along one dimension; other concatenations follow as reshape,
// transpose, reshape.
absl::Status ImportAllToAll(OpImport& op) {
  if (op.operand_count() == 0) return op.Invalid("has no operands");
  KILN_ASSIGN_OR_RETURN(hlo::CollectiveAttributes collective, ReadCollective(op));
  KILN_ASSIGN_OR_RETURN(const int64_t split, op.Integer("split_dimension"));
  KILN_ASSIGN_OR_RETURN(const int64_t concat, op.Integer("concat_dimension"));
  KILN_ASSIGN_OR_RETURN(const int64_t count, op.Integer("split_count"));
  collective.dimension = split;
  std::vector<hlo::Instruction*> results;
  for (hlo::Instruction* operand : op.operands()) {
    const hlo::Shape shape = operand->shape();
    if (split < 0 || split >= shape.rank() || concat < 0 || concat >= shape.rank() || count < 1 ||
        shape.dimensions(split) % count != 0) {
      return op.Invalid("cannot split dimension ", split, " of ", shape.ToString(false), " into ", count,
                        " parts and concatenate them along ", concat);
    }
    hlo::Instruction* exchanged = op.Add(Opcode::kAllToAll, shape, {operand}, collective);
    if (split == concat) {
      results.push_back(exchanged);
      continue;
    }
    DimensionVector parts(shape.dimensions().begin(), shape.dimensions().end());
    parts[split] /= count;
    DimensionVector merged = parts;
    merged[concat] *= count;
    parts.insert(parts.begin() + split, count);
    // The part number moves in front of the dimension that the parts are put together along.
    DimensionVector order;
    for (int64_t i = 0; i < shape.rank() + 1; ++i) {
      if (i == split) continue;
      if (i == (concat < split ? concat : concat + 1)) order.push_back(split);
      order.push_back(i);
    }
    DimensionVector moved;
    for (int64_t i : order) moved.push_back(parts[i]);
    hlo::Instruction* apart = op.Add(Opcode::kReshape, hlo::Shape(shape.element_type(), parts), {exchanged});
    hlo::Instruction* turned =
        op.Add(Opcode::kTranspose, hlo::Shape(shape.element_type(), moved), {apart}, hlo::DimensionsAttributes{order});
    results.push_back(op.Add(Opcode::kReshape, hlo::Shape(shape.element_type(), merged), {turned}));
  }
  return op.Define(results);
}

// The older form of an all-reduce that adds.
absl::Status ImportCrossReplicaSum(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::CollectiveAttributes collective, ReadCollective(op));
  const hlo::Shape scalar = hlo::Shape::Scalar(op.operand_shape(0).element_type());
  hlo::Computation* body = op.module().module->AddComputation("sum");
  hlo::Instruction* lhs = body->AddParameter(0, scalar);
  hlo::Instruction* rhs = body->AddParameter(1, scalar);
  body->set_root(body->Add(Opcode::kAdd, scalar, {lhs, rhs}));
  return op.Finish(Opcode::kAllReduce, op.operands(), std::move(collective), {body});
}

absl::Status ImportId(OpImport& op) { return op.Finish(op.row().opcode, {}); }

constexpr OpRow kCollectivesOps[] = {
    {"stablehlo.all_gather", ImportAllGather, -1, -1},
    {"stablehlo.all_reduce", ImportAllReduce, -1, -1, 1},
    {"stablehlo.all_to_all", ImportAllToAll, -1, -1},
    {"stablehlo.collective_broadcast", ImportRooted, -1, -1, 0, Opcode::kCollectiveBroadcast},
    {"stablehlo.collective_reduce", ImportRooted, -1, -1, 1, Opcode::kCollectiveReduce},
    {"stablehlo.collective_permute", ImportCollectivePermute, 1},
    {"stablehlo.cross-replica-sum", ImportCrossReplicaSum, 1},
    {"stablehlo.partition_id", ImportId, 0, 1, 0, Opcode::kPartitionId},
    {"stablehlo.reduce_scatter", ImportReduceScatter, 1, 1, 1},
    {"stablehlo.replica_id", ImportId, 0, 1, 0, Opcode::kReplicaId},
};

}  // namespace

absl::Span<const OpRow> CollectiveOps() { return kCollectivesOps; }

}  // namespace kiln::stablehlo
