#include "src/kernel/body_builder.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "src/analysis/combiner.h"
#include "src/base/status.h"
#include "src/kernel/counted_index.h"
#include "src/kernel/scalar_computation.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

namespace {

// Bodies beyond this size are not worth one kernel, and bound what a hostile program can make the compiler do.
constexpr size_t kMaxOps = 8192;
constexpr int kMaxDepth = 2000;
// Divisions of divisions, as reshapes between transposes make them, can double with every op.
constexpr int64_t kMaxIndexTerms = 512;
constexpr int64_t kMaxReciprocals = 1 << 14;

}  // namespace

absl::StatusOr<Index> BodyBuilder::NewLoops(absl::Span<const int64_t> extents, LoopKind kind, std::vector<int>* loops) {
  Index variables;
  for (int64_t extent : extents) {
    variables.emplace_back();
    if (extent == 1) continue;
    if (kernel_.loops.size() >= kMaxLoops) return ResourceExhausted("a kernel with more than ", kMaxLoops, " loops");
    loops->push_back(static_cast<int>(kernel_.loops.size()));
    kernel_.loops.push_back({extent, kind});
    variables.back() = kernel_.terms.Loop(loops->back(), extent);
  }
  return variables;
}

absl::StatusOr<Index> BodyBuilder::BeginNest(absl::Span<const int64_t> extents, LoopKind kind, int parallel) {
  Nest nest;
  KILN_ASSIGN_OR_RETURN(Index variables, NewLoops(extents, kind, &nest.loops));
  // Dimensions of one element have no loop.
  const auto in_front = extents.first(static_cast<size_t>(parallel));
  const auto loops = in_front.size() - static_cast<size_t>(absl::c_count(in_front, 1));
  for (size_t i = 0; i < loops; ++i) kernel_.loops[nest.loops[i]].kind = LoopKind::kParallel;
  const uint64_t set = SetOf(nest.loops);
  kernel_.nests.push_back(std::move(nest));
  open_.assign(1, OpenBlock{&kernel_.nests.back().body, set});
  // Values of another nest are computed anew: they live in its loops.
  memo_.clear();
  symbols_.clear();
  return variables;
}

void BodyBuilder::BindExternal(const Instruction* instruction, const Index& index) {
  external_ = instruction;
  external_index_ = index;
}

void BodyBuilder::EndNest() { open_.clear(); }

Block* BodyBuilder::BlockOf(uint64_t loops) {
  size_t level = 0;
  for (; level + 1 < open_.size(); ++level) {
    loops &= ~open_[level].loops;
    if (loops == 0) break;
  }
  return open_[level].block;
}

ValueId BodyBuilder::AddOp(Op op) {
  for (ValueId operand : op.operands) op.loops |= kernel_.ops[operand].loops;
  if (op.predicate != kNoValue) op.loops |= kernel_.ops[op.predicate].loops;
  op.loops |= kernel_.terms.LoopsOf(op.offset);
  for (const Condition& condition : op.conditions) op.loops |= kernel_.terms.LoopsOf(condition.expr);
  ValueId id = static_cast<ValueId>(kernel_.ops.size());
  BlockOf(op.loops)->statements.push_back({Block::Kind::kOp, id});
  kernel_.ops.push_back(std::move(op));
  return id;
}

bool BodyBuilder::Implies(ValueId predicate, const IndexExpr& expr) const {
  if (predicate == kNoValue) return false;
  const Op& op = kernel_.ops[predicate];
  const bool is_conjunction = op.kind == OpKind::kElementwise && op.opcode == Opcode::kAnd;
  if (op.kind != OpKind::kCondition && !is_conjunction) return false;
  return absl::c_any_of(op.conditions,
                        [&](const Condition& c) { return c.low == 0 && c.high == 1 && c.expr == expr; }) ||
         absl::c_any_of(op.operands, [&](ValueId operand) { return Implies(operand, expr); });
}

IndexExpr BodyBuilder::WhereHolds(ValueId predicate, IndexExpr offset) {
  if (predicate == kNoValue) return offset;
  for (const auto& [number, coefficient] : IndexExpr(offset).terms) {
    const IndexTerms::Term term = kernel_.terms.term(number);
    if (term.kind != IndexTerms::Kind::kFloorDiv || coefficient % term.divisor != 0 ||
        !Implies(predicate, kernel_.terms.Mod(term.inner, term.divisor))) {
      continue;
    }
    IndexExpr quotient;
    quotient.terms.emplace_back(number, coefficient);
    offset = offset - quotient + term.inner * (coefficient / term.divisor);
  }
  return offset;
}

ValueId BodyBuilder::AddLoad(int parameter, const Index& index, ValueId predicate) {
  const Parameter& p = kernel_.parameters[parameter];
  return AddOp({.kind = OpKind::kLoad,
                .type = p.type,
                // What is also written is read anew in every iteration.
                .loops = p.is_updated ? open_[0].loops : 0,
                .parameter = parameter,
                .offset = WhereHolds(predicate, kernel_.terms.Recombine(Linearize(index, p.dimensions))),
                .predicate = predicate});
}

ValueId BodyBuilder::AddElementwise(Opcode opcode, PrimitiveType type, std::vector<ValueId> operands,
                                    const Instruction* instruction) {
  return AddOp({.kind = OpKind::kElementwise,
                .type = type,
                .operands = std::move(operands),
                .opcode = opcode,
                .instruction = instruction});
}

ValueId BodyBuilder::Converted(ValueId value, PrimitiveType type) {
  return kernel_.ops[value].type == type ? value : AddElementwise(Opcode::kConvert, type, {value});
}

ValueId BodyBuilder::AddConstant(const hlo::Literal& literal, int64_t element) {
  const PrimitiveType type = literal.shape().element_type();
  return AddOp({.kind = OpKind::kConstant, .type = type, .literal = literal, .literal_index = element});
}

ValueId BodyBuilder::AddCondition(std::vector<Condition> conditions, ValueId also, bool* never) {
  *never = false;
  std::vector<Condition> needed;
  for (Condition& condition : conditions) {
    IndexRange range = kernel_.terms.RangeOf(condition.expr);
    if (range.low >= condition.low && range.high < condition.high) continue;
    if (range.high < condition.low || range.low >= condition.high) *never = true;
    needed.push_back(std::move(condition));
  }
  if (needed.empty()) return also;
  Op op{OpKind::kCondition, PrimitiveType::kPred};
  op.conditions = std::move(needed);
  if (also != kNoValue) op.operands.push_back(also);
  return AddOp(std::move(op));
}

IndexExpr BodyBuilder::ToIndex(ValueId value, IndexRange range, bool clamp) {
  if (clamp && range.low == range.high) return IndexExpr::Constant(range.low);
  if (const Op& op = kernel_.ops[value]; clamp && op.kind == OpKind::kConstant && hlo::IsSignedIntegral(op.type)) {
    return IndexExpr::Constant(std::clamp(hlo::ElementAsInt64(op.literal, op.literal_index), range.low, range.high));
  }
  // What counts along loops is the place itself: loads along them stay contiguous.
  if (const std::optional<IndexExpr> counted = CountedIndex(&kernel_, value); counted.has_value()) {
    const IndexRange places = kernel_.terms.RangeOf(*counted);
    if (places.low >= range.low && places.high <= range.high) return *counted;
  }
  // One symbol for equal indices, so that equal places are seen to be equal.
  auto [it, inserted] = symbols_.try_emplace(std::make_tuple(value, range.low, range.high, clamp), kNoValue);
  if (!inserted) return kernel_.terms.Symbol(it->second, range, kernel_.ops[it->second].loops);
  const ValueId id = it->second = AddOp(
      {.kind = OpKind::kToIndex, .type = PrimitiveType::kS64, .operands = {value}, .range = range, .clamp = clamp});
  return kernel_.terms.Symbol(id, range, kernel_.ops[id].loops);
}

void BodyBuilder::AddStore(int parameter, const Index& index, ValueId value, ValueId predicate) {
  Store store{parameter, kernel_.terms.Recombine(Linearize(index, kernel_.parameters[parameter].dimensions)), value,
              predicate};
  kernel_.stores.push_back(std::move(store));
  open_.back().block->statements.push_back({Block::Kind::kStore, static_cast<int>(kernel_.stores.size()) - 1});
}

absl::StatusOr<ValueId> BodyBuilder::Emit(const Instruction* instruction, const Index& index, int64_t leaf) {
  Key key{instruction, leaf, predicate_, index};
  auto found = memo_.find(key);
  if (found != memo_.end()) return found->second;
  if (kernel_.ops.size() > kMaxOps || depth_ > kMaxDepth) {
    return ResourceExhausted(instruction->Describe(), ": the fused body grows past ", kMaxOps, " operations");
  }
  for (const IndexExpr& expr : index) {
    if (kernel_.terms.SizeOf(expr) > kMaxIndexTerms) {
      return ResourceExhausted(instruction->Describe(), ": an index of the fused body has more than ", kMaxIndexTerms,
                               " terms");
    }
  }
  ++depth_;
  auto value = EmitUncached(instruction, index, leaf);
  --depth_;
  KILN_RETURN_IF_ERROR(value.status());
  memo_.emplace(std::move(key), *value);
  return *value;
}

ValueId BodyBuilder::Guard(ValueId inside) {
  if (inside == kNoValue || predicate_ == kNoValue) return inside == kNoValue ? predicate_ : inside;
  return AddElementwise(Opcode::kAnd, PrimitiveType::kPred, {inside, predicate_});
}

absl::StatusOr<ValueId> BodyBuilder::EmitGuarded(ValueId guard, const Instruction* instruction, const Index& index) {
  ValueId outer = std::exchange(predicate_, guard);
  auto value = Emit(instruction, index);
  predicate_ = outer;
  return value;
}

absl::StatusOr<ValueId> BodyBuilder::EmitUncached(const Instruction* instruction, const Index& index, int64_t leaf) {
  if (const auto kept = kept_.find(instruction); kept != kept_.end()) return EmitKept(kept->second, index);
  auto input = inputs_.find(instruction);
  if (input != inputs_.end()) return AddLoad(input->second, index, predicate_);
  if (instruction == external_) {
    if (index != external_index_) {
      return Unimplemented(instruction->Describe(), ": its elements are read in another order than they are made");
    }
    return AddOp({.kind = OpKind::kExternal, .type = instruction->shape().element_type(), .loops = open_[0].loops});
  }
  const Instruction* operand = instruction->operand_count() > 0 ? instruction->operand(0) : nullptr;
  IndexTerms& terms = kernel_.terms;
  switch (instruction->opcode()) {
    case Opcode::kConstant:
      return EmitConstant(instruction, index);
    case Opcode::kIota: {
      // Wherever it is along the other dimensions, it is one value: that of a row, for all stages over it.
      const IndexExpr& counted = index[instruction->dimensions()[0]];
      const auto [known, inserted] = memo_.try_emplace(Key{instruction, leaf, kNoValue, {counted}}, kNoValue);
      if (!inserted) return known->second;
      return known->second =
                 AddOp({.kind = OpKind::kIndex, .type = instruction->shape().element_type(), .offset = counted});
    }
    case Opcode::kBroadcast: {
      Index from;
      for (int64_t dimension : instruction->dimensions()) from.push_back(index[dimension]);
      return Emit(operand, from);
    }
    case Opcode::kReshape:
    case Opcode::kBitcast:
      if (operand->shape().element_type() != instruction->shape().element_type()) break;
      return Emit(operand, Reshaped(&terms, index, instruction->shape().dimensions(), operand->shape().dimensions()));
    case Opcode::kTranspose: {
      Index from(index.size());
      for (size_t i = 0; i < index.size(); ++i) from[instruction->dimensions()[i]] = index[i];
      return Emit(operand, from);
    }
    case Opcode::kSlice: {
      const auto& slice = instruction->Get<hlo::SliceAttributes>();
      Index from;
      for (size_t i = 0; i < index.size(); ++i) from.push_back(index[i] * slice.stride[i] + slice.start[i]);
      return Emit(operand, from);
    }
    case Opcode::kReverse: {
      Index from = index;
      for (int64_t d : instruction->dimensions()) {
        from[d] = IndexExpr::Constant(operand->shape().dimensions(d) - 1) - index[d];
      }
      return Emit(operand, from);
    }
    case Opcode::kCopy:
    case Opcode::kOptBarrier:
      return Emit(operand, index, leaf);
    case Opcode::kGetTupleElement: {
      int64_t operand_leaf = leaf;
      for (int64_t i = 0; i < instruction->tuple_index(); ++i) {
        operand_leaf += operand->shape().tuple_shapes(i).leaf_count();
      }
      return Emit(operand, index, operand_leaf);
    }
    case Opcode::kTuple: {
      for (const Instruction* element : instruction->operands()) {
        int64_t leaves = element->shape().leaf_count();
        if (leaf < leaves) return Emit(element, index, leaf);
        leaf -= leaves;
      }
      return Internal(instruction->Describe(), ": no such tuple leaf");
    }
    case Opcode::kPad:
      return EmitPad(instruction, index);
    case Opcode::kConcatenate:
      return EmitConcatenate(instruction, index);
    case Opcode::kBitcastConvert:
      return EmitBitcastConvert(instruction, index);
    case Opcode::kDynamicSlice:
      return EmitDynamicSlice(instruction, index);
    case Opcode::kDynamicUpdateSlice:
      return EmitDynamicUpdateSlice(instruction, index);
    case Opcode::kGather:
      return EmitGather(instruction, index);
    case Opcode::kMap:
      return EmitMap(instruction, index);
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return EmitReduce(instruction, index, leaf);
    case Opcode::kDot:
      return EmitDot(instruction, index);
    case Opcode::kConvolution:
      return EmitConvolution(instruction, index);
    default:
      if (hlo::IsElementwise(instruction->opcode())) return EmitElementwise(instruction, index);
      break;
  }
  return Unimplemented(instruction->Describe(), ": no kernel for this operation");
}

absl::StatusOr<ValueId> BodyBuilder::EmitElementwise(const Instruction* instruction, const Index& index) {
  std::vector<ValueId> operands;
  for (const Instruction* operand : instruction->operands()) {
    // The bounds of clamp and the predicate of select may be scalars beside arrays.
    const bool scalar = operand->shape().rank() == 0;
    KILN_ASSIGN_OR_RETURN(ValueId value, Emit(operand, scalar ? Index() : index));
    operands.push_back(value);
  }
  if (instruction->opcode() == Opcode::kDivide) {
    if (const ValueId reciprocal = ReciprocalOf(operands[1]); reciprocal != kNoValue) operands.push_back(reciprocal);
  }
  return AddElementwise(instruction->opcode(), instruction->shape().element_type(), std::move(operands), instruction);
}

ValueId BodyBuilder::ReciprocalOf(ValueId divisor) {
  Op op = kernel_.ops[divisor];
  if (op.kind != OpKind::kLoad || !kernel_.parameters[op.parameter].constant.has_value() || op.predicate != kNoValue) {
    return kNoValue;
  }
  const hlo::Literal& table = *kernel_.parameters[op.parameter].constant;
  if (op.type != PrimitiveType::kF32 && op.type != PrimitiveType::kF64) return kNoValue;
  if (table.element_count() > kMaxReciprocals) return kNoValue;
  hlo::Literal reciprocals(table.shape());
  for (int64_t i = 0; i < table.element_count(); ++i) {
    const double value = hlo::ElementAsDouble(table, i);
    if (!HasReciprocal(value, op.type == PrimitiveType::kF32 ? 23 : 52)) return kNoValue;
    // f32: of a double quotient that is rounded again, which twice as many bits and more allow.
    if (op.type == PrimitiveType::kF32) {
      reciprocals.mutable_data<float>()[i] = static_cast<float>(1 / value);
    } else {
      reciprocals.mutable_data<double>()[i] = 1 / value;
    }
  }
  op.parameter = AddTable(reciprocals);
  return AddOp(std::move(op));
}

absl::StatusOr<ValueId> BodyBuilder::EmitConstant(const Instruction* instruction, const Index& index) {
  const hlo::Literal& literal = instruction->literal();
  if (literal.element_count() == 1 || literal.IsSplat()) return AddConstant(literal, 0);
  IndexExpr offset = Linearize(index, instruction->shape().dimensions());
  if (offset.IsConstant()) return AddConstant(literal, offset.constant);
  return AddLoad(AddTable(literal), index, predicate_);
}

int BodyBuilder::AddTable(const hlo::Literal& literal) {
  auto table = absl::c_find_if(kernel_.parameters, [&](const Parameter& p) { return p.constant == literal; });
  if (table == kernel_.parameters.end()) {
    table = absl::c_find_if(kernel_.parameters, [](const Parameter& p) { return p.is_local; });
    MoveLocals(static_cast<int>(table - kernel_.parameters.begin()));
    table = kernel_.parameters.insert(
        table,
        {.type = literal.shape().element_type(), .dimensions = literal.shape().dimensions(), .constant = literal});
  }
  return static_cast<int>(table - kernel_.parameters.begin());
}

void BodyBuilder::MoveLocals(int first) {
  for (Op& op : kernel_.ops) op.parameter += op.parameter >= first ? 1 : 0;
  for (Store& store : kernel_.stores) store.parameter += store.parameter >= first ? 1 : 0;
  for (auto& [instruction, kept] : kept_) kept.parameter += kept.parameter >= first ? 1 : 0;
}

int BodyBuilder::AddLocal(PrimitiveType type, hlo::DimensionVector dimensions) {
  Parameter local{type, std::move(dimensions)};
  local.is_local = true;
  kernel_.parameters.push_back(std::move(local));
  return static_cast<int>(kernel_.parameters.size()) - 1;
}

absl::StatusOr<ValueId> BodyBuilder::EmitKept(const Kept& kept, const Index& index) {
  Index at;
  for (size_t i = 0; i < index.size(); ++i) {
    if (!kept.left_out[i]) at.push_back(index[i] - kept.origin[i]);
  }
  const Parameter& local = kernel_.parameters[kept.parameter];
  return AddOp({.kind = OpKind::kLoad,
                .type = local.type,
                .loops = kept.loops,
                .parameter = kept.parameter,
                .offset = kernel_.terms.Recombine(Linearize(at, local.dimensions)),
                .predicate = predicate_});
}

absl::StatusOr<Index> BodyBuilder::BeginStage(absl::Span<const int64_t> extents) { return BeginReduce(extents); }

void BodyBuilder::EndStage(uint64_t outer_loops) {
  const OpenBlock own = open_.back();
  open_.pop_back();
  for (const Block::Statement& statement : own.block->statements) {
    if (statement.kind == Block::Kind::kOp) outer_loops |= kernel_.ops[statement.index].loops;
    if (statement.kind == Block::Kind::kReduce) outer_loops |= kernel_.reduces[statement.index].outer_loops;
  }
  Reduce& stage = kernel_.reduces[own.reduce];
  stage.outer_loops = outer_loops & ~own.loops;
  BlockOf(stage.outer_loops)->statements.push_back({Block::Kind::kReduce, own.reduce});
}

absl::StatusOr<std::vector<ValueId>> BodyBuilder::Inline(const hlo::Computation& computation,
                                                         absl::Span<const ValueId> arguments) {
  const ScalarOps<ValueId> ops = {
      [&](const hlo::Literal& literal) { return AddConstant(literal, 0); },
      [&](const Instruction& instruction, std::vector<ValueId> operands) -> absl::StatusOr<ValueId> {
        return AddElementwise(instruction.opcode(), instruction.shape().element_type(), std::move(operands),
                              &instruction);
      },
      [&](const Instruction& loop, std::vector<ValueId> state) -> absl::StatusOr<std::vector<ValueId>> {
        std::vector<ValueId> results;
        for (size_t i = 0; i < state.size(); ++i) {
          const ValueId result = AddElementwise(Opcode::kWhile, kernel_.ops[state[i]].type, state, &loop);
          kernel_.ops[result].literal_index = static_cast<int64_t>(i);
          results.push_back(result);
        }
        return results;
      }};
  return WalkScalarComputation(computation, arguments, ops);
}

absl::StatusOr<Index> BodyBuilder::BeginReduce(absl::Span<const int64_t> extents) {
  Reduce reduce;
  KILN_ASSIGN_OR_RETURN(Index variables, NewLoops(extents, LoopKind::kReduce, &reduce.loops));
  reduce.block = std::make_unique<Block>();
  open_.push_back({reduce.block.get(), SetOf(reduce.loops), static_cast<int>(kernel_.reduces.size())});
  kernel_.reduces.push_back(std::move(reduce));
  return variables;
}

std::vector<ValueId> BodyBuilder::EndReduce(std::vector<ValueId> inits, std::vector<ValueId> elements,
                                            const hlo::Computation* combiner, std::optional<Opcode> combine_opcode,
                                            ValueId inside) {
  const OpenBlock own = open_.back();
  open_.pop_back();
  Reduce& reduce = kernel_.reduces[own.reduce];
  reduce.inside = inside;
  uint64_t outer = 0;
  for (ValueId value : elements) outer |= kernel_.ops[value].loops;
  for (ValueId value : inits) outer |= kernel_.ops[value].loops;
  // What turned out not to be needed is computed as well.
  for (const Block::Statement& statement : own.block->statements) {
    outer |= statement.kind == Block::Kind::kReduce ? kernel_.reduces[statement.index].outer_loops
                                                    : kernel_.ops[statement.index].loops;
  }
  if (combine_opcode.has_value()) {
    reduce.combine_opcodes = {*combine_opcode};
  } else {
    reduce.combiner = combiner;
    reduce.predicate = inside;
    if (inside != kNoValue) outer |= kernel_.ops[inside].loops;
    if (!analysis::IsUnordered(*combiner)) {
      const bool by_index = reduce.loops.size() == 1 && analysis::KeepsBest(*combiner).has_value();
      reduce.order = by_index ? Reduce::Order::kByIndex : Reduce::Order::kOwn;
    }
  }
  reduce.outer_loops = outer & ~own.loops;
  reduce.inits = std::move(inits);
  reduce.elements = std::move(elements);
  // The reduce itself goes where its results are available.
  BlockOf(reduce.outer_loops)->statements.push_back({Block::Kind::kReduce, own.reduce});
  for (size_t i = 0; i < reduce.inits.size(); ++i) {
    reduce.results.push_back(AddOp({.kind = OpKind::kReduced,
                                    .type = kernel_.ops[reduce.inits[i]].type,
                                    .loops = reduce.outer_loops,
                                    .offset = IndexExpr::Constant(static_cast<int64_t>(i)),
                                    .reduce = own.reduce}));
  }
  return reduce.results;
}

}  // namespace kiln::kernel
