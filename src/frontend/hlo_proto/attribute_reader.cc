// The attributes of instructions from the fields of HloInstructionProto.
#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "src/frontend/hlo_proto/reader.h"
#include "src/frontend/hlo_text/replica_groups_parser.h"
#include "src/hlo/attribute_fields.h"
#include "src/hlo/shape_inference.h"

namespace kiln::hlo_proto {
namespace {

using hlo::DimensionVector;
using hlo::Field;

// Keeps the first error, so that structs are filled in one go.
class FieldReader {
 public:
  static constexpr bool kReads = true;
  static constexpr bool kByNumber = false;

  explicit FieldReader(const Fields& proto) : messages_({proto}) {}

  absl::Status status() const {
    KILN_RETURN_IF_ERROR(status_);
    return messages_[0].status();
  }

  void operator()(Field field, int64_t& value) {
    if (field.proto != 0) value = top().Int(field.proto);
  }
  void operator()(Field field, bool& value) {
    if (field.proto != 0) value = top().Bool(field.proto);
  }
  void operator()(Field field, float& value) { value = top().Float(field.proto); }
  void operator()(Field field, std::string& value) { value = top().String(field.proto); }
  void operator()(Field field, DimensionVector& value) { value = List(top(), field.proto); }
  void operator()(Field field, hlo::Shape& value) { Keep(ReadShape(top().Bytes(field.proto)), &value); }
  void operator()(Field field, hlo::Literal& value) { Keep(ReadLiteral(top().Bytes(field.proto)), &value); }
  void operator()(Field field, std::vector<hlo::Shape>& value) {
    for (absl::string_view bytes : top().All(field.proto)) Keep(ReadShape(bytes), &value.emplace_back());
  }
  void operator()(Field field, std::vector<hlo::Precision>& value) {
    for (int64_t number : top().Ints(field.proto)) {
      if (number < 0 || number > 2) Check(InvalidArgument("unknown operand precision ", number));
      value.push_back(static_cast<hlo::Precision>(number));
    }
    // All default is the same as saying nothing.
    if (std::count(value.begin(), value.end(), hlo::Precision::kDefault) == std::ssize(value)) value.clear();
  }
  void operator()(Field field, hlo::Window& window) {
    Inside(field.proto, [&] {
      ForEach(1, [&](const Fields& entry) {
        window.push_back(
            {entry.Int(1), entry.Int(2), entry.Int(3), entry.Int(4), entry.Int(5), entry.Int(6), entry.Bool(7)});
      });
    });
  }
  void operator()(Field field, hlo::SliceAttributes& slice) {
    ForEach(field.proto, [&](const Fields& entry) {
      slice.start.push_back(entry.Int(1));
      slice.limit.push_back(entry.Int(2));
      slice.stride.push_back(entry.Int(3));
    });
  }
  void operator()(Field field, hlo::PadAttributes& pad) {
    Inside(field.proto, [&] {
      ForEach(1, [&](const Fields& entry) {
        pad.low.push_back(entry.Int(1));
        pad.high.push_back(entry.Int(2));
        pad.interior.push_back(entry.Int(3));
      });
    });
  }
  void operator()(Field, hlo::ConvolutionAttributes&) {}
  void operator()(Field field, std::vector<hlo::OutputOperandAlias>& aliases) {
    ForEach(field.proto, [&](const Fields& alias) {
      aliases.push_back({List(alias, 1), alias.Int(2), List(alias, 3)});
    });
  }
  void operator()(Field field, std::vector<std::pair<int64_t, int64_t>>& pairs) {
    ForEach(field.proto, [&](const Fields& pair) { pairs.emplace_back(pair.Int(1), pair.Int(2)); });
  }
  void operator()(Field, std::vector<std::vector<int64_t>>& groups) {
    const Fields devices = top().Message(87);
    for (absl::string_view group : top().Has(87) ? devices.All(1) : top().All(49)) {
      groups.push_back(Fields(group).Ints(1));
    }
    if (top().Has(92)) {
      // The text form of the same, which has a parser.
      const Fields iota = top().Message(92);
      std::string text =
          absl::StrCat("[", iota.Int(1), ",", iota.Int(2), "]<=[", absl::StrJoin(iota.Ints(3), ","), "]");
      if (iota.Has(4)) absl::StrAppend(&text, "T(", absl::StrJoin(iota.Ints(4), ","), ")");
      hlo_text::Lexer lexer(text, "iota_collective_device_list");
      int64_t budget = int64_t{1} << 20;
      Keep(hlo_text::ParseReplicaGroups(lexer, &budget), &groups);
    }
    if (top().Has(93)) Check(Unimplemented("replica groups by mesh axes are not supported"));
  }
  void operator()(Field field, hlo::ResultAccuracyAttributes& value) {
    const Fields accuracy = top().Message(field.proto);
    const Fields tolerance = accuracy.Message(2);
    value = {tolerance.Double(1), tolerance.Double(2), tolerance.Int(3), accuracy.Int(1) == 1};
    Check(tolerance.status());
  }

  void Dimension(Field field, int64_t& value) {
    if (!field.needed && !field.text.empty() && !top().Has(field.proto)) return;
    const DimensionVector dimensions = List(top(), field.proto);
    if (dimensions.size() == 1) {
      value = dimensions[0];
    } else {
      Check(InvalidArgument("expected one entry in 'dimensions', found ", dimensions.size()));
    }
  }
  template <typename Enum, size_t kSize>
  void Number(Field field, absl::string_view what, const hlo::EnumName<Enum> (&names)[kSize], Enum& value) {
    const int64_t number = top().Int(field.proto);
    value = static_cast<Enum>(number);
    if (static_cast<int64_t>(value) != number || hlo::EnumToName(names, value).empty()) {
      Check(InvalidArgument("unknown ", what, " ", number));
    }
  }
  template <typename Enum, size_t kSize>
  void Word(Field field, absl::string_view what, const hlo::EnumName<Enum> (&names)[kSize], Enum& value) {
    const absl::string_view word = top().Bytes(field.proto);
    if (word.empty() && !field.needed) return;
    const std::optional<Enum> known = hlo::EnumFromName(names, word);
    if (known.has_value()) value = *known;
    if (!known.has_value()) Check(InvalidArgument("unknown ", what, " '", word, "'"));
  }
  template <typename Describe>
  void Inside(uint32_t number, const Describe& describe) {
    messages_.push_back(top().Message(number));
    describe();
    Check(top().status());
    messages_.pop_back();
  }

 private:
  const Fields& top() const { return messages_.back(); }
  void Check(const absl::Status& status) { status_.Update(status); }
  DimensionVector List(const Fields& message, uint32_t field) {
    const std::vector<int64_t> values = message.Ints(field);
    Check(message.status());
    return DimensionVector(values.begin(), values.end());
  }
  template <typename T>
  void Keep(absl::StatusOr<T> read, T* value) {
    Check(read.status());
    if (read.ok()) *value = *std::move(read);
  }
  template <typename Read>
  void ForEach(uint32_t field, const Read& read) {
    for (absl::string_view bytes : top().All(field)) {
      const Fields entry(bytes);
      read(entry);
      Check(entry.status());
    }
  }

  std::vector<Fields> messages_;  // The instruction, and the submessages being read.
  absl::Status status_;
};

}  // namespace

absl::StatusOr<hlo::Attributes> ReadAttributes(const Fields& proto, hlo::Opcode opcode) {
  hlo::Attributes attributes = hlo::EmptyAttributes(opcode);
  FieldReader reader(proto);
  hlo::DescribeAttributes(reader, opcode, attributes);
  KILN_RETURN_IF_ERROR(reader.status());
  if (auto* convolution = attributes.GetMutable<hlo::ConvolutionAttributes>()) {
    // 0 means 1.
    convolution->feature_group_count = std::max<int64_t>(convolution->feature_group_count, 1);
    convolution->batch_group_count = std::max<int64_t>(convolution->batch_group_count, 1);
  }
  // Files from before there were versions have none.
  auto* call = attributes.GetMutable<hlo::CustomCallAttributes>();
  if (call != nullptr && !proto.Has(77)) call->api_version = hlo::CustomCallApiVersion::kOriginal;
  return attributes;
}

std::string ShardingText(absl::string_view bytes, int depth) {
  constexpr int kMaxDepth = 64;
  const Fields sharding(bytes);
  constexpr absl::string_view kTypes[] = {"replicated", "maximal", "tuple", "other", "manual", "unknown", "unreduced"};
  const int64_t type = sharding.Int(1);
  if (type == 1) {
    const std::vector<int64_t> devices = sharding.Ints(4);
    return absl::StrCat("{maximal device=", devices.empty() ? 0 : devices[0], "}");
  }
  if (type == 2) {
    std::vector<std::string> parts;
    for (absl::string_view part : sharding.All(5)) {
      if (depth < kMaxDepth) parts.push_back(ShardingText(part, depth + 1));
    }
    return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
  }
  if (type >= 0 && type <= 6 && type != 3) return absl::StrCat("{", kTypes[type], "}");
  std::string text = absl::StrCat("{devices=[", absl::StrJoin(sharding.Ints(3), ","), "]");
  if (sharding.Has(9)) {
    absl::StrAppend(&text, "<=[", absl::StrJoin(sharding.Ints(9), ","), "]");
    if (sharding.Ints(10).size() > 1) absl::StrAppend(&text, "T(", absl::StrJoin(sharding.Ints(10), ","), ")");
  } else {
    absl::StrAppend(&text, absl::StrJoin(sharding.Ints(4), ","));
  }
  if (sharding.Bool(6)) absl::StrAppend(&text, " last_tile_dim_replicate");
  std::vector<absl::string_view> last;
  for (int64_t dim : sharding.Ints(8)) last.push_back(kTypes[dim >= 0 && dim <= 6 ? dim : 5]);
  if (!last.empty()) absl::StrAppend(&text, " last_tile_dims={", absl::StrJoin(last, ", "), "}");
  return absl::StrCat(text, "}");
}

}  // namespace kiln::hlo_proto
