// Where the elements of values lie that only rearrange those of arrays.
#ifndef KILN_ANALYSIS_STRIDED_VIEW_H_
#define KILN_ANALYSIS_STRIDED_VIEW_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/hlo/instruction.h"

namespace kiln::analysis {

inline constexpr int kMaxViewedArrays = 5;

// A part of a dimension: `size` places, strides[i] elements apart in array number i. 0: at the same place there.
struct ViewPart {
  int64_t size = 1;
  std::array<int64_t, kMaxViewedArrays> strides = {};
};
// The slowest first; parts of one place are left out.
using ViewParts = std::vector<ViewPart>;

// Cuts the parts of both, which have as many places, to equal sizes. False where they do not fit.
bool Align(ViewParts* a, ViewParts* b);
// Neighbours that are one part of every array become one.
ViewParts Merge(const ViewParts& parts);

// The parts of each dimension of a value.
class StridedView {
 public:
  // The array `array` itself, row-major.
  StridedView(absl::Span<const int64_t> dimensions, int array);

  const std::vector<ViewParts>& dimensions() const { return dimensions_; }
  // The parts of all dimensions in order.
  ViewParts AllParts() const;
  // Adds the strides of one more array, row-major, in whose dimensions this value is stored.
  void StoreIn(int array);

  // Elements before the first place, in each array.
  const std::array<int64_t, kMaxViewedArrays>& offsets() const { return offsets_; }

  // From the operand of a move to its result; false for other operations and where it has no strides.
  bool Move(const hlo::Instruction& move);
  // The product of two views, none of whose arrays are the same; `contracted` are the parts of what is summed over.
  static bool Product(const hlo::Instruction& dot, const StridedView& lhs, const StridedView& rhs, StridedView* product,
                      ViewParts* contracted);

 private:
  StridedView() = default;
  bool Regroup(absl::Span<const int64_t> dimensions);
  // Leaves `count` places from `start` on of a dimension.
  bool Cut(ViewParts* parts, int64_t start, int64_t count);

  std::vector<ViewParts> dimensions_;
  std::array<int64_t, kMaxViewedArrays> offsets_ = {};
};

// Reshapes and transposes, which keep all elements, and those with broadcasts and slices.
bool IsRearrangement(const hlo::Instruction& instruction);
bool IsMove(const hlo::Instruction& instruction);
// `value` as a view of `source`, array number `array`, from which it is made by moves. False where it is not.
bool ViewOf(const hlo::Instruction& value, const hlo::Instruction& source, int array, StridedView* view);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_STRIDED_VIEW_H_
