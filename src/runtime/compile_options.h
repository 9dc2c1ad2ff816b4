// Options of a compilation, as frameworks send them (a serialized CompileOptionsProto).
#ifndef KILN_RUNTIME_COMPILE_OPTIONS_H_
#define KILN_RUNTIME_COMPILE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/hlo/shape.h"
#include "src/runtime/debug_flags.h"

namespace kiln::runtime {

struct CompileOptions {
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;
  int64_t device_ordinal = -1;  // -1: not set
  // Device ids, [replica * num_partitions + partition]; empty: not set.
  std::vector<int64_t> device_assignment;
  // Runs on whatever device each execution names.
  bool portable = false;
  // Layouts that the caller wants of parameters and result; empty: the program's own.
  std::vector<hlo::Shape> argument_layouts;
  std::optional<hlo::Shape> result_layout;
  std::vector<std::string> disabled_passes;
  // Named options of the user, values as text, in order of name.
  std::map<std::string, std::string> overrides;

  // Derived from `overrides`: threads that one kernel may use (0: all).
  int64_t max_parallelism = 0;
  // Of the environment, the proto's debug options and `overrides`; complete.
  DebugFlags flags;
};

// Reads the proto (empty: the defaults) and applies the named options:
//   kiln_max_parallelism (integer), kiln_disable_passes (names of passes, comma separated), and the flags of debug_flags.h.
// Other names that begin with "xla_" are for other backends: they get a warning on stderr, once each. Any other name is
// INVALID_ARGUMENT, as are malformed bytes and impossible counts.
absl::StatusOr<CompileOptions> ParseCompileOptions(absl::string_view proto);

// The DeviceAssignmentProto of these options over `device_ids` ([replica * num_partitions + partition]).
std::string SerializeDeviceAssignment(int64_t num_replicas, int64_t num_partitions,
                                      const std::vector<int64_t>& device_ids);

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_COMPILE_OPTIONS_H_
