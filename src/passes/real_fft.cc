#include "src/passes/real_fft.h"

#include "src/passes/array_value.h"
#include "src/passes/matrix_stack.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {

using hlo::FftType;

namespace {

// Shorter transforms take less time than a second kernel.
constexpr int64_t kLeastLength = 32;

// Odd lengths are no complex transforms of half as many elements. Where they become convolutions anyway, for a prime
// factor that no pass has, and are no shorter than this, reading and writing half as much takes 0.6 to 1 of the time.
constexpr int64_t kLeastOddLength = 100;
constexpr int64_t kLargestPrimeOfPasses = 31;

bool IsWorthHalving(int64_t length) {
  if (length % 2 == 0) return length >= kLeastLength;
  int64_t rest = length;
  for (int64_t p = 3; p <= kLargestPrimeOfPasses; p += 2) {
    while (rest % p == 0) rest /= p;
  }
  return length >= kLeastOddLength && rest > 1;
}

// Elements in reverse order along one dimension.
ArrayValue Reversed(const ArrayValue& x, int64_t dimension) {
  return {x.builder(),
          x.builder()->Add(Opcode::kReverse, x.shape(), {x.instruction()}, hlo::DimensionsAttributes{{dimension}})};
}

// Element -k modulo the size in the place of element k.
ArrayValue Negated(const ArrayValue& x, int64_t dimension) {
  const int64_t size = x.shape().dimensions(dimension);
  if (size <= 2) return x;
  return Concatenate({x.Slice(dimension, 0, 1), Reversed(x.Slice(dimension, 1, size), dimension)}, dimension);
}

absl::StatusOr<Instruction*> ExpandRealFft(Instruction* instruction) {
  const auto* fft = instruction->GetIf<hlo::FftAttributes>();
  if (fft == nullptr || fft->type != FftType::kFft || instruction->shape().element_count() == 0 ||
      !IsWorthHalving(fft->length.back())) {
    return nullptr;
  }
  const Instruction& complex = *instruction->operand(0);
  if (complex.opcode() != Opcode::kConvert || hlo::IsComplex(complex.operand(0)->shape().element_type()))
    return nullptr;
  Builder builder(instruction->parent(), instruction);
  const ArrayValue x(&builder, complex.operand(0));
  hlo::FftAttributes attributes = *fft;
  attributes.type = FftType::kRfft;
  const Shape& shape = instruction->shape();
  const int64_t last = shape.rank() - 1, length = shape.dimensions(last), kept = length / 2 + 1;
  DimensionVector half_sizes = shape.dimensions();
  half_sizes[last] = kept;
  const ArrayValue real = x.Convert(hlo::ComplexComponentType(shape.element_type()));
  const ArrayValue half(
      &builder, builder.Add(Opcode::kFft, Shape(shape.element_type(), half_sizes), {real.instruction()}, attributes));
  ArrayValue mirror = half.Slice(last, 1, length - kept + 1);
  for (int64_t d = shape.rank() - static_cast<int64_t>(attributes.length.size()); d < last; ++d) {
    mirror = Negated(mirror, d);
  }
  return Concatenate({half, Conjugate(Reversed(mirror, last))}, last).instruction();
}

}  // namespace

absl::StatusOr<bool> HalveRealFfts(Module* module) { return ReplaceOps(module, {Opcode::kFft}, ExpandRealFft); }

}  // namespace kiln::passes
