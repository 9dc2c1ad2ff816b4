// Arrays of bounded dynamic size while they are made static: each is kept at its bound, and its sizes are s32 scalars.
#ifndef KILN_PASSES_DYNAMIC_VALUES_H_
#define KILN_PASSES_DYNAMIC_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/passes/array_value.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// The size of each dimension; null where it is the shape's own. Empty: all are.
using DynamicSizes = std::vector<Instruction*>;

// `shape` with every dimension static at its bound, and whether that is another shape.
Shape WithoutDynamicDimensions(const Shape& shape);
bool HasDynamicDimensions(const Shape& shape);

// Sizes of the values of one module; values it does not know are static.
class DynamicValues {
 public:
  // Of an array.
  const DynamicSizes& Of(const Instruction* array) const;
  Instruction* Of(const Instruction* array, int64_t dimension) const;
  bool IsDynamic(const Instruction* value) const { return leaves_.contains(value); }
  void Set(const Instruction* array, DynamicSizes sizes) { SetLeaves(array, {std::move(sizes)}); }

  // Of the leaves of any value, in pre-order; as many as its shape has.
  std::vector<DynamicSizes> Leaves(const Instruction* value) const;
  void SetLeaves(const Instruction* value, std::vector<DynamicSizes> leaves);

  // The size of a dimension as a scalar, constant where it is static.
  ArrayValue Size(Builder& builder, const Instruction* array, int64_t dimension) const;
  // pred of the array's dimensions: the index is inside the sizes of `dimensions`. Null when those are all static.
  Instruction* Inside(Builder& builder, const Instruction* array, absl::Span<const int64_t> dimensions) const;
  // `array` with the scalar `fill` wherever an index is past the size of one of `dimensions`.
  Instruction* Mask(Builder& builder, Instruction* array, absl::Span<const int64_t> dimensions,
                    Instruction* fill) const;

 private:
  absl::flat_hash_map<const Instruction*, std::vector<DynamicSizes>> leaves_;
};

// s32 scalars.
ArrayValue SizeConstant(Builder& builder, int64_t size);
ArrayValue Max(const ArrayValue& a, const ArrayValue& b);
ArrayValue Min(const ArrayValue& a, const ArrayValue& b);

}  // namespace kiln::passes

#endif  // KILN_PASSES_DYNAMIC_VALUES_H_
