// The ops of VHLO, the portable StableHLO dialect, and how they are raised to the names of the op tree.
#ifndef KILN_FRONTEND_MLIR_VHLO_OPS_H_
#define KILN_FRONTEND_MLIR_VHLO_OPS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace kiln::mlir {

struct VhloVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  friend constexpr bool operator<(const VhloVersion& a, const VhloVersion& b) {
    if (a.major != b.major) return a.major < b.major;
    return a.minor != b.minor ? a.minor < b.minor : a.patch < b.patch;
  }
};

// The oldest and the newest artifacts that are read. The newest is what a plugin advertises as
// stablehlo_current_version.
inline constexpr VhloVersion kMinimumVhloVersion = {0, 9, 0};
inline constexpr VhloVersion kCurrentVhloVersion = {1, 24, 0};

struct VhloOp {
  absl::string_view name;  // With the version suffix and without the dialect: "gather_v2".
  absl::string_view tree_name;   // "stablehlo.gather"; return_v1 becomes func.return in a function.
  int regions = 0;               // -1: any number.
  absl::string_view attributes;  // Names in property order, separated by spaces; `name?` when optional.
};

// The row of a VHLO op (name with version suffix, without dialect), or null.
const VhloOp* FindVhloOp(absl::string_view name);
// The row of an op of another dialect that may stand in an artifact (full name), or null.
const VhloOp* FindForeignOp(absl::string_view name);
// All VHLO rows, sorted by name.
absl::Span<const VhloOp> VhloOps();

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_VHLO_OPS_H_
