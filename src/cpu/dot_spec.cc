#include "src/cpu/dot_spec.h"

#include <algorithm>

#include "src/cpu/gemm_types.h"

namespace kiln::cpu {

using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Shape;

namespace {

// The dimension that is neither batch nor contracting, or -1.
int64_t FreeDimension(const Shape& shape, const DimensionVector& batch, const DimensionVector& contracting) {
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (std::find(batch.begin(), batch.end(), i) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), i) == contracting.end()) {
      return i;
    }
  }
  return -1;
}

}  // namespace

bool IsMatrixProduct(const Instruction& dot) {
  if (dot.opcode() != hlo::Opcode::kDot) return false;
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const Shape& lhs = dot.operand(0)->shape();
  const Shape& rhs = dot.operand(1)->shape();
  const int64_t batch = static_cast<int64_t>(attributes.lhs_batch.size());
  const int64_t contracting = static_cast<int64_t>(attributes.lhs_contracting.size());
  if (contracting > 1 || lhs.rank() - batch - contracting > 1 || rhs.rank() - batch - contracting > 1) return false;
  if (!IsProductType(lhs.element_type()) || !IsProductType(rhs.element_type()) ||
      !IsProductType(dot.shape().element_type())) {
    return false;
  }
  // Rows of a complex matrix times a vector: the matrix would be packed for one use.
  const auto are_rows_by_vector = [&](const Shape& rows, int64_t contracted, const Shape& vector) {
    return vector.rank() == batch + contracting && contracted == rows.rank() - 1;
  };
  if (contracting == 1 && hlo::IsComplex(dot.shape().element_type()) &&
      (are_rows_by_vector(lhs, attributes.lhs_contracting[0], rhs) ||
       are_rows_by_vector(rhs, attributes.rhs_contracting[0], lhs))) {
    return false;
  }
  return dot.shape().element_count() > 0;
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

GemmSpec MatrixProductOf(const Instruction& dot) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const Shape& lhs = dot.operand(0)->shape();
  const Shape& rhs = dot.operand(1)->shape();
  const Shape& out = dot.shape();
  const std::vector<int64_t> lhs_strides = RowMajorStrides(lhs.dimensions()),
                             rhs_strides = RowMajorStrides(rhs.dimensions()),
                             out_strides = RowMajorStrides(out.dimensions());
  GemmSpec spec;
  for (size_t i = 0; i < attributes.lhs_batch.size(); ++i) {
    spec.batch.push_back({out.dimensions(i), lhs_strides[attributes.lhs_batch[i]], rhs_strides[attributes.rhs_batch[i]],
                          out_strides[i]});
  }
  const int64_t lhs_free = FreeDimension(lhs, attributes.lhs_batch, attributes.lhs_contracting);
  const int64_t rhs_free = FreeDimension(rhs, attributes.rhs_batch, attributes.rhs_contracting);
  size_t next = attributes.lhs_batch.size();
  spec.m = lhs_free >= 0 ? lhs.dimensions(lhs_free) : 1;
  spec.lhs = {lhs.element_type(), lhs_free >= 0 ? lhs_strides[lhs_free] : 0, 1};
  spec.out.type = spec.result_type = out.element_type();
  spec.out.row_stride = lhs_free >= 0 ? out_strides[next++] : 0;
  spec.n = rhs_free >= 0 ? rhs.dimensions(rhs_free) : 1;
  spec.rhs = {rhs.element_type(), 0, rhs_free >= 0 ? rhs_strides[rhs_free] : 0};
  spec.out.column_stride = rhs_free >= 0 ? out_strides[next] : 0;
  spec.k = 1;
  if (!attributes.lhs_contracting.empty()) {
    spec.k = lhs.dimensions(attributes.lhs_contracting[0]);
    spec.lhs.column_stride = lhs_strides[attributes.lhs_contracting[0]];
    spec.rhs.row_stride = rhs_strides[attributes.rhs_contracting[0]];
  }
  return spec;
}

}  // namespace kiln::cpu
