// What compiling costs: compile_bench RUNS FILE... prints, for each program, the least milliseconds that each stage took.
// The least, since what a busy machine adds is none of the compiler's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include "src/cpu/executable.h"
#include "src/tools/program_file.h"

namespace kiln {
namespace {

int Main(int argc, char** argv) {
  const int runs = argc > 2 ? std::atoi(argv[1]) : 0;
  if (runs < 1) {
    std::fprintf(stderr, "usage: compile_bench RUNS FILE...\n");
    return 2;
  }
  std::printf("%9s %9s %9s %9s %8s %9s  milliseconds, kernels, bytes of code\n", "total", "passes", "lowering", "codegen",
              "kernels", "code");
  for (int i = 2; i < argc; ++i) {
    absl::StatusOr<std::unique_ptr<hlo::Module>> module = tools::LoadProgram(argv[i]);
    if (!module.ok()) return tools::ExitCode(module.status());
    cpu::CompileStatistics least;
    least.passes_seconds = least.lowering_seconds = least.codegen_seconds = std::numeric_limits<double>::infinity();
    cpu::CompileOptions options;
    options.reuse_code = false;
    for (int run = 0; run < runs; ++run) {
      absl::StatusOr<std::unique_ptr<cpu::Executable>> executable =
          cpu::Executable::Compile((*module)->Clone(), options);
      if (!executable.ok()) return tools::ExitCode(executable.status());
      const cpu::CompileStatistics& taken = (*executable)->statistics();
      least.passes_seconds = std::min(least.passes_seconds, taken.passes_seconds);
      least.lowering_seconds = std::min(least.lowering_seconds, taken.lowering_seconds);
      least.codegen_seconds = std::min(least.codegen_seconds, taken.codegen_seconds);
      least.kernel_count = taken.kernel_count;
      least.generated_code_bytes = taken.generated_code_bytes;
    }
    const double passes = least.passes_seconds * 1e3, lowering = least.lowering_seconds * 1e3,
                 codegen = least.codegen_seconds * 1e3;
    std::printf("%9.2f %9.2f %9.2f %9.2f %8lld %9lld  %s\n", passes + lowering + codegen, passes, lowering, codegen,
                static_cast<long long>(least.kernel_count), static_cast<long long>(least.generated_code_bytes), argv[i]);
  }
  return 0;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
