// The instruction set and caches of the machine that code is generated for.
#ifndef KILN_CPU_HOST_ISA_H_
#define KILN_CPU_HOST_ISA_H_

#include <cstdint>
#include <string>

namespace kiln::cpu {

// What emitters may use of the host (base/isa_level.h).
struct HostIsa {
  std::string cpu;        // LLVM's name for it
  std::string features;   // LLVM's feature string
  int vector_bytes = 16;  // widest vector register that arithmetic should use
  int vector_registers = 16;
  // Of functions compiled with Kiln that are chosen by the host: 64 (AVX-512), 32 (AVX2 with FMA), or what every
  // processor has (of ARM's, NEON).
  int compiled_vector_bytes = 16;
  int compiled_vector_registers = 16;
  bool fma = false;
  bool masked_moves = false;      // masked loads and stores cost no more than plain ones (AVX-512)
  bool half_conversions = false;  // f16 <-> f32 in vectors
  bool brain_dot = false;         // products of bf16 pairs added to f32 (AVX512-BF16)
  bool byte_dot = false;          // products of four unsigned with four signed bytes added to s32 (AVX512-VNNI)
  bool word_dot = false;          // products of pairs of words of 16 bits added to s32 (AVX2)
  // The same for matrices of 16 by 16 sums at once (AMX), where the system permits this process to use them.
  bool matrix_brain_dot = false;
  bool matrix_byte_dot = false;
  int64_t l1_bytes = 32 << 10;    // data caches of one core
  int64_t l2_bytes = 512 << 10;
};

// Detected once per process, at the first call. Thread-safe.
const HostIsa& Host();

}  // namespace kiln::cpu

#endif  // KILN_CPU_HOST_ISA_H_
