// From attributes as written to the attribute struct of the opcode's family.
#ifndef KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_BUILDER_H_
#define KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_BUILDER_H_

#include <vector>

#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/syntax.h"
#include "src/hlo/attributes.h"

namespace kiln::hlo_text {

// The attributes of `opcode` out of what `instruction` says (`opcode` differs from the instruction's own one for what an
// asynchronous start wraps). An attribute that the opcode needs and the text lacks is an error at the instruction.
absl::StatusOr<hlo::Attributes> BuildAttributes(const Lexer& lexer, const ParsedInstruction& instruction,
                                                hlo::Opcode opcode);

// The computations that `opcode` calls, in the IR's order.
absl::StatusOr<std::vector<NameReference>> CalledComputations(const Lexer& lexer, const ParsedInstruction& instruction,
                                                              hlo::Opcode opcode);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_BUILDER_H_
