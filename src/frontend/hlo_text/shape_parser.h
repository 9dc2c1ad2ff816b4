// Shapes of HLO text: "f32[2,3]{1,0:T(8,128)}", "(f32[], token[])".
#ifndef KILN_FRONTEND_HLO_TEXT_SHAPE_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_SHAPE_PARSER_H_

#include "src/frontend/hlo_text/lexer.h"
#include "src/hlo/shape.h"

namespace kiln::hlo_text {

// True when a shape starts here: "(" or the name of a type right before "[".
bool AtShape(Lexer& lexer);

// Reads and validates a shape (hlo::ValidateShape). Unbounded dimensions are UNIMPLEMENTED.
absl::StatusOr<hlo::Shape> ParseShape(Lexer& lexer);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_SHAPE_PARSER_H_
