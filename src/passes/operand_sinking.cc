#include "src/passes/operand_sinking.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "src/analysis/fusion_model.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

bool IsSplat(const Instruction& operand) {
  return operand.opcode() == Opcode::kBroadcast && operand.operand(0)->shape().IsScalar();
}

bool IsMove(const Instruction& operand) {
  switch (operand.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
      return operand.control_predecessors().empty();
    default:
      return false;
  }
}

bool SameMove(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() && a.attributes() == b.attributes() &&
         a.operand(0)->shape().dimensions() == b.operand(0)->shape().dimensions();
}

// Whether what is made of `op`, step by step and by elementwise ops alone, is moved by an op like `move`, so that the
// two meet.
bool MeetsAnother(const Instruction& op, const Instruction& move) {
  constexpr int kMaxSteps = 8;
  const Instruction* value = &op;
  for (int step = 0; step < kMaxSteps && value->users().size() == 1 && !value->IsRoot(); ++step) {
    value = *value->users().begin();
    if (value->opcode() == move.opcode()) return true;
    if (!hlo::IsElementwise(value->opcode())) return false;
  }
  return false;
}

// The move that all array operands of `op` are, splats aside, where sinking it saves something; or null.
const Instruction* CommonMove(const Instruction& op) {
  const Instruction* move = nullptr;
  bool several = false, has_other_users = false;
  for (const Instruction* operand : op.operands()) {
    if (operand->shape().dimensions() != op.shape().dimensions()) return nullptr;
    if (IsSplat(*operand)) continue;
    if (!IsMove(*operand) || (move != nullptr && !SameMove(*move, *operand))) return nullptr;
    several |= move != nullptr && move != operand;
    has_other_users |= operand->users().size() > 1;
    move = operand;
  }
  if (move == nullptr) return nullptr;
  const bool saves_work = move->operand(0)->shape().element_count() < move->shape().element_count();
  if (saves_work || (several && !has_other_users)) return move;
  return !has_other_users && MeetsAnother(op, *move) ? move : nullptr;
}

// What is looked at around one op.
constexpr size_t kMaxReached = 32;

// A product, or elementwise ops of its dimensions over one.
bool IsBehindProduct(const Instruction& value) {
  std::vector<const Instruction*> reached = {&value};
  for (size_t i = 0; i < reached.size() && reached.size() <= kMaxReached; ++i) {
    if (analysis::IsContraction(*reached[i])) return true;
    if (!hlo::IsElementwise(reached[i]->opcode())) continue;
    for (const Instruction* operand : reached[i]->operands()) {
      if (Shape::SameDimensions(operand->shape(), value.shape()) &&
          std::find(reached.begin(), reached.end(), operand) == reached.end()) {
        reached.push_back(operand);
      }
    }
  }
  return false;
}

// Elementwise ops over sums of the same rows, spread over them again: a norm.
bool IsBehindRows(const Instruction& value) {
  std::vector<const Instruction*> reached = {&value};
  for (size_t i = 0; i < reached.size() && reached.size() <= kMaxReached; ++i) {
    if (reached[i]->opcode() == Opcode::kReduce) {
      if (Shape::SameDimensions(reached[i]->operand(0)->shape(), value.shape())) return true;
      continue;
    }
    if (!hlo::IsElementwise(reached[i]->opcode()) && reached[i]->opcode() != Opcode::kBroadcast) continue;
    for (const Instruction* operand : reached[i]->operands()) {
      if (std::find(reached.begin(), reached.end(), operand) == reached.end()) reached.push_back(operand);
    }
  }
  return false;
}

// Whether rows of what elementwise ops make of `op` are reduced: row fusion wants them as they are.
bool ReachesRows(const Instruction& op) {
  std::vector<const Instruction*> reached = {&op};
  for (size_t i = 0; i < reached.size() && reached.size() <= kMaxReached; ++i) {
    for (const Instruction* user : reached[i]->users()) {
      if (user->opcode() == Opcode::kReduce) {
        const auto& reduced = user->dimensions();
        if (std::find(reduced.begin(), reduced.end(), op.shape().rank() - 1) != reduced.end()) return true;
      }
      if (hlo::IsElementwise(user->opcode()) && std::find(reached.begin(), reached.end(), user) == reached.end()) {
        reached.push_back(user);
      }
    }
  }
  return false;
}

// Where the dimensions along which `spread`, a broadcast, runs are among others of as many elements: runs of dimensions
// of together equal size and stride. Nothing where one of them is not there.
std::optional<DimensionVector> SpreadAmong(const Instruction& spread, const DimensionVector& others) {
  const auto stride = [](const DimensionVector& sizes, int64_t dimension) {
    return std::accumulate(sizes.begin() + dimension + 1, sizes.end(), int64_t{1}, std::multiplies<>());
  };
  const DimensionVector& sizes = spread.shape().dimensions();
  DimensionVector result;
  for (const int64_t dimension : spread.dimensions()) {
    const int64_t begin = stride(sizes, dimension), end = begin * sizes[dimension];
    int64_t found = 1;
    for (int64_t other = 0; other < static_cast<int64_t>(others.size()); ++other) {
      const int64_t at = stride(others, other);
      if (others[other] == 1 || at < begin || at * others[other] > end) continue;
      found *= others[other];
      result.push_back(other);
    }
    if (found != sizes[dimension]) return std::nullopt;
  }
  return result;
}

// The reshape of a product or a norm, or of elementwise ops behind one, that is an operand of `op`, where `op` can
// stand before it and so run in the same kernel; or null.
const Instruction* ReshapeOfKernel(const Instruction& op) {
  const auto is_move = [](const Instruction* operand) {
    return operand->opcode() == Opcode::kReshape && IsMove(*operand) &&
           (IsBehindProduct(*operand->operand(0)) || IsBehindRows(*operand->operand(0)));
  };
  const auto& operands = op.operands();
  const auto found = std::find_if(operands.begin(), operands.end(), is_move);
  if (found == operands.end() || op.shape().element_count() == 0) return nullptr;
  const Instruction& move = **found;
  for (const Instruction* operand : operands) {
    if (!Shape::SameDimensions(operand->shape(), op.shape())) return nullptr;
    if (IsSplat(*operand) || operand->opcode() == Opcode::kReshape || operand->IsConstant()) continue;
    if (operand->opcode() == Opcode::kBroadcast) {
      if (!SpreadAmong(*operand, move.operand(0)->shape().dimensions()).has_value()) return nullptr;
      continue;
    }
    // What would have been computed in the loop of `op` alone stays there; `op` may be behind another product already.
    if (analysis::IsLoopProducer(*operand) && operand->users().size() == 1) return nullptr;
    if (IsBehindProduct(*operand)) return nullptr;
  }
  return ReachesRows(op) ? nullptr : &move;
}

// `operand`, of the dimensions behind `move`, in those before it.
Instruction* Before(Instruction* operand, const Instruction& move, Builder& builder) {
  const auto& dimensions = move.operand(0)->shape().dimensions();
  if (IsSplat(*operand)) return builder.BroadcastScalar(operand->operand(0), dimensions);
  if (SameMove(*operand, move)) return operand->operand(0);
  if (operand->opcode() != Opcode::kBroadcast) return builder.Reshape(operand, dimensions);
  const DimensionVector along = *SpreadAmong(*operand, dimensions);
  DimensionVector sizes;
  for (const int64_t dimension : along) sizes.push_back(dimensions[dimension]);
  Instruction* source = operand->operand(0);
  if (source->shape().dimensions() != sizes) source = builder.Reshape(source, sizes);
  return builder.Broadcast(source, dimensions, along);
}

// `op` before `move`, and the move after it.
Instruction* Sink(const Instruction& op, const Instruction& move, Builder& builder) {
  const auto& dimensions = move.operand(0)->shape().dimensions();
  std::vector<Instruction*> operands;
  for (Instruction* operand : op.operands()) operands.push_back(Before(operand, move, builder));
  Instruction* inner =
      builder.Add(op.opcode(), Shape(op.shape().element_type(), dimensions), std::move(operands), op.attributes());
  return builder.Add(move.opcode(), op.shape(), {inner}, move.attributes());
}

// Transposes and reshapes that have met are one, so that a chain of them does not sink by one step in every round.
Instruction* Merge(const Instruction& op, Builder& builder) {
  const Instruction& inner = *op.operand(0);
  if (inner.opcode() != op.opcode() || !IsMove(inner) || op.shape().has_dynamic_dimensions()) return nullptr;
  if (op.opcode() == Opcode::kReshape) return builder.Reshape(inner.operand(0), op.shape().dimensions());
  DimensionVector permutation;
  for (const int64_t dimension : op.dimensions()) permutation.push_back(inner.dimensions()[dimension]);
  return builder.Transpose(inner.operand(0), permutation);
}

}  // namespace

absl::StatusOr<bool> SinkMoves(Module* module) {
  return ReplaceOps(module, {}, [](Instruction* op) -> Instruction* {
    if ((op->opcode() == Opcode::kTranspose || op->opcode() == Opcode::kReshape) && IsMove(*op)) {
      Builder builder(op->parent(), op);
      return Merge(*op, builder);
    }
    if (!hlo::IsElementwise(op->opcode()) || op->opcode() == Opcode::kBitcastConvert || op->operand_count() == 0 ||
        op->shape().IsScalar() || op->shape().has_dynamic_dimensions() || !op->control_predecessors().empty()) {
      return nullptr;
    }
    const Instruction* move = CommonMove(*op);
    if (move == nullptr) move = ReshapeOfKernel(*op);
    if (move == nullptr) return nullptr;
    Builder builder(op->parent(), op);
    return Sink(*op, *move, builder);
  });
}

}  // namespace kiln::passes
