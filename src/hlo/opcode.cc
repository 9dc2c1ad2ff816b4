#include "src/hlo/opcode.h"

#include <array>

#include "absl/container/flat_hash_map.h"

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
  static const auto* const opcodes = [] {
    auto* result = new absl::flat_hash_map<absl::string_view, Opcode>();
    for (int i = 0; i < kOpcodeCount; ++i) result->emplace(kTable[i].name, static_cast<Opcode>(i));
    return result;
  }();
  const auto it = opcodes->find(name);
  if (it == opcodes->end()) return std::nullopt;
  return it->second;
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
