// HLO text -> module.
#ifndef KILN_FRONTEND_HLO_TEXT_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_PARSER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/hlo_text/literal_parser.h"
#include "src/hlo/module.h"

namespace kiln::hlo_text {

struct ParseOptions {
  // Constants printed as {...} are counted here and get made-up values (ParseLiteral); null: they are an error.
  ElidedConstants* elided = nullptr;
  // Runs hlo::Verify on the result.
  bool verify = true;
};

// Reads a module: the printed form and the shorthand for hand-written text (operands without shapes, operations written
// as operands, result shapes left out where they follow from the operands, no header, no ENTRY, no ROOT, a bare list of
// instructions). Computations may stand in any order. Errors read "file:line:column: message" and show the line.
absl::StatusOr<std::unique_ptr<hlo::Module>> ParseHloText(absl::string_view text, absl::string_view file_name,
                                                          const ParseOptions& options = {});

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_PARSER_H_
