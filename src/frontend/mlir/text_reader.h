// StableHLO text -> op tree.
#ifndef KILN_FRONTEND_MLIR_TEXT_READER_H_
#define KILN_FRONTEND_MLIR_TEXT_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

// Reads a module, or bare functions, in the generic form of any op or the pretty form of the ops of StableHLO, func,
// sdy and chlo. The tree is the one that the bytecode reader makes of the same program. Errors read "file:line:column:
// message" and show the line. Thread-safe.
absl::StatusOr<std::unique_ptr<Module>> ReadText(absl::string_view text, absl::string_view file_name);

// Reads an attribute that is all of the text, such as a dictionary. It lives as long as `context`.
absl::StatusOr<AttributeRef> ReadAttribute(absl::string_view text, absl::string_view file_name, Context& context);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_TEXT_READER_H_
