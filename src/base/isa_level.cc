#include "src/base/isa_level.h"

#include <atomic>

#include "absl/strings/match.h"

namespace kiln {
namespace {

constinit std::atomic<IsaLevel> limit{IsaLevel::kAmxFp16};
constinit std::atomic<bool> is_assumed{false};
constinit std::atomic<bool> is_emulated{false};

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

// The compiler's function takes literals only.
#if defined(__x86_64__)
#define KILN_PROCESSOR_HAS(feature) (IsFeatureAllowed(feature) && (AssumesIsa() || __builtin_cpu_supports(feature)))
#else
#define KILN_PROCESSOR_HAS(feature) (IsFeatureAllowed(feature) && AssumesIsa())
#endif

}  // namespace

std::optional<IsaLevel> ParseIsaLevel(absl::string_view name) {
  for (const Name& level : kLevels) {
    if (absl::EqualsIgnoreCase(level.name, name)) return level.level;
  }
  return std::nullopt;
}

absl::string_view IsaLevelNames() { return "SSE4_2, AVX, AVX2, AVX512, AVX512_VNNI, AVX512_BF16, AMX, AMX_FP16"; }

void LimitIsa(IsaLevel level) { limit.store(level); }

void AssumeIsa(IsaLevel level) {
  limit.store(level);
  is_assumed.store(true);
}

bool AssumesIsa() { return is_assumed.load(); }

void EmulateIsa(IsaLevel level) {
  AssumeIsa(level);
  is_emulated.store(true);
}

bool EmulatesIsa() { return is_emulated.load(); }

bool IsFeatureAllowed(absl::string_view feature) {
  for (const Name& known : kFeatures) {
    if (absl::StartsWith(feature, known.name)) return known.level <= limit.load();
  }
  return true;
}

bool HasAvx512() {
  return KILN_PROCESSOR_HAS("avx512f") && KILN_PROCESSOR_HAS("avx512vl") && KILN_PROCESSOR_HAS("avx512bw") &&
         KILN_PROCESSOR_HAS("avx512dq");
}

bool HasAvx2() { return KILN_PROCESSOR_HAS("avx2"); }

bool HasFma() {
#if defined(__x86_64__)
  return KILN_PROCESSOR_HAS("fma");
#else
  return !AssumesIsa() || KILN_PROCESSOR_HAS("fma");
#endif
}

// No level brings them.
bool HasHalfArithmetic() { return HasAvx512() && !AssumesIsa() && KILN_PROCESSOR_HAS("avx512fp16"); }

bool HasProductKernels() { return HasAvx512() || (HasFma() && HasAvx2()); }

bool HasBrainConversions() { return HasAvx512() && KILN_PROCESSOR_HAS("avx512bf16"); }

bool HasBrainKernels() { return HasBrainConversions() && !EmulatesIsa(); }

bool HalvesVectors() {
#if defined(__x86_64__)
  // AMD's first processors with AVX-512; what came after them has this as well.
  return !AssumesIsa() && __builtin_cpu_is("amd") && !__builtin_cpu_supports("avx512vp2intersect");
#else
  return false;
#endif
}

bool IsIntel() {
#if defined(__x86_64__)
  return !AssumesIsa() && __builtin_cpu_is("intel");
#else
  return false;
#endif
}

}  // namespace kiln
