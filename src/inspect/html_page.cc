#include "src/inspect/html_page.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/JSON.h"
#include "src/analysis/cost_analysis.h"
#include "src/analysis/memory_plan.h"
#include "src/inspect/module_json.h"
#include "src/inspect/page_parts.h"

namespace kiln::inspect {
namespace {

using llvm::json::OStream;

// Code beyond it is left out: browsers have to hold it.
constexpr size_t kCodeLimit = 8'000'000;

void Text(OStream& out, absl::string_view text) { out.value(JsonText(text)); }
void Text(OStream& out, const char* key, absl::string_view text) { out.attribute(key, JsonText(text)); }

void WriteMemory(OStream& out, const cpu::Executable& executable) {
  const absl::StatusOr<analysis::MemoryPlan> plan = executable.PlannedMemory();
  if (!plan.ok()) return Text(out, "error", plan.status().message());
  static constexpr const char* kStorage[] = {"argument", "result", "constant", "arena", "workspace", "stack"};
  static_assert(std::size(kStorage) == static_cast<size_t>(analysis::Storage::kStack) + 1);
  out.attribute("arena", plan->arena_bytes);
  out.attribute("workspace", plan->workspace_bytes);
  out.attribute("peak", plan->peak_live_bytes);
  out.attribute("peakStep", plan->peak_step);
  out.attribute("arguments", plan->argument_bytes);
  out.attribute("results", plan->result_bytes);
  out.attribute("aliased", plan->alias_bytes);
  out.attribute("constants", plan->constant_bytes);
  out.attributeArray("steps", [&] {
    for (const std::string& step : plan->steps) Text(out, step);
  });
  out.attributeArray("copies", [&] {
    for (const analysis::PlannedCopy& copy : plan->copies)
      out.value(llvm::json::Array{copy.step, copy.from, copy.to, copy.bytes});
  });
  out.attributeArray("rotations", [&] {
    for (const analysis::PlannedRotation& rotation : plan->rotations)
      out.value(llvm::json::Array{rotation.step, llvm::json::Array(rotation.state), rotation.spare});
  });
  // [storage, number, offset, bytes, first, last, scratch, values]
  out.attributeArray("buffers", [&] {
    for (const analysis::PlannedBuffer& buffer : plan->buffers) {
      out.array([&] {
        out.value(kStorage[static_cast<size_t>(buffer.storage)]);
        for (int64_t number : {buffer.number, buffer.offset, buffer.bytes, buffer.first, buffer.last})
          out.value(number);
        out.value(buffer.scratch);
        out.array([&] {
          for (const analysis::PlannedValue& value : buffer.values) {
            Text(out, absl::StrCat(value.name, " ", value.shape));
          }
        });
      });
    }
  });
}

// LLVM begins a function with ".type NAME,@function" and ends it with ".Lfunc_endN:". Data goes under "".
std::vector<std::pair<std::string, std::string>> SplitAssembly(absl::string_view assembly) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::string data;
  std::string* into = &data;
  for (absl::string_view line : absl::StrSplit(assembly, '\n')) {
    absl::string_view name = line;
    if (absl::ConsumePrefix(&name, "\t.type\t") && absl::ConsumeSuffix(&name, ",@function")) {
      if (absl::ConsumePrefix(&name, "\"")) absl::ConsumeSuffix(&name, "\"");
      into = &parts.emplace_back(name, "").second;
    } else if (absl::StartsWith(line, ".Lfunc_end")) {
      into = &data;
    }
    absl::StrAppend(into, line, "\n");
  }
  parts.emplace_back("", std::move(data));
  return parts;
}

void WriteCode(OStream& out, const cpu::Executable& executable) {
  const absl::StatusOr<cpu::CodeView> code = executable.Code();
  if (!code.ok()) return Text(out, "error", code.status().message());
  absl::flat_hash_map<absl::string_view, const hlo::Instruction*> instructions;
  for (const hlo::Computation* computation : executable.module()->computations()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      instructions.emplace(instruction->name(), instruction);
    }
  }
  analysis::CostAnalysis costs;
  out.attributeArray("operations", [&] {
    for (const cpu::CompiledOperation& operation : code->operations) {
      out.object([&] {
        Text(out, "name", operation.instruction);
        Text(out, "kind", operation.kind);
        Text(out, "schedule", operation.schedule);
        const auto found = instructions.find(operation.instruction);
        const analysis::Cost cost = found == instructions.end() ? analysis::Cost() : costs.Of(*found->second);
        out.attribute("flops", std::min(cost.flops + cost.transcendentals, 1e18));
        out.attribute("bytes", std::min(cost.bytes, 1e18));
        out.attribute("nanoseconds", std::min(operation.nanoseconds, 1e18));
        out.attributeArray("functions", [&] {
          for (const std::string& function : operation.functions) Text(out, function);
        });
      });
    }
  });
  out.attributeArray("functions", [&] {
    size_t written = 0;
    for (const auto& [name, text] : SplitAssembly(code->assembly)) {
      out.array([&] {
        Text(out, name);
        Text(out, written > kCodeLimit ? "left out: kiln opt --target=cpu --stage=asm prints all" : text);
      });
      written += text.size();
    }
  });
}

void WriteSummary(OStream& out, const cpu::Executable& executable) {
  const cpu::CompileStatistics& statistics = executable.statistics();
  const std::pair<const char*, double> phases[] = {{"HLO passes", statistics.passes_seconds},
                                                   {"emission", statistics.lowering_seconds},
                                                   {"LLVM passes", statistics.llvm_passes_seconds},
                                                   {"machine code", statistics.machine_code_seconds},
                                                   {"linking", statistics.link_seconds}};
  out.attributeArray("phases", [&] {
    for (const auto& [name, seconds] : phases) out.value(llvm::json::Array{name, seconds});
  });
  out.attribute("kernels", statistics.kernel_count);
  out.attribute("fused", statistics.fused_instruction_count);
  out.attribute("codeBytes", statistics.generated_code_bytes);
  out.attribute("estimate", executable.estimated_nanoseconds());
}

std::string Json(const Recorder& recorder, const cpu::Executable& executable) {
  std::string json;
  llvm::raw_string_ostream stream(json);
  OStream out(stream);
  out.object([&] {
    Text(out, "name", executable.module()->name());
    out.attributeObject("summary", [&] { WriteSummary(out, executable); });
    out.attributeArray("passes", [&] {
      for (const PassRun& run : recorder.runs()) {
        out.value(llvm::json::Array{run.group, run.pass, run.changed, run.seconds, run.before, run.after, run.added,
                                    run.removed});
      }
    });
    for (const auto& [key, text] :
         {std::pair("before", recorder.before()), {"after", ModuleJson(*executable.module())}}) {
      out.attributeBegin(key);
      out.rawValue(text);
      out.attributeEnd();
    }
    out.attributeObject("memory", [&] { WriteMemory(out, executable); });
    out.attributeObject("code", [&] { WriteCode(out, executable); });
  });
  // No text may end the element that holds it.
  return absl::StrReplaceAll(stream.str(), {{"<", "\\u003c"}});
}

}  // namespace

std::string HtmlPage(const Recorder& recorder, const cpu::Executable& executable) {
  const std::string title = absl::StrReplaceAll(JsonText(executable.module()->name()),
                                                {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
  return absl::StrReplaceAll(kPageHtml, {{"{{title}}", title},
                                         {"{{style}}", kPageCss},
                                         {"{{script}}", kPageJs},
                                         {"{{data}}", Json(recorder, executable)}});
}

}  // namespace kiln::inspect
