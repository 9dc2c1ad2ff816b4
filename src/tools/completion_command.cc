// kiln completion: scripts that teach shells the commands and their options.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/passes/pipeline.h"
#include "src/tools/commands.h"

namespace kiln::tools {
namespace {

std::vector<std::string> Options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// Values that an option takes: names of passes, or those that CLI11 knows, where the type ends in "{a,b}".
std::string Values(const CLI::Option& option) {
  for (const char* name : {"passes", "print-after", "disable-passes"}) {
    if (option.check_lname(name)) return absl::StrJoin(passes::PassNames(), " ");
  }
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) return "";
  return absl::StrReplaceAll(type.substr(begin + 1, end - begin - 1), {{",", " "}});
}

// zsh understands it through bashcompinit.
std::string Bash(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string cases, values;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      const std::string allowed = Values(*option);
      if (allowed.empty() || option->get_lnames().empty()) continue;
      absl::StrAppend(&values, "    ", command->get_name(), "--", option->get_lnames()[0], ") words=\"", allowed,
                      "\"; only=1 ;;\n");
    }
    absl::StrAppend(&cases, "    ", command->get_name(), ") words=\"", absl::StrJoin(Options(*command), " "),
                    "\" ;;\n");
  }
  return absl::StrCat(
      "_kiln() {\n  local words only current=\"${COMP_WORDS[COMP_CWORD]}\" option=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  if [ \"$option\" = = ]; then option=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n"
      "  if [ \"$current\" = = ]; then current=; fi\n  case \"${COMP_WORDS[1]}\" in\n",
      cases, "    *) words=\"", absl::StrJoin(commands, " "),
      "\" ;;\n  esac\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"",
      absl::StrJoin(commands, " "), "\"; fi\n  case \"${COMP_WORDS[1]}$option\" in\n", values,
      "  esac\n"
      "  local last=\"${current##*,}\"\n"  // of a list
      "  COMPREPLY=($(compgen -P \"${current%\"$last\"}\" -W \"$words\" -- \"$last\"))\n"
      "  if [ \"$COMP_CWORD\" -gt 1 ] && [ -z \"$only\" ]; then COMPREPLY+=($(compgen -f -- \"$current\")); fi\n"
      "}\ncomplete -o filenames -F _kiln kiln\n");
}

std::string Fish(const CLI::App& app) {
  const auto quoted = [](const std::string& text) { return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}); };
  std::string script;
  for (const CLI::App* command : app.get_subcommands({})) {
    absl::StrAppend(&script, "complete -c kiln -n __fish_use_subcommand -f -a ", command->get_name(), " -d '",
                    quoted(command->get_description()), "'\n");
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        const std::string values = Values(*option);
        absl::StrAppend(&script, "complete -c kiln -n '__fish_seen_subcommand_from ", command->get_name(), "' -l ",
                        name, values.empty() ? "" : absl::StrCat(" -x -a '", values, "'"), " -d '",
                        quoted(option->get_description()), "'\n");
      }
    }
  }
  return script;
}

}  // namespace

void AddCompletionCommand(CLI::App* app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand("completion", "Print a completion script for a shell");
  command->footer(
      "Examples:\n"
      "  source <(kiln completion bash)                                  this session\n"
      "  kiln completion fish > ~/.config/fish/completions/kiln.fish     every one");
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([app, shell] {
    if (*shell == "zsh") std::fputs("autoload -U +X bashcompinit && bashcompinit\n", stdout);
    std::fputs((*shell == "fish" ? Fish(*app) : Bash(*app)).c_str(), stdout);
  });
}

}  // namespace kiln::tools
