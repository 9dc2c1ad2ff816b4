#include "src/analysis/strided_view.h"

#include <algorithm>

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Takes the last `size` places of a part off as a part of their own.
ViewPart TakeInner(ViewPart* part, int64_t size) {
  ViewPart inner = *part;
  inner.size = size;
  part->size /= size;
  for (int64_t& stride : part->strides) stride *= size;
  return inner;
}

// Both together; they have the same sizes.
ViewParts Combine(const ViewParts& a, const ViewParts& b) {
  ViewParts both = a;
  for (size_t i = 0; i < both.size(); ++i) {
    for (int array = 0; array < kMaxViewedArrays; ++array) both[i].strides[array] += b[i].strides[array];
  }
  return both;
}

}  // namespace

bool Align(ViewParts* a, ViewParts* b) {
  ViewParts left = *a, right = *b;
  a->clear();
  b->clear();
  while (!left.empty() && !right.empty()) {
    const int64_t size = std::min(left.back().size, right.back().size);
    for (const auto& [from, to] : {std::pair(&left, a), std::pair(&right, b)}) {
      if (from->back().size % size != 0) return false;
      to->push_back(TakeInner(&from->back(), size));
      if (from->back().size == 1) from->pop_back();
    }
  }
  std::reverse(a->begin(), a->end());
  std::reverse(b->begin(), b->end());
  return left.empty() && right.empty();
}

ViewParts Merge(const ViewParts& parts) {
  ViewParts merged;
  for (const ViewPart& part : parts) {
    bool follows = !merged.empty();
    for (int array = 0; follows && array < kMaxViewedArrays; ++array) {
      follows = merged.back().strides[array] == part.strides[array] * part.size;
    }
    if (!follows) {
      merged.push_back(part);
      continue;
    }
    merged.back().size *= part.size;
    merged.back().strides = part.strides;
  }
  return merged;
}

StridedView::StridedView(absl::Span<const int64_t> dimensions, int array) {
  for (int64_t size : dimensions) {
    dimensions_.emplace_back();
    if (size != 1) dimensions_.back().push_back({size, {}});
  }
  StoreIn(array);
}

void StridedView::StoreIn(int array) {
  int64_t stride = 1;
  for (size_t d = dimensions_.size(); d-- > 0;) {
    for (size_t i = dimensions_[d].size(); i-- > 0;) {
      dimensions_[d][i].strides[array] = stride;
      stride *= dimensions_[d][i].size;
    }
  }
}

ViewParts StridedView::AllParts() const {
  ViewParts all;
  for (const ViewParts& parts : dimensions_) all.insert(all.end(), parts.begin(), parts.end());
  return all;
}

bool StridedView::Regroup(absl::Span<const int64_t> dimensions) {
  ViewParts rest = AllParts();
  std::reverse(rest.begin(), rest.end());
  std::vector<ViewParts> grouped;
  for (int64_t size : dimensions) {
    grouped.emplace_back();
    for (int64_t left = size; left != 1;) {
      if (rest.empty()) return false;
      ViewPart outer = rest.back();
      rest.pop_back();
      if (outer.size > left) {
        if (outer.size % left != 0) return false;
        rest.push_back(TakeInner(&outer, outer.size / left));
      }
      if (left % outer.size != 0) return false;
      left /= outer.size;
      grouped.back().push_back(outer);
    }
  }
  dimensions_ = std::move(grouped);
  return rest.empty();
}

bool StridedView::Cut(ViewParts* parts, int64_t start, int64_t count) {
  int64_t inner = 1;
  for (const ViewPart& part : *parts) inner *= part.size;
  for (size_t i = 0; i < parts->size(); ++i) {
    ViewPart& part = (*parts)[i];
    inner /= part.size;
    const int64_t first = start / inner;
    for (int array = 0; array < kMaxViewedArrays; ++array) offsets_[array] += first * part.strides[array];
    if (start % inner == 0 && count % inner == 0) {
      part.size = count / inner;
      parts->erase(parts->begin(), parts->begin() + static_cast<int64_t>(part.size == 1 ? i + 1 : i));
      return true;
    }
    if ((start + count - 1) / inner != first) return false;
    start %= inner;
  }
  return false;
}

bool IsRearrangement(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kReshape:
    case Opcode::kTranspose:
      return true;
    case Opcode::kBitcast:
      return instruction.operand(0)->shape().element_type() == instruction.shape().element_type();
    default:
      return false;
  }
}

bool IsMove(const Instruction& instruction) {
  return IsRearrangement(instruction) || instruction.opcode() == Opcode::kBroadcast ||
         instruction.opcode() == Opcode::kSlice;
}

bool StridedView::Move(const Instruction& move) {
  if (!IsMove(move) || move.shape().element_count() == 0) return false;
  const absl::Span<const int64_t> sizes = move.shape().dimensions();
  std::vector<ViewParts> moved(sizes.size());
  switch (move.opcode()) {
    case Opcode::kTranspose:
      for (size_t d = 0; d < moved.size(); ++d) moved[d] = dimensions_[move.dimensions()[d]];
      break;
    case Opcode::kBroadcast:
      for (size_t d = 0; d < moved.size(); ++d) {
        if (sizes[d] != 1) moved[d].push_back({sizes[d], {}});
      }
      for (size_t d = 0; d < dimensions_.size(); ++d) moved[move.dimensions()[d]] = dimensions_[d];
      break;
    case Opcode::kSlice: {
      const auto& slice = move.Get<hlo::SliceAttributes>();
      moved = dimensions_;
      for (size_t d = 0; d < moved.size(); ++d) {
        if (sizes[d] == move.operand(0)->shape().dimensions(static_cast<int64_t>(d))) continue;
        if (slice.stride[d] != 1 || !Cut(&moved[d], slice.start[d], sizes[d])) return false;
      }
      break;
    }
    default:
      return Regroup(sizes);
  }
  dimensions_ = std::move(moved);
  return true;
}

bool StridedView::Product(const Instruction& dot, const StridedView& lhs, const StridedView& rhs, StridedView* product,
                          ViewParts* contracted) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  product->dimensions_.clear();
  for (int array = 0; array < kMaxViewedArrays; ++array) {
    product->offsets_[array] = lhs.offsets_[array] + rhs.offsets_[array];
  }
  contracted->clear();
  const auto both = [&](int64_t of_lhs, int64_t of_rhs, ViewParts* parts) {
    ViewParts a = lhs.dimensions_[of_lhs], b = rhs.dimensions_[of_rhs];
    if (!Align(&a, &b)) return false;
    const ViewParts together = Combine(a, b);
    parts->insert(parts->end(), together.begin(), together.end());
    return true;
  };
  for (size_t i = 0; i < attributes.lhs_batch.size(); ++i) {
    product->dimensions_.emplace_back();
    if (!both(attributes.lhs_batch[i], attributes.rhs_batch[i], &product->dimensions_.back())) return false;
  }
  for (size_t i = 0; i < attributes.lhs_contracting.size(); ++i) {
    if (!both(attributes.lhs_contracting[i], attributes.rhs_contracting[i], contracted)) return false;
  }
  const auto add_free = [&](const StridedView& view, const hlo::DimensionVector& batch,
                            const hlo::DimensionVector& contracting) {
    for (size_t d = 0; d < view.dimensions_.size(); ++d) {
      const auto is = [&](int64_t other) { return other == static_cast<int64_t>(d); };
      if (std::none_of(batch.begin(), batch.end(), is) && std::none_of(contracting.begin(), contracting.end(), is)) {
        product->dimensions_.push_back(view.dimensions_[d]);
      }
    }
  };
  add_free(lhs, attributes.lhs_batch, attributes.lhs_contracting);
  add_free(rhs, attributes.rhs_batch, attributes.rhs_contracting);
  return true;
}

bool ViewOf(const Instruction& value, const Instruction& source, int array, StridedView* view) {
  std::vector<const Instruction*> moves;
  for (const Instruction* at = &value; at != &source; at = at->operand(0)) {
    if (!IsMove(*at)) return false;
    moves.push_back(at);
  }
  *view = StridedView(source.shape().dimensions(), array);
  for (size_t i = moves.size(); i-- > 0;) {
    if (!view->Move(*moves[i])) return false;
  }
  return true;
}

}  // namespace kiln::analysis
