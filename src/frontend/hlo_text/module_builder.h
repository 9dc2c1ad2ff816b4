// From the parsed text to a module: resolves names, orders computations, infers the shapes that were left out.
#ifndef KILN_FRONTEND_HLO_TEXT_MODULE_BUILDER_H_
#define KILN_FRONTEND_HLO_TEXT_MODULE_BUILDER_H_

#include <memory>

#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/syntax.h"
#include "src/hlo/module.h"

namespace kiln::hlo_text {

// `lexer` supplies positions for errors.
absl::StatusOr<std::unique_ptr<hlo::Module>> BuildModule(const Lexer& lexer, const ParsedModule& parsed);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_MODULE_BUILDER_H_
