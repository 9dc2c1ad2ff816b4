// Computations and instructions of HLO text.
#ifndef KILN_FRONTEND_HLO_TEXT_COMPUTATION_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_COMPUTATION_PARSER_H_

#include "src/frontend/hlo_text/attribute_parser.h"
#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/literal_parser.h"
#include "src/frontend/hlo_text/syntax.h"

namespace kiln::hlo_text {

class ComputationParser {
 public:
  // `frames` and `elided`, which may be null (ParseLiteral), must outlive the parser.
  ComputationParser(Lexer& lexer, const StackFrames& frames, ElidedConstants* elided)
      : lexer_(lexer), attributes_(lexer, frames), elided_(elided) {}

  // [ENTRY] name [(signature)] { instructions }
  absl::StatusOr<ParsedComputation> ParseComputation();
  // Instructions up to "}" or the end of the text.
  absl::Status ParseInstructions(ParsedComputation* computation);
  // True when an instruction ("[ROOT] name = ") rather than a computation starts here.
  bool AtInstruction();

 private:
  absl::Status SkipSignature();
  // opcode(operands), attributes; `nested` for one written as an operand.
  absl::Status ParseOperation(ParsedInstruction instruction, ParsedComputation* computation, int depth);
  absl::Status ParseOpcode(ParsedInstruction* instruction);
  absl::Status ParseArguments(ParsedInstruction* instruction, ParsedComputation* computation, int depth);
  absl::Status ParseOperand(ParsedInstruction* instruction, ParsedComputation* computation, int depth);

  Lexer& lexer_;
  AttributeParser attributes_;
  ElidedConstants* const elided_;
};

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_COMPUTATION_PARSER_H_
