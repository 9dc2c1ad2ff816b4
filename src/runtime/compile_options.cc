#include "src/runtime/compile_options.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/base/wire_writer.h"
#include "src/frontend/hlo_proto/fields.h"
#include "src/frontend/hlo_proto/reader.h"

namespace kiln::runtime {
namespace {

constexpr int64_t kMaxParticipants = 1 << 20;

using hlo_proto::Fields;

absl::StatusOr<hlo::Shape> ReadLayout(absl::string_view bytes) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, hlo_proto::ReadShape(bytes));
  for (const hlo::Shape* leaf : shape.Leaves()) {
    if (leaf->IsArray() && !leaf->layout().tiles.empty()) return Unimplemented("a layout with tiles");
  }
  return shape;
}

// A DeviceAssignmentProto for the replicas and partitions of `options`, which has a list of replicas per partition.
absl::Status ReadDeviceAssignment(const Fields& assignment, CompileOptions* options) {
  if (assignment.Int(1) != options->num_replicas || assignment.Int(2) != options->num_partitions) {
    return InvalidArgument("a device assignment of ", assignment.Int(1), " x ", assignment.Int(2), " for ",
                           options->num_replicas, " replicas and ", options->num_partitions, " partitions");
  }
  std::vector<std::vector<int64_t>> devices;
  bool fits = true;
  for (absl::string_view bytes : assignment.All(3)) {
    const Fields partition(bytes);
    devices.push_back(partition.Ints(1));
    KILN_RETURN_IF_ERROR(partition.status());
    fits &= static_cast<int64_t>(devices.back().size()) == options->num_replicas;
  }
  if (!fits || static_cast<int64_t>(devices.size()) != options->num_partitions) {
    return InvalidArgument("a device assignment whose counts do not match its lists");
  }
  for (int64_t replica = 0; replica < options->num_replicas; ++replica) {
    for (const std::vector<int64_t>& partition : devices) options->device_assignment.push_back(partition[replica]);
  }
  return assignment.status();
}

absl::Status ReadBuildOptions(const Fields& build, CompileOptions* options) {
  if (build.Has(1)) options->device_ordinal = build.Int(1);
  if (build.Has(2)) {
    KILN_ASSIGN_OR_RETURN(options->result_layout, ReadLayout(build.Bytes(2)));
  }
  if (build.Has(4)) options->num_replicas = build.Int(4);
  if (build.Has(5)) options->num_partitions = build.Int(5);
  KILN_RETURN_IF_ERROR(build.status());
  if (options->num_replicas < 1 || options->num_partitions < 1 || options->num_replicas > kMaxParticipants ||
      options->num_partitions > kMaxParticipants / options->num_replicas) {
    return InvalidArgument(options->num_replicas, " replicas of ", options->num_partitions, " partitions");
  }
  const Fields assignment = build.Message(9);
  return assignment.All(3).empty() ? assignment.status() : ReadDeviceAssignment(assignment, options);
}

// An entry of the map of named options, whose values are of four types.
absl::Status ReadOverride(absl::string_view bytes, CompileOptions* options) {
  const Fields entry(bytes), value = entry.Message(2);
  std::string& text = options->overrides[entry.String(1)];
  if (value.Has(1)) text = value.String(1);
  if (value.Has(2)) text = value.Bool(2) ? "true" : "false";
  if (value.Has(3)) text = absl::StrCat(value.Int(3));
  if (value.Has(4)) text = absl::StrCat(value.Double(4));
  KILN_RETURN_IF_ERROR(value.status());
  return entry.status();
}

// What the proto itself says; `debug_options` are left as they are.
absl::Status ReadOptions(absl::string_view proto, absl::string_view* debug_options, CompileOptions* options) {
  const Fields fields(proto);
  for (absl::string_view shape : fields.All(1)) {
    KILN_ASSIGN_OR_RETURN(options->argument_layouts.emplace_back(), ReadLayout(shape));
  }
  const Fields build = fields.Message(3);
  KILN_RETURN_IF_ERROR(ReadBuildOptions(build, options));
  *debug_options = build.Bytes(3);
  options->portable = fields.Bool(4);
  for (absl::string_view entry : fields.All(7)) KILN_RETURN_IF_ERROR(ReadOverride(entry, options));
  KILN_RETURN_IF_ERROR(build.status());
  return fields.status();
}

absl::Status ApplyOverrides(CompileOptions* options) {
  for (const auto& [name, value] : options->overrides) {
    if (name == "kiln_max_parallelism") {
      if (!absl::SimpleAtoi(value, &options->max_parallelism) || options->max_parallelism < 0 ||
          options->max_parallelism > 4096) {
        return InvalidArgument("compile option kiln_max_parallelism must be an integer between 0 and 4096");
      }
    } else if (name == "kiln_disable_passes") {
      options->disabled_passes = absl::StrSplit(value, ',', absl::SkipWhitespace());
    } else {
      KILN_ASSIGN_OR_RETURN(const bool set, SetFlag(name, value, &options->flags));
      if (set) continue;
      if (!absl::StartsWith(name, "xla_")) return InvalidArgument("No such compile option: '", name, "'");
      WarnOnce(absl::StrCat("compile option ", name, " ", DescribeUnknownFlag(name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompileOptions> ParseCompileOptions(absl::string_view proto) {
  CompileOptions options;
  absl::string_view debug_options;
  KILN_RETURN_IF_ERROR(Annotate(ReadOptions(proto, &debug_options, &options), "compile options"));
  KILN_RETURN_IF_ERROR(Annotate(ReadAllFlags(debug_options, &options.flags), "compile options: debug_options"));
  KILN_RETURN_IF_ERROR(ApplyOverrides(&options));
  options.flags.Complete();
  return options;
}

std::string SerializeDeviceAssignment(int64_t num_replicas, int64_t num_partitions,
                                      const std::vector<int64_t>& device_ids) {
  WireWriter assignment;
  assignment.Int64(1, num_replicas);
  assignment.Int64(2, num_partitions);
  for (int64_t partition = 0; partition < num_partitions; ++partition) {
    std::vector<int64_t> ids;
    for (int64_t i = partition; i < num_replicas * num_partitions; i += num_partitions) ids.push_back(device_ids[i]);
    WireWriter computation;
    computation.Integers(1, ids);
    assignment.Message(3, computation);
  }
  return assignment.Take();
}

}  // namespace kiln::runtime
