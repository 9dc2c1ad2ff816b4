// Who wants to watch a compilation.
#ifndef KILN_CPU_COMPILE_OBSERVER_H_
#define KILN_CPU_COMPILE_OBSERVER_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "src/hlo/module.h"
#include "src/passes/pipeline.h"

namespace kiln::cpu {

class Executable;

// Called in this order by the compiling thread; after an error no more. What is passed lives until the call returns.
class CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  virtual void BeforePasses(const hlo::Module&) {}
  // Around every run of every pass; `group` is the fixed-point group that it runs in, or empty.
  virtual void BeforePass(absl::string_view /*group*/, const passes::Pass&, const hlo::Module&) {}
  virtual void AfterPass(const passes::Pass&, const hlo::Module&, bool /*changed*/) {}
  // The module as code is made of it, but for fusions that turn out too large.
  virtual void AfterPasses(const hlo::Module&, const std::vector<passes::PassTiming>&) {}
  virtual void Compiled(const Executable&) {}
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_COMPILE_OBSERVER_H_
