#include "src/analysis/arithmetic_cost.h"

#include <algorithm>
#include <cmath>

#include "src/hlo/computation.h"

namespace kiln::analysis {

using hlo::Instruction;
using hlo::Opcode;
using hlo::OpKind;
using hlo::Shape;

bool IsTranscendental(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan2:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kErfc:
    case Opcode::kExp:
    case Opcode::kExp2:
    case Opcode::kExpMinusOne:
    case Opcode::kLog:
    case Opcode::kLog2:
    case Opcode::kLogPlusOne:
    case Opcode::kLogistic:
    case Opcode::kPower:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return true;
    default:
      return false;
  }
}

namespace {

double Elements(const Shape& shape) {
  double elements = 0;
  for (const Shape* leaf : shape.Leaves())
    elements += leaf->IsArray() ? static_cast<double>(leaf->element_count()) : 0.0;
  return elements;
}

// Of an instruction that may give several results of one size: the elements of one.
double FirstElements(const Shape& shape) {
  return shape.IsTuple() ? (shape.tuple_shapes().empty() ? 0.0 : Elements(shape.tuple_shapes(0))) : Elements(shape);
}

double Product(const Shape& shape, const hlo::DimensionVector& dimensions) {
  double product = 1;
  for (int64_t d : dimensions) product *= static_cast<double>(shape.dimensions(d));
  return product;
}

double WindowElements(const hlo::Window& window) {
  double elements = 1;
  for (const hlo::WindowDimension& d : window) elements *= static_cast<double>(d.size);
  return elements;
}

// The scalar computation that an instruction applies, once.
Arithmetic OneApplication(const Instruction& instruction, size_t callee = 0) {
  Arithmetic sum;
  if (callee >= instruction.called_computations().size()) return sum;
  for (const Instruction* inner : instruction.called_computations()[callee]->instructions()) {
    const Arithmetic one = ArithmeticOf(*inner);
    sum = {sum.flops + one.flops, sum.transcendentals + one.transcendentals};
  }
  return sum;
}

// Pairs of a place of the result and one of the window that meet an element of the input, in one dimension.
double PairsInside(const hlo::WindowDimension& window, int64_t input, int64_t output) {
  const int64_t base = std::max<int64_t>(window.base_dilation, 1), stride = std::max<int64_t>(window.stride, 1);
  double pairs = 0;
  for (int64_t k = 0; k < window.size; ++k) {
    // Places o with 0 <= o * stride + shift <= (input - 1) * base, on an element where base > 1.
    const int64_t shift = k * window.window_dilation - window.padding_low;
    const int64_t highest = (input - 1) * base - shift;
    if (input < 1 || highest < 0) continue;
    int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const int64_t last = std::min(output - 1, highest / stride);
    int64_t tries = 0;
    while (tries < base && (first * stride + shift) % base != 0) ++first, ++tries;
    if (tries == base || first > last) continue;
    int64_t step = 1;
    while ((step * stride) % base != 0) ++step;
    pairs += static_cast<double>((last - first) / step + 1);
  }
  return pairs;
}

double ConvolutionFlops(const Instruction& convolution) {
  const auto& a = convolution.Get<hlo::ConvolutionAttributes>();
  const Shape &input = convolution.operand(0)->shape(), &kernel = convolution.operand(1)->shape();
  double multiply_adds = static_cast<double>(kernel.dimensions(a.kernel_input_feature)) *
                         static_cast<double>(convolution.shape().dimensions(a.output_feature)) *
                         static_cast<double>(input.dimensions(a.input_batch)) /
                         static_cast<double>(a.batch_group_count);
  for (size_t i = 0; i < a.window.size(); ++i) {
    multiply_adds *= PairsInside(a.window[i], input.dimensions(a.input_spatial[i]),
                                 convolution.shape().dimensions(a.output_spatial[i]));
  }
  return 2 * multiply_adds;
}

double Log2(double value) { return value > 1 ? std::log2(value) : 0; }

}  // namespace

Arithmetic ArithmeticOf(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  const Opcode opcode = instruction.opcode();
  if (hlo::IsElementwise(opcode)) {
    const double elements = Elements(shape);
    // 1 / (1 + exp(-x)) does three more operations.
    if (opcode == Opcode::kLogistic) return {3 * elements, elements};
    return IsTranscendental(opcode) ? Arithmetic{0, elements} : Arithmetic{elements, 0};
  }
  const auto elements_of = [&](int64_t operand) { return Elements(instruction.operand(operand)->shape()); };
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot: {
      const auto& dot = instruction.Get<hlo::DotAttributes>();
      return {2 * Elements(shape) * Product(instruction.operand(0)->shape(), dot.lhs_contracting), 0};
    }
    case Opcode::kConvolution:
      return {ConvolutionFlops(instruction), 0};
    case Opcode::kReduce:
      return OneApplication(instruction) * std::max(elements_of(0) - FirstElements(shape), 0.0);
    case Opcode::kReduceWindow: {
      const double window = WindowElements(instruction.Get<hlo::WindowAttributes>().window);
      return OneApplication(instruction) * (FirstElements(shape) * std::max(window - 1, 0.0));
    }
    case Opcode::kSelectAndScatter: {
      const double window = WindowElements(instruction.Get<hlo::WindowAttributes>().window);
      const Arithmetic select = OneApplication(instruction) * (elements_of(1) * std::max(window - 1, 0.0));
      const Arithmetic scatter = OneApplication(instruction, 1) * elements_of(1);
      return {select.flops + scatter.flops, select.transcendentals + scatter.transcendentals};
    }
    case Opcode::kMap:
      return OneApplication(instruction) * Elements(shape);
    case Opcode::kScan:
      return OneApplication(instruction) * (instruction.operand_count() > 0 ? elements_of(0) : 0);
    case Opcode::kScatter:
      return OneApplication(instruction) * elements_of(instruction.operand_count() - 1);
    case Opcode::kSort:
      return {elements_of(0) * std::ceil(Log2(elements_of(0))), 0};
    case Opcode::kTopK:
      return {elements_of(0) * std::ceil(Log2(static_cast<double>(instruction.Get<hlo::TopKAttributes>().k + 1))), 0};
    case Opcode::kFft: {
      double levels = 0;
      for (int64_t length : instruction.Get<hlo::FftAttributes>().length) levels += Log2(static_cast<double>(length));
      return {8 * levels * Elements(shape), 0};
    }
    case Opcode::kCholesky:
      return {Elements(shape) * static_cast<double>(shape.dimensions(shape.rank() - 1)) / 3, 0};
    case Opcode::kTriangularSolve: {
      const Shape& a = instruction.operand(0)->shape();
      return {Elements(shape) * static_cast<double>(a.dimensions(a.rank() - 1)), 0};
    }
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
      return {0, Elements(shape)};
    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
      return OneApplication(instruction) * (instruction.operand_count() > 0 ? elements_of(0) : 0);
    // A difference, a product, a scale and a shift; the others sum and square as well, or twice.
    case Opcode::kBatchNormInference:
      return {4 * elements_of(0), 0};
    case Opcode::kBatchNormTraining:
      return {8 * elements_of(0), 0};
    case Opcode::kBatchNormGrad:
      return {11 * elements_of(0), 0};
    default:
      return {};
  }
}

}  // namespace kiln::analysis
