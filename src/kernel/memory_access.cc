#include "src/kernel/memory_access.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Metadata.h"
#include "src/base/isa_level.h"

namespace kiln::kernel {
namespace {

llvm::SmallVector<int, 64> LaneSequence(int lanes, int first, int step) {
  llvm::SmallVector<int, 64> mask;
  for (int i = 0; i < lanes; ++i) mask.push_back(first + i * step);
  return mask;
}

// How many lanes a mask that is known when code is made lets through, if those are the first ones; 0: anything else.
int FirstLanes(llvm::Value* mask, int lanes) {
  const auto* bits = llvm::dyn_cast<llvm::Constant>(mask);
  if (bits == nullptr) return 0;
  int first = 0;
  for (int i = 0; i < lanes; ++i) {
    const llvm::Constant* bit = bits->getAggregateElement(static_cast<unsigned>(i));
    if (bit == nullptr || (!bit->isNullValue() && !bit->isOneValue()) || (bit->isOneValue() && first < i)) return 0;
    first += bit->isOneValue() ? 1 : 0;
  }
  return first;
}

// Which lanes a mask may let through, as far as that is known when code is made: those of a tail, of which conditions
// leave a part, in the order in which they are read.
llvm::SmallVector<bool, 64> LanesThatMayBeAsked(llvm::Value* mask, int depth = 0) {
  constexpr int kMostDepth = 8;
  const unsigned count = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  llvm::SmallVector<bool, 64> asked(count, true);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(mask)) {
    for (unsigned i = 0; i < count; ++i) asked[i] = !constant->getAggregateElement(i)->isNullValue();
    return asked;
  }
  auto* made = llvm::dyn_cast<llvm::Instruction>(mask);
  const bool is_both = made != nullptr && made->getOpcode() == llvm::Instruction::And;
  const auto* moved = llvm::dyn_cast<llvm::ShuffleVectorInst>(mask);
  if ((!is_both && moved == nullptr) || depth == kMostDepth) return asked;
  const auto first = LanesThatMayBeAsked(made->getOperand(0), depth + 1);
  const auto second = LanesThatMayBeAsked(made->getOperand(1), depth + 1);
  for (unsigned i = 0; i < count; ++i) {
    if (is_both) {
      asked[i] = first[i] && second[i];
    } else if (const int from = moved->getMaskValue(i); from >= 0) {
      const auto lane = static_cast<size_t>(from);
      asked[i] = lane < first.size() ? first[lane] : second[lane - first.size()];
    }
  }
  return asked;
}

}  // namespace

llvm::Value* MemoryAccess::ElementPointer(llvm::Type* part, int parts, llvm::Value* base, llvm::Value* offset) {
  if (parts == 2) offset = b_.CreateShl(offset, 1);
  return b_.CreateGEP(part, base, offset);
}

Value MemoryAccess::LoadScalar(hlo::PrimitiveType type, llvm::Value* base, llvm::Value* offset) {
  llvm::Type* part = scalar_.MemoryType(type);
  const int parts = hlo::IsComplex(type) ? 2 : 1;
  llvm::Value* pointer = ElementPointer(part, parts, base, offset);
  Value value{type, scalar_.FromMemory(type, b_.CreateLoad(part, pointer))};
  if (parts == 2) value.imaginary = b_.CreateLoad(part, b_.CreateConstGEP1_64(part, pointer, 1));
  return value;
}

void MemoryAccess::StoreScalar(const Value& value, llvm::Value* base, llvm::Value* offset) {
  llvm::Type* part = scalar_.MemoryType(value.type);
  const int parts = value.imaginary != nullptr ? 2 : 1;
  llvm::Value* pointer = ElementPointer(part, parts, base, offset);
  b_.CreateStore(scalar_.ToMemory(value.type, value.value), pointer);
  if (parts == 2) b_.CreateStore(value.imaginary, b_.CreateConstGEP1_64(part, pointer, 1));
}

llvm::Value* MemoryAccess::AllLanes(llvm::Value* mask) {
  if (mask != nullptr) return mask;
  return llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), vector_.lanes()));
}

llvm::Value* MemoryAccess::ForBothParts(llvm::Value* mask) {
  if (mask == nullptr) return nullptr;
  llvm::SmallVector<int, 128> twice;
  for (int i = 0; i < vector_.lanes(); ++i) twice.append({i, i});
  return b_.CreateShuffleVector(mask, twice);
}

llvm::Value* MemoryAccess::LoadRun(llvm::Type* part, int count, llvm::Value* pointer, llvm::Value* mask) {
  const llvm::Align align(part->getScalarSizeInBits() / 8);
  llvm::Type* vector = llvm::FixedVectorType::get(part, count);
  if (mask == nullptr) return b_.CreateAlignedLoad(vector, pointer, align);
  // A shorter vector, as StoreRun writes: a load of more than a store has written would wait for it.
  if (const int first = FirstLanes(mask, count); std::has_single_bit(static_cast<unsigned>(first))) {
    llvm::Value* run = b_.CreateAlignedLoad(llvm::FixedVectorType::get(part, first), pointer, align);
    llvm::SmallVector<int, 64> lanes;
    for (int lane = 0; lane < count; ++lane) lanes.push_back(std::min(lane, first));
    return b_.CreateShuffleVector(run, llvm::Constant::getNullValue(run->getType()), lanes);
  }
  const auto masked = [&](llvm::Type* type, llvm::Value* from, llvm::Value* asked) {
    return b_.CreateMaskedLoad(type, from, align, asked, llvm::Constant::getNullValue(type));
  };
  // Registers of which no lane is asked are not loaded. LLVM 19 does so, without the mask, where it finds out by itself
  // and has masked loads of AVX2: behind the end of an array, where there may be no page.
  constexpr unsigned kRegisterBits = 256;
  const unsigned bits = part->getScalarSizeInBits();
  const int lanes = static_cast<int>(kRegisterBits / bits);
  const bool has_masks = bits >= 32 && vector_.target() == Target::kCpu && (!HasAvx512() || EmulatesIsa());
  if (!has_masks || (count > lanes && count % lanes != 0)) return masked(vector, pointer, mask);
  const llvm::SmallVector<bool, 64> asked = LanesThatMayBeAsked(mask);
  if (!llvm::is_contained(asked, false)) return masked(vector, pointer, mask);
  const int together = std::min(lanes, count);
  llvm::SmallVector<llvm::Value*, 16> registers;
  llvm::Type* type = llvm::FixedVectorType::get(part, together);
  for (int first = 0; first < count; first += together) {
    llvm::Value* loaded = llvm::Constant::getNullValue(type);
    if (llvm::is_contained(llvm::ArrayRef(asked).slice(first, together), true)) {
      loaded = masked(type, b_.CreateConstGEP1_64(part, pointer, static_cast<uint64_t>(first)),
                      b_.CreateShuffleVector(mask, LaneSequence(together, first, 1)));
    }
    registers.push_back(loaded);
  }
  return llvm::concatenateVectors(b_, registers);
}

llvm::Value* MemoryAccess::LaneOffsets(const Access& access) {
  const int lanes = vector_.lanes();
  if (access.kind == Access::Kind::kIndexed) {
    return b_.CreateSExt(access.offsets, llvm::FixedVectorType::get(b_.getInt64Ty(), lanes));
  }
  std::vector<uint64_t> steps(lanes);
  for (int i = 0; i < lanes; ++i) {
    steps[i] = static_cast<uint64_t>(access.StepOf(i));
  }
  llvm::Constant* lane_steps = llvm::ConstantDataVector::get(b_.getContext(), steps);
  return b_.CreateAdd(b_.CreateVectorSplat(lanes, access.offset), lane_steps);
}

llvm::Value* MemoryAccess::OffsetOfLane(llvm::Value* offsets, int lane) {
  auto* type = llvm::cast<llvm::FixedVectorType>(offsets->getType());
  if (!type->getElementType()->isIntegerTy(32) || type->getNumElements() % 2 != 0) {
    return b_.CreateExtractElement(offsets, b_.getInt64(lane));
  }
  // Two at once: not negative, since elements are in bounds.
  llvm::Type* pairs = llvm::FixedVectorType::get(b_.getInt64Ty(), type->getNumElements() / 2);
  llvm::Value* pair = b_.CreateExtractElement(b_.CreateBitCast(offsets, pairs), b_.getInt64(lane / 2));
  return lane % 2 == 0 ? b_.CreateAnd(pair, b_.getInt64(UINT32_MAX)) : b_.CreateLShr(pair, 32);
}

llvm::Value* MemoryAccess::LoadSpread(llvm::Type* part, llvm::Value* pointer, const Access& access, llvm::Value* mask) {
  const int lanes = vector_.lanes();
  const Spread& spread = access.spread;
  const auto count = static_cast<unsigned>(spread.high - spread.low + 1);
  int width = std::min(static_cast<int>(std::bit_floor(count)), lanes);
  std::vector<int64_t> starts = {spread.low};
  if (mask == nullptr && access.reads_around) {
    // Other accesses have the same vectors then, and none crosses a line of the cache more than the array itself does.
    width = lanes;
    starts[0] = spread.low & -int64_t{lanes};
    if (spread.high >= starts[0] + lanes) starts.push_back(starts[0] + lanes);
  } else if (count > static_cast<unsigned>(width)) {
    // The second run ends with the last element, so that nothing behind it is touched.
    starts.push_back(spread.high + 1 - width);
  }
  std::vector<llvm::Value*> runs;
  for (int64_t start : starts) {
    llvm::Value* wanted = nullptr;
    llvm::SmallVector<bool, 64> done(lanes, mask == nullptr);
    while (llvm::is_contained(done, false)) {
      // Some lane that has the element wants it: of those with one element a lane at a time.
      llvm::SmallVector<int, 64> from(width, lanes);
      for (int lane = 0; lane < lanes; ++lane) {
        const int64_t at = spread.places[lane] - start;
        const bool is_here = at >= 0 && at < width;
        if (done[lane] || (is_here && from[at] != lanes)) continue;
        done[lane] = true;
        if (is_here) from[at] = lane;
      }
      llvm::Value* some = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), from);
      wanted = wanted == nullptr ? some : b_.CreateOr(wanted, some);
    }
    runs.push_back(LoadRun(part, width, b_.CreateConstGEP1_64(part, pointer, static_cast<uint64_t>(start)), wanted));
  }
  llvm::SmallVector<int, 64> chosen;
  for (int64_t place : spread.places) {
    const auto at = static_cast<int>(place - starts[0]);
    chosen.push_back(at < width ? at : width + static_cast<int>(place - starts.back()));
  }
  return b_.CreateShuffleVector(runs.front(), runs.back(), chosen);
}

llvm::Value* MemoryAccess::LoadNearby(llvm::Type* part, llvm::Value* pointer, const Access& access, llvm::Value* mask) {
  const int lanes = vector_.lanes(), stride = static_cast<int>(access.stride);
  const int last = static_cast<int>(access.last_phase), elements = stride * (lanes - 1) + last + 1;
  const int pieces = (elements + lanes - 1) / lanes;
  llvm::Value* result = llvm::PoisonValue::get(llvm::FixedVectorType::get(part, lanes));
  for (int piece = 0; piece < pieces; ++piece) {
    // The last piece ends with the last element, so that nothing behind it is touched.
    const int start = std::min(piece * lanes, elements - lanes);
    llvm::SmallVector<int, 64> wanted, chosen;
    for (int i = 0; i < lanes; ++i) {
      const int element = start + i;
      wanted.push_back(element % stride <= last ? element / stride : lanes);
      const int from = i * stride + static_cast<int>(access.phase);
      const bool here = std::min(from / lanes, pieces - 1) == piece;
      chosen.push_back(here ? lanes + from - start : i);
    }
    llvm::Value* from = b_.CreateConstGEP1_64(part, pointer, start);
    llvm::Value* run_mask = mask;
    if (mask != nullptr) {
      run_mask = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), wanted);
    }
    result = b_.CreateShuffleVector(result, LoadRun(part, lanes, from, run_mask), chosen);
  }
  return result;
}

Value MemoryAccess::LoadVector(hlo::PrimitiveType type, llvm::Value* base, const Access& access, llvm::Value* mask) {
  const int lanes = vector_.lanes();
  llvm::Type* part = scalar_.MemoryType(type);
  const int parts = hlo::IsComplex(type) ? 2 : 1;
  llvm::Type* vector = llvm::FixedVectorType::get(part, lanes);
  Value value{type};
  switch (access.kind) {
    case Access::Kind::kUniform: {
      llvm::Value* offset = access.offset;
      if (mask != nullptr) {
        // Any lane may ask for it; element 0 stands in when none does.
        offset = b_.CreateSelect(b_.CreateOrReduce(mask), offset, b_.getInt64(0));
      }
      return vector_.Splat(LoadScalar(type, base, offset));
    }
    case Access::Kind::kContiguous:
    case Access::Kind::kReversed: {
      const bool reversed = access.kind == Access::Kind::kReversed;
      llvm::Value* first = reversed ? b_.CreateSub(access.offset, b_.getInt64(lanes - 1)) : access.offset;
      llvm::Value* pointer = ElementPointer(part, parts, base, first);
      auto in_order = [&](llvm::Value* run) {
        return reversed ? b_.CreateShuffleVector(run, LaneSequence(lanes, lanes - 1, -1)) : run;
      };
      llvm::Value* run_mask = mask == nullptr ? nullptr : in_order(mask);
      if (parts == 1) {
        return {type, vector_.FromMemory(type, in_order(LoadRun(part, lanes, pointer, run_mask)))};
      }
      llvm::Value* run = LoadRun(part, 2 * lanes, pointer, ForBothParts(run_mask));
      value.value = b_.CreateShuffleVector(run, LaneSequence(lanes, 0, 2));
      value.imaginary = b_.CreateShuffleVector(run, LaneSequence(lanes, 1, 2));
      return MapParts(value, in_order);
    }
    case Access::Kind::kSpread:
    case Access::Kind::kStrided:
      if (parts == 1 && access.kind == Access::Kind::kSpread) {
        llvm::Value* pointer = ElementPointer(part, 1, base, access.offset);
        return {type, vector_.FromMemory(type, LoadSpread(part, pointer, access, mask))};
      }
      if (parts == 1 && IsNearby(access.stride, lanes)) {
        llvm::Value* pointer = ElementPointer(part, 1, base, access.offset);
        return {type, vector_.FromMemory(type, LoadNearby(part, pointer, access, mask))};
      }
      [[fallthrough]];
    case Access::Kind::kIndexed: {
      if (mask == nullptr && lanes <= 16) {
        // Separate loads beat the gather instructions of most machines.
        llvm::Value* offsets = access.kind == Access::Kind::kIndexed ? Fenced(b_, access.offsets) : nullptr;
        value.value = llvm::PoisonValue::get(vector);
        if (parts == 2) value.imaginary = value.value;
        for (int i = 0; i < lanes; ++i) {
          llvm::Value* offset = access.kind != Access::Kind::kIndexed
                                    ? b_.CreateAdd(access.offset, b_.getInt64(static_cast<uint64_t>(access.StepOf(i))))
                                    : OffsetOfLane(offsets, i);
          llvm::Value* pointer = ElementPointer(part, parts, base, offset);
          value.value = b_.CreateInsertElement(value.value, b_.CreateLoad(part, pointer), b_.getInt64(i));
          if (parts == 2) {
            llvm::Value* second = b_.CreateLoad(part, b_.CreateConstGEP1_64(part, pointer, 1));
            value.imaginary = b_.CreateInsertElement(value.imaginary, second, b_.getInt64(i));
          }
        }
        return MapParts(value, [&](llvm::Value* stored) { return vector_.FromMemory(type, stored); });
      }
      llvm::Value* pointers = ElementPointer(part, parts, base, LaneOffsets(access));
      auto gather = [&](llvm::Value* from) {
        return vector_.FromMemory(
            type, b_.CreateMaskedGather(vector, from, llvm::Align(part->getScalarSizeInBits() / 8), AllLanes(mask),
                                        llvm::Constant::getNullValue(vector)));
      };
      value.value = gather(pointers);
      if (parts == 2) value.imaginary = gather(b_.CreateGEP(part, pointers, b_.getInt64(1)));
      return value;
    }
  }
  return value;
}

void MemoryAccess::StoreRun(llvm::Value* run, llvm::Value* pointer, llvm::Align align, llvm::Value* mask,
                            int64_t streaming) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(run->getType())->getNumElements());
  if (const int first = mask == nullptr ? 0 : FirstLanes(mask, lanes); first > 0) {
    // A load of what lies behind the last lane would wait for a masked store as if that wrote there: rows of 20 that
    // are updated in place took three times as long. The second of two stores ends with the last lane.
    const int width = static_cast<int>(std::bit_floor(static_cast<unsigned>(first)));
    b_.CreateAlignedStore(b_.CreateShuffleVector(run, LaneSequence(width, 0, 1)), pointer, align);
    if (width == first) return;
    llvm::Type* part = llvm::cast<llvm::VectorType>(run->getType())->getElementType();
    b_.CreateAlignedStore(b_.CreateShuffleVector(run, LaneSequence(width, first - width, 1)),
                          b_.CreateConstGEP1_64(part, pointer, static_cast<uint64_t>(first - width)), align);
    return;
  }
  if (mask != nullptr) {
    b_.CreateMaskedStore(run, pointer, align, mask);
    return;
  }
  if (streaming == 0) {
    b_.CreateAlignedStore(run, pointer, align);
    return;
  }
  llvm::StoreInst* store = b_.CreateAlignedStore(run, pointer, llvm::Align(static_cast<uint64_t>(streaming)));
  store->setMetadata("nontemporal", llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
}

void MemoryAccess::StoreInterleaved(absl::Span<const Value> values, llvm::Value* base, llvm::Value* offset,
                                    llvm::Value* mask, int64_t streaming) {
  const int lanes = vector_.lanes(), count = static_cast<int>(values.size());
  llvm::Type* part = scalar_.MemoryType(values[0].type);
  llvm::Value* pointer = ElementPointer(part, 1, base, offset);
  std::vector<llvm::Value*> sources;
  for (const Value& value : values) sources.push_back(vector_.ToMemory(value.type, value.value));
  for (int piece = 0; piece < count; ++piece) {
    // Element e of all is lane e / count of value e % count.
    llvm::Value* run = sources[0];
    llvm::SmallVector<int, 64> places;
    for (int i = 0; i < lanes; ++i) places.push_back((piece * lanes + i) / count);
    for (int source = 1; source < count; ++source) {
      llvm::SmallVector<int, 64> chosen;
      for (int i = 0; i < lanes; ++i) {
        const bool here = (piece * lanes + i) % count == source;
        chosen.push_back(here ? lanes + places[i] : source == 1 ? places[i] : i);
      }
      run = b_.CreateShuffleVector(run, sources[source], chosen);
    }
    llvm::Value* run_mask = mask != nullptr ? b_.CreateShuffleVector(mask, places) : nullptr;
    StoreRun(run, b_.CreateConstGEP1_64(part, pointer, static_cast<uint64_t>(piece * lanes)),
             llvm::Align(part->getScalarSizeInBits() / 8), run_mask, streaming);
  }
}

void MemoryAccess::StoreVector(const Value& value, llvm::Value* base, const Access& access, llvm::Value* mask,
                               int64_t streaming) {
  const int lanes = vector_.lanes();
  llvm::Type* part = scalar_.MemoryType(value.type);
  const int parts = value.imaginary != nullptr ? 2 : 1;
  const llvm::Align align(part->getScalarSizeInBits() / 8);
  llvm::Value* real = vector_.ToMemory(value.type, value.value);
  llvm::Value* imaginary = value.imaginary;
  if (access.kind == Access::Kind::kContiguous) {
    llvm::Value* pointer = ElementPointer(part, parts, base, access.offset);
    llvm::Value* run = real;
    llvm::Value* run_mask = mask;
    if (parts == 2) {
      llvm::SmallVector<int, 128> interleave;
      for (int i = 0; i < lanes; ++i) interleave.append({i, lanes + i});
      run = b_.CreateShuffleVector(real, imaginary, interleave);
      run_mask = ForBothParts(mask);
    }
    StoreRun(run, pointer, align, run_mask, streaming);
    return;
  }
  llvm::Value* offsets = access.kind == Access::Kind::kReversed
                             ? LaneOffsets({Access::Kind::kStrided, access.offset, nullptr, -1})
                             : LaneOffsets(access);
  llvm::Value* pointers = ElementPointer(part, parts, base, offsets);
  b_.CreateMaskedScatter(real, pointers, align, AllLanes(mask));
  if (parts == 2) {
    b_.CreateMaskedScatter(imaginary, b_.CreateGEP(part, pointers, b_.getInt64(1)), align, AllLanes(mask));
  }
}

}  // namespace kiln::kernel
