// Loads of operands in any layout, and stores of packed ones.
#include "llvm/IR/Constants.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {

// `count` neighbours from memory in a vector of `lanes`, never touching what lies behind them.
llvm::Value* GemmEmitter::LoadContiguous(llvm::Value* pointer, llvm::Type* scalar, int bytes, int64_t count, int lanes) {
  const llvm::Align align(bytes);
  if (lanes == 1) return b_.CreateAlignedLoad(scalar, pointer, align);
  auto* type = llvm::FixedVectorType::get(scalar, lanes);
  if (count == lanes) return b_.CreateAlignedLoad(type, pointer, align);
  if (Host().masked_moves && bytes >= 4) {
    std::vector<llvm::Constant*> mask;
    for (int lane = 0; lane < lanes; ++lane) mask.push_back(b_.getInt1(lane < count));
    return b_.CreateMaskedLoad(type, pointer, align, llvm::ConstantVector::get(mask),
                               llvm::Constant::getNullValue(type));
  }
  llvm::Value* value = count == 1
                           ? b_.CreateInsertElement(llvm::Constant::getNullValue(llvm::FixedVectorType::get(scalar, 1)),
                                                    b_.CreateAlignedLoad(scalar, pointer, align), uint64_t{0})
                           : static_cast<llvm::Value*>(b_.CreateAlignedLoad(
                                 llvm::FixedVectorType::get(scalar, static_cast<unsigned>(count)), pointer, align));
  std::vector<int> widen;
  for (int lane = 0; lane < lanes; ++lane) widen.push_back(lane < count ? lane : static_cast<int>(count));
  return b_.CreateShuffleVector(value, llvm::Constant::getNullValue(value->getType()), widen);
}

GemmValue GemmEmitter::LoadLanes(llvm::Value* pointer, hlo::PrimitiveType type, int64_t stride, int64_t count,
                                 int lanes) {
  const int bytes = GemmArithmetic::StoredBytes(type);
  const int parts = arithmetic_.parts();
  llvm::Type* scalar = GemmArithmetic::StoredType(b_.getContext(), type, 1);
  GemmValue result;
  if (stride == 1 && parts == 1) {
    result.part[0] = arithmetic_.FromStored(b_, type, LoadContiguous(pointer, scalar, bytes, count, lanes));
    return result;
  }
  if (stride == 1 && lanes > 1) {
    llvm::Value* both = LoadContiguous(pointer, scalar, bytes, 2 * count, 2 * lanes);
    for (int part = 0; part < 2; ++part) {
      std::vector<int> pick;
      for (int lane = 0; lane < lanes; ++lane) pick.push_back(2 * lane + part);
      result.part[part] = b_.CreateShuffleVector(both, pick);
    }
    return result;
  }
  for (int part = 0; part < parts; ++part) {
    llvm::Value* value = lanes == 1 ? nullptr : llvm::Constant::getNullValue(llvm::FixedVectorType::get(scalar, lanes));
    for (int64_t lane = 0; lane < count; ++lane) {
      llvm::Value* from = At(pointer, (lane * stride * parts + part) * bytes);
      llvm::Value* element = b_.CreateAlignedLoad(scalar, from, llvm::Align(bytes));
      value = lanes == 1 ? element : b_.CreateInsertElement(value, element, static_cast<uint64_t>(lane));
    }
    result.part[part] = arithmetic_.FromStored(b_, type, value);
  }
  return result;
}

void GemmEmitter::StoreNative(llvm::Value* pointer, const GemmValue& value, int64_t part_stride_bytes, bool aligned) {
  for (int part = 0; part < arithmetic_.parts(); ++part) {
    const uint64_t size = module_.getDataLayout().getTypeStoreSize(value.part[part]->getType());
    const uint64_t align = aligned ? std::min<uint64_t>(size, 64) : arithmetic_.part_bytes();
    b_.CreateAlignedStore(value.part[part], At(pointer, part * part_stride_bytes), llvm::Align(align));
  }
}

void TransposeLanes(llvm::IRBuilder<>& b, std::vector<llvm::Value*>& vectors) {
  const int lanes = static_cast<int>(vectors.size());
  for (int step = 1; step < lanes; step *= 2) {
    // Exchanges bit `step` of the row number with the same bit of the lane number.
    std::vector<int> low(lanes), high(lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      const bool second = (lane & step) != 0;
      low[lane] = second ? lanes + lane - step : lane;
      high[lane] = second ? lanes + lane : lane + step;
    }
    for (int row = 0; row < lanes; ++row) {
      if ((row & step) != 0) continue;
      llvm::Value* x = vectors[row];
      llvm::Value* y = vectors[row + step];
      vectors[row] = b.CreateShuffleVector(x, y, low);
      vectors[row + step] = b.CreateShuffleVector(x, y, high);
    }
  }
}

}  // namespace kiln::cpu
