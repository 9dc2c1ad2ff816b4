// Inside shape inference: what the rules of all families share.
#ifndef KILN_HLO_SHAPE_INFERENCE_RULES_H_
#define KILN_HLO_SHAPE_INFERENCE_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/base/status.h"
#include "src/hlo/attributes.h"
#include "src/hlo/computation.h"
#include "src/hlo/opcode.h"
#include "src/hlo/shape.h"

namespace kiln::hlo {

// One question to a rule. Operand shapes are valid (ValidateShape), their number is the opcode's.
struct InferenceQuery {
  Opcode opcode;
  absl::Span<const Shape* const> operands;
  const Attributes& attributes;
  absl::Span<Computation* const> called;
  const Shape* declared;  // may be null

  const Shape& operand(size_t index) const { return *operands[index]; }
  template <typename T>
  const T& Get() const {
    return attributes.Get<T>();
  }
  // INVALID_ARGUMENT "opcode: message".
  template <typename... Parts>
  absl::Status Fail(const Parts&... parts) const {
    return InvalidArgument(OpcodeName(opcode), ": ", parts...);
  }
};

// The rules of the opcode table. Each returns the shape in row-major layout; shapes that only the declaration can tell
// are the declared ones. Attributes of the right type are present, called computations are as many as they should be
// and have a root and all parameters; operands are arrays, but for opcodes of communication and control and for copies.
#define KILN_OPCODE(enumerator, name, operands, kind, attributes, called, rule) \
  absl::StatusOr<Shape> Infer##rule(const InferenceQuery& query);
#include "src/hlo/opcodes.inc"
#undef KILN_OPCODE

// An array in row-major layout, its bounded dimensions bounded.
Shape RowMajor(const Shape& array);

// Errors unless every operand is an array.
absl::Status RequireArrays(const InferenceQuery& query);
// The declared shape, or an error that it must be written.
absl::StatusOr<Shape> RequireDeclared(const InferenceQuery& query);
// The declared shape when it is an array, or an error.
absl::StatusOr<Shape> RequireDeclaredArray(const InferenceQuery& query);
// Each entry of `dimensions` is in [0, rank) and none stands twice; `what` names the list.
absl::Status CheckDimensionList(const InferenceQuery& query, absl::Span<const int64_t> dimensions, int64_t rank,
                                absl::string_view what);
// The same, and in ascending order.
absl::Status CheckSortedDimensionList(const InferenceQuery& query, absl::Span<const int64_t> dimensions, int64_t rank,
                                      absl::string_view what);
// The one entry of DimensionsAttributes, checked likewise.
absl::StatusOr<int64_t> OnlyDimension(const InferenceQuery& query, int64_t rank, absl::string_view what);
// Two operands have the same dimensions.
absl::Status CheckSameDimensions(const InferenceQuery& query, size_t a, size_t b);
bool Contains(absl::Span<const int64_t> values, int64_t value);

// Sizes after dilation and padding, and the number of window positions; errors on overflow and negative sizes.
absl::StatusOr<int64_t> WindowedSize(const InferenceQuery& query, int64_t size, const WindowDimension& window);

// One called computation must take scalars of these types (in this order) and give scalars of `results` (a tuple when
// more than one).
absl::Status CheckScalarComputation(const InferenceQuery& query, const Computation& computation,
                                    absl::Span<const PrimitiveType> parameters,
                                    absl::Span<const PrimitiveType> results);

// `results` itself when there is one, a tuple otherwise.
Shape OneOrTuple(std::vector<Shape> results);

}  // namespace kiln::hlo

#endif  // KILN_HLO_SHAPE_INFERENCE_RULES_H_
