// Rewrite rules as data. A rule is an equation: on its left a pattern in text, on its right text or a function.
//
//   {"negate(negate(x))", "x"}
//   {"subtract(x, x)", "0", Integral}
//   {"transpose(transpose(x))", ComposeTransposes}
//
// Patterns:   opcode(p, q, ...)   that opcode over these operands; commutative ops match in either order
//             opcode'(p, ...)     the same, with no other user
//             tag:opcode(p, ...)  the same, remembered as `tag` for the function on the right
//             x                   any instruction; the same letter twice asks for the same instruction
//             c d                 (c, d only) a constant of one value: scalar, splat, or a broadcast of such
//             0 1 2 -1 0.5        such a constant with this value (0 is also -0)
//             lowest highest      the smallest and largest value of the type (-inf and inf where they exist)
//             true false          of type pred
//             _                   any instruction, not remembered
//             opcode(...)         with "..." as operand list: any operands
//             elementwise(...)    any elementwise opcode
// Right sides: the same without tags, marks and "..."; ops there are elementwise. A number is a splat of the shape it
// stands for. Tags and letters are single letters a-z.
#ifndef KILN_PASSES_SIMPLIFY_RULE_H_
#define KILN_PASSES_SIMPLIFY_RULE_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "src/base/status.h"
#include "src/hlo/builder.h"
#include "src/hlo/instruction.h"

namespace kiln::passes::simplify {

// What a pattern found.
class Match {
 public:
  explicit Match(hlo::Instruction* root) : root_(root) {}
  hlo::Instruction* root() const { return root_; }
  // The instruction of a letter or tag of the pattern.
  hlo::Instruction* operator[](char letter) const { return bound_[letter - 'a']; }
  void Bind(char letter, hlo::Instruction* instruction) { bound_[letter - 'a'] = instruction; }

 private:
  hlo::Instruction* root_;
  std::array<hlo::Instruction*, 26> bound_ = {};
};

// Builds what replaces match.root(), or returns null when the rule does not apply after all (before adding anything).
using Rewrite = hlo::Instruction* (*)(const Match& match, hlo::Builder& builder);
// Says of the root whether the rule applies.
using Guard = bool (*)(const hlo::Instruction& root);

struct Rule {
  constexpr Rule(const char* left, const char* right, Guard condition = nullptr)
      : pattern(left), replacement(right), guard(condition) {}
  constexpr Rule(const char* left, Rewrite right, Guard condition = nullptr)
      : pattern(left), rewrite(right), guard(condition) {}

  const char* pattern;
  const char* replacement = nullptr;
  Rewrite rewrite = nullptr;
  Guard guard = nullptr;
};

// Guards, by the element type of the root (of its first operand for compare).
bool Integral(const hlo::Instruction& root);  // integers and pred
bool Floating(const hlo::Instruction& root);  // real floats
bool NotComplex(const hlo::Instruction& root);

// The single value that `instruction` has in all elements, as a scalar literal; nothing when it is no such constant.
std::optional<hlo::Literal> SplatValue(const hlo::Instruction& instruction);

// Rules ready for matching. Immutable and safe to share between threads.
class RuleSet {
 public:
  // Fails with the rule that does not parse.
  static absl::StatusOr<RuleSet> Compile(absl::Span<const absl::Span<const Rule>> groups);
  ~RuleSet();
  RuleSet(RuleSet&&);
  RuleSet& operator=(RuleSet&&);

  // What the first rule that applies makes of `instruction`: an instruction of compatible shape, maybe new ones behind
  // it (see builder.added()); null when none applies.
  hlo::Instruction* Apply(hlo::Instruction* instruction, hlo::Builder& builder) const;
  int64_t size() const;

 private:
  struct Node;
  struct Compiled;
  class Parser;
  RuleSet();
  static bool Matches(const Node& pattern, hlo::Instruction* instruction, Match* match);
  static hlo::Instruction* Build(const Node& node, const hlo::Shape& like, const Match& match, hlo::Builder& builder);

  std::vector<std::vector<Compiled>> by_opcode_;
};

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_RULE_H_
