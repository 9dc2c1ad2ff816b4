// Arrays in NumPy's files: .npy, and .npz archives of them.
#ifndef KILN_TOOLS_NPY_H_
#define KILN_TOOLS_NPY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/hlo/literal.h"

namespace kiln::tools {

// One array as numpy.load gives it. Types that NumPy has none for come as it stores them: bf16 as two raw bytes, 8-bit
// floats as one, narrower integers as a byte each.
struct NpyArray {
  std::string name;   // In an archive, without ".npy"; else empty.
  char kind = 0;      // NumPy's: b, i, u, f, c or V.
  int64_t width = 0;  // Bytes of an element.
  std::vector<int64_t> dimensions;
  bool column_major = false;
  std::string data;
};

// The arrays of a .npy or .npz file (stored or deflated), in the order of the archive.
absl::StatusOr<std::vector<NpyArray>> ReadNpyFile(absl::string_view bytes);

// The value of an array of `shape`; INVALID_ARGUMENT when type or dimensions are others.
absl::StatusOr<hlo::Literal> ToLiteral(const NpyArray& array, const hlo::Shape& shape);

// The bytes of a .npy file, and of an .npz archive (stored) of named arrays. Literals are arrays, no tuples.
std::string WriteNpy(const hlo::Literal& literal);
std::string WriteNpz(const std::vector<std::pair<std::string, const hlo::Literal*>>& arrays);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_NPY_H_
