#include "src/tools/reducer.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "src/base/status.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/hlo/builder.h"
#include "src/hlo/printer.h"
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

int64_t Elements(const hlo::Module& module) {
  double count = 0;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const hlo::Shape* leaf : instruction->shape().Leaves()) {
        if (leaf->IsArray()) count += static_cast<double>(leaf->element_count());
      }
    }
  }
  return static_cast<int64_t>(std::min(count, 1e18));
}

// The program's text with smaller arrays: `from` becomes `to`, and with `multiples` n times `from` n times `to`,
// wherever sizes stand: in brackets (shapes, slices), in lists of slice sizes and in windows.
std::string Resize(const std::string& text, int64_t from, int64_t to, bool multiples) {
  std::string result;
  int brackets = 0;
  bool in_quotes = false;
  bool in_sizes = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) in_quotes = !in_quotes;
    if (c == '[' && !in_quotes) ++brackets;
    if (c == ']' && !in_quotes) --brackets;
    if (!in_quotes && (text.compare(i, 6, "sizes=") == 0 || text.compare(i, 6, "{size=") == 0)) in_sizes = true;
    if (c == '}' || c == ' ') in_sizes = false;
    const bool begins =
        c >= '0' && c <= '9' && (i == 0 || !absl::ascii_isalnum(static_cast<unsigned char>(text[i - 1])));
    const bool factor = in_sizes && i > 0 && text[i - 1] == 'x' && c >= '0' && c <= '9';
    if (in_quotes || (!factor && (!begins || (brackets == 0 && !in_sizes)))) {
      result += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    int64_t value = 0;
    const bool fits = absl::SimpleAtoi(absl::string_view(text).substr(i, end - i), &value) && value > 0 &&
                      (value == from || (multiples && value % from == 0));
    absl::StrAppend(&result, fits ? absl::StrCat(value / from * to) : text.substr(i, end - i));
    i = end;
  }
  return result;
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
    std::pair<int64_t, int64_t> before;
    do {
      before = {Size(*best_), Elements(*best_)};
      DropOutputs();
      MoveRoot();
      ReplaceChunks();
      InlineCalls();
      ReplaceByOperands();
      SimplifyConstants();
      DropParameters();
      ShrinkShapes();
      KILN_RETURN_IF_ERROR(status_);
    } while (std::pair(Size(*best_), Elements(*best_)) < before && counts_.checks < max_checks_);
    return std::move(best_);
  }

 private:
  using Edit = std::function<bool(hlo::Module*)>;

  absl::StatusOr<bool> Check(const hlo::Module& module) {
    ++counts_.checks;
    KILN_ASSIGN_OR_RETURN(const bool failing, fails_(module));
    if (failing) {
      counts_.instructions = Size(module);
      counts_.elements = Elements(module);
    }
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

  // What combines elements (of a reduce, a scatter, a sort) stays whole: a result that depends on their order says
  // nothing.
  static bool Combines(const Computation* callee) {
    for (const Computation* computation : callee->parent()->PostOrder()) {
      for (const Instruction* caller : computation->instructions()) {
        const Opcode opcode = caller->opcode();
        const bool runs_it = opcode == Opcode::kCall || opcode == Opcode::kFusion || opcode == Opcode::kWhile ||
                             opcode == Opcode::kConditional || opcode == Opcode::kMap;
        if (!runs_it && absl::c_linear_search(caller->called_computations(), callee)) return true;
      }
    }
    return false;
  }

  // Edits a copy, which becomes the best program when it is valid, no larger and still fails. False also when the edit
  // says that it has nothing to do. With `growth` the program may grow by so many instructions.
  bool Try(const Edit& edit, int64_t growth = 0) {
    if (!status_.ok() || counts_.checks >= max_checks_) return false;
    std::unique_ptr<hlo::Module> candidate = best_->Clone();
    if (!edit(candidate.get())) return false;
    for (Computation* computation : candidate->computations()) computation->RemoveDeadInstructions();
    candidate->RemoveUnusedComputations();
    return Size(*candidate) <= Size(*best_) + growth && TryCandidate(std::move(candidate));
  }

  bool TryCandidate(std::unique_ptr<hlo::Module> candidate) {
    if (!status_.ok() || counts_.checks >= max_checks_ || !hlo::Verify(*candidate).ok()) return false;
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
        if (by_parameters ? At(best_.get(), c) != best_->entry() : Combines(At(best_.get(), c))) continue;
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

  // Callees in place of calls and fusions, one round in place of a loop, each branch in place of a conditional.
  void InlineCalls() {
    for (const int64_t branch : {0, 1}) {
      ForEachInstruction([branch](Computation* computation, Instruction* instruction) {
        hlo::Builder builder(computation, instruction);
        const Opcode opcode = instruction->opcode();
        const bool branches = opcode == Opcode::kConditional;
        if (opcode != Opcode::kCall && opcode != Opcode::kFusion && opcode != Opcode::kWhile && !branches) return false;
        if (branch > 0 && !branches) return false;
        std::vector<Instruction*> operands(instruction->operands().begin(), instruction->operands().end());
        if (branches) operands = {instruction->operand(branch + 1)};
        instruction->ReplaceAllUsesWith(builder.Inline(*instruction->called_computation(branch), operands));
        return true;
      });
    }
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
  void ForEachInstruction(const std::function<bool(Computation*, Instruction*)>& edit, int64_t growth = 0) {
    for (size_t c = best_->PostOrder().size(); c > 0; --c) {
      if (c > best_->PostOrder().size() || Combines(At(best_.get(), c - 1))) continue;
      for (size_t i = At(best_.get(), c - 1)->PostOrder().size(); i > 0; --i) {
        Try(
            [&](hlo::Module* module) {
              Computation* computation = At(module, c - 1);
              const std::vector<Instruction*> order = computation->PostOrder();
              return i <= order.size() && edit(computation, order[i - 1]);
            },
            growth);
        if (c > best_->PostOrder().size()) break;
      }
    }
  }

  // Arrays of constants become copies of one element; large integers, which are often trip counts, small ones.
  void SimplifyConstants() {
    const auto simplify = [](Computation* computation, Instruction* constant) {
      if (!constant->IsConstant() || !constant->shape().IsArray()) return false;
      hlo::Builder builder(computation, constant);
      const hlo::Shape& shape = constant->shape();
      const bool is_scalar = shape.element_count() == 1;
      if (is_scalar && !hlo::IsIntegral(shape.element_type())) return false;
      if (is_scalar && shape.byte_count() > 0) {
        const Instruction* small[] = {builder.Splat(shape, 0), builder.Splat(shape, 1), builder.Splat(shape, 2)};
        for (const Instruction* one : small) {
          if (one->IsConstant() && one->literal() == constant->literal()) return false;
        }
      }
      constant->ReplaceAllUsesWith(builder.Splat(shape, is_scalar ? 2 : 1));
      return true;
    };
    ForEachInstruction(simplify, /*growth=*/1);
  }

  // One size after the other, in the whole program at once: 1, then 2, then half of it.
  void ShrinkShapes() {
    std::set<int64_t, std::greater<>> sizes;
    for (const Computation* computation : best_->PostOrder()) {
      for (const Instruction* instruction : computation->instructions()) {
        for (const hlo::Shape* leaf : instruction->shape().Leaves()) {
          if (leaf->IsArray()) sizes.insert(leaf->dimensions().begin(), leaf->dimensions().end());
        }
      }
    }
    for (int64_t size : sizes) {
      bool changed = true;
      while (changed && size > 1) {
        changed = false;
        for (const int64_t to : {int64_t{1}, int64_t{2}, size / 2}) {
          for (const bool multiples : {false, true}) {
            if (changed || to >= size) continue;
            auto smaller = hlo_text::ParseHloText(Resize(hlo::ToString(*best_), size, to, multiples), "candidate");
            changed = smaller.ok() && Elements(**smaller) < Elements(*best_) && TryCandidate(*std::move(smaller));
            if (changed) size = to;
          }
        }
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
