// The kiln command: one subcommand per file in src/tools.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "src/base/catch_exceptions.h"
#include "src/base/nearest_name.h"
#include "src/cpu/object_cache.h"
#include "src/runtime/debug_flags.h"
#include "src/tools/commands.h"
#include "src/tools/program_file.h"

int main(int argc, char** argv) {
  // A reader that has seen enough ends the output, not the process.
  std::signal(SIGPIPE, SIG_IGN);
  kiln::runtime::ApplyProcessFlags();
  CLI::App app{"Kiln: a compiler and runtime for HLO programs."};
  app.name("kiln");
  app.footer(
      "Programs are HLO text, StableHLO text, MLIR bytecode, HloModuleProto, HloProto or HloSnapshot, told apart by\n"
      "their bytes; '-' reads standard input. 'kiln COMMAND --help' says more about a command.\n"
      "Exit code: 0 done, 1 failed or different, 2 the command line is wrong.");
  app.set_version_flag("--version", "kiln " KILN_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  kiln::tools::AddOptCommand(&app, &exit_code);
  kiln::tools::AddRunCommand(&app, &exit_code);
  kiln::tools::AddExplainCommand(&app, &exit_code);
  kiln::tools::AddConvertCommand(&app, &exit_code);
  kiln::tools::AddDiffCommand(&app, &exit_code);
  kiln::tools::AddReduceCommand(&app, &exit_code);
  kiln::tools::AddCompletionCommand(&app);
  // Said here, since CLI11 would only say that a command is missing.
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    if (std::find(names.begin(), names.end(), argv[1]) == names.end()) {
      const std::string hint = kiln::DidYouMean(argv[1], {names.begin(), names.end()});
      std::fprintf(stderr, "kiln: there is no command '%s'%s\n", argv[1],
                   hint.empty() ? "; see kiln --help" : hint.c_str());
      return 2;
    }
  }
  const absl::Status status = kiln::CatchExceptions([&] {
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // Help leaves with 0, anything wrong with the command line with 2.
      exit_code = app.exit(error) == 0 ? 0 : 2;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) exit_code = kiln::tools::ExitCode(status);
  if (kiln::cpu::ObjectCache* cache = kiln::cpu::ObjectCache::Shared(); cache != nullptr) cache->Flush();
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && errno != EPIPE) {
    std::fprintf(stderr, "kiln: cannot write to standard output: %s\n", std::strerror(errno));
    return 1;
  }
  return exit_code;
}
