// Values of a loop fusion that each task makes for a block of rows at a time, in memory of its own. What reads them at
// several places, or for many rows of the result, then finds them in the cache: they are neither made for each reader
// nor as whole arrays before.
#ifndef KILN_ANALYSIS_KEPT_BLOCKS_H_
#define KILN_ANALYSIS_KEPT_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "src/hlo/instruction.h"

namespace kiln::analysis {

struct KeptValue {
  const hlo::Instruction* value = nullptr;
  // Of each of its dimensions the loop of the fusion that it goes along, for those outside of the block and the blocked
  // one; -1: all elements are kept.
  std::vector<int64_t> loops;
  // Where its rows begin, from the first row of the block, and how many more they are.
  int64_t first = 0, halo = 0;
  int64_t lane_dimension = -1;  // its dimension that the last loop goes along

  // The dimensions of what is kept while a block of so many rows is made.
  hlo::DimensionVector KeptDimensions(int64_t blocked, int64_t rows) const;
};

// The loops of the fusion, one of which goes by blocks.
struct KeptBlocks {
  // Of a result that is made of columns (ColumnsOf), how many the last loop makes at once.
  int64_t columns = 1;
  hlo::DimensionVector extents;
  int64_t blocked = 0;
  int64_t rows = 1;               // in a block; divides the loop's extent
  std::vector<KeptValue> values;  // operands before users
  // Rows of the result are made in short pieces, of little that all rows read: it had better be stored.
  bool has_short_pieces = false;
};

// How many columns the elements of `value` are made of in their order, if its rows have as many of each; 1 otherwise.
int64_t ColumnsInRows(const hlo::Instruction& value);

// Whether the results of `root`, a concatenate of a few equal shapes, are made side by side: by the loops of one of
// them.
bool MakesPiecesTogether(const hlo::Instruction& root);

// How the fusion that ends in `root` keeps `kept`, of its `members` in post order; nothing where it cannot, or where
// the rows at the borders of blocks, made twice, are too many. A member that others read in a way not known is whole.
std::optional<KeptBlocks> PlanKeptBlocks(const hlo::Instruction& root,
                                         absl::Span<const hlo::Instruction* const> members,
                                         const absl::flat_hash_set<const hlo::Instruction*>& kept);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_KEPT_BLOCKS_H_
