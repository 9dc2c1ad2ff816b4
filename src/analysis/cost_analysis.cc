#include "src/analysis/cost_analysis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/analysis/arithmetic_cost.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/while_loop.h"

namespace kiln::analysis {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

namespace {

double Bytes(const Shape& shape) { return static_cast<double>(shape.byte_count()); }

// Names of other values, and values that are there before the program runs.
bool MovesNothing(Opcode opcode) {
  return RunsNoCode(opcode) && opcode != Opcode::kReshape && opcode != Opcode::kCopy;
}

// What is read of operand `index`.
double BytesRead(const Instruction& user, int64_t index) {
  const double whole = Bytes(user.operand(index)->shape());
  switch (user.opcode()) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      return index == 0 ? std::min(whole, Bytes(user.shape())) : whole;
    case Opcode::kDynamicUpdateSlice:
      return index == 0 ? 0.0 : whole;
    case Opcode::kScatter: {
      // Each element that is updated is read before.
      const int64_t inputs = (user.operand_count() - 1) / 2;
      return index < inputs ? std::min(whole, Bytes(user.operand(index + inputs + 1)->shape())) : whole;
    }
    default:
      return whole;
  }
}

// What is written; where an array is updated in place, the part that changes.
double BytesWritten(const Instruction& instruction) {
  const double whole = Bytes(instruction.shape());
  if (instruction.opcode() == Opcode::kDynamicUpdateSlice) {
    return std::min(whole, Bytes(instruction.operand(1)->shape()));
  }
  if (instruction.opcode() == Opcode::kScatter) {
    double updates = 0;
    for (int64_t i = (instruction.operand_count() - 1) / 2 + 1; i < instruction.operand_count(); ++i) {
      updates += Bytes(instruction.operand(i)->shape());
    }
    return std::min(whole, updates);
  }
  return whole;
}

// What a fusion reads of a parameter: slices of it, or all as soon as one user wants more.
double BytesReadInside(const Instruction& parameter) {
  const double whole = Bytes(parameter.shape());
  double read = 0;
  std::vector<const Instruction*> work = {&parameter};
  for (size_t done = 0; done < work.size() && read < whole; ++done) {
    if (done > 1000) return whole;
    for (const Instruction* user : work[done]->users()) {
      if (user->opcode() == Opcode::kBitcast || (user->opcode() == Opcode::kReshape && !user->IsRoot())) {
        work.push_back(user);
        continue;
      }
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (user->operand(i) == work[done]) read += BytesRead(*user, i);
      }
    }
    if (work[done]->IsRoot()) return whole;
  }
  return std::min(read, whole);
}

void Resize(std::vector<double>* values, size_t size) {
  if (values->size() < size) values->resize(size, 0.0);
}

template <typename Combine>
void Merge(Cost* cost, const Cost& other, Combine combine) {
  const auto lists = {std::pair(&cost->operand_bytes, &other.operand_bytes),
                      std::pair(&cost->operand_utilization, &other.operand_utilization),
                      std::pair(&cost->leaf_bytes, &other.leaf_bytes)};
  for (const auto& [mine, theirs] : lists) {
    Resize(mine, theirs->size());
    for (size_t i = 0; i < theirs->size(); ++i) combine(&(*mine)[i], (*theirs)[i]);
  }
  combine(&cost->flops, other.flops);
  combine(&cost->transcendentals, other.transcendentals);
  combine(&cost->bytes, other.bytes);
  combine(&cost->output_bytes, other.output_bytes);
  combine(&cost->optimal_seconds, other.optimal_seconds);
}

}  // namespace

void Cost::Add(const Cost& other, double times) {
  Merge(this, other, [times](double* mine, double theirs) { *mine += times * theirs; });
}

void Cost::Max(const Cost& other) {
  Merge(this, other, [](double* mine, double theirs) { *mine = std::max(*mine, theirs); });
}

double MachineRates::Seconds(double flops, double transcendentals, double bytes) const {
  return std::max(flops / flops_per_second + transcendentals / transcendentals_per_second, bytes / bytes_per_second) +
         seconds_per_launch;
}

const Cost& CostAnalysis::Of(const Instruction& instruction) {
  auto found = instructions_.find(&instruction);
  if (found != instructions_.end()) return found->second;
  Cost cost = Compute(instruction);  // which may insert others
  return instructions_[&instruction] = std::move(cost);
}

const Cost& CostAnalysis::Of(const Computation& computation) {
  auto found = computations_.find(&computation);
  if (found != computations_.end()) return found->second;
  Cost sum;
  for (const Instruction* instruction : computation.instructions()) sum.Add(Of(*instruction));
  return computations_[&computation] = std::move(sum);
}

Cost CostAnalysis::Compute(const Instruction& instruction) {
  Cost cost;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kWhile) {
    for (const Computation* callee : instruction.called_computations()) cost.Add(Of(*callee));
    const double trips = static_cast<double>(KnownTripCount(instruction).value_or(1));
    Cost all;
    all.Add(cost, trips);
    return all;
  }
  if (opcode == Opcode::kConditional) {
    for (const Computation* callee : instruction.called_computations()) cost.Max(Of(*callee));
    return cost;
  }
  if (opcode == Opcode::kCall || opcode == Opcode::kAsyncStart) {
    for (const Computation* callee : instruction.called_computations()) cost.Add(Of(*callee));
    return cost;
  }
  if (MovesNothing(opcode)) return cost;
  const bool is_fusion = opcode == Opcode::kFusion;
  const Computation* body = is_fusion ? instruction.called_computation() : nullptr;
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const double read = is_fusion ? BytesReadInside(*body->parameter(i)) : BytesRead(instruction, i);
    const double whole = Bytes(instruction.operand(i)->shape());
    cost.operand_bytes.push_back(read);
    cost.operand_utilization.push_back(whole > 0 ? read / whole : 1.0);
    cost.bytes += read;
  }
  cost.output_bytes = BytesWritten(instruction);
  if (is_fusion) {
    const Instruction* root = body->root();
    cost.output_bytes = 0;
    if (root->opcode() == Opcode::kTuple) {
      for (const Instruction* element : root->operands()) cost.leaf_bytes.push_back(BytesWritten(*element));
      for (double leaf : cost.leaf_bytes) cost.output_bytes += leaf;
    } else {
      cost.output_bytes = BytesWritten(*root);
    }
    for (const Instruction* inner : body->instructions()) {
      if (inner->opcode() == Opcode::kFusion) {
        const Cost& nested = Of(*inner);
        cost.flops += nested.flops;
        cost.transcendentals += nested.transcendentals;
        continue;
      }
      const Arithmetic one = ArithmeticOf(*inner);
      cost.flops += one.flops;
      cost.transcendentals += one.transcendentals;
    }
  } else {
    if (instruction.shape().IsTuple()) {
      for (const Shape* leaf : instruction.shape().Leaves()) cost.leaf_bytes.push_back(Bytes(*leaf));
    }
    const Arithmetic one = ArithmeticOf(instruction);
    cost.flops = one.flops;
    cost.transcendentals = one.transcendentals;
  }
  cost.bytes += cost.output_bytes;
  cost.optimal_seconds = rates_.Seconds(cost.flops, cost.transcendentals, cost.bytes);
  return cost;
}

std::vector<std::pair<std::string, double>> CostProperties(const Cost& cost) {
  std::vector<std::pair<std::string, double>> properties = {{"flops", cost.flops}, {"bytes accessed", cost.bytes}};
  const auto add = [&](std::string name, double value) {
    if (value != 0) properties.emplace_back(std::move(name), value);
  };
  add("transcendentals", cost.transcendentals);
  add("optimal_seconds", cost.optimal_seconds);
  for (size_t i = 0; i < cost.operand_bytes.size(); ++i) {
    add(absl::StrCat("bytes accessed", i, "{}"), cost.operand_bytes[i]);
    add(absl::StrCat("utilization", i, "{}"), cost.operand_utilization[i]);
  }
  add("bytes accessedout{}", cost.output_bytes);
  for (size_t i = 0; i < cost.leaf_bytes.size(); ++i) {
    add(absl::StrCat("bytes accessedout{", i, "}"), cost.leaf_bytes[i]);
  }
  return properties;
}

}  // namespace kiln::analysis
