// MLIR bytecode (container versions 0 to 6, portable StableHLO artifacts 0.9.0 to 1.24.0) to the generic op tree.
#ifndef KILN_FRONTEND_MLIR_BYTECODE_READER_H_
#define KILN_FRONTEND_MLIR_BYTECODE_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

// True when `bytes` begin as MLIR bytecode does.
bool IsBytecode(absl::string_view bytes);

// Reads a whole file; the module keeps its own copy of `bytes`. Nothing in the file is trusted: memory and time are
// linear in its size, nesting is bounded. InvalidArgument for malformed files and for artifacts newer than
// kCurrentVhloVersion, Unimplemented for dialects whose binary form is not known. Thread-safe.
absl::StatusOr<std::unique_ptr<Module>> ReadBytecode(absl::string_view bytes);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_BYTECODE_READER_H_
