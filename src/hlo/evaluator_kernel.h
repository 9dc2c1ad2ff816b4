// Elementwise ops over runs of elements in memory form: used on whole arrays and, one element at a time, by scalar
// computations.
#ifndef KILN_HLO_EVALUATOR_KERNEL_H_
#define KILN_HLO_EVALUATOR_KERNEL_H_

#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"
#include "src/hlo/elements.h"
#include "src/hlo/instruction.h"

namespace kiln::hlo::evaluator {

struct KernelOperand {
  const std::byte* data = nullptr;
  bool splat = false;  // one element, used for all
};

struct KernelSpec;
// Computes n values from widened operands: in[i] and out point to arrays of the value classes of their types.
using ComputeFunction = void (*)(const KernelSpec& spec, int64_t n, const void* const* in, void* out);
// Computes n elements in memory form.
using RawFunction = void (*)(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out);

struct KernelSpec {
  Opcode opcode = Opcode::kAbs;
  PrimitiveType operand_type = PrimitiveType::kInvalid;  // of the operand that decides (select: the second)
  PrimitiveType other_type = PrimitiveType::kInvalid;    // of the second operand where it may differ
  PrimitiveType result_type = PrimitiveType::kInvalid;
  int operand_count = 1;
  int bits = 0;  // of operand_type
  CompareAttributes comparison;
  ReducePrecisionAttributes precision;
  // One of the two is set.
  ComputeFunction compute = nullptr;
  RawFunction raw = nullptr;
};

// The kernel of an elementwise instruction that shape inference has accepted, or UNIMPLEMENTED naming it when nothing is
// defined for its types.
absl::StatusOr<KernelSpec> MakeKernel(const Instruction& instruction);

// Runs it over n elements. `out` may be one of the operands when it has the same width.
void RunKernel(const KernelSpec& spec, int64_t n, absl::Span<const KernelOperand> operands, std::byte* out);

// The parts of MakeKernel: null when the opcode is none of theirs or not defined for the type.
ComputeFunction UnaryFunction(const KernelSpec& spec);
ComputeFunction BinaryFunction(const KernelSpec& spec);
RawFunction RawFunctionOf(const KernelSpec& spec);

template <typename T>
bool Precedes(const T& a, const T& b) {
  return a < b;
}
// By the real parts, then by the imaginary parts.
inline bool Precedes(const Complex& a, const Complex& b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

// Comparisons hold for NaN as IEEE 754 says: only NE.
template <typename T>
bool Holds(ComparisonDirection direction, const T& a, const T& b) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return a == b;
    case ComparisonDirection::kNe:
      return a != b;
    case ComparisonDirection::kGe:
      return Precedes(b, a) || a == b;
    case ComparisonDirection::kGt:
      return Precedes(b, a);
    case ComparisonDirection::kLe:
      return Precedes(a, b) || a == b;
    case ComparisonDirection::kLt:
      return Precedes(a, b);
  }
  return false;
}

// The bits that values of the operand's type have.
inline uint64_t Mask(const KernelSpec& spec) { return spec.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << spec.bits) - 1; }

// Computed in long double: the libm functions of these types are rounded once more.
inline bool IsExtended(PrimitiveType type) { return type == PrimitiveType::kF64 || type == PrimitiveType::kC128; }

// out[i] = f(in[i]...) over arrays of T, as a ComputeFunction of values of R. F is a captureless lambda over
// (values...), or over (spec, values...) where it needs to know the types.
template <typename F, typename... T>
auto Apply(const KernelSpec& spec, T... values) {
  if constexpr (std::is_invocable_v<F, const KernelSpec&, T...>) {
    return F{}(spec, values...);
  } else {
    return F{}(values...);
  }
}

template <typename T, typename R = T, typename F>
ComputeFunction Loop1(F) {
  return [](const KernelSpec& spec, int64_t n, const void* const* in, void* out) {
    const T* a = static_cast<const T*>(in[0]);
    for (int64_t i = 0; i < n; ++i) static_cast<R*>(out)[i] = static_cast<R>(Apply<F>(spec, a[i]));
  };
}

template <typename T, typename R = T, typename F>
ComputeFunction Loop2(F) {
  return [](const KernelSpec& spec, int64_t n, const void* const* in, void* out) {
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; ++i) static_cast<R*>(out)[i] = static_cast<R>(Apply<F>(spec, a[i], b[i]));
  };
}

template <typename T, typename R = T, typename F>
ComputeFunction Loop3(F) {
  return [](const KernelSpec& spec, int64_t n, const void* const* in, void* out) {
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    const T* c = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) static_cast<R*>(out)[i] = static_cast<R>(Apply<F>(spec, a[i], b[i], c[i]));
  };
}

}  // namespace kiln::hlo::evaluator

#endif  // KILN_HLO_EVALUATOR_KERNEL_H_
