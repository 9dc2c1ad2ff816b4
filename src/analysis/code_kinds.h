// Which instructions are names, which steer, and which run code.
#ifndef KILN_ANALYSIS_CODE_KINDS_H_
#define KILN_ANALYSIS_CODE_KINDS_H_

#include "src/hlo/instruction.h"

namespace kiln::analysis {

// Another name of values that are there. A copy is one too, unless buffer assignment finds that two places must differ.
inline bool IsView(hlo::Opcode opcode) {
  switch (opcode) {
    case hlo::Opcode::kTuple:
    case hlo::Opcode::kGetTupleElement:
    case hlo::Opcode::kReshape:
    case hlo::Opcode::kBitcast:
    case hlo::Opcode::kCopy:
    case hlo::Opcode::kOptBarrier:
    case hlo::Opcode::kAddDependency:
      return true;
    default:
      return false;
  }
}

// A slice whose elements lie together, at a boundary of cache lines: a part of its operand's memory. Small arrays may
// be in registers, which have no parts; what a computation gives is copied by a kernel. Dynamic slices are parts of
// what nothing writes to, as the layers' weights that a loop goes over.
bool IsPartOfMemory(const hlo::Instruction& instruction);
// Where that part begins, in bytes, of a slice that is not dynamic.
int64_t PartOffset(const hlo::Instruction& slice);

// A conversion of bits: the same bytes in the same places as another type.
bool IsSameMemory(const hlo::Instruction& instruction);

// A concatenation of large arrays that lie one behind the other and are made for it alone: the code that makes them
// writes them where they are joined.
bool IsJoinedInPlace(const hlo::Instruction& instruction);
// The concatenation in whose memory leaf `leaf` of an instruction is written, and where in it, in bytes; null: none.
const hlo::Instruction* JoinOf(const hlo::Instruction& instruction, int64_t leaf, int64_t* offset);

// The operand in whose memory `instruction` writes its result, an array of which it changes a part; -1 where there is
// none.
int64_t UpdatedOperand(const hlo::Instruction& instruction);

inline bool IsView(const hlo::Instruction& instruction) {
  return IsView(instruction.opcode()) || IsSameMemory(instruction) || IsPartOfMemory(instruction) ||
         IsJoinedInPlace(instruction);
}

// Views, values that are there before the program runs, and marks of order.
inline bool RunsNoCode(hlo::Opcode opcode) {
  return IsView(opcode) || opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kConstant ||
         opcode == hlo::Opcode::kAfterAll || opcode == hlo::Opcode::kDomain;
}

inline bool RunsNoCode(const hlo::Instruction& instruction) {
  return RunsNoCode(instruction.opcode()) || IsView(instruction);
}

// Decides which of its computations run, and how often.
inline bool IsControlFlow(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kWhile || opcode == hlo::Opcode::kConditional || opcode == hlo::Opcode::kCall;
}

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_CODE_KINDS_H_
