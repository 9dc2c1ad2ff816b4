#include "src/tools/compare_modules.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/analysis/structure.h"
#include "src/hlo/printer.h"

namespace kiln::tools {
namespace {

using hlo::Computation;
using hlo::Instruction;

std::string Line(const Instruction& instruction) {
  hlo::PrintOptions options;
  options.metadata = false;
  options.max_constant_elements = 16;
  options.operand_shapes = true;
  return hlo::ToString(instruction, options);
}

class Comparer {
 public:
  explicit Comparer(size_t limit) : limit_(limit) {}

  std::vector<std::string> Compare(const hlo::Module& a, const hlo::Module& b) {
    if (a.aliases() != b.aliases()) Note("the programs alias arguments and results differently\n");
    if (a.entry()->parameter_count() != b.entry()->parameter_count()) {
      Note(absl::StrCat("the first program has ", a.entry()->parameter_count(), " parameters, the second ",
                        b.entry()->parameter_count(), "\n"));
    }
    if (a.has_entry_layout() && b.has_entry_layout() && !(a.entry_result_layout() == b.entry_result_layout())) {
      Note(absl::StrCat("the layouts of the result differ\n- ", a.entry_result_layout().ToString(), "\n+ ",
                        b.entry_result_layout().ToString(), "\n"));
    }
    pending_.emplace_back(a.entry(), b.entry());
    while (!pending_.empty() && found_.size() < limit_) {
      const auto [left, right] = pending_.back();
      pending_.pop_back();
      if (done_.insert({left, right}).second) CompareComputations(*left, *right);
    }
    return std::move(found_);
  }

 private:
  using Pair = std::pair<const Instruction*, const Instruction*>;

  void Note(std::string text) {
    if (found_.size() < limit_) found_.push_back(std::move(text));
  }
  void Note(const Pair& pair, absl::string_view what) {
    Note(absl::StrCat(what, "\n- ", Line(*pair.first), "\n+ ", Line(*pair.second), "\n"));
  }

  void CompareComputations(const Computation& a, const Computation& b) {
    // Roots first, then what runs for its effects alone, in order.
    std::vector<Pair> stack;
    std::vector<const Instruction*> effects[2];
    const Computation* sides[2] = {&a, &b};
    for (int side = 0; side < 2; ++side) {
      for (const Instruction* instruction : sides[side]->PostOrder()) {
        if (instruction->HasSideEffect() && !instruction->IsParameter()) effects[side].push_back(instruction);
      }
    }
    if (effects[0].size() != effects[1].size()) {
      Note(absl::StrCat("computations ", a.name(), " and ", b.name(), " have ", effects[0].size(), " and ",
                        effects[1].size(), " operations with side effects\n"));
    }
    for (size_t i = std::min(effects[0].size(), effects[1].size()); i > 0; --i) {
      stack.emplace_back(effects[0][i - 1], effects[1][i - 1]);
    }
    stack.emplace_back(a.root(), b.root());
    absl::flat_hash_map<const Instruction*, const Instruction*> partner[2];
    while (!stack.empty() && found_.size() < limit_) {
      const Pair pair = stack.back();
      stack.pop_back();
      const auto [left, inserted_left] = partner[0].emplace(pair.first, pair.second);
      const bool inserted_right = partner[1].emplace(pair.second, pair.first).second;
      if (!inserted_left && !inserted_right) {
        if (left->second != pair.second)
          Note(pair, "other operands: both stand for another value of the other program");
        continue;
      }
      if (!Same(pair)) continue;
      for (size_t i = pair.first->called_computations().size(); i > 0; --i) {
        pending_.emplace_back(pair.first->called_computation(i - 1), pair.second->called_computation(i - 1));
      }
      for (int64_t i = pair.first->operand_count(); i > 0; --i) {
        stack.emplace_back(pair.first->operand(i - 1), pair.second->operand(i - 1));
      }
    }
  }

  bool Same(const Pair& pair) {
    const auto& [a, b] = pair;
    if (a->opcode() != b->opcode()) return Note(pair, "other operations"), false;
    if (!hlo::Shape::Compatible(a->shape(), b->shape())) return Note(pair, "other shapes"), false;
    if (!(a->shape() == b->shape())) return Note(pair, "other layouts"), false;
    if (!analysis::SameOperation(*a, *b)) return Note(pair, "other attributes"), false;
    if (a->operand_count() != b->operand_count()) return Note(pair, "other numbers of operands"), false;
    if (a->called_computations().size() != b->called_computations().size()) {
      return Note(pair, "other numbers of called computations"), false;
    }
    return true;
  }

  const size_t limit_;
  std::vector<std::string> found_;
  std::vector<std::pair<const Computation*, const Computation*>> pending_;
  absl::flat_hash_set<std::pair<const Computation*, const Computation*>> done_;
};

}  // namespace

std::vector<std::string> Differences(const hlo::Module& a, const hlo::Module& b, size_t limit) {
  return Comparer(limit).Compare(a, b);
}

}  // namespace kiln::tools
