#include "src/passes/simplify/shortest_sum.h"

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "src/passes/simplify/inner_ops.h"

namespace kiln::passes::simplify {
namespace {

constexpr size_t kMaxTerms = 4;
constexpr int kMaxSumOps = 10;

struct Term {
  Instruction* x;
  uint64_t factor;
};

// factor of x + factor of y + constant; where there is no such op, x alone.
struct Step {
  uint64_t x = 1, y = 0, constant = 0;
};

std::optional<Step> StepOf(const Instruction& op) {
  const auto value = [&]() -> std::optional<uint64_t> {
    const std::optional<Literal> constant = SplatValue(*op.operand(1));
    if (!constant) return std::nullopt;
    return static_cast<uint64_t>(hlo::ElementAsInt64(*constant, 0));
  };
  switch (op.opcode()) {
    case Opcode::kAdd:
      return Step{1, 1, 0};
    case Opcode::kSubtract:
      return Step{1, ~uint64_t{0}, 0};
    case Opcode::kNegate:
      return Step{~uint64_t{0}, 0, 0};
    case Opcode::kNot:
      return Step{~uint64_t{0}, 0, ~uint64_t{0}};
    case Opcode::kMultiply:
      if (const auto factor = value()) return Step{*factor, 0, 0};
      return std::nullopt;
    case Opcode::kShiftLeft:
      if (const auto digits = value();
          digits && *digits < static_cast<uint64_t>(hlo::BitWidth(op.shape().element_type()))) {
        return Step{uint64_t{1} << *digits, 0, 0};
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

class Sum {
 public:
  explicit Sum(Instruction* root) : type_(root->shape().element_type()) {
    const int bits = hlo::BitWidth(type_);
    mask_ = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    terms_.push_back({root, 1});
    for (bool more = true; more && ops_.size() < kMaxSumOps;) {
      more = false;
      for (const Term& term : terms_) {
        const std::optional<Step> step = StepOf(*term.x);
        if (!step) continue;
        Sum opened = *this;
        opened.Open(term, *step);
        if (opened.terms_.size() > kMaxTerms) continue;
        *this = std::move(opened);
        more = true;
        break;
      }
    }
  }

  // An op that gives a term again is needed for it.
  int CountUnneededOps() const {
    InnerOps ops;
    for (Instruction* op : ops_) {
      const bool is_term = absl::c_any_of(terms_, [&](const Term& term) { return term.x == op; });
      if (!is_term && !absl::c_linear_search(ops, op)) ops.push_back(op);
    }
    return ops.empty() || ops.front() != ops_.front() ? 0 : CountUnneeded(ops);
  }

  // The op of them all that gives the sum.
  Instruction* Existing() const {
    if (terms_.size() != 1 || terms_[0].factor != 1 || constant_ != 0) return nullptr;
    return terms_[0].x;
  }

  // Terms with equal factors, or opposite ones, are added before they are multiplied.
  int CountOps() const {
    int ops = constant_ != 0 && !terms_.empty() ? 1 : 0;
    bool can_begin = constant_ != 0 || terms_.empty();  // with a number or with what is not subtracted
    absl::InlinedVector<uint64_t, kMaxTerms> sizes;
    for (const Term& term : terms_) {
      const uint64_t size = SizeOf(term.factor);
      can_begin |= size != 1 || term.factor == 1;
      if (absl::c_linear_search(sizes, size)) continue;
      sizes.push_back(size);
      if (size != 1) ++ops;
    }
    return ops + (terms_.empty() ? 0 : static_cast<int>(terms_.size()) - 1) + (can_begin ? 0 : 1);
  }

  Instruction* Build(const Shape& shape, Builder& builder) const {
    const auto number = [&](uint64_t value) {
      return builder.Splat(shape, hlo::LiteralOf(Shape::Scalar(type_), static_cast<int64_t>(value)));
    };
    Instruction *plus = nullptr, *minus = nullptr;
    const auto add = [&](Instruction** to, Instruction* x) {
      *to = *to == nullptr ? x : builder.Binary(Opcode::kAdd, *to, x);
    };
    absl::InlinedVector<uint64_t, kMaxTerms> sizes;
    for (const Term& first : terms_) {
      const uint64_t size = SizeOf(first.factor);
      if (absl::c_linear_search(sizes, size)) continue;
      sizes.push_back(size);
      if (size == 1) continue;
      // The sum of those with the first one's factor, less those with the opposite one.
      Instruction *group = nullptr, *less = nullptr;
      for (const Term& term : terms_) {
        if (SizeOf(term.factor) == size) add(term.factor == first.factor ? &group : &less, term.x);
      }
      if (less != nullptr) group = builder.Binary(Opcode::kSubtract, group, less);
      add(&plus, builder.Binary(Opcode::kMultiply, group, number(first.factor)));
    }
    for (const Term& term : terms_) {
      if (SizeOf(term.factor) == 1) add(term.factor == 1 ? &plus : &minus, term.x);
    }
    if (plus == nullptr && minus == nullptr) return number(constant_);
    if (plus == nullptr) {
      return constant_ == 0 ? builder.Unary(Opcode::kNegate, minus)
                            : builder.Binary(Opcode::kSubtract, number(constant_), minus);
    }
    if (minus != nullptr) plus = builder.Binary(Opcode::kSubtract, plus, minus);
    return constant_ == 0 ? plus : builder.Binary(Opcode::kAdd, plus, number(constant_));
  }

 private:
  // Factors of +1 and -1 take no product; neither do two that are opposite take one each.
  uint64_t SizeOf(uint64_t factor) const { return std::min(factor, -factor & mask_); }

  void Open(Term term, const Step& step) {
    ops_.push_back(term.x);
    Add(term.x, -term.factor);
    constant_ = (constant_ + step.constant * term.factor) & mask_;
    Add(term.x->operand(0), step.x * term.factor);
    if (step.y != 0) Add(term.x->operand(1), step.y * term.factor);
  }

  void Add(Instruction* x, uint64_t factor) {
    if (const std::optional<Literal> value = SplatValue(*x)) {
      constant_ = (constant_ + static_cast<uint64_t>(hlo::ElementAsInt64(*value, 0)) * factor) & mask_;
      return;
    }
    const auto known = absl::c_find_if(terms_, [&](const Term& term) { return term.x == x; });
    const uint64_t sum = ((known == terms_.end() ? 0 : known->factor) + factor) & mask_;
    if (known == terms_.end()) {
      if (sum != 0) terms_.push_back({x, sum});
    } else if (sum == 0) {
      terms_.erase(known);
    } else {
      known->factor = sum;
    }
  }

  PrimitiveType type_;
  uint64_t mask_;
  InnerOps ops_;
  absl::InlinedVector<Term, kMaxTerms + 1> terms_;
  uint64_t constant_ = 0;
};

}  // namespace

Instruction* ShortestSum(const Match& match, Builder& builder) {
  Instruction* root = match.root();
  if (absl::c_none_of(root->operands(), [](const Instruction* x) { return StepOf(*x).has_value(); })) return nullptr;
  const Sum sum(root);
  if (Instruction* existing = sum.Existing(); existing != nullptr && existing != root) return existing;
  return sum.CountOps() < sum.CountUnneededOps() ? sum.Build(root->shape(), builder) : nullptr;
}

}  // namespace kiln::passes::simplify
