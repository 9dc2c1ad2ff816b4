#include "src/analysis/attention.h"

#include <algorithm>
#include <utility>

#include "src/analysis/fusion_model.h"
#include "src/analysis/strided_view.h"
#include "src/hlo/computation.h"

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// The arrays that views are of: the first product's operands, the weights, the values and the result.
enum Array { kLhs, kRhs, kWeights, kValue, kOut };

// The only part of a stretch of places that lie evenly; null where there are several.
const ViewPart* Only(const ViewParts& parts) { return parts.size() == 1 ? parts.data() : nullptr; }

bool IsPlainDot(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kDot && IsContraction(instruction) && instruction.shape().element_count() > 0;
}

}  // namespace

int64_t Attention::row_count() const {
  int64_t count = rows.size;
  for (const AttentionLoop& loop : batch) count *= loop.size;
  return count;
}

std::optional<Attention> DescribeAttention(const AttentionParts& parts) {
  Attention attention;
  StridedView lhs({}, kLhs), rhs({}, kRhs), weights({}, kWeights), value({}, kValue), product({}, kOut);
  ViewParts depth, columns;
  const Instruction &first = *parts.first, &second = *parts.second;
  // The result: rows, which have strides in the weights, and features, which have none.
  if (!ViewOf(*second.operand(parts.weights_side), *parts.weights, kWeights, &weights) ||
      !ViewOf(*second.operand(1 - parts.weights_side), *parts.value, kValue, &value) ||
      !StridedView::Product(second, parts.weights_side == 0 ? weights : value,
                            parts.weights_side == 0 ? value : weights, &product, &columns)) {
    return std::nullopt;
  }
  std::vector<const Instruction*> moves;
  for (const Instruction* at = parts.root; at != &second; at = at->operand(0)) {
    if (!IsRearrangement(*at)) return std::nullopt;
    moves.push_back(at);
  }
  for (size_t i = moves.size(); i-- > 0;) {
    if (!product.Move(*moves[i])) return std::nullopt;
  }
  attention.value_offset = product.offsets()[kValue];
  product.StoreIn(kOut);
  ViewParts rows, features;
  for (const ViewPart& part : product.AllParts()) (part.strides[kWeights] != 0 ? rows : features).push_back(part);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ViewPart& a, const ViewPart& b) { return a.strides[kWeights] > b.strides[kWeights]; });
  columns = Merge(columns);
  features = Merge(features);
  const ViewPart *column = Only(columns), *feature = Only(features);
  if (column == nullptr || feature == nullptr || column->strides[kWeights] != 1 || column->strides[kValue] == 0 ||
      feature->strides[kValue] == 0 || feature->strides[kOut] != 1) {
    return std::nullopt;
  }
  attention.columns = column->size;
  attention.value_column = column->strides[kValue];
  attention.features = feature->size;
  attention.value_feature = feature->strides[kValue];
  int64_t stride = attention.columns;
  for (size_t i = rows.size(); i-- > 0; stride *= rows[i].size) {
    if (rows[i].strides[kWeights] != stride) return std::nullopt;
  }
  if (stride != parts.weights->shape().element_count()) return std::nullopt;

  // The scores: rows, and behind them the columns.
  if (!ViewOf(*first.operand(0), *parts.sources[0], kLhs, &lhs) ||
      !ViewOf(*first.operand(1), *parts.sources[1], kRhs, &rhs) ||
      !StridedView::Product(first, lhs, rhs, &product, &depth)) {
    return std::nullopt;
  }
  moves.clear();
  for (const Instruction* at = parts.scores; at != &first; at = at->operand(0)) {
    if (!IsRearrangement(*at)) return std::nullopt;
    moves.push_back(at);
  }
  for (size_t i = moves.size(); i-- > 0;) {
    if (!product.Move(*moves[i])) return std::nullopt;
  }
  ViewParts scored = product.AllParts(), inner;
  for (int64_t left = attention.columns; left > 1; left /= inner.back().size, scored.pop_back()) {
    if (scored.empty() || left % scored.back().size != 0) return std::nullopt;
    inner.push_back(scored.back());
  }
  std::reverse(inner.begin(), inner.end());
  inner = Merge(inner);
  depth = Merge(depth);
  const ViewPart *key = Only(inner), *step = Only(depth);
  if (key == nullptr || step == nullptr) return std::nullopt;
  const int key_array = key->strides[kLhs] != 0 ? kLhs : kRhs, query_array = key_array == kLhs ? kRhs : kLhs;
  if (key->strides[key_array] == 0 || key->strides[query_array] != 0) return std::nullopt;
  attention.query_side = query_array == kLhs ? 0 : 1;
  attention.query_offset = product.offsets()[query_array];
  attention.key_offset = product.offsets()[key_array];
  attention.key_column = key->strides[key_array];
  attention.depth = step->size;
  attention.key_depth = step->strides[key_array];
  attention.query_depth = step->strides[query_array];

  // Both orders of rows are the same one.
  if (!Align(&scored, &rows)) return std::nullopt;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].strides[kLhs] = scored[i].strides[kLhs];
    rows[i].strides[kRhs] = scored[i].strides[kRhs];
  }
  rows = Merge(rows);
  if (rows.empty()) return std::nullopt;
  for (const ViewPart& part : rows) {
    attention.batch.push_back(
        {part.size, part.strides[query_array], part.strides[key_array], part.strides[kValue], part.strides[kOut]});
  }
  attention.rows = attention.batch.back();
  attention.batch.pop_back();
  if (attention.rows.key != 0 || attention.rows.value != 0) return std::nullopt;
  return attention;
}

const Instruction* SourceIn(const AttentionParts& parts, const Attention& attention, AttentionSource source) {
  if (source == AttentionSource::kValue) return parts.value;
  return parts.sources[source == AttentionSource::kQuery ? attention.query_side : 1 - attention.query_side];
}

int64_t PartsOf(const AttentionParts& parts, const Attention& attention, AttentionSource source) {
  std::vector<AttentionLoop> loops = attention.batch;
  int64_t AttentionLoop::*stride = &AttentionLoop::query;
  int64_t offset = attention.query_offset, part = attention.depth;
  bool is_whole = attention.query_depth == 1;
  if (source == AttentionSource::kQuery) {
    loops.push_back(attention.rows);
  } else {
    const bool is_key = source == AttentionSource::kKey;
    stride = is_key ? &AttentionLoop::key : &AttentionLoop::value;
    offset = is_key ? attention.key_offset : attention.value_offset;
    const int64_t width = is_key ? attention.depth : attention.features;
    const int64_t across = is_key ? attention.key_depth : attention.value_feature;
    const int64_t down = is_key ? attention.key_column : attention.value_column;
    is_whole = (across == 1 && down == width) || (down == 1 && across == attention.columns);
    part = attention.columns * width;
    while (!loops.empty() && loops.back().*stride == 0) loops.pop_back();  // heads that share it
  }
  if (!is_whole || offset != 0) return 0;
  int64_t elements = part;
  for (size_t i = loops.size(); i-- > 0; elements *= loops[i].size) {
    if (loops[i].*stride != elements) return 0;
  }
  return SourceIn(parts, attention, source)->shape().element_count() == elements ? elements / part : 0;
}

std::optional<AttentionParts> FindAttentionParts(const Instruction& fusion) {
  if (fusion.opcode() != Opcode::kFusion || fusion.Get<hlo::FusionAttributes>().kind != hlo::FusionKind::kCustom) {
    return std::nullopt;
  }
  const auto source = [](const Instruction* value) {
    while (IsMove(*value)) value = value->operand(0);
    return value;
  };
  AttentionParts parts;
  parts.root = fusion.called_computation()->root();
  parts.second = source(parts.root);
  if (!IsPlainDot(*parts.second)) return std::nullopt;
  parts.weights_side = source(parts.second->operand(0))->opcode() == Opcode::kFusion ? 0 : 1;
  parts.weights = source(parts.second->operand(parts.weights_side));
  parts.value = source(parts.second->operand(1 - parts.weights_side));
  if (parts.weights->opcode() != Opcode::kFusion || !parts.value->IsParameter()) return std::nullopt;
  for (const Instruction* operand : parts.weights->operands()) {
    if (operand->IsParameter()) continue;
    if (parts.scores != nullptr && parts.scores != operand) return std::nullopt;
    parts.scores = operand;
  }
  if (parts.scores == nullptr) return std::nullopt;
  parts.first = source(parts.scores);
  if (!IsPlainDot(*parts.first)) return std::nullopt;
  for (int side : {0, 1}) {
    parts.sources[side] = source(parts.first->operand(side));
    if (!parts.sources[side]->IsParameter()) return std::nullopt;
  }
  return parts;
}

const Instruction* FindAttention(const Instruction& fusion) {
  if (FindAttentionParts(fusion).has_value()) return &fusion;
  if (fusion.opcode() != Opcode::kFusion || fusion.Get<hlo::FusionAttributes>().kind != hlo::FusionKind::kCustom) {
    return nullptr;
  }
  const Instruction* last = fusion.called_computation()->root();
  return FindAttentionParts(*last).has_value() ? last : nullptr;
}

}  // namespace kiln::analysis
