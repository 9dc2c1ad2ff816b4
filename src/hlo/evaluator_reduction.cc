// reduce, reduce-window and select-and-scatter, over any computation of scalars.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_values.h"

namespace kiln::hlo::evaluator {
namespace {

// Accumulators of all results of a reduction. Sums of floats are kept in the widest type and rounded at the end, so
// that the reference does not drift with the number of elements; all else is the computation, applied in row-major order.
class Accumulator {
 public:
  Accumulator(ScalarFunction* function, const Operands& inits) : function_(*function) {
    const PrimitiveType type = inits[0].shape().element_type();
    sums_ = inits.size() == 1 && function->IsBinary(Opcode::kAdd) && (IsFloating(type) || IsComplex(type)) &&
            function->parameter_type(0) == type && function->parameter_type(1) == type;
    type_ = type;
    for (const Literal& init : inits) {
      inits_.push_back(init.bytes().data());
      widths_.push_back(ByteWidth(init.shape().element_type()));
    }
    arguments_.resize(2 * inits.size());
    results_.resize(inits.size());
  }

  bool sums() const { return sums_; }

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
  KILN_RETURN_IF_ERROR(Require(instruction,
                               count > 0 && operands.size() % 2 == 0 && !instruction.called_computations().empty(),
                               "expected as many initial values as inputs and a computation"));
  for (size_t i = 0; i < count; ++i) inputs.arrays.push_back(std::move(operands[i]));
  for (size_t i = 0; i < count; ++i) inputs.inits.push_back(std::move(operands[count + i]));
  KILN_ASSIGN_OR_RETURN(inputs.function, ScalarFunction::Create(evaluation, *instruction.called_computation()));
  bool fits = inputs.function->parameter_count() == static_cast<int64_t>(2 * count) &&
              inputs.function->result_count() == static_cast<int64_t>(count);
  for (size_t i = 0; fits && i < count; ++i) {
    const PrimitiveType type = inputs.inits[i].shape().element_type();
    fits = Shape::SameDimensions(inputs.arrays[i].shape(), inputs.arrays[0].shape()) &&
           inputs.inits[i].shape().IsScalar() && inputs.function->parameter_type(i) == type &&
           inputs.function->result_type(i) == type &&
           inputs.function->parameter_type(count + i) == inputs.arrays[i].shape().element_type();
  }
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "inputs, initial values and computation do not fit"));
  return inputs;
}

// The result arrays, one per initial value, of these dimensions.
absl::StatusOr<std::vector<Literal>> AllocateResults(Evaluation& evaluation, const Instruction& instruction,
                                                     const Operands& inits,
                                                     absl::Span<const int64_t> dimensions) {
  std::vector<Literal> results;
  for (size_t i = 0; i < inits.size(); ++i) {
    const Shape& shape = instruction.shape();
    const bool in_tuple = shape.IsTuple() && i < shape.tuple_shapes().size();
    const Shape& leaf = in_tuple ? shape.tuple_shapes(static_cast<int64_t>(i)) : shape;
    KILN_RETURN_IF_ERROR(Require(instruction,
                                 leaf.IsArray() && absl::Span<const int64_t>(leaf.dimensions()) == dimensions &&
                                     leaf.element_type() == inits[i].shape().element_type(),
                                 "the result's shape does not follow from the operands"));
    KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(leaf));
    results.push_back(std::move(result));
  }
  return results;
}

Literal Assemble(const Instruction& instruction, std::vector<Literal> results) {
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

absl::StatusOr<Literal> Reduce(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  KILN_ASSIGN_OR_RETURN(const auto* attributes, AttributesOf<DimensionsAttributes>(instruction));
  KILN_ASSIGN_OR_RETURN(Inputs inputs, SplitInputs(evaluation, instruction, operands));
  const Shape& input_shape = inputs.arrays[0].shape();
  KILN_RETURN_IF_ERROR(Require(instruction, AreDistinctDimensions(attributes->dimensions, input_shape.rank()),
                               "dimensions are not those of the input"));
  const DimensionVector strides = StridesOf(input_shape.dimensions());
  DimensionVector kept, kept_strides, reduced, reduced_strides;
  for (int64_t d = 0; d < input_shape.rank(); ++d) {
    const bool is_reduced =
        std::find(attributes->dimensions.begin(), attributes->dimensions.end(), d) != attributes->dimensions.end();
    (is_reduced ? reduced : kept).push_back(input_shape.dimensions(d));
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[d]);
  }
  KILN_ASSIGN_OR_RETURN(std::vector<Literal> results,
                        AllocateResults(evaluation, instruction, inputs.inits, kept));
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

// Where window position w of output index o falls on the operand; -1: in padding or between dilated elements.
int64_t WindowPosition(const WindowDimension& window, int64_t size, int64_t output, int64_t position) {
  const int64_t dilated = output * window.stride - window.padding_low + position * window.window_dilation;
  if (dilated < 0 || dilated % window.base_dilation != 0) return -1;
  const int64_t index = dilated / window.base_dilation;
  return index < size ? index : -1;
}

// The window fits the rank, its numbers keep products inside int64, and the output sizes follow from it.
absl::Status CheckWindow(const Instruction& instruction, const Window& window, absl::Span<const int64_t> input,
                         absl::Span<const int64_t> output) {
  bool fits = window.size() == input.size() && input.size() == output.size();
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (size_t d = 0; fits && d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    fits = w.size >= 1 && w.size < kLimit && w.stride >= 1 && w.stride < kLimit && w.window_dilation >= 1 &&
           w.window_dilation < kLimit && w.base_dilation >= 1 && w.base_dilation < kLimit && w.padding_low > -kLimit &&
           w.padding_low < kLimit && w.padding_high > -kLimit && w.padding_high < kLimit && input[d] < kLimit;
    if (!fits) break;
    const int64_t base = input[d] == 0 ? 0 : (input[d] - 1) * w.base_dilation + 1;
    const int64_t padded = base + w.padding_low + w.padding_high;
    const int64_t reach = (w.size - 1) * w.window_dilation + 1;
    fits = output[d] == (padded < reach ? 0 : (padded - reach) / w.stride + 1);
  }
  return Require(instruction, fits, "the window does not lead from the operand to the result");
}

absl::StatusOr<Literal> ReduceWindow(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  KILN_ASSIGN_OR_RETURN(const auto* attributes, AttributesOf<WindowAttributes>(instruction));
  KILN_ASSIGN_OR_RETURN(Inputs inputs, SplitInputs(evaluation, instruction, operands));
  const Shape& input_shape = inputs.arrays[0].shape();
  const Shape& result_shape =
      instruction.shape().IsTuple() && !instruction.shape().tuple_shapes().empty() ? instruction.shape().tuple_shapes(0)
                                                                                   : instruction.shape();
  const Window& window = attributes->window;
  const absl::Span<const int64_t> input_dimensions = input_shape.dimensions();
  const DimensionVector output_dimensions = result_shape.dimensions();
  KILN_RETURN_IF_ERROR(CheckWindow(instruction, window, input_dimensions, output_dimensions));
  KILN_ASSIGN_OR_RETURN(std::vector<Literal> results,
                        AllocateResults(evaluation, instruction, inputs.inits, output_dimensions));
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
  KILN_ASSIGN_OR_RETURN(const auto* attributes, AttributesOf<WindowAttributes>(instruction));
  const Literal& operand = operands[0];
  const Literal& source = operands[1];
  const Literal& init = operands[2];
  const Shape& shape = instruction.shape();
  const PrimitiveType type = shape.element_type();
  KILN_RETURN_IF_ERROR(Require(instruction,
                               instruction.called_computations().size() >= 2 &&
                                   Shape::SameDimensions(operand.shape(), shape) && init.shape().IsScalar() &&
                                   operand.shape().element_type() == type && source.shape().element_type() == type &&
                                   init.shape().element_type() == type,
                               "operands do not fit the result"));
  const Window& window = attributes->window;
  KILN_RETURN_IF_ERROR(
      CheckWindow(instruction, window, shape.dimensions(), source.shape().dimensions()));
  KILN_ASSIGN_OR_RETURN(auto select, ScalarFunction::Create(evaluation, *instruction.called_computation(0)));
  KILN_ASSIGN_OR_RETURN(auto scatter, ScalarFunction::Create(evaluation, *instruction.called_computation(1)));
  bool fits = select->parameter_count() == 2 && select->result_count() == 1 && scatter->parameter_count() == 2 &&
              scatter->result_count() == 1 && select->result_type(0) == PrimitiveType::kPred &&
              scatter->result_type(0) == type;
  for (int64_t i = 0; fits && i < 2; ++i) {
    fits = select->parameter_type(i) == type && scatter->parameter_type(i) == type;
  }
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "the computations do not fit the operands"));
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
  for (const Literal& operand : operands) {
    KILN_RETURN_IF_ERROR(Require(instruction, operand.shape().IsArray(), "expected array operands"));
  }
  switch (instruction.opcode()) {
    case Opcode::kReduce: return Reduce(evaluation, instruction, operands);
    case Opcode::kReduceWindow: return ReduceWindow(evaluation, instruction, operands);
    case Opcode::kSelectAndScatter: return SelectAndScatter(evaluation, instruction, operands);
    default: return Unimplemented(instruction.Describe(), ": no reduction the evaluator knows");
  }
}

}  // namespace kiln::hlo::evaluator
