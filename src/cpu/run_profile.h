// Where the time of a run goes, instruction by instruction: for programs compiled with CompileOptions::profile.
#ifndef KILN_CPU_RUN_PROFILE_H_
#define KILN_CPU_RUN_PROFILE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "src/hlo/module.h"

namespace kiln::cpu {

// Of one run; the program marks the end of every instruction, in the thread that runs it.
class RunProfile {
 public:
  explicit RunProfile(size_t instructions) : entries_(instructions), last_(Clock::now()) {}
  // The time since the last mark was spent in `instruction`.
  void Mark(int64_t instruction);
  // A table, slowest first. `instructions` are those that the marks number.
  std::string ToString(const hlo::Module& module, const std::vector<const hlo::Instruction*>& instructions) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    int64_t runs = 0;
    double seconds = 0;
  };
  std::vector<Entry> entries_;
  Clock::time_point last_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_RUN_PROFILE_H_
