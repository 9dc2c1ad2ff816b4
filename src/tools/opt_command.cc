// kiln opt: runs passes over a program and prints what becomes of it.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_join.h"
#include "src/cpu/executable.h"
#include "src/gpu/kernel_emitter.h"
#include "src/hlo/printer.h"
#include "src/passes/pipeline.h"
#include "src/passes/simplify/rules.h"
#include "src/tools/commands.h"
#include "src/tools/program_file.h"

namespace kiln::tools {
namespace {

struct OptOptions {
  std::string file;
  std::vector<std::string> passes;
  std::string target;
  std::string stage = "hlo";
  std::vector<std::string> print_after;
  std::vector<std::string> disabled;
  bool time_passes = false;
  bool verify = false;
  bool metadata = false;
  bool list_rules = false;
};

absl::StatusOr<passes::PassList> ChoosePasses(const OptOptions& options) {
  passes::PassList list;
  if (options.target == "cpu") return passes::CpuPipeline();
  if (options.target == "gpu") return passes::GpuPipeline();
  for (const std::string& name : options.passes) {
    std::unique_ptr<passes::Pass> pass = passes::CreatePass(name);
    if (pass == nullptr) {
      return InvalidArgument("there is no pass '", name, "'; passes are: ", absl::StrJoin(passes::PassNames(), ", "));
    }
    list.push_back(std::move(pass));
  }
  return list;
}

absl::Status PrintPtx(std::unique_ptr<hlo::Module> module, const OptOptions& options) {
  if (options.target != "gpu") return InvalidArgument("--stage=ptx needs --target=gpu");
  passes::PipelineOptions pipeline_options;
  pipeline_options.disabled_passes = options.disabled;
  pipeline_options.verify_each_pass |= options.verify;
  KILN_RETURN_IF_ERROR(passes::RunPipeline(module.get(), passes::GpuPipeline(), pipeline_options));
  KILN_ASSIGN_OR_RETURN(std::string text, gpu::CompileToPtx(*module));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status PrintNative(std::unique_ptr<hlo::Module> module, const OptOptions& options) {
  if (options.stage == "ptx") return PrintPtx(std::move(module), options);
  if (options.target != "cpu") return InvalidArgument("--stage=", options.stage, " needs --target=cpu");
  cpu::CompileOptions compile_options;
  compile_options.disabled_passes = options.disabled;
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Executable> executable,
                        cpu::Executable::Compile(std::move(module), compile_options));
  KILN_ASSIGN_OR_RETURN(std::string text, options.stage == "schedule" ? executable->KernelSchedules()
                                          : options.stage == "memory" ? executable->MemoryPlan()
                                          : options.stage == "llvm"   ? executable->LlvmIr()
                                                                      : executable->Assembly());
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

absl::Status Run(const OptOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, LoadProgram(options.file));
  if (options.stage != "hlo") return PrintNative(std::move(module), options);

  KILN_ASSIGN_OR_RETURN(passes::PassList list, ChoosePasses(options));
  hlo::PrintOptions print_options;
  print_options.metadata = options.metadata;
  passes::PipelineOptions pipeline_options;
  pipeline_options.disabled_passes = options.disabled;
  pipeline_options.verify_each_pass |= options.verify;
  for (const std::string& name : options.print_after) {
    if (name != "all" && passes::CreatePass(name) == nullptr) {
      return InvalidArgument("--print-after: there is no pass '", name, "'");
    }
  }
  pipeline_options.after_pass = [&](const passes::Pass& pass, const hlo::Module& after, bool changed) {
    for (const std::string& name : options.print_after) {
      if (name != "all" && name != pass.name()) continue;
      std::printf("// After %s%s\n", std::string(pass.name()).c_str(), changed ? "" : ": unchanged");
      if (changed) std::printf("%s\n", hlo::ToString(after, print_options).c_str());
      break;
    }
  };
  std::vector<passes::PassTiming> timings;
  KILN_RETURN_IF_ERROR(passes::RunPipeline(module.get(), list, pipeline_options, &timings));
  std::fputs(hlo::ToString(*module, print_options).c_str(), stdout);
  if (options.time_passes) std::fputs(passes::FormatTimings(timings).c_str(), stderr);
  return absl::OkStatus();
}

}  // namespace

void AddOptCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command = app->add_subcommand("opt", "Run passes over a program and print the result");
  command->footer("Passes: " + absl::StrJoin(passes::PassNames(), ", ") +
                  "\n\nExamples:\n"
                  "  kiln opt f.hlo                              read, verify and print\n"
                  "  kiln opt f.hlo --passes=cse,dce             these two passes\n"
                  "  kiln opt f.hlo --target=cpu --time-passes   all that the CPU's compiler runs, and what each took\n"
                  "  kiln opt f.hlo --target=cpu --stage=memory  where every value lives\n"
                  "  kiln opt f.hlo --target=cpu --stage=asm     down to the machine's instructions\n"
                  "  kiln opt f.hlo --target=gpu --stage=ptx     the kernels of a GPU");
  CLI::Option* file = command->add_option("file", options->file, "The program; '-' for standard input");
  CLI::Option* list_rules =
      command->add_flag("--list-rules", options->list_rules, "Print the rules of the algebraic simplifier, and no program");
  CLI::Option* passes_option =
      command->add_option("--passes", options->passes, "Passes to run, in this order, separated by commas")
          ->delimiter(',');
  command->add_option("--target", options->target, "Run the whole pipeline of this target")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->excludes(passes_option);
  command
      ->add_option("--stage", options->stage,
                   "What to print: the optimized HLO, its kernels with their schedules, the memory plan, or the code")
      ->check(CLI::IsMember({"hlo", "schedule", "memory", "llvm", "asm", "ptx"}));
  command->add_option("--print-after", options->print_after, "Print the module after these passes too, or after 'all'")
      ->delimiter(',');
  command->add_option("--disable-passes", options->disabled, "Passes of the pipeline to leave out")->delimiter(',');
  command->add_flag("--time-passes", options->time_passes, "Print to standard error how long each pass took");
  command->add_flag("--verify-each", options->verify, "Verify the module after each pass that changes it");
  command->add_flag("--metadata", options->metadata, "Print where instructions come from");
  command->callback([options, file, list_rules, exit_code] {
    if (file->count() == 0 && list_rules->count() == 0) throw CLI::RequiredError("file");
    if (options->list_rules) {
      std::fputs(passes::simplify::FormatRules().c_str(), stdout);
      return;
    }
    absl::Status status = Run(*options);
    if (!status.ok()) *exit_code = Fail(status);
  });
}

}  // namespace kiln::tools
