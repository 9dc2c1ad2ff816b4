// A convolution as a matrix product over windows of its input, none of which is ever stored.
#ifndef KILN_CPU_CONVOLUTION_SPEC_H_
#define KILN_CPU_CONVOLUTION_SPEC_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel_builder.h"

namespace kiln::cpu {

struct ConvolutionSpec {
  GemmSpec gemm;
  // What each of the product's batch dimensions, outer rows, m and n, in this order, counts through in the result.
  std::vector<kernel::EpilogueLoop> loops;
};

// The products that `convolution` is, each making a part of the result, to be run in order: rows are places of the
// result (batch and space), columns its features, steps the places of the window and the input's features. A padded
// input is copied first, once for all of them. Base dilation makes a product for every place of the result modulo the
// dilation, or, where strides or a dilated window meet it, zeros in the copy. With few features per group, groups
// become lanes. Nothing for reversed windows, complex numbers, empty arrays and element types without products: those
// are plain kernels. `lanes` are those of a full vector.
std::vector<ConvolutionSpec> ConvolutionProductsOf(const hlo::Instruction& convolution, int lanes);

}  // namespace kiln::cpu

#endif  // KILN_CPU_CONVOLUTION_SPEC_H_
