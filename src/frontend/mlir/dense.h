// Dense attributes from the bytes of a file.
#ifndef KILN_FRONTEND_MLIR_DENSE_H_
#define KILN_FRONTEND_MLIR_DENSE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

// What dense elements of a type need: its static dims and its element type.
struct DenseShape {
  const std::vector<int64_t>* dims = nullptr;
  TypeRef element = nullptr;
  int64_t count = 0;
  int64_t element_bytes = 0;
};
// INVALID_ARGUMENT unless `type` is a tensor or vector of static shape whose elements have a size.
absl::StatusOr<DenseShape> DenseShapeOf(const Type& type);

// The attribute of little-endian elements `data`, which live as long as the context: recognizes splats (the bytes of
// one element), unpacks booleans, checks the size.
absl::StatusOr<AttributeRef> DenseFromBytes(Context& context, TypeRef type, absl::string_view data);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_DENSE_H_
