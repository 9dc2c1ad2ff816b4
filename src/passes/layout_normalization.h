#ifndef KILN_PASSES_LAYOUT_NORMALIZATION_H_
#define KILN_PASSES_LAYOUT_NORMALIZATION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Every array inside is row-major; other layouts remain at the borders only. Borders are the parameters and the result
// of the entry, which take the layouts the module's header asks for, and custom calls with layout constraints. Behind a
// border value f32[2,3]{0,1} stands bitcast f32[3,2]{1,0}, the same buffer, and a transpose of that to f32[2,3]{1,0};
// before one, the same two in reverse. Those bitcasts are the only instructions left with a layout that is not
// row-major on one side.
absl::StatusOr<bool> NormalizeLayouts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_LAYOUT_NORMALIZATION_H_
