// The IR section of a bytecode file: operations, regions and blocks.
#ifndef KILN_FRONTEND_MLIR_IR_READER_H_
#define KILN_FRONTEND_MLIR_IR_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "src/frontend/mlir/bytecode_file.h"
#include "src/frontend/mlir/context.h"
#include "src/frontend/mlir/entry_table.h"
#include "src/frontend/mlir/vhlo_ops.h"

namespace kiln::mlir {

class IrReader {
 public:
  // `file` and `entries` must outlive the reader; nodes go to the context of `entries`.
  IrReader(const BytecodeFile& file, EntryTable& entries);

  // The top-level op.
  absl::StatusOr<Operation*> Read();

 private:
  // The numbered values that ops may refer to: ranges of the regions being read, outermost first.
  struct Scope {
    std::vector<Value*> values;
    size_t next = 0;               // Number of the next value to be defined in the innermost region.
    size_t end = 0;                // End of the innermost region's range.
    bool forward_allowed = false;  // Inside a region of several blocks.
  };

  absl::Status ReadBlock(EntryReader& reader, Scope& scope, Block* block, int nesting);
  absl::Status ReadOperation(EntryReader& reader, Scope& scope, Block* block, int nesting);
  absl::Status ReadRegions(EntryReader& reader, Scope& scope, Operation* operation, int nesting);
  absl::Status ReadRegion(EntryReader& reader, Scope& scope, Region* region, int nesting);
  void ReadArguments(EntryReader& reader, Scope& scope, Block* block);
  void ReadUseListOrder(EntryReader& reader, bool several_values);
  // Inherent attributes: from the properties (container 5 and later), or picked out of `dictionary`.
  absl::Status ReadProperties(EntryReader& reader, const VhloOp* row, Operation* operation);
  absl::Status SplitDictionary(const DictionaryAttribute& dictionary, const VhloOp* row, Operation* operation);
  // Gives `value` the next number of the region; fails when the region announced fewer.
  Value* Define(EntryReader& reader, Scope& scope);
  void RaiseAttributes(Operation* operation, absl::string_view vhlo_name);

  const BytecodeFile& file_;
  EntryTable& entries_;
  Context& context_;
  // Per op name of the file: the row of its properties (null when unknown) and the name in the tree.
  struct KnownOp {
    const VhloOp* row = nullptr;
    absl::string_view tree_name;
    absl::Status status;  // Why ops of this name cannot be read.
  };
  std::vector<KnownOp> known_ops_;
  uint64_t values_left_ = 0;  // Values that regions may still announce: each takes a byte of the section.
  uint64_t copies_left_ = 0;  // Dictionary entries that may still be copied.
};

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_IR_READER_H_
