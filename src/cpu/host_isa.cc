#include "src/cpu/host_isa.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "src/base/isa_level.h"

namespace kiln::cpu {
namespace {

// Linux keeps the registers of AMX only for processes that have asked for them.
bool MayUseMatrixRegisters() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023, kMatrixData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kMatrixData) == 0;
#else
  return false;
#endif
}

// Of processors that code is only shown for: what Kiln asks for by name, and the rest as LLVM has it for the first
// level.
llvm::StringMap<bool> AssumedFeatures() {
  llvm::StringMap<bool> map;
  for (const char* name : {"avx", "f16c", "avx2", "fma", "evex512", "avx512f", "avx512bw", "avx512cd", "avx512dq",
                           "avx512vl", "avx512vnni", "avx512bf16", "amx-tile", "amx-bf16", "amx-int8", "amx-fp16"}) {
    map[name] = true;
  }
  return map;
}

int WidestCompiledVector(const llvm::StringMap<bool>& features) {
  const auto has = [&](const char* name) { return features.lookup(name); };
  if (has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq")) return 64;
  return has("avx2") && has("fma") ? 32 : 16;
}

HostIsa Detect() {
  HostIsa isa;
  const bool is_shown = AssumesIsa() && !EmulatesIsa();
  isa.cpu = is_shown ? "x86-64-v2" : llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> map = is_shown ? AssumedFeatures() : llvm::sys::getHostCPUFeatures();
  for (auto& feature : map) {
    if (!IsFeatureAllowed(feature.first().str())) feature.second = false;
  }
  // Its instructions have no form for AVX, beside which each takes over a hundred cycles (Zen 3): rows of eight bf16,
  // 28 us instead of 4 for 1500 of them.
  if (const auto found = map.find("sse4a"); found != map.end()) found->second = false;
  std::vector<std::string> features;
  for (const auto& feature : map) features.push_back((feature.second ? "+" : "-") + feature.first().str());
  // Sorted, since the string is part of cache keys.
  std::sort(features.begin(), features.end());
  for (const std::string& feature : features) isa.features += (isa.features.empty() ? "" : ",") + feature;

  const int compiled_vector_bytes = WidestCompiledVector(map);
  if (EmulatesIsa()) {
    map = AssumedFeatures();
    for (auto& feature : map) feature.second = IsFeatureAllowed(feature.first().str());
  }
  const auto has = [&](const char* name) { return map.lookup(name); };
  isa.fma = has("fma");
  isa.half_conversions = has("f16c");
  if (HasAvx512()) {
    isa.vector_bytes = isa.compiled_vector_bytes = 64;
    isa.vector_registers = isa.compiled_vector_registers = 32;
    isa.masked_moves = true;
    isa.brain_dot = has("avx512bf16");
    isa.byte_dot = has("avx512vnni");
    isa.word_dot = true;
    // Kernels of matrix registers are functions compiled with Kiln.
    if (!EmulatesIsa() && has("amx-tile") && (has("amx-bf16") || has("amx-int8")) &&
        (AssumesIsa() || MayUseMatrixRegisters())) {
      isa.matrix_brain_dot = has("amx-bf16");
      isa.matrix_byte_dot = has("amx-int8");
    }
  } else if (has("avx")) {
    isa.vector_bytes = 32;
    isa.word_dot = has("avx2");
    if (has("avx2") && isa.fma) isa.compiled_vector_bytes = 32;
  }
#if defined(__aarch64__)
  isa.vector_registers = isa.compiled_vector_registers = 32;
  isa.fma = true;
  isa.half_conversions = true;
#endif

  if (AssumesIsa()) {
    isa.compiled_vector_bytes = EmulatesIsa() ? compiled_vector_bytes : 16;  // these functions do run here
    isa.compiled_vector_registers = isa.compiled_vector_bytes == 64 ? 32 : 16;
    isa.l2_bytes = 1 << 20;
    return isa;
  }
  const auto cache = [](int name, int64_t fallback) {
    const long bytes = sysconf(name);
    return bytes > 0 ? static_cast<int64_t>(bytes) : fallback;
  };
  isa.l1_bytes = cache(_SC_LEVEL1_DCACHE_SIZE, isa.l1_bytes);
  isa.l2_bytes = cache(_SC_LEVEL2_CACHE_SIZE, isa.l2_bytes);
  return isa;
}

}  // namespace

const HostIsa& Host() {
  static const HostIsa* isa = new HostIsa(Detect());
  return *isa;
}

}  // namespace kiln::cpu
