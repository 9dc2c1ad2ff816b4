// Reductions of a nest.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/kernel/nest_lowering.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

namespace {

// Additions in a row to one accumulator; behind so many, long enough to hide it, it is added to another one and starts
// anew. That one has fewer, since it holds more.
constexpr int64_t kSumBlock = 64;
constexpr int64_t kBlocksTogether = 16;

}  // namespace

absl::StatusOr<std::vector<Value>> NestLowering::Combine(const Reduce& reduce, ScalarEmitter* emitter,
                                                         const std::vector<Value>& accumulators,
                                                         const std::vector<Value>& elements) {
  if (reduce.combiner == nullptr) {
    std::vector<Value> combined;
    for (size_t i = 0; i < elements.size(); ++i) {
      KILN_ASSIGN_OR_RETURN(Value one, EmitElementwise(emitter, reduce.combine_opcodes[i], nullptr,
                                                       accumulators[i].type, {accumulators[i], elements[i]}));
      combined.push_back(one);
    }
    return combined;
  }
  std::vector<Value> arguments = accumulators;
  arguments.insert(arguments.end(), elements.begin(), elements.end());
  return EmitScalarComputation(emitter, *reduce.combiner, arguments);
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

std::pair<int, std::vector<int64_t>> NestLowering::BlockSums(const Reduce& reduce, const std::vector<int>& order,
                                                             int vector_loop, int lanes) {
  if (reduce.combiner != nullptr || threads_ != nullptr) return {};
  for (size_t i = 0; i < reduce.inits.size(); ++i) {
    const PrimitiveType type = kernel_.ops[reduce.inits[i]].type;
    const hlo::Opcode opcode = reduce.combine_opcodes[i];
    if (!hlo::IsFloating(type) && !hlo::IsComplex(type)) return {};
    if (opcode != hlo::Opcode::kAdd && opcode != hlo::Opcode::kMultiply) return {};
  }
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

absl::Status NestLowering::LowerReduce(int number) {
  const Reduce& reduce = kernel_.reduces[number];
  const ReduceSchedule& schedule = schedule_.reduces[number];
  const bool outer_vector = Varies(reduce.outer_loops);
  const bool own_vector = schedule.vector_loop >= 0 && !outer_vector;
  const bool over_group = schedule.over_group && threads_ != nullptr;
  // Many accumulators, which are combined in the end; the initial value comes in once then.
  const bool split = own_vector || over_group;
  const int lanes = own_vector ? schedule.lanes : outer_vector ? vector_->lanes() : 1;
  ScalarEmitter lane_emitter(&b_, lanes, target_.target);
  ScalarEmitter* emitter = own_vector ? &lane_emitter : outer_vector ? vector_.get() : &scalar_;
  const size_t count = reduce.inits.size();
  std::vector<Value> inits;
  for (ValueId init : reduce.inits) inits.push_back(Get(init, outer_vector));

  // Without an identity the first elements start the accumulators; `empty` tells whether they are due.
  const bool takes_first = split && reduce.combiner != nullptr;
  std::vector<Value> start = inits;
  if (split) {
    for (size_t i = 0; i < count; ++i) {
      start[i] = reduce.combiner != nullptr
                     ? emitter->Zero(inits[i].type)
                     : emitter->Constant(CombinerIdentity(reduce.combine_opcodes[i], inits[i].type), 0);
    }
  }
  using Slots = std::vector<Value>;  // where the parts are
  auto store = [&](const std::vector<Value>& values, const Slots& to) {
    for (size_t i = 0; i < count; ++i) {
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
  const Slots slots = new_slots(start);
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
    std::vector<Value> current = load(slots);
    std::vector<Value> elements;
    for (ValueId element : reduce.elements) elements.push_back(Get(element, own_vector || outer_vector));
    KILN_ASSIGN_OR_RETURN(std::vector<Value> combined, Combine(reduce, emitter, current, elements));
    llvm::Value* holds = nullptr;
    if (reduce.predicate != kNoValue) {
      holds = Get(reduce.predicate, own_vector || outer_vector).value;
      const auto* always = llvm::dyn_cast<llvm::Constant>(holds);
      if (always != nullptr && always->isAllOnesValue()) holds = nullptr;
    }
    if (takes_first) {
      llvm::Value* first = b_.CreateLoad(b_.getInt1Ty(), empty);
      for (size_t i = 0; i < count; ++i) combined[i] = emitter->Select(first, elements[i], combined[i]);
      // Schedules give lanes only to reduces without a predicate, so that all lanes begin together.
      b_.CreateStore(holds != nullptr ? b_.CreateAnd(first, b_.CreateNot(holds)) : b_.getFalse(), empty);
    }
    if (holds != nullptr) {
      for (size_t i = 0; i < count; ++i) combined[i] = emitter->Select(holds, combined[i], current[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      if (own_vector && mask_ != nullptr) combined[i] = emitter->Select(mask_, combined[i], current[i]);
    }
    store(combined, slots);
    return absl::OkStatus();
  };
  if (!over_group) BoundLoops(reduce, own_vector ? schedule.vector_loop : -1);
  // A mask of the outer vector does not concern the accumulators: lanes past the end are never stored.
  Loops loops{schedule.order, {}, own_vector ? schedule.vector_loop : -1, lanes};
  if (over_group) loops.segments.push_back({0, static_cast<int>(schedule.order.size()), threads_->OverGroup()});
  const auto [blocked, sizes] = BlockSums(reduce, schedule.order, loops.vector_loop, lanes);
  // What each level adds up, innermost first.
  std::vector<Slots> levels = {slots};
  for (int64_t size : sizes) {
    std::vector<Value> nothing;
    for (size_t i = 0; i < count; ++i) {
      nothing.push_back(emitter->Constant(CombinerIdentity(reduce.combine_opcodes[i], start[i].type), 0));
    }
    levels.push_back(new_slots(nothing));
    blocks_[blocked].push_back({size, [&, nothing, from = levels.end()[-2], to = levels.back()]() -> absl::Status {
                                  KILN_ASSIGN_OR_RETURN(std::vector<Value> sums,
                                                        Combine(reduce, emitter, load(to), load(from)));
                                  store(sums, to);
                                  store(nothing, from);
                                  return absl::OkStatus();
                                }});
  }
  const absl::Status lowered = LowerLevel(*reduce.block, loops, 0, innermost);
  if (!sizes.empty()) blocks_.erase(blocked);
  KILN_RETURN_IF_ERROR(lowered);
  std::vector<Value> results = load(slots);
  for (size_t level = 1; level < levels.size(); ++level) {
    KILN_ASSIGN_OR_RETURN(results, Combine(reduce, emitter, load(levels[level]), results));
  }
  if (own_vector) {
    KILN_ASSIGN_OR_RETURN(results, CombineLanes(reduce, std::move(results), lanes));
  }
  if (over_group) {
    llvm::Value* has = takes_first ? b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), empty)) : nullptr;
    KILN_ASSIGN_OR_RETURN(results, CombineGroup(reduce, std::move(results), has));
  }
  if (split) {
    KILN_ASSIGN_OR_RETURN(results, Combine(reduce, &scalar_, inits, results));
  }
  for (size_t i = 0; i < count; ++i) values_[reduce.results[i]] = results[i];
  return absl::OkStatus();
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
  while (lanes > 1) {
    lanes /= 2;
    ScalarEmitter half(&b_, lanes, target_.target);
    auto take = [&](const Value& value, int first) {
      llvm::SmallVector<int, 64> mask(lanes);
      std::iota(mask.begin(), mask.end(), first);
      return MapParts(value, [&](llvm::Value* vector) {
        return lanes == 1 ? b_.CreateExtractElement(vector, b_.getInt64(first)) : b_.CreateShuffleVector(vector, mask);
      });
    };
    std::vector<Value> low, high;
    for (const Value& value : values) {
      low.push_back(take(value, 0));
      high.push_back(take(value, lanes));
    }
    if (reduce.order == Reduce::Order::kByIndex) {
      const bool is_signed = hlo::IsSignedIntegral(low[1].type);
      llvm::Value* swapped =
          is_signed ? b_.CreateICmpSGT(low[1].value, high[1].value) : b_.CreateICmpUGT(low[1].value, high[1].value);
      for (size_t i = 0; i < low.size(); ++i) {
        const Value first = half.Select(swapped, high[i], low[i]);
        high[i] = half.Select(swapped, low[i], high[i]);
        low[i] = first;
      }
    }
    KILN_ASSIGN_OR_RETURN(values, Combine(reduce, &half, low, high));
  }
  return values;
}

llvm::AllocaInst* NestLowering::Slot(llvm::Type* type, uint64_t alignment) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  if (alignment > 0) slot->setAlignment(llvm::Align(alignment));
  return slot;
}

}  // namespace kiln::kernel
