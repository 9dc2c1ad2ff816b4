#include "src/passes/attention_sources.h"

#include <optional>
#include <vector>

#include "src/analysis/attention.h"
#include "src/analysis/fusion_costs.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/row_groups.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

using analysis::AttentionSource;

// Heads at least: of what is made for one, each thread has a part of its own.
constexpr int64_t kMinParts = 8;
// Bytes of such a part at most, beside what is packed of it.
constexpr int64_t kMaxPartBytes = int64_t{256} << 10;
// Threads that take blocks of one head each make its keys and values, and that is at most this part of what is done
// with the rows of scores.
constexpr double kMaxWork = 0.25;

int64_t OuterElements(const Shape& shape, int64_t dimension) {
  int64_t elements = 1;
  for (int64_t d = 0; d < dimension; ++d) elements *= shape.dimensions(d);
  return elements;
}

// Code that makes so many parts of an array one after the other, element by element or row by row.
bool MakesParts(const Instruction& value, int64_t parts) {
  if (!value.shape().IsArray() || !value.control_predecessors().empty()) return false;
  if (value.opcode() != Opcode::kFusion) return analysis::IsReduction(value) || analysis::IsElementwiseLike(value);
  if (value.Get<hlo::FusionAttributes>().kind == hlo::FusionKind::kCustom) return false;
  return absl::c_none_of(value.called_computation()->instructions(), [&](const Instruction* member) {
    switch (member->opcode()) {
      // Each piece has a loop of its own.
      case Opcode::kConcatenate:
        return OuterElements(member->shape(), member->dimensions()[0]) % parts != 0;
      case Opcode::kTranspose:
      case Opcode::kDot:
      case Opcode::kConvolution:
      case Opcode::kScatter:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kOptBarrier:
        return true;
      default:
        return false;
    }
  });
}

double WorkOf(const Instruction& value) {
  if (value.IsParameter() || !value.shape().IsArray()) return 0;
  const auto elements = static_cast<double>(value.shape().element_count());
  const bool reduces = value.opcode() == Opcode::kReduce;
  if (!reduces && value.opcode() != Opcode::kFusion) {
    return analysis::EvaluationNanoseconds(Tuning().fusion, value, elements);
  }
  double work = 0;
  for (const Instruction* member : value.called_computation()->instructions()) work += WorkOf(*member);
  return reduces ? work * static_cast<double>(value.operand(0)->shape().element_count()) : work;
}

bool IsReadBy(const Instruction& attention, const Instruction* value) {
  return absl::c_any_of(attention.operands(),
                        [&](const Instruction* operand) { return analysis::BehindViews(operand) == value; });
}

// Whether memory is saved when `kernel` runs as late as the attention: what it reads, and would be gone by then, is
// less than what it makes.
bool SavesMemory(const Instruction& kernel, const Instruction& attention) {
  int64_t kept = 0;
  for (const Instruction* operand : kernel.operands()) {
    const Instruction* source = analysis::BehindViews(operand);
    if (!source->IsParameter() && !source->IsConstant() && !IsReadBy(attention, source)) {
      kept += operand->shape().byte_count();
    }
  }
  return kept < kernel.shape().byte_count();
}

// What makes the source, and the reshapes behind it; nothing where it had better stay outside.
std::vector<const Instruction*> StepsOf(const Instruction& attention, const analysis::AttentionParts& parts,
                                        const analysis::Attention& description, AttentionSource source) {
  const Instruction* parameter = analysis::SourceIn(parts, description, source);
  if (parameter->users().size() != 1) return {};
  std::vector<const Instruction*> steps;
  for (const Instruction* at = attention.operand(parameter->parameter_number());; at = at->operand(0)) {
    if (at->IsRoot() || at->users().size() != 1) return {};
    steps.insert(steps.begin(), at);
    if (at->opcode() != Opcode::kReshape) break;
    if (!at->control_predecessors().empty()) return {};
  }
  const Instruction& kernel = *steps[0];
  const int64_t count = analysis::PartsOf(parts, description, source);
  if (count < kMinParts || !MakesParts(kernel, count) || !SavesMemory(kernel, attention) ||
      kernel.shape().byte_count() / count > kMaxPartBytes) {
    return {};
  }
  const bool is_shared = source != AttentionSource::kQuery;
  return is_shared && WorkOf(kernel) > kMaxWork * WorkOf(*parts.weights) ? std::vector<const Instruction*>() : steps;
}

bool FuseSourcesOf(Instruction* attention, const analysis::AttentionParts& parts) {
  const std::optional<analysis::Attention> description = analysis::DescribeAttention(parts);
  if (!description.has_value()) return false;
  std::vector<const Instruction*> members;
  for (AttentionSource source : {AttentionSource::kQuery, AttentionSource::kKey, AttentionSource::kValue}) {
    const std::vector<const Instruction*> steps = StepsOf(*attention, parts, *description, source);
    members.insert(members.end(), steps.begin(), steps.end());
  }
  if (members.empty()) return false;
  FusionBody body(attention->parent()->parent(), "attention_chain");
  for (const Instruction* member : members) body.AddWhole(*member);
  body.AddWhole(*attention);
  body.Finish({&attention, 1}, hlo::FusionKind::kCustom, "attention_chain_fusion");
  return true;
}

}  // namespace

absl::StatusOr<bool> FuseAttentionSources(Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) {
    if (!computation->MayContain(Opcode::kFusion)) continue;
    bool changed_here = false;
    for (Instruction* instruction : computation->PostOrder()) {
      const std::optional<analysis::AttentionParts> parts = analysis::FindAttentionParts(*instruction);
      if (parts.has_value()) changed_here |= FuseSourcesOf(instruction, *parts);
    }
    if (changed_here) computation->RemoveDeadInstructions();
    changed |= changed_here;
  }
  return changed;
}

}  // namespace kiln::passes
