// The interior of a vector loop: iterations in which conditions on its variable alone, and on the loops around it
// alone, as concatenations, pads and shifts round an array's end have them, are known. Only the few vectors at its
// edges compute them.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "src/base/rounding.h"
#include "src/kernel/nest_lowering.h"

namespace kiln::kernel {
namespace {

// Vectors of the interior from which on the code is worth writing twice, and kernels that are short enough for it.
constexpr int64_t kMinVectors = 2;
constexpr size_t kMaxInteriorOps = 200;

}  // namespace

bool NestLowering::IsOfLoop(const Condition& condition, int loop) const {
  if (condition.expr.terms.size() != 1 || condition.expr.terms[0].second <= 0) return false;
  const IndexTerms::Term& term = kernel_.terms.term(condition.expr.terms[0].first);
  return term.kind == IndexTerms::Kind::kLoop && term.id == loop;
}

bool NestLowering::IsOutside(const Condition& condition, int loop) const {
  const auto at = absl::c_find(schedule_.order, loop);
  uint64_t around = 0;
  for (auto outer = schedule_.order.begin(); outer != at; ++outer) around |= uint64_t{1} << *outer;
  const uint64_t loops = kernel_.terms.LoopsOf(condition.expr);
  bool has_symbols = false;
  kernel_.terms.ForEachSymbol(condition.expr, [&](int) { has_symbols = true; });
  return at != schedule_.order.end() && loops != 0 && (loops & ~around) == 0 && !has_symbols;
}

bool NestLowering::HoldsMostly(const Condition& condition) const {
  const IndexRange range = kernel_.terms.RangeOf(condition.expr);
  return 2 * (std::min(condition.high, range.high + 1) - std::max(condition.low, range.low)) > range.high - range.low;
}

bool NestLowering::IsUsual(const Condition& condition) const {
  return absl::c_any_of(usual_, [&](const Condition* other) {
    return other->expr == condition.expr && other->low == condition.low && other->high == condition.high;
  });
}

llvm::Value* NestLowering::IsUsualOutside(int loop) {
  usual_.clear();
  llvm::Value* all = nullptr;
  for (const Block::Statement& statement : nest_.body.statements) {
    if (statement.kind != Block::Kind::kOp) continue;
    for (const Condition& condition : kernel_.ops[statement.index].conditions) {
      if (!IsOutside(condition, loop) || IsUsual(condition)) continue;
      usual_.push_back(&condition);
      llvm::Value* distance =
          b_.CreateSub(index_.Scalar(condition.expr), b_.getInt64(static_cast<uint64_t>(condition.low)));
      llvm::Value* holds =
          b_.CreateICmpULT(distance, b_.getInt64(static_cast<uint64_t>(condition.high - condition.low)));
      if (!HoldsMostly(condition)) holds = b_.CreateNot(holds);
      all = all == nullptr ? holds : b_.CreateAnd(all, holds);
    }
  }
  return all;
}

std::pair<int64_t, int64_t> NestLowering::FindInterior(int loop, int lanes) const {
  constexpr std::pair<int64_t, int64_t> kNone = {0, 0};
  const int64_t extent = kernel_.loops[loop].extent;
  if (threads_ != nullptr || box_.contains(loop) || kernel_.ops.size() > kMaxInteriorOps) return kNone;
  std::vector<int64_t> bounds = {0, extent};
  bool has_outside = false;
  for (const Block::Statement& statement : nest_.body.statements) {
    if (statement.kind != Block::Kind::kOp) continue;
    for (const Condition& condition : kernel_.ops[statement.index].conditions) {
      has_outside |= IsOutside(condition, loop);
      if (!IsOfLoop(condition, loop)) continue;
      for (int64_t bound : {condition.low, condition.high}) {
        bounds.push_back(std::clamp<int64_t>(
            CeilDivide(bound - condition.expr.constant, condition.expr.terms[0].second), 0, extent));
      }
    }
  }
  if (bounds.size() == 2 && !has_outside) return kNone;
  std::sort(bounds.begin(), bounds.end());
  std::pair<int64_t, int64_t> longest = kNone;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const int64_t first = (bounds[i] + lanes - 1) / lanes * lanes, limit = bounds[i + 1] / lanes * lanes;
    if (limit - first > longest.second - longest.first) longest = {first, limit};
  }
  const int64_t length = longest.second - longest.first;
  return length >= kMinVectors * lanes && 2 * length >= extent ? longest : kNone;
}

absl::Status NestLowering::LowerVectorBody(int loop, llvm::Value* variable, const Innermost& body) {
  index_.SetLoop(loop, variable);
  const auto [first, limit] = mask_ == nullptr ? FindInterior(loop, vector_->lanes()) : std::pair<int64_t, int64_t>();
  if (first == limit) return body();
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function); };
  llvm::BasicBlock *inside = block("interior"), *edge = block("edge"), *done = block("done");
  llvm::Value* is_inside = b_.CreateICmpULT(b_.CreateSub(variable, b_.getInt64(static_cast<uint64_t>(first))),
                                            b_.getInt64(static_cast<uint64_t>(limit - first)));
  if (llvm::Value* outside = IsUsualOutside(loop)) is_inside = b_.CreateAnd(outside, is_inside);
  b_.CreateCondBr(is_inside, inside, edge);
  const bool had_stored = has_stored_;
  b_.SetInsertPoint(inside);
  interior_ = {first, limit};
  absl::Status status = body();
  interior_ = {0, 0};
  b_.CreateBr(done);
  b_.SetInsertPoint(edge);
  has_stored_ = had_stored;
  index_.SetLoop(loop, variable);
  status.Update(body());
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  return status;
}

NestLowering::Truth NestLowering::KnownInside(const Condition& condition) const {
  if (interior_.first == interior_.second) return Truth::kUnknown;
  if (IsUsual(condition)) return HoldsMostly(condition) ? Truth::kTrue : Truth::kFalse;
  if (!IsOfLoop(condition, vector_loop_)) return Truth::kUnknown;
  const int64_t step = condition.expr.terms[0].second;
  const int64_t first = interior_.first * step + condition.expr.constant,
                last = (interior_.second - 1) * step + condition.expr.constant;
  if (first >= condition.low && last < condition.high) return Truth::kTrue;
  return last < condition.low || first >= condition.high ? Truth::kFalse : Truth::kUnknown;
}

}  // namespace kiln::kernel
