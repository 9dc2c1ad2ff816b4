#include "absl/container/flat_hash_map.h"
#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {

const OpRow* FindOp(absl::string_view name) {
  static const auto* const kTable = [] {
    auto* table = new absl::flat_hash_map<absl::string_view, const OpRow*>();
    for (absl::Span<const OpRow> family :
         {ElementwiseOps(), ShapeOps(), ContractionOps(), ReductionOps(), IndexingOps(), ControlFlowOps(), CallOps(),
          CollectiveOps(), LinearAlgebraOps(), DynamicOps(), StructureOps(), EinsumOps(), ChloOps()}) {
      for (const OpRow& row : family) table->emplace(row.name, &row);
    }
    return table;
  }();
  const auto found = kTable->find(name);
  return found == kTable->end() ? nullptr : found->second;
}

}  // namespace kiln::stablehlo
