// Which values of a computation are in memory at which step of its schedule: what rematerialization and
// reader-recomputation decide by.
#ifndef KILN_PASSES_LIVE_VALUES_H_
#define KILN_PASSES_LIVE_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// One of the results of a fusion: each lives as long as it is read, and can be computed alone.
bool IsPart(const Instruction& value);

// What computes `value`: itself, or the fusion whose part it is.
const Instruction& ProducerOf(const Instruction& value);

// Whether it has memory of its own until it is read last.
bool IsHeld(const Instruction& value);

// Computed by elementwise ops and the like, alone or in a loop fusion.
bool IsComputedByElement(const Instruction& value);

// Adds what computes `value` alone once more; the schedule is left to the caller.
Instruction* AddCopyOf(const Instruction& value);

// One schedule. Instructions that it is not told of have no place.
class LiveValues {
 public:
  // `inner_peaks`: bytes that computations called by control flow hold at most, as far as they are known.
  LiveValues(const std::vector<Instruction*>& order,
             const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks);

  // The most bytes that are held at a step, and the first such step.
  int64_t peak() const { return peak_; }
  size_t peak_step() const { return peak_step_; }
  size_t StepOf(const Instruction* instruction) const { return step_.at(instruction); }
  // The last step that reads a value or a view of it; behind all steps for what the computation gives back.
  size_t LastRead(const Instruction* value) const { return last_.at(value); }
  // Whether `operand`, or what it is a view of, is there at `step` in any case.
  bool IsThereAt(const Instruction* operand, size_t step) const;

 private:
  absl::flat_hash_map<const Instruction*, size_t> step_, last_;
  int64_t peak_ = -1;
  size_t peak_step_ = 0;
};

// What an operand is a view of, parts of fusions being values of their own.
const Instruction* HeldSourceOf(const Instruction* operand);

}  // namespace kiln::passes

#endif  // KILN_PASSES_LIVE_VALUES_H_
