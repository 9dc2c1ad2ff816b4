// The memory of a program as data for people and pictures: what lives where, from when to when, and the moment of the
// peak.
#ifndef KILN_ANALYSIS_MEMORY_PLAN_H_
#define KILN_ANALYSIS_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/analysis/buffer_assignment.h"

namespace kiln::analysis {

// A value that lives in a buffer: what makes it, and when it is made.
struct PlannedValue {
  std::string name;   // "fusion.3", "while.1{2}"
  std::string shape;  // "f32[64,64]"
  int64_t step = 0;
};

// Storage, place, size and live range (steps, both included) as in `Buffer`.
struct PlannedBuffer : Buffer {
  bool scratch = false;              // used by one instruction while it runs
  std::vector<PlannedValue> values;  // one after the other, each in the memory of the one before
};

struct PlannedCopy {
  int64_t step = 0;  // before which it is made
  int from = 0;      // indices into `buffers`
  int to = 0;
  int64_t bytes = 0;
};

// `BufferRotation` of the loop at a step.
struct PlannedRotation : BufferRotation {
  int64_t step = 0;
};

struct MemoryPlan {
  std::string module;
  std::vector<std::string> steps;  // what happens at each position of the schedule, loops and branches inlined
  std::vector<PlannedBuffer> buffers;
  std::vector<PlannedCopy> copies;
  std::vector<PlannedRotation> rotations;
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  int64_t alias_bytes = 0;  // of results that take over an argument's memory
  int64_t constant_bytes = 0;
  int64_t workspace_bytes = 0;  // the most that a kernel works in, besides the arena
  int64_t arena_bytes = 0;
  // The most bytes of the arena that hold something at one step; what is left of the arena is lost between buffers.
  int64_t peak_live_bytes = 0;
  int64_t peak_step = 0;

  // Arguments, results and arena: what a run takes.
  int64_t total_bytes() const { return argument_bytes + result_bytes - alias_bytes + arena_bytes; }
  // Bytes of the arena that hold something, by step.
  std::vector<int64_t> LiveBytes() const;
  // Sizes, the peak and what is live there, and all buffers with a bar of their life.
  std::string ToString() const;
};

MemoryPlan MakeMemoryPlan(const hlo::Module& module, const BufferAssignment& assignment);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_MEMORY_PLAN_H_
