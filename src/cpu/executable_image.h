// What is left of a compilation when it is done: the machine code as an object, the program's larger constants, and the
// types of what goes in and out. It has a form in bytes, so that another process can go on from it.
#ifndef KILN_CPU_EXECUTABLE_IMAGE_H_
#define KILN_CPU_EXECUTABLE_IMAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cpu/executable.h"
#include "src/cpu/object_cache.h"
#include "src/hlo/shape.h"

namespace kiln::cpu {

struct ExecutableImage {
  std::vector<hlo::Shape> parameter_leaves;
  std::vector<hlo::Shape> output_leaves;
  std::vector<OutputLeaf> output_aliases;
  std::vector<int64_t> donated_parameters;
  std::vector<std::string> custom_calls;  // their instructions in the optimized program, by number
  int64_t arena_bytes = 0;
  int64_t estimated_nanoseconds = 0, lone_nanoseconds = 0;
  int64_t max_parallelism = 0;
  CompileStatistics statistics;
};

// `objects` and `constants` go with the image; the latter in the order of the program's table.
std::string WriteImage(const ExecutableImage& image, const std::vector<Object>& objects,
                       const std::vector<absl::string_view>& constants);

// `constants` point into the bytes.
struct ReadImage {
  ExecutableImage image;
  std::vector<Object> objects;
  std::vector<absl::string_view> constants;
};
// Refuses bytes that no WriteImage made, and code for another instruction set than this machine's. Damage inside the
// object is for the caller to find beforehand.
absl::StatusOr<ReadImage> ReadImageFrom(absl::string_view bytes);

}  // namespace kiln::cpu

#endif  // KILN_CPU_EXECUTABLE_IMAGE_H_
