// What a process pays with its first compilation, paid ahead.
#ifndef KILN_CPU_WARM_UP_H_
#define KILN_CPU_WARM_UP_H_

#include "absl/status/status.h"

namespace kiln::cpu {

// Compiles a small program and forgets it, so that the compiler's pages are in memory, its tables made and its heap
// grown: some ten milliseconds that the first program then does not take. The first call in a process does this,
// others nothing. Whether it failed matters to tests alone. Thread-safe.
absl::Status WarmUpCompiler();

}  // namespace kiln::cpu

#endif  // KILN_CPU_WARM_UP_H_
