// The fields of HloInstructionProto that attributes fill.
#include <variant>

#include "src/frontend/hlo_proto/writer.h"
#include "src/hlo/attribute_fields.h"

namespace kiln::hlo_proto {
namespace {

using hlo::Field;

class FieldWriter {
 public:
  static constexpr bool kReads = false;
  static constexpr bool kByNumber = true;

  FieldWriter(const hlo::Instruction& instruction, WireWriter* proto) : instruction_(instruction), proto_(proto) {}

  void operator()(Field field, int64_t value) {
    if (field.proto != 0) proto_->Int64(field.proto, value);
  }
  void operator()(Field field, bool value) {
    if (field.proto != 0) proto_->Bool(field.proto, value);
  }
  void operator()(Field field, float value) { proto_->Float(field.proto, value); }
  void operator()(Field field, const std::string& value) { proto_->String(field.proto, value); }
  void operator()(Field field, const hlo::DimensionVector& value) { proto_->Integers(field.proto, value); }
  void operator()(Field field, const hlo::Shape& value) { proto_->Message(field.proto, ShapeProto(value)); }
  void operator()(Field field, const hlo::Literal& value) { proto_->Message(field.proto, LiteralProto(value)); }
  void operator()(Field field, const std::vector<hlo::Shape>& value) {
    for (const hlo::Shape& shape : value) proto_->Message(field.proto, ShapeProto(shape));
  }
  // One precision per operand, as readers expect, whether the program names them or not.
  void operator()(Field field, const std::vector<hlo::Precision>& value) {
    std::vector<int> numbers;
    for (hlo::Precision precision : value) numbers.push_back(static_cast<int>(precision));
    if (numbers.empty()) numbers.assign(2, 0);
    proto_->Integers(field.proto, numbers);
  }
  void operator()(Field field, const hlo::Window& window) {
    Inside(field.proto, [&] {
      for (const hlo::WindowDimension& dimension : window) {
        Inside(1, [&] {
          proto_->Int64(1, dimension.size);
          proto_->Int64(2, dimension.stride);
          proto_->Int64(3, dimension.padding_low);
          proto_->Int64(4, dimension.padding_high);
          proto_->Int64(5, dimension.window_dilation);
          proto_->Int64(6, dimension.base_dilation);
          proto_->Bool(7, dimension.reversal);
        });
      }
    });
  }
  void operator()(Field field, const hlo::SliceAttributes& slice) {
    Triples(field.proto, slice.start, slice.limit, slice.stride);
  }
  void operator()(Field field, const hlo::PadAttributes& pad) {
    Inside(field.proto, [&] { Triples(1, pad.low, pad.high, pad.interior); });
  }
  void operator()(Field, const hlo::ConvolutionAttributes&) {}
  void operator()(Field field, const std::vector<hlo::OutputOperandAlias>& aliases) {
    for (const hlo::OutputOperandAlias& alias : aliases) {
      Inside(field.proto, [&] {
        proto_->Integers(1, alias.output_index);
        proto_->Int64(2, alias.operand);
        proto_->Integers(3, alias.operand_index);
      });
    }
  }
  void operator()(Field field, const std::vector<std::vector<int64_t>>& groups) {
    if (groups.empty()) return;
    Inside(field.proto, [&] {
      for (const std::vector<int64_t>& group : groups) Inside(1, [&] { proto_->Integers(1, group); });
    });
  }
  void operator()(Field field, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
    for (const auto& pair : pairs) {
      Inside(field.proto, [&] {
        proto_->Int64(1, pair.first);
        proto_->Int64(2, pair.second);
      });
    }
  }
  void operator()(Field field, const hlo::ResultAccuracyAttributes& value) {
    Inside(field.proto, [&] {
      if (value.highest) return proto_->Int64(1, 1);
      Inside(2, [&] {
        proto_->Double(1, value.atol);
        proto_->Double(2, value.rtol);
        proto_->Int64(3, value.ulps);
      });
    });
  }

  void Dimension(Field field, int64_t value) {
    // An exchange of parts, and a ragged one, has none.
    const bool parts = instruction_.shape().IsTuple() || instruction_.opcode() == hlo::Opcode::kRaggedAllToAll;
    if (field.needed || field.text.empty() || !parts) proto_->Integers(field.proto, hlo::DimensionVector{value});
  }
  template <typename Enum, size_t kSize>
  void Number(Field field, absl::string_view, const hlo::EnumName<Enum> (&)[kSize], Enum value) {
    proto_->Int64(field.proto, static_cast<int64_t>(value));
  }
  template <typename Enum, size_t kSize>
  void Word(Field field, absl::string_view, const hlo::EnumName<Enum> (&names)[kSize], Enum value) {
    proto_->String(field.proto, hlo::EnumToName(names, value));
  }
  template <typename Describe>
  void Inside(uint32_t number, const Describe& describe) {
    WireWriter message;
    WireWriter* const outer = std::exchange(proto_, &message);
    describe();
    proto_ = outer;
    proto_->Message(number, message);
  }

 private:
  void Triples(uint32_t number, const hlo::DimensionVector& a, const hlo::DimensionVector& b,
               const hlo::DimensionVector& c) {
    for (size_t i = 0; i < a.size(); ++i) {
      Inside(number, [&] {
        proto_->Int64(1, a[i]);
        proto_->Int64(2, b[i]);
        proto_->Int64(3, c[i]);
      });
    }
  }

  const hlo::Instruction& instruction_;
  WireWriter* proto_;
};

}  // namespace

hlo::ComparisonType DefaultComparison(hlo::PrimitiveType type) {
  if (hlo::IsFloating(type) || hlo::IsComplex(type)) return hlo::ComparisonType::kFloat;
  return hlo::IsSignedIntegral(type) ? hlo::ComparisonType::kSigned : hlo::ComparisonType::kUnsigned;
}

void AppendAttributes(const hlo::Instruction& instruction, WireWriter* proto) {
  if (instruction.IsConstant()) return proto->Message(8, LiteralProto(instruction.literal()));
  hlo::Attributes attributes = instruction.attributes();
  auto* compare = attributes.GetMutable<hlo::CompareAttributes>();
  if (compare != nullptr && compare->type == hlo::ComparisonType::kDefault) {
    compare->type = DefaultComparison(instruction.operand(0)->shape().element_type());
  }
  FieldWriter writer(instruction, proto);
  hlo::DescribeAttributes(writer, instruction.opcode(), attributes);
}

}  // namespace kiln::hlo_proto
