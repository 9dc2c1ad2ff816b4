// Literals of HLO text: "{ { 1, 2 }, { 3, 4 } }", "(1.5, {1, 2})", "nan(0x400001)".
#ifndef KILN_FRONTEND_HLO_TEXT_LITERAL_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_LITERAL_PARSER_H_

#include "src/frontend/hlo_text/lexer.h"
#include "src/hlo/literal.h"

namespace kiln::hlo_text {

// Constants that were printed without their values, "{...}".
struct ElidedConstants {
  int64_t count = 0;
  int64_t bytes = 0;
};

// Reads a literal of `shape` (valid). Memory grows with the text, never with the shape. "{...}" is an error unless
// `elided`, which counts it: small numbers stand for its values then, other ones for each constant, and the same
// whenever the text is read. Together they may take a gigabyte.
absl::StatusOr<hlo::Literal> ParseLiteral(Lexer& lexer, const hlo::Shape& shape, ElidedConstants* elided);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_LITERAL_PARSER_H_
