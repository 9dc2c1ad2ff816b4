// Which attributes HLO text knows, how the value of each is written, and which opcodes take it.
#ifndef KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_TABLE_H_
#define KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_TABLE_H_

#include "absl/strings/string_view.h"
#include "src/hlo/opcode.h"

namespace kiln::hlo_text {

enum class ValueForm : uint8_t {
  kUnknown,
  kInteger,
  kBool,
  kFloat,
  kWord,
  kString,
  kIndexList,
  kComputation,
  kComputationList,
  kWindow,
  kPadding,
  kSlice,
  kDimLabels,
  kPrecisions,
  kShape,
  kShapeList,
  kAliases,
  kReplicaGroups,
  kPairs,
  kAccuracy,
  kCarried,  // kept as text, see Instruction::carried_attributes
};

// The form of an opcode-specific attribute; kUnknown for names that no opcode takes.
ValueForm FormOf(absl::string_view attribute, hlo::Opcode opcode);

// Whether `opcode` takes the opcode-specific `attribute`.
bool TakesAttribute(hlo::Opcode opcode, absl::string_view attribute);

// The attributes of `opcode` for messages: "dimensions, to_apply".
absl::string_view AttributesOf(hlo::Opcode opcode);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_ATTRIBUTE_TABLE_H_
