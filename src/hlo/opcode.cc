#include "src/hlo/opcode.h"

#include <array>

namespace kiln::hlo {
namespace {

constexpr std::array<OpcodeInfo, kOpcodeCount> kTable = {{
#define KILN_OPCODE(enumerator, name, operands, kind, attributes, called, rule) {name, operands, OpKind::kind, called},
#include "src/hlo/opcodes.inc"
#undef KILN_OPCODE
}};

}  // namespace

const OpcodeInfo& GetOpcodeInfo(Opcode opcode) { return kTable[static_cast<size_t>(opcode)]; }

std::optional<Opcode> ParseOpcode(absl::string_view name) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    if (kTable[i].name == name) return static_cast<Opcode>(i);
  }
  return std::nullopt;
}

bool IsCommutative(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMulhi:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

bool HasScalarComputation(Opcode opcode) {
  return GetOpcodeInfo(opcode).called_count > 0 && KindOf(opcode) != OpKind::kControl && opcode != Opcode::kScan;
}

bool HasSideEffect(Opcode opcode) {
  switch (opcode) {
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
      return true;
    default:
      return false;
  }
}

}  // namespace kiln::hlo
