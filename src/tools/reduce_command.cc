// kiln reduce: a smaller program with the same fault.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "src/hlo/printer.h"
#include "src/tools/commands.h"
#include "src/tools/program_file.h"
#include "src/tools/reducer.h"
#include "src/tools/timed_command.h"

namespace kiln::tools {
namespace {

struct ReduceOptions {
  std::string file;
  std::string check;
  std::string output;
  int64_t max_checks = 10000;
  double check_seconds = 60;
  bool quiet = false;
};

// A file for the time of the reduction.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = absl::StrCat(folder != nullptr ? folder : "/tmp", "/kiln-reduce-XXXXXX.hlo");
    const int descriptor = mkstemps(path_.data(), 4);
    if (descriptor >= 0) close(descriptor);
    if (descriptor < 0) path_.clear();
  }
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

absl::Status Run(const ReduceOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, LoadProgram(options.file));
  const TemporaryFile file;
  if (file.path().empty()) return Internal("cannot make a temporary file");
  const bool has_place = options.check.find("{}") != std::string::npos;
  const std::string command = has_place ? absl::StrReplaceAll(options.check, {{"{}", file.path()}})
                                        : absl::StrCat(options.check, " ", file.path());
  const auto fails = [&](const hlo::Module& candidate) -> absl::StatusOr<bool> {
    KILN_RETURN_IF_ERROR(WriteFile(file.path(), hlo::ToString(candidate)));
    return Succeeds(command, absl::Seconds(options.check_seconds));
  };
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::pair<int64_t, int64_t> reported;
  const auto progress = [&](const ReduceCounts& counts) {
    const std::pair<int64_t, int64_t> size(counts.instructions, counts.elements);
    if (options.quiet || (!terminal && size == reported)) return;
    reported = size;
    std::fprintf(stderr, "%skiln reduce: %lld instructions, %lld elements after %lld checks%s", terminal ? "\r" : "",
                 static_cast<long long>(counts.instructions), static_cast<long long>(counts.elements),
                 static_cast<long long>(counts.checks), terminal ? "\033[K" : "\n");
  };
  absl::StatusOr<std::unique_ptr<hlo::Module>> reduced = Reduce(std::move(module), options.max_checks, fails, progress);
  if (!options.quiet && terminal) std::fputc('\n', stderr);
  KILN_RETURN_IF_ERROR(reduced.status());
  return WriteFile(options.output, hlo::ToString(**reduced));
}

}  // namespace

void AddReduceCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<ReduceOptions>();
  CLI::App* command = app->add_subcommand("reduce", "Shrink a program while a fault stays in it");
  command->footer(
      "The check is a shell command that ends with 0 as long as the fault is there. It is given the path of a "
      "candidate\n"
      "as HLO text in place of {}, or as its last word. Outputs are dropped, instructions replaced by operands, zeros "
      "or\n"
      "parameters, callees taken apart, constants and dimensions made small, until nothing smaller has the fault.\n\n"
      "Examples:\n"
      "  kiln reduce f.hlo --check '! kiln run {} --reference --quiet' -o small.hlo       a wrong result\n"
      "  kiln reduce f.mlir --check 'kiln run {} 2>&1 | grep \"no code is generated\"'      an error\n"
      "  kiln reduce f.hlo --check './crashes.sh'                                         a script of yours");
  command->add_option("file", options->file, "The program; '-' for standard input")->required();
  command->add_option("--check", options->check, "The command that ends with 0 while the fault is there")->required();
  command->add_option("-o,--output", options->output, "Where to write the result; standard output when left out");
  command->add_option("--max-checks", options->max_checks, "Stop after so many runs of the check")
      ->check(CLI::Range(1, 1000000000));
  command->add_option("--check-seconds", options->check_seconds,
                      "A check that takes longer is stopped and counts as one without the fault: candidates may loop "
                      "forever")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "Do not print progress");
  command->callback([options, exit_code] { *exit_code = ExitCode(Run(*options)); });
}

}  // namespace kiln::tools
