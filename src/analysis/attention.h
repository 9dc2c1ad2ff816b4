// What makes a softmax between two products one blocked step: every row of scores is a vector times a matrix, goes
// through an operation on whole rows, and is multiplied by another matrix.
#ifndef KILN_ANALYSIS_ATTENTION_H_
#define KILN_ANALYSIS_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "src/hlo/instruction.h"

namespace kiln::analysis {

// The instructions of such a chain, in a fusion or where one may be made. Behind the sources there are only moves
// (strided_view.h), and from each of the others to the next only rearrangements.
struct AttentionParts {
  const hlo::Instruction* sources[2] = {nullptr, nullptr};  // of the operands of `first`
  const hlo::Instruction* first = nullptr;                  // dot
  const hlo::Instruction* scores = nullptr;                 // what the operation on rows reads of it
  const hlo::Instruction* weights = nullptr;                // what it gives: the same rows, in the same order
  const hlo::Instruction* value = nullptr;                  // source of the other operand of `second`
  const hlo::Instruction* second = nullptr;                 // dot
  int64_t weights_side = 0;                                 // operand of `second` that the weights are
  const hlo::Instruction* root = nullptr;                   // the result
};

// A loop over rows: elements from one to the next in each array.
struct AttentionLoop {
  int64_t size = 1, query = 0, key = 0, value = 0, out = 0;
};

// scores[row][column] = sum over depth of query * key; out[row][feature] = sum over columns of weights * value.
struct Attention {
  std::vector<AttentionLoop> batch;  // the slowest first; their product with `rows` are the rows of scores in order
  AttentionLoop rows;                // which read the same keys and values
  int64_t columns = 0, depth = 0, features = 0;
  int64_t query_depth = 0, key_depth = 0, key_column = 0, value_column = 0, value_feature = 0;  // strides
  int64_t query_offset = 0, key_offset = 0, value_offset = 0;  // elements before the first ones
  int64_t query_side = 0;                                      // operand of the first dot that the queries are

  int64_t row_count() const;
};

// Nothing where the strides do not fit; `out` has its features side by side.
std::optional<Attention> DescribeAttention(const AttentionParts& parts);

enum class AttentionSource { kQuery, kKey, kValue };
const hlo::Instruction* SourceIn(const AttentionParts& parts, const Attention& attention, AttentionSource source);
// How many parts the array of that source has, one behind the other, each of which as many rows that follow each other
// read as a whole, and no other rows: of queries a row, of keys and values those of a head. 0: it has no such parts.
int64_t PartsOf(const AttentionParts& parts, const Attention& attention, AttentionSource source);

// The parts of a fusion as passes/attention_fusion.h makes them: sources are its parameters, and between `scores` and
// `weights`, which is one, stands a fusion over rows, the others of whose operands are parameters as well.
std::optional<AttentionParts> FindAttentionParts(const hlo::Instruction& fusion);

// The attention that `fusion` is, or that is the last of its steps, behind kernels that make what it reads
// (passes/attention_sources.h); null where there is none.
const hlo::Instruction* FindAttention(const hlo::Instruction& fusion);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_ATTENTION_H_
