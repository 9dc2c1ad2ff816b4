// Clones of functions for several instruction sets, of which calls take the one that the host may use.
#ifndef KILN_CPU_VECTOR_CLONES_H_
#define KILN_CPU_VECTOR_CLONES_H_

#include "src/cpu/host_isa.h"

namespace kiln::cpu {

// As in HostIsa, at hand.
inline int CompiledVectorBytes() {
  static const int bytes = Host().compiled_vector_bytes;
  return bytes;
}

}  // namespace kiln::cpu

// `result name parameters`, to be followed by the body, in three clones; `arguments` are the parameters' names. What
// the body calls must be inlined into it. Not the compiler's target_clones: those are chosen by the processor alone,
// when the process starts.
#if defined(__x86_64__)
#define KILN_VECTOR_CLONES(result, name, parameters, arguments)                                           \
  inline __attribute__((always_inline)) result name##Body parameters;                                     \
  __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))) result name##512 parameters {             \
    return name##Body arguments;                                                                          \
  }                                                                                                       \
  __attribute__((target("avx2,fma"))) result name##256 parameters { return name##Body arguments; }        \
  __attribute__((noinline)) result name##Plain parameters { return name##Body arguments; }                \
  result name parameters {                                                                                \
    const int bytes = CompiledVectorBytes();                                                              \
    return bytes == 64 ? name##512 arguments : bytes == 32 ? name##256 arguments : name##Plain arguments; \
  }                                                                                                       \
  result name##Body parameters
#else
#define KILN_VECTOR_CLONES(result, name, parameters, arguments) result name parameters
#endif

#endif  // KILN_CPU_VECTOR_CLONES_H_
