#include "src/passes/reader_recomputation.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/attention.h"
#include "src/analysis/cost_analysis.h"
#include "src/analysis/fusion_costs.h"
#include "src/analysis/fusion_model.h"
#include "src/base/cpu_tuning.h"
#include "src/base/status.h"
#include "src/passes/broadcast_sinking.h"
#include "src/passes/fusion_body.h"
#include "src/passes/live_values.h"

namespace kiln::passes {
namespace {

// Each round looks at the whole computation once and takes all that it can from its peak.
constexpr int kMaxPeaks = 6;
constexpr int64_t kMinBytes = int64_t{64} << 10;
constexpr double kMaxAddedTime = 1.0 / 20;
constexpr size_t kMaxSteps = 12, kMaxReaders = 4;
constexpr int64_t kMaxReaderOps = 120, kMaxReaderOperands = 32;

// Whether the elements of `value`, in a fusion, are read at their own places alone, until they are summed or given back.
bool IsReadElementwise(const Instruction& value) {
  std::vector<const Instruction*> same_place = {&value};
  absl::flat_hash_set<const Instruction*> seen = {&value};
  for (size_t i = 0; i < same_place.size(); ++i) {
    for (const Instruction* user : same_place[i]->users()) {
      if (user->opcode() == Opcode::kReduce && user->operand(0) == same_place[i]) continue;
      if (user->opcode() == Opcode::kTuple && user->IsRoot()) continue;
      if (!analysis::IsElementwiseLike(*user) || !Shape::SameDimensions(user->shape(), value.shape())) return false;
      if (seen.insert(user).second) same_place.push_back(user);
    }
  }
  return true;
}

hlo::FusionKind KindOf(const Instruction& fusion) { return fusion.Get<hlo::FusionAttributes>().kind; }

// What an element of `value` is computed by; nothing where that is more than a few steps at its own place.
std::optional<std::vector<const Instruction*>> StepsOf(const Instruction& value) {
  const Instruction& producer = ProducerOf(value);
  if (producer.opcode() != Opcode::kFusion) {
    if (!analysis::IsElementwiseLike(producer)) return std::nullopt;
    return std::vector<const Instruction*>{&producer};
  }
  const Instruction* root = producer.called_computation()->root();
  std::vector<const Instruction*> steps = {IsPart(value) ? root->operand(value.tuple_index()) : root};
  for (size_t i = 0; i < steps.size(); ++i) {
    const Instruction& step = *steps[i];
    const bool is_index = step.IsParameter() || analysis::IsMadeFromNothing(step);
    if (!is_index && step.opcode() != Opcode::kBroadcast && !analysis::IsElementwiseLike(step)) return std::nullopt;
    for (const Instruction* operand : step.operands()) {
      if (!absl::c_linear_search(steps, operand)) steps.push_back(operand);
    }
    if (steps.size() > kMaxSteps) return std::nullopt;
  }
  return steps;
}

// Of one computation in its order.
class Recomputation {
 public:
  Recomputation(Computation* computation, const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks,
                absl::flat_hash_map<const Computation*, int>* calls)
      : computation_(computation), inner_peaks_(inner_peaks), calls_(*calls) {}

  // The peak that is left.
  int64_t Run(bool* changed) {
    int64_t peak = 0;
    std::optional<double> nanoseconds;  // that may be added
    for (int round = 0; round < kMaxPeaks; ++round) {
      const std::vector<Instruction*> order = computation_->instructions();
      const LiveValues live(order, inner_peaks_);
      peak = live.peak();
      if (peak < kMinBytes) break;
      const std::vector<Candidate> candidates = CandidatesOf(order, live);
      if (candidates.empty()) break;
      if (!nanoseconds.has_value()) {
        nanoseconds = kMaxAddedTime * 1e9 * analysis::CostAnalysis().Of(*computation_).optimal_seconds;
      }
      if (!Take(candidates, order, &*nanoseconds)) break;
      *changed = true;
    }
    return peak;
  }

 private:
  struct Candidate {
    Instruction* value;
    std::vector<Instruction*> readers;  // at the peak and behind it
    double nanoseconds = 0;             // that computing it there takes longer than reading it
  };

  std::vector<Candidate> CandidatesOf(const std::vector<Instruction*>& order, const LiveValues& live) const {
    absl::flat_hash_set<const Instruction*> awaited;
    for (const Instruction* instruction : order) {
      awaited.insert(instruction->control_predecessors().begin(), instruction->control_predecessors().end());
    }
    std::vector<Candidate> candidates;
    const size_t peak_step = live.peak_step();
    for (Instruction* value : order) {
      if (!IsHeld(*value) || value->shape().byte_count() < kMinBytes || live.StepOf(&ProducerOf(*value)) > peak_step ||
          live.LastRead(value) < peak_step || awaited.contains(&ProducerOf(*value)) || !IsComputedByElement(*value)) {
        continue;
      }
      Candidate candidate = {value};
      bool is_read_before = false, is_viewed = false;
      for (Instruction* user : value->users()) {
        if (live.StepOf(user) < peak_step) {
          is_read_before = true;
          is_viewed |= user->opcode() != Opcode::kFusion && live.LastRead(user) >= peak_step;
        } else if (!absl::c_linear_search(candidate.readers, user)) {
          candidate.readers.push_back(user);
        }
      }
      if (candidate.readers.empty() || candidate.readers.size() > kMaxReaders || is_viewed || value->IsRoot()) continue;
      if (!absl::c_all_of(candidate.readers, [&](const Instruction* reader) {
            return MayCompute(*reader, *value) && OperandsAreThere(*value, live, live.StepOf(reader));
          })) {
        continue;
      }
      const std::optional<double> added = AddedNanoseconds(candidate, is_read_before);
      if (!added.has_value()) continue;
      candidate.nanoseconds = *added;
      candidates.push_back(std::move(candidate));
    }
    absl::c_stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
      return a.nanoseconds * static_cast<double>(b.value->shape().byte_count()) <
             b.nanoseconds * static_cast<double>(a.value->shape().byte_count());
    });
    return candidates;
  }

  static bool OperandsAreThere(const Instruction& value, const LiveValues& live, size_t step) {
    return absl::c_all_of(ProducerOf(value).operands(),
                          [&](const Instruction* operand) { return live.IsThereAt(operand, step); });
  }

  static bool MayCompute(const Instruction& reader, const Instruction& value) {
    if (reader.opcode() != Opcode::kFusion ||
        reader.operand_count() + ProducerOf(value).operand_count() > kMaxReaderOperands ||
        reader.called_computation()->instruction_count() > kMaxReaderOps) {
      return false;
    }
    const Computation& body = *reader.called_computation();
    const bool is_chain = KindOf(reader) == hlo::FusionKind::kCustom;
    if (is_chain && analysis::FindAttention(reader) != nullptr) return false;
    for (int64_t i = 0; i < reader.operand_count(); ++i) {
      if (reader.operand(i) != &value) continue;
      const Instruction& parameter = *body.parameter(i);
      if (!is_chain && (parameter.users().empty() || !IsReadElementwise(parameter))) return false;
      if (is_chain && !absl::c_all_of(parameter.users(), [&](const Instruction* step) {
            return step->opcode() == Opcode::kFusion && KindOf(*step) != hlo::FusionKind::kCustom &&
                   IsReadByStep(*step, parameter);
          })) {
        return false;
      }
    }
    return true;
  }

  static bool IsReadByStep(const Instruction& step, const Instruction& value) {
    for (int64_t i = 0; i < step.operand_count(); ++i) {
      if (step.operand(i) == &value && !IsReadElementwise(*step.called_computation()->parameter(i))) return false;
    }
    return true;
  }

  static std::optional<double> AddedNanoseconds(const Candidate& candidate, bool is_read_before) {
    const Instruction& value = *candidate.value;
    const std::optional<std::vector<const Instruction*>> steps = StepsOf(value);
    if (!steps.has_value()) return std::nullopt;
    const FusionCosts& costs = Tuning().fusion;
    const auto readers = static_cast<double>(candidate.readers.size());
    const auto elements = static_cast<double>(value.shape().element_count());
    double evaluation = 0;
    for (const Instruction* step : *steps) {
      if (step->IsParameter() || analysis::IsMadeFromNothing(*step)) continue;
      evaluation += analysis::EvaluationNanoseconds(costs, *step, elements);
    }
    double bytes = -static_cast<double>(value.shape().byte_count()) * (readers + (is_read_before ? 0 : 1));
    for (const Instruction* reader : candidate.readers) {
      for (const Instruction* operand : ProducerOf(value).operands()) {
        if (!absl::c_linear_search(reader->operands(), operand)) bytes += operand->shape().byte_count();
      }
    }
    const double rate =
        elements * 4 <= costs.cached_bytes ? costs.cached_bytes_per_nanosecond : costs.bytes_per_nanosecond;
    return evaluation * readers + bytes / rate;
  }

  // False where there is no time for any.
  bool Take(const std::vector<Candidate>& candidates, const std::vector<Instruction*>& order, double* nanoseconds) {
    absl::flat_hash_map<const Instruction*, size_t> step;
    for (size_t i = 0; i < order.size(); ++i) step[order[i]] = i;
    absl::flat_hash_set<const Instruction*> needed, taken;  // by what is taken, and taken themselves
    bool changed = false;
    for (const Candidate& candidate : candidates) {
      const Instruction& producer = ProducerOf(*candidate.value);
      const bool is_taken_apart = absl::c_any_of(producer.operands(), [&](const Instruction* operand) {
        return taken.contains(HeldSourceOf(operand));
      });
      if (candidate.nanoseconds > *nanoseconds || needed.contains(candidate.value) || is_taken_apart) continue;
      *nanoseconds -= std::max(0.0, candidate.nanoseconds);
      for (const Instruction* operand : producer.operands()) needed.insert(HeldSourceOf(operand));
      taken.insert(candidate.value);
      for (Instruction* reader : candidate.readers) ComputeIn(*candidate.value, reader);
      changed = true;
    }
    if (!changed) return false;
    for (const Instruction* value : taken) {
      if (value->users().empty() && IsPart(*value)) DropUnreadResults(value->operand(0), &step);
    }
    computation_->RemoveDeadInstructions();
    std::vector<Instruction*> left = computation_->instructions();
    absl::c_stable_sort(left, [&](const Instruction* a, const Instruction* b) { return step.at(a) < step.at(b); });
    computation_->SetOrder(left);
    return true;
  }

  // The body of `fusion`, for it alone.
  Computation* OwnBody(Instruction* fusion) {
    Computation* body = fusion->called_computation();
    int& calls = calls_[body];
    if (calls <= 1) return body;
    --calls;
    body = body->parent()->AddClone(*body);
    calls_[body] = 1;
    fusion->set_called_computation(0, body);
    return body;
  }

  void ComputeIn(const Instruction& value, Instruction* reader) {
    Instruction* copy = AddCopyOf(value);
    // What is sunk takes the place of its own uses.
    for (int64_t i = 0; i < reader->operand_count(); ++i) {
      if (reader->operand(i) == &value) reader->ReplaceOperand(i, copy);
    }
    Computation* body = OwnBody(reader);
    if (KindOf(*reader) == hlo::FusionKind::kCustom) {
      ComputeInSteps(*copy, reader, body);
    } else {
      SinkInto(*copy, reader);
    }
    computation_->Remove(copy);
  }

  // Of a chain: in each step that reads it.
  void ComputeInSteps(const Instruction& copy, Instruction* chain, Computation* body) {
    std::vector<Instruction*> operands(chain->operands().begin(), chain->operands().end());
    std::vector<Instruction*> inputs;
    for (Instruction* operand : copy.operands()) {
      const auto found = absl::c_find(operands, operand);
      inputs.push_back(found != operands.end() ? body->parameter(found - operands.begin())
                                               : body->AddParameter(body->parameter_count(), operand->shape()));
      if (found == operands.end()) operands.push_back(operand);
    }
    Instruction* inside = body->AddClone(copy, std::move(inputs));
    for (size_t i = operands.size(); i-- > 0;) {
      if (operands[i] != &copy) continue;
      Instruction* parameter = body->parameter(static_cast<int64_t>(i));
      const std::vector<Instruction*> steps(parameter->users().begin(), parameter->users().end());
      parameter->ReplaceAllUsesWith(inside);
      for (Instruction* step : steps) {
        OwnBody(step);
        SinkInto(*inside, step);
      }
      body->RemoveParameter(static_cast<int64_t>(i));
      operands.erase(operands.begin() + static_cast<int64_t>(i));
    }
    body->Remove(inside);
    body->SetOrder(body->PostOrder());
    chain->ReplaceAllOperands(std::move(operands));
  }

  // Puts a fusion of the results that something reads in the place of `fusion`.
  void DropUnreadResults(Instruction* fusion, absl::flat_hash_map<const Instruction*, size_t>* step) {
    std::vector<Instruction*> parts, outputs;
    for (Instruction* part : fusion->users()) {
      if (!part->users().empty()) parts.push_back(part);
    }
    if (parts.empty()) return;
    Computation* body = computation_->parent()->AddClone(*fusion->called_computation());
    absl::c_sort(parts, [](const auto* a, const auto* b) { return a->tuple_index() < b->tuple_index(); });
    for (const Instruction* part : parts) outputs.push_back(body->root()->operand(part->tuple_index()));
    body->set_root(parts.size() == 1 ? outputs[0] : Builder(body, body->root()).Tuple(outputs));
    body->RemoveDeadInstructions();
    std::vector<Instruction*> operands(fusion->operands().begin(), fusion->operands().end());
    DropUnreadOperands(body, &operands);
    Instruction* smaller = computation_->Add(Opcode::kFusion, body->root()->shape(), std::move(operands),
                                             fusion->attributes(), {body}, fusion->name());
    calls_[body] = 1;
    smaller->CopyMetadataFrom(*fusion);
    (*step)[smaller] = step->at(fusion);
    for (size_t i = 0; i < parts.size(); ++i) {
      Instruction* part = smaller;
      if (parts.size() > 1) {
        part = Builder(computation_, parts[i]).GetTupleElement(smaller, static_cast<int64_t>(i));
        (*step)[part] = step->at(parts[i]);
      }
      parts[i]->ReplaceAllUsesWith(part);
    }
  }

  Computation* computation_;
  const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks_;
  absl::flat_hash_map<const Computation*, int>& calls_;  // of bodies of fusions
};

}  // namespace

absl::StatusOr<bool> RecomputeInReaders(Module* module) {
  if (!module->is_scheduled()) return FailedPrecondition("reader-recomputation works on a scheduled module");
  absl::flat_hash_map<const Computation*, int> calls = CallsOfBodies(*module);
  const std::vector<Computation*> control = ControlComputations(*module);
  const absl::flat_hash_set<const Computation*> run_one_by_one(control.begin(), control.end());
  absl::flat_hash_map<const Computation*, int64_t> peaks;
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (!run_one_by_one.contains(computation)) continue;
    peaks[computation] = Recomputation(computation, peaks, &calls).Run(&changed);
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
