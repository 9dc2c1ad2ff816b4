// What the text says, before names are resolved: computations may stand in any order, so a module is built (see
// module_builder.h) only once all of it is read.
#ifndef KILN_FRONTEND_HLO_TEXT_SYNTAX_H_
#define KILN_FRONTEND_HLO_TEXT_SYNTAX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/hlo/attributes.h"
#include "src/hlo/instruction.h"
#include "src/hlo/module.h"
#include "src/hlo/opcode.h"

namespace kiln::hlo_text {

// Views point into the text; offsets are places in it, for messages.
struct NameReference {
  absl::string_view name;
  size_t offset = 0;
};

// A name, or the index in ParsedComputation::instructions of an operand written in place.
struct ParsedOperand {
  NameReference reference;
  std::optional<size_t> nested;
  std::optional<hlo::Shape> shape;  // when written in front of it
};

struct ParsedInstruction {
  absl::string_view name;  // "" for nested ones
  size_t offset = 0;
  bool is_root = false;
  std::optional<hlo::Shape> shape;
  hlo::Opcode opcode = hlo::Opcode::kParameter;
  // negate-start(...) and the like: opcode is async-start and this the operation inside.
  std::optional<hlo::Opcode> wrapped;
  std::vector<ParsedOperand> operands;
  // Of the opcode, or of the operation inside. Those of every instruction are below.
  hlo::Attributes attributes;
  // Computations by the name of the attribute, as to_apply.
  std::vector<std::pair<absl::string_view, std::vector<NameReference>>> called;
  // Names of the attributes read so far.
  std::vector<absl::string_view> given;
  std::string sharding, backend_config;
  std::map<std::string, std::string> frontend_attributes, carried_attributes;
  std::vector<NameReference> control_predecessors;
  hlo::Metadata metadata;
};

struct ParsedComputation {
  absl::string_view name;
  size_t offset = 0;
  bool is_entry = false;
  std::vector<ParsedInstruction> instructions;
};

struct ParsedHeader {
  std::string name = "module";
  bool is_scheduled = false;
  bool has_entry_layout = false;
  size_t entry_layout_offset = 0;
  std::vector<hlo::Shape> entry_parameters;
  hlo::Shape entry_result;
  std::vector<hlo::InputOutputAlias> aliases;
  std::vector<hlo::BufferDonor> donors;
  int64_t replica_count = 1, partition_count = 1;
  std::map<std::string, std::string> frontend_attributes, carried_attributes;
};

struct ParsedModule {
  ParsedHeader header;
  std::vector<ParsedComputation> computations;
};

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_SYNTAX_H_
