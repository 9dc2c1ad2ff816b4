#include "src/passes/fft_dimensions.h"

#include <cstddef>
#include <cstdint>

#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {

using hlo::FftType;

namespace {

absl::StatusOr<Instruction*> ExpandDimensions(Instruction* instruction) {
  const auto* fft = instruction->GetIf<hlo::FftAttributes>();
  if (fft == nullptr) return nullptr;
  const bool is_complex = fft->type == FftType::kFft || fft->type == FftType::kIfft;
  const size_t rank = instruction->shape().rank(), transformed = fft->length.size();
  const size_t last = is_complex ? rank : rank - 1;
  const auto is_dropped = [&](size_t d) {
    return d + transformed >= rank && d < last && fft->length[d + transformed - rank] == 1;
  };
  Builder builder(instruction->parent(), instruction);
  const ArrayValue x(&builder, instruction->operand(0));
  hlo::FftAttributes attributes = *fft;
  attributes.length.clear();
  DimensionVector from, to;
  for (size_t d = 0; d < rank; ++d) {
    if (is_dropped(d)) continue;
    from.push_back(x.shape().dimensions(d));
    to.push_back(instruction->shape().dimensions(d));
    if (d + transformed >= rank) attributes.length.push_back(fft->length[d + transformed - rank]);
  }
  if (from.size() == rank) return nullptr;
  // One element is its own transform.
  if (attributes.length.empty()) return x.instruction();
  const Shape shape(instruction->shape().element_type(), to);
  // Real numbers that become complex stay known as such (`real_fft.h`).
  const bool converts = x.instruction()->opcode() == Opcode::kConvert;
  const ArrayValue kept =
      converts ? ArrayValue(&builder, x.instruction()->operand(0)).Reshape(from).Convert(x.type()) : x.Reshape(from);
  const ArrayValue result(&builder, builder.Add(Opcode::kFft, shape, {kept.instruction()}, attributes));
  return result.Reshape(instruction->shape().dimensions()).instruction();
}

}  // namespace

absl::StatusOr<bool> DropFftDimensions(Module* module) { return ReplaceOps(module, {Opcode::kFft}, ExpandDimensions); }

}  // namespace kiln::passes
