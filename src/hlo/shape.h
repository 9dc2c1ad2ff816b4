// Shapes: element type, dimensions and layout of an array, or a tuple of shapes.
#ifndef KILN_HLO_SHAPE_H_
#define KILN_HLO_SHAPE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "src/base/shared_value.h"
#include "src/base/status.h"
#include "src/hlo/primitive_type.h"

namespace kiln::hlo {

using DimensionVector = absl::InlinedVector<int64_t, 6>;

// Order of dimensions in memory. `minor_to_major[0]` is the dimension whose neighbours are adjacent. Arrays of this
// library are dense; tiles are kept for printing only and refused by the targets.
struct Layout {
  // In a tile: the dimension is joined with the next one ("*").
  static constexpr int64_t kCombineDimension = INT64_MIN;

  DimensionVector minor_to_major;
  std::vector<DimensionVector> tiles;
  int64_t element_size_in_bits = 0;  // 0: the natural size
  int64_t memory_space = 0;
  // Qualifiers of the text form that nothing here models, as written, in the text's order: "L(8)#(s32)*(u8)SC(0:1)M(512)".
  std::string qualifiers;

  bool operator==(const Layout&) const = default;
};

// A dense array, a tuple, a token or an opaque value. Copies share what they say until one of them is written.
class Shape {
 public:
  Shape() = default;
  // An array in row-major layout.
  Shape(PrimitiveType element_type, absl::Span<const int64_t> dimensions);

  static Shape Scalar(PrimitiveType element_type) { return Shape(element_type, {}); }
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token();
  static Shape Opaque();

  PrimitiveType element_type() const { return data_->element_type; }
  void set_element_type(PrimitiveType type) { data_.Mutable().element_type = type; }

  bool IsArray() const { return IsArrayType(element_type()); }
  bool IsTuple() const { return element_type() == PrimitiveType::kTuple; }
  bool IsToken() const { return element_type() == PrimitiveType::kToken; }
  // An array of rank 0.
  bool IsScalar() const { return IsArray() && dimensions().empty(); }

  // Arrays. A bounded dynamic dimension states its bound.
  int64_t rank() const { return static_cast<int64_t>(dimensions().size()); }
  const DimensionVector& dimensions() const { return data_->dimensions; }
  int64_t dimensions(int64_t index) const { return data_->dimensions[index]; }
  void set_dimensions(int64_t index, int64_t size) { data_.Mutable().dimensions[index] = size; }
  bool is_dynamic_dimension(int64_t index) const { return has_dynamic_dimensions() && data_->dynamic[index]; }
  void set_dynamic_dimension(int64_t index, bool is_dynamic);
  bool has_dynamic_dimensions() const { return !data_->dynamic.empty(); }
  // Product of the dimensions; shapes are kept small enough not to overflow (see ValidateShape).
  int64_t element_count() const;
  // element_count * ByteWidth; 0 for tokens; the sum of the elements for tuples.
  int64_t byte_count() const;

  const Layout& layout() const { return data_->layout; }
  Layout* mutable_layout() { return &data_.Mutable().layout; }
  void set_layout(absl::Span<const int64_t> minor_to_major) {
    mutable_layout()->minor_to_major.assign(minor_to_major.begin(), minor_to_major.end());
  }
  bool HasDescendingLayout() const;  // row-major
  void ResetLayout();                // to row-major

  // Tuples.
  const std::vector<Shape>& tuple_shapes() const { return data_->tuple_shapes; }
  const Shape& tuple_shapes(int64_t index) const { return data_->tuple_shapes[index]; }
  std::vector<Shape>* mutable_tuple_shapes() { return &data_.Mutable().tuple_shapes; }
  // Array, token and opaque leaves in pre-order; one for a shape that is no tuple.
  int64_t leaf_count() const;
  std::vector<const Shape*> Leaves() const;

  // What stands at `index` of tuples of tuples; null where nothing does.
  const Shape* Part(absl::Span<const int64_t> index) const;

  // Same element types, dimensions and layouts (dynamic flags included).
  bool operator==(const Shape&) const = default;
  // The same up to layout.
  static bool Compatible(const Shape& a, const Shape& b);
  // The same up to layout and element type.
  static bool SameDimensions(const Shape& a, const Shape& b);

  // "f32[2,3]{1,0}"; without layout "f32[2,3]".
  std::string ToString(bool print_layout = true) const;

  template <typename H>
  friend H AbslHashValue(H h, const Shape& s) {
    return H::combine(std::move(h), s.element_type(), s.dimensions(), s.layout().minor_to_major, s.tuple_shapes());
  }

 private:
  struct Data {
    PrimitiveType element_type = PrimitiveType::kInvalid;
    DimensionVector dimensions;
    absl::InlinedVector<bool, 6> dynamic;  // empty: all static
    Layout layout;
    std::vector<Shape> tuple_shapes;

    bool operator==(const Data&) const = default;
  };
  SharedValue<Data> data_;
};

// Shape of the same dimensions and layout with another element type.
Shape ChangeElementType(const Shape& shape, PrimitiveType type);

// Refuses negative sizes, products past 2^48 bytes, layouts that are no permutation and tuples nested past 64.
absl::Status ValidateShape(const Shape& shape);

}  // namespace kiln::hlo

#endif  // KILN_HLO_SHAPE_H_
