// Working memory of kernels: packed operands, places to sort in. Small and bounded, it is the process's and not the
// program's, as that of a math library is.
#ifndef KILN_CPU_WORKSPACE_H_
#define KILN_CPU_WORKSPACE_H_

#include <cstdint>

namespace kiln::cpu {

// A block of analysis::kMaxWorkspaceBytes for one run, lent by a pool. Thread-safe.
class Workspace {
 public:
  // Without `needed`, nothing.
  explicit Workspace(bool needed);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Aligned to 64; null when it is not needed or there is no memory.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_WORKSPACE_H_
