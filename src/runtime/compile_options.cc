#include "src/runtime/compile_options.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/base/wire_reader.h"

namespace kiln::runtime {
namespace {

constexpr int64_t kMaxParticipants = 1 << 20;
constexpr int kMaxTupleDepth = 64;

absl::StatusOr<hlo::Shape> ParseShape(absl::string_view bytes, int depth) {
  if (depth > kMaxTupleDepth) return InvalidArgument("compile options: a shape nested too deeply");
  WireReader reader(bytes);
  int64_t element_type = 0;
  std::vector<int64_t> dimensions;
  std::vector<int64_t> minor_to_major;
  std::vector<int64_t> dynamic;
  bool has_layout = false;
  std::vector<hlo::Shape> elements;
  while (reader.Next()) {
    switch (reader.field()) {
      case 2:
        element_type = reader.Int64();
        break;
      case 3:
        reader.AppendInt64(&dimensions);
        break;
      case 4: {
        KILN_ASSIGN_OR_RETURN(hlo::Shape element, ParseShape(reader.Bytes(), depth + 1));
        elements.push_back(std::move(element));
        break;
      }
      case 5: {
        has_layout = true;
        WireReader layout(reader.Bytes());
        while (layout.Next()) {
          if (layout.field() == 1) layout.AppendInt64(&minor_to_major);
          if (layout.field() == 6) return Unimplemented("compile options: a layout with tiles");
        }
        reader.Update(layout.status());
        break;
      }
      case 6:
        reader.AppendInt64(&dynamic);
        break;
      default:
        break;
    }
  }
  KILN_RETURN_IF_ERROR(reader.status());
  if (element_type < 0 || element_type >= hlo::kPrimitiveTypeCount) {
    return InvalidArgument("compile options: a shape of element type ", element_type);
  }
  const auto type = static_cast<hlo::PrimitiveType>(element_type);
  hlo::Shape shape;
  if (type == hlo::PrimitiveType::kTuple) {
    shape = hlo::Shape::Tuple(std::move(elements));
  } else if (type == hlo::PrimitiveType::kToken) {
    shape = hlo::Shape::Token();
  } else if (hlo::IsArrayType(type)) {
    shape = hlo::Shape(type, dimensions);
    if (has_layout) shape.set_layout(minor_to_major);
    for (size_t i = 0; i < dynamic.size() && i < dimensions.size(); ++i) {
      if (dynamic[i] != 0) shape.set_dynamic_dimension(static_cast<int64_t>(i), true);
    }
  } else {
    return InvalidArgument("compile options: a shape of element type ", hlo::PrimitiveTypeName(type));
  }
  if (depth == 0) KILN_RETURN_IF_ERROR(Annotate(hlo::ValidateShape(shape), "compile options"));
  return shape;
}

struct DeviceAssignment {
  int64_t replicas = 0;
  int64_t computations = 0;
  std::vector<std::vector<int64_t>> devices;  // [computation][replica]
};

absl::StatusOr<DeviceAssignment> ParseDeviceAssignment(absl::string_view bytes) {
  DeviceAssignment assignment;
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        assignment.replicas = reader.Int64();
        break;
      case 2:
        assignment.computations = reader.Int64();
        break;
      case 3: {
        std::vector<int64_t>& ids = assignment.devices.emplace_back();
        WireReader computation(reader.Bytes());
        while (computation.Next()) {
          if (computation.field() == 1) computation.AppendInt64(&ids);
        }
        reader.Update(computation.status());
        break;
      }
      default:
        break;
    }
  }
  KILN_RETURN_IF_ERROR(reader.status());
  bool valid = static_cast<int64_t>(assignment.devices.size()) == assignment.computations;
  for (const std::vector<int64_t>& ids : assignment.devices) {
    valid &= static_cast<int64_t>(ids.size()) == assignment.replicas;
  }
  if (!valid) return InvalidArgument("compile options: a device assignment whose counts do not match its lists");
  return assignment;
}

absl::Status ParseBuildOptions(absl::string_view bytes, absl::string_view* debug_options, CompileOptions* options) {
  WireReader reader(bytes);
  DeviceAssignment assignment;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        options->device_ordinal = reader.Int64();
        break;
      case 2: {
        KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ParseShape(reader.Bytes(), 0));
        options->result_layout = std::move(shape);
        break;
      }
      case 3:
        *debug_options = reader.Bytes();
        break;
      case 4:
        options->num_replicas = reader.Int64();
        break;
      case 5:
        options->num_partitions = reader.Int64();
        break;
      case 9: {
        KILN_ASSIGN_OR_RETURN(assignment, ParseDeviceAssignment(reader.Bytes()));
        break;
      }
      default:
        break;
    }
  }
  KILN_RETURN_IF_ERROR(reader.status());
  if (options->num_replicas < 1 || options->num_partitions < 1 || options->num_replicas > kMaxParticipants ||
      options->num_partitions > kMaxParticipants / options->num_replicas) {
    return InvalidArgument("compile options: ", options->num_replicas, " replicas of ", options->num_partitions,
                           " partitions");
  }
  if (assignment.devices.empty()) return absl::OkStatus();
  if (assignment.replicas != options->num_replicas || assignment.computations != options->num_partitions) {
    return InvalidArgument("compile options: a device assignment of ", assignment.replicas, " x ",
                           assignment.computations, " for ", options->num_replicas, " replicas and ",
                           options->num_partitions, " partitions");
  }
  for (int64_t replica = 0; replica < assignment.replicas; ++replica) {
    for (int64_t computation = 0; computation < assignment.computations; ++computation) {
      options->device_assignment.push_back(assignment.devices[computation][replica]);
    }
  }
  return absl::OkStatus();
}

absl::Status ParseOverride(absl::string_view bytes, CompileOptions* options) {
  WireReader entry(bytes);
  std::string name;
  OptionValue value;
  while (entry.Next()) {
    if (entry.field() == 1) name = entry.String();
    if (entry.field() != 2) continue;
    WireReader reader(entry.Bytes());
    while (reader.Next()) {
      if (reader.field() == 1) value = reader.String();
      if (reader.field() == 2) value = reader.Bool();
      if (reader.field() == 3) value = reader.Int64();
      if (reader.field() == 4) value = reader.Double();
    }
    entry.Update(reader.status());
  }
  options->overrides[std::move(name)] = std::move(value);
  return entry.status();
}

std::string ToText(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const int64_t* number = std::get_if<int64_t>(&value);
  return number != nullptr ? absl::StrCat(*number) : absl::StrCat(std::get<double>(value));
}

absl::Status ApplyOverrides(CompileOptions* options) {
  for (const auto& [name, value] : options->overrides) {
    if (name == "kiln_max_parallelism") {
      int64_t threads = -1;
      if (const int64_t* number = std::get_if<int64_t>(&value)) threads = *number;
      if (const std::string* text = std::get_if<std::string>(&value)) {
        if (!absl::SimpleAtoi(*text, &threads)) threads = -1;
      }
      if (threads < 0 || threads > 4096) {
        return InvalidArgument("compile option kiln_max_parallelism must be an integer between 0 and 4096");
      }
      options->max_parallelism = threads;
    } else if (name == "kiln_disable_passes") {
      const std::string* text = std::get_if<std::string>(&value);
      if (text == nullptr) return InvalidArgument("compile option ", name, " must be a text: pass names with commas");
      options->disabled_passes = absl::StrSplit(*text, ',', absl::SkipWhitespace());
    } else if (SetFlag(name, ToText(value), &options->flags)) {
      continue;
    } else if (absl::StartsWith(name, "xla_")) {
      WarnOnce(absl::StrCat("compile option ", name, " ", DescribeUnknownFlag(name)));
    } else {
      return InvalidArgument("No such compile option: '", name, "'");
    }
  }
  return absl::OkStatus();
}

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

}  // namespace

absl::StatusOr<CompileOptions> ParseCompileOptions(absl::string_view proto) {
  CompileOptions options;
  absl::string_view debug_options;
  WireReader reader(proto);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1: {
        KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ParseShape(reader.Bytes(), 0));
        options.argument_layouts.push_back(std::move(shape));
        break;
      }
      case 2:
        options.parameter_is_tupled = reader.Bool();
        break;
      case 3:
        KILN_RETURN_IF_ERROR(ParseBuildOptions(reader.Bytes(), &debug_options, &options));
        break;
      case 4:
        options.portable = reader.Bool();
        break;
      case 7:
        KILN_RETURN_IF_ERROR(ParseOverride(reader.Bytes(), &options));
        break;
      default:
        break;
    }
  }
  KILN_RETURN_IF_ERROR(Annotate(reader.status(), "compile options"));
  KILN_RETURN_IF_ERROR(Annotate(ReadAllFlags(debug_options, &options.flags), "compile options: debug_options"));
  KILN_RETURN_IF_ERROR(ApplyOverrides(&options));
  options.flags.Complete();
  return options;
}

std::string SerializeDeviceAssignment(int64_t num_replicas, int64_t num_partitions,
                                      const std::vector<int64_t>& device_ids) {
  std::string out;
  out.push_back(0x08);
  AppendVarint(static_cast<uint64_t>(num_replicas), &out);
  out.push_back(0x10);
  AppendVarint(static_cast<uint64_t>(num_partitions), &out);
  for (int64_t partition = 0; partition < num_partitions; ++partition) {
    std::string packed;
    for (int64_t replica = 0; replica < num_replicas; ++replica) {
      AppendVarint(static_cast<uint64_t>(device_ids[replica * num_partitions + partition]), &packed);
    }
    std::string computation;
    computation.push_back(0x0a);
    AppendVarint(packed.size(), &computation);
    computation += packed;
    out.push_back(0x1a);
    AppendVarint(computation.size(), &out);
    out += computation;
  }
  return out;
}

}  // namespace kiln::runtime
