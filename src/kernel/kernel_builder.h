// From a fusion, or a single instruction, to a kernel.
#ifndef KILN_KERNEL_KERNEL_BUILDER_H_
#define KILN_KERNEL_KERNEL_BUILDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/analysis/box.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"

namespace kiln::kernel {

// True for opcodes that a kernel can compute (alone or in a fusion).
bool HasKernel(hlo::Opcode opcode);

// The kernel of `instruction`: a fusion's computation, or the instruction itself. Inputs are its operands in order,
// outputs the leaves of its shape in order. A root that updates its first operand (scatter, dynamic-update-slice) has
// no input for that operand's old value: the output parameter `is_updated`, and the caller puts the old value there
// first (InPlaceOperand says which operand that is). All shapes must be row-major.
//
// Fails with UNIMPLEMENTED for an op without a kernel, RESOURCE_EXHAUSTED when the body would grow past a few thousand
// ops.
absl::StatusOr<Kernel> BuildKernel(const hlo::Instruction& instruction);

// A loop around an epilogue: it counts through all of `parts`, the first one slowest, and adds `offset` and `scale`
// times the position in a part to the index of that dimension.
struct EpilogueLoop {
  struct Part {
    int64_t dimension = 0;
    int64_t size = 1;
    int64_t scale = 1;
    int64_t offset = 0;
  };
  std::vector<Part> parts;
  int64_t size() const;
};

// What a fusion does with the elements of `hero`, a contraction inside it, one after the other: a kernel of one nest of
// these loops (those of size 1 left out), the hero's value being external. Inputs are the fusion's operands, the output
// its result, which must have the hero's dimensions. Fails with UNIMPLEMENTED for other fusions.
absl::StatusOr<Kernel> BuildEpilogue(const hlo::Instruction& fusion, const hlo::Instruction& hero,
                                     absl::Span<const EpilogueLoop> loops);

// Where the elements of a product's operand go that is made piece by piece: `inner` runs along a row of the piece, rows
// are `pitch` elements apart and `outer` goes through them. With panels of `panel` elements of a row each, which is
// then the pitch, they are `panel_stride` elements apart.
struct OperandPlace {
  int64_t outer = 0, inner = 0;  // dimensions of the operand
  int64_t pitch = 0;
  int64_t panel = 0, panel_stride = 0;
  hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;  // it is converted to; kInvalid: its own
};

// How `value`, inside a fusion, is made: a kernel of one nest of its dimensions (those of size 1 left out) that stores
// to such a place. Inputs are the fusion's operands. Fails with UNIMPLEMENTED for what is more than one loop.
absl::StatusOr<Kernel> BuildOperand(const hlo::Instruction& fusion, const hlo::Instruction& value,
                                    const OperandPlace& place);

// The operand number whose buffer output leaf `leaf` starts from, or -1.
int64_t InPlaceOperand(const hlo::Instruction& instruction, int64_t leaf);

// Of such a leaf what is written, where that does not depend on data.
std::optional<analysis::Box> WrittenBox(const hlo::Instruction& instruction, int64_t leaf);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_KERNEL_BUILDER_H_
