// The text of what an instruction says beyond its operands.
#ifndef KILN_HLO_ATTRIBUTE_PRINTER_H_
#define KILN_HLO_ATTRIBUTE_PRINTER_H_

#include <string>

#include "src/hlo/instruction.h"

namespace kiln::hlo {

// Appends ", name=value" for every attribute of the opcode (called computations among them) in the order of HLO text.
void AppendOpcodeAttributes(const Instruction& instruction, std::string* text);
// Appends sharding, frontend attributes, control predecessors, metadata (when `metadata`) and backend configuration.
void AppendCommonAttributes(const Instruction& instruction, bool metadata, std::string* text);

// "{size=3x3 stride=2x1 pad=1_1x0_2 lhs_dilate=1x2 rhs_dilate=1x2 rhs_reversal=0x1}", defaults left out.
std::string WindowText(const Window& window);
// "b01f_01io->b01f"
std::string DimLabelsText(const ConvolutionAttributes& convolution);
// "{1,0}"
std::string IndexText(const DimensionVector& index);

}  // namespace kiln::hlo

#endif  // KILN_HLO_ATTRIBUTE_PRINTER_H_
