// Loads of operands in any layout, and stores of packed ones.
#include "llvm/IR/Constants.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {

llvm::Constant* GemmEmitter::LaneMask(int lanes, int64_t count) {
  std::vector<llvm::Constant*> mask;
  for (int lane = 0; lane < lanes; ++lane) mask.push_back(b_.getInt1(lane < count));
  return llvm::ConstantVector::get(mask);
}

// `count` neighbours from memory in a vector of `lanes`, never touching what lies behind them.
llvm::Value* GemmEmitter::LoadContiguous(llvm::Value* pointer, llvm::Type* scalar, int bytes, int64_t count,
                                         int lanes) {
  const llvm::Align align(bytes);
  if (lanes == 1) return b_.CreateAlignedLoad(scalar, pointer, align);
  auto* type = llvm::FixedVectorType::get(scalar, lanes);
  if (count == lanes) return b_.CreateAlignedLoad(type, pointer, align);
  if (count == 3 && lanes == 4 && bytes >= 4) {
    // A vector of three may have been written just before, by another step of a loop, in pieces: a load of all of it
    // would wait until they are in the cache.
    llvm::Value* value = llvm::Constant::getNullValue(type);
    for (uint64_t lane = 0; lane < 3; ++lane) {
      value = b_.CreateInsertElement(
          value, b_.CreateAlignedLoad(scalar, At(pointer, static_cast<int64_t>(lane) * bytes), align), lane);
    }
    return value;
  }
  if (Host().masked_moves && bytes >= 4) {
    return b_.CreateMaskedLoad(type, pointer, align, LaneMask(lanes, count), llvm::Constant::getNullValue(type));
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

GemmValue GemmEmitter::LoadLanes(llvm::Value* pointer, hlo::PrimitiveType element_type, int64_t stride, int64_t count,
                                 int lanes) {
  const int bytes = GemmArithmetic::StoredBytes(element_type);
  const int parts = arithmetic_.parts();
  llvm::Type* scalar = GemmArithmetic::StoredType(b_.getContext(), element_type, 1);
  GemmValue result;
  if (stride == 1 && parts == 1) {
    result.part[0] = arithmetic_.FromStored(b_, element_type, LoadContiguous(pointer, scalar, bytes, count, lanes));
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
  if (Host().masked_moves && bytes >= 4 && lanes >= 4) {
    // One gather instead of two instructions per lane, for the compiler's sake.
    std::vector<llvm::Constant*> offsets;
    for (int lane = 0; lane < lanes; ++lane) {
      offsets.push_back(b_.getInt64(lane < count ? lane * stride * parts * bytes : 0));
    }
    auto* type = llvm::FixedVectorType::get(scalar, lanes);
    for (int part = 0; part < parts; ++part) {
      llvm::Value* pointers =
          b_.CreateGEP(b_.getInt8Ty(), At(pointer, part * bytes), llvm::ConstantVector::get(offsets));
      llvm::Value* value = b_.CreateMaskedGather(type, pointers, llvm::Align(bytes), LaneMask(lanes, count),
                                                 llvm::Constant::getNullValue(type));
      result.part[part] = arithmetic_.FromStored(b_, element_type, value);
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
    result.part[part] = arithmetic_.FromStored(b_, element_type, value);
  }
  return result;
}

llvm::Value* GemmEmitter::LoadGroups(llvm::Value* pointer, hlo::PrimitiveType element_type, int64_t k_stride,
                                     int64_t steps, int64_t stride, int64_t count, int lanes) {
  const int bytes = GemmArithmetic::StoredBytes(element_type);
  llvm::Type* scalar = GemmArithmetic::StoredType(b_.getContext(), element_type, 1);
  llvm::Value* groups = nullptr;
  for (int64_t step = 0; step < steps; ++step) {
    llvm::Value* from = At(pointer, step * k_stride * bytes);
    llvm::Value* value = nullptr;
    if (stride == 1 || lanes == 1) {
      value = LoadContiguous(from, scalar, bytes, count, lanes);
    } else {
      value = llvm::Constant::getNullValue(llvm::FixedVectorType::get(scalar, lanes));
      for (int64_t lane = 0; lane < count; ++lane) {
        llvm::Value* element = b_.CreateAlignedLoad(scalar, At(from, lane * stride * bytes), llvm::Align(bytes));
        value = b_.CreateInsertElement(value, element, static_cast<uint64_t>(lane));
      }
    }
    llvm::Type* i32 = b_.getInt32Ty();
    value = b_.CreateZExt(value, lanes == 1 ? i32 : llvm::FixedVectorType::get(i32, lanes));
    value = b_.CreateShl(value, 8 * bytes * step);
    groups = groups == nullptr ? value : b_.CreateOr(groups, value);
  }
  return groups;
}

void GemmEmitter::StoreNative(llvm::Value* pointer, const GemmValue& value, int64_t part_stride_bytes, bool aligned) {
  for (int part = 0; part < arithmetic_.parts(); ++part) {
    const uint64_t size = module_.getDataLayout().getTypeStoreSize(value.part[part]->getType());
    const uint64_t align = aligned ? std::min<uint64_t>(size, 64) : arithmetic_.part_bytes();
    b_.CreateAlignedStore(value.part[part], At(pointer, part * part_stride_bytes), llvm::Align(align));
  }
}

void TransposeInGroups(llvm::IRBuilder<>& b, std::vector<llvm::Value*>& vectors, int lanes) {
  const int count = static_cast<int>(vectors.size());
  // The processor's own interleaving of low and high halves, of single elements and then of pairs.
  const auto interleave = [&](llvm::Value* x, llvm::Value* y, int run, bool high) {
    std::vector<int> mask;
    for (int group = 0; group < lanes; group += count) {
      for (int i = 0; i < count / 2; i += run) {
        for (int source = 0; source < 2; ++source) {
          for (int j = 0; j < run; ++j) mask.push_back(source * lanes + group + (high ? count / 2 : 0) + i + j);
        }
      }
    }
    return b.CreateShuffleVector(x, y, mask);
  };
  if (count == 2) {
    vectors = {interleave(vectors[0], vectors[1], 1, false), interleave(vectors[0], vectors[1], 1, true)};
    return;
  }
  llvm::Value* low01 = interleave(vectors[0], vectors[1], 1, false);
  llvm::Value* high01 = interleave(vectors[0], vectors[1], 1, true);
  llvm::Value* low23 = interleave(vectors[2], vectors[3], 1, false);
  llvm::Value* high23 = interleave(vectors[2], vectors[3], 1, true);
  vectors = {interleave(low01, low23, 2, false), interleave(low01, low23, 2, true),
             interleave(high01, high23, 2, false), interleave(high01, high23, 2, true)};
}

}  // namespace kiln::cpu
