#include "src/tools/explain.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "llvm/Support/JSON.h"
#include "src/analysis/attention.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/cost_analysis.h"
#include "src/analysis/structure.h"
#include "src/analysis/while_loop.h"
#include "src/cpu/host_rates.h"
#include "src/passes/pipeline.h"
#include "src/tools/program_timer.h"

namespace kiln::tools {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

namespace {

struct Site {
  const Instruction* instruction;
  double runs;
  bool runs_are_known;
};

// Everything that runs code, loops and branches followed, with how often it runs.
void Visit(const Computation& computation, double runs, bool known, std::vector<Site>* sites) {
  for (const Instruction* instruction : computation.instructions()) {
    if (analysis::RunsNoCode(*instruction)) continue;
    if (!analysis::IsControlFlow(instruction->opcode())) {
      sites->push_back({instruction, runs, known});
      continue;
    }
    const bool is_loop = instruction->opcode() == Opcode::kWhile;
    const std::optional<int64_t> trips = is_loop ? analysis::KnownTripCount(*instruction) : 1;
    const double times = runs * static_cast<double>(trips.value_or(1));
    for (const Computation* callee : instruction->called_computations()) {
      Visit(*callee, times, known && trips.has_value(), sites);
    }
  }
}

std::string KindOf(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kDot) return "matrix product";
  if (instruction.opcode() != Opcode::kFusion) return std::string(hlo::OpcodeName(instruction.opcode()));
  if (analysis::FindAttention(instruction) != nullptr) return "attention fusion";
  for (const Instruction* inner : instruction.called_computation()->instructions()) {
    if (inner->opcode() == Opcode::kDot) return "matrix product fusion";
    if (inner->opcode() == Opcode::kConvolution) return "convolution fusion";
  }
  switch (instruction.Get<hlo::FusionAttributes>().kind) {
    case hlo::FusionKind::kLoop:
      return "loop fusion";
    case hlo::FusionKind::kInput:
      return "input fusion";
    case hlo::FusionKind::kOutput:
      return "output fusion";
    case hlo::FusionKind::kCustom:
      break;
  }
  return "fusion";
}

// Bytes that every value would hold with memory of its own from when it is made until it is last read: the most at any
// time, without the parameters.
int64_t PeakOpByOp(const Computation& computation) {
  const std::vector<Instruction*> order = computation.PostOrder();
  absl::flat_hash_map<const Instruction*, size_t> last;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t own = order[i] == computation.root() ? order.size() : last.contains(order[i]) ? last[order[i]] : i;
    last[order[i]] = own;
    // Another name keeps what it stands for.
    const size_t until = analysis::RunsNoCode(order[i]->opcode()) ? own : i;
    for (const Instruction* operand : order[i]->operands()) last[operand] = std::max(last[operand], until);
  }
  std::vector<int64_t> freed(order.size() + 1, 0);
  int64_t live = 0, peak = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const Instruction& instruction = *order[i];
    const int64_t bytes = analysis::RunsNoCode(instruction.opcode()) ? 0 : instruction.shape().byte_count();
    int64_t inside = 0;
    if (analysis::IsControlFlow(instruction.opcode())) {
      for (const Computation* callee : instruction.called_computations())
        inside = std::max(inside, PeakOpByOp(*callee));
    }
    live += bytes;
    peak = std::max(peak, live + inside);
    freed[last[order[i]]] += bytes;
    live -= freed[i];
  }
  return peak;
}

class Explainer {
 public:
  Explainer(const ExplainOptions& options, const ExplainProgress& progress)
      : options_(options),
        progress_(progress),
        threads_(options.compile.max_parallelism > 0 ? options.compile.max_parallelism : ThreadPool::AvailableCpus()),
        pool_(threads_),
        costs_(cpu::HostRates(threads_)) {}

  absl::StatusOr<Explanation> Run(std::unique_ptr<hlo::Module> module) {
    std::unique_ptr<hlo::Module> original = options_.op_by_op ? module->Clone() : nullptr;
    Explanation result;
    result.module = module->name();
    progress_("the whole program", 0, 1);
    KILN_ASSIGN_OR_RETURN(const ProgramTimer program, ProgramTimer::Create(std::move(module), options_.compile));
    KILN_ASSIGN_OR_RETURN(result.measured_seconds, program.MedianSeconds(&pool_, options_.seconds_for_program));
    KILN_ASSIGN_OR_RETURN(const analysis::MemoryPlan memory, program.executable().PlannedMemory());
    result.argument_bytes = memory.argument_bytes;
    result.result_bytes = memory.result_bytes;
    result.arena_bytes = memory.arena_bytes;
    result.total_bytes = memory.total_bytes();

    std::vector<Site> sites, ops;
    Visit(*program.executable().module()->entry(), 1, true, &sites);
    if (original != nullptr) {
      KILN_RETURN_IF_ERROR(TakeApart(original.get()));
      Visit(*original->entry(), 1, true, &ops);
    }
    const int64_t all = static_cast<int64_t>(sites.size() + ops.size());
    absl::flat_hash_map<const Instruction*, double> seconds;
    analysis::OperationClasses classes(*program.executable().module());
    for (const Site& site : sites) {
      KILN_ASSIGN_OR_RETURN(KernelRow row, Explain(site));
      progress_(row.name, static_cast<int64_t>(result.kernels.size()), all);
      row.measured_seconds = Measure(site, /*as_it_is=*/true, &classes, &seconds);
      result.predicted_seconds += row.runs * row.predicted_seconds;
      result.kernels.push_back(std::move(row));
    }
    if (original == nullptr) return result;
    analysis::OperationClasses op_classes(*original);
    result.has_op_by_op = true;
    result.op_by_op_bytes = result.argument_bytes + PeakOpByOp(*original->entry());
    for (const Site& site : ops) {
      progress_(site.instruction->name(), static_cast<int64_t>(sites.size()) + result.ops++, all);
      const double one = Measure(site, /*as_it_is=*/false, &op_classes, &seconds);
      result.ops_not_measured += one < 0 ? 1 : 0;
      result.op_by_op_seconds += site.runs * std::max(one, 0.0);
    }
    return result;
  }

 private:
  // What frameworks give as calls is seen through; nothing else is rewritten.
  static absl::Status TakeApart(hlo::Module* module) {
    passes::PassList list;
    for (const char* name : {"call-inliner", "dynamic-padder", "dce", "flatten-call-graph"}) {
      list.push_back(*passes::FindPass(name));
    }
    return passes::RunPipeline(module, list);
  }

  absl::StatusOr<KernelRow> Explain(const Site& site) {
    const Instruction& instruction = *site.instruction;
    const analysis::Cost& cost = costs_.Of(instruction);
    KernelRow row;
    row.name = instruction.name();
    row.kind = KindOf(instruction);
    row.runs = site.runs;
    row.runs_are_known = site.runs_are_known;
    row.flops = cost.flops;
    row.transcendentals = cost.transcendentals;
    row.bytes = cost.bytes;
    row.predicted_seconds = cost.optimal_seconds;
    if (instruction.opcode() == Opcode::kFusion) {
      double apart = 0;
      row.ops = 0;
      std::vector<const Computation*> bodies = {instruction.called_computation()};
      for (size_t i = 0; i < bodies.size(); ++i) {
        for (const Instruction* inner : bodies[i]->instructions()) {
          if (inner->opcode() == Opcode::kFusion) {
            bodies.push_back(inner->called_computation());
          } else if (!analysis::RunsNoCode(inner->opcode())) {
            apart += costs_.Of(*inner).bytes;
            ++row.ops;
          }
        }
      }
      row.saved_bytes = std::max(apart - cost.bytes, 0.0);
    }
    return row;
  }

  // Seconds of one run alone, below 0 when that cannot be; equal operations are measured once.
  double Measure(const Site& site, bool as_it_is, analysis::OperationClasses* classes,
                 absl::flat_hash_map<const Instruction*, double>* known) {
    const Instruction* first = classes->FirstLike(*site.instruction);
    if (const auto found = known->find(first); found != known->end()) return found->second;
    double& seconds = (*known)[first];
    seconds = -1;
    if (first->HasSideEffect()) return seconds;
    absl::StatusOr<ProgramTimer> timer =
        ProgramTimer::Create(Isolate(*first), as_it_is ? AsItIs(options_.compile) : options_.compile);
    if (!timer.ok()) return seconds;
    const absl::StatusOr<double> median = timer->MedianSeconds(&pool_, options_.seconds_per_kernel);
    if (median.ok()) seconds = *median;
    return seconds;
  }

  const ExplainOptions& options_;
  const ExplainProgress& progress_;
  const int threads_;
  ThreadPool pool_;
  analysis::CostAnalysis costs_;
};

std::string Number(double value, const char* unit, double step) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= step && prefix + 1 < std::size(kPrefixes); ++prefix) value /= step;
  return absl::StrFormat("%.*f %s%s", prefix == 0 || value >= 100 ? 0 : 1, value, kPrefixes[prefix], unit);
}
std::string Bytes(double value) { return Number(value, "B", 1024); }
std::string Flops(double value) { return Number(value, "", 1000); }
std::string Time(double seconds) {
  if (seconds < 0) return "-";
  if (seconds < 1e-3) return absl::StrFormat("%.2f us", seconds * 1e6);
  return seconds < 1 ? absl::StrFormat("%.2f ms", seconds * 1e3) : absl::StrFormat("%.2f s", seconds);
}

// Columns as wide as their widest cell; the first two to the left, the others to the right.
std::string Columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", i < 2 ? row[i] + space : space + row[i]);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<Explanation> Explain(std::unique_ptr<hlo::Module> module, const ExplainOptions& options,
                                    const ExplainProgress& progress) {
  return Explainer(options, progress).Run(std::move(module));
}

std::string ToTable(const Explanation& e) {
  double measured = 0, flops = 0, bytes = 0, saved = 0;
  for (const KernelRow& row : e.kernels) measured += row.runs * std::max(row.measured_seconds, 0.0);
  std::vector<std::vector<std::string>> rows = {
      {"kernel", "kind", "ops", "runs", "flops", "moved", "saved by fusion", "predicted", "measured", "share"}};
  for (const KernelRow& row : e.kernels) {
    const double total = row.runs * std::max(row.measured_seconds, 0.0);
    rows.push_back({row.name, row.kind, absl::StrCat(row.ops), absl::StrCat(row.runs, row.runs_are_known ? "" : "?"),
                    Flops(row.flops + row.transcendentals), Bytes(row.bytes), Bytes(row.saved_bytes),
                    Time(row.predicted_seconds), Time(row.measured_seconds),
                    absl::StrFormat("%.1f%%", measured > 0 ? 100 * total / measured : 0.0)});
    flops += row.runs * (row.flops + row.transcendentals);
    bytes += row.runs * row.bytes;
    saved += row.runs * row.saved_bytes;
  }
  rows.push_back({"all kernels", "", "", "", Flops(flops), Bytes(bytes), Bytes(saved), Time(e.predicted_seconds),
                  Time(measured), ""});
  std::string text = absl::StrCat(e.module, "\n\n", Columns(rows));
  absl::StrAppend(
      &text, "\nThe whole program: ", Time(e.measured_seconds), ", ", Bytes(static_cast<double>(e.total_bytes)),
      " (arguments ", Bytes(static_cast<double>(e.argument_bytes)), ", results ",
      Bytes(static_cast<double>(e.result_bytes)), ", arena ", Bytes(static_cast<double>(e.arena_bytes)), ")\n");
  if (!e.has_op_by_op) return text;
  absl::StrAppend(&text, "Op by op (", e.ops, " ops): ", Time(e.op_by_op_seconds), ", ",
                  Bytes(static_cast<double>(e.op_by_op_bytes)), "\n");
  if (e.ops_not_measured > 0) {
    absl::StrAppend(&text, "  without ", e.ops_not_measured, " ops that cannot be run alone\n");
  }
  const double speed_up = e.measured_seconds > 0 ? e.op_by_op_seconds / e.measured_seconds : 0;
  const double less = static_cast<double>(e.op_by_op_bytes - e.total_bytes);
  absl::StrAppendFormat(&text, "Compiled as a whole: %.2f times as fast, %s %s memory\n", speed_up,
                        Bytes(std::abs(less)), less >= 0 ? "less" : "more");
  return text;
}

std::string ToJson(const Explanation& e) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, /*IndentSize=*/2);
  out.object([&] {
    out.attribute("module", e.module);
    out.attribute("measured_seconds", e.measured_seconds);
    out.attribute("predicted_seconds", e.predicted_seconds);
    out.attribute("argument_bytes", e.argument_bytes);
    out.attribute("result_bytes", e.result_bytes);
    out.attribute("arena_bytes", e.arena_bytes);
    out.attribute("total_bytes", e.total_bytes);
    if (e.has_op_by_op) {
      out.attributeObject("op_by_op", [&] {
        out.attribute("ops", e.ops);
        out.attribute("ops_not_measured", e.ops_not_measured);
        out.attribute("seconds", e.op_by_op_seconds);
        out.attribute("bytes", e.op_by_op_bytes);
      });
    }
    out.attributeArray("kernels", [&] {
      for (const KernelRow& row : e.kernels) {
        out.object([&] {
          out.attribute("name", row.name);
          out.attribute("kind", row.kind);
          out.attribute("ops", row.ops);
          out.attribute("runs", row.runs);
          out.attribute("runs_are_known", row.runs_are_known);
          out.attribute("flops", row.flops);
          out.attribute("transcendentals", row.transcendentals);
          out.attribute("bytes", row.bytes);
          out.attribute("saved_bytes", row.saved_bytes);
          out.attribute("predicted_seconds", row.predicted_seconds);
          out.attribute("measured_seconds", row.measured_seconds < 0 ? llvm::json::Value(nullptr)
                                                                     : llvm::json::Value(row.measured_seconds));
        });
      }
    });
  });
  return stream.str() + "\n";
}

}  // namespace kiln::tools
