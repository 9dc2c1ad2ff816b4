// Source locations of the generic op tree, flattened to what an error message and instruction metadata need.
#ifndef KILN_FRONTEND_MLIR_LOCATION_H_
#define KILN_FRONTEND_MLIR_LOCATION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln::mlir {

// One program point. Views point into the Context that owns the location. A nested location is reduced so: a name
// location gives its name and the file of its child; a call site gives its callee, the innermost frame (`function` is
// the name of that frame); a fused location gives the first child that has a file or a name.
struct Location {
  absl::string_view name;      // What the framework calls the op, as "jit(f)/add"; empty when unknown.
  absl::string_view function;  // The function of the innermost frame; empty when unknown.
  absl::string_view file;      // Empty when unknown.
  int64_t line = 0;            // 1-based; 0 when unknown.
  int64_t column = 0;

  // A place of the framework's; an op of a text without locations has only its line in that text.
  bool known() const { return !name.empty() || !file.empty(); }
};

// Locations made of others, reduced as said above.
Location CallSiteLocation(Location callee, const Location& caller);
Location NamedLocation(absl::string_view name, Location child);
// Adds one more part to a fused location.
void FuseLocation(Location& fused, const Location& part);

// `"jit(f)/add" at f.py:3:4`, shorter where parts are unknown; `line 3` of the program's text, or `unknown location`.
std::string ToString(const Location& location);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_LOCATION_H_
