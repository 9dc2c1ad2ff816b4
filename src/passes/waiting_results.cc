#include "src/passes/waiting_results.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/code_kinds.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

using hlo::Opcode;

constexpr int64_t kMinTemporaryBytes = 128 << 10;
// Of a temporary: results that wait for it, and kernels that read it.
constexpr size_t kMaxEdges = 64;

bool IsLoopKernel(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kFusion) {
    return instruction.Get<hlo::FusionAttributes>().kind == hlo::FusionKind::kLoop;
  }
  return hlo::IsElementwise(instruction.opcode()) && !instruction.operands().empty();
}

// Whoever reads `value`, by whatever name.
std::vector<Instruction*> ReadersOf(const Instruction& value) {
  std::vector<Instruction*> readers;
  std::vector<const Instruction*> names = {&value};
  for (size_t i = 0; i < names.size(); ++i) {
    for (Instruction* user : names[i]->users()) {
      if (analysis::IsView(*user) && !user->IsRoot()) {
        names.push_back(user);
      } else {
        readers.push_back(user);
      }
    }
  }
  return readers;
}

bool IsOnlyResults(const Instruction& kernel) {
  const std::vector<Instruction*> readers = ReadersOf(kernel);
  return !readers.empty() && absl::c_all_of(readers, [](const Instruction* reader) {
    return reader->IsRoot() && analysis::IsView(*reader);
  });
}

bool IsReadForLess(const Instruction& kernel) {
  const std::vector<Instruction*> readers = ReadersOf(kernel);
  return !readers.empty() && readers.size() <= kMaxEdges && absl::c_all_of(readers, [&](const Instruction* reader) {
    const hlo::Shape& shape = reader->shape();
    const int64_t parts = shape.IsTuple() ? static_cast<int64_t>(shape.tuple_shapes().size()) : 1;
    return !reader->IsRoot() && 2 * shape.byte_count() <= parts * kernel.shape().byte_count();
  });
}

// Kernels of one shape that read the same arrays. The shape is that of all their results.
using Place = std::pair<std::vector<const Instruction*>, hlo::Shape>;

Place PlaceOf(const Instruction& kernel) {
  std::vector<const Instruction*> operands(kernel.operands().begin(), kernel.operands().end());
  absl::c_sort(operands);
  return {std::move(operands), kernel.shape().IsTuple() ? kernel.shape().tuple_shapes(0) : kernel.shape()};
}

}  // namespace

absl::flat_hash_map<const Instruction*, const Instruction*> WaitingResults(const Computation& entry) {
  absl::flat_hash_map<const Instruction*, const Instruction*> waiting;
  if (!entry.parent()->aliases().empty()) return waiting;  // what is given for results is in their memory
  const std::vector<Instruction*> order = entry.PostOrder();
  absl::flat_hash_map<Place, std::vector<const Instruction*>> results;
  for (const Instruction* result : order) {
    if (IsLoopKernel(*result) && IsOnlyResults(*result)) results[PlaceOf(*result)].push_back(result);
  }
  if (results.empty()) return waiting;
  absl::flat_hash_set<const Instruction*> temporaries;
  for (const Instruction* temporary : order) {
    if (!IsLoopKernel(*temporary) || !temporary->shape().IsArray() ||
        temporary->shape().byte_count() < kMinTemporaryBytes || !IsReadForLess(*temporary)) {
      continue;
    }
    const bool stays = absl::c_all_of(temporary->operands(), [&](const Instruction* operand) {
      const Instruction* source = SourceOf(operand);
      return source->IsParameter() || source->IsConstant() || temporaries.contains(source);
    });
    const auto beside = results.find(PlaceOf(*temporary));
    if (!stays || beside == results.end() || beside->second.size() > kMaxEdges) continue;
    temporaries.insert(temporary);
    for (const Instruction* result : beside->second) waiting.try_emplace(result, temporary);
  }
  return waiting;
}

absl::StatusOr<bool> HoldResultsBack(Module* module) {
  const absl::flat_hash_map<const Instruction*, const Instruction*> waiting = WaitingResults(*module->entry());
  if (waiting.empty()) return false;
  absl::flat_hash_map<const Instruction*, int64_t> position;
  const std::vector<Instruction*> order = module->entry()->PostOrder();
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int64_t>(i);
  for (Instruction* result : order) {
    const auto found = waiting.find(result);
    if (found == waiting.end()) continue;
    for (Instruction* reader : ReadersOf(*found->second)) {
      // Of two results the one whose temporary is made later comes first: they never wait for each other.
      const auto waits = waiting.find(reader);
      if (waits != waiting.end() && position.at(waits->second) <= position.at(found->second)) continue;
      result->AddControlPredecessor(reader);
    }
  }
  return true;
}

}  // namespace kiln::passes
