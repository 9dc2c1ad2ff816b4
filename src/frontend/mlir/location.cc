#include "src/frontend/mlir/location.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kiln::mlir {

Location CallSiteLocation(Location callee, const Location& caller) {
  if (callee.function.empty()) callee.function = std::exchange(callee.name, {});
  return callee.known() ? callee : caller;
}

Location NamedLocation(absl::string_view name, Location child) {
  // A name inside a name is the function of the frame.
  if (child.function.empty()) child.function = child.name;
  child.name = name;
  return child;
}

void FuseLocation(Location& fused, const Location& part) {
  if (!fused.known()) fused = part;
  if (!fused.file.empty() || part.file.empty()) return;
  const absl::string_view name = fused.name;
  fused = part;
  fused.name = name;
}

std::string ToString(const Location& location) {
  if (!location.known()) return location.line > 0 ? absl::StrCat("line ", location.line) : "unknown location";
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
