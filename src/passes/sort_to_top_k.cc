#include "src/passes/sort_to_top_k.h"

#include <limits>
#include <optional>
#include <vector>

#include "src/analysis/sort_order.h"
#include "src/passes/array_value.h"
#include "src/passes/sort_keys.h"

namespace kiln::passes {
namespace {

using analysis::KeyOrder;
using analysis::OrderTerm;

struct SortSlice {
  Instruction* slice = nullptr;
  int64_t result = 0;  // of the sort
};

// The slices that are all that reads the sort, where each has the first elements along the sorted dimension (the last
// ones: at_end) and all of the others. None: something else reads it.
std::vector<SortSlice> SlicesOf(const Instruction& sort, bool at_end) {
  const int64_t dimension = sort.Get<hlo::SortAttributes>().dimension;
  std::vector<SortSlice> slices;
  const auto add_readers = [&](const Instruction& value, int64_t result) {
    if (value.IsRoot()) return false;
    for (Instruction* user : value.users()) {
      if (user->opcode() != Opcode::kSlice) return false;
      const auto& slice = user->Get<hlo::SliceAttributes>();
      for (int64_t i = 0; i < value.shape().rank(); ++i) {
        const bool from_first = slice.start[i] == 0, to_last = slice.limit[i] == value.shape().dimensions(i);
        const bool fits = i != dimension ? from_first && to_last : at_end ? to_last : from_first;
        if (slice.stride[i] != 1 || !fits) return false;
      }
      slices.push_back({user, result});
    }
    return true;
  };
  if (!sort.shape().IsTuple()) return add_readers(sort, 0) ? slices : std::vector<SortSlice>();
  if (sort.IsRoot()) return {};
  for (const Instruction* user : sort.users()) {
    if (user->opcode() != Opcode::kGetTupleElement || !add_readers(*user, user->tuple_index())) return {};
  }
  return slices;
}

// rows[..., positions], along the last dimension.
ArrayValue TakeAlongRows(const ArrayValue& rows, const ArrayValue& positions) {
  const int64_t rank = rows.shape().rank();
  std::vector<int64_t> starts(positions.shape().dimensions().begin(), positions.shape().dimensions().end());
  starts.push_back(1);
  hlo::GatherAttributes gather;
  gather.collapsed_slice_dims = {rank - 1};
  gather.start_index_map = {rank - 1};
  gather.index_vector_dim = rank;
  for (int64_t i = 0; i < rank - 1; ++i) {
    gather.operand_batching_dims.push_back(i);
    gather.start_indices_batching_dims.push_back(i);
  }
  gather.slice_sizes.assign(rank, 1);
  Builder* builder = rows.builder();
  return {builder, builder->Add(Opcode::kGather, Shape(rows.type(), positions.shape().dimensions()),
                                {rows.instruction(), positions.Reshape(starts).instruction()}, gather)};
}

// The operand whose elements are keys as they stand: equal keys are equal bits.
std::optional<int64_t> DirectKey(const std::vector<OrderTerm>& terms) {
  const std::optional<KeyOrder> order = terms.size() == 1 ? analysis::KeyOrderOf(terms[0]) : std::nullopt;
  const bool direct = order == KeyOrder::kUnsigned || order == KeyOrder::kSigned || order == KeyOrder::kTotal;
  return direct ? std::optional(terms[0].operand) : std::nullopt;
}

ArrayValue Reverse(const ArrayValue& rows) {
  Builder* builder = rows.builder();
  return {builder, builder->Add(Opcode::kReverse, rows.shape(), {rows.instruction()},
                                hlo::DimensionsAttributes{{rows.shape().rank() - 1}})};
}

// The last elements of a sort, from the last one on, are the first of the opposite order in which the later one of
// equals comes first: a selection from the reversed rows.
bool Select(Instruction* sort, bool at_end) {
  const int64_t dimension = sort->Get<hlo::SortAttributes>().dimension;
  const Shape& shape = sort->operand(0)->shape();
  const int64_t last = shape.rank() - 1, size = shape.dimensions(dimension);
  const std::vector<SortSlice> slices = SlicesOf(*sort, at_end);
  int64_t k = 0;
  for (const SortSlice& part : slices) k = std::max(k, part.slice->shape().dimensions(dimension));
  if (k == 0 || k == size || SortsWhole(k, size) || size > std::numeric_limits<int32_t>::max()) return false;
  const std::vector<OrderTerm> terms = analysis::OrderTerms(*sort);
  if (terms.empty() || analysis::KeyBits(terms) > 64) return false;

  Builder builder(sort->parent(), sort);
  const std::vector<int64_t> swap = SwapWithLast(shape.rank(), dimension);
  std::vector<Instruction*> rows;
  for (Instruction* operand : sort->operands()) rows.push_back(builder.Transpose(operand, swap));
  const std::optional<int64_t> direct = DirectKey(terms);
  ArrayValue key = direct ? ArrayValue(&builder, rows[*direct]) : CombinedKey(&builder, terms, rows);
  if (at_end) key = Reverse(key);
  const bool descending = direct.has_value() && terms[0].descending;
  Shape keys = key.shape();
  keys.set_dimensions(last, k);
  const Shape positions_shape(PrimitiveType::kS32, keys.dimensions());
  Instruction* top_k = builder.Add(Opcode::kTopK, Shape::Tuple({keys, positions_shape}), {key.instruction()},
                                   hlo::TopKAttributes{.k = k, .largest = descending != at_end});
  ArrayValue values(&builder, builder.GetTupleElement(top_k, 0)),
      positions(&builder, builder.GetTupleElement(top_k, 1));
  if (at_end) {
    values = Reverse(values);
    positions = Reverse(positions.Number(size - 1) - positions);
  }

  std::vector<ArrayValue> selected(rows.size());
  for (const SortSlice& part : slices) {
    ArrayValue& result = selected[part.result];
    if (result.instruction() == nullptr) {
      const Instruction& operand = *sort->operand(part.result);
      if (part.result == direct) {
        result = values;
      } else if (operand.opcode() == Opcode::kIota && operand.dimensions()[0] == dimension) {
        result = positions.Convert(operand.shape().element_type());
      } else {
        result = TakeAlongRows(ArrayValue(&builder, rows[part.result]), positions);
      }
      result = result.Transpose(swap);
    }
    const int64_t count = part.slice->shape().dimensions(dimension), start = at_end ? k - count : 0;
    part.slice->ReplaceAllUsesWith(result.Slice(dimension, start, start + count).instruction());
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> SelectInsteadOfSorting(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (!computation->MayContain(Opcode::kSort)) continue;
    bool selected = false;
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() != Opcode::kSort) continue;
      selected |= Select(instruction, /*at_end=*/false) || Select(instruction, /*at_end=*/true);
    }
    if (selected) computation->RemoveDeadInstructions();
    changed |= selected;
  }
  return changed;
}

}  // namespace kiln::passes
