// Reductions of a nest.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "src/analysis/combiner.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

namespace {

// Vectors of which bits are kept (ScalarEmitter::ExtremeBits): what is made of them at last takes as long as some.
constexpr int64_t kLongRow = 4;

// How many lanes of a reduce's accumulators are combined at once. Combiners compare, and masks of more lanes than a
// register has are packed and taken apart again at each use.
int LanesTogether(const Kernel& kernel, const Reduce& reduce, const TargetInfo& target, int lanes) {
  if (reduce.combiner == nullptr) return lanes;
  int width = 4;
  for (ValueId init : reduce.inits) width = std::max(width, hlo::ByteWidth(kernel.ops[init].type));
  return std::min(lanes, std::max(target.vector_bytes / width, 1));
}

// Whether the indices of a reduce by index grow with its loop, from one that is not below its initial value.
bool IndicesGrow(const Kernel& kernel, const Reduce& reduce) {
  if (reduce.order != Reduce::Order::kByIndex) return false;
  const Op &index = kernel.ops[reduce.elements[1]], &init = kernel.ops[reduce.inits[1]];
  if (index.kind != OpKind::kIndex || init.kind != OpKind::kConstant) return false;
  const IndexRange range = kernel.terms.RangeOf(index.offset);
  const int64_t extent = kernel.loops[reduce.loops[0]].extent;
  int64_t stride = 0;
  return hlo::ByteWidth(index.type) >= 4 && extent <= INT32_MAX && range.high <= INT32_MAX &&
         range.low >= hlo::ElementAsInt64(init.literal, init.literal_index) &&
         LinearStride(kernel.terms, index.offset, reduce.loops[0], static_cast<int>(extent), &stride) && stride > 0;
}

}  // namespace

absl::StatusOr<std::vector<Value>> NestLowering::Combine(const Reduce& reduce, ScalarEmitter* emitter,
                                                         const std::vector<Value>& accumulators,
                                                         const std::vector<Value>& elements) {
  if (reduce.combiner == nullptr) {
    std::vector<Value> combined;
    for (size_t i = 0; i < elements.size(); ++i) {
      KILN_ASSIGN_OR_RETURN(Value one, EmitElementwise(emitter, reduce.combine_opcodes[i], nullptr,
                                                       accumulators[i].type, {accumulators[i], elements[i]}));
      if (reduce.combine_opcodes[i] == hlo::Opcode::kAdd && JoinsSum(elements[i].value)) MayJoinSum(one.value);
      combined.push_back(one);
    }
    return combined;
  }
  std::vector<Value> arguments = accumulators;
  arguments.insert(arguments.end(), elements.begin(), elements.end());
  return EmitScalarComputation(emitter, *reduce.combiner, arguments);
}

std::vector<Value> NestLowering::KeepBest(const Reduce& reduce, ScalarEmitter* emitter,
                                          const std::vector<Value>& accumulators, const std::vector<Value>& elements) {
  const bool largest = analysis::KeepsBest(*reduce.combiner) == hlo::ComparisonDirection::kGt;
  const PrimitiveType type = accumulators[0].type;
  const auto key = [&](const Value& value) {
    return (hlo::IsFloating(type) && type != PrimitiveType::kF64 ? emitter->Convert(value, PrimitiveType::kF32) : value)
        .value;
  };
  llvm::Value *best = key(accumulators[0]), *other = key(elements[0]), *taken;
  if (hlo::IsFloating(type)) {
    // NaN is better than any number, and the first one stays.
    taken = b_.CreateAnd(b_.CreateFCmpORD(best, best),
                         largest ? b_.CreateFCmpULT(best, other) : b_.CreateFCmpUGT(best, other));
  } else if (hlo::IsSignedIntegral(type)) {
    taken = largest ? b_.CreateICmpSLT(best, other) : b_.CreateICmpSGT(best, other);
  } else {
    taken = largest ? b_.CreateICmpULT(best, other) : b_.CreateICmpUGT(best, other);
  }
  return {emitter->Select(taken, elements[0], accumulators[0]), emitter->Select(taken, elements[1], accumulators[1])};
}

void NestLowering::BoundLoops(const Reduce& reduce, int vector_loop) {
  if (reduce.inside == kNoValue || threads_ != nullptr) return;
  const Op& inside = kernel_.ops[reduce.inside];
  for (size_t i = 0; i < inside.conditions.size() && i < 64; ++i) {
    const Condition& condition = inside.conditions[i];
    // The one loop of the reduce that the condition is about.
    const auto& terms = condition.expr.terms;
    const auto own = absl::c_find_if(terms, [&](const auto& part) {
      const IndexTerms::Term& term = kernel_.terms.term(part.first);
      return term.kind == IndexTerms::Kind::kLoop && absl::c_linear_search(reduce.loops, term.id);
    });
    if (own == terms.end()) continue;
    const int loop = kernel_.terms.term(own->first).id;
    const int64_t coefficient = own->second;
    IndexExpr rest = condition.expr;
    rest.terms.erase(rest.terms.begin() + (own - terms.begin()));
    const uint64_t others = kernel_.terms.LoopsOf(rest);
    if (loop == vector_loop || coefficient <= 0 || (others & SetOf(reduce.loops)) != 0 || Varies(others)) continue;
    bounds_[loop].push_back({rest, coefficient, condition.low, condition.high});
    enforced_[reduce.inside] |= uint64_t{1} << i;
  }
}

absl::Status NestLowering::LowerReduce(int number) {
  const Reduce& reduce = kernel_.reduces[number];
  const ReduceSchedule& schedule = schedule_.reduces[number];
  const bool outer_vector = Varies(reduce.outer_loops);
  const bool own_vector = schedule.vector_loop >= 0 && !outer_vector;
  const bool over_group = schedule.over_group && threads_ != nullptr;
  // Many accumulators, which are combined in the end; the initial value comes in once then.
  const bool split = own_vector || over_group;
  const int all_lanes = own_vector ? schedule.lanes : outer_vector ? vector_->lanes() : 1;
  const int lanes = LanesTogether(kernel_, reduce, target_, all_lanes);
  ScalarEmitter part_emitter(&b_, lanes, target_.target);
  ScalarEmitter* emitter = &part_emitter;
  const size_t count = reduce.inits.size();
  std::vector<Value> inits;
  for (ValueId init : reduce.inits) inits.push_back(Get(init, outer_vector));

  // Without an identity the first elements start the accumulators; `empty` tells whether they are due.
  const bool grow = threads_ == nullptr && IndicesGrow(kernel_, reduce);
  const bool takes_first = split && reduce.combiner != nullptr && !grow;
  std::vector<Value> start = inits;
  if (split) {
    for (size_t i = 0; i < count; ++i) {
      // The best of some elements may well include the initial value more than once.
      start[i] = grow ? emitter->Splat(inits[i])
                 : reduce.combiner != nullptr
                     ? emitter->Zero(inits[i].type)
                     : emitter->Constant(CombinerIdentity(reduce.combine_opcodes[i], inits[i].type), 0);
    }
  }
  // The larger of two numbers takes several instructions, of two keys one.
  const auto is_max = [&](size_t i) { return reduce.combine_opcodes[i] == hlo::Opcode::kMaximum; };
  const auto has_keys = [&](size_t i) {
    return threads_ == nullptr && reduce.combiner == nullptr &&
           emitter->HasExtremeKeys(reduce.combine_opcodes[i], inits[i].type);
  };
  const auto to_keys = [&](ScalarEmitter* of, std::vector<Value>* values) {
    for (size_t i = 0; i < count; ++i) {
      if (has_keys(i)) (*values)[i] = of->ExtremeKey((*values)[i], is_max(i));
    }
  };
  // Of long rows bits are kept instead, three for a float, until its key is made of them.
  const bool in_bits = own_vector && count == 1 && has_keys(0) && ScalarEmitter::HasExtremeBits(inits[0].type) &&
                       kernel_.loops[schedule.vector_loop].extent >= kLongRow * all_lanes;
  using Slots = std::vector<Value>;  // where the parts are
  auto store = [&](const std::vector<Value>& values, const Slots& to) {
    for (size_t i = 0; i < values.size(); ++i) {
      b_.CreateStore(values[i].value, to[i].value);
      if (to[i].imaginary != nullptr) b_.CreateStore(values[i].imaginary, to[i].imaginary);
    }
  };
  auto new_slots = [&](const std::vector<Value>& values) {
    Slots made;
    for (const Value& value : values) {
      made.push_back(MapParts(value, [&](llvm::Value* part) { return Slot(part->getType()); }));
    }
    store(values, made);
    return made;
  };
  std::vector<Slots> parts;  // of `lanes` each
  for (int first = 0; first < all_lanes; first += lanes) {
    std::vector<Value> own = start;
    for (Value& value : own) value = split ? value : Lanes(value, first, lanes);
    if (in_bits) {
      own = emitter->ExtremeBits(own[0]);
    } else {
      to_keys(emitter, &own);
    }
    parts.push_back(new_slots(own));
  }
  llvm::AllocaInst* empty = nullptr;
  if (takes_first) {
    empty = Slot(b_.getInt1Ty());
    b_.CreateStore(b_.getTrue(), empty);
  }
  auto load = [&](const Slots& from) {
    std::vector<Value> values;
    for (const Value& slot : from) {
      values.push_back(MapParts(
          slot, [&, type = emitter->RegisterType(slot.type)](llvm::Value* part) { return b_.CreateLoad(type, part); }));
    }
    return values;
  };
  auto innermost = [&]() -> absl::Status {
    llvm::Value* holds = nullptr;
    if (reduce.predicate != kNoValue) {
      holds = Get(reduce.predicate, own_vector || outer_vector).value;
      const auto* always = llvm::dyn_cast<llvm::Constant>(holds);
      if (always != nullptr && always->isAllOnesValue()) holds = nullptr;
    }
    llvm::Value* first = takes_first ? b_.CreateLoad(b_.getInt1Ty(), empty) : nullptr;
    const auto choose = [&](llvm::Value* mask, int lane, std::vector<Value>* values, const std::vector<Value>& others) {
      if (mask == nullptr) return;
      if (mask->getType()->isVectorTy()) mask = Lanes({PrimitiveType::kPred, mask}, lane, lanes).value;
      for (size_t i = 0; i < values->size(); ++i) (*values)[i] = emitter->Select(mask, (*values)[i], others[i]);
    };
    for (size_t part = 0; part < parts.size(); ++part) {
      const int lane = static_cast<int>(part) * lanes;
      const std::vector<Value> current = load(parts[part]);
      std::vector<Value> elements;
      for (ValueId element : reduce.elements) {
        elements.push_back(Lanes(Get(element, own_vector || outer_vector), lane, lanes));
      }
      if (!in_bits) to_keys(emitter, &elements);
      std::vector<Value> combined;
      if (in_bits) {
        combined = emitter->KeepExtremeBits(current, emitter->ExtremeBits(elements[0]));
      } else if (grow) {
        combined = KeepBest(reduce, emitter, current, elements);
      } else {
        KILN_ASSIGN_OR_RETURN(combined, Combine(reduce, emitter, current, elements));
      }
      if (first != nullptr) {
        std::vector<Value> begun = elements;
        choose(first, lane, &begun, combined);
        combined = std::move(begun);
      }
      choose(holds, lane, &combined, current);
      choose(!own_vector || mask_ == nullptr ? nullptr : in_pairs_ ? InPairs(mask_) : mask_, lane, &combined, current);
      store(combined, parts[part]);
    }
    // Schedules give lanes only to reduces without a predicate, so that all lanes begin together.
    if (takes_first) {
      b_.CreateStore(holds != nullptr ? b_.CreateAnd(first, b_.CreateNot(holds)) : b_.getFalse(), empty);
    }
    return absl::OkStatus();
  };
  if (!over_group) BoundLoops(reduce, own_vector ? schedule.vector_loop : -1);
  // A mask of the outer vector does not concern the accumulators: lanes past the end are never stored.
  Loops loops{schedule.order, {}, own_vector ? schedule.vector_loop : -1, all_lanes};
  loops.are_unrolled = ReadsUnrolledRowTile(reduce);
  if (over_group) loops.segments.push_back({0, static_cast<int>(schedule.order.size()), threads_->OverGroup()});
  const auto [blocked, sizes] = BlockSums(reduce, schedule.order, loops.vector_loop, all_lanes);
  // What each level adds up, innermost first. Between blocks all hold nothing but the last, which begins as the first
  // would without them.
  std::vector<Slots> levels = {parts[0]};
  const bool in_memory = !sizes.empty() && SumsExceedRegisters(reduce, all_lanes, sizes.size() + 1);
  const std::vector<Value> nothing = sizes.empty() ? std::vector<Value>() : SumIdentities(reduce, emitter);
  for (size_t level = 0; level < sizes.size(); ++level) {
    const std::vector<Value> first = level + 1 < sizes.size() ? nothing : load(parts[0]);
    levels.push_back(in_memory ? SumArrays(first) : new_slots(first));
    const auto begin = [&, level, from = levels[level]] {
      if (level == 0 || !in_memory) store(nothing, from);
    };
    const auto add = [&, level](const Slots& from, const Slots& to) -> absl::Status {
      if (in_memory) return AddSumArrays(reduce, lanes, level == 0 ? SumArrays(load(from)) : from, to, level > 0);
      KILN_ASSIGN_OR_RETURN(std::vector<Value> sums, Combine(reduce, emitter, load(to), load(from)));
      store(sums, to);
      return absl::OkStatus();
    };
    const auto finish = [&, add, level] { return add(levels[level], levels[level + 1]); };
    blocks_[blocked].push_back({sizes[level], begin, finish, nullptr});
    if (level == 0) blocks_[blocked][0].finish_rest = [&, add] { return add(levels.front(), levels.back()); };
  }
  const bool outer_pairs = std::exchange(in_pairs_, own_vector && TakesPairs(reduce, schedule));
  const absl::Status lowered = LowerLevel(*reduce.block, loops, 0, innermost);
  in_pairs_ = outer_pairs;
  if (!sizes.empty()) blocks_.erase(blocked);
  KILN_RETURN_IF_ERROR(lowered);
  std::vector<Value> results = in_memory ? LoadSumArrays(*emitter, levels.back()) : load(levels.back());
  if (own_vector) {
    for (size_t part = 1; part < parts.size(); ++part) {
      KILN_ASSIGN_OR_RETURN(results, CombineParts(reduce, emitter, std::move(results), load(parts[part])));
    }
    const int left = in_bits ? KeyOfBits(inits[0].type, is_max(0), lanes, &results) : lanes;
    KILN_ASSIGN_OR_RETURN(results, CombineLanes(reduce, std::move(results), left));
  }
  if (!own_vector && parts.size() > 1) {
    std::vector<llvm::SmallVector<llvm::Value*, 16>> values(count), imaginary(count);
    for (const Slots& part : parts) {
      const std::vector<Value> own = load(part);
      for (size_t i = 0; i < count; ++i) {
        values[i].push_back(own[i].value);
        imaginary[i].push_back(own[i].imaginary);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      results[i].value = llvm::concatenateVectors(b_, values[i]);
      if (results[i].imaginary != nullptr) results[i].imaginary = llvm::concatenateVectors(b_, imaginary[i]);
    }
  }
  if (over_group) {
    llvm::Value* has = takes_first ? b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), empty)) : nullptr;
    KILN_ASSIGN_OR_RETURN(results, CombineGroup(reduce, std::move(results), has));
  }
  ScalarEmitter* of_results = own_vector ? &scalar_ : emitter;
  for (size_t i = 0; i < count; ++i) {
    if (has_keys(i)) results[i] = of_results->OfExtremeKey(results[i], inits[i].type, is_max(i));
  }
  if (split && !grow) {
    KILN_ASSIGN_OR_RETURN(results, Combine(reduce, &scalar_, inits, results));
  }
  for (size_t i = 0; i < count; ++i) values_[reduce.results[i]] = results[i];
  return absl::OkStatus();
}

int NestLowering::KeyOfBits(PrimitiveType type, bool is_max, int lanes, std::vector<Value>* values) {
  const int together = std::max(target_.vector_bytes / hlo::ByteWidth(type), 1);
  while (lanes > together) {
    lanes /= 2;
    std::vector<Value> low, high;
    for (const Value& value : *values) {
      low.push_back(Lanes(value, 0, lanes));
      high.push_back(Lanes(value, lanes, lanes));
    }
    *values = ScalarEmitter(&b_, lanes, target_.target).KeepExtremeBits(low, high);
  }
  ScalarEmitter rest(&b_, lanes, target_.target);
  *values = {rest.ExtremeKey(rest.OfExtremeBits(*values, type, is_max), is_max)};
  return lanes;
}

absl::StatusOr<std::vector<Value>> NestLowering::CombineGroup(const Reduce& reduce, std::vector<Value> values,
                                                              llvm::Value* has) {
  if (has == nullptr) {
    return threads_->CombineOverGroup(
        std::move(values), /*commutative=*/true,
        [&](const std::vector<Value>& a, const std::vector<Value>& b) { return Combine(reduce, &scalar_, a, b); });
  }
  values.push_back({PrimitiveType::kPred, has});
  auto combine = [&](std::vector<Value> a, std::vector<Value> b) -> absl::StatusOr<std::vector<Value>> {
    llvm::Value* has_a = a.back().value;
    llvm::Value* has_b = b.back().value;
    a.pop_back();
    b.pop_back();
    KILN_ASSIGN_OR_RETURN(std::vector<Value> both, Combine(reduce, &scalar_, a, b));
    for (size_t i = 0; i < both.size(); ++i) {
      both[i] = scalar_.Select(has_a, scalar_.Select(has_b, both[i], a[i]), b[i]);
    }
    both.push_back({PrimitiveType::kPred, b_.CreateOr(has_a, has_b)});
    return both;
  };
  KILN_ASSIGN_OR_RETURN(values, threads_->CombineOverGroup(std::move(values), /*commutative=*/false, combine));
  values.pop_back();
  return values;
}

absl::StatusOr<std::vector<Value>> NestLowering::CombineLanes(const Reduce& reduce, std::vector<Value> values,
                                                              int lanes) {
  bool extremes = reduce.combiner == nullptr && lanes > 2;
  int width = 1;
  for (size_t i = 0; extremes && i < values.size(); ++i) {
    extremes = ScalarEmitter::HasExtremeLane(reduce.combine_opcodes[i], kernel_.ops[reduce.inits[i]].type);
    width = std::max(width, hlo::ByteWidth(values[i].type));
  }
  // Extremes are found in one register: the work on more of them would be the same several times.
  const int together = std::max(target_.vector_bytes / width, 2);
  while (lanes > 1) {
    if (extremes && lanes <= together) {
      ScalarEmitter all(&b_, lanes, target_.target);
      for (size_t i = 0; i < values.size(); ++i) {
        const bool is_max = reduce.combine_opcodes[i] == hlo::Opcode::kMaximum;
        const PrimitiveType type = values[i].type;
        // The accumulators may be keys already.
        if (hlo::IsFloating(type)) values[i] = all.ExtremeKey(values[i], is_max);
        values[i] = all.ExtremeLane(values[i], is_max);
        if (hlo::IsFloating(type)) values[i] = scalar_.OfExtremeKey(values[i], type, is_max);
      }
      return values;
    }
    lanes /= 2;
    ScalarEmitter half(&b_, lanes, target_.target);
    std::vector<Value> low, high;
    for (const Value& value : values) {
      low.push_back(Lanes(value, 0, lanes));
      high.push_back(Lanes(value, lanes, lanes));
    }
    KILN_ASSIGN_OR_RETURN(values, CombineParts(reduce, &half, std::move(low), std::move(high)));
  }
  return values;
}

absl::StatusOr<std::vector<Value>> NestLowering::CombineParts(const Reduce& reduce, ScalarEmitter* emitter,
                                                              std::vector<Value> low, std::vector<Value> high) {
  if (reduce.order == Reduce::Order::kByIndex) {
    const bool is_signed = hlo::IsSignedIntegral(low[1].type);
    llvm::Value* swapped =
        is_signed ? b_.CreateICmpSGT(low[1].value, high[1].value) : b_.CreateICmpUGT(low[1].value, high[1].value);
    for (size_t i = 0; i < low.size(); ++i) {
      const Value first = emitter->Select(swapped, high[i], low[i]);
      high[i] = emitter->Select(swapped, low[i], high[i]);
      low[i] = first;
    }
    return KeepBest(reduce, emitter, low, high);
  }
  return Combine(reduce, emitter, low, high);
}

Value NestLowering::Lanes(const Value& value, int first, int count) {
  llvm::SmallVector<int, 64> lanes(count);
  std::iota(lanes.begin(), lanes.end(), first);
  return MapParts(value, [&](llvm::Value* all) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(all->getType());
    if (type == nullptr || static_cast<int>(type->getNumElements()) == count) return all;
    return count == 1 ? b_.CreateExtractElement(all, b_.getInt64(first)) : b_.CreateShuffleVector(all, lanes);
  });
}

llvm::AllocaInst* NestLowering::Slot(llvm::Type* type, uint64_t alignment) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  if (alignment > 0) slot->setAlignment(llvm::Align(alignment));
  return slot;
}

void NestLowering::CallByName(absl::string_view name, absl::Span<llvm::Value* const> arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  b_.CreateCall(b_.GetInsertBlock()->getModule()->getOrInsertFunction(
                    llvm::StringRef(name.data(), name.size()),
                    llvm::FunctionType::get(b_.getVoidTy(), types, /*isVarArg=*/false)),
                llvm::ArrayRef(arguments.data(), arguments.size()));
}

}  // namespace kiln::kernel
