#include "src/analysis/while_loop.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "src/analysis/structure.h"
#include "src/hlo/evaluator.h"

namespace kiln::analysis {
namespace {

using hlo::ComparisonDirection;
using hlo::Computation;
using hlo::Instruction;
using hlo::Literal;
using hlo::Opcode;
using hlo::PrimitiveType;

// Bounds on running a condition ahead of time.
constexpr size_t kMaxSlice = 32;
constexpr int64_t kMaxRounds = 128;

// The loop's state by element; state that is no tuple is its own only element.
class State {
 public:
  explicit State(const Instruction& loop)
      : init_(*loop.operand(0)), body_(*loop.called_computation(0)), is_tuple_(loop.shape().IsTuple()) {}

  // The element that `instruction` of body or condition reads, or -1.
  int64_t ElementRead(const Instruction& instruction) const {
    if (!is_tuple_) return instruction.IsParameter() ? 0 : -1;
    return instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0)->IsParameter()
               ? instruction.tuple_index()
               : -1;
  }
  const Instruction* Init(int64_t element) const { return Element(init_, element); }
  const Instruction* Next(int64_t element) const { return Element(*body_.root(), element); }
  bool IsInvariant(int64_t element) const {
    const Instruction* next = Next(element);
    return next != nullptr && ElementRead(*next) == element;
  }

 private:
  const Instruction* Element(const Instruction& value, int64_t element) const {
    if (!is_tuple_) return &value;
    return value.opcode() == Opcode::kTuple ? value.operand(element) : nullptr;
  }

  const Instruction& init_;
  const Computation& body_;
  bool is_tuple_;
};

std::optional<int64_t> IntegerConstant(const Instruction* instruction) {
  if (instruction == nullptr || !instruction->IsConstant() || !instruction->shape().IsScalar()) return std::nullopt;
  const PrimitiveType type = instruction->shape().element_type();
  if (!hlo::IsIntegral(type)) return std::nullopt;
  const int64_t value = hlo::ElementAsInt64(instruction->literal(), 0);
  if (hlo::IsUnsignedIntegral(type) && value < 0) return std::nullopt;  // past the range of int64
  return value;
}

// The value that `instruction` of body or condition has in every round, if it is a known integer.
std::optional<int64_t> FixedInteger(const State& state, const Instruction& instruction) {
  const int64_t element = state.ElementRead(instruction);
  if (element < 0) return IntegerConstant(&instruction);
  return state.IsInvariant(element) ? IntegerConstant(state.Init(element)) : std::nullopt;
}

// What `next` adds to `element` in a round.
std::optional<int64_t> Step(const State& state, int64_t element, const Instruction* next) {
  if (next == nullptr || (next->opcode() != Opcode::kAdd && next->opcode() != Opcode::kSubtract)) return std::nullopt;
  const bool subtracts = next->opcode() == Opcode::kSubtract;
  if (state.ElementRead(*next->operand(0)) == element) {
    std::optional<int64_t> step = FixedInteger(state, *next->operand(1));
    if (!step || *step == INT64_MIN) return std::nullopt;
    return subtracts ? -*step : *step;
  }
  if (subtracts || state.ElementRead(*next->operand(1)) != element) return std::nullopt;
  return FixedInteger(state, *next->operand(0));
}

bool MayRunAhead(const Instruction& instruction) {
  return instruction.shape().IsScalar() && (instruction.IsConstant() || hlo::IsElementwise(instruction.opcode())) &&
         instruction.control_predecessors().empty();
}

// Runs what the condition depends on: scalars that start from constants.
class Rehearsal {
 public:
  explicit Rehearsal(const Instruction& loop)
      : state_(loop), body_(*loop.called_computation(0)), condition_(*loop.called_computation(1)) {}

  std::optional<int64_t> Run() {
    if (!Collect()) return std::nullopt;
    std::vector<const Instruction*> body_order, condition_order;
    for (const Instruction* instruction : body_.PostOrder()) {
      if (slice_.contains(instruction)) body_order.push_back(instruction);
    }
    for (const Instruction* instruction : condition_.PostOrder()) {
      if (slice_.contains(instruction)) condition_order.push_back(instruction);
    }
    for (int64_t round = 0; round <= kMaxRounds; ++round) {
      if (!Evaluate(condition_order)) return std::nullopt;
      if (hlo::IsSplatOf(values_.at(condition_.root()), 0)) return round;
      if (!Evaluate(body_order)) return std::nullopt;
      absl::flat_hash_map<int64_t, Literal> next;
      for (const auto& [element, value] : elements_) next[element] = values_.at(state_.Next(element));
      elements_ = std::move(next);
    }
    return std::nullopt;
  }

 private:
  bool Collect() {
    std::vector<const Instruction*> work = {condition_.root()};
    slice_.insert(condition_.root());
    auto need = [&](const Instruction* instruction) {
      if (slice_.insert(instruction).second) work.push_back(instruction);
    };
    while (!work.empty()) {
      if (slice_.size() > kMaxSlice) return false;
      const Instruction* instruction = work.back();
      work.pop_back();
      const int64_t element = state_.ElementRead(*instruction);
      if (element >= 0) {
        const Instruction *init = state_.Init(element), *next = state_.Next(element);
        if (init == nullptr || next == nullptr || !init->IsConstant() || !init->shape().IsScalar()) return false;
        if (elements_.try_emplace(element, init->literal()).second) need(next);
        continue;
      }
      if (!MayRunAhead(*instruction)) return false;
      for (const Instruction* operand : instruction->operands()) need(operand);
    }
    return true;
  }

  bool Evaluate(const std::vector<const Instruction*>& order) {
    for (const Instruction* instruction : order) {
      const int64_t element = state_.ElementRead(*instruction);
      if (element >= 0) {
        values_[instruction] = elements_.at(element);
        continue;
      }
      std::vector<Literal> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(values_.at(operand));
      absl::StatusOr<Literal> value = hlo::EvaluateInstruction(*instruction, operands);
      if (!value.ok()) return false;
      values_[instruction] = *std::move(value);
    }
    return true;
  }

  State state_;
  const Computation& body_;
  const Computation& condition_;
  absl::flat_hash_set<const Instruction*> slice_;
  absl::flat_hash_map<int64_t, Literal> elements_;
  absl::flat_hash_map<const Instruction*, Literal> values_;
};

// Rounds of a counter of `type`; nothing when it would wrap around or never ends.
std::optional<int64_t> Rounds(const LoopCounter& counter, PrimitiveType type) {
  using Wide = absl::int128;
  const int bits = hlo::BitWidth(type);
  const bool is_signed = hlo::IsSignedIntegral(type);
  Wide init = counter.init, step = counter.step, bound = counter.bound;
  Wide lowest = is_signed ? -(Wide(1) << (bits - 1)) : Wide(0);
  Wide highest = (Wide(1) << (is_signed ? bits - 1 : bits)) - 1;
  ComparisonDirection direction = counter.direction;
  if (direction == ComparisonDirection::kEq) {
    if (init != bound) return 0;
    return step == 0 ? std::nullopt : std::optional<int64_t>(1);
  }
  if (direction == ComparisonDirection::kNe) {
    if (init == bound) return 0;
    if (step == 0 || (bound - init) % step != 0 || (bound - init) / step < 0) return std::nullopt;
    return static_cast<int64_t>((bound - init) / step);
  }
  if (direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe) {
    init = -init, step = -step, bound = -bound;
    std::swap(lowest, highest);
    lowest = -lowest, highest = -highest;
    direction = Mirrored(direction);
  }
  if (direction == ComparisonDirection::kLe) bound += 1;
  if (init >= bound) return 0;
  if (step <= 0) return std::nullopt;
  const Wide rounds = (bound - init + step - 1) / step;
  if (init + rounds * step > highest || rounds > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(rounds);
}

}  // namespace

std::optional<LoopCounter> FindLoopCounter(const Instruction& loop) {
  const State state(loop);
  const Instruction& root = *loop.called_computation(1)->root();
  if (root.opcode() != Opcode::kCompare) return std::nullopt;
  LoopCounter counter;
  counter.direction = root.comparison().direction;
  const Instruction *counted = root.operand(0), *bound = root.operand(1);
  auto counts = [&](const Instruction& value) {
    const int64_t element = state.ElementRead(value);
    return element >= 0 && !state.IsInvariant(element);
  };
  if (!counts(*counted)) {
    std::swap(counted, bound);
    counter.direction = Mirrored(counter.direction);
  }
  const PrimitiveType type = counted->shape().element_type();
  if (!counts(*counted) || !hlo::IsIntegral(type)) return std::nullopt;
  const hlo::ComparisonType natural =
      hlo::IsSignedIntegral(type) ? hlo::ComparisonType::kSigned : hlo::ComparisonType::kUnsigned;
  if (root.comparison().type != hlo::ComparisonType::kDefault && root.comparison().type != natural) return std::nullopt;
  counter.element = state.ElementRead(*counted);
  const std::optional<int64_t> init = IntegerConstant(state.Init(counter.element));
  const std::optional<int64_t> step = Step(state, counter.element, state.Next(counter.element));
  const std::optional<int64_t> limit = FixedInteger(state, *bound);
  if (!init || !step || !limit) return std::nullopt;
  counter.init = *init, counter.step = *step, counter.bound = *limit;
  return counter;
}

std::optional<int64_t> DerivedTripCount(const Instruction& loop) {
  if (const std::optional<LoopCounter> counter = FindLoopCounter(loop)) {
    const hlo::Shape& shape = loop.shape();
    const PrimitiveType type = (shape.IsTuple() ? shape.tuple_shapes(counter->element) : shape).element_type();
    if (const std::optional<int64_t> rounds = Rounds(*counter, type)) return rounds;
  }
  return Rehearsal(loop).Run();
}

std::optional<int64_t> KnownTripCount(const Instruction& loop) {
  if (const std::optional<int64_t> derived = DerivedTripCount(loop)) return derived;
  absl::string_view config = loop.backend_config();
  constexpr absl::string_view kKey = "\"known_trip_count\"";
  const size_t key = config.find(kKey);
  if (key == absl::string_view::npos) return std::nullopt;
  config.remove_prefix(key + kKey.size());
  const size_t digits = config.find_first_of("0123456789}");
  if (digits == absl::string_view::npos) return std::nullopt;
  config = config.substr(digits, config.find_first_not_of("0123456789", digits) - digits);
  int64_t count = 0;
  return absl::SimpleAtoi(config, &count) ? std::optional<int64_t>(count) : std::nullopt;
}

std::vector<bool> InvariantState(const Instruction& loop) {
  const State state(loop);
  if (!loop.shape().IsTuple() || loop.called_computation(0)->root()->opcode() != Opcode::kTuple) return {};
  std::vector<bool> invariant(loop.shape().tuple_shapes().size());
  for (size_t i = 0; i < invariant.size(); ++i) invariant[i] = state.IsInvariant(static_cast<int64_t>(i));
  return invariant;
}

}  // namespace kiln::analysis
