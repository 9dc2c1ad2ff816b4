#include "src/frontend/hlo_text/parser.h"

#include <utility>

#include "src/frontend/hlo_text/computation_parser.h"
#include "src/frontend/hlo_text/header_parser.h"
#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/module_builder.h"
#include "src/frontend/hlo_text/stack_frames.h"
#include "src/hlo/verifier.h"

namespace kiln::hlo_text {

absl::StatusOr<std::unique_ptr<hlo::Module>> ParseHloText(absl::string_view text, absl::string_view file_name,
                                                          const ParseOptions& options) {
  Lexer lexer(text, file_name);
  ParsedModule parsed;
  KILN_ASSIGN_OR_RETURN(parsed.header, ParseHeader(lexer));
  StackFrames frames;
  KILN_RETURN_IF_ERROR(frames.Parse(lexer));
  ComputationParser parser(lexer, frames, options.elided);
  if (!lexer.AtEnd() && parser.AtInstruction()) {
    // A bare list of instructions is the entry.
    ParsedComputation entry;
    entry.name = "main";
    entry.offset = lexer.offset();
    entry.is_entry = true;
    KILN_RETURN_IF_ERROR(parser.ParseInstructions(&entry));
    if (!lexer.AtEnd()) return lexer.Expected("an instruction or the end of the text");
    parsed.computations.push_back(std::move(entry));
  }
  while (!lexer.AtEnd()) {
    KILN_ASSIGN_OR_RETURN(ParsedComputation computation, parser.ParseComputation());
    parsed.computations.push_back(std::move(computation));
  }
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, BuildModule(lexer, parsed));
  if (options.verify) {
    absl::Status status = hlo::Verify(*module);
    if (!status.ok()) return Annotate(status, file_name);
  }
  return module;
}

}  // namespace kiln::hlo_text
