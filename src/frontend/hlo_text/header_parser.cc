#include "src/frontend/hlo_text/header_parser.h"

#include <string>
#include <utility>

#include "src/frontend/hlo_text/attribute_parser.h"
#include "src/frontend/hlo_text/shape_parser.h"

namespace kiln::hlo_text {
namespace {

// {(f32[2,3]{1,0}, s32[])->(f32[2]{0}, pred[])}
absl::Status ParseEntryLayout(Lexer& lexer, ParsedHeader* header) {
  header->has_entry_layout = true;
  header->entry_layout_offset = lexer.offset();
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  KILN_RETURN_IF_ERROR(lexer.List("(", ")", [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(header->entry_parameters.emplace_back(), ParseShape(lexer));
    return absl::OkStatus();
  }));
  KILN_RETURN_IF_ERROR(lexer.Expect("->"));
  KILN_ASSIGN_OR_RETURN(header->entry_result, ParseShape(lexer));
  return lexer.Expect("}");
}

// {0}: (0, {}, may-alias); index and kind may be missing.
absl::StatusOr<hlo::InputOutputAlias> ParseAlias(Lexer& lexer) {
  hlo::InputOutputAlias alias;
  KILN_ASSIGN_OR_RETURN(alias.output_index, ParseIndexList(lexer));
  KILN_RETURN_IF_ERROR(lexer.Expect(":"));
  KILN_RETURN_IF_ERROR(lexer.Expect("("));
  KILN_ASSIGN_OR_RETURN(alias.parameter, lexer.Integer("a parameter number"));
  KILN_RETURN_IF_ERROR(lexer.Expect(","));
  KILN_ASSIGN_OR_RETURN(alias.parameter_index, ParseIndexList(lexer));
  if (lexer.Consume(",")) {
    if (lexer.ConsumeWord("must-alias")) {
      alias.must_alias = true;
    } else if (!lexer.ConsumeWord("may-alias")) {
      return lexer.Expected("may-alias or must-alias");
    }
  }
  KILN_RETURN_IF_ERROR(lexer.Expect(")"));
  return alias;
}

// (2, {})
absl::StatusOr<hlo::BufferDonor> ParseDonor(Lexer& lexer) {
  hlo::BufferDonor donor;
  KILN_RETURN_IF_ERROR(lexer.Expect("("));
  KILN_ASSIGN_OR_RETURN(donor.parameter, lexer.Integer("a parameter number"));
  KILN_RETURN_IF_ERROR(lexer.Expect(","));
  KILN_ASSIGN_OR_RETURN(donor.parameter_index, ParseIndexList(lexer));
  KILN_RETURN_IF_ERROR(lexer.Expect(")"));
  return donor;
}

// What `parse` reads, in braces.
template <typename T>
absl::Status ParseList(Lexer& lexer, absl::StatusOr<T> (*parse)(Lexer&), std::vector<T>* list) {
  return lexer.List("{", "}", [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(list->emplace_back(), parse(lexer));
    return absl::OkStatus();
  });
}

absl::Status ParseAttribute(Lexer& lexer, ParsedHeader* header) {
  const size_t at = lexer.offset();
  KILN_ASSIGN_OR_RETURN(absl::string_view name, lexer.Name("a module attribute"));
  KILN_RETURN_IF_ERROR(lexer.Expect("="));
  if (name == "is_scheduled") {
    KILN_ASSIGN_OR_RETURN(header->is_scheduled, lexer.Bool(name));
  } else if (name == "entry_computation_layout") {
    KILN_RETURN_IF_ERROR(ParseEntryLayout(lexer, header));
  } else if (name == "input_output_alias") {
    KILN_RETURN_IF_ERROR(ParseList(lexer, ParseAlias, &header->aliases));
  } else if (name == "buffer_donor") {
    KILN_RETURN_IF_ERROR(ParseList(lexer, ParseDonor, &header->donors));
  } else if (name == "replica_count") {
    KILN_ASSIGN_OR_RETURN(header->replica_count, lexer.Integer(name));
  } else if (name == "num_partitions") {
    KILN_ASSIGN_OR_RETURN(header->partition_count, lexer.Integer(name));
  } else if (name == "frontend_attributes") {
    KILN_ASSIGN_OR_RETURN(header->frontend_attributes, ParseDictionary(lexer));
  } else if (name == "alias_passthrough_params") {
    KILN_ASSIGN_OR_RETURN(bool value, lexer.Bool(name));
    if (value) header->carried_attributes[std::string(name)] = "true";
  } else if (name == "allow_spmd_sharding_propagation_to_parameters" ||
             name == "allow_spmd_sharding_propagation_to_output") {
    KILN_ASSIGN_OR_RETURN(header->carried_attributes[std::string(name)], lexer.Braced(name));
  } else if (name == "origin_recovery_table") {
    // Serves debuggers of other compilers.
    KILN_RETURN_IF_ERROR(lexer.Braced(name).status());
  } else {
    return lexer.Error(at, absl::StrCat("unknown module attribute '", name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParsedHeader> ParseHeader(Lexer& lexer) {
  ParsedHeader header;
  if (!lexer.ConsumeWord("HloModule")) return header;
  KILN_ASSIGN_OR_RETURN(absl::string_view name, lexer.Name("the module's name"));
  header.name = std::string(name);
  while (lexer.Consume(",")) KILN_RETURN_IF_ERROR(ParseAttribute(lexer, &header));
  const size_t at = lexer.offset();
  if (header.replica_count < 1 || header.partition_count < 1) {
    return lexer.Error(at, "replica_count and num_partitions must be positive");
  }
  return header;
}

}  // namespace kiln::hlo_text
