// kiln explain: what each kernel of a program costs, and what compiling the program as a whole is worth.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "src/runtime/debug_flags.h"
#include "src/tools/commands.h"
#include "src/tools/explain.h"
#include "src/tools/program_file.h"

namespace kiln::tools {
namespace {

struct CommandOptions {
  std::string file;
  ExplainOptions explain;
  bool json = false;
  bool no_op_by_op = false;
  bool quiet = false;
};

absl::Status Run(const CommandOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, LoadProgram(options.file));
  const bool shows_progress = !options.quiet && isatty(STDERR_FILENO) != 0;
  const auto progress = [&](const std::string& what, int64_t done, int64_t all) {
    if (!shows_progress) return;
    constexpr int kWidth = 30;
    const int filled = static_cast<int>(done * kWidth / std::max<int64_t>(all, 1));
    std::fprintf(stderr, "\r\033[K[%s%s] %lld/%lld %.40s", std::string(filled, '#').c_str(),
                 std::string(kWidth - filled, '.').c_str(), static_cast<long long>(done), static_cast<long long>(all),
                 what.c_str());
  };
  ExplainOptions explain = options.explain;
  runtime::DebugFlags flags;
  KILN_RETURN_IF_ERROR(runtime::ReadAllFlags(/*debug_options=*/"", &flags));
  runtime::ApplyFlags(flags, &explain.compile);
  explain.compile.profile = false;  // Its kernels are measured already.
  explain.op_by_op = !options.no_op_by_op;
  const absl::StatusOr<Explanation> explanation = Explain(std::move(module), explain, progress);
  if (shows_progress) std::fputs("\r\033[K", stderr);
  KILN_RETURN_IF_ERROR(explanation.status());
  std::fputs((options.json ? ToJson(*explanation) : ToTable(*explanation)).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddExplainCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<CommandOptions>();
  CLI::App* command =
      app->add_subcommand("explain", "Show what each kernel of a program costs, predicted and measured");
  command->footer(
      "A kernel is an instruction of the optimized program: a fusion, a matrix product, a sort, ... Its columns:\n"
      "  ops              operations that it fuses\n"
      "  runs             of one run of the program; '?' inside a loop whose rounds are not known, which count once\n"
      "  flops            operations of one run, two per multiply-add, functions such as exp as one\n"
      "  moved            bytes of operands and results of one run\n"
      "  saved by fusion  bytes that the same operations would move besides, each as a kernel of its own\n"
      "  predicted        what this machine needs at best: the larger of arithmetic and memory traffic\n"
      "  measured         the kernel as a program of its own over random inputs; '-' if it cannot be run alone\n"
      "Below: the whole program, and the same program an operation at a time, as eager frameworks run it.\n\n"
      "Examples:\n"
      "  kiln explain f.hlo                          a table\n"
      "  kiln explain f.mlir --json | jq .kernels    the same for programs\n"
      "  kiln explain f.hlo --no-op-by-op            the kernels alone, which is quicker");
  command->add_option("file", options->file, "The program; '-' for standard input")->required();
  command->add_flag("--json", options->json, "Print JSON: seconds and bytes as plain numbers");
  command->add_flag("--no-op-by-op", options->no_op_by_op, "Do not run the program an operation at a time");
  command
      ->add_option("--threads", options->explain.compile.max_parallelism, "Threads to run on; 0: as many as there are")
      ->check(CLI::Range(0, 1024));
  command->add_option("--seconds", options->explain.seconds_per_kernel, "How long to measure each kernel")
      ->check(CLI::Range(0.0001, 1000.0));
  command->add_flag("--quiet", options->quiet, "Do not show progress");
  command->callback([options, exit_code] { *exit_code = ExitCode(Run(*options)); });
}

}  // namespace kiln::tools
