#include "src/frontend/hlo_text/attribute_parser.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "src/frontend/hlo_text/attribute_table.h"
#include "src/frontend/hlo_text/replica_groups_parser.h"
#include "src/frontend/hlo_text/shape_parser.h"
#include "src/frontend/hlo_text/window_parser.h"
#include "src/hlo/attribute_names.h"
#include "src/hlo/carried_text.h"

namespace kiln::hlo_text {
namespace {

absl::StatusOr<std::vector<NameReference>> ParseNames(Lexer& lexer, absl::string_view what) {
  std::vector<NameReference> names;
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  if (lexer.Consume("}")) return names;
  do {
    NameReference reference;
    reference.offset = lexer.offset();
    KILN_ASSIGN_OR_RETURN(reference.name, lexer.Name(what));
    names.push_back(reference);
  } while (lexer.Consume(","));
  KILN_RETURN_IF_ERROR(lexer.Expect("}"));
  return names;
}

absl::StatusOr<std::vector<hlo::Precision>> ParsePrecisions(Lexer& lexer) {
  KILN_ASSIGN_OR_RETURN(std::vector<NameReference> names, ParseNames(lexer, "a precision"));
  std::vector<hlo::Precision> precisions;
  for (const NameReference& reference : names) {
    std::optional<hlo::Precision> precision = hlo::EnumFromName(hlo::kPrecisionNames, reference.name);
    if (!precision.has_value()) {
      return lexer.Error(reference.offset, absl::StrCat("expected default, high or highest, found '", reference.name,
                                                        "'"));
    }
    precisions.push_back(*precision);
  }
  return precisions;
}

absl::StatusOr<std::vector<hlo::Shape>> ParseShapes(Lexer& lexer) {
  std::vector<hlo::Shape> shapes;
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  if (lexer.Consume("}")) return shapes;
  do {
    KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ParseShape(lexer));
    shapes.push_back(std::move(shape));
  } while (lexer.Consume(","));
  KILN_RETURN_IF_ERROR(lexer.Expect("}"));
  return shapes;
}

// {{0}: (0, {}), {1}: (2, {0})}
absl::StatusOr<std::vector<hlo::OutputOperandAlias>> ParseAliases(Lexer& lexer) {
  std::vector<hlo::OutputOperandAlias> aliases;
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  if (lexer.Consume("}")) return aliases;
  do {
    hlo::OutputOperandAlias alias;
    KILN_ASSIGN_OR_RETURN(alias.output_index, ParseIndexList(lexer));
    KILN_RETURN_IF_ERROR(lexer.Expect(":"));
    KILN_RETURN_IF_ERROR(lexer.Expect("("));
    KILN_ASSIGN_OR_RETURN(alias.operand, lexer.Integer("an operand number"));
    KILN_RETURN_IF_ERROR(lexer.Expect(","));
    KILN_ASSIGN_OR_RETURN(alias.operand_index, ParseIndexList(lexer));
    KILN_RETURN_IF_ERROR(lexer.Expect(")"));
    aliases.push_back(std::move(alias));
  } while (lexer.Consume(","));
  KILN_RETURN_IF_ERROR(lexer.Expect("}"));
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

// A StatusOr of one alternative as a StatusOr of the variant.
template <typename T>
absl::StatusOr<AttributeValue> Wrap(absl::StatusOr<T> value) {
  if (!value.ok()) return value.status();
  return AttributeValue(*std::move(value));
}

}  // namespace

absl::StatusOr<hlo::DimensionVector> ParseIndexList(Lexer& lexer) {
  hlo::DimensionVector values;
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  if (lexer.Consume("}")) return values;
  do {
    KILN_ASSIGN_OR_RETURN(int64_t value, lexer.Integer("an integer"));
    values.push_back(value);
  } while (lexer.Consume(","));
  KILN_RETURN_IF_ERROR(lexer.Expect("}"));
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
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  if (lexer.Consume("}")) return dictionary;
  do {
    const size_t at = lexer.offset();
    KILN_ASSIGN_OR_RETURN(absl::string_view key, lexer.Name("an attribute name"));
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    KILN_ASSIGN_OR_RETURN(std::string value, ParseText(lexer, key));
    if (!dictionary.emplace(key, std::move(value)).second) {
      return lexer.Error(at, absl::StrCat("'", key, "' is given twice"));
    }
  } while (lexer.Consume(","));
  KILN_RETURN_IF_ERROR(lexer.Expect("}"));
  return dictionary;
}

AttributeParser::AttributeParser(Lexer& lexer, const StackFrames& frames) : lexer_(lexer), frames_(frames) {}

absl::Status AttributeParser::Parse(ParsedInstruction* instruction) {
  const size_t at = lexer_.offset();
  KILN_ASSIGN_OR_RETURN(absl::string_view name, lexer_.Name("an attribute name"));
  KILN_RETURN_IF_ERROR(lexer_.Expect("="));
  KILN_ASSIGN_OR_RETURN(bool common, ParseCommon(name, instruction));
  if (common) return absl::OkStatus();

  // "negate-start(...)": attributes of the start itself, then those of the operation inside.
  hlo::Opcode opcode = instruction->opcode;
  if (instruction->wrapped.has_value() && !TakesAttribute(opcode, name)) opcode = *instruction->wrapped;
  if (!TakesAttribute(opcode, name)) {
    const absl::string_view known = AttributesOf(opcode);
    return lexer_.Error(at, absl::StrCat("unknown attribute '", name, "' of ", hlo::OpcodeName(opcode), "; it takes ",
                                         known.empty() ? "none of its own" : known));
  }
  for (const ParsedAttribute& earlier : instruction->attributes) {
    if (earlier.name == name) return lexer_.Error(at, absl::StrCat("attribute '", name, "' is given twice"));
  }
  const ValueForm form = FormOf(name, opcode);
  if (form == ValueForm::kCarried) {
    KILN_ASSIGN_OR_RETURN(std::string text, ParseVerbatim(lexer_, name));
    // The default mode of collectives says nothing.
    if (name == "mode" && (text == "default" || text == "DEFAULT")) return absl::OkStatus();
    if (!instruction->carried_attributes.emplace(name, std::move(text)).second) {
      return lexer_.Error(at, absl::StrCat("attribute '", name, "' is given twice"));
    }
    return absl::OkStatus();
  }
  auto parse = [&]() -> absl::StatusOr<AttributeValue> {
    switch (form) {
      case ValueForm::kInteger:
        return Wrap(lexer_.Integer(name));
      case ValueForm::kBool:
        return Wrap(lexer_.Bool(name));
      case ValueForm::kFloat:
        return Wrap(lexer_.Number(name));
      case ValueForm::kString:
        return Wrap(lexer_.String(name));
      case ValueForm::kIndexList:
        return Wrap(ParseIndexList(lexer_));
      case ValueForm::kWindow:
        return Wrap(ParseWindow(lexer_));
      case ValueForm::kPadding:
        return Wrap(ParsePadding(lexer_));
      case ValueForm::kSlice:
        return Wrap(ParseSlice(lexer_));
      case ValueForm::kDimLabels:
        return Wrap(ParseDimLabels(lexer_));
      case ValueForm::kPrecisions:
        return Wrap(ParsePrecisions(lexer_));
      case ValueForm::kShapeList:
        return Wrap(ParseShapes(lexer_));
      case ValueForm::kAliases:
        return Wrap(ParseAliases(lexer_));
      case ValueForm::kReplicaGroups:
        return Wrap(ParseReplicaGroups(lexer_, &expansion_budget_));
      case ValueForm::kPairs:
        return Wrap(ParseNestedIntegers(lexer_));
      case ValueForm::kAccuracy:
        return Wrap(ParseAccuracy(lexer_));
      case ValueForm::kComputationList:
        return Wrap(ParseNames(lexer_, "a computation name"));
      case ValueForm::kWord: {
        KILN_ASSIGN_OR_RETURN(absl::string_view word, lexer_.Name(absl::StrCat("a value for ", name)));
        return AttributeValue(std::string(word));
      }
      case ValueForm::kShape: {
        KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ParseShape(lexer_));
        return AttributeValue(std::vector<hlo::Shape>{std::move(shape)});
      }
      case ValueForm::kComputation: {
        NameReference reference;
        reference.offset = lexer_.offset();
        KILN_ASSIGN_OR_RETURN(reference.name, lexer_.Name("a computation name"));
        return AttributeValue(std::vector<NameReference>{reference});
      }
      default:
        return lexer_.Error(at, absl::StrCat("unknown attribute '", name, "'"));
    }
  };
  ParsedAttribute attribute;
  attribute.name = name;
  attribute.offset = at;
  KILN_ASSIGN_OR_RETURN(attribute.value, parse());
  instruction->attributes.push_back(std::move(attribute));
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
    absl::Status status = ParseMetadataField(name, metadata);
    if (absl::IsNotFound(status)) return lexer_.Error(at, absl::StrCat("unknown metadata field '", name, "'"));
    KILN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

// NOT_FOUND for a field that metadata does not have.
absl::Status AttributeParser::ParseMetadataField(absl::string_view name, hlo::Metadata* metadata) {
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
    return absl::NotFoundError("");
  }
  return absl::OkStatus();
}

}  // namespace kiln::hlo_text
