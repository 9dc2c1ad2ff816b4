#include "src/passes/reduce_window_to_scan.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "src/analysis/combiner.h"
#include "src/hlo/evaluator.h"
#include "src/passes/array_formula.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// Columns of 4 to 12 numbers take 0.3 to 0.9 of the time. Windows along rows that combine by one operation are written
// out (kernel/body_reduction.cc): rows of 4 to 7 numbers would take 1.1 to 4 times as long, those of 8 half (Zen 3).
constexpr int64_t kMinScanSize = 4;
constexpr int64_t kMinRow = 8;

int64_t LeastSize(const Instruction& reduce, int64_t dimension) {
  const bool along_rows = dimension + 1 == reduce.operand(0)->shape().rank();
  const bool is_written_out = reduce.operand_count() == 2 && analysis::CombinerOpcode(*reduce.called_computation());
  return along_rows && is_written_out ? kMinRow : kMinScanSize;
}

// A dimension whose windows grow from nothing, or little, to all of it.
struct Scanned {
  int64_t dimension;
  bool reverse;       // windows end where the dimension does, instead of beginning there
  int64_t low, high;  // what comes before and behind the scan's results; less than 0: so many of them are left out
};

std::optional<Scanned> FindScanned(const Instruction& reduce) {
  const hlo::Window& window = reduce.Get<hlo::WindowAttributes>().window;
  const Shape& operand = reduce.operand(0)->shape();
  const Shape& result = reduce.shape().IsTuple() ? reduce.shape().tuple_shapes(0) : reduce.shape();
  std::optional<Scanned> scanned;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const hlo::WindowDimension& w = window[i];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1) return std::nullopt;
    if (w.size == 1) continue;  // padded behind, if it is
    const int64_t last = result.dimensions(i) - 1;
    if (scanned || std::min(operand.dimensions(i), last + 1) < LeastSize(reduce, i)) return std::nullopt;
    if (last <= w.padding_low && w.padding_high <= 0) {
      scanned = Scanned{i, false, w.padding_low - (w.size - 1), w.padding_high};
    } else if (last <= w.padding_high && w.padding_low <= 0) {
      scanned = Scanned{i, true, w.padding_low, w.padding_high - (w.size - 1)};
    } else {
      return std::nullopt;
    }
  }
  return scanned;
}

// Whether combining the initial values with themselves changes nothing, so that padding counts for nothing.
bool IsNeutralToItself(const Instruction& reduce) {
  const std::optional<Opcode> opcode = analysis::CombinerOpcode(*reduce.called_computation());
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum || opcode == Opcode::kAnd || opcode == Opcode::kOr) {
    return true;
  }
  const int64_t count = reduce.operand_count() / 2;
  std::vector<Literal> arguments;
  for (int side = 0; side < 2; ++side) {
    for (int64_t i = 0; i < count; ++i) {
      if (!reduce.operand(count + i)->IsConstant()) return false;
      arguments.push_back(reduce.operand(count + i)->literal());
    }
  }
  const absl::StatusOr<Literal> combined = hlo::Evaluate(*reduce.called_computation(), arguments, {});
  if (!combined.ok()) return false;
  for (int64_t i = 0; i < count; ++i) {
    const Literal& part = combined->shape().IsTuple() ? combined->elements()[i] : *combined;
    if (part.bytes() != arguments[i].bytes()) return false;
  }
  return true;
}

absl::StatusOr<Instruction*> ExpandToScan(Instruction* instruction) {
  const Computation& combiner = *instruction->called_computation();
  const std::optional<Scanned> scanned = FindScanned(*instruction);
  if (!scanned || !IsFormula(combiner) || !IsNeutralToItself(*instruction)) return nullptr;
  const auto [dimension, reverse, low, high] = *scanned;
  const int64_t count = instruction->operand_count() / 2;
  DimensionVector slice = instruction->operand(0)->shape().dimensions();
  slice.erase(slice.begin() + dimension);

  // (slices, carries) -> (combined, combined), in the order of the elements.
  Computation* body = instruction->parent()->parent()->AddComputation("scan");
  std::vector<Instruction*> slices, carries;
  for (int64_t i = 0; i < 2 * count; ++i) {
    const Shape shape(instruction->operand(i % count)->shape().element_type(), slice);
    (i < count ? slices : carries).push_back(body->AddParameter(i, shape));
  }
  Builder inside(body, instruction);
  std::vector<Instruction*> arguments = reverse ? slices : carries;
  const std::vector<Instruction*>& later = reverse ? carries : slices;
  arguments.insert(arguments.end(), later.begin(), later.end());
  ArrayFormula formula(&inside, slice, std::move(arguments));
  std::vector<Instruction*> combined;
  const Instruction* root = combiner.root();
  if (root->opcode() == Opcode::kTuple) {
    for (const Instruction* element : root->operands()) combined.push_back(formula.Of(element));
  } else {
    combined.push_back(formula.Of(root));
  }
  std::vector<Instruction*> results = combined;
  results.insert(results.end(), combined.begin(), combined.end());
  body->set_root(inside.Tuple(std::move(results)));

  Builder builder(instruction->parent(), instruction);
  std::vector<Instruction*> inputs, starts;
  for (int64_t i = 0; i < count; ++i) {
    inputs.push_back(instruction->operand(i));
    starts.push_back(builder.Broadcast(instruction->operand(count + i), slice, {}));
  }
  std::vector<Instruction*> whole = AddScan(&builder, std::move(inputs), starts, dimension, reverse, body);
  hlo::PadAttributes pad;
  for (const hlo::WindowDimension& w : instruction->Get<hlo::WindowAttributes>().window) {
    pad.low.push_back(w.padding_low);
    pad.high.push_back(w.padding_high);
    pad.interior.push_back(0);
  }
  pad.low[dimension] = low;
  pad.high[dimension] = high;
  const auto is_zero = [](int64_t size) { return size == 0; };
  for (int64_t i = 0; i < count && !(absl::c_all_of(pad.low, is_zero) && absl::c_all_of(pad.high, is_zero)); ++i) {
    const Shape& shape = instruction->shape().IsTuple() ? instruction->shape().tuple_shapes(i) : instruction->shape();
    whole[i] = builder.Add(Opcode::kPad, shape, {whole[i], instruction->operand(count + i)}, pad);
  }
  return instruction->shape().IsTuple() ? builder.Tuple(std::move(whole)) : whole[0];
}

}  // namespace

absl::StatusOr<bool> MakeWindowsScans(Module* module) {
  return ReplaceOps(module, {Opcode::kReduceWindow}, ExpandToScan);
}

}  // namespace kiln::passes
