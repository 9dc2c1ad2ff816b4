// Quantized types that cannot be are refused with a sentence; those that can give plain storage.
#include "src/frontend/stablehlo/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/frontend/mlir/context.h"
#include "src/frontend/stablehlo/types.h"

namespace kiln::stablehlo {
namespace {

using ::testing::HasSubstr;

class QuantizedTypeTest : public testing::Test {
 protected:
  mlir::QuantizedType Make(uint32_t width, mlir::FloatKind expressed) {
    mlir::QuantizedType type;
    type.is_signed = true;
    type.storage = context_.MakeType(mlir::IntegerType{width, mlir::Signedness::kSignless});
    type.expressed = context_.MakeType(mlir::FloatType{expressed});
    type.scales = {0.5};
    type.zero_points = {1};
    type.storage_min = -(int64_t{1} << (width - 1));
    type.storage_max = -type.storage_min - 1;
    return type;
  }
  absl::StatusOr<hlo::Shape> ShapeOf(mlir::QuantizedType type, std::vector<int64_t> dims) {
    mlir::TensorType tensor;
    tensor.dims = std::move(dims);
    tensor.element = context_.MakeType(std::move(type));
    return ToShape(*context_.MakeType(std::move(tensor)));
  }
  void ExpectRefused(mlir::QuantizedType type, const char* sentence) {
    const auto shape = ShapeOf(std::move(type), {2, 3});
    ASSERT_FALSE(shape.ok()) << sentence;
    EXPECT_THAT(std::string(shape.status().message()), HasSubstr(sentence));
  }

  mlir::Context context_;
};

TEST_F(QuantizedTypeTest, StorageIsTheShape) {
  EXPECT_EQ(ShapeOf(Make(8, mlir::FloatKind::kF32), {2, 3})->ToString(false), "s8[2,3]");
  mlir::QuantizedType nibble = Make(4, mlir::FloatKind::kBF16);
  nibble.is_signed = false;
  nibble.storage_min = 0;
  nibble.storage_max = 15;
  EXPECT_EQ(ShapeOf(nibble, {})->ToString(false), "u4[]");
  mlir::QuantizedType per_axis = Make(16, mlir::FloatKind::kF64);
  per_axis.axis = 1;
  per_axis.scales = {1, 2, 3};
  per_axis.zero_points = {0, 0, 0};
  EXPECT_EQ(ShapeOf(per_axis, {2, 3})->ToString(false), "s16[2,3]");
}

TEST_F(QuantizedTypeTest, ImpossibleTypes) {
  for (double scale : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300, 1e-60}) {
    mlir::QuantizedType type = Make(8, mlir::FloatKind::kF32);
    type.scales = {scale};
    ExpectRefused(type, "must be positive and finite in its expressed type");
  }
  mlir::QuantizedType type = Make(8, mlir::FloatKind::kF32);
  type.zero_points = {128};
  ExpectRefused(type, "zero point 128");
  type = Make(8, mlir::FloatKind::kF32);
  type.storage_max = 128;
  ExpectRefused(type, "storage range -128:128");
  type = Make(8, mlir::FloatKind::kF32);
  type.storage_min = type.storage_max;
  ExpectRefused(type, "must ascend");
  type = Make(8, mlir::FloatKind::kF32);
  type.axis = 2;
  ExpectRefused(type, "quantized dimension 2 is outside a tensor of rank 2");
  type.axis = 1;
  ExpectRefused(type, "of size 3 has 1 scales");
  type.axis = -1;
  type.scales = {1, 2};
  type.zero_points = {0, 0};
  ExpectRefused(type, "without an axis has 2 scales");
  type.scales = {};
  type.zero_points = {};
  ExpectRefused(type, "0 scales");
  ExpectRefused(Make(32, mlir::FloatKind::kF8E5M2), "bf16, f16, f32 or f64");
  type = Make(8, mlir::FloatKind::kF32);
  type.storage = type.expressed;
  ExpectRefused(type, "must be an integer of 2 to 32 bits");
  type = Make(8, mlir::FloatKind::kF32);
  type.expressed = type.storage;
  ExpectRefused(type, "the expressed type");
  type = Make(3, mlir::FloatKind::kF32);
  ExpectRefused(type, "integers of 3 bits");
}

}  // namespace
}  // namespace kiln::stablehlo
