#include "src/inspect/recorder.h"

#include <algorithm>
#include <iterator>

#include "src/inspect/module_json.h"

namespace kiln::inspect {
namespace {

std::vector<int64_t> Ids(const hlo::Module& module) {
  std::vector<int64_t> ids;
  for (const hlo::Computation* computation : module.computations()) {
    for (const hlo::Instruction* instruction : computation->instructions()) ids.push_back(instruction->id());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

void Recorder::BeforePasses(const hlo::Module& module) {
  before_ = ModuleJson(module);
  ids_ = Ids(module);
}

void Recorder::BeforePass(absl::string_view group, const passes::Pass& pass, const hlo::Module&) {
  runs_.push_back({std::string(group), std::string(pass.name)});
  start_ = std::chrono::steady_clock::now();
}

void Recorder::AfterPass(const passes::Pass&, const hlo::Module& module, bool changed) {
  PassRun& run = runs_.back();
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  run.changed = changed;
  run.before = run.after = static_cast<int64_t>(ids_.size());
  if (!changed) return;
  std::vector<int64_t> ids = Ids(module), kept;
  std::set_intersection(ids.begin(), ids.end(), ids_.begin(), ids_.end(), std::back_inserter(kept));
  run.after = static_cast<int64_t>(ids.size());
  run.added = run.after - static_cast<int64_t>(kept.size());
  run.removed = run.before - static_cast<int64_t>(kept.size());
  ids_ = std::move(ids);
}

}  // namespace kiln::inspect
