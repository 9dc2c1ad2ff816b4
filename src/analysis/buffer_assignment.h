// Where every value of a program lives: arguments, results, constants, one arena, or the stack; and the copies that
// remain.
#ifndef KILN_ANALYSIS_BUFFER_ASSIGNMENT_H_
#define KILN_ANALYSIS_BUFFER_ASSIGNMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "src/analysis/box.h"
#include "src/hlo/module.h"

namespace kiln::analysis {

enum class Storage : uint8_t {
  kArgument,   // `number`: leaf of the entry's parameters
  kResult,     // `number`: leaf of the entry's result; temporaries may live at `offset` in it before it is written
  kConstant,   // `number`: index into BufferAssignment::constants
  kArena,      // at `offset`
  kWorkspace,  // one instruction's working memory, at the start of the run's workspace
  kStack,      // scalars and other tiny arrays, which become registers where possible, or `framed`
};

// Temporaries are in the program's stack frame, at `offset`, while there is room.
inline constexpr int64_t kMaxFrameBytes = 16 << 10;

// Scratch memory up to this size is in the workspace, larger one in the arena.
inline constexpr int64_t kMaxWorkspaceBytes = 4 << 20;

struct Buffer {
  Storage storage = Storage::kArena;
  int64_t number = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  bool borrowed = false;  // a temporary in a result's memory
  bool framed = false;    // on the stack, but no register
  hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;
  // Positions in the schedule between which the buffer is in use, both included.
  int64_t first = 0;
  int64_t last = -1;
};

// All of `to`, or all but a box of it that is written next.
struct BufferCopy {
  int from = 0;
  int to = 0;
  int64_t offset = 0;               // in `from`
  hlo::DimensionVector dimensions;  // with a box
  std::optional<Box> but;
};

// Buffers of one size that pass their memory on at the end of a loop's rounds: each has that of the one before it, the
// first that of the last.
struct BufferRotation {
  std::vector<int> state;
  int spare = -1;            // what nothing is in behind the loop
  bool spare_turns = false;  // it holds what a round makes, and comes before the first
};

// What a target knows about its kernels.
struct TargetHooks {
  // The operand whose old value output leaf `leaf` of an instruction starts from, updated in place; or -1.
  std::function<int64_t(const hlo::Instruction&, int64_t leaf)> in_place_operand;
  // What an update in place writes, where that is known.
  std::function<std::optional<Box>(const hlo::Instruction&, int64_t leaf)> written_box;
  // Output leaf `leaf` may be written to the memory of operand `operand`: each element is read, if at all, before and
  // at no other place than where it is written.
  std::function<bool(const hlo::Instruction&, int64_t leaf, int64_t operand)> may_share;
  // Bytes of scratch memory that an instruction needs while it runs; 0: none.
  std::function<int64_t(const hlo::Instruction&)> scratch_bytes;
};

// Of a scheduled module whose every computation is called once (fusions and scalar computations aside).
class BufferAssignment {
 public:
  static absl::StatusOr<std::unique_ptr<BufferAssignment>> Run(const hlo::Module& module, const TargetHooks& hooks);

  // The buffer of a leaf; -1 for tokens.
  int BufferOf(const hlo::Instruction* instruction, int64_t leaf) const;
  // Where a leaf that is a part of another value begins in the buffer.
  struct Part {
    int64_t offset = 0;
    const hlo::Instruction* slice = nullptr;  // a dynamic one, which says how much further behind
  };
  Part PartOf(const hlo::Instruction* instruction, int64_t leaf) const;
  // The buffer for scratch memory, in the workspace or the arena, or -1.
  int ScratchOf(const hlo::Instruction* instruction) const;
  const Buffer& buffer(int number) const { return buffers_[number]; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<const hlo::Literal*>& constants() const { return constants_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  // What the framed buffers take together.
  int64_t frame_bytes() const { return frame_bytes_; }
  // The largest scratch memory in the workspace, which is kMaxWorkspaceBytes if there is any.
  int64_t workspace_bytes() const { return workspace_bytes_; }

  // What happens at a position of the schedule: an instruction runs, a loop or branch is done, or, where there is no
  // instruction, a computation ends. Position 0 is empty.
  struct Step {
    const hlo::Computation* computation = nullptr;
    const hlo::Instruction* instruction = nullptr;
    bool ends = false;
  };
  const std::vector<Step>& steps() const { return steps_; }
  // Whether the leaf is a value of its own with a buffer, not another name of one.
  bool Makes(const hlo::Instruction* instruction, int64_t leaf) const {
    return buffer_of_.contains({instruction, leaf});
  }

  // Copies to make before `instruction` runs: initial loop state, old values of in-place updates.
  const std::vector<BufferCopy>& CopiesBefore(const hlo::Instruction* instruction) const;
  // Copies to make, in this order, after the last instruction of `computation`: new loop state, branch results; for the
  // entry, results that are arguments, constants or other results.
  const std::vector<BufferCopy>& CopiesAtEnd(const hlo::Computation* computation) const;
  // What happens behind these copies in each round of `loop`. Behind the loop, all state is to be in its own place.
  const std::vector<BufferRotation>& RotationsOf(const hlo::Instruction* loop) const;

 private:
  friend class BufferAssigner;
  BufferAssignment() = default;

  using ValueKey = std::pair<const hlo::Instruction*, int64_t>;

  std::vector<Buffer> buffers_;
  absl::flat_hash_map<ValueKey, int> buffer_of_;
  absl::flat_hash_map<ValueKey, ValueKey> defining_;
  absl::flat_hash_map<ValueKey, Part> parts_;  // of values that are parts of others
  absl::flat_hash_map<const hlo::Instruction*, int> scratch_;
  std::vector<const hlo::Literal*> constants_;
  std::vector<Step> steps_ = {{}};
  absl::flat_hash_map<const hlo::Instruction*, std::vector<BufferCopy>> copies_before_;
  absl::flat_hash_map<const hlo::Computation*, std::vector<BufferCopy>> copies_at_end_;
  absl::flat_hash_map<const hlo::Instruction*, std::vector<BufferRotation>> rotations_;
  int64_t arena_bytes_ = 0;
  int64_t frame_bytes_ = 0;
  int64_t workspace_bytes_ = 0;
};

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_BUFFER_ASSIGNMENT_H_
