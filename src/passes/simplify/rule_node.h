// Both sides of a rule as trees. Private to this directory's matching.
#ifndef KILN_PASSES_SIMPLIFY_RULE_NODE_H_
#define KILN_PASSES_SIMPLIFY_RULE_NODE_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

enum class NodeKind {
  kOpcode,
  kElementwise,
  kAny,
  kVariable,
  kConstant,
  kTagged,
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
  std::optional<ComparisonDirection> direction;  // compare.lt
  std::optional<Opcode> combiner;                // reduce.add
  bool single_user = false;
  bool any_operands = false;
  bool not_constant = false;  // v
  bool is_constant = false;   // made of numbers and constants alone
  double number = 0;
  std::vector<Node> operands;
};

// Recursive descent over one side of a rule; the depth is that of the text of this program's own rules.
class RuleSet::Parser {
 public:
  Parser(absl::string_view text, bool is_pattern) : text_(text), rest_(text), is_pattern_(is_pattern) {}
  absl::StatusOr<Node> Parse();
  // The operation that the text starts with, without operands.
  absl::StatusOr<Node> ParseRoot();

 private:
  absl::Status Error(absl::string_view what) const;
  bool Accept(absl::string_view token);
  absl::string_view Word();
  absl::StatusOr<Node> ParseNode();
  absl::StatusOr<Node> ParseOperation(absl::string_view word, char tag);
  absl::StatusOr<Node> ParseLeaf(absl::string_view word);
  absl::Status NameOperation(absl::string_view word, Node* node) const;
  absl::Status Check(const Node& node) const;

  absl::string_view text_;
  absl::string_view rest_;
  bool is_pattern_;
};

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_RULE_NODE_H_
