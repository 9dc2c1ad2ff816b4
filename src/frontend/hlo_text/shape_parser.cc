#include "src/frontend/hlo_text/shape_parser.h"

#include <utility>
#include <vector>

namespace kiln::hlo_text {
namespace {

using hlo::Layout;
using hlo::PrimitiveType;
using hlo::Shape;

constexpr int kMaxTupleDepth = 64;
constexpr size_t kMaxRank = 64;

absl::StatusOr<int64_t> ParenthesizedInteger(Lexer& lexer, absl::string_view what) {
  KILN_RETURN_IF_ERROR(lexer.Expect("("));
  KILN_ASSIGN_OR_RETURN(int64_t value, lexer.Integer(what));
  KILN_RETURN_IF_ERROR(lexer.Expect(")"));
  return value;
}

// "(8,128)(2,1)": `*` joins a dimension with the next one.
absl::Status ParseTiles(Lexer& lexer, Layout* layout) {
  while (lexer.Consume("(")) {
    hlo::DimensionVector tile;
    do {
      if (lexer.Consume("*")) {
        tile.push_back(Layout::kCombineDimension);
        continue;
      }
      KILN_ASSIGN_OR_RETURN(int64_t size, lexer.Integer("a tile size"));
      if (size <= 0) return lexer.Error(lexer.offset(), "tile sizes must be positive");
      tile.push_back(size);
    } while (lexer.Consume(","));
    KILN_RETURN_IF_ERROR(lexer.Expect(")"));
    layout->tiles.push_back(std::move(tile));
  }
  return absl::OkStatus();
}

// What follows ':' in a layout.
absl::Status ParseLayoutQualifiers(Lexer& lexer, Layout* layout) {
  while (lexer.Peek() != '}') {
    const size_t start = lexer.offset();
    if (lexer.Consume("T")) {
      KILN_RETURN_IF_ERROR(ParseTiles(lexer, layout));
    } else if (lexer.Consume("E")) {
      KILN_ASSIGN_OR_RETURN(layout->element_size_in_bits, ParenthesizedInteger(lexer, "the element size"));
    } else if (lexer.Consume("SC") || lexer.Consume("L") || lexer.Consume("M") || lexer.Consume("#") ||
               lexer.Consume("*")) {
      KILN_RETURN_IF_ERROR(lexer.Expect("("));
      lexer.Run(":,");
      KILN_RETURN_IF_ERROR(lexer.Expect(")"));
      layout->qualifiers += std::string(lexer.text().substr(start, lexer.position() - start));
    } else if (lexer.Consume("S")) {
      KILN_ASSIGN_OR_RETURN(layout->memory_space, ParenthesizedInteger(lexer, "the memory space"));
    } else {
      return lexer.Expected("a layout qualifier (T, L, #, *, E, S, SC, M) or '}'");
    }
  }
  return absl::OkStatus();
}

absl::Status ParseLayout(Lexer& lexer, Shape* shape) {
  hlo::DimensionVector order;
  while (lexer.Peek() != '}' && lexer.Peek() != ':') {
    KILN_ASSIGN_OR_RETURN(int64_t dimension, lexer.Integer("a dimension of the layout"));
    if (order.size() >= kMaxRank) return lexer.Error(lexer.offset(), "layout of too many dimensions");
    order.push_back(dimension);
    if (!lexer.Consume(",")) break;
  }
  if (lexer.Consume(":")) {
    // A layout of only qualifiers keeps the default order.
    if (!order.empty() || shape->rank() == 0) shape->set_layout(order);
    KILN_RETURN_IF_ERROR(ParseLayoutQualifiers(lexer, shape->mutable_layout()));
  } else {
    shape->set_layout(order);
  }
  return lexer.Expect("}");
}

// A layout touches the shape; the brace after "-> f32[] {" opens a computation. A scalar's layout has only qualifiers.
bool LayoutFollows(const Lexer& lexer, int64_t rank) {
  const absl::string_view rest = lexer.text().substr(lexer.position());
  if (rest.size() < 2 || rest[0] != '{') return false;
  return rank > 0 || rest[1] == ':' || rest[1] == '}';
}

absl::StatusOr<Shape> ParseShapeAtDepth(Lexer& lexer, int depth) {
  const size_t start = lexer.offset();
  if (lexer.Peek() == '(') {
    if (depth >= kMaxTupleDepth) {
      return lexer.Error(start, absl::StrCat("tuple shapes nested deeper than ", kMaxTupleDepth));
    }
    std::vector<Shape> elements;
    KILN_RETURN_IF_ERROR(lexer.List("(", ")", [&]() -> absl::Status {
      KILN_ASSIGN_OR_RETURN(elements.emplace_back(), ParseShapeAtDepth(lexer, depth + 1));
      return absl::OkStatus();
    }));
    return Shape::Tuple(std::move(elements));
  }
  absl::string_view name = lexer.PeekName();
  std::optional<PrimitiveType> type = hlo::ParsePrimitiveType(name);
  if (!type.has_value() || *type == PrimitiveType::kTuple) return lexer.Expected("a shape");
  KILN_RETURN_IF_ERROR(lexer.Name("a type").status());
  hlo::DimensionVector sizes;
  absl::InlinedVector<bool, 6> dynamic;
  KILN_RETURN_IF_ERROR(lexer.List("[", "]", [&]() -> absl::Status {
    const size_t at = lexer.offset();
    if (lexer.Consume("?")) {
      return lexer.Locate(at, Unimplemented("unbounded dynamic dimensions are not supported; give a bound: <=N"));
    }
    dynamic.push_back(lexer.Consume("<="));
    if (sizes.size() >= kMaxRank) return lexer.Error(at, absl::StrCat("rank is above the limit of ", kMaxRank));
    KILN_ASSIGN_OR_RETURN(sizes.emplace_back(), lexer.Integer("a dimension"));
    return absl::OkStatus();
  }));
  if (*type == PrimitiveType::kToken || *type == PrimitiveType::kOpaque) {
    if (!sizes.empty()) return lexer.Error(start, absl::StrCat(name, " has no dimensions"));
    return *type == PrimitiveType::kToken ? Shape::Token() : Shape::Opaque();
  }
  Shape shape(*type, sizes);
  for (size_t i = 0; i < dynamic.size(); ++i) {
    if (dynamic[i]) shape.set_dynamic_dimension(i, true);
  }
  if (LayoutFollows(lexer, shape.rank())) {
    KILN_RETURN_IF_ERROR(lexer.Expect("{"));
    KILN_RETURN_IF_ERROR(ParseLayout(lexer, &shape));
  }
  KILN_RETURN_IF_ERROR(lexer.Locate(start, hlo::ValidateShape(shape)));
  return shape;
}

}  // namespace

bool AtShape(Lexer& lexer) {
  if (lexer.Peek() == '(') return true;
  const size_t start = lexer.offset();
  const absl::string_view name = lexer.PeekName();
  const size_t after = start + name.size();
  // A marked name ("%f32") is no type.
  return !name.empty() && lexer.text()[start] != '%' && after < lexer.text().size() && lexer.text()[after] == '[' &&
         hlo::ParsePrimitiveType(name).has_value();
}

absl::StatusOr<Shape> ParseShape(Lexer& lexer) { return ParseShapeAtDepth(lexer, 0); }

}  // namespace kiln::hlo_text
