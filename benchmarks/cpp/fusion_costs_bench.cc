// The numbers of Tuning().fusion on this machine, which should be idle otherwise: from the times of Kiln's
// own kernels, in programs that run many of them one after the other on one core.
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/analysis/fusion_costs.h"
#include "src/base/thread_pool.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/runtime/debug_flags.h"
#include "src/tools/program_file.h"
#include "src/tools/program_timer.h"

namespace kiln {
namespace {

constexpr double kBudget = 0.5;  // seconds per measurement

// `kernels` in a chain over f32[elements], each of `operations` additions and products in turn.
std::string Chain(int64_t elements, int kernels, int operations) {
  const std::string array = absl::StrCat("f32[", elements, "]");
  const std::string parameters = absl::StrCat("  y = ", array, " parameter(1)\n  v0 = ", array, " parameter(0)\n");
  std::string text = absl::StrCat("HloModule chain\nbody {\n", parameters);
  for (int i = 1; i <= operations; ++i) {
    absl::StrAppend(&text, i == operations ? "  ROOT v" : "  v", i, " = ", array, i % 2 == 0 ? " add(v" : " multiply(v",
                    i - 1, ", y)\n");
  }
  absl::StrAppend(&text, "}\nENTRY main {\n", parameters);
  for (int i = 1; i <= kernels; ++i) {
    absl::StrAppend(&text, i == kernels ? "  ROOT v" : "  v", i, " = ", array, " fusion(v", i - 1,
                    ", y), kind=kLoop, calls=body\n");
  }
  return text + "}\n";
}

// Nanoseconds of one kernel of such a chain.
absl::StatusOr<double> PerKernel(int64_t elements, int kernels, int operations, int threads = 1) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module,
                        hlo_text::ParseHloText(Chain(elements, kernels, operations), "chain"));
  cpu::CompileOptions options;
  options.max_parallelism = threads;
  KILN_ASSIGN_OR_RETURN(const tools::ProgramTimer timer,
                        tools::ProgramTimer::Create(std::move(module), tools::AsItIs(options)));
  ThreadPool pool(threads);
  KILN_ASSIGN_OR_RETURN(const double seconds, timer.MedianSeconds(&pool, kBudget));
  return seconds / kernels * 1e9;
}

absl::StatusOr<analysis::FusionCosts> Measure() {
  constexpr double kWidth = 4, kArrays = 3;  // bytes of an element; two are read and one is written
  // Few vectors: nearly all is the launch. Fewer would stay in registers.
  KILN_ASSIGN_OR_RETURN(const double launch, PerKernel(64, 400, 1));
  // One core's part while all of them read and write: arrays of the largest size that counts as cached, in whichever
  // cache they are, and of 64 MB, which are in none.
  const int threads = ThreadPool::AvailableCpus();
  constexpr int64_t kCached = 256 << 10, kLarge = 16 << 20;
  KILN_ASSIGN_OR_RETURN(const double cached, PerKernel(kCached, 50, 1, threads));
  KILN_ASSIGN_OR_RETURN(const double large, PerKernel(kLarge, 1, 1, threads));
  // What a longer chain in one kernel adds, in the first-level cache.
  constexpr int64_t kSmall = 2048;
  constexpr int kOperations = 32;
  KILN_ASSIGN_OR_RETURN(const double once, PerKernel(kSmall, 100, kOperations));
  KILN_ASSIGN_OR_RETURN(const double thrice, PerKernel(kSmall, 100, 3 * kOperations));
  analysis::FusionCosts costs = Tuning().fusion;
  costs.launch_nanoseconds = launch;
  costs.bytes_per_nanosecond = kArrays * kWidth * static_cast<double>(kLarge) / threads / large;
  costs.cached_bytes_per_nanosecond = kArrays * kWidth * static_cast<double>(kCached) / threads / cached;
  costs.elements_per_nanosecond = 2.0 * kOperations * static_cast<double>(kSmall) / (thrice - once);
  return costs;
}

int Main() {
  runtime::ApplyProcessFlags();
  const absl::StatusOr<analysis::FusionCosts> measured = Measure();
  if (!measured.ok()) return tools::ExitCode(measured.status());
  const analysis::FusionCosts& table = Tuning().fusion;
  std::printf("%10s %10s\n", "measured", "table");
  const auto row = [](double measured, double known, const char* what) {
    std::printf("%10.1f %10.1f  %s\n", measured, known, what);
  };
  row(measured->launch_nanoseconds, table.launch_nanoseconds, "nanoseconds to launch a kernel");
  row(measured->bytes_per_nanosecond, table.bytes_per_nanosecond, "bytes per nanosecond, in no cache");
  row(measured->cached_bytes_per_nanosecond, table.cached_bytes_per_nanosecond, "bytes per nanosecond, in a cache");
  row(measured->elements_per_nanosecond, table.elements_per_nanosecond, "f32 operations per nanosecond");
  return 0;
}

}  // namespace
}  // namespace kiln

int main() { return kiln::Main(); }
