// The kiln command: one subcommand per file in src/tools.
#include "CLI/CLI.hpp"
#include "src/tools/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Kiln: a compiler and runtime for HLO programs."};
  app.name("kiln");
  app.footer(
      "Programs are HLO text or MLIR bytecode, told apart by their bytes; '-' reads standard input.\n"
      "'kiln COMMAND --help' says more about a command.");
  app.require_subcommand(1);
  int exit_code = 0;
  kiln::tools::AddOptCommand(&app, &exit_code);
  kiln::tools::AddRunCommand(&app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help leaves with 0, anything wrong with the command line with 2.
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}
