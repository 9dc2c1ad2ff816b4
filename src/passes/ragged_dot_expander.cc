#include "src/passes/ragged_dot_expander.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

using hlo::DotAttributes;

constexpr int64_t kMinBlock = 16, kMaxBlock = 256;

// The result dimension of every dimension of an operand whose free ones come at `free_offset`; -1: contracted.
DimensionVector ResultDimensions(int64_t rank, const DimensionVector& batch, const DimensionVector& contracting,
                                 int64_t batch_offset, int64_t free_offset) {
  DimensionVector map(rank, -1);
  for (size_t i = 0; i < batch.size(); ++i) map[batch[i]] = batch_offset + static_cast<int64_t>(i);
  for (int64_t d = 0; d < rank; ++d) {
    if (map[d] < 0 && !Contains(contracting, d)) map[d] = free_offset++;
  }
  return map;
}

class RaggedProduct {
 public:
  explicit RaggedProduct(Instruction* dot)
      : builder_(dot->parent(), dot),
        dot_(dot->Get<DotAttributes>()),
        shape_(dot->shape()),
        lhs_(&builder_, dot->operand(0)),
        rhs_(&builder_, dot->operand(1)),
        sizes_(&builder_, dot->operand(2)),
        ragged_(dot_.lhs_ragged[0]),
        contracts_(Contains(dot_.lhs_contracting, ragged_)) {
    const int64_t batches = static_cast<int64_t>(dot_.lhs_batch.size());
    result_of_lhs_ = ResultDimensions(lhs_.shape().rank(), dot_.lhs_batch, dot_.lhs_contracting, contracts_ ? 1 : 0,
                                      batches + (contracts_ ? 1 : 0));
    // Sizes of one group list for each position of these dimensions; else of all.
    if (sizes_.shape().rank() > 1) {
      prefix_ = dot_.lhs_batch;
      for (int64_t d = 0; !contracts_ && d < ragged_; ++d) {
        if (!Contains(dot_.lhs_batch, d) && !Contains(dot_.lhs_contracting, d)) prefix_.push_back(d);
      }
      for (size_t i = 0; contracts_ && dot_.lhs_contracting[i] != ragged_; ++i)
        prefix_.push_back(dot_.lhs_contracting[i]);
    }
  }

  Instruction* Run() {
    if (Contains(dot_.lhs_batch, ragged_)) return Dot(lhs_, rhs_, shape_.dimensions(), shape_.element_type());
    const int64_t rows = lhs_.shape().dimensions(ragged_);
    const int64_t groups = sizes_.shape().dimensions(sizes_.shape().rank() - 1);
    const int64_t lists = sizes_.shape().element_count() / std::max<int64_t>(groups, 1), all = lists * groups;
    // Sums over blocks are rounded once.
    const PrimitiveType type = shape_.element_type();
    const PrimitiveType sum_type =
        contracts_ && hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
    const ArrayValue zeros(&builder_, builder_.Splat(Shape(sum_type, shape_.dimensions()), hlo::ZeroLiteral(sum_type)));
    if (rows == 0 || all == 0 || shape_.element_count() == 0) return zeros.Convert(type).instruction();
    block_ = kMinBlock;
    while (block_ < kMaxBlock && block_ * groups < rows) block_ *= 2;
    block_ = std::min(block_, rows);

    // Where each group begins and ends, and how many blocks there are up to its last one.
    const PrimitiveType index = PrimitiveType::kS64;
    const ArrayValue wide = sizes_.Convert(index).Reshape({lists, groups});
    const ArrayValue sizes = Clamped(wide, rows);
    const ArrayValue ends = Clamped(RunningSums(sizes), rows);
    const ArrayValue begins = Clamped(RunningSums(sizes) - sizes, rows);
    const ArrayValue blocks = (ends - begins + ends.Number(block_ - 1)) / ends.Number(block_);
    const ArrayValue last_blocks = RunningSums(blocks.Reshape({1, all})).Reshape({all});
    const ArrayValue zero(&builder_, builder_.Scalar(index, 0));
    const std::vector<ArrayValue> result = WhileLoop(
        {zero, zeros, lhs_, rhs_, begins.Reshape({all}), ends.Reshape({all}), last_blocks},
        [&](const std::vector<ArrayValue>& values) { return values[0] < values[6].Element(all - 1); },
        [&](const std::vector<ArrayValue>& values) {
          std::vector<ArrayValue> next = values;
          next[0] = values[0] + values[0].Number(int64_t{1});
          next[1] = Step(values, groups, rows);
          return next;
        });
    return result[1].Convert(type).instruction();
  }

 private:
  static ArrayValue Clamped(const ArrayValue& value, int64_t limit) {
    return value.Binary(Opcode::kMaximum, value.Number(int64_t{0})).Binary(Opcode::kMinimum, value.Number(limit));
  }

  // Along the second of two dimensions, of numbers that are at most `limit`.
  ArrayValue RunningSums(const ArrayValue& value) {
    hlo::WindowAttributes attributes;
    attributes.window.resize(2);
    attributes.window[1].size = value.shape().dimensions(1);
    attributes.window[1].padding_low = value.shape().dimensions(1) - 1;
    return {&builder_, builder_.Add(Opcode::kReduceWindow, value.shape(),
                                    {value.instruction(), builder_.Scalar(value.type(), 0)}, std::move(attributes),
                                    {hlo::AddCombiner(builder_.computation()->parent(), Opcode::kAdd, value.type())})};
  }

  // `rhs` without its group dimension, where it has one.
  Instruction* Dot(const ArrayValue& lhs, const ArrayValue& rhs, absl::Span<const int64_t> dimensions,
                   PrimitiveType type) {
    DotAttributes attributes = dot_;
    attributes.lhs_ragged.clear();
    attributes.rhs_group.clear();
    for (int64_t group : dot_.rhs_group) {
      for (DimensionVector* list : {&attributes.rhs_batch, &attributes.rhs_contracting}) {
        for (int64_t& d : *list) d -= d > group ? 1 : 0;
      }
    }
    return lhs.builder()->Add(Opcode::kDot, Shape(type, dimensions), {lhs.instruction(), rhs.instruction()},
                              std::move(attributes));
  }

  // The part of `value` that begins at `starts` in some dimensions, with these sizes; all of the others.
  struct Part {
    explicit Part(const ArrayValue& value, const ArrayValue& zero)
        : sizes(value.shape().dimensions()), starts(sizes.size(), zero) {}
    void Take(int64_t dimension, const ArrayValue& start, int64_t size) {
      starts[dimension] = start;
      sizes[dimension] = size;
    }
    DimensionVector sizes;
    std::vector<ArrayValue> starts;
  };

  // The result with one more block: of values = step, result, lhs, rhs, begins, ends, last blocks.
  ArrayValue Step(const std::vector<ArrayValue>& values, int64_t groups, int64_t rows) {
    const ArrayValue &step = values[0], &result = values[1], &lhs = values[2], &rhs = values[3];
    Builder* inside = step.builder();
    const ArrayValue zero = step.Number(int64_t{0});
    const ArrayValue passed = (values[6] <= step).Convert(PrimitiveType::kS64);
    const ArrayValue place(inside, inside->Reduce(passed.instruction(), zero.instruction(), {0}, Opcode::kAdd));
    auto pick = [&](const ArrayValue& list) { return list.DynamicSlice({place}, {1}).Reshape({}); };
    const ArrayValue end = pick(values[5]), group_begin = pick(values[4]);
    const ArrayValue blocks = (end - group_begin + step.Number(block_ - 1)) / step.Number(block_);
    const ArrayValue begin = group_begin + (step - pick(values[6]) + blocks) * step.Number(block_);
    // The last block of all ends with the rows; what it has of earlier ones is left out.
    const ArrayValue start = begin.Binary(Opcode::kMinimum, step.Number(rows - block_));
    const ArrayValue group = place.Binary(Opcode::kRemainder, step.Number(groups));

    Part of_lhs(lhs, zero), of_rhs(rhs, zero), of_result(result, zero);
    of_lhs.Take(ragged_, start, block_);
    if (contracts_) {
      of_rhs.Take(Partner(ragged_), start, block_);
      of_result.Take(0, group, 1);
    } else {
      of_rhs.Take(dot_.rhs_group[0], group, 1);
      of_result.Take(result_of_lhs_[ragged_], start, block_);
    }
    ArrayValue list = place / step.Number(groups);
    for (auto d = prefix_.rbegin(); d != prefix_.rend(); ++d) {
      const ArrayValue size = step.Number(lhs.shape().dimensions(*d));
      const ArrayValue at = list.Binary(Opcode::kRemainder, size);
      list = list / size;
      of_lhs.Take(*d, at, 1);
      if (Partner(*d) >= 0) of_rhs.Take(Partner(*d), at, 1);
      if (result_of_lhs_[*d] >= 0) of_result.Take(result_of_lhs_[*d], at, 1);
    }
    // Rows of the block that are the group's and of no earlier block.
    const ArrayValue row = Iota(inside, PrimitiveType::kS64, {block_}, 0) + start;
    const ArrayValue mine = (row >= begin) & (row < end);
    auto masked = [&](const ArrayValue& value, int64_t dimension, const ArrayValue& otherwise) {
      return Select(mine.Broadcast(value.shape().dimensions(), {dimension}), value, otherwise);
    };
    const ArrayValue before = result.DynamicSlice(of_result.starts, of_result.sizes);
    ArrayValue x = lhs.DynamicSlice(of_lhs.starts, of_lhs.sizes), y = rhs.DynamicSlice(of_rhs.starts, of_rhs.sizes);
    if (contracts_) {
      const ArrayValue none(inside, inside->Constant(hlo::ZeroLiteral(x.type())));
      const ArrayValue none_of_rhs(inside, inside->Constant(hlo::ZeroLiteral(y.type())));
      DimensionVector sizes(of_result.sizes.begin() + 1, of_result.sizes.end());
      const ArrayValue product(
          inside, Dot(masked(x, ragged_, none), masked(y, Partner(ragged_), none_of_rhs), sizes, result.type()));
      return result.DynamicUpdate(before + product.Reshape(of_result.sizes), of_result.starts);
    }
    DimensionVector sizes = y.shape().dimensions();
    sizes.erase(sizes.begin() + dot_.rhs_group[0]);
    const ArrayValue product(inside, Dot(x, y.Reshape(sizes), of_result.sizes, result.type()));
    return result.DynamicUpdate(masked(product, result_of_lhs_[ragged_], before), of_result.starts);
  }

  // The dimension of the right operand that goes with this batch or contracting one of the left; -1: none.
  int64_t Partner(int64_t lhs_dimension) const {
    for (auto [lhs, rhs] :
         {std::pair(&dot_.lhs_batch, &dot_.rhs_batch), std::pair(&dot_.lhs_contracting, &dot_.rhs_contracting)}) {
      for (size_t i = 0; i < lhs->size(); ++i) {
        if ((*lhs)[i] == lhs_dimension) return (*rhs)[i];
      }
    }
    return -1;
  }

  Builder builder_;
  const DotAttributes dot_;
  const Shape shape_;
  const ArrayValue lhs_, rhs_, sizes_;
  const int64_t ragged_;
  const bool contracts_;
  DimensionVector result_of_lhs_, prefix_;
  int64_t block_ = 1;
};

// `operand` times its scales, each of which is for a block of elements.
absl::StatusOr<Instruction*> Scaled(Builder* builder, const Instruction& dot, int64_t index, PrimitiveType type) {
  const ArrayValue operand(builder, dot.operand(index)), scale(builder, dot.operand(index + 2));
  const DimensionVector& dimensions = operand.shape().dimensions();
  const DimensionVector& blocks = scale.shape().dimensions();
  DimensionVector split, kept;  // every dimension as (blocks, elements of one)
  for (size_t d = 0; d < blocks.size(); ++d) {
    kept.push_back(static_cast<int64_t>(split.size()));
    split.push_back(blocks[d]);
    split.push_back(blocks[d] > 0 ? dimensions[d] / blocks[d] : 1);
  }
  const ArrayValue factors =
      scale.Convert(type).Broadcast(split, kept).Reshape(blocks.empty() ? DimensionVector() : dimensions);
  return (operand.Convert(type) * factors).instruction();
}

absl::StatusOr<Instruction*> ExpandRaggedDot(Instruction* instruction) {
  if (instruction->opcode() == Opcode::kRaggedDot) return RaggedProduct(instruction).Run();
  // In f32 the products of narrow numbers and their scales are exact.
  const PrimitiveType type = instruction->operand(0)->shape().element_type() == PrimitiveType::kF64
                                 ? PrimitiveType::kF64
                                 : PrimitiveType::kF32;
  Builder builder(instruction->parent(), instruction);
  KILN_ASSIGN_OR_RETURN(Instruction * lhs, Scaled(&builder, *instruction, 0, type));
  KILN_ASSIGN_OR_RETURN(Instruction * rhs, Scaled(&builder, *instruction, 1, type));
  DotAttributes attributes = instruction->Get<DotAttributes>();
  attributes.operand_precision = {hlo::Precision::kHighest, hlo::Precision::kHighest};
  return builder.Add(Opcode::kDot, instruction->shape(), {lhs, rhs}, std::move(attributes));
}

}  // namespace

absl::StatusOr<bool> ExpandRaggedDots(Module* module) {
  return ReplaceOps(module, {Opcode::kRaggedDot, Opcode::kScaledDot}, ExpandRaggedDot);
}

}  // namespace kiln::passes
