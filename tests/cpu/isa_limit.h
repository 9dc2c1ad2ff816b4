// Lets KILN_FLAGS=--xla_cpu_max_isa=AVX2 or SSE4_2 try the code for processors without AVX-512 or AVX in the test that
// includes it, and --kiln_emulated_isa=AVX512_BF16 that for processors with it.
#ifndef KILN_TESTS_CPU_ISA_LIMIT_H_
#define KILN_TESTS_CPU_ISA_LIMIT_H_

#include <gtest/gtest.h>

#include "src/runtime/debug_flags.h"

namespace kiln::testing {

class IsaLimit : public ::testing::Environment {
 public:
  void SetUp() override { runtime::ApplyProcessFlags(); }
};

inline const auto* const isa_limit = ::testing::AddGlobalTestEnvironment(new IsaLimit);

}  // namespace kiln::testing

#endif  // KILN_TESTS_CPU_ISA_LIMIT_H_
