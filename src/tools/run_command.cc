// kiln run: compiles a program, runs it over given or random inputs, and may compare it with the evaluator.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "src/base/thread_pool.h"
#include "src/cpu/executable.h"
#include "src/hlo/printer.h"
#include "src/inspect/dump.h"
#include "src/passes/pipeline.h"
#include "src/tools/commands.h"
#include "src/tools/compare_literals.h"
#include "src/tools/npy.h"
#include "src/tools/program_file.h"
#include "src/tools/program_timer.h"
#include "src/tools/random_literal.h"
#include "src/tools/reference.h"

namespace kiln::tools {
namespace {

// Larger results are not printed unless asked for.
constexpr int64_t kPrintedElements = 1000;

// The error that rounding and another order of summation explain.
double DefaultTolerance(hlo::PrimitiveType type) {
  switch (hlo::ComplexComponentType(type)) {
    case hlo::PrimitiveType::kF64:
      return 1e-10;
    case hlo::PrimitiveType::kF32:
      return 1e-4;
    case hlo::PrimitiveType::kF16:
      return 4e-3;
    case hlo::PrimitiveType::kBF16:
      return 3e-2;
    default:
      return hlo::IsFloating(type) ? 0.25 : 0;
  }
}

struct RunOptions {
  std::string file;
  std::vector<std::string> inputs;
  std::string output;
  uint64_t seed = 0;
  int repeat = 1;
  int threads = 0;
  bool special = false;
  bool reference = false;
  bool quiet = false;
  bool all = false;
  double tolerance = -1;  // below 0: by element type
};

// Puts `leaves`, beginning at `*next`, into the tree of `shape`.
absl::StatusOr<hlo::Literal> Assemble(const hlo::Shape& shape, const std::vector<NpyArray>& leaves, size_t* next) {
  if (shape.IsTuple()) {
    std::vector<hlo::Literal> elements;
    for (const hlo::Shape& element : shape.tuple_shapes()) {
      KILN_ASSIGN_OR_RETURN(hlo::Literal literal, Assemble(element, leaves, next));
      elements.push_back(std::move(literal));
    }
    return hlo::Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return hlo::Literal(shape);
  if (*next >= leaves.size()) return InvalidArgument("--inputs hold ", leaves.size(), " arrays: too few");
  absl::StatusOr<hlo::Literal> literal = ToLiteral(leaves[(*next)++], shape);
  if (!literal.ok()) return Annotate(literal.status(), absl::StrCat("array ", *next - 1, " of --inputs"));
  return literal;
}

absl::StatusOr<std::vector<hlo::Literal>> Arguments(const hlo::Computation& entry, const RunOptions& options) {
  if (options.inputs.empty()) {
    return RandomArguments(entry, options.seed, options.special ? RandomKind::kSpecial : RandomKind::kUsual);
  }
  std::vector<hlo::Literal> arguments;
  std::vector<NpyArray> arrays;
  for (const std::string& path : options.inputs) {
    KILN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    absl::StatusOr<std::vector<NpyArray>> more = ReadNpyFile(bytes);
    if (!more.ok()) return Annotate(more.status(), path);
    std::move(more->begin(), more->end(), std::back_inserter(arrays));
  }
  size_t next = 0;
  for (const hlo::Instruction* parameter : entry.parameters()) {
    absl::StatusOr<hlo::Literal> literal = Assemble(parameter->shape(), arrays, &next);
    if (!literal.ok()) return Annotate(literal.status(), absl::StrCat("parameter ", parameter->name()));
    arguments.push_back(*std::move(literal));
  }
  if (next < arrays.size())
    return InvalidArgument("--inputs hold ", arrays.size(), " arrays, the program takes ", next);
  return arguments;
}

// A .npz of result_0, result_1, ...; a .npy when the path says so and there is one result.
absl::Status WriteResults(const std::vector<hlo::Literal>& results, const std::string& path) {
  std::vector<std::pair<std::string, const hlo::Literal*>> arrays;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].shape().IsArray()) arrays.emplace_back(absl::StrCat("result_", i), &results[i]);
  }
  if (!absl::EndsWith(path, ".npy")) return WriteFile(path, WriteNpz(arrays));
  if (arrays.size() != 1) return InvalidArgument("a .npy file holds one array, the results are ", arrays.size());
  return WriteFile(path, WriteNpy(*arrays[0].second));
}

absl::StatusOr<int> Run(const RunOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, LoadProgram(options.file));
  KILN_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> arguments, Arguments(*module->entry(), options));
  std::unique_ptr<hlo::Module> original = options.reference ? module->Clone() : nullptr;

  cpu::CompileOptions compile_options;
  compile_options.max_parallelism = options.threads;
  runtime::DebugFlags flags;
  KILN_RETURN_IF_ERROR(runtime::ReadAllFlags(/*debug_options=*/"", &flags));
  flags.Complete();
  runtime::ApplyFlags(flags, &compile_options);
  if (original != nullptr) {
    // The evaluator knows no dynamic sizes and rounds every result: with it, the passes that give programs their
    // meaning.
    passes::PassList passes;
    for (const char* name : {"call-inliner", "dynamic-padder", "float-normalization", "sum-widening"}) {
      passes.push_back(*passes::FindPass(name));
    }
    passes::PipelineOptions pipeline_options;
    pipeline_options.disabled_passes = compile_options.disabled_passes;
    KILN_RETURN_IF_ERROR(passes::RunPipeline(original.get(), passes, pipeline_options));
  }
  const std::unique_ptr<cpu::CompileObserver> dumper = inspect::MakeDumperFactory()(flags);
  compile_options.observer = dumper.get();
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Executable> executable,
                        cpu::Executable::Compile(std::move(module), compile_options));

  std::vector<const hlo::Literal*> inputs;
  for (const hlo::Literal& argument : arguments) {
    for (const hlo::Literal* leaf : Leaves(argument)) inputs.push_back(leaf);
  }
  KILN_ASSIGN_OR_RETURN(const ProgramTimer program, ProgramTimer::Create(std::move(executable), inputs));
  ThreadPool pool(options.threads > 0 ? options.threads : ThreadPool::AvailableCpus());
  std::vector<double> seconds;
  for (int i = 0; i < options.repeat; ++i) {
    KILN_ASSIGN_OR_RETURN(seconds.emplace_back(), program.RunSeconds(&pool));
  }

  std::vector<hlo::Literal> results;
  for (const hlo::Shape& shape : program.executable().output_leaves()) {
    results.push_back(program.Result(results.size()));
    if (options.quiet) continue;
    const bool all = options.all || !shape.IsArray() || shape.element_count() <= kPrintedElements;
    std::printf("%s %s\n", shape.ToString().c_str(),
                all ? hlo::ToString(results.back()).c_str() : "{...}  (--all prints the elements)");
  }
  if (options.repeat > 1) {
    std::sort(seconds.begin(), seconds.end());
    const cpu::CompileStatistics& statistics = program.executable().statistics();
    const auto part = [&](double share) { return seconds[static_cast<size_t>(share * (options.repeat - 1))] * 1e6; };
    std::fprintf(stderr,
                 "%d runs: median %.3f us, 10 to 90 %% within %.3f to %.3f us, least %.3f, most %.3f us; compiled in "
                 "%.1f ms\n",
                 options.repeat, part(0.5), part(0.1), part(0.9), part(0), part(1),
                 (statistics.passes_seconds + statistics.lowering_seconds + statistics.codegen_seconds) * 1e3);
  }
  if (!options.output.empty()) KILN_RETURN_IF_ERROR(WriteResults(results, options.output));
  if (!options.reference) return 0;

  KILN_ASSIGN_OR_RETURN(hlo::Literal expected, EvaluateReference(original.get(), arguments));
  const std::vector<const hlo::Literal*> expected_leaves = Leaves(expected);
  int exit_code = 0;
  for (size_t i = 0; i < expected_leaves.size(); ++i) {
    if (!expected_leaves[i]->shape().IsArray()) continue;
    const double error = LargestError(results[i], *expected_leaves[i]);
    const double tolerance =
        options.tolerance >= 0 ? options.tolerance : DefaultTolerance(expected_leaves[i]->shape().element_type());
    const bool differs = !(error <= tolerance);
    std::fprintf(stderr, "result %zu: largest error %g", i, error);
    if (differs) std::fprintf(stderr, " DIFFERS: above %g, which sums of thousands may be (--tolerance)", tolerance);
    std::fprintf(stderr, "\n");
    if (differs) exit_code = 1;
  }
  return exit_code;
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand("run", "Compile a program, run it, and time or check it");
  command->footer(
      "Without --inputs the inputs are random: reals near normal in [-1, 1], integers in [0, 8), half of those in "
      "arrays\n"
      "of unsigned or narrow integers any of their type. With --special half of all integers and reals are any of "
      "their\n"
      "type: NaN, infinities, zeros of both signs, subnormals and extremes among them. The arrays of --inputs\n"
      "are taken in order, one per leaf of the parameters; bf16 is stored as NumPy's V2, 8-bit floats as V1, integers "
      "of\n"
      "fewer than 8 bits as one byte each. With --reference a result is compared with that of the evaluator, which\n"
      "computes element by element and is slow.\n"
      "XLA_FLAGS and KILN_FLAGS are obeyed: --xla_dump_to, --xla_hlo_profile and others (docs/debugging.md).\n"
      "Exit code: 0 done, 1 the program cannot be run or a result differs, 2 the command line is wrong.\n\n"
      "Examples:\n"
      "  kiln run f.hlo --random 7                  print the results\n"
      "  kiln run f.hlo --reference --quiet         compare, print the largest errors\n"
      "  kiln run f.hlo --repeat 100 --quiet        time it\n"
      "  kiln run f.mlir --inputs x.npy,w.npz --out y.npz --quiet");
  command->add_option("file", options->file, "The program; '-' for standard input")->required();
  CLI::Option* inputs =
      command->add_option("--inputs", options->inputs, "Files .npy or .npz of the inputs, separated by commas")
          ->delimiter(',');
  command->add_option("--random", options->seed, "Seed of random inputs")->excludes(inputs);
  command->add_flag("--special", options->special, "Random inputs with special and extreme values")->excludes(inputs);
  command->add_option("--out", options->output, "Write the results to this .npz (result_0, ...) or .npy file");
  command->add_option("--repeat", options->repeat, "Run so often and print the time of a run")
      ->check(CLI::Range(1, 1000000000));
  command->add_option("--threads", options->threads, "Threads to use; 0 for as many as the process may")
      ->check(CLI::Range(0, 1024));
  command->add_option("--tolerance", options->tolerance,
                      "Largest relative error that --reference lets pass; by default it follows the element type");
  command->add_flag("--reference", options->reference, "Compare with the evaluator");
  command->add_flag("--quiet", options->quiet, "Do not print the results");
  command->add_flag("--all", options->all, "Print also results of more than 1000 elements");
  command->callback([options, exit_code] { *exit_code = ExitCode(Run(*options)); });
}

}  // namespace kiln::tools
