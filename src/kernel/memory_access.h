// Loads and stores of elements and of vectors of them: contiguous, broadcast, strided, indexed, each under a mask.
#ifndef KILN_KERNEL_MEMORY_ACCESS_H_
#define KILN_KERNEL_MEMORY_ACCESS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"
#include "src/kernel/scalar_emitter.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

// Which elements the lanes of a vector access touch.
struct Access {
  enum class Kind : uint8_t {
    kUniform,     // all lanes element `offset`
    kContiguous,  // lane l element offset + l
    kReversed,    // lane l element offset - l
    kStrided,     // lane l element offset + phase + l * stride
    kSpread,      // lane l element offset + spread.places[l]
    kIndexed,     // lane l element offsets[l]
  };
  Kind kind = Kind::kUniform;
  llvm::Value* offset = nullptr;   // i64
  llvm::Value* offsets = nullptr;  // <lanes x i32 or i64>, kIndexed
  int64_t stride = 0;
  // Of a kStrided load beside others of the same elements' neighbours: those from `offset` to `last_phase` may be read
  // for each lane, so that all of them load the same vectors. At most stride - 1.
  int64_t phase = 0, last_phase = 0;
  Spread spread;
  // Elements of the array may be read that no lane has: all vectors of a kSpread that begin at multiples of `lanes`.
  bool reads_around = false;

  // From `offset` to the element of a lane; not for kIndexed.
  int64_t StepOf(int lane) const {
    return kind == Kind::kSpread ? spread.places[static_cast<size_t>(lane)] : phase + stride * lane;
  }
};

// Whether lanes `stride` elements apart are picked out of whole vectors, instead of loaded one by one.
constexpr bool IsNearby(int64_t stride, int lanes) {
  constexpr int64_t kAlways = 4, kMost = 16;
  return stride > 1 && lanes >= 4 && (stride <= kAlways || (stride <= kMost && stride < lanes));
}

class MemoryAccess {
 public:
  // `scalar` has one lane and `vector` as many as the vectors here; both emit at the same builder.
  MemoryAccess(ScalarEmitter* scalar, ScalarEmitter* vector)
      : scalar_(*scalar), vector_(*vector), b_(vector->builder()) {}

  // One element; `offset` must be in bounds.
  Value LoadScalar(hlo::PrimitiveType type, llvm::Value* base, llvm::Value* offset);
  void StoreScalar(const Value& value, llvm::Value* base, llvm::Value* offset);

  // Lanes where `mask` (<lanes x i1>, null: all) is false are not touched and have unspecified values. `streaming`:
  // what runs are aligned to that go past the caches; 0: they do not.
  Value LoadVector(hlo::PrimitiveType type, llvm::Value* base, const Access& access, llvm::Value* mask);
  void StoreVector(const Value& value, llvm::Value* base, const Access& access, llvm::Value* mask, int64_t streaming);

  // Lane l of value i goes to element offset + l * values.size() + i. No complex numbers.
  void StoreInterleaved(absl::Span<const Value> values, llvm::Value* base, llvm::Value* offset, llvm::Value* mask,
                        int64_t streaming);

 private:
  llvm::Value* ElementPointer(llvm::Type* part, int parts, llvm::Value* base, llvm::Value* offset);
  llvm::Value* LaneOffsets(const Access& access);
  // i64, of an element that is there.
  llvm::Value* OffsetOfLane(llvm::Value* offsets, int lane);
  // A mask of all lanes where there is none.
  llvm::Value* AllLanes(llvm::Value* mask);
  // Each lane twice; null stays null.
  llvm::Value* ForBothParts(llvm::Value* mask);
  // `count` consecutive parts.
  llvm::Value* LoadRun(llvm::Type* part, int count, llvm::Value* pointer, llvm::Value* mask);
  // A whole vector to consecutive elements.
  void StoreRun(llvm::Value* run, llvm::Value* pointer, llvm::Align align, llvm::Value* mask, int64_t streaming);
  // Elements of one part as `access.spread` tells, out of one or two runs; `pointer`: to the element that lanes share.
  llvm::Value* LoadSpread(llvm::Type* part, llvm::Value* pointer, const Access& access, llvm::Value* mask);
  // Elements of one part `access.stride` apart, out of whole vectors; `pointer`: to the one at `access.offset`.
  llvm::Value* LoadNearby(llvm::Type* part, llvm::Value* pointer, const Access& access, llvm::Value* mask);

  ScalarEmitter& scalar_;
  ScalarEmitter& vector_;
  llvm::IRBuilder<>& b_;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_MEMORY_ACCESS_H_
