// StableHLO ops that are known and refused, with the reason.
#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

absl::Status RefuseEinsum(OpImport& op) {
  return op.Unsupported("this op has left StableHLO; write it as dot_general, transpose and reduce");
}

absl::Status RefuseAsync(OpImport& op) {
  return op.Unsupported("asynchronous regions are not supported; use the collective without async_start");
}

absl::Status RefuseCollectiveReduce(OpImport& op) {
  return op.Unsupported("a reduction to one member of a group is not supported; use all_reduce");
}

constexpr OpRow kRows[] = {
    {"stablehlo.async_done", RefuseAsync, -1, -1, -1},
    {"stablehlo.async_start", RefuseAsync, -1, -1, -1},
    {"stablehlo.collective_reduce", RefuseCollectiveReduce, -1, -1, -1},
    {"stablehlo.einsum", RefuseEinsum, -1, -1, -1},
    {"stablehlo.unary_einsum", RefuseEinsum, -1, -1, -1},
};

}  // namespace

absl::Span<const OpRow> UnsupportedOps() { return kRows; }

}  // namespace kiln::stablehlo
