#include "src/tools/reducer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/hlo/builder.h"
#include "src/hlo/verifier.h"

namespace kiln::tools {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

int64_t Size(const hlo::Module& module) {
  int64_t count = 0;
  for (const Computation* computation : module.PostOrder()) count += computation->instruction_count();
  return count;
}

// Zeros of any shape; null when it has an opaque part.
Instruction* Zeros(hlo::Builder* builder, const hlo::Shape& shape) {
  if (shape.IsArray()) return builder->Splat(shape, 0);
  if (shape.IsToken()) return builder->Add(Opcode::kAfterAll, shape, {});
  if (!shape.IsTuple()) return nullptr;
  std::vector<Instruction*> elements;
  for (const hlo::Shape& element : shape.tuple_shapes()) {
    Instruction* zeros = Zeros(builder, element);
    if (zeros == nullptr) return nullptr;
    elements.push_back(zeros);
  }
  return builder->Tuple(std::move(elements));
}

class Reducer {
 public:
  Reducer(std::unique_ptr<hlo::Module> module, int64_t max_checks,
          const std::function<absl::StatusOr<bool>(const hlo::Module&)>& fails,
          const std::function<void(const ReduceCounts&)>& progress)
      : best_(std::move(module)), max_checks_(max_checks), fails_(fails), progress_(progress) {}

  absl::StatusOr<std::unique_ptr<hlo::Module>> Run() {
    KILN_ASSIGN_OR_RETURN(const bool failing, Check(*best_));
    if (!failing) return InvalidArgument("the check does not fail on the program itself: nothing to reduce");
    // What the caller fixed about arguments and results ties them down.
    Try([](hlo::Module* module) {
      Loosen(module);
      return true;
    });
    int64_t before = 0;
    do {
      before = Size(*best_);
      DropOutputs();
      MoveRoot();
      ReplaceChunks();
      InlineCalls();
      ReplaceByOperands();
      DropParameters();
      KILN_RETURN_IF_ERROR(status_);
    } while (Size(*best_) < before && counts_.checks < max_checks_);
    return std::move(best_);
  }

 private:
  using Edit = std::function<bool(hlo::Module*)>;

  absl::StatusOr<bool> Check(const hlo::Module& module) {
    ++counts_.checks;
    KILN_ASSIGN_OR_RETURN(const bool failing, fails_(module));
    if (failing) counts_.instructions = Size(module);
    progress_(counts_);
    return failing;
  }

  static void Loosen(hlo::Module* module) {
    module->set_has_entry_layout(false);
    module->mutable_entry_parameter_layouts()->clear();
    module->mutable_aliases()->clear();
    module->mutable_donors()->clear();
    module->set_is_scheduled(false);
  }

  // Edits a copy, which becomes the best program when it is valid, no larger and still fails. False also when the edit
  // says that it has nothing to do.
  bool Try(const Edit& edit) {
    if (!status_.ok() || counts_.checks >= max_checks_) return false;
    std::unique_ptr<hlo::Module> candidate = best_->Clone();
    if (!edit(candidate.get())) return false;
    for (Computation* computation : candidate->computations()) computation->RemoveDeadInstructions();
    candidate->RemoveUnusedComputations();
    if (!hlo::Verify(*candidate).ok() || Size(*candidate) > Size(*best_)) return false;
    const absl::StatusOr<bool> failing = Check(*candidate);
    if (!failing.ok()) status_ = failing.status();
    if (!failing.ok() || !*failing) return false;
    best_ = std::move(candidate);
    return true;
  }

  // The computations and instructions of a copy stand in the same order as those of the program.
  static Computation* At(hlo::Module* module, size_t index) { return module->PostOrder()[index]; }

  // A part of the entry's result instead of all: halves, then single elements, then the element itself.
  void DropOutputs() {
    for (size_t part = 2;; part *= 2) {
      const Instruction* root = best_->entry()->root();
      if (root->opcode() != Opcode::kTuple || root->operand_count() < 2) break;
      const size_t count = static_cast<size_t>(root->operand_count());
      const size_t length = std::max<size_t>((count + part - 1) / part, 1);
      bool changed = false;
      for (size_t begin = 0; begin < count && !changed; begin += length) {
        changed = Try([&](hlo::Module* module) {
          Loosen(module);
          Computation* entry = module->entry();
          std::vector<Instruction*> kept;
          for (size_t i = begin; i < std::min(begin + length, count); ++i) {
            kept.push_back(entry->root()->operand(static_cast<int64_t>(i)));
          }
          entry->set_root(kept.size() == 1 ? kept[0] : hlo::Builder(entry, nullptr).Tuple(kept));
          return true;
        });
      }
      if (changed) part = 1;
      if (length == 1 && !changed) break;
    }
  }

  // The entry ends earlier: some instruction in its middle is the result. Halving finds the place.
  void MoveRoot() {
    bool changed = true;
    while (changed) {
      changed = false;
      const std::vector<Instruction*> order = best_->entry()->PostOrder();
      for (size_t step = order.size() / 2; step > 0 && !changed; step /= 2) {
        for (size_t at = step; at < order.size() && !changed; at += step) {
          const size_t index = order.size() - 1 - at;
          changed = Try([index](hlo::Module* module) {
            Instruction* result = module->entry()->PostOrder()[index];
            if (result == module->entry()->root() || result->IsParameter()) return false;
            Loosen(module);
            module->entry()->set_root(result);
            return true;
          });
        }
        if (step > 32 && step < order.size() / 16) break;  // Larger programs shrink by chunks.
      }
    }
  }

  // Runs of instructions become zeros, or in the entry parameters: long runs first.
  void ReplaceChunks() {
    for (const bool by_parameters : {false, true}) {
      for (size_t c = 0; c < best_->PostOrder().size(); ++c) {
        if (by_parameters && At(best_.get(), c) != best_->entry()) continue;
        size_t length = std::max<size_t>(At(best_.get(), c)->PostOrder().size() / 2, 1);
        while (true) {
          size_t count = At(best_.get(), c)->PostOrder().size();
          for (size_t begin = 0; begin < count; begin += length) {
            const bool changed =
                Try([&](hlo::Module* module) { return Replace(At(module, c), begin, begin + length, by_parameters); });
            if (!changed) continue;
            if (c >= best_->PostOrder().size()) return;
            count = At(best_.get(), c)->PostOrder().size();
          }
          if (length == 1) break;
          length /= 2;
        }
      }
    }
  }

  static bool Replace(Computation* computation, size_t begin, size_t end, bool by_parameters) {
    const std::vector<Instruction*> order = computation->PostOrder();
    bool changed = false;
    for (size_t i = begin; i < std::min(end, order.size()); ++i) {
      Instruction* old = order[i];
      const bool zeros_already = old->opcode() == Opcode::kBroadcast && old->operand(0)->IsConstant();
      if (old->IsParameter() || old->IsConstant() || old->opcode() == Opcode::kTuple || old->users().empty()) continue;
      if (zeros_already && !by_parameters) continue;
      hlo::Builder builder(computation, old);
      Instruction* replacement = by_parameters ? computation->AddParameter(computation->parameter_count(), old->shape())
                                               : Zeros(&builder, old->shape());
      if (replacement == nullptr) continue;
      old->ReplaceAllUsesWith(replacement);
      changed = true;
    }
    if (changed && by_parameters) Loosen(computation->parent());
    return changed;
  }

  void InlineCalls() {
    ForEachInstruction([](Computation* computation, Instruction* instruction) {
      if (instruction->opcode() != Opcode::kCall && instruction->opcode() != Opcode::kFusion) return false;
      hlo::Builder builder(computation, instruction);
      instruction->ReplaceAllUsesWith(builder.Inline(*instruction->called_computation(), instruction->operands()));
      return true;
    });
  }

  // Also takes loops for their initial state, and conditionals for an operand.
  void ReplaceByOperands() {
    ForEachInstruction([](Computation*, Instruction* instruction) {
      for (Instruction* operand : instruction->operands()) {
        if (!(operand->shape() == instruction->shape())) continue;
        instruction->ReplaceAllUsesWith(operand);
        return true;
      }
      return false;
    });
  }

  // Tries `edit` on every instruction, users first; true when it changed something.
  void ForEachInstruction(const std::function<bool(Computation*, Instruction*)>& edit) {
    for (size_t c = best_->PostOrder().size(); c > 0; --c) {
      if (c > best_->PostOrder().size()) continue;
      for (size_t i = At(best_.get(), c - 1)->PostOrder().size(); i > 0; --i) {
        Try([&](hlo::Module* module) {
          Computation* computation = At(module, c - 1);
          const std::vector<Instruction*> order = computation->PostOrder();
          return i <= order.size() && edit(computation, order[i - 1]);
        });
        if (c > best_->PostOrder().size()) break;
      }
    }
  }

  void DropParameters() {
    Try([](hlo::Module* module) {
      Computation* entry = module->entry();
      bool changed = false;
      for (int64_t i = entry->parameter_count(); i > 0; --i) {
        Instruction* parameter = entry->parameter(i - 1);
        if (!parameter->users().empty() || parameter->IsRoot()) continue;
        entry->RemoveParameter(i - 1);
        changed = true;
      }
      if (changed) Loosen(module);
      return changed;
    });
  }

  std::unique_ptr<hlo::Module> best_;
  const int64_t max_checks_;
  const std::function<absl::StatusOr<bool>(const hlo::Module&)>& fails_;
  const std::function<void(const ReduceCounts&)>& progress_;
  ReduceCounts counts_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<hlo::Module>> Reduce(
    std::unique_ptr<hlo::Module> module, int64_t max_checks,
    const std::function<absl::StatusOr<bool>(const hlo::Module&)>& fails,
    const std::function<void(const ReduceCounts&)>& progress) {
  return Reducer(std::move(module), max_checks, fails, progress).Run();
}

}  // namespace kiln::tools
