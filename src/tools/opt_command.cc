// kiln opt: runs passes over a program and prints what becomes of it.
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_join.h"
#include "src/base/isa_level.h"
#include "src/base/nearest_name.h"
#include "src/cpu/executable.h"
#include "src/gpu/kernel_emitter.h"
#include "src/hlo/printer.h"
#include "src/inspect/html_page.h"
#include "src/inspect/recorder.h"
#include "src/passes/pipeline.h"
#include "src/passes/simplify/rules.h"
#include "src/runtime/debug_flags.h"
#include "src/tools/commands.h"
#include "src/tools/program_file.h"

namespace kiln::tools {
namespace {

struct OptOptions {
  std::string file;
  std::vector<std::string> passes;
  std::string target;
  std::string stage = "hlo";
  std::string isa;
  std::vector<std::string> print_after;
  std::vector<std::string> disabled;
  int64_t memory_limit = 0;
  bool fast_math = false;
  int optimization_level = cpu::CompileOptions().optimization_level;
  bool time_passes = false;
  bool verify = false;
  bool metadata = false;
  std::string html;
  bool list_rules = false;
};

absl::Status UnknownPass(absl::string_view where, absl::string_view name) {
  const std::vector<std::string> names = passes::PassNames();
  const std::string hint = DidYouMean(name, {names.begin(), names.end()});
  return InvalidArgument(where, "there is no pass '", name, "'",
                         hint.empty() ? absl::StrCat("; passes are: ", absl::StrJoin(names, ", ")) : hint);
}

passes::PassList ChoosePasses(const OptOptions& options) {
  passes::PassList list;
  if (options.target == "cpu") {
    list = passes::CpuPipeline(options.fast_math);
    if (options.memory_limit > 0) list.push_back(passes::RematerializationUnder(options.memory_limit));
    return list;
  }
  if (options.target == "gpu") return passes::GpuPipeline(options.fast_math);
  for (const std::string& name : options.passes) {
    list.push_back(name == "rematerialization" ? passes::RematerializationUnder(options.memory_limit)
                                               : *passes::FindPass(name));
  }
  return list;
}

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Prints what --print-after asks for, and the result of the passes when that is what is wanted.
class Printer : public inspect::Recorder {
 public:
  explicit Printer(const OptOptions& options) : options_(options) { print_.metadata = options.metadata; }

  void BeforePasses(const hlo::Module& module) override {
    if (!options_.html.empty()) Recorder::BeforePasses(module);
  }
  void AfterPass(const passes::Pass& pass, const hlo::Module& module, bool changed) override {
    if (!options_.html.empty()) Recorder::AfterPass(pass, module, changed);
    for (const std::string& name : options_.print_after) {
      if (name != "all" && name != pass.name) continue;
      std::printf("// After %s%s\n", std::string(pass.name).c_str(), changed ? "" : ": unchanged");
      if (changed) std::printf("%s\n", hlo::ToString(module, print_).c_str());
      break;
    }
  }
  void AfterPasses(const hlo::Module& module, const std::vector<passes::PassTiming>& timings) override {
    const Clock::time_point start = Clock::now();
    if (options_.stage == "hlo") std::fputs(hlo::ToString(module, print_).c_str(), stdout);
    printing_ = MillisecondsSince(start);
    if (options_.time_passes) std::fputs(passes::FormatTimings(timings).c_str(), stderr);
  }

  // Milliseconds that the result of the passes took to print.
  double printing() const { return printing_; }

 private:
  const OptOptions& options_;
  hlo::PrintOptions print_;
  double printing_ = 0;
};

absl::Status RunPasses(hlo::Module* module, const passes::PassList& list, const OptOptions& options, Printer* printer) {
  passes::PipelineOptions pipeline_options;
  pipeline_options.disabled_passes = options.disabled;
  pipeline_options.verify_each_pass |= options.verify;
  pipeline_options.after_pass = [&](const passes::Pass& pass, const hlo::Module& after, bool changed) {
    printer->AfterPass(pass, after, changed);
  };
  std::vector<passes::PassTiming> timings;
  KILN_RETURN_IF_ERROR(passes::RunPipeline(module, list, pipeline_options, &timings));
  printer->AfterPasses(*module, timings);
  return absl::OkStatus();
}

// What the phases are part of: the time by the clock, and what came before it.
void PrintWait(const cpu::CompileStatistics& statistics, double waited, double reading) {
  const double phases = statistics.passes_seconds + statistics.lowering_seconds + statistics.codegen_seconds;
  std::fprintf(stderr, "%10.3f         what the compiler's caller waited, of which the phases are %.1f%%\n", waited,
               waited > 0 ? phases * 1e5 / waited : 100.0);
  std::fprintf(stderr, "%10.3f         reading the program, before that\n", reading);
}

// All of the CPU's compiler. `reading`: milliseconds that it took to get the module.
absl::Status Compile(std::unique_ptr<hlo::Module> module, const OptOptions& options, double reading, Printer* printer) {
  cpu::CompileOptions compile_options;
  compile_options.disabled_passes = options.disabled;
  compile_options.verify_each_pass |= options.verify;
  compile_options.fast_math = options.fast_math;
  compile_options.optimization_level = options.optimization_level;
  compile_options.observer = printer;
  compile_options.memory_limit = options.memory_limit;
  compile_options.reuse_code = !options.time_passes;
  const Clock::time_point start = Clock::now();
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Executable> executable,
                        cpu::Executable::Compile(std::move(module), compile_options));
  const double waited = MillisecondsSince(start) - printer->printing();
  if (options.time_passes) {
    std::fputs(cpu::FormatPhases(executable->statistics()).c_str(), stderr);
    PrintWait(executable->statistics(), waited, reading);
  }
  if (!options.html.empty()) KILN_RETURN_IF_ERROR(WriteFile(options.html, inspect::HtmlPage(*printer, *executable)));
  if (options.stage == "hlo") return absl::OkStatus();
  KILN_ASSIGN_OR_RETURN(std::string text, options.stage == "schedule" ? executable->KernelSchedules()
                                          : options.stage == "memory" ? executable->MemoryPlan()
                                          : options.stage == "llvm"   ? executable->LlvmIr()
                                                                      : executable->Assembly());
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

bool NeedsCpu(const OptOptions& options) {
  return !options.html.empty() || (options.stage != "hlo" && options.stage != "ptx");
}

// What the options ask for together; fills in the target that they mean.
absl::Status Check(OptOptions* given) {
  OptOptions& options = *given;
  const bool needs_cpu = NeedsCpu(options);
  const std::string named = options.target.empty() && options.passes.empty() ? "cpu" : options.target;
  const std::string wanted = needs_cpu ? "cpu" : options.stage == "ptx" ? "gpu" : named;
  if (options.target.empty() && options.passes.empty()) options.target = wanted;
  if (options.target != wanted || (needs_cpu && options.stage == "ptx")) {
    return InvalidArgument(options.html.empty() ? absl::StrCat("--stage=", options.stage) : "--html",
                           " needs --target=", wanted, ", the whole pipeline");
  }
  for (const std::string& name : options.print_after) {
    if (name != "all" && passes::FindPass(name) == nullptr) return UnknownPass("--print-after: ", name);
  }
  for (const std::string& name : options.disabled) {
    if (passes::FindPass(name) == nullptr) return UnknownPass("--disable-passes: ", name);
  }
  for (const std::string& name : options.passes) {
    if (passes::FindPass(name) == nullptr) return UnknownPass("", name);
  }
  return absl::OkStatus();
}

// What XLA_FLAGS and KILN_FLAGS ask for besides, as a program that is run obeys them. A list of passes is as it was
// given.
absl::Status ObeyEnvironment(OptOptions* options) {
  runtime::DebugFlags flags;
  KILN_RETURN_IF_ERROR(runtime::ReadAllFlags(/*debug_options=*/"", &flags));
  flags.Complete();
  cpu::CompileOptions asked;
  runtime::ApplyFlags(flags, &asked);
  options->fast_math |= asked.fast_math;
  options->optimization_level = asked.optimization_level;
  if (!options->passes.empty()) return absl::OkStatus();
  options->disabled.insert(options->disabled.end(), asked.disabled_passes.begin(), asked.disabled_passes.end());
  return absl::OkStatus();
}

absl::Status Run(OptOptions options) {
  KILN_RETURN_IF_ERROR(ObeyEnvironment(&options));
  if (const std::optional<IsaLevel> level = ParseIsaLevel(options.isa)) {
#if !defined(__x86_64__)
    return InvalidArgument("--isa=", options.isa, ": this build generates code for another kind of processor than x86");
#endif
    AssumeIsa(*level);
  }
  const Clock::time_point begin = Clock::now();
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, LoadProgram(options.file));
  const double reading = MillisecondsSince(begin);
  Printer printer(options);
  if (options.target == "cpu" && (NeedsCpu(options) || options.time_passes)) {
    return Compile(std::move(module), options, reading, &printer);
  }
  KILN_RETURN_IF_ERROR(RunPasses(module.get(), ChoosePasses(options), options, &printer));
  if (options.stage != "ptx") return absl::OkStatus();
  const Clock::time_point start = Clock::now();
  KILN_ASSIGN_OR_RETURN(std::string text, gpu::CompileToPtx(*module));
  if (options.time_passes) std::fprintf(stderr, "%10.3f         emission and PTX\n", MillisecondsSince(start));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddOptCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command = app->add_subcommand("opt", "Run passes over a program and print the result");
  command->footer(
      "Passes: " + absl::StrJoin(passes::PassNames(), ", ") +
      "\n\nExamples:\n"
      "  kiln opt f.hlo                              what the CPU's compiler makes of it\n"
      "  kiln opt f.hlo --passes=cse,dce             these two passes\n"
      "  kiln opt f.hlo --time-passes                how long each pass took, and the rest of the compiler\n"
      "  kiln opt f.hlo --stage=memory               where every value lives\n"
      "  kiln opt f.hlo --stage=asm                  down to the machine's instructions\n"
      "  kiln opt f.hlo --stage=llvm --isa=AVX2      what a processor without AVX-512 would run\n"
      "  kiln opt f.hlo --target=gpu --stage=ptx     the kernels of a GPU\n"
      "  kiln opt f.hlo --html f.html >/dev/null     all of it as a page for a browser\n"
      "  kiln opt f.hlo --print-after=all --disable-passes=cse | less\n"
      "XLA_FLAGS and KILN_FLAGS are obeyed: --xla_disable_hlo_passes, --xla_cpu_enable_fast_math and others "
      "(docs/debugging.md).");
  CLI::Option* file = command->add_option("file", options->file, "The program; '-' for standard input");
  CLI::Option* list_rules = command->add_flag("--list-rules", options->list_rules,
                                              "Print the rules of the algebraic simplifier, and no program");
  CLI::Option* passes_option =
      command->add_option("--passes", options->passes, "Passes to run, in this order, separated by commas")
          ->delimiter(',');
  command
      ->add_option("--target", options->target,
                   "Run the whole pipeline of this target (cpu, unless --passes says what to run)")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->excludes(passes_option);
  command
      ->add_option(
          "--stage", options->stage,
          "What to print: the optimized HLO, its kernels with their schedules, the memory plan, or the code; all but "
          "hlo run the whole pipeline of their target")
      ->check(CLI::IsMember({"hlo", "schedule", "memory", "llvm", "asm", "ptx"}));
  command
      ->add_option("--isa", options->isa,
                   absl::StrCat("Show what is made for a processor of x86 that has this and no more, whatever this "
                                "machine is: ",
                                IsaLevelNames()))
      ->check([](const std::string& name) {
        return ParseIsaLevel(name) ? std::string()
                                   : absl::StrCat("there is no '", name, "'; levels are: ", IsaLevelNames());
      });
  command->add_option("--print-after", options->print_after, "Print the module after these passes too, or after 'all'")
      ->delimiter(',');
  command->add_option("--disable-passes", options->disabled, "Passes of the pipeline to leave out")->delimiter(',');
  command
      ->add_option("--memory-limit", options->memory_limit,
                   "Bytes of temporaries above which values are computed again instead of kept (rematerialization)")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  command->add_flag("--fast-math", options->fast_math,
                    "Let the simplifier treat floats as real numbers, as the pass algebraic-simplifier-fast-math does");
  command->add_flag(
      "--time-passes", options->time_passes,
      "Print to standard error how long each pass took, and for the whole of the CPU's the rest of the compiler");
  command->add_flag("--verify-each", options->verify, "Verify the module after each pass that changes it");
  command->add_option("--html", options->html, "Write a page with the graph, changes, memory plan and code (for cpu)");
  command->add_flag("--metadata", options->metadata, "Print where instructions come from");
  command->callback([options, file, list_rules, exit_code] {
    if (file->count() == 0 && list_rules->count() == 0) throw CLI::RequiredError("file");
    if (options->list_rules) {
      std::fputs(passes::simplify::FormatRules().c_str(), stdout);
    } else {
      constexpr int kWrongCommandLine = 2;
      const absl::Status checked = Check(options.get());
      *exit_code = checked.ok() ? ExitCode(Run(*options)) : ExitCode(checked, kWrongCommandLine);
    }
  });
}

}  // namespace kiln::tools
