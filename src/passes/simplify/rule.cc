#include "src/passes/simplify/rule.h"

#include <cctype>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace kiln::passes::simplify {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

enum class NodeKind {
  kOpcode,
  kElementwise,
  kAny,
  kVariable,
  kConstantVariable,
  kNumber,
  kLowest,
  kHighest,
  kTrue,
  kFalse
};

struct RuleSet::Node {
  NodeKind kind = NodeKind::kAny;
  char letter = 0;  // of a variable, or the tag of an opcode; 0: none
  Opcode opcode = Opcode::kParameter;
  bool single_user = false;
  bool any_operands = false;
  double number = 0;
  std::vector<Node> operands;
};

struct RuleSet::Compiled {
  Rule rule;
  Node pattern;
  Node replacement;
};

// Recursive descent over one side of a rule; the depth is that of the text of this program's own rules.
class RuleSet::Parser {
 public:
  Parser(absl::string_view text, bool is_pattern) : text_(text), rest_(text), is_pattern_(is_pattern) {}

  absl::StatusOr<Node> Parse() {
    KILN_ASSIGN_OR_RETURN(Node node, ParseNode());
    SkipSpace();
    if (!rest_.empty()) return Error("text after the end");
    return node;
  }

 private:
  absl::Status Error(absl::string_view what) const { return Internal("rule '", text_, "' at '", rest_, "': ", what); }

  void SkipSpace() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  bool Accept(absl::string_view token) {
    SkipSpace();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  absl::string_view Word() {
    SkipSpace();
    size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '-' ||
                                     rest_[length] == '.' || rest_[length] == '_')) {
      ++length;
    }
    absl::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  absl::StatusOr<Node> ParseNode() {
    Node node;
    absl::string_view word = Word();
    if (word.size() == 1 && Accept(":")) {
      node.letter = word[0];
      word = Word();
    }
    if (word.empty()) return Error("expected a name or a number");
    const bool marked = Accept("'");
    if (Accept("(")) {
      if (word == "elementwise") {
        node.kind = NodeKind::kElementwise;
      } else {
        std::optional<Opcode> opcode = hlo::ParseOpcode(word);
        if (!opcode) return Error("no such opcode");
        node.kind = NodeKind::kOpcode;
        node.opcode = *opcode;
      }
      node.single_user = marked;
      if (Accept("...")) {
        node.any_operands = true;
      } else if (!Accept(")")) {
        do {
          KILN_ASSIGN_OR_RETURN(Node operand, ParseNode());
          node.operands.push_back(std::move(operand));
        } while (Accept(","));
        if (!Accept(")")) return Error("expected ')'");
        return CheckArity(std::move(node));
      } else {
        return CheckArity(std::move(node));
      }
      if (!Accept(")")) return Error("expected ')'");
      return node;
    }
    if (marked || node.letter != 0) return Error("only an opcode takes a mark or a tag");
    if (word == "_") {
      node.kind = NodeKind::kAny;
    } else if (word == "lowest") {
      node.kind = NodeKind::kLowest;
    } else if (word == "highest") {
      node.kind = NodeKind::kHighest;
    } else if (word == "true") {
      node.kind = NodeKind::kTrue;
    } else if (word == "false") {
      node.kind = NodeKind::kFalse;
    } else if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'z') {
      node.letter = word[0];
      const bool constant = is_pattern_ && (word[0] == 'c' || word[0] == 'd');
      node.kind = constant ? NodeKind::kConstantVariable : NodeKind::kVariable;
    } else if (absl::SimpleAtod(word, &node.number)) {
      node.kind = NodeKind::kNumber;
    } else {
      return Error("neither opcode, letter nor number");
    }
    return node;
  }

  absl::StatusOr<Node> CheckArity(Node node) const {
    if (node.kind == NodeKind::kElementwise) return Error("'elementwise' takes '...' as its operands");
    const int arity = hlo::GetOpcodeInfo(node.opcode).operand_count;
    if (arity >= 0 && arity != static_cast<int>(node.operands.size())) return Error("wrong number of operands");
    if (!is_pattern_ && !hlo::IsElementwise(node.opcode)) return Error("only elementwise ops on the right");
    return node;
  }

  absl::string_view text_;
  absl::string_view rest_;
  bool is_pattern_;
};

RuleSet::RuleSet() : by_opcode_(hlo::kOpcodeCount) {}
RuleSet::~RuleSet() = default;
RuleSet::RuleSet(RuleSet&&) = default;
RuleSet& RuleSet::operator=(RuleSet&&) = default;

absl::StatusOr<RuleSet> RuleSet::Compile(absl::Span<const absl::Span<const Rule>> groups) {
  RuleSet set;
  for (absl::Span<const Rule> group : groups) {
    for (const Rule& rule : group) {
      Compiled compiled{rule};
      KILN_ASSIGN_OR_RETURN(compiled.pattern, Parser(rule.pattern, /*is_pattern=*/true).Parse());
      if (rule.replacement != nullptr) {
        KILN_ASSIGN_OR_RETURN(compiled.replacement, Parser(rule.replacement, /*is_pattern=*/false).Parse());
      }
      if (compiled.pattern.kind == NodeKind::kOpcode) {
        set.by_opcode_[static_cast<size_t>(compiled.pattern.opcode)].push_back(std::move(compiled));
      } else if (compiled.pattern.kind == NodeKind::kElementwise) {
        for (int i = 0; i < hlo::kOpcodeCount; ++i) {
          if (hlo::IsElementwise(static_cast<Opcode>(i))) set.by_opcode_[i].push_back(compiled);
        }
      } else {
        return Internal("rule '", rule.pattern, "': no opcode at its root");
      }
    }
  }
  return set;
}

int64_t RuleSet::size() const {
  int64_t count = 0;
  for (const auto& rules : by_opcode_) count += static_cast<int64_t>(rules.size());
  return count;
}

namespace {

PrimitiveType GuardedType(const Instruction& root) {
  return root.opcode() == Opcode::kCompare ? root.operand(0)->shape().element_type() : root.shape().element_type();
}

}  // namespace

bool Integral(const Instruction& root) {
  const PrimitiveType type = GuardedType(root);
  return hlo::IsIntegral(type) || type == PrimitiveType::kPred;
}
bool Floating(const Instruction& root) { return hlo::IsFloating(GuardedType(root)); }
bool NotComplex(const Instruction& root) { return !hlo::IsComplex(GuardedType(root)); }

std::optional<hlo::Literal> SplatValue(const Instruction& instruction) {
  const Instruction* source = &instruction;
  while (source->opcode() == Opcode::kBroadcast || source->opcode() == Opcode::kReshape) source = source->operand(0);
  if (!source->IsConstant() || !source->shape().IsArray() || source->literal().element_count() == 0)
    return std::nullopt;
  const hlo::Literal& literal = source->literal();
  if (source->shape().IsScalar()) return literal;
  if (!literal.IsSplat()) return std::nullopt;
  const PrimitiveType type = source->shape().element_type();
  absl::StatusOr<hlo::Literal> scalar =
      hlo::Literal::FromBytes(hlo::Shape::Scalar(type), literal.bytes().subspan(0, hlo::ByteWidth(type)));
  if (!scalar.ok()) return std::nullopt;
  return *std::move(scalar);
}

bool RuleSet::Matches(const Node& pattern, Instruction* instruction, Match* match) {
  switch (pattern.kind) {
    case NodeKind::kAny:
      return true;
    case NodeKind::kConstantVariable:
      if (!SplatValue(*instruction)) return false;
      [[fallthrough]];
    case NodeKind::kVariable: {
      Instruction* bound = (*match)[pattern.letter];
      if (bound != nullptr) return bound == instruction;
      match->Bind(pattern.letter, instruction);
      return true;
    }
    case NodeKind::kOpcode:
      if (instruction->opcode() != pattern.opcode) return false;
      break;
    case NodeKind::kElementwise:
      if (!hlo::IsElementwise(instruction->opcode())) return false;
      break;
    default: {
      std::optional<hlo::Literal> value = SplatValue(*instruction);
      if (!value) return false;
      const PrimitiveType type = value->shape().element_type();
      switch (pattern.kind) {
        case NodeKind::kNumber:
          return hlo::IsSplatOf(*value, pattern.number);
        case NodeKind::kLowest:
          return *value == hlo::MinLiteral(type);
        case NodeKind::kHighest:
          return *value == hlo::MaxLiteral(type);
        case NodeKind::kTrue:
          return type == PrimitiveType::kPred && hlo::IsSplatOf(*value, 1);
        default:
          return type == PrimitiveType::kPred && hlo::IsSplatOf(*value, 0);
      }
    }
  }
  if (pattern.single_user && (instruction->users().size() != 1 || instruction->IsRoot())) return false;
  if (!pattern.any_operands) {
    if (instruction->operand_count() != static_cast<int64_t>(pattern.operands.size())) return false;
    const Match before = *match;
    auto matches_in_order = [&](bool swapped) {
      for (size_t i = 0; i < pattern.operands.size(); ++i) {
        if (!Matches(pattern.operands[swapped ? 1 - i : i], instruction->operand(i), match)) {
          *match = before;
          return false;
        }
      }
      return true;
    };
    if (!matches_in_order(false) && !(hlo::IsCommutative(pattern.opcode) && matches_in_order(true))) return false;
  }
  if (pattern.letter != 0) match->Bind(pattern.letter, instruction);
  return true;
}

Instruction* RuleSet::Build(const Node& node, const hlo::Shape& like, const Match& match, hlo::Builder& builder) {
  const PrimitiveType type = like.element_type();
  switch (node.kind) {
    case NodeKind::kVariable:
      return match[node.letter];
    case NodeKind::kNumber:
      return builder.Splat(like, node.number);
    case NodeKind::kLowest:
      return builder.Splat(like, hlo::MinLiteral(type));
    case NodeKind::kHighest:
      return builder.Splat(like, hlo::MaxLiteral(type));
    case NodeKind::kTrue:
      return builder.Splat(like, hlo::OneLiteral(PrimitiveType::kPred));
    case NodeKind::kFalse:
      return builder.Splat(like, hlo::ZeroLiteral(PrimitiveType::kPred));
    default:
      break;
  }
  // Numbers take the shape of a sibling that is no number.
  std::vector<Instruction*> operands(node.operands.size(), nullptr);
  const hlo::Shape* sibling = &like;
  auto is_op_or_variable = [](const Node& n) { return n.kind == NodeKind::kOpcode || n.kind == NodeKind::kVariable; };
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_op_or_variable(node.operands[i])) continue;
    operands[i] = Build(node.operands[i], like, match, builder);
    sibling = &operands[i]->shape();
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) operands[i] = Build(node.operands[i], *sibling, match, builder);
  }
  const hlo::Shape shape = operands[node.opcode == Opcode::kSelect ? 1 : 0]->shape();
  return builder.Add(node.opcode, shape, std::move(operands));
}

Instruction* RuleSet::Apply(Instruction* instruction, hlo::Builder& builder) const {
  for (const Compiled& compiled : by_opcode_[static_cast<size_t>(instruction->opcode())]) {
    if (compiled.rule.guard != nullptr && !compiled.rule.guard(*instruction)) continue;
    Match match(instruction);
    if (!Matches(compiled.pattern, instruction, &match)) continue;
    Instruction* replacement = compiled.rule.rewrite != nullptr
                                   ? compiled.rule.rewrite(match, builder)
                                   : Build(compiled.replacement, instruction->shape(), match, builder);
    if (replacement != nullptr && replacement != instruction &&
        hlo::Shape::Compatible(replacement->shape(), instruction->shape())) {
      return replacement;
    }
  }
  return nullptr;
}

}  // namespace kiln::passes::simplify
