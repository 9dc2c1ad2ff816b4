#include "src/passes/update_in_place.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "src/hlo/builder.h"
#include "src/hlo/module.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {

using analysis::IndexPath;
using hlo::Instruction;
using hlo::Opcode;

namespace {

// Whether the old value outlives everything in its computation, so that updates work on a copy.
bool IsKept(const Instruction& value) {
  const hlo::Computation& computation = *value.parent();
  if (value.IsParameter() && &computation == computation.parent()->entry()) {
    const auto& aliases = computation.parent()->aliases();
    return std::none_of(aliases.begin(), aliases.end(), [&](const hlo::InputOutputAlias& alias) {
      return alias.parameter == value.parameter_number();
    });
  }
  return value.opcode() != Opcode::kConstant &&
         std::find(value.users().begin(), value.users().end(), computation.root()) != value.users().end() &&
         computation.root()->opcode() == Opcode::kTuple;
}

// Whether `slice` is what `update` overwrites.
bool IsWindowOf(const Instruction& update, const Instruction& slice) {
  if ((slice.opcode() != Opcode::kDynamicSlice && slice.opcode() != Opcode::kSlice) ||
      slice.operand(0) != update.operand(0) || !hlo::Shape::SameDimensions(slice.shape(), update.operand(1)->shape())) {
    return false;
  }
  for (int64_t d = 0; d < slice.shape().rank(); ++d) {
    const Instruction& start = *update.operand(d + 2);
    if (slice.opcode() == Opcode::kDynamicSlice) {
      if (slice.operand(d + 1) != &start) return false;
      continue;
    }
    const auto& attributes = slice.Get<hlo::SliceAttributes>();
    if (attributes.stride[d] != 1 || !start.IsConstant() ||
        !hlo::IsSplatOf(start.literal(), static_cast<double>(attributes.start[d]))) {
      return false;
    }
  }
  return true;
}

// Whether it is stored whatever else becomes of it: a result, or a loop's next state.
bool IsGiven(const Instruction& value) {
  return absl::c_any_of(value.users(),
                        [](const Instruction* user) { return user->opcode() == Opcode::kTuple && user->IsRoot(); });
}

// Whether what may be fused into `value` reads `written`: elements, other ones than `update` overwrites.
bool Reads(const Instruction& value, const Instruction& written, const Instruction* update = nullptr) {
  constexpr size_t kMaxValues = 64;
  std::vector<const Instruction*> values = {&value};
  for (size_t i = 0; i < values.size() && values.size() < kMaxValues; ++i) {
    if (i > 0 && IsGiven(*values[i])) continue;
    if (!analysis::IsLoopProducer(*values[i]) || (update != nullptr && IsWindowOf(*update, *values[i]))) continue;
    for (const Instruction* operand : values[i]->operands()) {
      if (SourceOf(operand) == &written) return true;
      if (!absl::c_linear_search(values, operand)) values.push_back(operand);
    }
  }
  return false;
}

// Whether `value` is read elsewhere as well, where it would be made of what `update` overwrites with it.
bool IsShared(const Instruction& value, const Instruction& update) {
  if (value.users().size() < 2 || update.opcode() != Opcode::kDynamicUpdateSlice || update.operand(1) != &value) {
    return false;
  }
  const Instruction* written = SourceOf(update.operand(0));
  return !IsKept(*written) && Reads(value, *written);
}

// Has parts of the operand of `update` that it leaves as they are read from its result, where it needs none of them.
void ReadBeside(Instruction* update) {
  Instruction* old = update->operands()[0];
  const std::optional<analysis::Box> box = analysis::UpdatedBox(*update);
  if (!box.has_value() || IsKept(*old) || analysis::IsMadeFromNothing(*old)) return;
  std::vector<Instruction*> slices;
  for (Instruction* user : old->users()) {
    if (user->opcode() == Opcode::kSlice) slices.push_back(user);
  }
  if (slices.empty()) return;
  // What it is made of, the nearest first: all or so much of it.
  constexpr size_t kMaxNeeded = 1 << 10;
  std::vector<const Instruction*> needed = {update};
  absl::flat_hash_set<const Instruction*> seen = {update, old};
  for (size_t i = 0; i < needed.size() && needed.size() < kMaxNeeded; ++i) {
    for (const Instruction* operand : needed[i]->operands()) {
      if (seen.insert(operand).second) needed.push_back(operand);
    }
  }
  if (needed.size() >= kMaxNeeded) return;
  for (Instruction* user : slices) {
    if (seen.contains(user)) continue;
    const auto& part = user->Get<hlo::SliceAttributes>();
    bool is_beside = false;
    for (size_t d = 0; d < part.start.size(); ++d) {
      is_beside |= part.limit[d] <= box->start[d] || part.start[d] >= box->start[d] + box->sizes[d];
    }
    if (is_beside) user->ReplaceOperand(0, update);
  }
}

// Whether `producer` is a small part of what `written` was before it was updated, which would have to be kept.
bool ReadsOlder(const Instruction& written, const Instruction& producer) {
  constexpr int64_t kMinKept = 8;
  constexpr int kMaxUpdates = 64;
  if (producer.opcode() != Opcode::kSlice) return false;
  const Instruction* older = &written;
  for (int i = 0; i < kMaxUpdates && older->opcode() == Opcode::kDynamicUpdateSlice; ++i) {
    older = SourceOf(older->operand(0));
    if (older == SourceOf(producer.operand(0))) {
      return !IsKept(*older) && producer.shape().element_count() * kMinKept <= older->shape().element_count();
    }
  }
  return false;
}

}  // namespace

bool IsSharedUpdate(const Instruction& value) {
  return absl::c_any_of(value.users(), [&](const Instruction* user) { return IsShared(value, *user); });
}

bool MayRunBesideUpdate(const Instruction& update, const Instruction& producer, const std::vector<IndexPath>& paths) {
  const Instruction* written = SourceOf(update.operand(0));
  const std::optional<analysis::Box> box = analysis::UpdatedBox(update);
  if (IsKept(*written) || (box.has_value() && analysis::UpdatesMost(*box, update.shape()))) return true;
  // What reads around the window is computed before, as one array and not as what it reads.
  if (&producer == update.operand(1) && Reads(producer, *written, &update)) return false;
  if (ReadsOlder(*written, producer)) return false;
  if (std::none_of(producer.operands().begin(), producer.operands().end(),
                   [&](const Instruction* operand) { return SourceOf(operand) == written; })) {
    return true;
  }
  if (!IsWindowOf(update, producer)) return false;
  const IndexPath at_update = analysis::PathOfOperand(update, 1, IndexPath{0, 0});
  return paths.size() == 1 && paths[0].map == at_update.map;
}

void ReadUpdatesBack(hlo::Computation* computation) {
  absl::flat_hash_set<const Instruction*> before;  // the update, which may depend on it
  bool leaves_dead = false;
  for (Instruction* update : computation->PostOrder()) {
    before.insert(update);
    if (update->opcode() == Opcode::kDynamicUpdateSlice) ReadBeside(update);
    if (update->operand_count() < 2 || !IsShared(*update->operand(1), *update)) continue;
    Instruction* value = update->operands()[1];
    const std::optional<analysis::Box> box = analysis::UpdatedBox(*update);
    if (!box.has_value()) continue;
    hlo::SliceAttributes window{box->start, box->start, hlo::DimensionVector(value->shape().rank(), 1)};
    for (size_t d = 0; d < box->sizes.size(); ++d) window.limit[d] += box->sizes[d];
    Instruction* slice = nullptr;
    const std::vector<Instruction*> users(value->users().begin(), value->users().end());
    for (Instruction* user : users) {
      if (before.contains(user)) continue;
      if (user->opcode() == Opcode::kSlice) {
        hlo::SliceAttributes part = user->Get<hlo::SliceAttributes>();
        for (size_t d = 0; d < part.start.size(); ++d) {
          part.start[d] += window.start[d];
          part.limit[d] += window.start[d];
        }
        user->ReplaceAllUsesWith(hlo::Builder(computation, update).Slice(update, part));
        leaves_dead = true;
        continue;
      }
      if (!hlo::IsElementwise(user->opcode())) continue;
      if (slice == nullptr) slice = hlo::Builder(computation, update).Slice(update, window);
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (user->operand(i) == value) user->ReplaceOperand(i, slice);
      }
    }
  }
  if (leaves_dead) computation->RemoveDeadInstructions();
}

}  // namespace kiln::passes
