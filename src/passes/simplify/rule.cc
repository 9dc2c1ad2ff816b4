#include "src/passes/simplify/rule.h"

#include <bit>
#include <cstdint>
#include <utility>

#include "absl/base/call_once.h"
#include "absl/container/inlined_vector.h"
#include "src/analysis/combiner.h"
#include "src/analysis/structure.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/shape_inference.h"
#include "src/passes/simplify/rule_node.h"

namespace kiln::passes::simplify {

namespace {

// Of SplatValue.
bool MayBeSplat(Opcode opcode) {
  return opcode == Opcode::kConstant || opcode == Opcode::kBroadcast || opcode == Opcode::kReshape;
}

}  // namespace

std::optional<Literal> SplatValue(const Instruction& instruction) {
  const Instruction* source = &instruction;
  while (source->opcode() == Opcode::kBroadcast || source->opcode() == Opcode::kReshape) source = source->operand(0);
  if (!source->IsConstant() || !source->shape().IsArray() || source->literal().element_count() == 0)
    return std::nullopt;
  const Literal& literal = source->literal();
  if (source->shape().IsScalar()) return literal;
  if (!literal.IsSplat()) return std::nullopt;
  const PrimitiveType type = source->shape().element_type();
  absl::StatusOr<Literal> scalar =
      Literal::FromBytes(Shape::Scalar(type), literal.bytes().subspan(0, hlo::ByteWidth(type)));
  if (!scalar.ok()) return std::nullopt;
  return *std::move(scalar);
}

absl::Span<const int64_t> Facts::PieceEnds(const Instruction& concatenate) {
  const auto [it, inserted] = piece_ends_.try_emplace(&concatenate);
  std::vector<int64_t>& ends = it->second;
  if (inserted) {
    int64_t end = 0;
    for (const Instruction* piece : concatenate.operands()) {
      ends.push_back(end += piece->shape().dimensions(concatenate.dimensions()[0]));
    }
  }
  return ends;
}

// Finds what letters stand for, going back to the other order of commutative ops where the first one fails.
class RuleSet::Matcher {
 public:
  static bool Matches(const Node& pattern, Instruction* root, Match* match) { return Solve({{&pattern, root}}, match); }

 private:
  struct Goal {
    const Node* node;
    Instruction* instruction;
  };
  using Goals = absl::InlinedVector<Goal, 8>;

  static bool Solve(Goals goals, Match* match) {
    while (!goals.empty()) {
      const Goal goal = goals.back();
      goals.pop_back();
      if (!MatchesAlone(goal, match)) return false;
      const std::vector<Node>& operands = goal.node->operands;
      if (operands.empty()) continue;
      const auto [in_order, swapped] = Orders(*goal.node, *goal.instruction);
      if (!in_order && !swapped) return false;
      if (in_order && swapped) {
        Goals first = goals;
        Match attempt = *match;
        Push(goal, /*swap=*/false, &first);
        if (Solve(std::move(first), &attempt)) {
          *match = attempt;
          return true;
        }
      }
      Push(goal, swapped, &goals);
    }
    return true;
  }

  static void Push(const Goal& goal, bool swap, Goals* goals) {
    const size_t count = goal.node->operands.size();
    for (size_t i = count; i > 0; --i) {
      goals->push_back({&goal.node->operands[i - 1], goal.instruction->operand(swap ? count - i : i - 1)});
    }
  }

  // Whether the operands may stand as they are written, and in the other order.
  static std::pair<bool, bool> Orders(const Node& node, const Instruction& instruction) {
    if (!node.direction) return {true, hlo::IsCommutative(node.opcode)};
    const ComparisonDirection direction = instruction.comparison().direction;
    return {direction == *node.direction, direction == analysis::Mirrored(*node.direction)};
  }

  // All but the operands.
  static bool MatchesAlone(const Goal& goal, Match* match) {
    const Node& node = *goal.node;
    Instruction* instruction = goal.instruction;
    switch (node.kind) {
      case NodeKind::kAny:
        return true;
      case NodeKind::kVariable:
        return !(node.not_constant && SplatValue(*instruction)) && Bind(node.letter, instruction, match);
      case NodeKind::kConstant: {
        const std::optional<Literal> value = SplatValue(*instruction);
        if (!value) return false;
        Instruction* bound = (*match)[node.letter];
        if (bound != nullptr) return *SplatValue(*bound) == *value;
        return Bind(node.letter, instruction, match);
      }
      case NodeKind::kOpcode:
        if (instruction->opcode() != node.opcode || !MatchesSuffix(node, *instruction)) return false;
        break;
      case NodeKind::kElementwise:
        if (!hlo::IsElementwise(instruction->opcode())) return false;
        break;
      default:
        return MatchesValue(node, *instruction);
    }
    if (node.single_user && (instruction->users().size() != 1 || instruction->IsRoot())) return false;
    const int64_t operands = static_cast<int64_t>(node.operands.size());
    if (node.any_operands ? instruction->operand_count() < operands : instruction->operand_count() != operands) {
      return false;
    }
    return node.letter == 0 || Bind(node.letter, instruction, match);
  }

  static bool Bind(char letter, Instruction* instruction, Match* match) {
    if ((*match)[letter] != nullptr) return (*match)[letter] == instruction;
    match->Bind(letter, instruction);
    return true;
  }

  static bool MatchesSuffix(const Node& node, const Instruction& instruction) {
    if (node.combiner) {
      return instruction.operand_count() == 2 && instruction.shape().IsArray() &&
             analysis::CombinerOpcode(*instruction.called_computation()) == node.combiner;
    }
    if (!node.direction) return true;
    return instruction.comparison().type != hlo::ComparisonType::kTotalOrder ||
           !hlo::IsFloating(instruction.operand(0)->shape().element_type());
  }

  static bool MatchesValue(const Node& node, const Instruction& instruction) {
    const std::optional<Literal> value = SplatValue(instruction);
    if (!value) return false;
    const PrimitiveType type = value->shape().element_type();
    switch (node.kind) {
      case NodeKind::kNumber:
        return hlo::IsSplatOf(*value, node.number);
      case NodeKind::kLowest:
        return !hlo::IsComplex(type) && *value == hlo::MinLiteral(type);
      case NodeKind::kHighest:
        return !hlo::IsComplex(type) && *value == hlo::MaxLiteral(type);
      case NodeKind::kTrue:
        return type == PrimitiveType::kPred && hlo::IsSplatOf(*value, 1);
      case NodeKind::kFalse:
        return type == PrimitiveType::kPred && hlo::IsSplatOf(*value, 0);
      default:
        return false;
    }
  }
};

// Makes the right side of a rule. Null where shapes do not go together: then the rule does not apply.
class RuleSet::RightSide {
 public:
  RightSide(const Match& match, Builder& builder) : match_(match), builder_(builder) {}

  // `like` has the dimensions, and for numbers the type, of what the node stands for.
  Instruction* Build(const Node& node, const Shape& like) {
    if (node.is_constant) {
      const std::optional<Literal> value = Constant(node, TypeOf(node, like.element_type()));
      return value ? builder_.Splat(like, *value) : nullptr;
    }
    if (node.kind == NodeKind::kVariable) return match_[node.letter];
    const Instruction* original = node.kind == NodeKind::kTagged ? match_[node.letter] : nullptr;
    std::vector<Instruction*> operands(node.operands.size(), nullptr);
    // Constants take the shape of a sibling that is none, or of the operand that they replace.
    const Shape* sibling = &like;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (node.operands[i].is_constant) continue;
      operands[i] = Build(node.operands[i], original != nullptr ? original->operand(i)->shape() : like);
      if (operands[i] == nullptr) return nullptr;
      if (node.opcode != Opcode::kSelect || i > 0) sibling = &operands[i]->shape();
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != nullptr) continue;
      operands[i] = Build(node.operands[i], original != nullptr ? original->operand(i)->shape() : *sibling);
      if (operands[i] == nullptr) return nullptr;
    }
    if (original != nullptr)
      return AddInferred(original->opcode(), std::move(operands), original->attributes(), original);
    switch (node.opcode) {
      case Opcode::kReshape:
        return builder_.Reshape(operands[0], like.dimensions());
      case Opcode::kBroadcast:
        return operands[0]->shape().IsScalar() ? builder_.BroadcastScalar(operands[0], like.dimensions()) : nullptr;
      case Opcode::kConvert:
        return builder_.Convert(operands[0], like.element_type());
      case Opcode::kCompare:
        return AddInferred(node.opcode, std::move(operands), hlo::CompareAttributes{*node.direction}, nullptr);
      default:
        return AddInferred(node.opcode, std::move(operands), {}, nullptr);
    }
  }

 private:
  Instruction* AddInferred(Opcode opcode, std::vector<Instruction*> operands, const hlo::Attributes& attributes,
                           const Instruction* original) {
    std::vector<const Shape*> shapes;
    for (const Instruction* operand : operands) shapes.push_back(&operand->shape());
    absl::Span<Computation* const> called;
    if (original != nullptr) called = original->called_computations();
    const Shape* declared = original != nullptr ? &original->shape() : nullptr;
    absl::StatusOr<Shape> shape = hlo::InferShape(opcode, shapes, attributes, called, declared);
    if (!shape.ok()) return nullptr;
    return builder_.Add(opcode, *std::move(shape), std::move(operands), attributes, called);
  }

  // The type of a constant subtree: that of a constant in it, `otherwise` where it has numbers only.
  PrimitiveType TypeOf(const Node& node, PrimitiveType otherwise) const {
    if (node.kind == NodeKind::kConstant) return match_[node.letter]->shape().element_type();
    for (const Node& operand : node.operands) otherwise = TypeOf(operand, otherwise);
    return otherwise;
  }

  std::optional<Literal> Constant(const Node& node, PrimitiveType type) const {
    switch (node.kind) {
      case NodeKind::kConstant:
        return SplatValue(*match_[node.letter]);
      case NodeKind::kNumber:
        return hlo::LiteralOf(Shape::Scalar(type), node.number);
      case NodeKind::kLowest:
        return hlo::MinLiteral(type);
      case NodeKind::kHighest:
        return hlo::MaxLiteral(type);
      case NodeKind::kTrue:
        return hlo::OneLiteral(PrimitiveType::kPred);
      case NodeKind::kFalse:
        return hlo::ZeroLiteral(PrimitiveType::kPred);
      default:
        break;
    }
    Module scratch("constants");
    Computation* computation = scratch.AddComputation("constants");
    std::vector<Literal> values;
    std::vector<Instruction*> operands;
    for (const Node& operand : node.operands) {
      std::optional<Literal> value = Constant(operand, type);
      if (!value) return std::nullopt;
      operands.push_back(computation->AddConstant(*value));
      values.push_back(*std::move(value));
    }
    hlo::Attributes attributes;
    if (node.direction) attributes = hlo::CompareAttributes{*node.direction};
    const Instruction* original = node.kind == NodeKind::kTagged ? match_[node.letter] : nullptr;
    absl::StatusOr<Instruction*> op = nullptr;
    if (original == nullptr) {
      op = computation->AddInferred(node.opcode, std::move(operands), attributes);
    } else {
      op = computation->Add(original->opcode(), Shape::Scalar(original->shape().element_type()), std::move(operands),
                            original->attributes());
    }
    if (!op.ok()) return std::nullopt;
    absl::StatusOr<Literal> value = hlo::EvaluateInstruction(**op, values);
    if (!value.ok()) return std::nullopt;
    return *std::move(value);
  }

  const Match& match_;
  Builder& builder_;
};

struct RuleSet::Compiled {
  const Rule* rule = nullptr;
  Node pattern;
  Node replacement;

  bool MayBeSwapped() const { return pattern.direction || hlo::IsCommutative(pattern.opcode); }
};

// The rules of one opcode in their order, and which of them the opcodes of the first two operands allow: most rules are
// ruled out there.
class RuleSet::Family {
 public:
  void Add(const Rule& rule) { sources_.push_back(&rule); }

  absl::Status ParseOnce() {
    absl::call_once(once_, [this] { status_ = Parse(); });
    return status_;
  }

  // The first rule that may apply to `instruction` and for which `try_rule` gives a replacement.
  template <typename TryRule>
  Instruction* FirstOf(const Instruction& instruction, TryRule try_rule) const {
    const size_t first = OpcodeOf(instruction, 0), second = OpcodeOf(instruction, 1);
    for (size_t w = 0; w < words_; ++w) {
      Word candidates = Candidates(first, second, w);
      for (; candidates != 0; candidates &= candidates - 1) {
        if (Instruction* replacement = try_rule(rules_[w * kBits + std::countr_zero(candidates)])) return replacement;
      }
    }
    return nullptr;
  }

 private:
  using Word = uint64_t;
  static constexpr size_t kBits = 64;
  static constexpr size_t kNoOperand = hlo::kOpcodeCount;

  absl::Status Parse() {
    rules_.reserve(sources_.size());
    for (const Rule* rule : sources_) {
      Compiled& compiled = rules_.emplace_back();
      compiled.rule = rule;
      KILN_ASSIGN_OR_RETURN(compiled.pattern, Parser(rule->left, /*is_pattern=*/true).Parse());
      if (rule->rewrite != nullptr) continue;
      KILN_ASSIGN_OR_RETURN(compiled.replacement, Parser(rule->right, /*is_pattern=*/false).Parse());
    }
    Index();
    return absl::OkStatus();
  }

  void Index() {
    words_ = (rules_.size() + kBits - 1) / kBits;
    may_be_swapped_.assign(words_, 0);
    for (size_t place = 0; place < allowed_.size(); ++place) {
      std::vector<Word>& table = allowed_[place];
      table.assign((hlo::kOpcodeCount + 1) * words_, 0);
      std::vector<Word> anything(words_, 0), elementwise(words_, 0), splat(words_, 0);
      for (size_t r = 0; r < rules_.size(); ++r) {
        const size_t word = r / kBits;
        const Word bit = Word{1} << (r % kBits);
        if (rules_[r].MayBeSwapped()) may_be_swapped_[word] |= bit;
        table[kNoOperand * words_ + word] |= bit;
        const std::vector<Node>& operands = rules_[r].pattern.operands;
        const NodeKind kind = place < operands.size() ? operands[place].kind : NodeKind::kAny;
        if (kind == NodeKind::kOpcode) {
          table[static_cast<size_t>(operands[place].opcode) * words_ + word] |= bit;
        } else {
          const bool any = kind == NodeKind::kAny || kind == NodeKind::kVariable;
          (any ? anything : kind == NodeKind::kElementwise ? elementwise : splat)[word] |= bit;
        }
      }
      for (size_t o = 0; o < kNoOperand; ++o) {
        const Opcode opcode = static_cast<Opcode>(o);
        for (size_t w = 0; w < words_; ++w) {
          table[o * words_ + w] |=
              anything[w] | (hlo::IsElementwise(opcode) ? elementwise[w] : 0) | (MayBeSplat(opcode) ? splat[w] : 0);
        }
      }
    }
  }

  static size_t OpcodeOf(const Instruction& instruction, int64_t operand) {
    return operand < instruction.operand_count() ? static_cast<size_t>(instruction.operand(operand)->opcode())
                                                 : kNoOperand;
  }

  // Those of word `w` that operands of these opcodes allow, in this order or the other.
  Word Candidates(size_t first, size_t second, size_t w) const {
    const auto& [at_first, at_second] = allowed_;
    return (at_first[first * words_ + w] & at_second[second * words_ + w]) |
           (may_be_swapped_[w] & at_first[second * words_ + w] & at_second[first * words_ + w]);
  }

  std::vector<const Rule*> sources_;
  absl::once_flag once_;
  absl::Status status_;
  std::vector<Compiled> rules_;
  size_t words_ = 0;
  // A bit per rule, in words.
  std::vector<Word> may_be_swapped_;
  std::array<std::vector<Word>, 2> allowed_;  // by the operand's place; the words of each opcode
};

RuleSet::RuleSet(absl::Span<const RuleGroup> groups) : families_(hlo::kOpcodeCount) {
  const auto add = [this](int opcode, const Rule& rule) {
    std::unique_ptr<Family>& family = families_[opcode];
    if (family == nullptr) family = std::make_unique<Family>();
    family->Add(rule);
  };
  for (const RuleGroup& group : groups) {
    for (const Rule& rule : group.rules) {
      const absl::StatusOr<Node> root = Parser(rule.left, /*is_pattern=*/true).ParseRoot();
      if (!root.ok()) {
        status_.Update(root.status());
      } else if (root->kind == NodeKind::kOpcode) {
        add(static_cast<int>(root->opcode), rule);
      } else {
        for (int i = 0; i < hlo::kOpcodeCount; ++i) {
          if (hlo::IsElementwise(static_cast<Opcode>(i))) add(i, rule);
        }
      }
    }
  }
}

RuleSet::~RuleSet() = default;

absl::Status RuleSet::ParseAll() const {
  KILN_RETURN_IF_ERROR(status_);
  for (const std::unique_ptr<Family>& family : families_) {
    if (family != nullptr) KILN_RETURN_IF_ERROR(family->ParseOnce());
  }
  return absl::OkStatus();
}

absl::StatusOr<Instruction*> RuleSet::Apply(Instruction* instruction, Builder& builder, Facts& facts,
                                            const Rule** applied) const {
  KILN_RETURN_IF_ERROR(status_);
  Family* family = families_[static_cast<size_t>(instruction->opcode())].get();
  if (family == nullptr) return nullptr;
  KILN_RETURN_IF_ERROR(family->ParseOnce());
  return family->FirstOf(*instruction, [&](const Compiled& compiled) {
    Instruction* replacement = ApplyRule(compiled, instruction, builder, facts);
    if (replacement != nullptr && applied != nullptr) *applied = compiled.rule;
    return replacement;
  });
}

Instruction* RuleSet::ApplyRule(const Compiled& compiled, Instruction* instruction, Builder& builder, Facts& facts) {
  const Rule& rule = *compiled.rule;
  Match match(instruction, &facts);
  if (!Matcher::Matches(compiled.pattern, instruction, &match)) return nullptr;
  for (const Guard& guard : rule.guards) {
    if (guard.holds != nullptr && !guard.holds(match)) return nullptr;
  }
  Instruction* replacement = rule.rewrite != nullptr
                                 ? rule.rewrite(match, builder)
                                 : RightSide(match, builder).Build(compiled.replacement, instruction->shape());
  if (replacement == nullptr || replacement == instruction ||
      !Shape::Compatible(replacement->shape(), instruction->shape())) {
    return nullptr;
  }
  return replacement;
}

}  // namespace kiln::passes::simplify
