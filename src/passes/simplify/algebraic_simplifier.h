// algebraic-simplifier: applies the rules of this directory until none applies.
// algebraic-simplifier-fast-math: the same, and rules that hold for real numbers but not for all floats.
#ifndef KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_
#define KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_

#include <functional>
#include <utility>

#include "src/passes/pass.h"
#include "src/passes/simplify/rule.h"

namespace kiln::passes {

// Logical rewrites only: layouts play no part, except that a bitcast between row-major shapes is a reshape.
// Instructions of bounded dynamic shape are left alone.
class AlgebraicSimplifier : public Pass {
 public:
  // Is told of every rule and the instruction that it applies to; for tests.
  using Observer = std::function<void(const simplify::Rule&, const hlo::Instruction&)>;
  explicit AlgebraicSimplifier(Observer observer = nullptr) : AlgebraicSimplifier(false, std::move(observer)) {}
  absl::string_view name() const override { return "algebraic-simplifier"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;

 protected:
  AlgebraicSimplifier(bool fast_math, Observer observer) : fast_math_(fast_math), observer_(std::move(observer)) {}

 private:
  bool fast_math_;
  Observer observer_;
};

class FastMathSimplifier : public AlgebraicSimplifier {
 public:
  explicit FastMathSimplifier(Observer observer = nullptr) : AlgebraicSimplifier(true, std::move(observer)) {}
  absl::string_view name() const override { return "algebraic-simplifier-fast-math"; }
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_
