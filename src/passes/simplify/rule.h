// Rewrite rules as data. A rule is an equation, left side -> right side, and the conditions under which it holds:
//
//   {"negate(negate(x))", "x"}
//   {"subtract(x, x)", "0", Integral}
//   {"divide(v, c)", "shift-right-logical(v, popcnt(subtract(c, 1)))", Integer, PowerOfTwo, NonNegativeV}
//   {"slice(slice(x))", "slice(x)", SliceOfSlice}
//
// Left sides
//   opcode(p, q, ...)   that opcode over these operands; commutative ops match in either order
//   compare.lt(p, q)    that direction (eq ne lt le gt ge), or the same said with its operands swapped; no total order
//   reduce.add(p, q)    one operand, and a combiner that is this one op
//   opcode'(p, ...)     with no other user
//   opcode(p, ...)      "..." at the end of the operand list: any further operands
//   elementwise(p, ...) any elementwise opcode
//   t:opcode(p, ...)    the same, remembered as `t`
//   x                   any instruction; the same letter twice asks for the same instruction
//   v                   any instruction but a constant of one value
//   c d e f             a constant of one value: scalar, splat, or broadcast; the same letter, that value again
//   0 1 2 -1 0.5        such a constant with this value (0 is also -0)
//   lowest highest      the smallest and largest value of the type (-inf and inf where they exist)
//   true false          of type pred
//   _                   any instruction, not remembered
// Right sides
//   opcode(p, ...)      elementwise ops; compare.lt and its kin; reshape, convert and broadcast of a scalar, to the
//                       shape that they stand for
//   t(p, ...)           the op that is remembered as `t`, with its attributes, over these operands
//   numbers, constants  take the shape of what they stand beside; ops over nothing else, t(c) too, are computed at once
//   with a function     says what the function builds: for readers
// Tags and letters are single letters a-z.
#ifndef KILN_PASSES_SIMPLIFY_RULE_H_
#define KILN_PASSES_SIMPLIFY_RULE_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/base/status.h"
#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// What rules find out about instructions and ask for again, in a run that deletes none.
class Facts {
 public:
  // Where each operand of a concatenate ends along its dimension.
  absl::Span<const int64_t> PieceEnds(const Instruction& concatenate);

 private:
  absl::flat_hash_map<const Instruction*, std::vector<int64_t>> piece_ends_;
};

// What a pattern found.
class Match {
 public:
  Match(Instruction* root, Facts* facts) : root_(root), facts_(facts) {}
  Instruction* root() const { return root_; }
  Facts& facts() const { return *facts_; }
  // The instruction of a letter or tag of the pattern.
  Instruction* operator[](char letter) const { return bound_[letter - 'a']; }
  void Bind(char letter, Instruction* instruction) { bound_[letter - 'a'] = instruction; }

 private:
  Instruction* root_;
  Facts* facts_;
  std::array<Instruction*, 26> bound_ = {};
};

// Builds what replaces match.root(), or returns null when the rule does not apply after all (before adding anything).
using Rewrite = Instruction* (*)(const Match& match, Builder& builder);

// A condition on what was found. `holds` may be null: then the guard only says something about the rule.
struct Guard {
  const char* text = nullptr;
  bool (*holds)(const Match& match) = nullptr;
};

struct Rule {
  constexpr Rule(const char* left, const char* right, Guard first = {}, Guard second = {}, Guard third = {})
      : left(left), right(right), guards{first, second, third} {}
  constexpr Rule(const char* left, const char* right, Rewrite function, Guard first = {}, Guard second = {},
                 Guard third = {})
      : left(left), right(right), rewrite(function), guards{first, second, third} {}

  const char* left;
  const char* right;
  Rewrite rewrite = nullptr;
  std::array<Guard, 3> guards;
};

// The rules of one file.
struct RuleGroup {
  const char* name;
  absl::Span<const Rule> rules;
};

// The single value that `instruction` has in all elements, as a scalar literal; nothing when it is no such constant.
std::optional<Literal> SplatValue(const Instruction& instruction);

// Rules ready for matching, which must outlive it. Those of an opcode are parsed when the first instruction of it is
// met: most programs have few opcodes. Safe to share between threads.
class RuleSet {
 public:
  explicit RuleSet(absl::Span<const RuleGroup> groups);
  ~RuleSet();

  // Parses all that are left. Fails with a rule that does not parse.
  absl::Status ParseAll() const;

  // What the first rule that applies makes of `instruction`: an instruction of compatible shape, maybe new ones behind
  // it (see builder.added()); null when none applies. `applied` (may be null) gets the rule. Fails where one of the
  // opcode's rules does not parse.
  absl::StatusOr<Instruction*> Apply(Instruction* instruction, Builder& builder, Facts& facts,
                                     const Rule** applied = nullptr) const;

 private:
  struct Node;
  struct Compiled;
  class Family;
  class Parser;
  class Matcher;
  class RightSide;

  static Instruction* ApplyRule(const Compiled& compiled, Instruction* instruction, Builder& builder, Facts& facts);

  std::vector<std::unique_ptr<Family>> families_;  // by opcode
  absl::Status status_;                            // of what rules have at their roots
};

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_RULE_H_
