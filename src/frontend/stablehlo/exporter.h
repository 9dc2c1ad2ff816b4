// Module -> StableHLO.
#ifndef KILN_FRONTEND_STABLEHLO_EXPORTER_H_
#define KILN_FRONTEND_STABLEHLO_EXPORTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/frontend/mlir/context.h"
#include "src/hlo/module.h"

namespace kiln::stablehlo {

// The program as an op tree of StableHLO, CHLO and func ops. Tuples are taken apart: arguments, results, and the state
// of loops and branches are their leaves; fusions stand in place. UNIMPLEMENTED, naming the instruction, for what
// StableHLO has no op for. Thread-safe.
absl::StatusOr<std::unique_ptr<mlir::Module>> Export(const hlo::Module& module);

// The same as text that MLIR's parser reads.
struct TextOptions {
  bool generic = false;    // no short forms
  bool locations = false;  // where instructions come from
};
absl::StatusOr<std::string> ExportText(const hlo::Module& module, const TextOptions& text = {});

// The op of StableHLO or CHLO for `opcode`; empty where there is none.
std::string OpName(hlo::Opcode opcode);

// The attributes of the op of StableHLO that `instruction` becomes, by their names in the op tree.
absl::StatusOr<std::vector<mlir::NamedAttribute>> ExportAttributes(const hlo::Instruction& instruction,
                                                                   mlir::Context& context);

// The elements of an array.
absl::StatusOr<mlir::AttributeRef> ExportLiteral(const hlo::Literal& literal, mlir::Context& context);

// The type of an array or token.
absl::StatusOr<mlir::TypeRef> ExportType(const hlo::Shape& shape, mlir::Context& context);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_EXPORTER_H_
