// Reduce with one operand and a combiner that is one op. Partial results may be combined in any order.
#include <algorithm>

#include "src/analysis/combiner.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Opcode;

bool Contains(const DimensionVector& dimensions, int64_t dimension) {
  return std::find(dimensions.begin(), dimensions.end(), dimension) != dimensions.end();
}

std::optional<Opcode> Combiner(const Instruction& reduce) {
  if (reduce.operand_count() != 2 || !reduce.shape().IsArray()) return std::nullopt;
  return analysis::CombinerOpcode(*reduce.called_computation());
}

bool StartsAtIdentity(const Instruction& reduce, Opcode combiner) {
  std::optional<hlo::Literal> init = SplatValue(*reduce.operand(1));
  return init && analysis::IsIdentityOf(combiner, *init);
}

Instruction* ReduceOfNothing(const Match& match, hlo::Builder& builder) {
  if (match['x']->shape().element_count() != 0 || !match.root()->shape().IsArray()) return nullptr;
  return builder.BroadcastScalar(match['i'], match.root()->shape().dimensions());
}

// Reducing dimensions of size 1 combines each element with the initial value once.
Instruction* ReduceUnitDimensions(const Match& match, hlo::Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<Opcode> combiner = Combiner(root);
  if (!combiner) return nullptr;
  const hlo::Shape& from = match['x']->shape();
  DimensionVector kept, reduced;  // sizes without those of size 1 that are reduced; reduced ones among them
  for (int64_t i = 0; i < from.rank(); ++i) {
    const bool is_reduced = Contains(root.dimensions(), i);
    if (is_reduced && from.dimensions(i) == 1) continue;
    if (is_reduced) reduced.push_back(static_cast<int64_t>(kept.size()));
    kept.push_back(from.dimensions(i));
  }
  if (!reduced.empty() && kept.size() == from.dimensions().size()) return nullptr;
  Instruction* operand = builder.Reshape(match['x'], kept);
  if (!reduced.empty()) return builder.Reduce(operand, match['i'], reduced, root.called_computation());
  if (StartsAtIdentity(root, *combiner)) return operand;
  return builder.Binary(*combiner, operand, builder.BroadcastScalar(match['i'], kept));
}

Instruction* ReduceOfReduce(const Match& match, hlo::Builder& builder) {
  const Instruction& outer = *match.root();
  const Instruction& inner = *match['t'];
  const std::optional<Opcode> combiner = Combiner(outer);
  if (!combiner || Combiner(inner) != combiner || !StartsAtIdentity(inner, *combiner)) return nullptr;
  DimensionVector dimensions(inner.dimensions());
  int64_t kept = 0;
  for (int64_t i = 0; i < match['x']->shape().rank(); ++i) {
    if (Contains(inner.dimensions(), i)) continue;
    if (Contains(outer.dimensions(), kept++)) dimensions.push_back(i);
  }
  std::sort(dimensions.begin(), dimensions.end());
  return builder.Reduce(match['x'], outer.operand(1), dimensions, outer.called_computation());
}

// A transpose that keeps the order of the dimensions that remain only changes the order of combining.
Instruction* ReduceOfTranspose(const Match& match, hlo::Builder& builder) {
  const Instruction& root = *match.root();
  if (!Combiner(root)) return nullptr;
  const auto& permutation = root.operand(0)->dimensions();
  DimensionVector dimensions;
  int64_t previous = -1;
  for (int64_t i = 0; i < static_cast<int64_t>(permutation.size()); ++i) {
    if (Contains(root.dimensions(), i)) {
      dimensions.push_back(permutation[i]);
    } else if (permutation[i] < previous) {
      return nullptr;
    } else {
      previous = permutation[i];
    }
  }
  std::sort(dimensions.begin(), dimensions.end());
  return builder.Reduce(match['x'], match['i'], dimensions, root.called_computation());
}

// Combining equal elements any number of times: max(a, a) = a.
Instruction* IdempotentReduceOfBroadcast(const Match& match, hlo::Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<Opcode> combiner = Combiner(root);
  if (combiner != Opcode::kMaximum && combiner != Opcode::kMinimum && combiner != Opcode::kAnd &&
      combiner != Opcode::kOr) {
    return nullptr;
  }
  if (root.operand(0)->shape().element_count() == 0) return nullptr;
  const auto& map = root.operand(0)->dimensions();
  for (int64_t dimension : root.dimensions()) {
    if (Contains(map, dimension)) return nullptr;
  }
  DimensionVector kept_map;
  for (int64_t dimension : map) {
    kept_map.push_back(dimension - std::count_if(root.dimensions().begin(), root.dimensions().end(),
                                                 [&](int64_t reduced) { return reduced < dimension; }));
  }
  Instruction* operand = builder.Broadcast(match['x'], root.shape().dimensions(), kept_map);
  if (StartsAtIdentity(root, *combiner)) return operand;
  return builder.Binary(*combiner, operand, builder.BroadcastScalar(match['i'], root.shape().dimensions()));
}

constexpr Rule kRules[] = {
    {"reduce(x, i)", ReduceOfNothing},
    {"reduce(x, i)", ReduceUnitDimensions},
    {"reduce(t:reduce'(x, _), _)", ReduceOfReduce},
    {"reduce(transpose(x), i)", ReduceOfTranspose},
    {"reduce(broadcast(x), i)", IdempotentReduceOfBroadcast},
};

}  // namespace

absl::Span<const Rule> ReduceRules() { return kRules; }

}  // namespace kiln::passes::simplify
