// dot, ragged-dot and scaled-dot: operands are gathered into rows of a wide type and multiplied plainly.
#include <algorithm>
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_sums.h"

namespace kiln::hlo::evaluator {
namespace {

// Dimensions of one operand sorted by role, in the order given; the free ones in operand order.
struct Roles {
  DimensionVector sizes;    // batch, free, contracting
  DimensionVector strides;  // of the operand
  int64_t batch = 1, free = 1, contracting = 1;  // products of the sizes
};

bool Contains(const DimensionVector& dimensions, int64_t d) {
  return std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
}

Roles RolesOf(const Shape& shape, const DimensionVector& batch, const DimensionVector& contracting) {
  const DimensionVector strides = StridesOf(shape.dimensions());
  Roles roles;
  auto add = [&](int64_t d, int64_t* product) {
    roles.sizes.push_back(shape.dimensions(d));
    roles.strides.push_back(strides[d]);
    *product *= shape.dimensions(d);
  };
  for (int64_t d : batch) add(d, &roles.batch);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!Contains(batch, d) && !Contains(contracting, d)) add(d, &roles.free);
  }
  for (int64_t d : contracting) add(d, &roles.contracting);
  return roles;
}

// The elements as T, in the order of the roles: a transposed copy.
template <typename T>
std::vector<T> Arrange(const Literal& literal, const Roles& roles) {
  const std::vector<T> values = WidenAll<T>(literal);
  std::vector<T> result;
  result.reserve(values.size());
  if (values.empty()) return result;
  DimensionVector index(roles.sizes.size(), 0);
  do {
    result.push_back(values[OffsetOf(index, roles.strides)]);
  } while (NextIndex(roles.sizes, &index));
  return result;
}

// out[b, m, n] = sum over k of lhs[b, m, k] rhs[b, n, k].
absl::StatusOr<Literal> Dot(Evaluation& evaluation, const Instruction& instruction, const Literal& lhs,
                            const Literal& rhs) {
  const auto& attributes = instruction.Get<DotAttributes>();
  const Roles lhs_roles = RolesOf(lhs.shape(), attributes.lhs_batch, attributes.lhs_contracting);
  const Roles rhs_roles = RolesOf(rhs.shape(), attributes.rhs_batch, attributes.rhs_contracting);
  const Shape& shape = instruction.shape();
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  const PrimitiveType type = shape.element_type();
  std::byte* out = result.mutable_bytes().data();
  KILN_RETURN_IF_ERROR(WithSumType(lhs.shape().element_type(), rhs.shape().element_type(), type, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> lhs_values = Arrange<T>(lhs, lhs_roles), rhs_values = Arrange<T>(rhs, rhs_roles);
    const int64_t k = lhs_roles.contracting;
    for (int64_t row = 0; row < lhs_roles.batch * lhs_roles.free; ++row) {
      KILN_RETURN_IF_ERROR(evaluation.Charge(rhs_roles.free * k));
      const T* x = lhs_values.data() + row * k;
      const T* y = rhs_values.data() + row / lhs_roles.free * rhs_roles.free * k;
      for (int64_t n = 0; n < rhs_roles.free; ++n, y += k, out += ByteWidth(type)) {
        T sum{};
        for (int64_t i = 0; i < k; ++i) sum += x[i] * y[i];
        StoreSum(type, sum, out);
      }
    }
    return absl::OkStatus();
  }));
  return result;
}

// Multiplies the elements of `full` by their blocks' factors; a scalar scales them all.
void ApplyScale(const Literal& scale, const Shape& full, std::vector<double>* values) {
  if (full.element_count() == 0) return;
  const std::vector<double> factors = WidenAll<double>(scale);
  const DimensionVector strides = StridesOf(scale.shape().dimensions());
  DimensionVector index(full.rank(), 0);
  size_t i = 0;
  do {
    int64_t at = 0;
    for (int64_t d = 0; d < scale.shape().rank(); ++d) {
      at += index[d] / (full.dimensions(d) / scale.shape().dimensions(d)) * strides[d];
    }
    (*values)[i++] *= factors[at];
  } while (NextIndex(full.dimensions(), &index));
}

// lhs, rhs and the scales of their blocks: a dot of the scaled operands.
absl::StatusOr<Literal> ScaledDot(Evaluation& evaluation, const Instruction& instruction, const Operands& operands) {
  // In f64, where the products of the narrow formats with their scales are exact.
  auto scaled = [&](const Literal& operand, const Literal& scale) -> absl::StatusOr<Literal> {
    std::vector<double> values = WidenAll<double>(operand);
    ApplyScale(scale, operand.shape(), &values);
    KILN_ASSIGN_OR_RETURN(Literal wide,
                          evaluation.Allocate(Shape(PrimitiveType::kF64, operand.shape().dimensions())));
    std::copy(values.begin(), values.end(), wide.mutable_data<double>().begin());
    return wide;
  };
  KILN_ASSIGN_OR_RETURN(const Literal wide_lhs, scaled(operands[0], operands[2]));
  KILN_ASSIGN_OR_RETURN(const Literal wide_rhs, scaled(operands[1], operands[3]));
  return Dot(evaluation, instruction, wide_lhs, wide_rhs);
}

// The three modes, by the role of the ragged lhs dimension:
//   free:        out[b.., m.., n..] = sum_k lhs[b.., m.., k] rhs[g(m), b.., k, n..]; rows past the last group are 0
//   contracting: out[g, b.., m.., n..] = sum over the k of group g
//   batch:       the groups partition the batch: a plain dot
absl::StatusOr<Literal> RaggedDot(Evaluation& evaluation, const Instruction& instruction, const Operands& operands) {
  const auto& attributes = instruction.Get<DotAttributes>();
  const Literal& lhs = operands[0];
  const Literal& rhs = operands[1];
  const Literal& sizes = operands[2];
  const Shape& shape = instruction.shape();
  const int64_t ragged = attributes.lhs_ragged[0];
  if (Contains(attributes.lhs_batch, ragged)) return Dot(evaluation, instruction, lhs, rhs);
  // Start of each group along the ragged dimension, clamped to it; for each list of sizes where there are several.
  const int64_t groups = sizes.shape().dimensions(sizes.shape().rank() - 1), extent = lhs.shape().dimensions(ragged);
  const bool several = sizes.shape().rank() > 1;
  std::vector<std::vector<int64_t>> lists(several && groups > 0 ? sizes.element_count() / groups : 1);
  for (size_t l = 0; l < lists.size(); ++l) {
    lists[l].resize(groups + 1, 0);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t size = std::clamp<int64_t>(ElementAsInt64(sizes, l * groups + g), 0, extent);
      lists[l][g + 1] = std::min(extent, lists[l][g] + size);
    }
  }
  const bool contracting = Contains(attributes.lhs_contracting, ragged);
  DimensionVector rhs_batch = attributes.rhs_batch;
  if (!contracting) rhs_batch.insert(rhs_batch.begin(), attributes.rhs_group[0]);
  const Roles lhs_roles = RolesOf(lhs.shape(), attributes.lhs_batch, attributes.lhs_contracting);
  const Roles rhs_roles = RolesOf(rhs.shape(), rhs_batch, attributes.rhs_contracting);
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  // Position along the ragged dimension from a row-major position among the free (or contracting) dimensions.
  int64_t inner = 1;
  {
    bool after = false;
    if (contracting) {
      for (int64_t d : attributes.lhs_contracting) {
        if (after) inner *= lhs.shape().dimensions(d);
        after = after || d == ragged;
      }
    } else {
      for (int64_t d = ragged + 1; d < lhs.shape().rank(); ++d) {
        if (!Contains(attributes.lhs_batch, d) && !Contains(attributes.lhs_contracting, d)) {
          inner *= lhs.shape().dimensions(d);
        }
      }
    }
  }
  const int width = ByteWidth(shape.element_type());
  KILN_RETURN_IF_ERROR(
      WithSumType(lhs.shape().element_type(), rhs.shape().element_type(), shape.element_type(), [&](auto zero) {
        using T = decltype(zero);
        const std::vector<T> x = Arrange<T>(lhs, lhs_roles);
        const std::vector<T> y = Arrange<T>(rhs, rhs_roles);
        const int64_t k = lhs_roles.contracting, m = lhs_roles.free, n = rhs_roles.free;
        std::byte* out = result.mutable_bytes().data();
        // The list of a batch and of a position among the free (or contracting) dimensions: what stands before the
        // ragged one.
        const int64_t before = (contracting ? k : m) / std::max<int64_t>(inner * extent, 1);
        auto list = [&](int64_t b, int64_t position) -> const std::vector<int64_t>& {
          return lists[several ? b * before + position / (inner * extent) : 0];
        };
        for (int64_t g = 0; g < (contracting ? groups : 1); ++g) {
          for (int64_t b = 0; b < lhs_roles.batch; ++b) {
            for (int64_t i = 0; i < m; ++i) {
              KILN_RETURN_IF_ERROR(evaluation.Charge(n * k));
              int64_t group = g;
              if (!contracting) {
                const int64_t position = i / inner % extent;
                group = 0;
                while (group < groups && position >= list(b, i)[group + 1]) ++group;
              }
              for (int64_t j = 0; j < n; ++j, out += width) {
                T sum{};
                if (group < groups) {
                  const int64_t rhs_batch_index = contracting ? b : group * lhs_roles.batch + b;
                  for (int64_t c = 0; c < k; ++c) {
                    if (contracting) {
                      const int64_t position = c / inner % extent;
                      if (position < list(b, c)[g] || position >= list(b, c)[g + 1]) continue;
                    }
                    sum += x[(b * m + i) * k + c] * y[(rhs_batch_index * n + j) * k + c];
                  }
                }
                StoreSum(shape.element_type(), sum, out);
              }
            }
          }
        }
        return absl::OkStatus();
      }));
  return result;
}

}  // namespace

absl::StatusOr<Literal> EvaluateContraction(Evaluation& evaluation, const Instruction& instruction,
                                            Operands& operands) {
  switch (instruction.opcode()) {
    case Opcode::kDot: return Dot(evaluation, instruction, operands[0], operands[1]);
    case Opcode::kRaggedDot: return RaggedDot(evaluation, instruction, operands);
    case Opcode::kScaledDot: return ScaledDot(evaluation, instruction, operands);
    default: return Unimplemented(instruction.Describe(), ": no contraction the evaluator knows");
  }
}

}  // namespace kiln::hlo::evaluator
