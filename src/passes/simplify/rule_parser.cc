#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/numbers.h"
#include "src/passes/simplify/rule_node.h"

namespace kiln::passes::simplify {

namespace {

constexpr std::pair<absl::string_view, NodeKind> kWords[] = {
    {"_", NodeKind::kAny},     {"lowest", NodeKind::kLowest}, {"highest", NodeKind::kHighest},
    {"true", NodeKind::kTrue}, {"false", NodeKind::kFalse},
};

constexpr std::pair<absl::string_view, ComparisonDirection> kDirections[] = {
    {"eq", ComparisonDirection::kEq}, {"ne", ComparisonDirection::kNe}, {"lt", ComparisonDirection::kLt},
    {"le", ComparisonDirection::kLe}, {"gt", ComparisonDirection::kGt}, {"ge", ComparisonDirection::kGe},
};

}  // namespace

absl::StatusOr<RuleSet::Node> RuleSet::Parser::Parse() {
  KILN_ASSIGN_OR_RETURN(Node node, ParseNode());
  Accept(" ");
  if (!rest_.empty()) return Error("text after the end");
  return node;
}

absl::StatusOr<RuleSet::Node> RuleSet::Parser::ParseRoot() {
  absl::string_view word = Word();
  if (Accept(":")) word = Word();
  Node node;
  KILN_RETURN_IF_ERROR(NameOperation(word, &node));
  return node;
}

absl::Status RuleSet::Parser::Error(absl::string_view what) const {
  return Internal("rule '", text_, "' at '", rest_, "': ", what);
}

bool RuleSet::Parser::Accept(absl::string_view token) {
  while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  if (rest_.substr(0, token.size()) != token) return false;
  rest_.remove_prefix(token.size());
  return true;
}

absl::string_view RuleSet::Parser::Word() {
  Accept("");
  size_t length = 0;
  while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '-' ||
                                   rest_[length] == '.' || rest_[length] == '_')) {
    ++length;
  }
  absl::string_view word = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return word;
}

absl::StatusOr<RuleSet::Node> RuleSet::Parser::ParseNode() {
  absl::string_view word = Word();
  char tag = 0;
  if (word.size() == 1 && Accept(":")) {
    tag = word[0];
    word = Word();
  }
  if (word.empty()) return Error("expected a name or a number");
  if (rest_.substr(0, 1) == "(" || rest_.substr(0, 1) == "'") return ParseOperation(word, tag);
  if (tag != 0) return Error("only an opcode takes a tag");
  return ParseLeaf(word);
}

absl::StatusOr<RuleSet::Node> RuleSet::Parser::ParseOperation(absl::string_view word, char tag) {
  Node node;
  node.letter = tag;
  KILN_RETURN_IF_ERROR(NameOperation(word, &node));
  node.single_user = Accept("'");
  if (!Accept("(")) return Error("expected '('");
  if (!Accept(")")) {
    do {
      node.any_operands = Accept("...");
      if (node.any_operands) break;
      KILN_ASSIGN_OR_RETURN(Node operand, ParseNode());
      node.operands.push_back(std::move(operand));
    } while (Accept(","));
    if (!Accept(")")) return Error("expected ')'");
  }
  KILN_RETURN_IF_ERROR(Check(node));
  const bool is_op =
      node.kind == NodeKind::kTagged || (node.kind == NodeKind::kOpcode && hlo::IsElementwise(node.opcode));
  node.is_constant =
      is_op && !node.operands.empty() && absl::c_all_of(node.operands, [](const Node& n) { return n.is_constant; });
  return node;
}

absl::Status RuleSet::Parser::NameOperation(absl::string_view word, Node* node) const {
  if (word == "elementwise") {
    node->kind = NodeKind::kElementwise;
    return absl::OkStatus();
  }
  if (!is_pattern_ && word.size() == 1) {
    node->kind = NodeKind::kTagged;
    node->letter = word[0];
    return absl::OkStatus();
  }
  node->kind = NodeKind::kOpcode;
  const size_t dot = std::min(word.find('.'), word.size());
  const std::optional<Opcode> opcode = hlo::ParseOpcode(word.substr(0, dot));
  if (!opcode) return Error("no such opcode");
  node->opcode = *opcode;
  if (dot == word.size()) return absl::OkStatus();
  const absl::string_view suffix = word.substr(dot + 1);
  if (*opcode == Opcode::kReduce) {
    node->combiner = hlo::ParseOpcode(suffix);
    if (node->combiner) return absl::OkStatus();
  }
  for (const auto& [name, direction] : kDirections) {
    if (*opcode != Opcode::kCompare || suffix != name) continue;
    node->direction = direction;
    return absl::OkStatus();
  }
  return Error("no such suffix");
}

absl::StatusOr<RuleSet::Node> RuleSet::Parser::ParseLeaf(absl::string_view word) {
  Node node;
  for (const auto& [name, kind] : kWords) {
    if (word != name) continue;
    node.kind = kind;
    node.is_constant = kind != NodeKind::kAny;
    return node;
  }
  if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'z') {
    node.letter = word[0];
    node.is_constant = word[0] >= 'c' && word[0] <= 'f';
    node.kind = node.is_constant ? NodeKind::kConstant : NodeKind::kVariable;
    node.not_constant = word[0] == 'v';
  } else if (absl::SimpleAtod(word, &node.number)) {
    node.kind = NodeKind::kNumber;
    node.is_constant = true;
  } else {
    return Error("neither opcode, letter nor number");
  }
  return node;
}

absl::Status RuleSet::Parser::Check(const Node& node) const {
  if (node.kind == NodeKind::kTagged) return absl::OkStatus();
  if (node.kind == NodeKind::kElementwise) return is_pattern_ ? absl::OkStatus() : Error("only on the left");
  const int arity = hlo::GetOpcodeInfo(node.opcode).operand_count;
  if (!node.any_operands && arity >= 0 && arity != static_cast<int>(node.operands.size())) {
    return Error("wrong number of operands");
  }
  if (is_pattern_) return absl::OkStatus();
  if (node.any_operands || node.single_user || node.letter != 0) return Error("marks and tags belong to the left");
  const bool is_shaped = node.opcode == Opcode::kReshape || node.opcode == Opcode::kBroadcast;
  if (!hlo::IsElementwise(node.opcode) && !is_shaped) return Error("only elementwise ops on the right");
  if (node.opcode == Opcode::kCompare && !node.direction) return Error("a comparison on the right needs a direction");
  return absl::OkStatus();
}

}  // namespace kiln::passes::simplify
