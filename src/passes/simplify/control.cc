// Tuples, control flow with known predicates, map.
#include "absl/container/flat_hash_map.h"
#include "src/analysis/while_loop.h"
#include "src/passes/simplify/known_branch.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

Instruction* ElementOfTuple(const Match& match, Builder&) {
  return match.root()->operand(0)->operand(match.root()->tuple_index());
}

// tuple(t[0], t[1], ...) of all of t. A root stays a tuple: what reads loop bodies looks for one.
Instruction* TupleOfElements(const Match& match, Builder&) {
  const Instruction& root = *match.root();
  if (root.operand_count() == 0 || root.IsRoot()) return nullptr;
  Instruction* source = nullptr;
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    const Instruction& element = *root.operand(i);
    if (element.opcode() != Opcode::kGetTupleElement || element.tuple_index() != i) return nullptr;
    if (source == nullptr) source = element.operand(0);
    if (element.operand(0) != source) return nullptr;
  }
  return static_cast<int64_t>(source->shape().tuple_shapes().size()) == root.operand_count() ? source : nullptr;
}

// Element i of a loop whose body hands it on unchanged is element i of the initial state.
Instruction* InvariantElement(const Match& match, Builder& builder) {
  const Instruction& loop = *match['w'];
  const Computation& body = *loop.called_computation(0);
  const int64_t index = match.root()->tuple_index();
  if (body.root()->opcode() != Opcode::kTuple) return nullptr;
  const Instruction& carried = *body.root()->operand(index);
  if (carried.opcode() != Opcode::kGetTupleElement || carried.tuple_index() != index ||
      carried.operand(0) != body.parameter(0)) {
    return nullptr;
  }
  if (match['x']->opcode() == Opcode::kTuple) return match['x']->operand(index);
  return builder.GetTupleElement(match['x'], index);
}

// Element i of a loop that counts there, and whose rounds are known.
Instruction* LastCount(const Match& match, Builder& builder) {
  const Instruction& loop = *match['w'];
  const std::optional<analysis::LoopCounter> counter = analysis::FindLoopCounter(loop);
  if (!counter || counter->element != match.root()->tuple_index()) return nullptr;
  const std::optional<int64_t> rounds = analysis::DerivedTripCount(loop);
  if (!rounds) return nullptr;
  const uint64_t last =
      static_cast<uint64_t>(counter->init) + static_cast<uint64_t>(counter->step) * static_cast<uint64_t>(*rounds);
  return builder.Constant(hlo::LiteralOf(match.root()->shape(), static_cast<int64_t>(last)));
}

// A loop whose condition is false from the start, and known to be so.
bool NeverRuns(const Match& match) {
  const Instruction& condition = *match.root()->called_computation(1)->root();
  std::optional<Literal> value = SplatValue(condition);
  return value && hlo::IsSplatOf(*value, 0);
}

Instruction* KnownBranch(const Match& match, Builder& builder) { return InlineKnownBranch(*match.root(), builder); }

// map over all dimensions, of a body of elementwise ops: the body over arrays.
Instruction* InlineMap(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const Computation& body = *root.called_computation();
  // Bodies that map in turn would double with every level.
  constexpr int64_t kMaxBody = 256;
  if (body.instruction_count() > kMaxBody) return nullptr;
  for (const Instruction* instruction : body.instructions()) {
    const bool is_source = instruction->IsParameter() || instruction->IsConstant();
    if (!instruction->shape().IsScalar() || (!is_source && !hlo::IsElementwise(instruction->opcode()))) return nullptr;
  }
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  const auto& dimensions = root.shape().dimensions();
  for (const Instruction* instruction : body.PostOrder()) {
    Instruction* copy = nullptr;
    if (instruction->IsParameter()) {
      copy = root.operand(instruction->parameter_number());
    } else if (instruction->IsConstant()) {
      copy = builder.BroadcastScalar(builder.Constant(instruction->literal()), dimensions);
    } else {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
      copy = builder.Add(instruction->opcode(), Shape(instruction->shape().element_type(), dimensions),
                         std::move(operands), instruction->attributes());
    }
    copies[instruction] = copy;
  }
  return copies.at(body.root());
}

constexpr Rule kControlRules[] = {
    {"get-tuple-element(tuple(...))", "that operand", ElementOfTuple},
    {"get-tuple-element(w:while(x))", "get-tuple-element(x), where the loop hands it on", InvariantElement},
    {"get-tuple-element(w:while(x))", "init + step * rounds, of a counter", LastCount},
    {"tuple(...)", "x, where these are all its elements", TupleOfElements},
    {"while(x)", "x", Guard{"the condition is false", NeverRuns}},
    {"conditional(...)", "the branch taken, where it is known", KnownBranch},
    {"map(...)", "its body over arrays", InlineMap},
    {"add-dependency(x, after-all())", "x"},
};

}  // namespace

Instruction* InlineKnownBranch(const Instruction& conditional, Builder& builder) {
  const int64_t branches = static_cast<int64_t>(conditional.called_computations().size());
  const Instruction& index = *conditional.operand(0);
  if (conditional.HasSideEffect()) return nullptr;  // its effects have their place in an order
  int64_t taken = 0;
  if (branches > 1) {
    const std::optional<Literal> value = SplatValue(index);
    if (!value) return nullptr;
    if (index.shape().element_type() == PrimitiveType::kPred) {
      taken = hlo::IsSplatOf(*value, 1) ? 0 : 1;
    } else {
      taken = hlo::ElementAsInt64(*value, 0);
      if (taken < 0 || taken >= branches) taken = branches - 1;
    }
  }
  return builder.Inline(*conditional.called_computation(taken), {conditional.operand(taken + 1)});
}

absl::Span<const Rule> ControlRules() { return kControlRules; }

}  // namespace kiln::passes::simplify
