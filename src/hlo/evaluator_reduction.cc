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
      real_ = imaginary_ = -0.0L;  // What is added to it stays as it is, -0 too.
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

// The operands of reduce and reduce-window, and what is applied to them.
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

// Reduces for each index of the results, in row-major order, the elements that visit(index, add) names by calling
// add(place in the inputs).
template <typename Visit>
absl::StatusOr<Literal> ReduceEach(Evaluation& evaluation, const Instruction& instruction, const Inputs& inputs,
                                   const Visit& visit) {
  KILN_ASSIGN_OR_RETURN(std::vector<Literal> results, AllocateResults(evaluation, instruction));
  const DimensionVector dimensions = results[0].shape().dimensions();
  const int64_t result_count = results[0].element_count();
  const size_t count = results.size();
  std::vector<const std::byte*> elements(count);
  std::vector<std::byte*> out(count), targets(count);
  for (size_t i = 0; i < count; ++i) out[i] = results[i].mutable_bytes().data();
  Accumulator accumulator(inputs.function.get(), inputs.inits);
  DimensionVector index(dimensions.size(), 0);
  for (int64_t n = 0; n < result_count; ++n) {
    for (size_t i = 0; i < count; ++i) targets[i] = out[i] + n * ByteWidth(results[i].shape().element_type());
    accumulator.Start(targets);
    KILN_RETURN_IF_ERROR(visit(index, [&](int64_t at) {
      for (size_t i = 0; i < count; ++i) {
        elements[i] = inputs.arrays[i].bytes().data() + at * ByteWidth(inputs.arrays[i].shape().element_type());
      }
      return accumulator.Add(elements);
    }));
    accumulator.Finish();
    NextIndex(dimensions, &index);
  }
  return Assemble(instruction, std::move(results));
}

absl::StatusOr<Literal> Reduce(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<DimensionsAttributes>();
  KILN_ASSIGN_OR_RETURN(const Inputs inputs, SplitInputs(evaluation, instruction, operands));
  const Shape& shape = inputs.arrays[0].shape();
  const DimensionVector strides = StridesOf(shape.dimensions());
  DimensionVector kept_strides, reduced, reduced_strides;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::find(attributes.dimensions.begin(), attributes.dimensions.end(), d) == attributes.dimensions.end()) {
      kept_strides.push_back(strides[d]);
    } else {
      reduced.push_back(shape.dimensions(d));
      reduced_strides.push_back(strides[d]);
    }
  }
  KILN_RETURN_IF_ERROR(evaluation.Charge(shape.element_count()));
  return ReduceEach(evaluation, instruction, inputs, [&](const DimensionVector& kept, auto add) {
    if (shape.element_count() == 0) return absl::OkStatus();
    const int64_t first = OffsetOf(kept, kept_strides);
    DimensionVector index(reduced.size(), 0);
    do {
      KILN_RETURN_IF_ERROR(add(first + OffsetOf(index, reduced_strides)));
    } while (NextIndex(reduced, &index));
    return absl::OkStatus();
  });
}

absl::StatusOr<Literal> ReduceWindow(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const Window& window = instruction.Get<WindowAttributes>().window;
  KILN_ASSIGN_OR_RETURN(const Inputs inputs, SplitInputs(evaluation, instruction, operands));
  const DimensionVector& dimensions = inputs.arrays[0].shape().dimensions();
  const DimensionVector strides = StridesOf(dimensions);
  DimensionVector window_sizes;
  int64_t window_count = 1;
  for (const WindowDimension& w : window) {
    window_sizes.push_back(w.size);
    window_count = w.size > (int64_t{1} << 48) / window_count ? int64_t{1} << 48 : window_count * w.size;
  }
  return ReduceEach(evaluation, instruction, inputs, [&](const DimensionVector& output, auto add) {
    KILN_RETURN_IF_ERROR(evaluation.Charge(window_count));
    DimensionVector position(window.size(), 0);
    do {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; inside && d < window.size(); ++d) {
        const int64_t index = WindowPosition(window[d], dimensions[d], output[d], position[d]);
        inside = index >= 0;
        at += index * strides[d];
      }
      if (inside) KILN_RETURN_IF_ERROR(add(at));
    } while (NextIndex(window_sizes, &position));
    return absl::OkStatus();
  });
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
