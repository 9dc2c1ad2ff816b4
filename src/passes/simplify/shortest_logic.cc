#include "src/passes/simplify/shortest_logic.h"

#include <array>
#include <cstdint>
#include <utility>

#include "src/passes/simplify/inner_ops.h"

namespace kiln::passes::simplify {
namespace {

constexpr size_t kMaxLeaves = 3;
constexpr size_t kMaxLogicOps = 10;
constexpr int kTables = 256;
// What three values are in the eight cases that there are.
constexpr std::array<uint8_t, kMaxLeaves> kLeafTables = {0xf0, 0xcc, 0xaa};

bool IsLogic(const Instruction& x) {
  return x.opcode() == Opcode::kAnd || x.opcode() == Opcode::kOr || x.opcode() == Opcode::kXor ||
         x.opcode() == Opcode::kNot;
}

uint8_t Combine(Opcode opcode, uint8_t a, uint8_t b) {
  switch (opcode) {
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    default:
      return static_cast<uint8_t>(~a);
  }
}

// How a truth table is made of others with the fewest ops.
struct Formula {
  int ops = -1;  // not made yet
  Opcode opcode = Opcode::kNot;
  uint8_t a = 0, b = 0;
};

const std::array<Formula, kTables>& Formulas() {
  static const auto* const formulas = [] {
    auto* all = new std::array<Formula, kTables>();
    for (const uint8_t table : {uint8_t{0}, uint8_t{0xff}, kLeafTables[0], kLeafTables[1], kLeafTables[2]}) {
      (*all)[table].ops = 0;
    }
    const auto make = [&](int ops, Opcode opcode, int a, int b) {
      Formula& formula = (*all)[Combine(opcode, static_cast<uint8_t>(a), static_cast<uint8_t>(b))];
      if (formula.ops < 0) formula = {ops, opcode, static_cast<uint8_t>(a), static_cast<uint8_t>(b)};
    };
    const auto is_unknown = [](const Formula& formula) { return formula.ops < 0; };
    for (int ops = 1; absl::c_any_of(*all, is_unknown); ++ops) {
      const std::array<Formula, kTables> known = *all;
      for (int a = 0; a < kTables; ++a) {
        if (known[a].ops == ops - 1) make(ops, Opcode::kNot, a, a);
        for (int b = 0; b < a; ++b) {
          if (known[a].ops < 0 || known[b].ops < 0 || known[a].ops + known[b].ops != ops - 1) continue;
          for (const Opcode opcode : {Opcode::kAnd, Opcode::kOr, Opcode::kXor}) make(ops, opcode, a, b);
        }
      }
    }
    return all;
  }();
  return *formulas;
}

// The table of a constant, if it is all zeros or all ones.
std::optional<uint8_t> TableOfConstant(const Instruction& x) {
  const std::optional<Literal> value = SplatValue(x);
  if (!value) return std::nullopt;
  if (hlo::IsSplatOf(*value, 0)) return uint8_t{0};
  const int64_t ones = value->shape().element_type() == PrimitiveType::kPred ? 1 : -1;
  const Literal all = hlo::LiteralOf(value->shape(), ones);
  return *value == all ? std::optional<uint8_t>(uint8_t{0xff}) : std::nullopt;
}

// Ops and what they are of, found from the root on.
class Logic {
 public:
  // Opens ops where that leaves few values; one too many may turn out to be made of the others.
  explicit Logic(Instruction* root) {
    InnerOps open(root->operands().begin(), root->operands().end()), next;
    leaves_ = LeavesAmong(open);
    for (size_t opened = 0; opened < kMaxLogicOps; ++opened) {
      size_t fewest = kMaxLeaves + 2;
      for (Instruction* x : open) {
        if (!IsLogic(*x)) continue;
        InnerOps further;
        for (Instruction* other : open) {
          if (other != x) further.push_back(other);
        }
        further.insert(further.end(), x->operands().begin(), x->operands().end());
        const size_t count = LeavesAmong(further).size();
        if (count < fewest) {
          fewest = count;
          next = std::move(further);
        }
      }
      if (fewest == kMaxLeaves + 2) break;
      std::swap(open, next);
      if (fewest <= kMaxLeaves) leaves_ = LeavesAmong(open);
    }
    AddOps(root);
  }

  const InnerOps& ops() const { return ops_; }
  const InnerOps& leaves() const { return leaves_; }

  uint8_t TableOf(const Instruction* x) {
    if (const std::optional<uint8_t> constant = TableOfConstant(*x)) return *constant;
    const auto leaf = absl::c_find(leaves_, x);
    if (leaf != leaves_.end()) return kLeafTables[static_cast<size_t>(leaf - leaves_.begin())];
    return Combine(x->opcode(), TableOf(x->operand(0)), TableOf(x->operand(x->operand_count() - 1)));
  }

 private:
  static InnerOps LeavesAmong(const InnerOps& open) {
    InnerOps leaves;
    for (Instruction* x : open) {
      if (!TableOfConstant(*x) && !absl::c_linear_search(leaves, x)) leaves.push_back(x);
    }
    return leaves;
  }

  void AddOps(Instruction* x) {
    if (!IsLogic(*x) || absl::c_linear_search(leaves_, x) || absl::c_linear_search(ops_, x)) return;
    ops_.push_back(x);
    for (Instruction* operand : x->operands()) AddOps(operand);
  }

  InnerOps ops_, leaves_;
};

Instruction* Build(uint8_t table, const InnerOps& leaves, const Shape& shape, Builder& builder) {
  if (table == 0) return builder.Splat(shape, hlo::ZeroLiteral(shape.element_type()));
  const auto leaf = absl::c_find(kLeafTables, table);
  if (leaf != kLeafTables.end()) return leaves[static_cast<size_t>(leaf - kLeafTables.begin())];
  if (table == 0xff) {
    const int64_t ones = shape.element_type() == PrimitiveType::kPred ? 1 : -1;
    return builder.Splat(shape, hlo::LiteralOf(Shape::Scalar(shape.element_type()), ones));
  }
  const Formula& formula = Formulas()[table];
  Instruction* a = Build(formula.a, leaves, shape, builder);
  if (formula.opcode == Opcode::kNot) return builder.Unary(formula.opcode, a);
  return builder.Binary(formula.opcode, a, Build(formula.b, leaves, shape, builder));
}

}  // namespace

Instruction* ShortestLogic(const Match& match, Builder& builder) {
  Instruction* root = match.root();
  if (absl::c_none_of(root->operands(), [](const Instruction* x) { return IsLogic(*x); })) return nullptr;
  Logic logic(root);
  if (logic.ops().size() == 1) return nullptr;
  const uint8_t table = logic.TableOf(root);
  for (Instruction* op : logic.ops()) {
    if (op != root && logic.TableOf(op) == table) return op;
  }
  const Formula& formula = Formulas()[table];
  if (formula.ops < 0 || formula.ops >= CountUnneeded(logic.ops())) return nullptr;
  return Build(table, logic.leaves(), root->shape(), builder);
}

}  // namespace kiln::passes::simplify
