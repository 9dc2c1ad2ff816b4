// Keeps what a compilation did, pass by pass.
#ifndef KILN_INSPECT_RECORDER_H_
#define KILN_INSPECT_RECORDER_H_

#include <chrono>
#include <string>
#include <vector>

#include "src/cpu/compile_observer.h"
#include "src/hlo/module.h"

namespace kiln::inspect {

// One run of one pass.
struct PassRun {
  std::string group;  // the fixed-point group, or empty
  std::string pass;
  bool changed = false;
  double seconds = 0;
  int64_t before = 0, after = 0;   // instructions
  int64_t added = 0, removed = 0;  // instructions that were not there, and that are gone
};

class Recorder : public cpu::CompileObserver {
 public:
  void BeforePasses(const hlo::Module& module) override;
  void BeforePass(absl::string_view group, const passes::Pass& pass, const hlo::Module& module) override;
  void AfterPass(const passes::Pass& pass, const hlo::Module& module, bool changed) override;

  // The module as it was before any pass (module_json.h).
  const std::string& before() const { return before_; }
  const std::vector<PassRun>& runs() const { return runs_; }

 private:
  std::string before_;
  std::vector<PassRun> runs_;
  std::vector<int64_t> ids_;  // of all instructions, sorted, after the last run
  std::chrono::steady_clock::time_point start_;
};

}  // namespace kiln::inspect

#endif  // KILN_INSPECT_RECORDER_H_
