#include "src/passes/sort_keys.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/sort_order.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/array_formula.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

using analysis::KeyType;
using analysis::OrderTerm;
using hlo::ComparisonType;
using hlo::IsFloating;

ArrayValue SignBit(const ArrayValue& key) { return key.Number(int64_t{1}) << (hlo::BitWidth(key.type()) - 1); }

// All bits set where the highest is, none elsewhere.
ArrayValue SignSpread(const ArrayValue& key) {
  const ArrayValue number = key.BitcastConvert(SignedOf(hlo::BitWidth(key.type())));
  const ArrayValue shift = number.Number(int64_t{hlo::BitWidth(key.type()) - 1});
  return number.Binary(Opcode::kShiftRightArithmetic, shift).BitcastConvert(key.type());
}

// Unsigned integers in the total order of `values`.
ArrayValue KeyOf(const ArrayValue& values) {
  const PrimitiveType type = values.type(), key = KeyType(type);
  if (type == key) return values;
  if (type == PrimitiveType::kPred) return values.Convert(key);
  const ArrayValue bits = values.BitcastConvert(key);
  if (!IsFloating(type)) return bits ^ SignBit(bits);
  // Negative numbers count backwards: all of their bits turn, of others only the sign.
  return bits ^ (SignSpread(bits) | SignBit(bits));
}

// The inverse of KeyOf.
ArrayValue ValueOf(const ArrayValue& key, PrimitiveType type) {
  if (type == key.type()) return key;
  if (type == PrimitiveType::kPred) return key.Convert(type);
  if (!IsFloating(type)) return (key ^ SignBit(key)).BitcastConvert(type);
  return (key ^ (SignSpread(key).Unary(Opcode::kNot) | SignBit(key))).BitcastConvert(type);
}

ArrayValue TermKey(Builder* builder, const OrderTerm& term, Instruction* operand) {
  // Of the two parameters that stand for this operand, the formula holds one.
  std::vector<Instruction*> arguments(2 * term.operand + 2, operand);
  ArrayValue value(builder, ArrayFormula(builder, operand->shape().dimensions(), std::move(arguments)).Of(term.value));
  if (IsFloating(value.type()) && !term.total_order) {
    const ArrayValue zero = value.Number(0.0);
    value = Select(value == zero, zero, value);
  }
  const ArrayValue key = KeyOf(value);
  return term.descending ? key.Unary(Opcode::kNot) : key;
}

// pred (a0, b0, a1, b1, ...) -> a0 before b0, for arrays of these types: the order of `term`, null for unsigned keys.
Computation* FirstOrder(Module* module, const std::vector<Shape>& shapes, const OrderTerm* term) {
  Computation* order = module->AddComputation(term == nullptr ? "unsigned_order" : "order");
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (int64_t side = 0; side < 2; ++side) {
      order->AddParameter(2 * static_cast<int64_t>(i) + side, Shape::Scalar(shapes[i].element_type()));
    }
  }
  Builder builder(order, nullptr);
  auto value = [&](int64_t side) {
    if (term == nullptr) return order->parameter(side);
    const std::vector<Instruction*> arguments(2 * term->operand + 2, order->parameter(side));
    return ArrayFormula(&builder, {}, arguments).Of(term->value);
  };
  const bool descending = term != nullptr && term->descending;
  Instruction* first = value(0);
  Instruction* before =
      builder.Compare(descending ? ComparisonDirection::kGt : ComparisonDirection::kLt, first, value(1));
  if (IsFloating(first->shape().element_type())) {
    before->GetMutable<hlo::CompareAttributes>()->type =
        term->total_order ? ComparisonType::kTotalOrder : ComparisonType::kFloat;
  }
  order->set_root(before);
  return order;
}

// Which results of a sort anything reads.
std::vector<bool> UsedResults(const Instruction& sort) {
  const bool whole = sort.IsRoot() || !sort.shape().IsTuple();
  std::vector<bool> used(sort.operand_count(), whole);
  for (const Instruction* user : sort.users()) {
    if (user->opcode() != Opcode::kGetTupleElement) return std::vector<bool>(sort.operand_count(), true);
    used[user->tuple_index()] = true;
  }
  return used;
}

// Whether the terms are orders of different operands' elements, so that one sort may follow the other, and that had
// better be: all keys are results, and what the first sort leaves for the last takes no more than one long key, or that
// key would be too long.
bool IsChain(const Instruction& sort, const std::vector<OrderTerm>& terms, const std::vector<bool>& used) {
  if (terms.size() < 2) return false;
  bool are_results = true;
  std::vector<bool> seen(used.size());
  for (const OrderTerm& term : terms) {
    if (!analysis::KeyOrderOf(term) || seen[term.operand]) return false;
    seen[term.operand] = true;
    are_results &= used[term.operand];
  }
  int64_t left_bits = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] && static_cast<int64_t>(i) != terms[0].operand) {
      left_bits += hlo::BitWidth(sort.operand(i)->shape().element_type());
    }
  }
  const int64_t key_bits = analysis::KeyBits(terms);
  return key_bits > 64 || (are_results && left_bits <= key_bits);
}

// Sorts `rows` along their last dimension by the last term, then, keeping the order of equals, by the one before it.
void ChainSorts(Builder* builder, const std::vector<OrderTerm>& terms, std::vector<bool> used,
                std::vector<Instruction*>* rows) {
  for (const OrderTerm& term : terms) used[term.operand] = true;
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
    std::vector<int64_t> places = {term->operand};
    for (size_t i = 0; i < rows->size(); ++i) {
      if (used[i] && static_cast<int64_t>(i) != term->operand) places.push_back(static_cast<int64_t>(i));
    }
    std::vector<Instruction*> operands;
    std::vector<Shape> shapes;
    for (int64_t place : places) {
      operands.push_back((*rows)[place]);
      shapes.push_back(operands.back()->shape());
    }
    const int64_t last = shapes[0].rank() - 1;
    Computation* order = FirstOrder(operands[0]->parent()->parent(), shapes, &*term);
    Instruction* sorted = builder->Add(Opcode::kSort, Shape::Tuple(shapes), operands,
                                       hlo::SortAttributes{.dimension = last, .is_stable = true}, {order});
    for (size_t i = 0; i < places.size(); ++i) {
      (*rows)[places[i]] = builder->GetTupleElement(sorted, static_cast<int64_t>(i));
    }
  }
}

// Whether positions alone may be sorted by one key after the other, the keys read where they lead: of one row whose
// sorted keys nothing asks for, other arrays than the positions would only be moved about.
bool SortsPositions(const Instruction& sort, const std::vector<OrderTerm>& terms, const std::vector<bool>& used) {
  const Shape& shape = sort.operand(0)->shape();
  return shape.rank() == 1 && shape.dimensions(0) <= std::numeric_limits<int32_t>::max() &&
         absl::c_none_of(terms, [&](const OrderTerm& term) { return used[term.operand]; });
}

void ChainPositions(Builder* builder, const std::vector<OrderTerm>& terms, const std::vector<bool>& used,
                    std::vector<Instruction*>* rows) {
  const int64_t size = (*rows)[0]->shape().dimensions(0);
  Instruction* positions = Iota(builder, PrimitiveType::kS32, {size}, 0).instruction();
  bool moved = false;
  const auto in_order = [&](Instruction* row) {
    if (!moved) return row;
    hlo::GatherAttributes gather;
    gather.collapsed_slice_dims = {0};
    gather.start_index_map = {0};
    gather.index_vector_dim = 1;
    gather.slice_sizes = {1};
    return builder->Add(Opcode::kGather, row->shape(), {row, builder->Reshape(positions, {size, 1})}, gather);
  };
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
    const std::vector<Shape> shapes = {(*rows)[term->operand]->shape(), positions->shape()};
    Instruction* sorted =
        builder->Add(Opcode::kSort, Shape::Tuple(shapes), {in_order((*rows)[term->operand]), positions},
                     hlo::SortAttributes{.dimension = 0, .is_stable = true},
                     {FirstOrder(positions->parent()->parent(), shapes, &*term)});
    positions = builder->GetTupleElement(sorted, 1);
    moved = true;
  }
  for (size_t i = 0; i < rows->size(); ++i) {
    if (!used[i]) continue;
    const Instruction& row = *(*rows)[i];
    const bool is_positions = row.opcode() == Opcode::kIota && row.shape() == positions->shape();
    (*rows)[i] = is_positions ? positions : in_order((*rows)[i]);
  }
}

Instruction* ExpandSort(Instruction* sort) {
  const std::vector<OrderTerm> terms = analysis::OrderTerms(*sort);
  const int64_t dimension = sort->Get<hlo::SortAttributes>().dimension;
  const int64_t rank = sort->operand(0)->shape().rank();
  const std::vector<int64_t> swap = SwapWithLast(rank, dimension);
  const std::vector<bool> used = UsedResults(*sort);
  Builder builder(sort->parent(), sort);
  std::vector<Instruction*> rows;
  for (Instruction* operand : sort->operands()) rows.push_back(builder.Transpose(operand, swap));
  if (IsChain(*sort, terms, used)) {
    if (SortsPositions(*sort, terms, used)) {
      ChainPositions(&builder, terms, used, &rows);
    } else {
      ChainSorts(&builder, terms, used, &rows);
    }
    for (Instruction*& row : rows) row = builder.Transpose(row, swap);
    return builder.Tuple(std::move(rows));
  }

  // Keys made of one operand's bits give its elements back.
  const bool direct = terms.size() == 1 && analysis::KeyOrderOf(terms[0]);
  Instruction* key = direct ? rows[terms[0].operand] : CombinedKey(&builder, terms, rows).instruction();
  std::vector<Instruction*> operands = {key};
  std::vector<Shape> shapes = {key->shape()};
  std::vector<int64_t> places(rows.size(), -1);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!used[i] || (direct && terms[0].operand == static_cast<int64_t>(i))) continue;
    places[i] = static_cast<int64_t>(operands.size());
    operands.push_back(rows[i]);
    shapes.push_back(rows[i]->shape());
  }
  Computation* order = FirstOrder(sort->parent()->parent(), shapes, direct ? &terms[0] : nullptr);
  Shape shape = shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
  Instruction* sorted = builder.Add(Opcode::kSort, std::move(shape), operands,
                                    hlo::SortAttributes{.dimension = rank - 1, .is_stable = true}, {order});
  auto part = [&](int64_t index) { return operands.size() == 1 ? sorted : builder.GetTupleElement(sorted, index); };

  std::vector<Instruction*> results;
  for (size_t i = 0; i < rows.size(); ++i) {
    Instruction* result = sort->operand(i);  // what nothing reads may be anything
    if (used[i]) result = builder.Transpose(part(std::max<int64_t>(places[i], 0)), swap);
    results.push_back(result);
  }
  return sort->shape().IsTuple() ? builder.Tuple(std::move(results)) : results[0];
}

Instruction* FirstOfSorted(Builder* builder, const Instruction& top_k, ArrayValue key) {
  const Shape& positions = top_k.shape().tuple_shapes(1);
  const int64_t last = key.shape().rank() - 1;
  const ArrayValue iota = Iota(builder, positions.element_type(), key.shape().dimensions(), last);
  // Ascending and stable: of equal ones the earlier.
  const std::vector<Shape> shapes = {key.shape(), iota.shape()};
  Instruction* sorted =
      builder->Add(Opcode::kSort, Shape::Tuple(shapes), {key.Unary(Opcode::kNot).instruction(), iota.instruction()},
                   hlo::SortAttributes{.dimension = last, .is_stable = true},
                   {FirstOrder(top_k.parent()->parent(), shapes, nullptr)});
  auto first = [&](int64_t index) {
    return ArrayValue(builder, builder->GetTupleElement(sorted, index)).Slice(last, 0, positions.dimensions(last));
  };
  return builder->Tuple({first(0).Unary(Opcode::kNot).instruction(), first(1).instruction()});
}

// The largest become the largest keys, the smallest as well after turning all bits.
Instruction* ExpandTopK(Instruction* top_k) {
  const bool largest = top_k->Get<hlo::TopKAttributes>().largest;
  Builder builder(top_k->parent(), top_k);
  const ArrayValue operand(&builder, top_k->operand(0));
  const ArrayValue key = KeyOf(operand);
  Instruction* selected = FirstOfSorted(&builder, *top_k, largest ? key : key.Unary(Opcode::kNot));
  ArrayValue keys(&builder, builder.GetTupleElement(selected, 0));
  if (!largest) keys = keys.Unary(Opcode::kNot);
  return builder.Tuple({ValueOf(keys, operand.type()).instruction(), builder.GetTupleElement(selected, 1)});
}

}  // namespace

ArrayValue CombinedKey(Builder* builder, const std::vector<OrderTerm>& terms,
                       const std::vector<Instruction*>& operands) {
  ArrayValue key = TermKey(builder, terms[0], operands[terms[0].operand]);
  int64_t bits = hlo::BitWidth(key.type());
  for (size_t i = 1; i < terms.size(); ++i) {
    const ArrayValue next = TermKey(builder, terms[i], operands[terms[i].operand]);
    const int64_t more = hlo::BitWidth(next.type());
    bits += more;
    const PrimitiveType wide = UnsignedOf(bits <= 16 ? 16 : bits <= 32 ? 32 : 64);
    key = (key.Convert(wide) << more) | next.Convert(wide);
  }
  return key;
}

std::vector<int64_t> SwapWithLast(int64_t rank, int64_t dimension) {
  std::vector<int64_t> permutation(rank);
  absl::c_iota(permutation, 0);
  std::swap(permutation[dimension], permutation[rank - 1]);
  return permutation;
}

bool SortsWhole(int64_t k, int64_t size) { return k > Tuning().rows.selection_size && k > size / 16; }

absl::StatusOr<bool> MakeSortKeys(Module* module) {
  return ReplaceOps(module, {Opcode::kSort, Opcode::kTopK}, [](Instruction* instruction) -> Instruction* {
    if (instruction->opcode() == Opcode::kTopK) {
      const Shape& shape = instruction->operand(0)->shape();
      const int64_t k = instruction->Get<hlo::TopKAttributes>().k, size = shape.dimensions(shape.rank() - 1);
      return KeyType(shape.element_type()) != PrimitiveType::kInvalid && SortsWhole(k, size) ? ExpandTopK(instruction)
                                                                                             : nullptr;
    }
    // An order by bits is only looked at again for results that nothing reads.
    if (analysis::DirectOrder(*instruction)) {
      const std::vector<bool> used = UsedResults(*instruction);
      return std::find(used.begin() + 1, used.end(), false) != used.end() ? ExpandSort(instruction) : nullptr;
    }
    const std::vector<OrderTerm> terms = analysis::OrderTerms(*instruction);
    const bool fits = analysis::KeyBits(terms) <= 64 || IsChain(*instruction, terms, UsedResults(*instruction));
    return terms.empty() || !fits ? nullptr : ExpandSort(instruction);
  });
}

}  // namespace kiln::passes
