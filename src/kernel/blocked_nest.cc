#include "src/kernel/blocked_nest.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/kept_blocks.h"
#include "src/base/status.h"

namespace kiln::kernel {
namespace {

using analysis::KeptBlocks;
using analysis::KeptValue;
using hlo::Instruction;
using hlo::Opcode;

std::optional<KeptBlocks> BlocksOf(const hlo::Computation& fused) {
  if (!fused.MayContain(Opcode::kOptBarrier)) return std::nullopt;
  std::vector<const Instruction*> members;
  absl::flat_hash_set<const Instruction*> kept;
  for (const Instruction* instruction : fused.PostOrder()) {
    members.push_back(instruction);
    if (instruction->opcode() == Opcode::kOptBarrier) kept.insert(instruction);
  }
  if (kept.empty() || !fused.root()->shape().IsArray()) return std::nullopt;
  return analysis::PlanKeptBlocks(*fused.root(), members, kept);
}

class BlockedNest {
 public:
  BlockedNest(BodyBuilder* body, const KeptBlocks& blocks) : body_(*body), blocks_(blocks) {}

  absl::Status Emit(IndexTerms* terms, const Instruction& root, int output) {
    KILN_RETURN_IF_ERROR(Begin(terms));
    for (const KeptValue& kept : blocks_.values) KILN_RETURN_IF_ERROR(EmitStages(kept));
    // All values before the first store: the result may lie where an operand does.
    std::vector<std::pair<ValueId, Index>> values;
    const bool together = analysis::MakesPiecesTogether(root);
    int64_t start = 0;
    for (int64_t i = 0; i < (together ? root.operand_count() : blocks_.columns); ++i) {
      Index at = index_;
      if (together) at[root.dimensions()[0]] = at[root.dimensions()[0]] + start;
      if (blocks_.columns > 1) at.back() = at.back() * blocks_.columns + i;
      KILN_ASSIGN_OR_RETURN(ValueId value, body_.Emit(&root, at));
      values.emplace_back(value, std::move(at));
      if (together) start += root.operand(i)->shape().dimensions(root.dimensions()[0]);
    }
    for (const auto& [value, at] : values) body_.AddStore(output, at, value);
    body_.EndNest();
    return absl::OkStatus();
  }

 private:
  // The loops that all that is kept depends on come first, then the one over blocks, and the rest of its rows behind
  // the other loops outside.
  absl::Status Begin(IndexTerms* terms) {
    const int64_t rank = static_cast<int64_t>(blocks_.extents.size()), blocked = blocks_.blocked;
    const auto keeps_all = [&](int64_t loop) {
      return std::all_of(blocks_.values.begin(), blocks_.values.end(), [&](const KeptValue& kept) {
        return std::find(kept.loops.begin(), kept.loops.end(), loop) != kept.loops.end();
      });
    };
    std::vector<int64_t> order, extents;  // of loops; -1: over blocks
    for (int64_t loop = 0; loop < blocked; ++loop) {
      if (keeps_all(loop)) order.push_back(loop);
    }
    order.push_back(-1);
    for (int64_t loop = 0; loop < rank; ++loop) {
      if (loop >= blocked || !keeps_all(loop)) order.push_back(loop);
    }
    for (const int64_t loop : order) {
      extents.push_back(loop < 0          ? blocks_.extents[blocked] / blocks_.rows
                        : loop == blocked ? blocks_.rows
                                          : blocks_.extents[loop]);
    }
    KILN_ASSIGN_OR_RETURN(const Index variables, body_.BeginNest(extents, LoopKind::kParallel));
    index_.resize(rank);
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] < 0) {
        first_row_ = variables[i] * blocks_.rows;
      } else {
        index_[order[i]] = variables[i];
      }
    }
    index_[blocked] = first_row_ + index_[blocked];
    loops_.resize(rank);
    for (int64_t loop = 0; loop < rank; ++loop) loops_[loop] = terms->LoopsOf(index_[loop]);
    loops_[blocked] = terms->LoopsOf(first_row_);
    return absl::OkStatus();
  }

  // Makes `kept` for a block: what it joins piece by piece, equal ones side by side.
  absl::Status EmitStages(const KeptValue& kept) {
    const Instruction* made = kept.value;
    while (made->opcode() == Opcode::kOptBarrier) made = made->operand(0);
    const hlo::DimensionVector local = kept.KeptDimensions(blocks_.blocked, blocks_.rows);
    BodyBuilder::Kept place{body_.AddLocal(made->shape().element_type(), local)};
    for (size_t d = 0; d < kept.loops.size(); ++d) {
      const int64_t loop = kept.loops[d];
      place.left_out.push_back(loop >= 0 && loop != blocks_.blocked);
      place.origin.push_back(loop == blocks_.blocked ? first_row_ + kept.first : IndexExpr());
      if (loop >= 0) place.loops |= loops_[loop];
    }
    // Bound before it is made, since tables that this takes move local arrays.
    const BodyBuilder::Kept& known = body_.BindKept(kept.value, std::move(place));
    if (made->opcode() == Opcode::kConcatenate && kept.loops[made->dimensions()[0]] < 0 &&
        analysis::CheaperAsPieces(*made)) {
      const bool together = analysis::MakesPiecesTogether(*made);
      Pieces pieces{made->dimensions()[0]};
      int64_t start = 0;
      for (const Instruction* operand : made->operands()) {
        pieces.values.push_back({operand, 0, start});
        start += operand->shape().dimensions(pieces.dimension);
        if (together && operand != made->operands().back()) continue;
        pieces.size = operand->shape().dimensions(pieces.dimension);
        KILN_RETURN_IF_ERROR(EmitStage(kept, known, pieces));
        pieces.values.clear();
      }
    } else {
      const int64_t last = made->shape().rank() - 1, size = made->shape().dimensions().back();
      const int64_t columns = kept.loops[last] < 0 ? analysis::ColumnsInRows(*made) : 1;
      Pieces pieces{last, size / columns, columns};
      for (int64_t column = 0; column < columns; ++column) pieces.values.push_back({made, column, column});
      KILN_RETURN_IF_ERROR(EmitStage(kept, known, pieces));
    }
    return absl::OkStatus();
  }

  // What the loops of a stage make at once, where they are at index i of so many in this dimension: elements
  // from + stride * i of values, which are kept at to + stride * i.
  struct Pieces {
    int64_t dimension = 0;
    int64_t size = 0;
    int64_t stride = 1;
    struct Piece {
      const Instruction* value;
      int64_t from, to;
    };
    std::vector<Piece> values;
  };

  absl::Status EmitStage(const KeptValue& kept, const BodyBuilder::Kept& known, const Pieces& pieces) {
    const int64_t rank = static_cast<int64_t>(kept.loops.size());
    const hlo::Shape& shape = kept.value->shape();
    std::vector<int64_t> extents;
    for (int64_t d = 0; d < rank; ++d) {
      if (known.left_out[d]) continue;
      const int64_t size = d == pieces.dimension ? pieces.size : shape.dimensions(d);
      extents.push_back(kept.loops[d] < 0 ? size : blocks_.rows + kept.halo);
    }
    KILN_ASSIGN_OR_RETURN(const Index variables, body_.BeginStage(extents));
    Index from, to;
    std::vector<Condition> conditions;  // rows past the first and last one are not made
    for (int64_t d = 0, next = 0; d < rank; ++d) {
      from.push_back(known.left_out[d] ? index_[kept.loops[d]] : known.origin[d] + variables[next]);
      if (kept.loops[d] == blocks_.blocked) conditions.push_back({from[d], 0, shape.dimensions(d)});
      if (!known.left_out[d]) to.push_back(variables[next++]);
    }
    // Where the dimension of the pieces is in what is kept.
    const auto left_out = std::count(known.left_out.begin(), known.left_out.begin() + pieces.dimension, true);
    bool never;
    const ValueId inside = body_.AddCondition(std::move(conditions), kNoValue, &never);
    std::vector<ValueId> values;
    for (const Pieces::Piece& piece : pieces.values) {
      Index at = from;
      if (pieces.values.size() > 1) at[pieces.dimension] = at[pieces.dimension] * pieces.stride + piece.from;
      KILN_ASSIGN_OR_RETURN(ValueId value, body_.EmitGuarded(inside, piece.value, at));
      values.push_back(value);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      Index at = to;
      if (pieces.stride > 1 || pieces.values[i].to > 0) {
        at[pieces.dimension - left_out] = at[pieces.dimension - left_out] * pieces.stride + pieces.values[i].to;
      }
      body_.AddStore(known.parameter, at, values[i]);
    }
    body_.EndStage(known.loops);
    return absl::OkStatus();
  }

  BodyBuilder& body_;
  const KeptBlocks& blocks_;
  Index index_;  // of the element that the nest makes
  IndexExpr first_row_;
  std::vector<uint64_t> loops_;  // of the nest, that go along each; of the blocked one those over blocks
};

}  // namespace

absl::StatusOr<bool> EmitBlocked(BodyBuilder* body, IndexTerms* terms, const hlo::Computation& fused, int output) {
  const std::optional<KeptBlocks> blocks = BlocksOf(fused);
  if (!blocks.has_value()) return false;
  KILN_RETURN_IF_ERROR(BlockedNest(body, *blocks).Emit(terms, *fused.root(), output));
  return true;
}

}  // namespace kiln::kernel
