#include "src/frontend/hlo_text/computation_parser.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/base/nearest_name.h"
#include "src/frontend/hlo_text/literal_parser.h"
#include "src/frontend/hlo_text/shape_parser.h"
#include "src/hlo/shape_inference.h"

namespace kiln::hlo_text {
namespace {

// Operations written inside operands; deeper texts are made by machines that name their instructions.
constexpr int kMaxNesting = 128;

}  // namespace

bool ComputationParser::AtInstruction() {
  const size_t start = lexer_.offset();
  lexer_.ConsumeWord("ROOT");
  const bool found = lexer_.Name("").ok() && lexer_.Consume("=");
  lexer_.Rewind(start);
  return found;
}

absl::StatusOr<ParsedComputation> ParseComputationStart(Lexer& lexer) {
  ParsedComputation computation;
  computation.is_entry = lexer.ConsumeWord("ENTRY");
  computation.offset = lexer.offset();
  // "ENTRY {" is allowed by hand.
  if (computation.is_entry && lexer.Peek() == '{') {
    computation.name = "main";
    return computation;
  }
  KILN_ASSIGN_OR_RETURN(computation.name, lexer.Name("a computation: [ENTRY] name { ... }"));
  return computation;
}

absl::StatusOr<ParsedComputation> ComputationParser::ParseComputation() {
  KILN_ASSIGN_OR_RETURN(ParsedComputation computation, ParseComputationStart(lexer_));
  if (lexer_.Peek() == '(') KILN_RETURN_IF_ERROR(SkipSignature());
  KILN_RETURN_IF_ERROR(lexer_.Expect("{"));
  KILN_RETURN_IF_ERROR(ParseInstructions(&computation));
  KILN_RETURN_IF_ERROR(lexer_.Expect("}"));
  if (lexer_.Consume(",")) {
    if (!lexer_.ConsumeWord("execution_thread")) return lexer_.Expected("execution_thread");
    KILN_RETURN_IF_ERROR(lexer_.Expect("="));
    const size_t at = lexer_.offset();
    KILN_ASSIGN_OR_RETURN(std::string thread, lexer_.String("execution_thread"));
    if (thread != "main") {
      return lexer_.Locate(at, Unimplemented("execution thread '", thread, "': only main is supported"));
    }
  }
  return computation;
}

// (p: f32[2], q: s32[]) -> f32[2]: what the instructions say again.
absl::Status ComputationParser::SkipSignature() {
  KILN_RETURN_IF_ERROR(lexer_.List("(", ")", [&] {
    KILN_RETURN_IF_ERROR(lexer_.Name("a parameter name").status());
    KILN_RETURN_IF_ERROR(lexer_.Expect(":"));
    return ParseShape(lexer_).status();
  }));
  if (lexer_.Consume("->")) KILN_RETURN_IF_ERROR(ParseShape(lexer_).status());
  return absl::OkStatus();
}

absl::Status ComputationParser::ParseInstructions(ParsedComputation* computation) {
  while (lexer_.Peek() != '}' && !lexer_.AtEnd()) {
    ParsedInstruction instruction;
    instruction.is_root = lexer_.ConsumeWord("ROOT");
    instruction.offset = lexer_.offset();
    KILN_ASSIGN_OR_RETURN(instruction.name, lexer_.Name("an instruction: [ROOT] name = shape opcode(operands)"));
    KILN_RETURN_IF_ERROR(lexer_.Expect("="));
    if (AtShape(lexer_)) {
      KILN_ASSIGN_OR_RETURN(instruction.shape, ParseShape(lexer_));
    }
    KILN_RETURN_IF_ERROR(ParseOperation(std::move(instruction), computation, 0));
  }
  return absl::OkStatus();
}

absl::Status ComputationParser::ParseOpcode(ParsedInstruction* instruction) {
  const size_t at = lexer_.offset();
  KILN_ASSIGN_OR_RETURN(absl::string_view word, lexer_.Name("an opcode"));
  std::optional<hlo::Opcode> opcode = hlo::ParseOpcode(word);
  if (opcode.has_value()) {
    instruction->opcode = *opcode;
    return absl::OkStatus();
  }
  // Asynchronous forms of any operation: OP-start, OP-update, OP-done.
  const std::pair<absl::string_view, hlo::Opcode> kSuffixes[] = {
      {"-start", hlo::Opcode::kAsyncStart}, {"-update", hlo::Opcode::kAsyncUpdate}, {"-done", hlo::Opcode::kAsyncDone}};
  for (const auto& [suffix, async] : kSuffixes) {
    absl::string_view base = word;
    if (!absl::ConsumeSuffix(&base, suffix)) continue;
    std::optional<hlo::Opcode> wrapped = hlo::ParseOpcode(base);
    if (!wrapped.has_value() || *wrapped == hlo::Opcode::kParameter || *wrapped == hlo::Opcode::kConstant) continue;
    instruction->opcode = async;
    if (async == hlo::Opcode::kAsyncStart) instruction->wrapped = *wrapped;
    return absl::OkStatus();
  }
  const bool type = lexer_.position() < lexer_.text().size() && lexer_.text()[lexer_.position()] == '[';
  std::vector<absl::string_view> names;
  for (int i = 0; i < hlo::kOpcodeCount && !type; ++i) names.push_back(hlo::OpcodeName(static_cast<hlo::Opcode>(i)));
  return lexer_.Error(
      at, absl::StrCat("unknown ", type ? "type" : "opcode", " '", word.substr(0, 60), "'", DidYouMean(word, names)));
}

absl::Status ComputationParser::ParseOperation(ParsedInstruction instruction, ParsedComputation* computation,
                                               int depth) {
  KILN_RETURN_IF_ERROR(ParseOpcode(&instruction));
  instruction.attributes = hlo::EmptyAttributes(instruction.wrapped.value_or(instruction.opcode));
  KILN_RETURN_IF_ERROR(ParseArguments(&instruction, computation, depth));
  // A comma after a nested operation may start its next attribute or the next operand of the one around it: only
  // "name=" is an attribute.
  while (true) {
    const size_t before = lexer_.offset();
    if (!lexer_.Consume(",")) break;
    if (depth > 0) {
      const bool attribute = lexer_.Name("").ok() && lexer_.Peek() == '=';
      lexer_.Rewind(before);
      if (!attribute) break;
      lexer_.Consume(",");
    }
    KILN_RETURN_IF_ERROR(attributes_.Parse(&instruction));
  }
  KILN_RETURN_IF_ERROR(attributes_.Finish(&instruction));
  computation->instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::Status ComputationParser::ParseArguments(ParsedInstruction* instruction, ParsedComputation* computation,
                                               int depth) {
  if (auto* parameter = instruction->attributes.GetMutable<hlo::ParameterAttributes>()) {
    KILN_RETURN_IF_ERROR(lexer_.Expect("("));
    KILN_ASSIGN_OR_RETURN(parameter->number, lexer_.Integer("a parameter number"));
    return lexer_.Expect(")");
  }
  if (auto* constant = instruction->attributes.GetMutable<hlo::ConstantAttributes>()) {
    KILN_RETURN_IF_ERROR(lexer_.Expect("("));
    const size_t at = lexer_.offset();
    if (!instruction->shape.has_value()) {
      return lexer_.Error(at, "the shape of a constant must be written: name = f32[] constant(1)");
    }
    KILN_ASSIGN_OR_RETURN(constant->literal, ParseLiteral(lexer_, *instruction->shape, elided_));
    return lexer_.Expect(")");
  }
  return lexer_.List("(", ")", [&] { return ParseOperand(instruction, computation, depth); });
}

absl::Status ComputationParser::ParseOperand(ParsedInstruction* instruction, ParsedComputation* computation,
                                             int depth) {
  ParsedOperand operand;
  operand.reference.offset = lexer_.offset();
  if (AtShape(lexer_)) {
    KILN_ASSIGN_OR_RETURN(operand.shape, ParseShape(lexer_));
  }
  const size_t at = lexer_.offset();
  KILN_ASSIGN_OR_RETURN(operand.reference.name, lexer_.Name("an operand"));
  if (lexer_.Peek() == '(') {
    if (depth + 1 > kMaxNesting) {
      return lexer_.Error(at, absl::StrCat("operations nested deeper than ", kMaxNesting));
    }
    lexer_.Rewind(at);
    ParsedInstruction nested;
    nested.offset = at;
    nested.shape = std::move(operand.shape);
    operand.shape.reset();
    KILN_RETURN_IF_ERROR(ParseOperation(std::move(nested), computation, depth + 1));
    operand.nested = computation->instructions.size() - 1;
  }
  instruction->operands.push_back(std::move(operand));
  return absl::OkStatus();
}

}  // namespace kiln::hlo_text
