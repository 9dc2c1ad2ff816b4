// Long sums of a nest, block by block.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

namespace {

// Additions in a row to one accumulator; behind so many, long enough to hide it, it is added to another one and starts
// anew. That one has fewer, since it holds more.
constexpr int64_t kSumBlock = 64;
constexpr int64_t kBlocksTogether = 16;

constexpr llvm::Align kArrayAlignment = llvm::Align::Constant<64>();

}  // namespace

std::pair<int, std::vector<int64_t>> NestLowering::BlockSums(const Reduce& reduce, const std::vector<int>& order,
                                                             int vector_loop, int lanes) {
  if (reduce.combiner != nullptr || threads_ != nullptr || reduce.inits.empty()) return {};
  bool has_sums = false;
  for (size_t i = 0; i < reduce.inits.size(); ++i) {
    const PrimitiveType type = kernel_.ops[reduce.inits[i]].type;
    const hlo::Opcode opcode = reduce.combine_opcodes[i];
    has_sums |= (hlo::IsFloating(type) || hlo::IsComplex(type)) &&
                (opcode == hlo::Opcode::kAdd || opcode == hlo::Opcode::kMultiply);
  }
  // What is found beside sums goes from block to block with them.
  if (!has_sums) return {};
  int64_t inside = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t iterations = kernel_.loops[order[i]].extent / (order[i] == vector_loop ? lanes : 1);
    if (iterations > 2 * kSumBlock / inside) {
      std::vector<int64_t> sizes = {std::max<int64_t>(kSumBlock / inside, 1)};
      while (iterations / sizes.back() > 2 * kBlocksTogether) sizes.push_back(sizes.back() * kBlocksTogether);
      return {order[i], std::move(sizes)};
    }
    inside = std::max<int64_t>(inside * iterations, 1);
  }
  return {};
}

bool NestLowering::SumsExceedRegisters(const Reduce& reduce, int lanes, size_t levels) const {
  int64_t bytes = 0;
  for (ValueId init : reduce.inits) {
    bytes += std::max<int64_t>(int64_t{lanes} * hlo::ByteWidth(kernel_.ops[init].type), target_.vector_bytes);
  }
  return lanes > 1 && bytes * static_cast<int64_t>(levels) > int64_t{target_.vector_registers} * target_.vector_bytes;
}

std::vector<Value> NestLowering::SumIdentities(const Reduce& reduce, ScalarEmitter* emitter) const {
  std::vector<Value> identities;
  for (size_t i = 0; i < reduce.inits.size(); ++i) {
    const PrimitiveType type = kernel_.ops[reduce.inits[i]].type;
    const hlo::Opcode opcode = reduce.combine_opcodes[i];
    const Value identity = emitter->Constant(CombinerIdentity(opcode, type), 0);
    const bool has_key = emitter->HasExtremeKeys(opcode, type);
    identities.push_back(has_key ? emitter->ExtremeKey(identity, opcode == hlo::Opcode::kMaximum) : identity);
  }
  return identities;
}

std::vector<Value> NestLowering::SumArrays(const std::vector<Value>& values) {
  std::vector<Value> arrays;
  for (const Value& value : values) {
    arrays.push_back(MapParts(value, [&](llvm::Value* part) -> llvm::Value* {
      llvm::AllocaInst* array = Slot(part->getType(), kArrayAlignment.value());
      b_.CreateAlignedStore(part, array, kArrayAlignment);
      return array;
    }));
  }
  return arrays;
}

std::vector<Value> NestLowering::LoadSumArrays(const ScalarEmitter& emitter, const std::vector<Value>& arrays) {
  std::vector<Value> values;
  for (const Value& array : arrays) {
    values.push_back(MapParts(array, [&](llvm::Value* part) -> llvm::Value* {
      return b_.CreateAlignedLoad(emitter.RegisterType(array.type), part, kArrayAlignment);
    }));
  }
  return values;
}

absl::Status NestLowering::AddSumArrays(const Reduce& reduce, int lanes, const std::vector<Value>& from,
                                        const std::vector<Value>& to, bool start_anew) {
  int width = 1;
  for (const Value& array : to) width = std::max(width, hlo::ByteWidth(array.type));
  ScalarEmitter piece(&b_, std::clamp(target_.vector_bytes / width, 1, lanes), target_.target);
  const std::vector<Value> identities = SumIdentities(reduce, &piece);
  const LoopBody add = [&](llvm::Value* number) -> absl::Status {
    const auto at = [&](const std::vector<Value>& arrays) {
      std::vector<Value> places;
      for (const Value& array : arrays) {
        llvm::Type* type = piece.RegisterType(array.type);
        places.push_back(MapParts(array, [&](llvm::Value* part) { return b_.CreateGEP(type, part, number); }));
      }
      return places;
    };
    const auto load = [&](const std::vector<Value>& places) {
      std::vector<Value> values;
      for (const Value& place : places) {
        llvm::Type* type = piece.RegisterType(place.type);
        values.push_back(
            MapParts(place, [&](llvm::Value* part) { return b_.CreateAlignedLoad(type, part, llvm::Align(width)); }));
      }
      return values;
    };
    const auto store = [&](const std::vector<Value>& values, const std::vector<Value>& places) {
      for (size_t i = 0; i < values.size(); ++i) {
        b_.CreateAlignedStore(values[i].value, places[i].value, llvm::Align(width));
        if (values[i].imaginary == nullptr) continue;
        b_.CreateAlignedStore(values[i].imaginary, places[i].imaginary, llvm::Align(width));
      }
    };
    const std::vector<Value> sources = at(from), sums = at(to);
    KILN_ASSIGN_OR_RETURN(const std::vector<Value> added, Combine(reduce, &piece, load(sums), load(sources)));
    store(added, sums);
    if (start_anew) store(identities, sources);
    return absl::OkStatus();
  };
  return EmitLoop(b_.getInt64(0), b_.getInt64(lanes / piece.lanes()), b_.getInt64(1), add, /*is_some=*/true);
}

}  // namespace kiln::kernel
