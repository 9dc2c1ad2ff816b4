// Modules as HloModuleProto, for tools and frameworks that read optimized programs back.
#ifndef KILN_FRONTEND_HLO_PROTO_WRITER_H_
#define KILN_FRONTEND_HLO_PROTO_WRITER_H_

#include <string>

#include "src/base/wire_writer.h"
#include "src/hlo/instruction.h"
#include "src/hlo/module.h"

namespace kiln::hlo_proto {

// The bytes of an HloModuleProto with the computations that the entry reaches. What instructions carry as text alone
// (shardings, attributes that Kiln does not interpret) is left out. Thread-safe.
std::string WriteModule(const hlo::Module& module);
// The bytes of an HloModuleProtoWithConfig: the module, and a configuration with the entry's layout and the counts of
// replicas and partitions.
std::string WriteModuleWithConfig(const hlo::Module& module);

// The parts, each as the message of its name.
WireWriter ShapeProto(const hlo::Shape& shape);
WireWriter LiteralProto(const hlo::Literal& literal);
// How a comparison orders operands of a type when the program leaves that open.
hlo::ComparisonType DefaultComparison(hlo::PrimitiveType type);
// Appends the fields of HloInstructionProto that the attributes of `instruction` fill.
void AppendAttributes(const hlo::Instruction& instruction, WireWriter* proto);

}  // namespace kiln::hlo_proto

#endif  // KILN_FRONTEND_HLO_PROTO_WRITER_H_
