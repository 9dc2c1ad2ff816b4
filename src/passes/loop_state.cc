#include "src/passes/loop_state.h"

#include <utility>

#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

Instruction* TupleOfElements(Instruction* tuple) {
  Builder builder(tuple->parent(), tuple);
  return builder.Tuple(builder.Elements(tuple));
}

}  // namespace

bool OnlyReadByElement(const Instruction& tuple) {
  return !tuple.IsRoot() && absl::c_all_of(tuple.users(), [](const Instruction* user) {
    return user->opcode() == Opcode::kGetTupleElement;
  });
}

bool IsFree(const Instruction& instruction) {
  const Instruction* source = &instruction;
  while (source->opcode() == Opcode::kGetTupleElement) source = source->operand(0);
  switch (source->opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTuple:
      return true;
    default:
      return false;
  }
}

void ReadByElement(Instruction* tuple) {
  if (OnlyReadByElement(*tuple)) return;
  const std::vector<Instruction*> users(tuple->users().begin(), tuple->users().end());
  Instruction* whole = TupleOfElements(tuple);
  for (Instruction* user : users) {
    if (user->opcode() == Opcode::kGetTupleElement) continue;
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == tuple) user->ReplaceOperand(i, whole);
    }
  }
  if (tuple->IsRoot()) tuple->parent()->set_root(whole);
}

bool ReplaceUsesInside(Instruction* value, const std::function<Instruction*()>& make) {
  Instruction* replacement = nullptr;
  const std::vector<Instruction*> users(value->users().begin(), value->users().end());
  for (Instruction* user : users) {
    if (user->IsRoot() && user->opcode() == Opcode::kTuple) continue;
    if (replacement == nullptr) replacement = make();
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == value) user->ReplaceOperand(i, replacement);
    }
  }
  return replacement != nullptr;
}

bool MakeStateExplicit(Instruction* loop) {
  if (!loop->shape().IsTuple()) return false;
  Computation *body = loop->called_computation(0), *condition = loop->called_computation(1);
  // Another loop may start from the same tuple, and a body may return it as an element: this one needs its own.
  Instruction* start = loop->operand(0);
  if (start->opcode() != Opcode::kTuple || start->users().size() > 1 || start->IsRoot()) {
    loop->ReplaceOperand(0, TupleOfElements(start));
  }
  ReadByElement(body->parameter(0));
  ReadByElement(condition->parameter(0));
  ReadByElement(loop);
  if (body->root()->opcode() != Opcode::kTuple || !body->root()->users().empty()) {
    body->set_root(TupleOfElements(body->root()));
  }
  return true;
}

namespace {

// The leaves of a value; elements of tuple instructions stand for themselves.
void AppendLeaves(Instruction* value, Builder& builder, std::vector<Instruction*>* leaves) {
  if (!value->shape().IsTuple()) return leaves->push_back(value);
  for (Instruction* element : builder.Elements(value)) AppendLeaves(element, builder, leaves);
}

// A value of `shape` from the leaves of `flat`, a tuple, beginning with `*next`.
Instruction* Nested(Instruction* flat, const Shape& shape, int64_t* next, Builder& builder) {
  if (!shape.IsTuple()) return builder.GetTupleElement(flat, (*next)++);
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.tuple_shapes()) elements.push_back(Nested(flat, element, next, builder));
  return builder.Tuple(std::move(elements));
}

Instruction* TupleOfLeaves(Instruction* value) {
  Builder builder(value->parent(), value);
  std::vector<Instruction*> leaves;
  AppendLeaves(value, builder, &leaves);
  return builder.Tuple(std::move(leaves));
}

}  // namespace

bool FlattenState(Instruction* loop) {
  const Shape nested = loop->shape();
  const auto is_tuple = [](const Shape& element) { return element.IsTuple(); };
  if (!nested.IsTuple() || absl::c_none_of(nested.tuple_shapes(), is_tuple)) return false;
  std::vector<Shape> leaves;
  for (const Shape* leaf : nested.Leaves()) leaves.push_back(*leaf);
  const Shape flat = Shape::Tuple(std::move(leaves));
  Computation *body = loop->called_computation(0), *condition = loop->called_computation(1);
  for (Instruction* state : {loop, body->parameter(0), condition->parameter(0)}) {
    ReadThrough(state, [&](Builder& builder) {
      *state->mutable_shape() = flat;
      int64_t next = 0;
      return Nested(state, nested, &next, builder);
    });
  }
  body->set_root(TupleOfLeaves(body->root()));
  loop->ReplaceOperand(0, TupleOfLeaves(loop->operand(0)));
  return true;
}

int64_t AddInvariantState(Instruction* loop, absl::Span<Instruction* const> values) {
  Instruction *start = loop->operand(0), *root = loop->called_computation(0)->root();
  const int64_t first = start->operand_count();
  std::vector<Shape> elements = loop->shape().tuple_shapes();
  for (Instruction* value : values) elements.push_back(value->shape());
  const Shape shape = Shape::Tuple(std::move(elements));
  Instruction* parameter = loop->called_computation(0)->parameter(0);
  for (Instruction* tuple : {loop, start, root, parameter, loop->called_computation(1)->parameter(0)}) {
    *tuple->mutable_shape() = shape;
  }
  Builder builder(parameter->parent(), parameter);
  for (size_t i = 0; i < values.size(); ++i) {
    start->AppendOperand(values[i]);
    root->AppendOperand(builder.GetTupleElement(parameter, first + static_cast<int64_t>(i)));
  }
  return first;
}

absl::flat_hash_map<const Instruction*, Instruction*> CopyInto(
    Computation* computation, absl::Span<Instruction* const> chosen,
    const std::function<Instruction*(Instruction*)>& outside) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  for (Instruction* original : chosen) {
    std::vector<Instruction*> operands;
    for (Instruction* operand : original->operands()) {
      auto copy = copies.find(operand);
      operands.push_back(copy != copies.end() ? copy->second : outside(operand));
    }
    copies[original] = computation->AddClone(*original, std::move(operands));
  }
  return copies;
}

}  // namespace kiln::passes
