// rematerialization: computes values again where they are needed instead of keeping them, under a memory limit.
#ifndef KILN_PASSES_REMATERIALIZATION_H_
#define KILN_PASSES_REMATERIALIZATION_H_

#include <cstdint>

#include "src/passes/pass.h"

namespace kiln::passes {

// Of a scheduled module, keeping its order. As long as temporaries take more than the limit at some step, the value
// that is live there, is read only later, and is the cheapest to compute again per byte, is copied before that later
// use. Cheap are elementwise ops, broadcasts and the like, and loop fusions of them, whose operands are still there (or
// are small). Values never move into or out of loops.
class Rematerialization : public Pass {
 public:
  // Bytes of temporaries at which it stops; with 0 it goes on as long as that helps.
  explicit Rematerialization(int64_t limit_bytes = 0) : limit_bytes_(limit_bytes) {}
  absl::string_view name() const override { return "rematerialization"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
  void set_limit_bytes(int64_t bytes) { limit_bytes_ = bytes; }

 private:
  int64_t limit_bytes_;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_REMATERIALIZATION_H_
