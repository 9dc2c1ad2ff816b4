// kiln diff: whether two programs compute the same, operation by operation.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "src/tools/commands.h"
#include "src/tools/compare_modules.h"
#include "src/tools/program_file.h"

namespace kiln::tools {
namespace {

struct DiffOptions {
  std::string first, second;
  int limit = 5;
  bool quiet = false;
};

absl::StatusOr<int> Run(const DiffOptions& options) {
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> first, LoadProgram(options.first));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> second, LoadProgram(options.second));
  const std::vector<std::string> differences = Differences(*first, *second, static_cast<size_t>(options.limit));
  for (const std::string& difference : differences) {
    if (!options.quiet) std::printf("%s", difference.c_str());
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace

void AddDiffCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app->add_subcommand("diff", "Say where two programs differ in what they compute");
  command->footer(
      "Names, metadata and the order of instructions do not matter; the formats of the files may differ. Both "
      "programs\n"
      "are walked from their results to their parameters; a branch ends at its first difference.\n"
      "Exit code: 0 no difference, 1 differences, 2 trouble.\n\n"
      "Examples:\n"
      "  kiln diff before.hlo after.hlo\n"
      "  kiln diff f.mlirbc f.hlo.pb && echo the same\n"
      "  kiln opt f.hlo --passes=cse | kiln diff f.hlo -      what a pass changes");
  command->add_option("first", options->first, "A program; '-' for standard input")->required();
  command->add_option("second", options->second, "The other program")->required();
  command->add_option("--limit", options->limit, "Stop after so many differences")->check(CLI::Range(1, 1000000));
  command->add_flag("--quiet", options->quiet, "Print nothing: the exit code says it");
  command->callback([options, exit_code] { *exit_code = ExitCode(Run(*options), /*failure=*/2); });
}

}  // namespace kiln::tools
