#include "src/frontend/mlir/location.h"

#include "absl/strings/str_cat.h"

namespace kiln::mlir {

std::string ToString(const Location& location) {
  if (!location.known()) return "unknown location";
  std::string text;
  if (!location.name.empty()) absl::StrAppend(&text, "\"", location.name, "\"");
  if (!location.file.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " at ", location.file);
    if (location.line > 0) absl::StrAppend(&text, ":", location.line);
    if (location.line > 0 && location.column > 0) absl::StrAppend(&text, ":", location.column);
  }
  return text;
}

}  // namespace kiln::mlir
