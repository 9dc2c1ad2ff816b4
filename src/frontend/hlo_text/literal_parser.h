// Literals of HLO text: "{ { 1, 2 }, { 3, 4 } }", "(1.5, {1, 2})", "nan(0x400001)".
#ifndef KILN_FRONTEND_HLO_TEXT_LITERAL_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_LITERAL_PARSER_H_

#include "src/frontend/hlo_text/lexer.h"
#include "src/hlo/literal.h"

namespace kiln::hlo_text {

// Reads a literal of `shape` (valid). Memory grows with the text, never with the shape. "{...}" (elided values) is an
// error unless `allow_elided`, which gives zeros for shapes of at most 64 MiB.
absl::StatusOr<hlo::Literal> ParseLiteral(Lexer& lexer, const hlo::Shape& shape, bool allow_elided);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_LITERAL_PARSER_H_
