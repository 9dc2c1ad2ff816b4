// HLO opcodes and what is known of each without looking at an instruction.
#ifndef KILN_HLO_OPCODE_H_
#define KILN_HLO_OPCODE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace kiln::hlo {

enum class Opcode : uint8_t {
#define KILN_OPCODE(enumerator, name, operands, kind, attributes, called, rule) enumerator,
#include "src/hlo/opcodes.inc"
#undef KILN_OPCODE
};

inline constexpr int kOpcodeCount = 0
#define KILN_OPCODE(enumerator, name, operands, kind, attributes, called, rule) +1
#include "src/hlo/opcodes.inc"
#undef KILN_OPCODE
    ;

// Families; passes and emitters are divided along them.
enum class OpKind : uint8_t {
  kElementwiseUnary,
  kElementwiseBinary,
  kElementwiseTernary,
  kSource,
  kRandom,
  kDataMovement,
  kIndexed,
  kDynamicShape,
  kContraction,
  kReduction,
  kComposite,
  kControl,
  kCommunication,
};

struct OpcodeInfo {
  absl::string_view name;  // as in HLO text
  int operand_count;       // -1: variadic
  OpKind kind;
  int called_count;        // computations; -1: any number
};

const OpcodeInfo& GetOpcodeInfo(Opcode opcode);
inline absl::string_view OpcodeName(Opcode opcode) { return GetOpcodeInfo(opcode).name; }
inline OpKind KindOf(Opcode opcode) { return GetOpcodeInfo(opcode).kind; }
std::optional<Opcode> ParseOpcode(absl::string_view name);

// Each output element depends on the elements at the same index of its operands (scalars of clamp and select aside).
inline bool IsElementwise(Opcode opcode) { return KindOf(opcode) <= OpKind::kElementwiseTernary; }
// a op b == b op a.
bool IsCommutative(Opcode opcode);
// Calls its computations on scalars rather than as control flow (reduce, sort, map, scatter, ...).
bool HasScalarComputation(Opcode opcode);
// Must run even when its result is unused: sends, infeeds, custom calls that say so, random state.
bool HasSideEffect(Opcode opcode);

}  // namespace kiln::hlo

#endif  // KILN_HLO_OPCODE_H_
