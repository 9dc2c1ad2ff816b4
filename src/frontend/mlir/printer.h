// The op tree as MLIR text: in generic form as it is, for debugging and golden tests, or as MLIR's parser reads it.
#ifndef KILN_FRONTEND_MLIR_PRINTER_H_
#define KILN_FRONTEND_MLIR_PRINTER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

struct PrintOptions {
  // Attributes as StableHLO defines them instead of the tree's flat ones, so that other readers take the text.
  bool standard = false;
  // Short forms where MLIR has them; takes `standard` as well.
  bool pretty = false;
  bool locations = false;
  // Dense elements beyond this number print as one hex string.
  int64_t max_elements = 64;
  // Printing stops with "..." past this size: shared parts of attributes can make a text far larger than the tree.
  size_t max_bytes = size_t{64} << 20;
};

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Operation& operation, const PrintOptions& options = {});
std::string Print(const Type& type);
std::string Print(const Attribute& attribute, const PrintOptions& options = {});

// `text` in double quotes with MLIR's escapes (\" \\ and \HH).
std::string Quote(absl::string_view text);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_PRINTER_H_
