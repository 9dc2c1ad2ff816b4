// The rounding and subnormals of the processor, which belong to the host program and may be anything.
#ifndef KILN_BASE_FLOAT_ENVIRONMENT_H_
#define KILN_BASE_FLOAT_ENVIRONMENT_H_

#include <cstdint>

namespace kiln {

// In the processor's control register: subnormal operands and results count as zeros.
#if defined(__x86_64__)
inline constexpr uint64_t kFlushSubnormals = 0x8040;
#elif defined(__aarch64__)
inline constexpr uint64_t kFlushSubnormals = uint64_t{1} << 24;
#endif

// While it lives, arithmetic of this thread rounds to nearest, keeps subnormals and traps nothing, as generated code
// and the evaluator expect. Costs one read of a control register where that is so already.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : DefaultFloatEnvironment(kDefault) {}
  ~DefaultFloatEnvironment() {
    if (changes_) Write(before_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 protected:
  explicit DefaultFloatEnvironment(uint64_t wanted) : before_(Read()), changes_((before_ & ~kFlags) != wanted) {
    if (changes_) Write(wanted);
  }

#if defined(__x86_64__)
  static constexpr uint64_t kDefault = 0x1f80;  // all exceptions masked
  static constexpr uint64_t kFlags = 0x3f;      // exceptions that have happened
  static uint64_t Read() { return __builtin_ia32_stmxcsr(); }
  static void Write(uint64_t value) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kDefault = 0;
  static constexpr uint64_t kFlags = 0;
  static uint64_t Read() { return __builtin_arm_rsr64("FPCR"); }
  static void Write(uint64_t value) { __builtin_arm_wsr64("FPCR", value); }
#else
#error "the control register of this processor's floating-point unit is not known"
#endif

 private:
  uint64_t before_;
  bool changes_;
};

// The same, but subnormals count as zeros: for sums of products, where they are lost beside any other term. Processors
// take a hundred cycles and more for each, and weights of a softmax or gradients through saturated functions are full of
// them.
class FlushedFloatEnvironment : public DefaultFloatEnvironment {
 public:
  FlushedFloatEnvironment() : DefaultFloatEnvironment(kDefault | kFlushSubnormals) {}

  // Whether subnormals count as zeros on this thread.
  static bool IsHere() { return (Read() & kFlushSubnormals) == kFlushSubnormals; }
};

}  // namespace kiln

#endif  // KILN_BASE_FLOAT_ENVIRONMENT_H_
