#include "src/hlo/shape.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace kiln::hlo {

Shape::Shape(PrimitiveType element_type, absl::Span<const int64_t> dimensions) {
  Data& data = data_.Mutable();
  data.element_type = element_type;
  data.dimensions.assign(dimensions.begin(), dimensions.end());
  ResetLayout();
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.set_element_type(PrimitiveType::kTuple);
  *shape.mutable_tuple_shapes() = std::move(elements);
  return shape;
}

Shape Shape::Token() {
  Shape shape;
  shape.set_element_type(PrimitiveType::kToken);
  return shape;
}

Shape Shape::Opaque() {
  Shape shape;
  shape.set_element_type(PrimitiveType::kOpaque);
  return shape;
}

void Shape::set_dynamic_dimension(int64_t index, bool is_dynamic) {
  if (!has_dynamic_dimensions() && !is_dynamic) return;
  absl::InlinedVector<bool, 6>& dynamic = data_.Mutable().dynamic;
  dynamic.resize(rank(), false);
  dynamic[index] = is_dynamic;
  if (std::find(dynamic.begin(), dynamic.end(), true) == dynamic.end()) dynamic.clear();
}

int64_t Shape::element_count() const {
  int64_t count = 1;
  for (int64_t size : dimensions()) count *= size;
  return count;
}

int64_t Shape::byte_count() const {
  if (IsTuple()) {
    int64_t bytes = 0;
    for (const Shape& element : tuple_shapes()) bytes += element.byte_count();
    return bytes;
  }
  return IsArray() ? element_count() * ByteWidth(element_type()) : 0;
}

bool Shape::HasDescendingLayout() const {
  for (int64_t i = 0; i < rank(); ++i) {
    if (layout().minor_to_major[i] != rank() - 1 - i) return false;
  }
  return true;
}

void Shape::ResetLayout() {
  DimensionVector& order = mutable_layout()->minor_to_major;
  order.resize(rank());
  for (int64_t i = 0; i < rank(); ++i) order[i] = rank() - 1 - i;
}

int64_t Shape::leaf_count() const {
  if (!IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : tuple_shapes()) count += element.leaf_count();
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
    if (i < 0 || i >= static_cast<int64_t>(part->tuple_shapes().size())) return nullptr;
    part = &part->tuple_shapes(i);
  }
  return part;
}

bool Shape::Compatible(const Shape& a, const Shape& b) {
  if (a.data_.SharesWith(b.data_)) return true;
  return a.element_type() == b.element_type() && a.dimensions() == b.dimensions() &&
         std::equal(a.tuple_shapes().begin(), a.tuple_shapes().end(), b.tuple_shapes().begin(), b.tuple_shapes().end(),
                    Compatible);
}

bool Shape::SameDimensions(const Shape& a, const Shape& b) {
  return a.IsArray() && b.IsArray() && a.dimensions() == b.dimensions();
}

std::string Shape::ToString(bool print_layout) const {
  if (IsTuple()) {
    std::string text = "(";
    for (size_t i = 0; i < tuple_shapes().size(); ++i) {
      if (i > 0) text += i % 5 == 0 ? absl::StrCat(", /*index=", i, "*/") : ", ";
      text += tuple_shapes(i).ToString(print_layout);
    }
    return text + ")";
  }
  std::string text = absl::StrCat(PrimitiveTypeName(element_type()), "[");
  for (int64_t i = 0; i < rank(); ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", is_dynamic_dimension(i) ? "<=" : "", dimensions(i));
  }
  text += "]";
  if (!print_layout || !IsArray()) return text;
  const Layout& layout = this->layout();
  const std::string& qualifiers = layout.qualifiers;
  bool extra =
      !layout.tiles.empty() || layout.element_size_in_bits != 0 || layout.memory_space != 0 || !qualifiers.empty();
  if (rank() == 0 && !extra) return text;
  absl::StrAppend(&text, "{", absl::StrJoin(layout.minor_to_major, ","));
  if (extra) {
    text += ":";
    if (!layout.tiles.empty()) {
      text += "T";
      for (const DimensionVector& tile : layout.tiles) {
        absl::StrAppend(&text, "(", absl::StrJoin(tile, ",", [](std::string* out, int64_t size) {
                          absl::StrAppend(out, size == Layout::kCombineDimension ? "*" : absl::StrCat(size));
                        }), ")");
      }
    }
    // SC and M stand after the memory space, the others before the element size.
    const size_t late = std::min({qualifiers.find("SC("), qualifiers.find("M("), qualifiers.size()});
    text += qualifiers.substr(0, late);
    if (layout.element_size_in_bits != 0) absl::StrAppend(&text, "E(", layout.element_size_in_bits, ")");
    if (layout.memory_space != 0) absl::StrAppend(&text, "S(", layout.memory_space, ")");
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
