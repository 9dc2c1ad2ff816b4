// kiln convert: a program in another format.
#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "src/frontend/hlo_proto/writer.h"
#include "src/frontend/stablehlo/exporter.h"
#include "src/hlo/printer.h"
#include "src/tools/commands.h"
#include "src/tools/program_file.h"

namespace kiln::tools {
namespace {

struct ConvertOptions {
  std::string file;
  std::string to = "hlo";
  std::string output;
  stablehlo::TextOptions text;
};

absl::Status Run(const ConvertOptions& options) {
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, LoadProgram(options.file));
  std::string bytes;
  if (options.to == "proto") {
    bytes = hlo_proto::WriteModule(*module);
  } else if (options.to == "stablehlo") {
    KILN_ASSIGN_OR_RETURN(bytes, stablehlo::ExportText(*module, options.text));
  } else {
    bytes = hlo::ToString(*module);
  }
  return WriteFile(options.output, bytes);
}

}  // namespace

void AddConvertCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app->add_subcommand("convert", "Write a program in another format");
  command->footer(
      "hlo is HLO text, stablehlo StableHLO text, proto a binary HloModuleProto. In StableHLO tuples are taken apart:\n"
      "arguments, results and the state of loops are their leaves. An operation that StableHLO does not have is an "
      "error\n"
      "that names it.\n\n"
      "Examples:\n"
      "  kiln convert f.mlirbc --to hlo\n"
      "  kiln convert f.hlo --to stablehlo -o f.mlir\n"
      "  kiln convert - --to proto -o f.hlo.pb < f.hlo");
  command->add_option("file", options->file, "The program; '-' for standard input")->required();
  command->add_option("--to", options->to, "The format")
      ->check(CLI::IsMember({"hlo", "stablehlo", "proto"}))
      ->required();
  command->add_flag("--generic", options->text.generic, "StableHLO without short forms: \"op\"(operands) <{...}>");
  command->add_flag("--locations", options->text.locations, "StableHLO with where operations come from");
  command->add_option("-o,--output", options->output, "The file to write; standard output when left out");
  command->callback([options, exit_code] { *exit_code = ExitCode(Run(*options)); });
}

}  // namespace kiln::tools
