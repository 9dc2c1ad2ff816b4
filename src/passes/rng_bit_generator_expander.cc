#include "src/passes/rng_bit_generator_expander.h"

#include <vector>

#include "src/base/status.h"
#include "src/passes/counter_random.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

constexpr PrimitiveType kWord = PrimitiveType::kU64;

int64_t CountOf(absl::Span<const int64_t> dimensions) {
  int64_t count = 1;
  for (int64_t size : dimensions) count *= size;
  return count;
}

// The dimension that ThreeFry cuts into pairs of 32-bit numbers: the first even one, else the largest.
int64_t PairedDimension(absl::Span<const int64_t> dimensions) {
  int64_t paired = 0;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d] % 2 == 0) return static_cast<int64_t>(d);
    if (dimensions[d] > dimensions[paired]) paired = static_cast<int64_t>(d);
  }
  return paired;
}

class BitGeneratorExpansion {
 public:
  explicit BitGeneratorExpansion(Instruction* root)
      : builder_(root->parent(), root),
        state_(&builder_, root->operand(0)),
        shape_(root->shape().tuple_shapes(1)),
        wide_(hlo::BitWidth(shape_.element_type()) == 64) {
    const ArrayValue words = state_.type() == kWord ? state_ : state_.Reshape({StateWords(), 2}).BitcastConvert(kWord);
    for (int64_t i = 0; i < StateWords(); ++i) words_.push_back(words.Element(i));
  }

  int64_t StateWords() const { return state_.shape().element_count() / (state_.type() == kWord ? 1 : 2); }

  Instruction* ThreeFry() {
    int64_t blocks;
    ArrayValue numbers;
    if (wide_) {
      blocks = shape_.element_count();
      numbers = ThreeFryBits(words_[0], Counters(blocks));
    } else {
      DimensionVector dimensions = shape_.dimensions();
      if (dimensions.empty()) dimensions.push_back(1);
      const int64_t paired = PairedDimension(dimensions), size = dimensions[paired];
      DimensionVector halves = dimensions;
      halves[paired] = (size + 1) / 2;
      blocks = CountOf(halves);
      numbers = ThreeFryBits(words_[0], Counters(blocks)).Reshape(halves).BitcastConvert(PrimitiveType::kU32);
      // The two numbers of a block are neighbours along the paired dimension.
      DimensionVector permutation;
      for (int64_t d = 0; d < numbers.shape().rank() - 1; ++d) {
        permutation.push_back(d);
        if (d == paired) permutation.push_back(numbers.shape().rank() - 1);
      }
      halves[paired] *= 2;
      numbers = numbers.Transpose(permutation).Reshape(halves).Slice(paired, 0, size);
    }
    words_[1] = words_[1] + words_[1].Number(blocks);
    return Finish(numbers);
  }

  Instruction* Philox() {
    const int64_t count = shape_.element_count(), per_block = wide_ ? 2 : 4;
    const int64_t blocks = (count + per_block - 1) / per_block;
    // With a state of two words the key is also the counter's upper half.
    const ArrayValue upper = words_.size() == 3 ? words_[2] : words_[0];
    const ArrayValue low = Counters(blocks);
    const auto bits = PhiloxBits(words_[0], low, Carried(upper, low));
    std::vector<ArrayValue> columns;
    for (const ArrayValue& half : bits) {
      const ArrayValue column = half.Reshape({blocks, 1});
      columns.push_back(wide_ ? column : column.Convert(PrimitiveType::kU32));
      if (!wide_) columns.push_back((column >> 32).Convert(PrimitiveType::kU32));
    }
    const ArrayValue numbers = Concatenate(columns, 1).Reshape({blocks * per_block}).Slice(0, 0, count);
    const ArrayValue next = words_[1] + words_[1].Number(blocks);
    if (words_.size() == 3) words_[2] = Carried(upper, next);
    words_[1] = next;
    return Finish(numbers);
  }

 private:
  ArrayValue Counters(int64_t blocks) { return words_[1] + Iota(&builder_, kWord, {blocks}, 0); }

  // The upper half of the counter, when the lower half has become `low`.
  ArrayValue Carried(const ArrayValue& upper, const ArrayValue& low) {
    return upper + (low < words_[1]).Convert(kWord);
  }

  // (new state, numbers as the result's type); narrower types take the lowest bits.
  Instruction* Finish(const ArrayValue& numbers) {
    const PrimitiveType type = shape_.element_type();
    ArrayValue result = numbers.Reshape(shape_.dimensions());
    if (hlo::IsIntegral(type)) {
      result = result.Convert(type);
    } else {
      result = result.Convert(UnsignedOf(hlo::BitWidth(type))).BitcastConvert(type);
    }
    std::vector<ArrayValue> words;
    for (const ArrayValue& word : words_) words.push_back(word.Reshape({1}));
    ArrayValue state = Concatenate(words, 0);
    if (state_.type() != kWord) {
      state = state.BitcastConvert(PrimitiveType::kU32).Reshape(state_.shape().dimensions());
    }
    return builder_.Tuple({state.instruction(), result.instruction()});
  }

  Builder builder_;
  ArrayValue state_;
  const Shape shape_;
  const bool wide_;
  std::vector<ArrayValue> words_;  // u64 scalars: key, counter, maybe the counter's upper half
};

absl::StatusOr<Instruction*> ExpandRngBitGenerator(Instruction* instruction) {
  if (!instruction->shape().IsTuple()) {
    return InvalidArgument(instruction->Describe(), ": the result has shape ", instruction->shape().ToString(),
                           ", expected a tuple of the new state and the values");
  }
  const Shape& state = instruction->operand(0)->shape();
  const PrimitiveType type = instruction->shape().tuple_shapes(1).element_type();
  if (hlo::IsComplex(type) || type == PrimitiveType::kPred) {
    return Unimplemented(instruction->Describe(), ": random bits of ", hlo::PrimitiveTypeName(type));
  }
  const bool three_fry = instruction->Get<hlo::RngAttributes>().algorithm == hlo::RngAlgorithm::kThreeFry;
  const int64_t bytes = state.rank() == 1 ? state.element_count() * hlo::ByteWidth(state.element_type()) : 0;
  const bool fits = (state.element_type() == kWord || state.element_type() == PrimitiveType::kU32) &&
                    (bytes == 16 || (bytes == 24 && !three_fry));
  if (!fits) {
    return InvalidArgument(instruction->Describe(), ": the state has shape ", state.ToString(), ", expected u64[2]",
                           three_fry ? "" : " or u64[3]");
  }
  BitGeneratorExpansion expansion(instruction);
  return three_fry ? expansion.ThreeFry() : expansion.Philox();
}

}  // namespace

absl::StatusOr<bool> ExpandRngBitGenerators(Module* module) {
  return ReplaceOps(module, {Opcode::kRngBitGenerator}, ExpandRngBitGenerator);
}

}  // namespace kiln::passes
