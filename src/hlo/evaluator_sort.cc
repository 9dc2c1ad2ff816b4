// sort, topk and scan.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {
namespace {

// A bottom-up merge sort: stable, and safe with comparators that are no order at all. less(a, b): a comes before b.
template <typename Less>
absl::Status StableSort(std::vector<int64_t>* items, const Less& less) {
  const size_t n = items->size();
  std::vector<int64_t> other(n);
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t start = 0; start < n; start += 2 * run) {
      const size_t middle = std::min(start + run, n), end = std::min(start + 2 * run, n);
      size_t left = start, right = middle, out = start;
      while (left < middle && right < end) {
        // The right one goes first only when it is strictly less.
        KILN_ASSIGN_OR_RETURN(const bool right_first, less((*items)[right], (*items)[left]));
        other[out++] = right_first ? (*items)[right++] : (*items)[left++];
      }
      while (left < middle) other[out++] = (*items)[left++];
      while (right < end) other[out++] = (*items)[right++];
    }
    items->swap(other);
  }
  return absl::OkStatus();
}

// Calls body(offset) for the first element of every line along `dimension`.
template <typename Body>
absl::Status ForEachLine(const Shape& shape, int64_t dimension, const Body& body) {
  if (shape.element_count() == 0) return absl::OkStatus();
  const DimensionVector strides = StridesOf(shape.dimensions());
  DimensionVector outer = shape.dimensions();
  outer[dimension] = 1;
  DimensionVector index(shape.rank(), 0);
  do {
    KILN_RETURN_IF_ERROR(body(OffsetOf(index, strides)));
  } while (NextIndex(outer, &index));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Literal> EvaluateSort(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<SortAttributes>();
  const size_t count = operands.size();
  const Shape shape = operands[0].shape();
  const int64_t dimension = attributes.dimension;
  KILN_ASSIGN_OR_RETURN(auto comparator, ScalarFunction::Create(evaluation, *instruction.called_computation()));
  std::vector<Literal> results;
  std::vector<std::byte*> out;
  std::vector<int> widths;
  for (const Literal& operand : operands) {
    KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(operand.shape()));
    results.push_back(std::move(result));
    out.push_back(results.back().mutable_bytes().data());
    widths.push_back(ByteWidth(operand.shape().element_type()));
  }
  const int64_t stride = StridesOf(shape.dimensions())[dimension];
  std::vector<int64_t> order(shape.dimensions(dimension));
  std::vector<const std::byte*> arguments(2 * count);
  KILN_RETURN_IF_ERROR(ForEachLine(shape, dimension, [&](int64_t offset) -> absl::Status {
    std::iota(order.begin(), order.end(), int64_t{0});
    KILN_RETURN_IF_ERROR(StableSort(&order, [&](int64_t a, int64_t b) -> absl::StatusOr<bool> {
      for (size_t i = 0; i < count; ++i) {
        const std::byte* base = operands[i].bytes().data();
        arguments[2 * i] = base + (offset + a * stride) * widths[i];
        arguments[2 * i + 1] = base + (offset + b * stride) * widths[i];
      }
      std::byte before{0};
      std::byte* result = &before;
      KILN_RETURN_IF_ERROR(comparator->Call(arguments, {&result, 1}));
      return before != std::byte{0};
    }));
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < order.size(); ++k) {
        std::memcpy(out[i] + (offset + static_cast<int64_t>(k) * stride) * widths[i],
                    operands[i].bytes().data() + (offset + order[k] * stride) * widths[i], widths[i]);
      }
    }
    return absl::OkStatus();
  }));
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

// Along the last dimension; equal values keep their order, NaN counts as larger than everything.
absl::StatusOr<Literal> EvaluateTopK(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<TopKAttributes>();
  const Literal& operand = operands[0];
  const Shape& shape = operand.shape();
  const Shape& result_shape = instruction.shape();
  const int64_t k = attributes.k;
  KILN_ASSIGN_OR_RETURN(Literal values, evaluation.Allocate(result_shape.tuple_shapes(0)));
  KILN_ASSIGN_OR_RETURN(Literal indices, evaluation.Allocate(result_shape.tuple_shapes(1)));
  const PrimitiveType type = shape.element_type(), index_type = indices.shape().element_type();
  const int width = ByteWidth(type), index_width = ByteWidth(index_type);
  const int64_t n = shape.dimensions(shape.rank() - 1);
  std::byte* values_out = values.mutable_bytes().data();
  std::byte* indices_out = indices.mutable_bytes().data();
  std::vector<int64_t> order(n);
  int64_t line = 0;
  KILN_RETURN_IF_ERROR(ForEachLine(shape, shape.rank() - 1, [&](int64_t offset) -> absl::Status {
    std::iota(order.begin(), order.end(), int64_t{0});
    const std::byte* base = operand.bytes().data() + offset * width;
    // a comes before b.
    auto less = [&](int64_t a, int64_t b) -> absl::StatusOr<bool> {
      KILN_RETURN_IF_ERROR(evaluation.Charge(1));
      if (!attributes.largest) std::swap(a, b);
      const std::byte* x = base + a * width;
      const std::byte* y = base + b * width;
      if (IsSignedIntegral(type)) return LoadElement<int64_t>(type, x) > LoadElement<int64_t>(type, y);
      if (!IsFloating(type)) return LoadElement<uint64_t>(type, x) > LoadElement<uint64_t>(type, y);
      const double u = LoadElement<double>(type, x), v = LoadElement<double>(type, y);
      if (std::isnan(u) || std::isnan(v)) return std::isnan(u) && !std::isnan(v);
      if (u == 0 && v == 0) return std::signbit(v) && !std::signbit(u);
      return u > v;
    };
    KILN_RETURN_IF_ERROR(StableSort(&order, less));
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(values_out + (line * k + i) * width, base + order[i] * width, width);
      StoreElements(index_type, &order[i], 1, indices_out + (line * k + i) * index_width);
    }
    ++line;
    return absl::OkStatus();
  }));
  return Literal::Tuple({std::move(values), std::move(indices)});
}

}  // namespace kiln::hlo::evaluator
