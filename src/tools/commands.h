// The subcommands of the kiln command.
#ifndef KILN_TOOLS_COMMANDS_H_
#define KILN_TOOLS_COMMANDS_H_

namespace CLI {
class App;
}  // namespace CLI

namespace kiln::tools {

// Exit codes: 0 done; 1 the program could not be read, compiled or run, or results or programs differ, or a check
// failed; 2 the command line is wrong (for diff also: a program could not be read). Each function adds one subcommand,
// which leaves its code in `exit_code` when it has run.
void AddOptCommand(CLI::App* app, int* exit_code);
void AddRunCommand(CLI::App* app, int* exit_code);
void AddExplainCommand(CLI::App* app, int* exit_code);
void AddConvertCommand(CLI::App* app, int* exit_code);
void AddDiffCommand(CLI::App* app, int* exit_code);
void AddReduceCommand(CLI::App* app, int* exit_code);
// Describes the other subcommands of `app` to a shell.
void AddCompletionCommand(CLI::App* app);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_COMMANDS_H_
