#include "src/passes/attention_fusion.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/attention.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/strided_view.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

using analysis::Attention;
using analysis::AttentionParts;

// Bounds on the kernel over rows, and on the search.
constexpr size_t kMaxAttentionMembers = 64;
constexpr int kMaxReduces = 4;
constexpr size_t kMaxAttentionParameters = 16;
constexpr size_t kMaxMoves = 16;
// Depth and features of a head at most. Wider products, as those around a layer norm, had better have blocks of their
// own: GPT-2's last one, behind which come 50257 logits, made its forward pass three times as long.
constexpr int64_t kMaxHead = 256;
// What is computed again for every row is made of arrays that are at most this part of the scores, in so many steps.
constexpr int64_t kMinScoreGrowth = 2;
constexpr int kMaxAttentionSteps = 6;
// What is read by several batches is computed for each of them of arrays that are this part of it.
constexpr int64_t kMinOwnGrowth = 4;

bool HasOneUser(const Instruction& value) { return value.users().size() == 1 && !value.IsRoot(); }

// The first value behind rearrangements that nobody else reads.
Instruction* BehindMoves(Instruction* value) {
  for (size_t i = 0; i < kMaxMoves && analysis::IsRearrangement(*value) && HasOneUser(*value); ++i)
    value = value->operand(0);
  return value;
}

// The dot whose result `scores` are after moves, read by nothing else; null where there is none.
Instruction* DotBehind(Instruction* scores) {
  Instruction* dot = analysis::IsRearrangement(*scores) ? BehindMoves(scores->operand(0)) : scores;
  const bool fits = dot->opcode() == Opcode::kDot && analysis::IsContraction(*dot) &&
                    dot->control_predecessors().empty() && (dot == scores || HasOneUser(*dot));
  return fits ? dot : nullptr;
}

bool IsBroadcastScalar(const Instruction& value) {
  return value.opcode() == Opcode::kBroadcast && value.operand(0)->shape().IsScalar();
}

// Lets what scales or converts the result of `dot` come behind the moves that follow, as those of grouped heads, so
// that there are only moves between the product and the rows.
bool SinkScaling(Instruction* dot) {
  bool changed = false;
  for (Instruction* value = dot; HasOneUser(*value);) {
    Instruction* step = *value->users().begin();
    if (analysis::IsRearrangement(*step)) {
      value = step;
      continue;
    }
    const bool scales =
        analysis::IsElementwiseLike(*step) && absl::c_all_of(step->operands(), [&](Instruction* operand) {
          return operand == value || IsBroadcastScalar(*operand);
        });
    if (!scales || !HasOneUser(*step)) break;
    Instruction* move = *step->users().begin();
    if ((move->opcode() != Opcode::kTranspose && move->opcode() != Opcode::kReshape) ||
        !move->control_predecessors().empty() || !step->control_predecessors().empty()) {
      break;
    }
    Computation* computation = dot->parent();
    Instruction* moved = computation->Add(
        move->opcode(), ChangeElementType(move->shape(), value->shape().element_type()), {value}, move->attributes());
    std::vector<Instruction*> operands;
    for (Instruction* operand : step->operands()) {
      operands.push_back(
          operand == value
              ? moved
              : Builder(computation, operand).BroadcastScalar(operand->operand(0), move->shape().dimensions()));
    }
    Instruction* scaled = computation->Add(step->opcode(), move->shape(), std::move(operands), step->attributes(),
                                           step->called_computations());
    scaled->CopyMetadataFrom(*step);
    move->ReplaceAllUsesWith(scaled);
    computation->Remove(move);
    computation->Remove(step);
    value = moved;
    changed = true;
  }
  return changed;
}

// What is done with the rows of the scores, which end in `weights`.
class RowOperation {
 public:
  explicit RowOperation(Instruction* weights) : weights_(weights), full_(WithoutOnes(weights->shape().dimensions())) {
    if (!full_.empty()) rows_.assign(full_.begin(), full_.end() - 1);
  }

  // Values of all elements from which the weights may come row by row, the last ones first.
  std::vector<Instruction*> PossibleScores() const {
    std::vector<Instruction*> found, work = {weights_};
    absl::flat_hash_set<const Instruction*> seen = {weights_};
    while (!work.empty() && seen.size() <= 4 * kMaxAttentionMembers) {
      Instruction* value = work.back();
      work.pop_back();
      if (!WorksOnRows(*value)) continue;
      for (Instruction* operand : value->operands()) {
        if (!seen.insert(operand).second) continue;
        if (IsFull(*operand) && DotBehind(operand) != nullptr) found.push_back(operand);
        work.push_back(operand);
      }
    }
    return found;
  }

  // Collects what depends on `scores`. False where something else reads a part of it, or it is no operation on rows.
  bool Find(Instruction* scores) {
    members_ = {weights_};
    std::vector<Instruction*> work = {scores};
    absl::flat_hash_set<const Instruction*> seen = {scores};
    int reduces = 0;
    while (!work.empty()) {
      Instruction* value = work.back();
      work.pop_back();
      if (value->IsRoot() || value->users().empty()) return false;
      for (Instruction* user : value->users()) {
        if (!seen.insert(user).second) continue;
        if (!WorksOnRows(*user) || seen.size() > kMaxAttentionMembers) return false;
        reduces += user->opcode() == Opcode::kReduce ? 1 : 0;
        members_.insert(user);
        if (user != weights_) work.push_back(user);
      }
    }
    // Work that a product's epilogue does as well is no reason.
    return seen.contains(weights_) && reduces > 0 && reduces <= kMaxReduces && AddCheapOperands(scores);
  }

  const absl::flat_hash_set<Instruction*>& members() const { return members_; }

 private:
  bool IsFull(const Instruction& value) const { return WithoutOnes(value.shape().dimensions()) == full_; }
  bool IsRow(const Instruction& value) const { return WithoutOnes(value.shape().dimensions()) == rows_; }

  // Whether each row of the result comes from the same row of the operands.
  bool WorksOnRows(const Instruction& value) const {
    if (!analysis::HasPlainShape(value) || !value.control_predecessors().empty()) return false;
    switch (value.opcode()) {
      case Opcode::kReshape:
        return WithoutOnes(value.shape().dimensions()) == WithoutOnes(value.operand(0)->shape().dimensions());
      case Opcode::kReduce: {
        const Instruction& from = *value.operand(0);
        if (value.operand_count() != 2 || !value.operand(1)->IsConstant() || !IsFull(from) || !IsRow(value)) {
          return false;
        }
        // The last dimension that is more than one.
        int64_t last = from.shape().rank() - 1;
        while (from.shape().dimensions(last) == 1) --last;
        return Contains(value.dimensions(), last);
      }
      case Opcode::kBroadcast: {
        const Instruction& from = *value.operand(0);
        if (from.shape().IsScalar()) return true;
        if (!(IsFull(value) || IsRow(value)) || !(IsRow(from) || (IsFull(value) && IsFull(from)))) return false;
        // Its dimensions are the first ones.
        DimensionVector places, first;
        for (int64_t d = 0; d < from.shape().rank(); ++d) {
          if (from.shape().dimensions(d) != 1) places.push_back(value.dimensions()[d]);
        }
        for (int64_t d = 0; d < value.shape().rank() && first.size() < places.size(); ++d) {
          if (value.shape().dimensions(d) != 1) first.push_back(d);
        }
        return places == first;
      }
      default:
        return analysis::IsElementwiseLike(value) && (IsFull(value) || IsRow(value));
    }
  }

  // What the members read and is made from little comes in; the rest are parameters, whose number is bounded.
  bool AddCheapOperands(const Instruction* scores) {
    std::vector<Instruction*> work(members_.begin(), members_.end());
    absl::flat_hash_set<const Instruction*> parameters;
    while (!work.empty()) {
      Instruction* member = work.back();
      work.pop_back();
      for (Instruction* operand : member->operands()) {
        if (operand == scores || members_.contains(operand) || analysis::IsInlineConstant(*operand)) continue;
        // What is little itself and made of arrays had better be computed once, unless these are little beside it.
        const int64_t most = weights_->shape().element_count() / kMinScoreGrowth,
                      own = operand->shape().element_count();
        if (IsMadeOf(*operand, /*of_at_most=*/0, kMaxAttentionSteps) ||
            IsMadeOf(*operand, own > most ? most : own / kMinOwnGrowth, kMaxAttentionSteps)) {
          members_.insert(operand);
          work.push_back(operand);
        } else {
          parameters.insert(operand);
        }
        if (members_.size() > kMaxAttentionMembers || parameters.size() > kMaxAttentionParameters) return false;
      }
    }
    return true;
  }

  // Computed in a few cheap steps of indices and constants or of arrays of so many elements at most.
  static bool IsMadeOf(const Instruction& value, int64_t of_at_most, int steps) {
    if (analysis::IsRematerialized(value)) return true;
    const bool is_step = analysis::IsElementwiseLike(value) || value.opcode() == Opcode::kBroadcast ||
                         value.opcode() == Opcode::kReshape;
    if (!is_step || steps == 0 || !analysis::HasPlainShape(value) || !value.control_predecessors().empty() ||
        analysis::CostOf(value) == analysis::EvaluationCost::kExpensive) {
      return false;
    }
    return absl::c_all_of(value.operands(), [&](const Instruction* operand) {
      return operand->shape().element_count() <= of_at_most || IsMadeOf(*operand, of_at_most, steps - 1);
    });
  }

  Instruction* const weights_;
  DimensionVector full_, rows_;  // without dimensions of 1
  absl::flat_hash_set<Instruction*> members_;
};

// Whether products of these have kernels where any have (cpu/gemm_kernels.h): bf16 comes in pairs.
bool HasKernels(const Instruction& dot, int64_t depth) {
  return absl::c_all_of(dot.operands(), [&](const Instruction* operand) {
    const PrimitiveType type = operand->shape().element_type();
    return type == PrimitiveType::kF32 || type == PrimitiveType::kF64 ||
           (type == PrimitiveType::kBF16 && depth % 2 == 0);
  });
}

bool IsWorthIt(const Attention& attention, const AttentionParts& parts) {
  const AttentionTuning& tuning = Tuning().attention;
  return HasKernels(*parts.first, attention.depth) && HasKernels(*parts.second, attention.columns) &&
         attention.rows.size >= tuning.rows && attention.columns >= tuning.columns &&
         attention.columns <= Tuning().kernels.row_elements && attention.features >= tuning.columns &&
         attention.depth <= kMaxHead && attention.features <= kMaxHead &&
         parts.scores->shape().byte_count() >= tuning.score_bytes && attention.query_depth == 1 &&
         (attention.key_depth == 1 || attention.key_column == 1) &&
         (attention.value_feature == 1 || attention.value_column == 1);
}

// What `operand` is made from by moves.
Instruction* SourceOfOperand(Instruction* operand) {
  for (size_t i = 0; i < kMaxMoves && analysis::IsMove(*operand); ++i) operand = operand->operand(0);
  return operand;
}

// The parts around scores and weights, as far as they can be one step: with the moves before the first dot and behind
// the second where their strides allow it.
std::optional<AttentionParts> Complete(AttentionParts parts, Instruction* second) {
  std::vector<const Instruction*> roots = {second};
  for (const Instruction* at = second; HasOneUser(*at) && roots.size() < kMaxMoves;) {
    at = *at->users().begin();
    if (!analysis::IsRearrangement(*at)) break;
    // A reshape behind the last transpose moves nothing.
    if (at->opcode() == Opcode::kTranspose) roots.push_back(at);
  }
  Instruction* const operands[] = {parts.first->operand(0), parts.first->operand(1),
                                   second->operand(1 - parts.weights_side)};
  for (size_t i = roots.size(); i-- > 0;) {
    parts.root = roots[i];
    for (const bool moved : {true, false}) {
      parts.sources[0] = moved ? SourceOfOperand(operands[0]) : operands[0];
      parts.sources[1] = moved ? SourceOfOperand(operands[1]) : operands[1];
      parts.value = moved ? SourceOfOperand(operands[2]) : operands[2];
      const std::optional<Attention> attention = analysis::DescribeAttention(parts);
      if (attention.has_value() && IsWorthIt(*attention, parts)) return parts;
    }
  }
  return std::nullopt;
}

// The fusion, with one of `rows` inside, members in order, in the place of parts.root.
void Fuse(const AttentionParts& parts, const std::vector<Instruction*>& rows) {
  Computation* computation = parts.root->parent();
  const auto find = [](const Instruction* wanted) { return const_cast<Instruction*>(wanted); };
  FusionBody row_body(computation->parent(), "attention_rows");
  for (const Instruction* member : rows) row_body.Add(*member);
  Instruction* weights = find(parts.weights);
  Instruction* inner = row_body.Finish({&weights, 1}, hlo::FusionKind::kInput, "attention_rows_fusion");
  FusionBody body(computation->parent(), "attention");
  absl::flat_hash_set<const Instruction*> added;
  const auto add_path = [&](const Instruction* last, const Instruction* source) {
    std::vector<const Instruction*> path;
    for (const Instruction* at = last; at != source; at = at->operand(0)) path.push_back(at);
    for (size_t i = path.size(); i-- > 0;) {
      if (added.insert(path[i]).second) body.AddWhole(*path[i]);
    }
  };
  for (int side : {0, 1}) add_path(parts.first->operand(side), parts.sources[side]);
  body.AddWhole(*parts.first);
  add_path(parts.scores, parts.first);
  body.AddWhole(*inner);
  add_path(parts.second->operand(parts.weights_side), inner);
  add_path(parts.second->operand(1 - parts.weights_side), parts.value);
  body.AddWhole(*parts.second);
  add_path(parts.root, parts.second);
  Instruction* root = find(parts.root);
  body.Finish({&root, 1}, hlo::FusionKind::kCustom, "attention_fusion");
}

bool FuseAttentionIn(Computation* computation) {
  bool changed = false;
  computation->RemoveDeadInstructions();
  if (!computation->MayContain(Opcode::kDot)) return false;
  std::vector<Instruction*> dots = computation->PostOrder();
  std::erase_if(dots, [](const Instruction* instruction) {
    return instruction->opcode() != Opcode::kDot || !analysis::IsContraction(*instruction);
  });
  for (Instruction* dot : dots) changed |= SinkScaling(dot);
  absl::flat_hash_map<const Instruction*, size_t> position;
  for (const Instruction* instruction : computation->PostOrder()) position[instruction] = position.size();
  absl::flat_hash_set<const Instruction*> taken;
  for (Instruction* second : dots) {
    if (taken.contains(second)) continue;
    std::optional<AttentionParts> found;
    for (int64_t side = 0; side < 2 && !found.has_value(); ++side) {
      if (!second->control_predecessors().empty()) break;
      Instruction* operand = second->operand(side);
      if (!HasOneUser(*operand) || second->operand(1 - side) == operand) continue;
      Instruction* weights = BehindMoves(operand);
      if (!HasOneUser(*weights) || weights->shape().rank() == 0) continue;
      RowOperation rows(weights);
      for (Instruction* scores : rows.PossibleScores()) {
        Instruction* first = DotBehind(scores);
        if (taken.contains(first) || !rows.Find(scores)) continue;
        AttentionParts parts;
        parts.first = first;
        parts.scores = scores;
        parts.weights = weights;
        parts.second = second;
        parts.weights_side = side;
        found = Complete(parts, second);
        if (!found.has_value()) continue;
        std::vector<Instruction*> members(rows.members().begin(), rows.members().end());
        absl::c_sort(members, [&](const Instruction* a, const Instruction* b) { return position[a] < position[b]; });
        Fuse(*found, members);
        taken.insert({first, second});
        changed = true;
        break;
      }
    }
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> FuseAttention(Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= FuseAttentionIn(computation);
  return changed;
}

}  // namespace kiln::passes
