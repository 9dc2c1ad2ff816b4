// What an instruction says beyond its opcode, shape and operands: one struct per family, one variant of them all.
#ifndef KILN_HLO_ATTRIBUTES_H_
#define KILN_HLO_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/shared_value.h"
#include "src/hlo/literal.h"
#include "src/hlo/shape.h"

namespace kiln::hlo {

// parameter(number)
struct ParameterAttributes {
  int64_t number = 0;
  bool operator==(const ParameterAttributes&) const = default;
};

// constant
struct ConstantAttributes {
  Literal literal;
  bool operator==(const ConstantAttributes&) const = default;
};

// broadcast: operand dimension -> result dimension. transpose: the permutation (result dimension i is operand dimension
// dimensions[i]). reverse, reduce, map: the dimensions. concatenate, iota, get-/set-dimension-size: one entry.
struct DimensionsAttributes {
  DimensionVector dimensions;
  bool operator==(const DimensionsAttributes&) const = default;
};

struct SliceAttributes {
  DimensionVector start, limit, stride;
  bool operator==(const SliceAttributes&) const = default;
};

struct DynamicSliceAttributes {
  DimensionVector sizes;
  bool operator==(const DynamicSliceAttributes&) const = default;
};

// Low and high may be negative (cropping); interior is at least 0.
struct PadAttributes {
  DimensionVector low, high, interior;
  bool operator==(const PadAttributes&) const = default;
};

enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
// kDefault is resolved by the operand type: float, signed or unsigned.
enum class ComparisonType : uint8_t { kDefault, kFloat, kTotalOrder, kSigned, kUnsigned };

struct CompareAttributes {
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType type = ComparisonType::kDefault;
  bool operator==(const CompareAttributes&) const = default;
};

// Numbers as in PrecisionConfig.
enum class Precision : uint8_t { kDefault = 0, kHigh = 1, kHighest = 2 };
enum class DotAlgorithm : uint8_t {
  kUnset = 0,
  kAnyF8AnyF8F32 = 1,
  kAnyF8AnyF8F32FastAccum = 2,
  kF16F16F16 = 3,
  kF16F16F32 = 4,
  kBF16BF16BF16 = 5,
  kBF16BF16F32 = 6,
  kBF16BF16F32X3 = 7,
  kBF16BF16F32X6 = 8,
  kTF32TF32F32 = 9,
  kTF32TF32F32X3 = 10,
  kF32F32F32 = 11,
  kF64F64F64 = 12,
  kBF16BF16F32X9 = 13,
};

// Result dimensions: batch, then lhs free, then rhs free, each in operand order.
struct DotAttributes {
  DimensionVector lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  std::vector<Precision> operand_precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  // ragged-dot only.
  DimensionVector lhs_ragged, rhs_group;
  bool operator==(const DotAttributes&) const = default;
};

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;  // rhs_dilate
  int64_t base_dilation = 1;    // lhs_dilate
  bool reversal = false;
  bool operator==(const WindowDimension&) const = default;
};
using Window = std::vector<WindowDimension>;

// reduce-window, select-and-scatter: one entry per operand dimension.
struct WindowAttributes {
  Window window;
  bool operator==(const WindowAttributes&) const = default;
};

struct ConvolutionAttributes {
  Window window;  // one entry per spatial dimension
  int64_t input_batch = 0, input_feature = 0;
  DimensionVector input_spatial;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  DimensionVector kernel_spatial;
  int64_t output_batch = 0, output_feature = 0;
  DimensionVector output_spatial;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  std::vector<Precision> operand_precision;
  bool operator==(const ConvolutionAttributes&) const = default;
};

struct GatherAttributes {
  DimensionVector offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map;
  int64_t index_vector_dim = 0;
  DimensionVector slice_sizes;
  bool indices_are_sorted = false;
  bool operator==(const GatherAttributes&) const = default;
};

struct ScatterAttributes {
  DimensionVector update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  bool operator==(const ScatterAttributes&) const = default;
};

struct SortAttributes {
  int64_t dimension = 0;
  bool is_stable = false;
  bool operator==(const SortAttributes&) const = default;
};

struct TopKAttributes {
  int64_t k = 0;
  bool largest = true;
  bool operator==(const TopKAttributes&) const = default;
};

// scan
struct ScanAttributes {
  int64_t dimension = 0;
  int64_t num_carries = 0;
  bool is_reverse = false;
  bool is_associative = false;
  bool operator==(const ScanAttributes&) const = default;
};

enum class RngDistribution : uint8_t { kUniform = 1, kNormal = 2 };
enum class RngAlgorithm : uint8_t { kDefault = 0, kThreeFry = 1, kPhilox = 2 };

// rng, rng-bit-generator, rng-get-and-update-state
struct RngAttributes {
  RngDistribution distribution = RngDistribution::kUniform;
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  int64_t delta = 0;
  bool operator==(const RngAttributes&) const = default;
};

// get-tuple-element
struct TupleIndexAttributes {
  int64_t index = 0;
  bool operator==(const TupleIndexAttributes&) const = default;
};

struct ReducePrecisionAttributes {
  int64_t exponent_bits = 0;
  int64_t mantissa_bits = 0;
  bool operator==(const ReducePrecisionAttributes&) const = default;
};

enum class FftType : uint8_t { kFft = 0, kIfft = 1, kRfft = 2, kIrfft = 3 };
struct FftAttributes {
  FftType type = FftType::kFft;
  DimensionVector length;
  bool operator==(const FftAttributes&) const = default;
};

enum class TransposeKind : uint8_t { kNoTranspose = 1, kTranspose = 2, kAdjoint = 3 };
struct TriangularSolveAttributes {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kNoTranspose;
  bool operator==(const TriangularSolveAttributes&) const = default;
};

struct CholeskyAttributes {
  bool lower = false;
  bool operator==(const CholeskyAttributes&) const = default;
};

struct BatchNormAttributes {
  float epsilon = 0;
  int64_t feature_index = 0;
  bool operator==(const BatchNormAttributes&) const = default;
};

enum class CustomCallApiVersion : uint8_t {
  kUnspecified = 0,
  kOriginal = 1,
  kStatusReturning = 2,
  kStatusReturningUnified = 3,
  kTypedFfi = 4,
};

// One output leaf that shares the buffer of an operand leaf.
struct OutputOperandAlias {
  DimensionVector output_index;
  int64_t operand = 0;
  DimensionVector operand_index;
  bool operator==(const OutputOperandAlias&) const = default;
};

struct CustomCallAttributes {
  std::string target;
  CustomCallApiVersion api_version = CustomCallApiVersion::kOriginal;
  bool has_side_effect = false;
  bool has_layout_constraints = false;
  std::vector<Shape> operand_layouts;  // when has_layout_constraints
  std::vector<OutputOperandAlias> aliases;
  bool operator==(const CustomCallAttributes&) const = default;
};

enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
struct FusionAttributes {
  FusionKind kind = FusionKind::kLoop;
  bool operator==(const FusionAttributes&) const = default;
};

struct CallAttributes {
  bool is_composite = false;
  bool operator==(const CallAttributes&) const = default;
};

// All collectives and channels.
struct CollectiveAttributes {
  int64_t channel_id = 0;  // 0: none
  std::vector<std::vector<int64_t>> replica_groups;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  int64_t dimension = 0;
  bool use_global_device_ids = false;
  bool constrain_layout = false;
  bool is_host_transfer = false;
  bool operator==(const CollectiveAttributes&) const = default;
};

// infeed, outfeed
struct FeedAttributes {
  std::string config;
  Shape outfeed_shape;
  bool operator==(const FeedAttributes&) const = default;
};

// exponential, log, tanh, ...: the accuracy asked for.
struct ResultAccuracyAttributes {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  bool highest = false;
  bool operator==(const ResultAccuracyAttributes&) const = default;
};

// Those of lists of dimensions alone, and smaller ones, lie in the instruction; larger ones are rare.
using Attributes =
    SharedVariant<sizeof(DimensionVector), std::monostate, ParameterAttributes, ConstantAttributes,
                  DimensionsAttributes, SliceAttributes, DynamicSliceAttributes, PadAttributes, CompareAttributes,
                  DotAttributes, WindowAttributes, ConvolutionAttributes, GatherAttributes, ScatterAttributes,
                  SortAttributes, TopKAttributes, ScanAttributes, RngAttributes, TupleIndexAttributes,
                  ReducePrecisionAttributes, FftAttributes, TriangularSolveAttributes, CholeskyAttributes,
                  BatchNormAttributes, CustomCallAttributes, FusionAttributes, CallAttributes, CollectiveAttributes,
                  FeedAttributes, ResultAccuracyAttributes>;

}  // namespace kiln::hlo

#endif  // KILN_HLO_ATTRIBUTES_H_
