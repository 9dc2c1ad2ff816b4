// "HloModule name, attribute=value, ..."
#ifndef KILN_FRONTEND_HLO_TEXT_HEADER_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_HEADER_PARSER_H_

#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/syntax.h"

namespace kiln::hlo_text {

// Reads the header; the default one when the text does not start with HloModule.
absl::StatusOr<ParsedHeader> ParseHeader(Lexer& lexer);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_HEADER_PARSER_H_
