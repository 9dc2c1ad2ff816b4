// Which instructions are names, which steer, and which run code.
#ifndef KILN_ANALYSIS_CODE_KINDS_H_
#define KILN_ANALYSIS_CODE_KINDS_H_

#include "src/hlo/opcode.h"

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

// Views, values that are there before the program runs, and marks of order.
inline bool RunsNoCode(hlo::Opcode opcode) {
  return IsView(opcode) || opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kConstant ||
         opcode == hlo::Opcode::kAfterAll || opcode == hlo::Opcode::kDomain;
}

// Decides which of its computations run, and how often.
inline bool IsControlFlow(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kWhile || opcode == hlo::Opcode::kConditional || opcode == hlo::Opcode::kCall;
}

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_CODE_KINDS_H_
