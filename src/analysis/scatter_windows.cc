#include "src/analysis/scatter_windows.h"

#include "absl/algorithm/container.h"

namespace kiln::analysis {

int64_t WindowsOutside(const hlo::ScatterAttributes& scatter, int64_t operand_rank) {
  int64_t count = 0;
  for (int64_t d = 0; d < operand_rank; ++d) {
    if (absl::c_linear_search(scatter.inserted_window_dims, d) ||
        absl::c_linear_search(scatter.input_batching_dims, d)) {
      continue;
    }
    const auto window = static_cast<size_t>(count);
    if (window >= scatter.update_window_dims.size() || scatter.update_window_dims[window] != count ||
        absl::c_linear_search(scatter.scatter_dims_to_operand_dims, d)) {
      break;
    }
    ++count;
  }
  return count;
}

}  // namespace kiln::analysis
