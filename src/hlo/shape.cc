#include "src/hlo/shape.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace kiln::hlo {

Shape::Shape(PrimitiveType element_type, absl::Span<const int64_t> dimensions)
    : element_type_(element_type), dimensions_(dimensions.begin(), dimensions.end()) {
  ResetLayout();
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.element_type_ = PrimitiveType::kTuple;
  shape.tuple_shapes_ = std::move(elements);
  return shape;
}

Shape Shape::Token() {
  Shape shape;
  shape.element_type_ = PrimitiveType::kToken;
  return shape;
}

Shape Shape::Opaque() {
  Shape shape;
  shape.element_type_ = PrimitiveType::kOpaque;
  return shape;
}

void Shape::set_dynamic_dimension(int64_t index, bool is_dynamic) {
  if (dynamic_.empty()) {
    if (!is_dynamic) return;
    dynamic_.assign(dimensions_.size(), false);
  }
  dynamic_[index] = is_dynamic;
  if (std::find(dynamic_.begin(), dynamic_.end(), true) == dynamic_.end()) dynamic_.clear();
}

int64_t Shape::element_count() const {
  int64_t count = 1;
  for (int64_t size : dimensions_) count *= size;
  return count;
}

int64_t Shape::byte_count() const {
  if (IsTuple()) {
    int64_t bytes = 0;
    for (const Shape& element : tuple_shapes_) bytes += element.byte_count();
    return bytes;
  }
  return IsArray() ? element_count() * ByteWidth(element_type_) : 0;
}

bool Shape::HasDescendingLayout() const {
  for (int64_t i = 0; i < rank(); ++i) {
    if (layout_.minor_to_major[i] != rank() - 1 - i) return false;
  }
  return true;
}

void Shape::ResetLayout() {
  layout_.minor_to_major.resize(dimensions_.size());
  for (int64_t i = 0; i < rank(); ++i) layout_.minor_to_major[i] = rank() - 1 - i;
}

int64_t Shape::leaf_count() const {
  if (!IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : tuple_shapes_) count += element.leaf_count();
  return count;
}

namespace {
void AppendLeaves(const Shape& shape, std::vector<const Shape*>* leaves) {
  if (!shape.IsTuple()) {
    leaves->push_back(&shape);
    return;
  }
  for (const Shape& element : shape.tuple_shapes()) AppendLeaves(element, leaves);
}
}  // namespace

std::vector<const Shape*> Shape::Leaves() const {
  std::vector<const Shape*> leaves;
  AppendLeaves(*this, &leaves);
  return leaves;
}

const Shape* Shape::Part(absl::Span<const int64_t> index) const {
  const Shape* part = this;
  for (int64_t i : index) {
    if (i < 0 || i >= static_cast<int64_t>(part->tuple_shapes_.size())) return nullptr;
    part = &part->tuple_shapes_[i];
  }
  return part;
}

bool Shape::Compatible(const Shape& a, const Shape& b) {
  if (a.element_type_ != b.element_type_ || a.dimensions_ != b.dimensions_ ||
      a.tuple_shapes_.size() != b.tuple_shapes_.size()) {
    return false;
  }
  for (size_t i = 0; i < a.tuple_shapes_.size(); ++i) {
    if (!Compatible(a.tuple_shapes_[i], b.tuple_shapes_[i])) return false;
  }
  return true;
}

bool Shape::SameDimensions(const Shape& a, const Shape& b) {
  return a.IsArray() && b.IsArray() && a.dimensions_ == b.dimensions_;
}

std::string Shape::ToString(bool print_layout) const {
  if (IsTuple()) {
    std::string text = "(";
    for (size_t i = 0; i < tuple_shapes_.size(); ++i) {
      if (i > 0) text += i % 5 == 0 ? absl::StrCat(", /*index=", i, "*/") : ", ";
      text += tuple_shapes_[i].ToString(print_layout);
    }
    return text + ")";
  }
  std::string text = absl::StrCat(PrimitiveTypeName(element_type_), "[");
  for (int64_t i = 0; i < rank(); ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", is_dynamic_dimension(i) ? "<=" : "", dimensions_[i]);
  }
  text += "]";
  if (!print_layout || !IsArray()) return text;
  const std::string& qualifiers = layout_.qualifiers;
  bool extra = !layout_.tiles.empty() || layout_.element_size_in_bits != 0 || layout_.memory_space != 0 ||
               !qualifiers.empty();
  if (rank() == 0 && !extra) return text;
  absl::StrAppend(&text, "{", absl::StrJoin(layout_.minor_to_major, ","));
  if (extra) {
    text += ":";
    if (!layout_.tiles.empty()) {
      text += "T";
      for (const DimensionVector& tile : layout_.tiles) {
        absl::StrAppend(&text, "(", absl::StrJoin(tile, ",", [](std::string* out, int64_t size) {
                          absl::StrAppend(out, size == Layout::kCombineDimension ? "*" : absl::StrCat(size));
                        }), ")");
      }
    }
    // SC and M stand after the memory space, the others before the element size.
    const size_t late = std::min({qualifiers.find("SC("), qualifiers.find("M("), qualifiers.size()});
    text += qualifiers.substr(0, late);
    if (layout_.element_size_in_bits != 0) absl::StrAppend(&text, "E(", layout_.element_size_in_bits, ")");
    if (layout_.memory_space != 0) absl::StrAppend(&text, "S(", layout_.memory_space, ")");
    text += qualifiers.substr(late);
  }
  return text + "}";
}

Shape ChangeElementType(const Shape& shape, PrimitiveType type) {
  Shape result = shape;
  result.set_element_type(type);
  return result;
}

namespace {
absl::Status ValidateShapeAtDepth(const Shape& shape, int depth) {
  constexpr int kMaxTupleDepth = 64;
  constexpr int64_t kMaxBytes = int64_t{1} << 48;
  constexpr int64_t kMaxRank = 64;
  if (depth > kMaxTupleDepth) return InvalidArgument("tuple shapes nested deeper than ", kMaxTupleDepth);
  if (shape.IsTuple()) {
    for (const Shape& element : shape.tuple_shapes()) {
      KILN_RETURN_IF_ERROR(ValidateShapeAtDepth(element, depth + 1));
    }
    return absl::OkStatus();
  }
  if (!shape.IsArray()) {
    return shape.element_type() == PrimitiveType::kInvalid ? InvalidArgument("invalid element type in a shape")
                                                           : absl::OkStatus();
  }
  if (shape.rank() > kMaxRank) return InvalidArgument("rank ", shape.rank(), " is above the limit of ", kMaxRank);
  int64_t bytes = ByteWidth(shape.element_type());
  for (int64_t size : shape.dimensions()) {
    if (size < 0) return InvalidArgument("negative dimension in ", shape.ToString(false));
    // The product over the other dimensions is bounded also when one is empty: strides are computed from it.
    if (size > 0 && bytes > kMaxBytes / size) {
      return InvalidArgument(shape.ToString(false), " is larger than ", kMaxBytes, " bytes");
    }
    if (size > 0) bytes *= size;
  }
  const DimensionVector& order = shape.layout().minor_to_major;
  if (static_cast<int64_t>(order.size()) != shape.rank()) {
    return InvalidArgument("layout of ", shape.ToString(), " has ", order.size(), " dimensions, expected ",
                           shape.rank());
  }
  absl::InlinedVector<bool, 8> seen(shape.rank(), false);
  for (int64_t dimension : order) {
    if (dimension < 0 || dimension >= shape.rank() || seen[dimension]) {
      return InvalidArgument("layout of ", shape.ToString(), " is not a permutation of its dimensions");
    }
    seen[dimension] = true;
  }
  return absl::OkStatus();
}
}  // namespace

absl::Status ValidateShape(const Shape& shape) { return ValidateShapeAtDepth(shape, 0); }

}  // namespace kiln::hlo
