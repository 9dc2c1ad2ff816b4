#include "src/kernel/counted_index.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace kiln::kernel {
namespace {

using hlo::ComparisonDirection;
using hlo::Opcode;

std::optional<IndexExpr> Combine(IndexTerms* terms, Opcode opcode, const IndexExpr& a, const IndexExpr& b) {
  const bool is_counted = terms->RangeOf(a).low >= 0;
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      if (b.IsConstant()) return a * b.constant;
      if (a.IsConstant()) return b * a.constant;
      return std::nullopt;
    // Both round towards zero, as floors do from there on.
    case Opcode::kDivide:
      if (b.IsConstant() && b.constant > 0 && is_counted) return terms->FloorDiv(a, b.constant);
      return std::nullopt;
    case Opcode::kRemainder:
      if (b.IsConstant() && b.constant > 0 && is_counted) return terms->Mod(a, b.constant);
      return std::nullopt;
    case Opcode::kAnd:
      if (b.IsConstant() && b.constant >= 0 && (b.constant & (b.constant + 1)) == 0 && is_counted) {
        return terms->Mod(a, b.constant + 1);
      }
      return std::nullopt;
    case Opcode::kShiftLeft:
      if (b.IsConstant() && b.constant >= 0 && b.constant < 30) return a * (int64_t{1} << b.constant);
      return std::nullopt;
    case Opcode::kShiftRightLogical:
      if (b.IsConstant() && b.constant >= 0 && b.constant < 30 && is_counted) {
        return terms->FloorDiv(a, int64_t{1} << b.constant);
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// select(a < b, x, y) is whichever it always is, or a remainder: y < 0 ? y + d : y, and x < d ? x : x - d.
std::optional<IndexExpr> Choose(IndexTerms* terms, ComparisonDirection direction, IndexExpr a, IndexExpr b, IndexExpr x,
                                IndexExpr y) {
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) return std::nullopt;
  if (direction == ComparisonDirection::kGt || direction == ComparisonDirection::kLe) std::swap(a, b);
  if (direction == ComparisonDirection::kGe || direction == ComparisonDirection::kLe) std::swap(x, y);
  const IndexExpr difference = a - b, period = x - y;
  const IndexRange sign = terms->RangeOf(difference), range = terms->RangeOf(y);
  if (sign.high < 0) return x;
  if (sign.low >= 0) return y;
  if (difference != y || !period.IsConstant() || range.low < -period.constant || range.high >= period.constant) {
    return std::nullopt;
  }
  return terms->Mod(y, period.constant);
}

class Counter {
 public:
  explicit Counter(Kernel* kernel) : kernel_(*kernel), terms_(&kernel->terms) {}

  std::optional<IndexExpr> operator()(ValueId value, int depth = 0) {
    const auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    std::optional<IndexExpr> result;
    if (depth <= kMaxDepth) result = Of(kernel_.ops[value], depth);
    if (result.has_value() && terms_->SizeOf(*result) > kMaxTerms) result.reset();
    known_.emplace(value, result);
    return result;
  }

 private:
  static constexpr int kMaxDepth = 16;
  static constexpr int64_t kMaxTerms = 64;

  std::optional<IndexExpr> Of(const Op& op, int depth) {
    if (!hlo::IsIntegral(op.type) || op.predicate != kNoValue) return std::nullopt;
    if (op.kind == OpKind::kIndex) return Within(op.type, op.offset);
    if (op.kind == OpKind::kConstant) {
      return Within(op.type, IndexExpr::Constant(hlo::ElementAsInt64(op.literal, op.literal_index)));
    }
    if (op.kind != OpKind::kElementwise) return std::nullopt;
    std::vector<ValueId> operands = op.operands;
    const Op* comparison = nullptr;
    if (op.opcode == Opcode::kSelect) {
      comparison = &kernel_.ops[operands[0]];
      if (comparison->opcode != Opcode::kCompare || comparison->instruction == nullptr) return std::nullopt;
      operands = {comparison->operands[0], comparison->operands[1], operands[1], operands[2]};
    }
    std::vector<IndexExpr> of;
    for (const ValueId operand : operands) {
      std::optional<IndexExpr> counted = (*this)(operand, depth + 1);
      if (!counted.has_value() || !IsModerate(*counted)) return std::nullopt;
      of.push_back(*std::move(counted));
    }
    if (comparison != nullptr) {
      const ComparisonDirection direction = comparison->instruction->comparison().direction;
      return Within(op.type, Choose(terms_, direction, of[0], of[1], of[2], of[3]));
    }
    if (op.opcode == Opcode::kConvert) return Within(op.type, of[0]);
    if (op.opcode == Opcode::kNegate) return Within(op.type, of[0] * -1);
    return of.size() == 2 ? Within(op.type, Combine(terms_, op.opcode, of[0], of[1])) : std::nullopt;
  }

  // Nothing where `value` may lie outside of `type`.
  std::optional<IndexExpr> Within(hlo::PrimitiveType type, const std::optional<IndexExpr>& value) const {
    if (!value.has_value()) return std::nullopt;
    const bool is_signed = hlo::IsSignedIntegral(type);
    const int bits = hlo::BitWidth(type) - (is_signed ? 1 : 0);
    const int64_t largest = bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
    const IndexRange range = terms_->RangeOf(*value);
    if (range.low < (is_signed ? -largest - 1 : 0) || range.high > largest) return std::nullopt;
    return value;
  }

  // Far from where sums and products of two overflow.
  bool IsModerate(const IndexExpr& value) const {
    constexpr int64_t kMost = int64_t{1} << 30;
    const IndexRange range = terms_->RangeOf(value);
    return range.low >= -kMost && range.high <= kMost;
  }

  const Kernel& kernel_;
  IndexTerms* terms_;
  absl::flat_hash_map<ValueId, std::optional<IndexExpr>> known_;
};

}  // namespace

std::optional<IndexExpr> CountedIndex(Kernel* kernel, ValueId value) { return Counter(kernel)(value); }

}  // namespace kiln::kernel
