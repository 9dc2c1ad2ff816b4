// What a program calls outside of its generated code: the interface between programs and whoever knows the handlers.
#ifndef KILN_CPU_CUSTOM_CALL_H_
#define KILN_CPU_CUSTOM_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kiln::hlo {
class Instruction;
}  // namespace kiln::hlo

namespace kiln::cpu {

// State of one run that belongs to its custom calls; programs only pass it on.
class CustomCallRun {
 public:
  virtual ~CustomCallRun() = default;
};

// One call site of a program. Thread-safe: runs of one program may overlap.
class CustomCall {
 public:
  enum class Stage : int { kPrepare = 1, kInitialize = 2, kExecute = 3 };

  virtual ~CustomCall() = default;
  // Whether the program must announce the stage before its first instruction; content of buffers is not defined then.
  virtual bool HasStage(Stage stage) const = 0;
  // `buffers` points to the operand leaves, then to the result leaves; null for tokens. `run` is null where the program
  // is run without one. Returns when the results are there. No exception leaves it.
  virtual absl::Status Call(Stage stage, CustomCallRun* run, absl::Span<void* const> buffers) const = 0;
};

// Finds the code for a custom-call instruction; the error of an unknown target names the instruction.
using CustomCallResolver = std::function<absl::StatusOr<std::unique_ptr<CustomCall>>(const hlo::Instruction&)>;

}  // namespace kiln::cpu

#endif  // KILN_CPU_CUSTOM_CALL_H_
