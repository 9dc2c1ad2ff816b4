// HloModuleProto and the messages around it -> module.
#ifndef KILN_FRONTEND_HLO_PROTO_READER_H_
#define KILN_FRONTEND_HLO_PROTO_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/hlo_proto/fields.h"
#include "src/hlo/instruction.h"
#include "src/hlo/module.h"

namespace kiln::hlo_proto {

// True when `bytes` have the structure of one of the messages that ReadModule reads.
bool LooksLikeModule(absl::string_view bytes);

// Reads an HloModuleProto, HloProto, HloSnapshot or HloModuleProtoWithConfig, told apart by their structure, and
// verifies it. Computations may stand in any order; the instructions of one stand operands first, as all writers have
// them. Thread-safe.
absl::StatusOr<std::unique_ptr<hlo::Module>> ReadModule(absl::string_view bytes);

// The parts, each from the message of its name. Shapes are valid; literals have the elements of their shape.
absl::StatusOr<hlo::Shape> ReadShape(absl::string_view bytes, int depth = 0);
absl::StatusOr<hlo::Literal> ReadLiteral(absl::string_view bytes, int depth = 0);
// What the attributes of an opcode say; `proto` is an HloInstructionProto.
absl::StatusOr<hlo::Attributes> ReadAttributes(const Fields& proto, hlo::Opcode opcode);
// An OpSharding as the text of HLO has it, "{replicated}".
std::string ShardingText(absl::string_view bytes, int depth = 0);

}  // namespace kiln::hlo_proto

#endif  // KILN_FRONTEND_HLO_PROTO_READER_H_
