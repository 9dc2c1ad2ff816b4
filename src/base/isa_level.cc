#include "src/base/isa_level.h"

#include <atomic>

#include "absl/strings/match.h"

namespace kiln {
namespace {

constinit std::atomic<IsaLevel> limit{IsaLevel::kAmxFp16};

struct Name {
  absl::string_view name;
  IsaLevel level;
};

constexpr Name kLevels[] = {
    {"SSE4_2", IsaLevel::kSse42},
    {"AVX", IsaLevel::kAvx},
    {"AVX2", IsaLevel::kAvx2},
    {"AVX512", IsaLevel::kAvx512},
    {"AVX512_VNNI", IsaLevel::kAvx512Vnni},
    {"AVX512_BF16", IsaLevel::kAvx512Bf16},
    {"AMX", IsaLevel::kAmx},
    {"AMX_FP16", IsaLevel::kAmxFp16},
};

// How features begin and the level that brings them; the first that fits counts.
constexpr Name kFeatures[] = {
    {"amx-fp16", IsaLevel::kAmxFp16},
    {"amx-", IsaLevel::kAmx},
    {"avx10", IsaLevel::kAmxFp16},
    {"avx512bf16", IsaLevel::kAvx512Bf16},
    {"avx512vnni", IsaLevel::kAvx512Vnni},
    {"avx512", IsaLevel::kAvx512},
    {"evex512", IsaLevel::kAvx512},
    {"avx2", IsaLevel::kAvx2},
    {"fma", IsaLevel::kAvx2},
    {"avxvnni", IsaLevel::kAvx512Vnni},  // what came later for vectors of 32 bytes
    {"avxifma", IsaLevel::kAvx512Bf16},
    {"avxneconvert", IsaLevel::kAvx512Bf16},
    {"avx", IsaLevel::kAvx},
    {"f16c", IsaLevel::kAvx},
    {"xop", IsaLevel::kAvx},
    {"vaes", IsaLevel::kAvx2},
    {"vpclmulqdq", IsaLevel::kAvx2},
};

}  // namespace

std::optional<IsaLevel> ParseIsaLevel(absl::string_view name) {
  for (const Name& level : kLevels) {
    if (absl::EqualsIgnoreCase(level.name, name)) return level.level;
  }
  return std::nullopt;
}

absl::string_view IsaLevelNames() { return "SSE4_2, AVX, AVX2, AVX512, AVX512_VNNI, AVX512_BF16, AMX, AMX_FP16"; }

void LimitIsa(IsaLevel level) { limit.store(level); }

bool IsFeatureAllowed(absl::string_view feature) {
  for (const Name& known : kFeatures) {
    if (absl::StartsWith(feature, known.name)) return known.level <= limit.load();
  }
  return true;
}

bool HasAvx512() {
#if defined(__x86_64__)
  return limit.load() >= IsaLevel::kAvx512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

bool HasFma() {
#if defined(__x86_64__)
  return IsFeatureAllowed("fma") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

bool HasHalfArithmetic() {
#if defined(__x86_64__)
  return HasAvx512() && IsFeatureAllowed("avx512fp16") && __builtin_cpu_supports("avx512fp16");
#else
  return false;
#endif
}

bool HasProductKernels() {
#if defined(__x86_64__)
  return HasAvx512() || (HasFma() && IsFeatureAllowed("avx2") && __builtin_cpu_supports("avx2"));
#else
  return false;
#endif
}

bool HasBrainKernels() {
#if defined(__x86_64__)
  return HasAvx512() && IsFeatureAllowed("avx512bf16") && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool HalvesVectors() {
#if defined(__x86_64__)
  // AMD's first processors with AVX-512; what came after them has this as well.
  return __builtin_cpu_is("amd") && !__builtin_cpu_supports("avx512vp2intersect");
#else
  return false;
#endif
}

bool IsIntel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

}  // namespace kiln
