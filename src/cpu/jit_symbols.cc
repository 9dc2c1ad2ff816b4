#include "src/cpu/jit_symbols.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/base/attributes.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "src/kernel/math/large_reduction.h"

namespace kiln::cpu {
namespace {

// Rounds a float's bits to the nearest bfloat16, ties to even; NaN stays NaN.
uint16_t Bfloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#if defined(__x86_64__)
// 16-bit floats travel in vector registers, hence the types. The compiler's own support library serves the half ones.
_Float16 FloatToHalf(float value) { return static_cast<_Float16>(value); }
_Float16 DoubleToHalf(double value) { return static_cast<_Float16>(value); }
float HalfToFloat(_Float16 value) { return static_cast<float>(value); }
// A bfloat16 travels like a half, and compilers without optimization make calls of what they do to __bf16 values.
_Float16 FloatToBfloat16(float value) { return std::bit_cast<_Float16>(Bfloat16Bits(value)); }
_Float16 DoubleToBfloat16(double value) {
  // Rounding to float first must not break ties: rounding to odd keeps the lost bits visible.
  float narrow = static_cast<float>(value);
  if (narrow == narrow && static_cast<double>(narrow) != value) {
    uint32_t bits = std::bit_cast<uint32_t>(narrow);
    if ((bits & 1) == 0) {
      const bool too_large = std::abs(static_cast<double>(narrow)) > std::abs(value);
      // An infinity that came from a finite value lies above the largest odd float.
      bits += too_large ? -1 : 1;
      narrow = std::bit_cast<float>(bits);
    }
  }
  return std::bit_cast<_Float16>(Bfloat16Bits(narrow));
}
#endif

__int128 Divide128(__int128 a, __int128 b) { return a / b; }
__int128 Remainder128(__int128 a, __int128 b) { return a % b; }
unsigned __int128 DivideUnsigned128(unsigned __int128 a, unsigned __int128 b) { return a / b; }
unsigned __int128 RemainderUnsigned128(unsigned __int128 a, unsigned __int128 b) { return a % b; }

struct Table {
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, void*> symbols ABSL_GUARDED_BY(mutex);

  template <typename Function>
  void Bind(const char* name, Function* function) {
    symbols.emplace(name, reinterpret_cast<void*>(function));
  }

  Table() {
    absl::MutexLock lock(&mutex);
    Bind("memcpy", &std::memcpy);
    Bind("memset", &std::memset);
    Bind("memmove", &std::memmove);
    Bind("fmod", static_cast<double (*)(double, double)>(&std::fmod));
    Bind("fmodf", static_cast<float (*)(float, float)>(&std::fmod));
    // On processors without the instruction.
    Bind("fma", static_cast<double (*)(double, double, double)>(&std::fma));
    // What LLVM makes of compare and select where it sees that neither side is NaN.
    Bind("fmin", static_cast<double (*)(double, double)>(&std::fmin));
    Bind("fminf", static_cast<float (*)(float, float)>(&std::fmin));
    Bind("fmax", static_cast<double (*)(double, double)>(&std::fmax));
    Bind("fmaxf", static_cast<float (*)(float, float)>(&std::fmax));
    Bind(kernel::math::kReduceLargeName, &kernel::math::ReduceLarge);
    Bind("__divti3", &Divide128);
    Bind("__modti3", &Remainder128);
    Bind("__udivti3", &DivideUnsigned128);
    Bind("__umodti3", &RemainderUnsigned128);
#if defined(__x86_64__)
    Bind("__truncsfhf2", &FloatToHalf);
    Bind("__truncdfhf2", &DoubleToHalf);
    Bind("__extendhfsf2", &HalfToFloat);
    Bind("__truncsfbf2", &FloatToBfloat16);
    Bind("__truncdfbf2", &DoubleToBfloat16);
#endif
  }
};

Table& GlobalTable() {
  static Table* table = new Table;  // Never destroyed: code may be linked while the process ends.
  return *table;
}

}  // namespace

void AddRuntimeSymbol(absl::string_view name, void* address) {
  Table& table = GlobalTable();
  absl::MutexLock lock(&table.mutex);
  table.symbols[std::string(name)] = address;
}

void* FindRuntimeSymbol(absl::string_view name) {
  Table& table = GlobalTable();
  absl::MutexLock lock(&table.mutex);
  const auto it = table.symbols.find(name);
  return it == table.symbols.end() ? nullptr : it->second;
}

}  // namespace kiln::cpu
