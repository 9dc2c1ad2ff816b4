// reduce, reduce-window and select-and-scatter, over any computation of scalars.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {
namespace {

// Accumulators of all results of a reduction. Sums of floats are kept in the widest type and rounded at the end, so
// that the reference does not drift with the number of elements; all else is the computation, applied in row-major order.
class Accumulator {
 public:
  Accumulator(ScalarFunction* function, const Operands& inits) : function_(*function) {
    const PrimitiveType type = inits[0].shape().element_type();
    sums_ = inits.size() == 1 && function->IsBinary(Opcode::kAdd) && (IsFloating(type) || IsComplex(type));
    type_ = type;
    for (const Literal& init : inits) {
      inits_.push_back(init.bytes().data());
      widths_.push_back(ByteWidth(init.shape().element_type()));
    }
    arguments_.resize(2 * inits.size());
    results_.resize(inits.size());
  }

  // Starts at the initial values; `targets` is where the results go.
  void Start(absl::Span<std::byte* const> targets) {
    for (size_t i = 0; i < inits_.size(); ++i) {
      results_[i] = targets[i];
      std::memcpy(targets[i], inits_[i], widths_[i]);
    }
    if (sums_) {
      real_ = 0;
      imaginary_ = 0;
      AddValue(inits_[0]);
    }
  }

  absl::Status Add(absl::Span<const std::byte* const> elements) {
    if (sums_) {
      AddValue(elements[0]);
      return absl::OkStatus();
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      arguments_[i] = results_[i];
      arguments_[results_.size() + i] = elements[i];
    }
    return function_.Call(arguments_, results_);
  }

  void Finish() {
    if (!sums_) return;
    if (IsComplex(type_)) {
      const Complex value(static_cast<double>(real_), static_cast<double>(imaginary_));
      StoreElements(type_, &value, 1, results_[0]);
    } else {
      StoreReal(type_, real_, results_[0]);
    }
  }

 private:
  void AddValue(const std::byte* element) {
    if (IsComplex(type_)) {
      const Complex value = LoadElement<Complex>(type_, element);
      real_ += value.real();
      imaginary_ += value.imag();
    } else {
      real_ += LoadElement<double>(type_, element);
    }
  }

  ScalarFunction& function_;
  bool sums_ = false;
  PrimitiveType type_ = PrimitiveType::kInvalid;
  long double real_ = 0, imaginary_ = 0;
  std::vector<const std::byte*> inits_;
  std::vector<int> widths_;
  std::vector<const std::byte*> arguments_;
  std::vector<std::byte*> results_;
};

// Splits the operands of reduce and reduce-window and checks them against the computation.
struct Inputs {
  Operands arrays, inits;
  std::unique_ptr<ScalarFunction> function;
};

absl::StatusOr<Inputs> SplitInputs(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  Inputs inputs;
  const size_t count = operands.size() / 2;
  for (size_t i = 0; i < count; ++i) inputs.arrays.push_back(std::move(operands[i]));
  for (size_t i = 0; i < count; ++i) inputs.inits.push_back(std::move(operands[count + i]));
  KILN_ASSIGN_OR_RETURN(inputs.function, ScalarFunction::Create(evaluation, *instruction.called_computation()));
  return inputs;
}

// The result arrays, one per initial value.
absl::StatusOr<std::vector<Literal>> AllocateResults(Evaluation& evaluation, const Instruction& instruction) {
  std::vector<Literal> results;
  for (const Shape* leaf : instruction.shape().Leaves()) {
    KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(*leaf));
    results.push_back(std::move(result));
  }
  return results;
}

Literal Assemble(const Instruction& instruction, std::vector<Literal> results) {
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

absl::StatusOr<Literal> Reduce(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  KILN_ASSIGN_OR_RETURN(Inputs inputs, SplitInputs(evaluation, instruction, operands));
  const Shape& input_shape = inputs.arrays[0].shape();
  const DimensionVector strides = StridesOf(input_shape.dimensions());
  DimensionVector kept, kept_strides, reduced, reduced_strides;
  for (int64_t d = 0; d < input_shape.rank(); ++d) {
    const bool is_reduced =
        std::find(attributes.dimensions.begin(), attributes.dimensions.end(), d) != attributes.dimensions.end();
    (is_reduced ? reduced : kept).push_back(input_shape.dimensions(d));
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[d]);
  }
  KILN_ASSIGN_OR_RETURN(std::vector<Literal> results, AllocateResults(evaluation, instruction));
  const int64_t output_count = results[0].element_count();
  if (output_count == 0) return Assemble(instruction, std::move(results));
  KILN_RETURN_IF_ERROR(evaluation.Charge(input_shape.element_count()));
  const size_t count = inputs.arrays.size();
  std::vector<const std::byte*> arrays(count), elements(count);
  std::vector<std::byte*> out(count), targets(count);
  std::vector<int> widths(count), result_widths(count);
  for (size_t i = 0; i < count; ++i) {
    arrays[i] = inputs.arrays[i].bytes().data();
    out[i] = results[i].mutable_bytes().data();
    widths[i] = ByteWidth(inputs.arrays[i].shape().element_type());
    result_widths[i] = ByteWidth(results[i].shape().element_type());
  }
  Accumulator accumulator(inputs.function.get(), inputs.inits);
  DimensionVector kept_index(kept.size(), 0);
  for (int64_t output = 0; output < output_count; ++output) {
    int64_t base = 0;
    for (size_t d = 0; d < kept.size(); ++d) base += kept_index[d] * kept_strides[d];
    for (size_t i = 0; i < count; ++i) targets[i] = out[i] + output * result_widths[i];
    accumulator.Start(targets);
    if (input_shape.element_count() > 0) {
      DimensionVector index(reduced.size(), 0);
      do {
        int64_t at = base;
        for (size_t d = 0; d < reduced.size(); ++d) at += index[d] * reduced_strides[d];
        for (size_t i = 0; i < count; ++i) elements[i] = arrays[i] + at * widths[i];
        KILN_RETURN_IF_ERROR(accumulator.Add(elements));
      } while (NextIndex(reduced, &index));
    }
    accumulator.Finish();
    NextIndex(kept, &kept_index);
  }
  return Assemble(instruction, std::move(results));
}

absl::StatusOr<Literal> ReduceWindow(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<WindowAttributes>();
  KILN_ASSIGN_OR_RETURN(Inputs inputs, SplitInputs(evaluation, instruction, operands));
  const Shape& input_shape = inputs.arrays[0].shape();
  const Window& window = attributes.window;
  const absl::Span<const int64_t> input_dimensions = input_shape.dimensions();
  KILN_ASSIGN_OR_RETURN(std::vector<Literal> results, AllocateResults(evaluation, instruction));
  const DimensionVector output_dimensions = results[0].shape().dimensions();
  const int64_t output_count = results[0].element_count();
  if (output_count == 0) return Assemble(instruction, std::move(results));
  DimensionVector window_sizes;
  int64_t window_count = 1;
  for (const WindowDimension& w : window) {
    window_sizes.push_back(w.size);
    window_count = w.size > (int64_t{1} << 48) / window_count ? int64_t{1} << 48 : window_count * w.size;
  }
  const DimensionVector strides = StridesOf(input_dimensions);
  const size_t count = inputs.arrays.size();
  std::vector<const std::byte*> elements(count);
  std::vector<std::byte*> out(count), targets(count);
  for (size_t i = 0; i < count; ++i) out[i] = results[i].mutable_bytes().data();
  Accumulator accumulator(inputs.function.get(), inputs.inits);
  DimensionVector output_index(window.size(), 0);
  for (int64_t output = 0; output < output_count; ++output) {
    KILN_RETURN_IF_ERROR(evaluation.Charge(window_count));
    for (size_t i = 0; i < count; ++i) {
      targets[i] = out[i] + output * ByteWidth(results[i].shape().element_type());
    }
    accumulator.Start(targets);
    DimensionVector position(window.size(), 0);
    do {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; inside && d < window.size(); ++d) {
        const int64_t index = WindowPosition(window[d], input_dimensions[d], output_index[d], position[d]);
        inside = index >= 0;
        at += index * strides[d];
      }
      if (!inside) continue;
      for (size_t i = 0; i < count; ++i) {
        elements[i] = inputs.arrays[i].bytes().data() + at * ByteWidth(inputs.arrays[i].shape().element_type());
      }
      KILN_RETURN_IF_ERROR(accumulator.Add(elements));
    } while (NextIndex(window_sizes, &position));
    accumulator.Finish();
    NextIndex(output_dimensions, &output_index);
  }
  return Assemble(instruction, std::move(results));
}

absl::StatusOr<Literal> SelectAndScatter(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<WindowAttributes>();
  const Literal& operand = operands[0];
  const Literal& source = operands[1];
  const Literal& init = operands[2];
  const Shape& shape = instruction.shape();
  const PrimitiveType type = shape.element_type();
  const Window& window = attributes.window;
  KILN_ASSIGN_OR_RETURN(auto select, ScalarFunction::Create(evaluation, *instruction.called_computation(0)));
  KILN_ASSIGN_OR_RETURN(auto scatter, ScalarFunction::Create(evaluation, *instruction.called_computation(1)));
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  const int width = ByteWidth(type);
  std::byte* out = result.mutable_bytes().data();
  const DimensionVector strides = StridesOf(shape.dimensions());
  const DimensionVector zeros(shape.rank(), 0);
  CopyStrided(width, shape.dimensions(), init.bytes().data(), zeros, out, strides);
  if (source.element_count() == 0 || shape.element_count() == 0) return result;
  // Sums of floats that meet in one element are rounded once each, in the order of the source.
  DimensionVector window_sizes;
  for (const WindowDimension& w : window) window_sizes.push_back(w.size);
  DimensionVector source_index(shape.rank(), 0);
  const std::byte* source_element = source.bytes().data();
  do {
    int64_t selected = -1;
    DimensionVector position(window.size(), 0);
    do {
      KILN_RETURN_IF_ERROR(evaluation.Charge(1));
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; inside && d < window.size(); ++d) {
        const int64_t index = WindowPosition(window[d], shape.dimensions(d), source_index[d], position[d]);
        inside = index >= 0;
        at += index * strides[d];
      }
      if (!inside) continue;
      if (selected < 0) {
        selected = at;
        continue;
      }
      const std::byte* candidates[2] = {operand.bytes().data() + selected * width, operand.bytes().data() + at * width};
      std::byte keep{0};
      std::byte* keep_result = &keep;
      KILN_RETURN_IF_ERROR(select->Call(candidates, {&keep_result, 1}));
      if (keep == std::byte{0}) selected = at;
    } while (NextIndex(window_sizes, &position));
    if (selected >= 0) {
      std::byte* target = out + selected * width;
      const std::byte* values[2] = {target, source_element};
      KILN_RETURN_IF_ERROR(scatter->Call(values, {&target, 1}));
    }
    source_element += width;
  } while (NextIndex(source.shape().dimensions(), &source_index));
  return result;
}

}  // namespace

absl::StatusOr<Literal> EvaluateReduction(Evaluation& evaluation, const Instruction& instruction,
                                          Operands& operands) {
  switch (instruction.opcode()) {
    case Opcode::kReduce: return Reduce(evaluation, instruction, operands);
    case Opcode::kReduceWindow: return ReduceWindow(evaluation, instruction, operands);
    case Opcode::kSelectAndScatter: return SelectAndScatter(evaluation, instruction, operands);
    default: return Unimplemented(instruction.Describe(), ": no reduction the evaluator knows");
  }
}

}  // namespace kiln::hlo::evaluator
