// Operations, blocks, regions and values of the generic op tree.
//
// The tree is what every MLIR reader produces and what the StableHLO import reads. Its conventions:
//  - Ops carry StableHLO, func, sdy, chlo or builtin names ("stablehlo.add", "func.func"), whatever the file said:
//  VHLO's
//    versioned names are raised on reading.
//  - Inherent attributes keep VHLO's flat names: gather has offset_dims, collapsed_slice_dims, ... instead of one
//    dimension_numbers; dot_general has lhs_batching_dimensions, ... and the seven algorithm fields; convolution the
//    nine dimension fields; collectives channel_id (and channel_type). A text reader flattens the structured forms.
//  - An optional attribute that is absent has StableHLO's default; a reader need not fill it in.
//  - Symbols (callee, decomposition, called_computations) are SymbolAttributes; arg_attrs and res_attrs of a function
//    are arrays of dictionaries, or absent or empty.
#ifndef KILN_FRONTEND_MLIR_OPERATION_H_
#define KILN_FRONTEND_MLIR_OPERATION_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/frontend/mlir/attribute.h"
#include "src/frontend/mlir/location.h"
#include "src/frontend/mlir/type.h"

namespace kiln::mlir {

struct Operation;
struct Block;
struct Region;

// The result of an operation or the argument of a block.
struct Value {
  TypeRef type = nullptr;          // Null only while a reader has not reached the definition.
  Operation* operation = nullptr;  // The defining op; null for a block argument.
  Block* block = nullptr;          // The block of which this is an argument; null for a result.
  uint32_t index = 0;              // Among the results, or among the arguments.
  const Location* location = nullptr;  // Of a block argument that has one.
};

struct Operation {
  absl::string_view name;
  Region* parent = nullptr;  // Null for the top-level op.
  std::vector<Value*> operands;
  std::vector<Value*> results;
  std::vector<NamedAttribute> attributes;        // Inherent, sorted by name.
  absl::Span<const NamedAttribute> discardable;  // Sorted by name; the Context owns it.
  std::vector<Region*> regions;
  std::vector<Block*> successors;
  const Location* location = nullptr;  // Never null in a tree that a reader returned.

  // Inherent attribute `name`, else the discardable one, else null.
  AttributeRef Get(absl::string_view name) const;
};

struct Block {
  Region* parent = nullptr;
  std::vector<Value*> arguments;
  std::vector<Operation*> operations;
};

struct Region {
  Operation* parent = nullptr;
  std::vector<Block*> blocks;
};

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_OPERATION_H_
