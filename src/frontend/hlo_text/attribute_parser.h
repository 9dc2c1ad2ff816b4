// ", name=value" after an instruction's operands.
#ifndef KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_PARSER_H_

#include <cstdint>
#include <map>
#include <string>

#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/stack_frames.h"
#include "src/frontend/hlo_text/syntax.h"

namespace kiln::hlo_text {

class AttributeParser {
 public:
  // Both must outlive the parser.
  AttributeParser(Lexer& lexer, const StackFrames& frames) : lexer_(lexer), frames_(frames) {}

  // Reads one attribute (after the comma) into `instruction`, whose opcode is known. A name that the opcode does not
  // take is an error.
  absl::Status Parse(ParsedInstruction* instruction);
  // To be called behind the last one: an attribute that the opcode needs and the text lacks is an error.
  absl::Status Finish(ParsedInstruction* instruction) const;

 private:
  absl::StatusOr<bool> ParseCommon(absl::string_view name, ParsedInstruction* instruction);
  // False when the opcode takes no attribute of this name.
  absl::StatusOr<bool> ParseOwn(absl::string_view name, ParsedInstruction* instruction);
  absl::Status ParseMetadata(hlo::Metadata* metadata);

  Lexer& lexer_;
  const StackFrames& frames_;
  // Replica groups written in short forms may grow to this many numbers in one module.
  int64_t expansion_budget_ = int64_t{1} << 22;
};

// The computations that the operation of `instruction`, or the one inside, calls, in the IR's order.
std::vector<NameReference> CalledComputations(const ParsedInstruction& instruction);

// {a="1",b={k = 1 : i64}}: brace forms are kept verbatim, strings unescaped.
absl::StatusOr<std::map<std::string, std::string>> ParseDictionary(Lexer& lexer);
// "{1,0}"
absl::StatusOr<hlo::DimensionVector> ParseIndexList(Lexer& lexer);
// Everything up to a comma, a closing parenthesis or the end of the line outside of brackets and strings.
absl::StatusOr<std::string> ParseVerbatim(Lexer& lexer, absl::string_view what);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_PARSER_H_
