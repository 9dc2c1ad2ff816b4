#include "src/hlo/attribute_printer.h"

#include <algorithm>
#include <functional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/hlo/attribute_fields.h"
#include "src/hlo/carried_text.h"
#include "src/hlo/computation.h"
#include "src/hlo/literal_text.h"

namespace kiln::hlo {
namespace {

// "{a, b}" of the texts that `text` makes of the elements.
template <typename List, typename Text>
std::string Braced(const List& list, absl::string_view separator, const Text& text) {
  return absl::StrCat(
      "{", absl::StrJoin(list, separator, [&](std::string* out, const auto& x) { absl::StrAppend(out, text(x)); }),
      "}");
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

std::string Name(const Computation* computation) { return "%" + computation->name(); }

std::string WindowPart(const Window& window, absl::string_view name, bool always,
                       const std::function<std::string(const WindowDimension&)>& value, absl::string_view neutral) {
  std::vector<std::string> parts;
  for (const WindowDimension& dimension : window) parts.push_back(value(dimension));
  if (!always && std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return part == neutral; })) {
    return "";
  }
  return absl::StrCat(name, "=", absl::StrJoin(parts, "x"));
}

// Writes ", name=value" parts: for DescribeAttributes, and those that are no attributes of the opcode.
class AttributeWriter {
 public:
  static constexpr bool kReads = false;
  static constexpr bool kByNumber = false;

  AttributeWriter(const Instruction& instruction, std::string* text) : instruction_(instruction), text_(text) {}

  void Text(absl::string_view name, absl::string_view value) { absl::StrAppend(text_, ", ", name, "=", value); }

  void operator()(Field field, int64_t value) { Put(field, value == field.absent, absl::StrCat(value)); }
  void operator()(Field field, bool value) { Put(field, !value, value ? "true" : "false"); }
  void operator()(Field field, float value) { Put(field, false, FloatToText(value)); }
  void operator()(Field field, const std::string& value) { Put(field, value.empty(), Quoted(value)); }
  void operator()(Field field, const DimensionVector& value) { Put(field, value.empty(), IndexText(value)); }
  void operator()(Field field, const Shape& value) { Put(field, false, value.ToString()); }
  void operator()(Field field, const std::vector<Shape>& value) {
    Put(field, value.empty(), Braced(value, ", ", [](const Shape& shape) { return shape.ToString(); }));
  }
  void operator()(Field field, const std::vector<Precision>& value) {
    const bool plain = std::count(value.begin(), value.end(), Precision::kDefault) == std::ssize(value);
    Put(field, plain, Braced(value, ",", [](Precision p) { return EnumToName(kPrecisionNames, p); }));
  }
  void operator()(Field field, const Window& value) { Put(field, value.empty(), WindowText(value)); }
  void operator()(Field field, const ConvolutionAttributes& value) { Put(field, false, DimLabelsText(value)); }
  void operator()(Field field, const SliceAttributes& slice) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < slice.start.size(); ++i) {
      const std::string stride = slice.stride[i] == 1 ? "" : absl::StrCat(":", slice.stride[i]);
      parts.push_back(absl::StrCat("[", slice.start[i], ":", slice.limit[i], stride, "]"));
    }
    Put(field, false, absl::StrCat("{", absl::StrJoin(parts, ", "), "}"));
  }
  void operator()(Field field, const PadAttributes& pad) {
    const bool plain = std::count(pad.interior.begin(), pad.interior.end(), 0) == std::ssize(pad.interior);
    std::vector<std::string> parts;
    for (size_t i = 0; i < pad.low.size(); ++i) {
      parts.push_back(absl::StrCat(pad.low[i], "_", pad.high[i], plain ? "" : absl::StrCat("_", pad.interior[i])));
    }
    Put(field, false, absl::StrJoin(parts, "x"));
  }
  void operator()(Field field, const std::vector<OutputOperandAlias>& value) {
    Put(field, value.empty(), Braced(value, ", ", [](const OutputOperandAlias& alias) {
          return absl::StrCat(IndexText(alias.output_index), ": (", alias.operand, ", ", IndexText(alias.operand_index),
                              ")");
        }));
  }
  void operator()(Field field, const std::vector<std::vector<int64_t>>& groups) {
    Put(field, groups.empty(), Braced(groups, ",", [](const std::vector<int64_t>& group) {
          return absl::StrCat("{", absl::StrJoin(group, ","), "}");
        }));
  }
  void operator()(Field field, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
    Put(field, pairs.empty(),
        Braced(pairs, ",", [](const auto& pair) { return absl::StrCat("{", pair.first, ",", pair.second, "}"); }));
  }
  void operator()(Field field, const ResultAccuracyAttributes& accuracy) {
    const std::string tolerance = absl::StrCat("{tolerance={atol=", DoubleToText(accuracy.atol),
                                               ",rtol=", DoubleToText(accuracy.rtol), ",ulps=", accuracy.ulps, "}}");
    Put(field, false, accuracy.highest ? "{mode=highest}" : tolerance);
  }
  void operator()(Field, const Literal&) {}  // stands between the parentheses

  void Dimension(Field field, int64_t value) {
    // An exchange of parts, and a ragged one, has none.
    const bool parts = instruction_.shape().IsTuple() || instruction_.opcode() == Opcode::kRaggedAllToAll;
    if (field.needed || !parts) (*this)(Needed(field.text, 0), DimensionVector{value});
  }
  template <typename Enum, size_t kSize>
  void Word(Field field, absl::string_view, const EnumName<Enum> (&names)[kSize], Enum value) {
    Put(field, static_cast<int64_t>(value) == field.absent, std::string(EnumToName(names, value)));
  }
  template <typename Enum, size_t kSize>
  void Number(Field field, absl::string_view what, const EnumName<Enum> (&names)[kSize], Enum value) {
    Word(field, what, names, value);
  }
  template <typename Fields>
  void Inside(uint32_t, const Fields& describe) {
    describe();
  }

 private:
  void Put(const Field& field, bool says_nothing, const std::string& value) {
    if (!field.text.empty() && (field.always || !says_nothing)) Text(field.text, value);
  }

  const Instruction& instruction_;
  std::string* text_;
};

void AppendCalledComputations(const Instruction& instruction, AttributeWriter* out) {
  const absl::Span<Computation* const> called = instruction.called_computations();
  if (called.empty()) return;
  const auto one = [&](absl::string_view name, size_t index) {
    if (index < called.size()) out->Text(name, Name(called[index]));
  };
  switch (instruction.opcode()) {
    case Opcode::kWhile:
      one("condition", 1);
      one("body", 0);
      break;
    case Opcode::kConditional:
      if (called.size() == 2 && instruction.operand_count() > 0 &&
          instruction.operand(0)->shape().element_type() == PrimitiveType::kPred) {
        one("true_computation", 0);
        one("false_computation", 1);
      } else {
        out->Text("branch_computations", Braced(called, ", ", Name));
      }
      break;
    case Opcode::kSelectAndScatter:
      one("select", 0);
      one("scatter", 1);
      break;
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      one("calls", 0);
      break;
    case Opcode::kCustomCall:
      if (called.size() == 1) {
        one("to_apply", 0);
      } else {
        out->Text("called_computations", Braced(called, ", ", Name));
      }
      break;
    default:
      one("to_apply", 0);
  }
}

}  // namespace

std::string IndexText(const DimensionVector& index) { return absl::StrCat("{", absl::StrJoin(index, ","), "}"); }

std::string WindowText(const Window& window) {
  std::string text = "{";
  auto append = [&](const std::string& part) {
    if (!part.empty()) absl::StrAppend(&text, text.size() > 1 ? " " : "", part);
  };
  append(WindowPart(
      window, "size", true, [](const auto& d) { return absl::StrCat(d.size); }, ""));
  append(WindowPart(
      window, "stride", false, [](const auto& d) { return absl::StrCat(d.stride); }, "1"));
  append(WindowPart(
      window, "pad", false, [](const auto& d) { return absl::StrCat(d.padding_low, "_", d.padding_high); }, "0_0"));
  append(WindowPart(
      window, "lhs_dilate", false, [](const auto& d) { return absl::StrCat(d.base_dilation); }, "1"));
  append(WindowPart(
      window, "rhs_dilate", false, [](const auto& d) { return absl::StrCat(d.window_dilation); }, "1"));
  append(WindowPart(
      window, "rhs_reversal", false, [](const auto& d) { return d.reversal ? "1" : "0"; }, "0"));
  return text + "}";
}

std::string DimLabelsText(const ConvolutionAttributes& convolution) {
  auto labels = [](int64_t first, char first_label, int64_t second, char second_label, const DimensionVector& spatial) {
    int64_t rank = std::max(first, second) + 1;
    for (int64_t dimension : spatial) rank = std::max(rank, dimension + 1);
    std::vector<std::string> parts(rank, "?");
    parts[first] = first_label;
    parts[second] = second_label;
    for (size_t i = 0; i < spatial.size(); ++i) parts[spatial[i]] = absl::StrCat(i);
    return absl::StrJoin(parts, "");
  };
  return absl::StrCat(
      labels(convolution.input_batch, 'b', convolution.input_feature, 'f', convolution.input_spatial), "_",
      labels(convolution.kernel_input_feature, 'i', convolution.kernel_output_feature, 'o', convolution.kernel_spatial),
      "->", labels(convolution.output_batch, 'b', convolution.output_feature, 'f', convolution.output_spatial));
}

void AppendOpcodeAttributes(const Instruction& instruction, std::string* text) {
  AttributeWriter out(instruction, text);
  const bool is_call = instruction.opcode() == Opcode::kCall;
  if (is_call) AppendCalledComputations(instruction, &out);
  if (!instruction.IsConstant()) {
    Attributes attributes = instruction.attributes();
    DescribeAttributes(out, instruction.opcode(), attributes);
  }
  if (!is_call) AppendCalledComputations(instruction, &out);
  for (const auto& [name, value] : instruction.carried_attributes()) out.Text(name, value);
}

void AppendCommonAttributes(const Instruction& instruction, bool metadata, std::string* text) {
  AttributeWriter out(instruction, text);
  if (!instruction.sharding().empty()) out.Text("sharding", BracedOrQuoted(instruction.sharding()));
  if (!instruction.frontend_attributes().empty()) {
    out.Text("frontend_attributes", DictionaryText(instruction.frontend_attributes()));
  }
  if (!instruction.control_predecessors().empty()) {
    out.Text("control-predecessors", Braced(instruction.control_predecessors(), ", ",
                                            [](const Instruction* before) { return "%" + before->name(); }));
  }
  const Metadata& data = instruction.metadata();
  if (metadata && data != Metadata()) {
    std::string fields;
    auto append = [&](absl::string_view name, const std::string& value) {
      absl::StrAppend(&fields, fields.empty() ? "" : " ", name, "=", value);
    };
    if (!data.op_type.empty()) append("op_type", Quoted(data.op_type));
    if (!data.op_name.empty()) append("op_name", Quoted(data.op_name));
    if (!data.source_file.empty()) append("source_file", Quoted(data.source_file));
    if (data.source_line != 0) append("source_line", absl::StrCat(data.source_line));
    if (data.source_column != 0) append("source_column", absl::StrCat(data.source_column));
    out.Text("metadata", absl::StrCat("{", fields, "}"));
  }
  if (!instruction.backend_config().empty()) out.Text("backend_config", BracedOrQuoted(instruction.backend_config()));
}

}  // namespace kiln::hlo
