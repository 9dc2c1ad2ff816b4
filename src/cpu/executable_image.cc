#include "src/cpu/executable_image.h"

#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/cpu_tuning.h"
#include "src/base/status.h"
#include "src/base/wire_reader.h"
#include "src/base/wire_writer.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

// Field numbers of the image; those of a shape and of an alias stand in their functions.
enum Field : uint32_t {
  kCpu = 1,
  kFeatures = 2,
  kParameter = 3,
  kOutput = 4,
  kAlias = 5,
  kArenaBytes = 6,
  kNanoseconds = 7,
  kParallelism = 8,
  kKernels = 9,
  kFusedInstructions = 10,
  kCodeBytes = 11,
  kObject = 12,
  kConstant = 13,
  kDonated = 14,
  kCustomCall = 15,
  kWorkspaceBytes = 16,
  kLoneNanoseconds = 17,
};

// Far above what a program on one machine can use, and far below where sums overflow.
constexpr int64_t kMaxArenaBytes = int64_t{1} << 48;

// The image's plain numbers, to be written or read.
template <typename Image>
auto NumbersOf(Image& image) {
  auto& statistics = image.statistics;
  return std::array{std::pair(kArenaBytes, &image.arena_bytes),
                    std::pair(kNanoseconds, &image.estimated_nanoseconds),
                    std::pair(kLoneNanoseconds, &image.lone_nanoseconds),
                    std::pair(kParallelism, &image.max_parallelism),
                    std::pair(kKernels, &statistics.kernel_count),
                    std::pair(kFusedInstructions, &statistics.fused_instruction_count),
                    std::pair(kCodeBytes, &statistics.generated_code_bytes),
                    std::pair(kWorkspaceBytes, &statistics.workspace_bytes)};
}

WireWriter Message(const hlo::Shape& shape) {
  WireWriter out;
  out.Int64(1, static_cast<int64_t>(shape.element_type()));
  out.Integers(2, shape.dimensions());
  out.Integers(3, shape.layout().minor_to_major);
  std::vector<int64_t> dynamic;
  for (int64_t i = 0; shape.has_dynamic_dimensions() && i < shape.rank(); ++i) {
    if (shape.is_dynamic_dimension(i)) dynamic.push_back(i);
  }
  out.Integers(4, dynamic);
  return out;
}

absl::StatusOr<hlo::Shape> ReadLeaf(absl::string_view bytes) {
  int64_t type = 0;
  std::vector<int64_t> dimensions, minor_to_major, dynamic;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) type = reader.Int64();
    if (reader.field() == 2) reader.AppendInt64(&dimensions);
    if (reader.field() == 3) reader.AppendInt64(&minor_to_major);
    if (reader.field() == 4) reader.AppendInt64(&dynamic);
  }
  KILN_RETURN_IF_ERROR(reader.status());
  if (type < 0 || type >= hlo::kPrimitiveTypeCount) return InvalidArgument("a leaf of element type ", type);
  const auto element_type = static_cast<hlo::PrimitiveType>(type);
  if (element_type == hlo::PrimitiveType::kToken) return hlo::Shape::Token();
  if (!hlo::IsArrayType(element_type)) return InvalidArgument("a leaf that is no array");
  hlo::Shape shape(element_type, dimensions);
  shape.set_layout(minor_to_major);
  for (int64_t dimension : dynamic) {
    if (dimension < 0 || dimension >= shape.rank()) return InvalidArgument("no dynamic dimension ", dimension);
    shape.set_dynamic_dimension(dimension, true);
  }
  KILN_RETURN_IF_ERROR(hlo::ValidateShape(shape));
  return shape;
}

// Per output: 1 + the parameter leaf, or 0; and whether the alias is a must.
WireWriter Message(const OutputLeaf& leaf) {
  WireWriter out;
  out.Int64(1, leaf.aliased_parameter.has_value() ? *leaf.aliased_parameter + 1 : 0);
  out.Bool(2, leaf.must_alias);
  return out;
}

absl::StatusOr<OutputLeaf> ReadAlias(absl::string_view bytes) {
  OutputLeaf leaf;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) leaf.aliased_parameter = reader.Int64() - 1;
    if (reader.field() == 2) leaf.must_alias = reader.Bool();
  }
  KILN_RETURN_IF_ERROR(reader.status());
  return leaf;
}

absl::Status ReadInto(absl::string_view bytes, ReadImage* read, std::string* cpu, std::string* features) {
  ExecutableImage& image = read->image;
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case kCpu:
        *cpu = reader.String();
        break;
      case kFeatures:
        *features = reader.String();
        break;
      case kParameter: {
        KILN_ASSIGN_OR_RETURN(image.parameter_leaves.emplace_back(), ReadLeaf(reader.Bytes()));
        break;
      }
      case kOutput: {
        KILN_ASSIGN_OR_RETURN(image.output_leaves.emplace_back(), ReadLeaf(reader.Bytes()));
        break;
      }
      case kAlias: {
        KILN_ASSIGN_OR_RETURN(image.output_aliases.emplace_back(), ReadAlias(reader.Bytes()));
        break;
      }
      case kCustomCall:
        image.custom_calls.push_back(reader.String());
        break;
      case kDonated:
        reader.AppendInt64(&image.donated_parameters);
        break;
      case kObject:
        read->objects.push_back(std::make_shared<const std::string>(reader.Bytes()));
        break;
      case kConstant:
        read->constants.push_back(reader.Bytes());
        break;
      default:
        for (const auto& [field, value] : NumbersOf(image)) {
          if (field == reader.field()) *value = reader.Int64();
        }
    }
  }
  return reader.status();
}

// The memory that code gives to the runtime's functions follows from the tuning.
std::string FeaturesAndTuning() { return absl::StrCat(Host().features, ",tuning=", Tuning().name); }

}  // namespace

std::string WriteImage(const ExecutableImage& image, const std::vector<Object>& objects,
                       const std::vector<absl::string_view>& constants) {
  WireWriter out;
  out.String(kCpu, Host().cpu);
  out.String(kFeatures, FeaturesAndTuning());
  for (const hlo::Shape& leaf : image.parameter_leaves) out.Message(kParameter, Message(leaf));
  for (const hlo::Shape& leaf : image.output_leaves) out.Message(kOutput, Message(leaf));
  for (const OutputLeaf& leaf : image.output_aliases) out.Message(kAlias, Message(leaf));
  out.Integers(kDonated, image.donated_parameters);
  for (const std::string& name : image.custom_calls) out.Element(kCustomCall, name);
  for (const auto& [field, value] : NumbersOf(image)) out.Int64(field, *value);
  for (const Object& object : objects) out.String(kObject, *object);
  for (absl::string_view constant : constants) out.Element(kConstant, constant);
  return out.Take();
}

absl::StatusOr<ReadImage> ReadImageFrom(absl::string_view bytes) {
  ReadImage read;
  std::string cpu, features;
  KILN_RETURN_IF_ERROR(Annotate(ReadInto(bytes, &read, &cpu, &features), "the image of an executable"));
  if (cpu != Host().cpu || features != FeaturesAndTuning()) {
    return FailedPrecondition("the executable was compiled for the processor ", cpu, " (", features,
                              "), this machine is ", Host().cpu, " (", FeaturesAndTuning(), ")");
  }
  const ExecutableImage& image = read.image;
  bool valid = image.arena_bytes >= 0 && image.arena_bytes <= kMaxArenaBytes && image.max_parallelism >= 0 &&
               image.max_parallelism <= std::numeric_limits<int>::max() &&
               image.output_aliases.size() == image.output_leaves.size() && !read.objects.empty();
  const auto is_parameter = [&image](int64_t leaf) {
    return leaf >= 0 && leaf < static_cast<int64_t>(image.parameter_leaves.size());
  };
  for (const OutputLeaf& leaf : image.output_aliases) {
    valid &= !leaf.aliased_parameter.has_value() || is_parameter(*leaf.aliased_parameter);
  }
  for (int64_t leaf : image.donated_parameters) valid &= is_parameter(leaf);
  if (!valid) return InvalidArgument("the image of an executable is incomplete or contradicts itself");
  return read;
}

}  // namespace kiln::cpu
