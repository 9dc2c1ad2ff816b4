#include "src/passes/pipeline.h"

#include "src/passes/call_inliner.h"
#include "src/passes/cse.h"
#include "src/passes/dce.h"
#include "src/passes/simplify/algebraic_simplifier.h"

namespace kiln::passes {
namespace {

template <typename... Passes>
PassList ListOf() {
  PassList list;
  (list.push_back(std::make_unique<Passes>()), ...);
  return list;
}

// What every target wants: straight-line code in few forms.
PassList CommonPasses() {
  PassList list = ListOf<CallInliner, Dce>();
  list.push_back(
      std::make_unique<FixedPoint>("simplification", ListOf<AlgebraicSimplifier, Cse, Dce>(), /*max_rounds=*/8));
  return list;
}

}  // namespace

PassList CpuPipeline() { return CommonPasses(); }

PassList GpuPipeline() { return CommonPasses(); }

namespace {

template <typename PassType>
std::unique_ptr<Pass> Make() {
  return std::make_unique<PassType>();
}

// In pipeline order. Names are those of the passes themselves.
constexpr std::unique_ptr<Pass> (*kFactories[])() = {
    Make<CallInliner>,
    Make<Dce>,
    Make<AlgebraicSimplifier>,
    Make<Cse>,
};

}  // namespace

std::unique_ptr<Pass> CreatePass(absl::string_view name) {
  for (auto make : kFactories) {
    std::unique_ptr<Pass> pass = make();
    if (pass->name() == name) return pass;
  }
  return nullptr;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (auto make : kFactories) names.emplace_back(make()->name());
  return names;
}

}  // namespace kiln::passes
