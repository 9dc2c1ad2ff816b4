#include "src/inspect/dump.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"
#include "src/analysis/memory_plan.h"
#include "src/base/write_file.h"
#include "src/cpu/executable.h"
#include "src/frontend/hlo_proto/writer.h"
#include "src/hlo/printer.h"
#include "src/inspect/dot.h"
#include "src/inspect/html_page.h"
#include "src/inspect/recorder.h"
#include "src/passes/pipeline.h"

namespace kiln::inspect {
namespace {

constexpr size_t kLongestName = 128;
constexpr char kStandardOutput[] = "-";

using FileTime = std::filesystem::file_time_type;

// An empty expression matches all; a faulty one nothing, with a warning.
bool Matches(const std::string& expression, absl::string_view text) {
  if (expression.empty()) return true;
  const llvm::Regex regex{llvm::StringRef(expression)};
  std::string error;
  if (regex.isValid(error)) return regex.match(llvm::StringRef(text.data(), text.size()));
  runtime::WarnOnce(absl::StrCat("the regular expression '", expression, "' is faulty: ", error));
  return false;
}

class Dumper : public cpu::CompileObserver {
 public:
  Dumper(const runtime::DebugFlags& flags, FileTime start) : flags_(flags), start_(start) {}

  void BeforePasses(const hlo::Module& module) override {
    static std::atomic<int64_t> modules{0};
    wanted_ = Matches(flags_.dump_module_re, module.name());
    if (wanted_ && flags_.dump_max_modules > 0) wanted_ = modules.fetch_add(1) < flags_.dump_max_modules;
    if (wanted_) wanted_ = ChooseName(module.name());
    if (!wanted_) return;
    if (flags_.dump_html) recorder_.BeforePasses(module);
    WriteModule("before_optimizations", module);
  }

  void BeforePass(absl::string_view group, const passes::Pass& pass, const hlo::Module& module) override {
    if (!wanted_) return;
    if (flags_.dump_html) recorder_.BeforePass(group, pass, module);
    if (flags_.dump_pass_re.empty()) return;
    const std::string pipeline = group.empty() ? "kiln" : std::string(group);
    if (pipeline != pipeline_) {
      WriteStep("pipeline-end", module);
      pipeline_ = pipeline;
      last_pass_ = "pipeline-start";
      changed_ = true;
    }
    WriteStep(pass.name, module);
  }

  void AfterPass(const passes::Pass& pass, const hlo::Module& module, bool changed) override {
    if (!wanted_) return;
    if (flags_.dump_html) recorder_.AfterPass(pass, module, changed);
    if (!changed) return;
    last_pass_ = std::string(pass.name);
    changed_ = true;
  }

  void AfterPasses(const hlo::Module& module, const std::vector<passes::PassTiming>& timings) override {
    if (!wanted_) return;
    if (!pipeline_.empty()) WriteStep("pipeline-end", module);
    WriteModule("kiln_after_optimizations", module);
    times_ = passes::FormatTimings(timings);
  }

  void Compiled(const cpu::Executable& executable) override {
    if (!wanted_) return;
    if (flags_.dump_text) {
      const absl::StatusOr<analysis::MemoryPlan> plan = executable.PlannedMemory();
      if (plan.ok()) {
        Write("kiln_after_optimizations-buffer-assignment.txt", BufferAssignmentText(*plan));
        Write("kiln_after_optimizations-memory-usage-report.txt", plan->ToString());
      }
      const absl::StatusOr<cpu::CodeView> code = executable.Code();
      if (code.ok()) {
        Write("kiln.ll", code->llvm_ir);
        Write("kiln.s", code->assembly);
      }
      Write("kiln.times.txt", absl::StrCat(times_, FormatPhases(executable.statistics())));
    }
    if (flags_.dump_html) {
      if (flags_.dump_to == kStandardOutput) return runtime::WarnOnce("an HTML dump needs a folder in --xla_dump_to");
      Write("kiln.html", HtmlPage(recorder_, executable));
    }
  }

 private:
  // False when there is no place for files.
  bool ChooseName(absl::string_view module) {
    static std::atomic<int64_t> numbers{0};
    const std::string name = FileName(module);
    if (flags_.dump_to != kStandardOutput) {
      std::error_code error;
      std::filesystem::create_directories(flags_.dump_to, error);
      if (error) {
        runtime::WarnOnce(absl::StrCat("--xla_dump_to=", flags_.dump_to, ": ", error.message()));
        return false;
      }
    }
    do {
      prefix_ = absl::StrFormat("module_%04d.%s", numbers.fetch_add(1) + 1, name);
    } while (IsTaken());
    return true;
  }

  // Another writer of this process, that is XLA, has such files. Those of earlier processes are replaced.
  bool IsTaken() const {
    if (flags_.dump_to == kStandardOutput) return false;
    for (const char* suffix : {"before_optimizations.txt", "before_optimizations.hlo.pb"}) {
      std::error_code error;
      const auto time =
          std::filesystem::last_write_time(absl::StrCat(flags_.dump_to, "/", prefix_, ".", suffix), error);
      if (!error && time >= start_) return true;
    }
    return false;
  }

  void WriteStep(absl::string_view next, const hlo::Module& module) {
    if (!std::exchange(changed_, false)) return;
    if (!Matches(flags_.dump_pass_re, last_pass_) && !Matches(flags_.dump_pass_re, next)) return;
    WriteModule(absl::StrFormat("%04d.%s.after_%s.before_%s", steps_++, pipeline_, last_pass_, next), module);
  }

  void WriteModule(absl::string_view what, const hlo::Module& module) {
    if (flags_.dump_text) {
      hlo::PrintOptions options;
      options.metadata = !flags_.dump_without_metadata;
      options.operand_shapes = flags_.dump_long_text;
      if (!flags_.dump_long_text && !flags_.dump_large_constants) options.max_constant_elements = 10;
      Write(absl::StrCat(what, ".txt"), hlo::ToString(module, options));
    }
    if (flags_.dump_to == kStandardOutput) return;
    if (flags_.dump_proto) Write(absl::StrCat(what, ".hlo.pb"), hlo_proto::WriteModule(module));
    if (flags_.dump_dot) Write(absl::StrCat(what, ".dot"), ToDot(module));
  }

  void Write(absl::string_view what, absl::string_view bytes) {
    const std::string name = absl::StrCat(prefix_, ".", what);
    if (flags_.dump_to == kStandardOutput) {
      static absl::Mutex mutex(absl::kConstInit);
      absl::MutexLock lock(&mutex);
      const std::string text = absl::StrCat("*** Begin ", name, " ***\n", bytes, "\n*** End ", name, " ***\n");
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
      return;
    }
    const absl::Status status = WriteWholeFile(absl::StrCat(flags_.dump_to, "/", name), bytes);
    if (!status.ok()) runtime::WarnOnce(std::string(status.message()));
  }

  static std::string BufferAssignmentText(const analysis::MemoryPlan& plan) {
    std::string text = "BufferAssignment:\n";
    static constexpr const char* kStorage[] = {"parameter", "output", "constant", "arena at", "workspace", "stack"};
    static_assert(std::size(kStorage) == static_cast<size_t>(analysis::Storage::kStack) + 1);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const analysis::PlannedBuffer& buffer = plan.buffers[i];
      const bool in_arena = buffer.storage == analysis::Storage::kArena;
      const int64_t offset = in_arena ? buffer.offset : 0;
      absl::StrAppend(&text, "allocation ", i, ": size ", buffer.bytes, ", ",
                      kStorage[static_cast<size_t>(buffer.storage)], " ", in_arena ? offset : buffer.number, ", live ",
                      buffer.first, " to ", buffer.last, ":\n");
      for (const analysis::PlannedValue& value : buffer.values) {
        absl::StrAppend(&text, " value: <", value.name, " @", value.step, "> (size=", buffer.bytes, ",offset=", offset,
                        "): ", value.shape, "\n");
      }
    }
    return absl::StrCat(text, "Total bytes: ", plan.total_bytes(), "\n");
  }

  const runtime::DebugFlags flags_;
  const FileTime start_;
  bool wanted_ = false;
  std::string prefix_;
  Recorder recorder_;
  std::string pipeline_, last_pass_, times_;
  bool changed_ = false;  // since the last step was written
  int steps_ = 0;
};

}  // namespace

std::string FileName(absl::string_view name) {
  std::string safe(name.substr(0, kLongestName));
  for (char& c : safe) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return safe.empty() ? "unnamed" : safe;
}

DumperFactory MakeDumperFactory() {
  return [start = FileTime::clock::now()](const runtime::DebugFlags& flags) -> std::unique_ptr<cpu::CompileObserver> {
    return flags.Dumps() ? std::make_unique<Dumper>(flags, start) : nullptr;
  };
}

}  // namespace kiln::inspect
