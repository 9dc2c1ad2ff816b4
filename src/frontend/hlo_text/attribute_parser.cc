#include "src/frontend/hlo_text/attribute_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/frontend/hlo_text/replica_groups_parser.h"
#include "src/frontend/hlo_text/shape_parser.h"
#include "src/frontend/hlo_text/window_parser.h"
#include "src/hlo/attribute_fields.h"
#include "src/hlo/carried_text.h"

namespace kiln::hlo_text {
namespace {

using hlo::Field;
using hlo::Opcode;

absl::StatusOr<NameReference> ParseName(Lexer& lexer, absl::string_view what) {
  NameReference reference;
  reference.offset = lexer.offset();
  KILN_ASSIGN_OR_RETURN(reference.name, lexer.Name(what));
  return reference;
}

absl::StatusOr<std::vector<NameReference>> ParseNames(Lexer& lexer, absl::string_view what) {
  std::vector<NameReference> names;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(names.emplace_back(), ParseName(lexer, what));
    return absl::OkStatus();
  }));
  return names;
}

absl::StatusOr<std::vector<hlo::Precision>> ParsePrecisions(Lexer& lexer) {
  KILN_ASSIGN_OR_RETURN(std::vector<NameReference> names, ParseNames(lexer, "a precision"));
  std::vector<hlo::Precision> precisions;
  for (const NameReference& reference : names) {
    std::optional<hlo::Precision> precision = hlo::EnumFromName(hlo::kPrecisionNames, reference.name);
    if (!precision.has_value()) {
      return lexer.Error(reference.offset,
                         absl::StrCat("expected default, high or highest, found '", reference.name, "'"));
    }
    precisions.push_back(*precision);
  }
  return precisions;
}

absl::StatusOr<std::vector<hlo::Shape>> ParseShapes(Lexer& lexer) {
  std::vector<hlo::Shape> shapes;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(shapes.emplace_back(), ParseShape(lexer));
    return absl::OkStatus();
  }));
  return shapes;
}

// {{0}: (0, {}), {1}: (2, {0})}
absl::StatusOr<std::vector<hlo::OutputOperandAlias>> ParseAliases(Lexer& lexer) {
  std::vector<hlo::OutputOperandAlias> aliases;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    hlo::OutputOperandAlias& alias = aliases.emplace_back();
    KILN_ASSIGN_OR_RETURN(alias.output_index, ParseIndexList(lexer));
    KILN_RETURN_IF_ERROR(lexer.Expect(":"));
    KILN_RETURN_IF_ERROR(lexer.Expect("("));
    KILN_ASSIGN_OR_RETURN(alias.operand, lexer.Integer("an operand number"));
    KILN_RETURN_IF_ERROR(lexer.Expect(","));
    KILN_ASSIGN_OR_RETURN(alias.operand_index, ParseIndexList(lexer));
    return lexer.Expect(")");
  }));
  return aliases;
}

// {mode=highest} or {tolerance={atol=0.01,rtol=0,ulps=2}}
absl::StatusOr<hlo::ResultAccuracyAttributes> ParseAccuracy(Lexer& lexer) {
  hlo::ResultAccuracyAttributes accuracy;
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  if (lexer.ConsumeWord("mode")) {
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    if (lexer.ConsumeWord("highest")) {
      accuracy.highest = true;
    } else if (!lexer.ConsumeWord("default")) {
      return lexer.Expected("default or highest");
    }
  } else if (lexer.ConsumeWord("tolerance")) {
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    KILN_RETURN_IF_ERROR(lexer.Expect("{"));
    do {
      if (lexer.ConsumeWord("atol")) {
        KILN_RETURN_IF_ERROR(lexer.Expect("="));
        KILN_ASSIGN_OR_RETURN(accuracy.atol, lexer.Number("atol"));
      } else if (lexer.ConsumeWord("rtol")) {
        KILN_RETURN_IF_ERROR(lexer.Expect("="));
        KILN_ASSIGN_OR_RETURN(accuracy.rtol, lexer.Number("rtol"));
      } else if (lexer.ConsumeWord("ulps")) {
        KILN_RETURN_IF_ERROR(lexer.Expect("="));
        KILN_ASSIGN_OR_RETURN(accuracy.ulps, lexer.Integer("ulps"));
      } else {
        return lexer.Expected("atol, rtol or ulps");
      }
    } while (lexer.Consume(","));
    KILN_RETURN_IF_ERROR(lexer.Expect("}"));
  } else {
    return lexer.Expected("mode or tolerance");
  }
  KILN_RETURN_IF_ERROR(lexer.Expect("}"));
  return accuracy;
}

// A quoted string (unescaped) or a brace form (verbatim).
absl::StatusOr<std::string> ParseText(Lexer& lexer, absl::string_view what) {
  return lexer.Peek() == '{' ? lexer.Braced(what) : lexer.String(what);
}

// Collects the fields of an opcode, and reads the value of the one that is `wanted`.
class FieldReader {
 public:
  static constexpr bool kReads = true;
  static constexpr bool kByNumber = false;

  FieldReader(Lexer& lexer, absl::string_view wanted, int64_t* budget)
      : lexer_(lexer), wanted_(wanted), budget_(budget) {}

  const std::vector<Field>& fields() const { return fields_; }
  bool found() const { return found_; }
  const absl::Status& status() const { return status_; }

  template <typename T>
  void operator()(Field field, T& value) {
    if (!IsWanted(field)) return;
    if constexpr (std::is_same_v<T, hlo::ConvolutionAttributes>) {
      status_ = ParseDimLabels(lexer_, &value);
    } else if constexpr (!std::is_same_v<T, hlo::Literal>) {
      auto parsed = Parse(field.text, &value);
      if (parsed.ok()) value = *std::move(parsed);
      status_ = parsed.status();
    }
  }
  void Dimension(Field field, int64_t& value) {
    if (!IsWanted(field)) return;
    const absl::StatusOr<hlo::DimensionVector> dimensions = ParseIndexList(lexer_);
    status_ = dimensions.status();
    if (status_.ok() && dimensions->size() != 1) Fail("expected one entry in 'dimensions'");
    if (status_.ok()) value = (*dimensions)[0];
  }
  template <typename Enum, size_t kSize>
  void Word(Field field, absl::string_view, const hlo::EnumName<Enum> (&names)[kSize], Enum& value) {
    if (!IsWanted(field)) return;
    const absl::StatusOr<absl::string_view> word = lexer_.Name(absl::StrCat("a value for ", field.text));
    status_ = word.status();
    if (!status_.ok()) return;
    if (const std::optional<Enum> known = hlo::EnumFromName(names, *word)) {
      value = *known;
      return;
    }
    const auto append = [](std::string* out, const auto& entry) { out->append(entry.second); };
    Fail(absl::StrCat("unknown value '", *word, "' of ", field.text, "; expected one of ",
                      absl::StrJoin(names, ", ", append)));
  }
  template <typename Enum, size_t kSize>
  void Number(Field field, absl::string_view what, const hlo::EnumName<Enum> (&names)[kSize], Enum& value) {
    Word(field, what, names, value);
  }
  template <typename Fields>
  void Inside(uint32_t, const Fields& describe) {
    describe();
  }

 private:
  bool IsWanted(Field field) {
    if (field.text.empty()) return false;
    fields_.push_back(field);
    const bool wanted = field.text == wanted_;
    found_ |= wanted;
    return wanted;
  }

  // At the name of the attribute.
  void Fail(absl::string_view message) { status_ = lexer_.Error(wanted_.data() - lexer_.text().data(), message); }

  auto Parse(absl::string_view name, int64_t*) { return lexer_.Integer(name); }
  auto Parse(absl::string_view name, bool*) { return lexer_.Bool(name); }
  auto Parse(absl::string_view name, float*) { return lexer_.Number(name); }
  auto Parse(absl::string_view name, std::string*) { return lexer_.String(name); }
  auto Parse(absl::string_view, hlo::DimensionVector*) { return ParseIndexList(lexer_); }
  auto Parse(absl::string_view, hlo::Window*) { return ParseWindow(lexer_); }
  auto Parse(absl::string_view, hlo::PadAttributes*) { return ParsePadding(lexer_); }
  auto Parse(absl::string_view, hlo::SliceAttributes*) { return ParseSlice(lexer_); }
  auto Parse(absl::string_view, std::vector<hlo::Precision>*) { return ParsePrecisions(lexer_); }
  auto Parse(absl::string_view, hlo::Shape*) { return ParseShape(lexer_); }
  auto Parse(absl::string_view, std::vector<hlo::Shape>*) { return ParseShapes(lexer_); }
  auto Parse(absl::string_view, std::vector<hlo::OutputOperandAlias>*) { return ParseAliases(lexer_); }
  auto Parse(absl::string_view, std::vector<std::vector<int64_t>>*) { return ParseReplicaGroups(lexer_, budget_); }
  auto Parse(absl::string_view, hlo::ResultAccuracyAttributes*) { return ParseAccuracy(lexer_); }
  absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> Parse(absl::string_view name,
                                                                 std::vector<std::pair<int64_t, int64_t>>*) {
    const size_t at = lexer_.offset();
    KILN_ASSIGN_OR_RETURN(const auto lists, ParseNestedIntegers(lexer_));
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const std::vector<int64_t>& list : lists) {
      if (list.size() != 2) return lexer_.Error(at, absl::StrCat(name, " need two entries each"));
      pairs.emplace_back(list[0], list[1]);
    }
    return pairs;
  }

  Lexer& lexer_;
  const absl::string_view wanted_;
  int64_t* const budget_;
  std::vector<Field> fields_;
  bool found_ = false;
  absl::Status status_;
};

// Attributes that name computations, in the IR's order.
absl::string_view CalledNames(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWhile:
      return "body condition";
    case Opcode::kConditional:
      return "true_computation false_computation branch_computations";
    case Opcode::kSelectAndScatter:
      return "select scatter";
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return "calls";
    case Opcode::kCall:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kScan:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kCollectiveReduce:
      return "to_apply";
    case Opcode::kCustomCall:
      return "to_apply called_computations";
    default:
      return "";
  }
}

// Attributes that are kept as text, see Instruction::carried_attributes.
absl::string_view CarriedNames(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kCollectiveReduce:
    case Opcode::kReduceScatter:
      return "mode";
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return "async_execution_thread";
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      return "slice_sizes";
    case Opcode::kConvolution:
      return "convolution_kind sparsity_config";
    case Opcode::kCopyStart:
      return "cross_program_prefetch_index";
    case Opcode::kCustomCall:
      // What convolutions say in a custom call is the target's business.
      return "batch_group_count dim_labels feature_group_count literal operand_precision padding_type schedule window";
    case Opcode::kDomain:
      return "domain";
    case Opcode::kFusion:
      return "output_to_operand_aliasing";
    case Opcode::kReshape:
    case Opcode::kDynamicReshape:
      return "inferred_dimension";
    default:
      return "";
  }
}

bool Contains(absl::Span<const absl::string_view> names, absl::string_view wanted) {
  return std::find(names.begin(), names.end(), wanted) != names.end();
}
std::vector<absl::string_view> Split(absl::string_view names) { return absl::StrSplit(names, ' ', absl::SkipEmpty()); }

}  // namespace

std::vector<NameReference> CalledComputations(const ParsedInstruction& instruction) {
  std::vector<NameReference> all;
  const Opcode opcode = instruction.wrapped.value_or(instruction.opcode);
  if (opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) return all;
  const bool by_index = opcode == Opcode::kConditional && Contains(instruction.given, "branch_computations");
  for (absl::string_view name : Split(CalledNames(opcode))) {
    for (const auto& [given, references] : instruction.called) {
      if (given != name || (by_index && name != "branch_computations")) continue;
      all.insert(all.end(), references.begin(), references.end());
    }
  }
  return all;
}

absl::StatusOr<hlo::DimensionVector> ParseIndexList(Lexer& lexer) {
  hlo::DimensionVector values;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(values.emplace_back(), lexer.Integer("an integer"));
    return absl::OkStatus();
  }));
  return values;
}

absl::StatusOr<std::string> ParseVerbatim(Lexer& lexer, absl::string_view what) {
  const size_t start = lexer.offset();
  const absl::string_view text = lexer.text();
  size_t end = start;
  int64_t depth = 0;
  while (end < text.size()) {
    const char c = text[end];
    if (c == '"') {
      const size_t length = hlo::QuotedLength(text.substr(end));
      if (length == 0) return lexer.Error(end, absl::StrCat("unterminated string in ", what));
      end += length;
      continue;
    }
    if (c == '{' || c == '(' || c == '[') ++depth;
    if (c == '}' || c == ')' || c == ']') {
      if (depth == 0) break;
      --depth;
    }
    if (depth == 0 && (c == ',' || c == '\n' || c == '\r')) break;
    ++end;
  }
  if (depth != 0) return lexer.Error(start, absl::StrCat("unbalanced brackets in ", what));
  lexer.Rewind(end);
  const absl::string_view value = absl::StripAsciiWhitespace(text.substr(start, end - start));
  if (value.empty()) return lexer.Expected(absl::StrCat("a value for ", what));
  return std::string(value);
}

absl::StatusOr<std::map<std::string, std::string>> ParseDictionary(Lexer& lexer) {
  std::map<std::string, std::string> dictionary;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    const size_t at = lexer.offset();
    KILN_ASSIGN_OR_RETURN(absl::string_view key, lexer.Name("an attribute name"));
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    KILN_ASSIGN_OR_RETURN(std::string value, ParseText(lexer, key));
    if (dictionary.emplace(key, std::move(value)).second) return absl::OkStatus();
    return lexer.Error(at, absl::StrCat("'", key, "' is given twice"));
  }));
  return dictionary;
}

absl::Status AttributeParser::Parse(ParsedInstruction* instruction) {
  const size_t at = lexer_.offset();
  KILN_ASSIGN_OR_RETURN(absl::string_view name, lexer_.Name("an attribute name"));
  KILN_RETURN_IF_ERROR(lexer_.Expect("="));
  KILN_ASSIGN_OR_RETURN(bool known, ParseCommon(name, instruction));
  if (known) return absl::OkStatus();
  if (Contains(instruction->given, name)) {
    return lexer_.Error(at, absl::StrCat("attribute '", name, "' is given twice"));
  }
  KILN_ASSIGN_OR_RETURN(known, ParseOwn(name, instruction));
  instruction->given.push_back(name);
  if (known) return absl::OkStatus();
  const Opcode opcode = instruction->wrapped.value_or(instruction->opcode);
  FieldReader reader(lexer_, "", &expansion_budget_);
  DescribeAttributes(reader, opcode, instruction->attributes);
  std::vector<absl::string_view> names = Split(CalledNames(opcode));
  for (absl::string_view carried : Split(CarriedNames(opcode))) names.push_back(carried);
  for (const Field& field : reader.fields()) names.push_back(field.text);
  std::sort(names.begin(), names.end());
  return lexer_.Error(at, absl::StrCat("unknown attribute '", name, "' of ", hlo::OpcodeName(opcode), "; it takes ",
                                       names.empty() ? "none of its own" : absl::StrJoin(names, ", ")));
}

absl::StatusOr<bool> AttributeParser::ParseOwn(absl::string_view name, ParsedInstruction* instruction) {
  // "negate-start(...)": attributes of the start itself, then those of the operation inside.
  for (const Opcode opcode : {instruction->opcode, instruction->wrapped.value_or(instruction->opcode)}) {
    if (Contains(Split(CarriedNames(opcode)), name)) {
      KILN_ASSIGN_OR_RETURN(std::string text, ParseVerbatim(lexer_, name));
      // The default mode of collectives says nothing.
      if (name != "mode" || !absl::EqualsIgnoreCase(text, "default")) {
        instruction->carried_attributes.emplace(name, std::move(text));
      }
      return true;
    }
    if (!Contains(Split(CalledNames(opcode)), name)) continue;
    std::vector<NameReference> references;
    if (absl::EndsWith(name, "_computations")) {
      KILN_ASSIGN_OR_RETURN(references, ParseNames(lexer_, "a computation name"));
    } else {
      KILN_ASSIGN_OR_RETURN(references.emplace_back(), ParseName(lexer_, "a computation name"));
    }
    instruction->called.emplace_back(name, std::move(references));
    return true;
  }
  FieldReader reader(lexer_, name, &expansion_budget_);
  instruction->attributes.VisitMutable(
      [&](auto& family) { Describe(reader, instruction->wrapped.value_or(instruction->opcode), family); });
  KILN_RETURN_IF_ERROR(reader.status());
  return reader.found();
}

absl::Status AttributeParser::Finish(ParsedInstruction* instruction) const {
  const Opcode opcode = instruction->wrapped.value_or(instruction->opcode);
  FieldReader reader(lexer_, "", nullptr);
  DescribeAttributes(reader, opcode, instruction->attributes);
  std::vector<absl::string_view> needed;
  for (const Field& field : reader.fields()) {
    if (field.needed) needed.push_back(field.text);
  }
  const bool may_lack = opcode == Opcode::kCustomCall || opcode == Opcode::kAsyncUpdate ||
                        opcode == Opcode::kAsyncDone || Contains(instruction->given, "branch_computations");
  for (absl::string_view name : Split(may_lack ? "" : CalledNames(opcode))) {
    if (name != "branch_computations") needed.push_back(name);
  }
  for (absl::string_view name : needed) {
    if (Contains(instruction->given, name)) continue;
    return lexer_.Error(instruction->offset,
                        absl::StrCat(hlo::OpcodeName(opcode), " needs the attribute '", name, "'"));
  }
  if (auto* call = instruction->attributes.GetMutable<hlo::CustomCallAttributes>()) {
    call->has_layout_constraints = Contains(instruction->given, "operand_layout_constraints");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> AttributeParser::ParseCommon(absl::string_view name, ParsedInstruction* instruction) {
  if (name == "metadata") {
    KILN_RETURN_IF_ERROR(ParseMetadata(&instruction->metadata));
  } else if (name == "sharding") {
    KILN_ASSIGN_OR_RETURN(instruction->sharding, ParseText(lexer_, name));
  } else if (name == "backend_config") {
    KILN_ASSIGN_OR_RETURN(instruction->backend_config, ParseText(lexer_, name));
  } else if (name == "frontend_attributes") {
    KILN_ASSIGN_OR_RETURN(instruction->frontend_attributes, ParseDictionary(lexer_));
  } else if (name == "control-predecessors") {
    KILN_ASSIGN_OR_RETURN(instruction->control_predecessors, ParseNames(lexer_, "an instruction name"));
  } else if (name == "parameter_replication") {
    KILN_ASSIGN_OR_RETURN(instruction->carried_attributes[std::string(name)], lexer_.Braced(name));
  } else if (name == "statistics" || name == "origin") {
    // Left by other tools' passes; they say nothing about the program.
    KILN_RETURN_IF_ERROR(lexer_.Braced(name).status());
  } else {
    return false;
  }
  return true;
}

absl::Status AttributeParser::ParseMetadata(hlo::Metadata* metadata) {
  KILN_RETURN_IF_ERROR(lexer_.Expect("{"));
  while (!lexer_.Consume("}")) {
    const size_t at = lexer_.offset();
    KILN_ASSIGN_OR_RETURN(absl::string_view name, lexer_.Name("a metadata field or '}'"));
    KILN_RETURN_IF_ERROR(lexer_.Expect("="));
    if (name == "op_type") {
      KILN_ASSIGN_OR_RETURN(metadata->op_type, lexer_.String(name));
    } else if (name == "op_name") {
      KILN_ASSIGN_OR_RETURN(metadata->op_name, lexer_.String(name));
    } else if (name == "source_file") {
      KILN_ASSIGN_OR_RETURN(metadata->source_file, lexer_.String(name));
    } else if (name == "source_line") {
      KILN_ASSIGN_OR_RETURN(metadata->source_line, lexer_.Integer(name));
    } else if (name == "source_column") {
      KILN_ASSIGN_OR_RETURN(metadata->source_column, lexer_.Integer(name));
    } else if (name == "stack_frame_id") {
      KILN_ASSIGN_OR_RETURN(int64_t frame, lexer_.Integer(name));
      if (metadata->source_file.empty()) frames_.Resolve(frame, metadata);
    } else if (name == "source_end_line" || name == "source_end_column") {
      KILN_RETURN_IF_ERROR(lexer_.Integer(name).status());
    } else if (name == "deduplicated_name" || name == "scheduling_name") {
      KILN_RETURN_IF_ERROR(lexer_.String(name).status());
    } else if (name == "profile_type" || name == "metadata_payload") {
      KILN_RETURN_IF_ERROR(ParseText(lexer_, name).status());
    } else {
      return lexer_.Error(at, absl::StrCat("unknown metadata field '", name, "'"));
    }
  }
  return absl::OkStatus();
}

}  // namespace kiln::hlo_text
