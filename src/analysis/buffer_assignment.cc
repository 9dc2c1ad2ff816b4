#include "src/analysis/buffer_assignment.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "src/analysis/arena_packing.h"
#include "src/analysis/buffer_rotation.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/while_loop.h"
#include "src/base/status.h"

namespace kiln::analysis {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Arrays up to this size live on the stack, where the code generator can keep them in registers.
constexpr int64_t kStackBytes = 64;

// Smaller arrays are copied whole.
constexpr int64_t kMinBoxBytes = 8 << 10;
// Loops copy their state where it would add more than a part of a program's memory to pass it on.
constexpr int64_t kRotatedPart = 4;

// Results that temporaries may use before they are written: few and large ones.
constexpr int64_t kMinSpaceBytes = kArenaAlignment;
constexpr size_t kMaxSpaces = 32;

// First leaf of element `index` of a tuple shape.
int64_t LeafOffset(const Shape& shape, int64_t index) {
  int64_t leaf = 0;
  for (int64_t i = 0; i < index; ++i) leaf += shape.tuple_shapes(i).leaf_count();
  return leaf;
}

}  // namespace

// Walks the program backwards, so that a value's final place is known before the values it is made from are placed: a
// result is computed in the caller's buffer, loop state in the loop's, an updated array in that of its old value.
class BufferAssigner {
 public:
  BufferAssigner(const hlo::Module& module, const TargetHooks& hooks, bool rotates)
      : module_(module), hooks_(hooks), rotates_(rotates), result_(new BufferAssignment()) {}

  absl::StatusOr<std::unique_ptr<BufferAssignment>> Run() {
    const Computation* entry = module_.entry();
    KILN_RETURN_IF_ERROR(Number(entry));
    end_ = position_;
    BindEntry();
    std::vector<int> results;
    std::vector<const Shape*> leaves = entry->root()->shape().Leaves();
    for (size_t i = 0; i < leaves.size(); ++i) {
      int buffer = -1;
      if (leaves[i]->IsArray()) {
        buffer = NewBuffer(*leaves[i], Storage::kResult, static_cast<int64_t>(i));
      }
      results.push_back(buffer);
    }
    BindAliases(results);
    Assign(entry, results);
    Pack();
    for (const auto& [value, definition] : definition_) result_->defining_[value] = definition;
    return std::move(result_);
  }

 private:
  using Value = BufferAssignment::ValueKey;

  struct ValueInfo {
    int64_t first = 0;  // position where its buffer is first written
    int64_t last = 0;   // position of its last use
    const Computation* home = nullptr;
  };

  int64_t NextStep(BufferAssignment::Step step) {
    result_->steps_.push_back(step);
    return ++position_;
  }

  // Numbers instructions in execution order and finds definitions and last uses.
  absl::Status Number(const Computation* computation) {
    if (!numbered_.insert({computation, position_}).second) {
      return Internal("computation ", computation->name(), " is called twice; flatten the call graph first");
    }
    for (const Instruction* instruction : computation->instructions()) {
      start_[instruction] = NextStep({computation, instruction});
      if (instruction->IsConstant()) constants_.push_back(instruction);
      Define(instruction);
      // Operands are read when the instruction starts, except that what branches and loops pass on is read inside.
      ReadOperands(instruction);
      if (IsControlFlow(instruction->opcode())) {
        for (const Computation* callee : instruction->called_computations()) {
          caller_[callee] = instruction;
          KILN_RETURN_IF_ERROR(Number(callee));
        }
        // The value exists from the start of the loop: its buffer is the state.
        done_[instruction] = NextStep({computation, instruction, /*ends=*/true});
        // Every round reads what stays where it is, the last one as well.
        for (int64_t leaf = 0, leaves = instruction->shape().leaf_count(); leaf < leaves; ++leaf) {
          if (instruction->opcode() == Opcode::kWhile && StaysOutside(instruction, leaf))
            Use({instruction, leaf}, position_);
        }
      } else {
        done_[instruction] = position_;
      }
      for (int64_t leaf = 0, leaves = instruction->shape().leaf_count(); leaf < leaves; ++leaf) {
        Value value{instruction, leaf};
        if (definition_.at(value) == value) {
          ValueInfo& info = values_[value];
          // What a branch or a call gives is written inside, in a value of its own or by a copy at its end.
          const bool inside = IsControlFlow(instruction->opcode()) && instruction->opcode() != Opcode::kWhile;
          info.first = inside ? done_[instruction] : start_[instruction];
          if (const auto joined = joined_from_.find(instruction); joined != joined_from_.end()) {
            info.first = joined->second;
          }
          info.last = std::max(info.last, done_[instruction]);
          info.home = computation;
        }
      }
    }
    computation_end_[computation] = NextStep({computation});
    for (int64_t leaf = 0, leaves = computation->root()->shape().leaf_count(); leaf < leaves; ++leaf) {
      Use({computation->root(), leaf}, position_);
    }
    return absl::OkStatus();
  }

  // Follows a leaf to the instruction that makes it.
  void Define(const Instruction* instruction) {
    auto set = [&](int64_t leaf, const Instruction* source, int64_t source_leaf) {
      const Value definition = definition_.at({source, source_leaf});  // not a reference: the insertion may rehash
      definition_[{instruction, leaf}] = definition;
      if (const BufferAssignment::Part part = result_->PartOf(source, source_leaf); IsPart({source, source_leaf})) {
        result_->parts_[{instruction, leaf}] = part;
      }
    };
    const int64_t leaves = instruction->shape().leaf_count();
    if (IsPartOfMemory(*instruction)) {
      set(0, instruction->operand(0), 0);
      BufferAssignment::Part& part = result_->parts_[{instruction, 0}];
      if (instruction->opcode() == Opcode::kDynamicSlice) {
        part.slice = instruction;
      } else {
        part.offset += PartOffset(*instruction);
      }
      return;
    }
    if (IsSameMemory(*instruction)) {
      set(0, instruction->operand(0), 0);
      return;
    }
    switch (instruction->opcode()) {
      case Opcode::kTuple: {
        int64_t leaf = 0;
        for (const Instruction* operand : instruction->operands()) {
          for (int64_t i = 0, leaves = operand->shape().leaf_count(); i < leaves; ++i) set(leaf++, operand, i);
        }
        return;
      }
      case Opcode::kGetTupleElement: {
        int64_t first = LeafOffset(instruction->operand(0)->shape(), instruction->tuple_index());
        for (int64_t i = 0; i < leaves; ++i) set(i, instruction->operand(0), first + i);
        return;
      }
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kOptBarrier:
      case Opcode::kAddDependency:
      case Opcode::kCopy:
        for (int64_t i = 0; i < leaves; ++i) set(i, instruction->operand(0), i);
        return;
      case Opcode::kParameter: {
        auto caller = caller_.find(instruction->parent());
        if (caller == caller_.end()) break;  // of the entry
        const Instruction* call = caller->second;
        for (int64_t i = 0; i < leaves; ++i) {
          if (call->opcode() == Opcode::kWhile) {
            set(i, call, i);
          } else if (call->opcode() == Opcode::kConditional) {
            set(i, call->operand(BranchOf(call, instruction->parent()) + 1), i);
          } else {
            set(i, call->operand(instruction->parameter_number()), i);
          }
        }
        return;
      }
      case Opcode::kWhile: {
        // What the body hands on unchanged stays where it is; scalars get a register of the loop.
        const std::vector<bool> invariant = InvariantState(*instruction);
        int64_t leaf = 0;
        for (size_t element = 0; element < invariant.size(); ++element) {
          const Shape& shape = instruction->shape().tuple_shapes(element);
          for (const Shape* part : shape.Leaves()) {
            const bool stays = invariant[element] && part->IsArray() && part->byte_count() > kStackBytes;
            definition_[{instruction, leaf}] = {instruction, leaf};
            if (stays) set(leaf, instruction->operand(0), leaf);
            ++leaf;
          }
        }
        if (leaf == leaves) return;
        break;
      }
      default:
        break;
    }
    for (int64_t i = 0; i < leaves; ++i) {
      definition_[{instruction, i}] = {instruction, i};
      BufferAssignment::Part part;
      if (const Instruction* join = JoinOf(*instruction, i, &part.offset)) {
        definition_[{instruction, i}] = {join, 0};
        result_->parts_[{instruction, i}] = part;
        joined_from_.insert({join, start_[instruction]});
      }
    }
  }

  static int64_t BranchOf(const Instruction* conditional, const Computation* branch) {
    const auto& called = conditional->called_computations();
    return std::find(called.begin(), called.end(), branch) - called.begin();
  }

  // Whether it is a part of another value, in whose memory it is.
  bool IsPart(const Value& value) const { return result_->parts_.contains(value); }

  // Whether a leaf of a loop's state is no memory of the loop.
  bool StaysOutside(const Instruction* loop, int64_t leaf) const { return definition_.at({loop, leaf}).first != loop; }

  void ReadOperands(const Instruction* instruction) {
    const bool begins_part = instruction->opcode() == Opcode::kDynamicSlice && IsPartOfMemory(*instruction);
    if ((IsView(*instruction) && !begins_part) || instruction->IsParameter()) return;
    // Branches read what they use of their operands; only the index is read here.
    int64_t count = instruction->operand_count();
    if (instruction->opcode() == Opcode::kConditional) count = 1;
    if (instruction->opcode() == Opcode::kCall) count = 0;
    for (int64_t i = begins_part ? 1 : 0; i < count; ++i) {
      const Instruction* operand = instruction->operand(i);
      for (int64_t leaf = 0, leaves = operand->shape().leaf_count(); leaf < leaves; ++leaf) {
        Use({operand, leaf}, start_.at(instruction), instruction, i);
      }
    }
  }

  struct UseRecord {
    int64_t position;
    const Instruction* user;  // null: end of a computation
    int64_t operand;          // -1 as well where a part is read, whose elements have other places
  };

  void Use(Value value, int64_t position, const Instruction* user = nullptr, int64_t operand = -1) {
    Value definition = definition_.at(value);
    ValueInfo& info = values_[definition];
    info.last = std::max(info.last, position);
    uses_[definition].push_back({position, user, IsPart(value) ? -1 : operand});
  }

  int NewBuffer(const Shape& shape, Storage storage, int64_t number) {
    Buffer buffer;
    buffer.storage = storage;
    buffer.number = number;
    buffer.bytes = shape.byte_count();
    buffer.type = shape.element_type();
    buffer.first = std::numeric_limits<int64_t>::max();
    result_->buffers_.push_back(buffer);
    return static_cast<int>(result_->buffers_.size()) - 1;
  }

  static const Shape& LeafShape(const Value& value) { return *value.first->shape().Leaves()[value.second]; }

  // Arguments and constants have their places from the start.
  void BindEntry() {
    int64_t argument = 0;
    for (const Instruction* parameter : module_.entry()->parameters()) {
      for (int64_t leaf = 0, leaves = parameter->shape().leaf_count(); leaf < leaves; ++leaf, ++argument) {
        Value value{parameter, leaf};
        if (!LeafShape(value).IsArray()) continue;
        Bind(value, NewBuffer(LeafShape(value), Storage::kArgument, argument));
      }
    }
    for (const Instruction* instruction : constants_) {
      result_->constants_.push_back(&instruction->literal());
      Bind({instruction, 0},
           NewBuffer(instruction->shape(), Storage::kConstant, static_cast<int64_t>(result_->constants_.size()) - 1));
    }
  }

  // A result that may take over an argument's memory must not be written while the argument is still read.
  void BindAliases(const std::vector<int>& results) {
    for (const hlo::InputOutputAlias& alias : module_.aliases()) {
      int64_t result = FlatIndex(module_.entry()->root()->shape(), alias.output_index);
      const Instruction* parameter = module_.entry()->parameter(alias.parameter);
      int64_t leaf = FlatIndex(parameter->shape(), alias.parameter_index);
      old_content_[results[result]].push_back({{parameter, leaf}, end_ + 1});
      aliased_argument_[results[result]] = {parameter, leaf};
    }
  }

  static int64_t FlatIndex(const Shape& shape, const hlo::DimensionVector& path) {
    int64_t leaf = 0;
    const Shape* at = &shape;
    for (int64_t index : path) {
      leaf += LeafOffset(*at, index);
      at = &at->tuple_shapes(index);
    }
    return leaf;
  }

  void Bind(Value value, int buffer) {
    result_->buffer_of_[value] = buffer;
    const ValueInfo& info = values_[value];
    Buffer& b = result_->buffers_[buffer];
    b.first = std::min(b.first, info.first);
    b.last = std::max(b.last, info.last);
  }

  // Puts `value` into `buffer` if it may be there.
  bool TryPlace(Value value, int buffer, const Computation* region) {
    if (!MayPlace(value, buffer, region)) return false;
    placed_[buffer].push_back(value);
    Bind(value, buffer);
    return true;
  }

  // Whether `value`, made in `region`, has no place yet and would overwrite nothing in `buffer` that is read after.
  bool MayPlace(Value value, int buffer, const Computation* region) {
    if (result_->buffer_of_.contains(value)) return false;
    const ValueInfo& info = values_.at(value);
    if (info.home != region || value.first->IsParameter() || value.first->IsConstant()) return false;
    if (LeafShape(value).byte_count() != result_->buffers_[buffer].bytes) return false;
    auto old = old_content_.find(buffer);
    if (old != old_content_.end()) {
      for (const auto& [old_value, until] : old->second) {
        if (info.last <= values_.at(old_value).first) continue;  // over before there is anything to overwrite
        for (const UseRecord& use : uses_[old_value]) {
          if (use.position < info.first || use.position > until) continue;
          if (use.position == info.first && use.user == value.first && use.operand >= 0 &&
              !UpdatesAnother(value, old_value) && hooks_.may_share(*use.user, value.second, use.operand)) {
            continue;
          }
          // A loop's own start may read its own state buffer: the copy onto itself is left out.
          if (use.position == info.first && use.user == value.first && use.user->opcode() == Opcode::kWhile &&
              definition_.at({use.user->operand(0), value.second}) == old_value) {
            continue;
          }
          return false;
        }
      }
    }
    // Another value that lives in the buffer at the same time.
    for (const Value& other : placed_[buffer]) {
      if (IsOldContent(buffer, other)) continue;  // looked at above
      const ValueInfo& other_info = values_.at(other);
      if (other_info.first < info.last && info.first < other_info.last) return false;
    }
    return true;
  }

  // Whether updates in place end in `value` that begin with an array which may not be in `buffer`: all are to be where
  // that is, which then becomes the state's memory.
  bool BeginsElsewhere(Value value, int buffer, const Computation* region) {
    const auto caller = caller_.find(region);
    if (!rotates_ || caller == caller_.end() || caller->second->opcode() != Opcode::kWhile) return false;
    while (LeafShape(value).byte_count() >= kMinRotatedBytes) {
      const Instruction* update = value.first;
      const int64_t operand = hooks_.in_place_operand(*update, value.second);
      if (operand < 0 || IsPart({update->operand(operand), 0})) return false;
      const Value old = definition_.at({update->operand(operand), 0});
      if (BufferOf(old) >= 0 || !values_.contains(old) || values_.at(old).home != region ||
          !TakesOver(*update, value.second, operand))
        return false;
      if (!MayPlace(old, buffer, region)) return true;
      value = old;
    }
    return false;
  }

  // Whether an update may be in the memory of what it updates.
  bool TakesOver(const Instruction& update, int64_t leaf, int64_t operand) const {
    const Value old = definition_.at({update.operand(operand), 0});
    return LastUse(old) <= start_.at(&update) && CountUsesAt(old, &update) == 1 &&
           hooks_.may_share(update, leaf, operand);
  }

  // Whether `value` is an update in place of something else than `old`, which is copied there before `old` is read.
  bool UpdatesAnother(const Value& value, const Value& old) const {
    const int64_t operand = hooks_.in_place_operand(*value.first, value.second);
    return operand >= 0 && definition_.at({value.first->operand(operand), 0}) != old;
  }

  bool IsOldContent(int buffer, const Value& value) const {
    auto old = old_content_.find(buffer);
    if (old == old_content_.end()) return false;
    return std::any_of(old->second.begin(), old->second.end(), [&](const auto& entry) { return entry.first == value; });
  }

  // What is made of a loop's state element by element, where nothing reads that later, stands in its memory until the
  // next state is written there.
  bool TryPlaceInState(Value value) {
    if (LeafShape(value).byte_count() <= kStackBytes) return false;
    for (const Instruction* operand : value.first->operands()) {
      if (!operand->shape().IsArray() || IsPart({operand, 0})) continue;
      const int buffer = BufferOf({operand, 0});
      if (buffer < 0 || !old_content_.contains(buffer)) continue;
      // What reads it last does not write there: that would have taken it over.
      const ValueInfo& info = values_.at(value);
      const bool is_free = absl::c_none_of(placed_[buffer], [&](const Value& other) {
        const ValueInfo& placed = values_.at(other);
        return !IsOldContent(buffer, other) && placed.first <= info.last && info.first <= placed.last;
      });
      if (is_free && TryPlace(value, buffer, value.first->parent())) return true;
    }
    return false;
  }

  void PlaceAlone(Value value) {
    if (result_->buffer_of_.contains(value) || !LeafShape(value).IsArray()) return;
    if (TryPlaceInState(value)) return;
    const Shape& shape = LeafShape(value);
    Storage storage = shape.byte_count() <= kStackBytes ? Storage::kStack : Storage::kArena;
    int buffer = NewBuffer(shape, storage, 0);
    placed_[buffer].push_back(value);
    Bind(value, buffer);
  }

  void Assign(const Computation* computation, const std::vector<int>& targets) {
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] < 0) continue;
      const Value value = {computation->root(), static_cast<int64_t>(i)};
      const Value made = definition_.at(value);
      if (!IsPart(value) && BufferOf(value) == targets[i]) continue;
      if (!IsPart(value) && !BeginsElsewhere(made, targets[i], computation) && TryPlace(made, targets[i], computation))
        continue;
      end_copies_[computation].push_back({value, targets[i]});
    }
    std::vector<Instruction*> instructions = computation->instructions();
    for (auto it = instructions.rbegin(); it != instructions.rend(); ++it) {
      const Instruction* instruction = *it;
      if (IsJoinedInPlace(*instruction)) PlaceAlone({instruction, 0});
      if (IsView(*instruction)) continue;
      for (int64_t leaf = 0, leaves = instruction->shape().leaf_count(); leaf < leaves; ++leaf) {
        Value value{instruction, leaf};
        if (definition_.at(value) == value) PlaceAlone(value);
      }
      switch (instruction->opcode()) {
        case Opcode::kWhile:
          AssignWhile(instruction, computation);
          break;
        case Opcode::kConditional:
        case Opcode::kCall: {
          std::vector<int> branch_targets;
          for (int64_t leaf = 0, leaves = instruction->shape().leaf_count(); leaf < leaves; ++leaf) {
            branch_targets.push_back(BufferOf({instruction, leaf}));
          }
          for (const Computation* branch : instruction->called_computations()) Assign(branch, branch_targets);
          break;
        }
        default:
          AssignInPlace(instruction, computation);
          AssignScratch(instruction);
          break;
      }
    }
  }

  bool MayOverlap(int source, int destination) const {
    if (source == destination) return true;
    auto alias = aliased_argument_.find(destination);
    return alias != aliased_argument_.end() && BufferOf(alias->second) == source;
  }

  // The copies happen at once; one after the other, each comes behind those that read what it overwrites. Where they go
  // round in a circle, what is overwritten is set aside first.
  std::vector<BufferCopy> InOrder(std::vector<BufferCopy> copies) {
    std::vector<BufferCopy> ordered;
    std::vector<int64_t> readers(copies.size(), 0);  // that are still to come, of what a copy overwrites
    std::vector<size_t> ready;
    const auto settle = [&](size_t i) {
      if (--readers[i] == 0) ready.push_back(i);
    };
    for (size_t i = 0; i < copies.size(); ++i) {
      readers[i] = 1;
      for (size_t j = 0; j < copies.size(); ++j)
        readers[i] += j != i && MayOverlap(copies[j].from, copies[i].to) ? 1 : 0;
      settle(i);
    }
    for (size_t next = 0, circle = 0; ordered.size() - circle < copies.size();) {
      if (next == ready.size()) {
        const size_t blocked =
            std::find_if(readers.begin(), readers.end(), [](int64_t count) { return count > 0; }) - readers.begin();
        size_t i = 0;
        while (i == blocked || readers[i] == 0 || !MayOverlap(copies[i].from, copies[blocked].to)) ++i;
        const int source = copies[i].from;
        for (size_t j = 0; j < copies.size(); ++j) {
          if (j != i && readers[j] > 0 && MayOverlap(source, copies[j].to)) settle(j);
        }
        copies[i].from = SetAside(source);
        ordered.push_back({.from = source, .to = copies[i].from});
        ++circle;
        continue;
      }
      const size_t i = ready[next++];
      ordered.push_back(copies[i]);
      for (size_t j = 0; j < copies.size(); ++j) {
        if (j != i && readers[j] > 0 && MayOverlap(copies[i].from, copies[j].to)) settle(j);
      }
    }
    return ordered;
  }

  int SetAside(int buffer) {
    Buffer aside = result_->buffers_[buffer];
    aside.storage = aside.bytes <= kStackBytes ? Storage::kStack : Storage::kArena;
    aside.number = 0;
    // Live throughout: these are rare.
    aside.first = 0;
    aside.last = position_;
    result_->buffers_.push_back(aside);
    return static_cast<int>(result_->buffers_.size()) - 1;
  }

  int BufferOf(const Value& value) const {
    auto it = result_->buffer_of_.find(definition_.at(value));
    return it == result_->buffer_of_.end() ? -1 : it->second;
  }

  void AssignWhile(const Instruction* loop, const Computation* region) {
    std::vector<int> state;
    const Computation* body = loop->called_computation(0);
    for (int64_t leaf = 0, leaves = loop->shape().leaf_count(); leaf < leaves; ++leaf) {
      Value value{loop, leaf};
      int buffer = StaysOutside(loop, leaf) ? -1 : BufferOf(value);
      state.push_back(buffer);
      if (buffer < 0) continue;
      // Inside the loop the state's old value stays until it is last read.
      old_content_[buffer].push_back({value, computation_end_.at(body)});
      const Value start = {loop->operand(0), leaf}, init = definition_.at(start);
      if (!IsPart(start) &&
          (BufferOf(init) == buffer ||
           (LastUse(init) <= start_.at(loop) && CountUsesAt(init, loop) == 1 && TryPlace(init, buffer, region)))) {
        continue;
      }
      inits_.push_back({loop, start, buffer, std::nullopt});
    }
    Assign(body, state);
    for (size_t i = 1; i < loop->called_computations().size(); ++i) {
      const Computation* condition = loop->called_computation(i);
      Assign(condition, std::vector<int>(condition->root()->shape().leaf_count(), -1));
    }
  }

  int64_t LastUse(const Value& value) const {
    auto it = uses_.find(value);
    int64_t last = 0;
    if (it != uses_.end()) {
      for (const UseRecord& use : it->second) last = std::max(last, use.position);
    }
    return last;
  }

  int64_t CountUsesAt(const Value& value, const Instruction* user) const {
    auto it = uses_.find(value);
    if (it == uses_.end()) return 0;
    return std::count_if(it->second.begin(), it->second.end(), [&](const UseRecord& use) { return use.user == user; });
  }

  // An update in place takes over its operand's memory when nobody reads the old value afterwards.
  void AssignInPlace(const Instruction* instruction, const Computation* region) {
    for (int64_t leaf = 0, leaves = instruction->shape().leaf_count(); leaf < leaves; ++leaf) {
      int64_t operand = hooks_.in_place_operand(*instruction, leaf);
      int buffer = BufferOf({instruction, leaf});
      if (operand < 0) {
        TakeOver(instruction, leaf, buffer, region);
        continue;
      }
      const Value name = {instruction->operand(operand), 0}, old = definition_.at(name);
      if (!IsPart(name)) {
        if (BufferOf(old) == buffer) continue;
        if (TakesOver(*instruction, leaf, operand) && TryPlace(old, buffer, region)) continue;
      }
      inits_.push_back({instruction, name, buffer, BoxWorthLeavingOut(*instruction, leaf)});
    }
  }

  // Most of the array, which an update writes.
  std::optional<Box> BoxWorthLeavingOut(const Instruction& update, int64_t leaf) const {
    std::optional<Box> box = hooks_.written_box(update, leaf);
    const Shape& shape = LeafShape({&update, leaf});
    const bool is_worth_it = box.has_value() && shape.byte_count() >= kMinBoxBytes && UpdatesMost(*box, shape);
    return is_worth_it ? std::move(box) : std::nullopt;
  }

  // A result computed element by element stands where an operand of its size stood that nobody reads afterwards.
  void TakeOver(const Instruction* instruction, int64_t leaf, int buffer, const Computation* region) {
    if (buffer < 0 || result_->buffers_[buffer].bytes <= kStackBytes) return;
    for (int64_t operand = 0; operand < instruction->operand_count(); ++operand) {
      if (!instruction->operand(operand)->shape().IsArray() || IsPart({instruction->operand(operand), 0})) continue;
      const Value old = definition_.at({instruction->operand(operand), 0});
      if (LeafShape(old).byte_count() != result_->buffers_[buffer].bytes || result_->buffer_of_.contains(old)) continue;
      if (LastUse(old) > start_.at(instruction) || CountUsesAt(old, instruction) != 1) continue;
      if (hooks_.may_share(*instruction, leaf, operand) && TryPlace(old, buffer, region)) return;
    }
  }

  void AssignScratch(const Instruction* instruction) {
    const int64_t bytes = hooks_.scratch_bytes(*instruction);
    if (bytes == 0) return;
    Buffer scratch;
    scratch.bytes = bytes;
    scratch.type = hlo::PrimitiveType::kU8;
    scratch.first = scratch.last = start_.at(instruction);
    if (bytes <= kMaxWorkspaceBytes) {
      scratch.storage = Storage::kWorkspace;
      result_->workspace_bytes_ = std::max(result_->workspace_bytes_, bytes);
    }
    result_->scratch_[instruction] = static_cast<int>(result_->buffers_.size());
    result_->buffers_.push_back(scratch);
  }

  void Pack() {
    for (const auto& [instruction, value, buffer, but] : inits_) {
      int from = BufferOf(value);
      const int64_t offset = result_->PartOf(value.first, value.second).offset;
      if (from != buffer)
        result_->copies_before_[instruction].push_back({from, buffer, offset, LeafShape(value).dimensions(), but});
    }
    std::vector<const Computation*> ends;
    for (const auto& [computation, values] : end_copies_) ends.push_back(computation);
    // What is set aside is numbered alike in every process.
    absl::c_sort(ends, [&](const auto* a, const auto* b) { return computation_end_.at(a) < computation_end_.at(b); });
    for (const Computation* computation : ends) {
      std::vector<BufferCopy> copies;
      for (const auto& [value, target] : end_copies_.at(computation)) {
        if (BufferOf(value) == target) continue;
        copies.push_back({BufferOf(value), target, result_->PartOf(value.first, value.second).offset, {}, {}});
        Buffer& written = result_->buffers_[target];
        written.first = std::min(written.first, computation_end_.at(computation));
      }
      if (rotates_) TakeLoopRotations(computation, &copies);
      result_->copies_at_end_[computation] = InOrder(std::move(copies));
    }
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    PackUpTo(kMaxFrameBytes, {{kMaxFrameBytes, kAny}}, [&](Buffer& buffer, int) {
      buffer.storage = Storage::kStack;
      buffer.framed = true;
      result_->frame_bytes_ = std::max(result_->frame_bytes_, buffer.offset + buffer.bytes);
    });
    std::vector<int> results;
    const std::vector<FreeSpace> spaces = SpacesOfResults(&results);
    result_->arena_bytes_ = PackUpTo(kAny, spaces, [&](Buffer& buffer, int space) {
      buffer.storage = Storage::kResult;
      buffer.borrowed = true;
      buffer.number = result_->buffers_[results[space]].number;
    });
  }

  // What its rounds pass on is no longer copied.
  void TakeLoopRotations(const Computation* computation, std::vector<BufferCopy>* copies) {
    const auto caller = caller_.find(computation);
    if (caller == caller_.end() || caller->second->opcode() != Opcode::kWhile) return;
    const int64_t start = start_.at(caller->second);
    const auto is_of_round = [&](const Buffer& buffer) {
      return buffer.storage == Storage::kArena && buffer.first > start &&
             buffer.last <= computation_end_.at(computation);
    };
    for (BufferRotation& rotation : TakeRotations(result_->buffers_, is_of_round, copies)) {
      if (rotation.spare < 0) rotation.spare = SetAside(rotation.state.back());
      result_->buffers_[rotation.spare].first = start;
      result_->buffers_[rotation.spare].last = done_.at(caller->second);
      result_->rotations_[caller->second].push_back(std::move(rotation));
    }
  }

  // Gives buffers of the arena up to a size their offsets, and returns how many bytes it takes for those that found no
  // space; found(buffer, space) is told of the others.
  template <typename Found>
  int64_t PackUpTo(int64_t bytes, const std::vector<FreeSpace>& spaces, Found found) {
    std::vector<LiveRange> ranges;
    std::vector<Buffer*> packed;
    for (Buffer& buffer : result_->buffers_) {
      if (buffer.storage != Storage::kArena || buffer.bytes > bytes) continue;
      ranges.push_back({buffer.bytes, buffer.first, buffer.last});
      packed.push_back(&buffer);
    }
    const int64_t arena_bytes = PackArena(&ranges, spaces);
    for (size_t i = 0; i < ranges.size(); ++i) {
      packed[i]->offset = ranges[i].offset;
      if (ranges[i].space >= 0) found(*packed[i], ranges[i].space);
    }
    return arena_bytes;
  }

  // The largest results, until they are written: those that are no argument's memory.
  std::vector<FreeSpace> SpacesOfResults(std::vector<int>* results) const {
    for (size_t i = 0; i < result_->buffers_.size(); ++i) {
      const Buffer& buffer = result_->buffers_[i];
      if (buffer.storage == Storage::kResult && buffer.bytes >= kMinSpaceBytes &&
          !aliased_argument_.contains(static_cast<int>(i))) {
        results->push_back(static_cast<int>(i));
      }
    }
    std::sort(results->begin(), results->end(), [&](int a, int b) {
      const Buffer &x = result_->buffers_[a], &y = result_->buffers_[b];
      return x.bytes != y.bytes ? x.bytes > y.bytes : a < b;
    });
    if (results->size() > kMaxSpaces) results->resize(kMaxSpaces);
    std::vector<FreeSpace> spaces;
    for (int number : *results) {
      const Buffer& buffer = result_->buffers_[number];
      spaces.push_back({buffer.bytes, std::min(buffer.first, computation_end_.at(module_.entry()))});
    }
    return spaces;
  }

  struct Init {
    const Instruction* instruction;
    Value value;
    int buffer;
    std::optional<Box> but;
  };

  const hlo::Module& module_;
  const TargetHooks& hooks_;
  const bool rotates_;
  std::unique_ptr<BufferAssignment> result_;
  int64_t position_ = 0;
  int64_t end_ = 0;
  absl::flat_hash_map<const Computation*, int64_t> numbered_;
  absl::flat_hash_map<const Computation*, const Instruction*> caller_;
  absl::flat_hash_map<const Instruction*, int64_t> start_, done_;
  absl::flat_hash_map<const Computation*, int64_t> computation_end_;
  absl::flat_hash_map<const Instruction*, int64_t> joined_from_;  // position where the first piece is made
  absl::flat_hash_map<Value, Value> definition_;
  absl::flat_hash_map<Value, ValueInfo> values_;
  absl::flat_hash_map<Value, std::vector<UseRecord>> uses_;
  absl::flat_hash_map<int, std::vector<std::pair<Value, int64_t>>> old_content_;
  absl::flat_hash_map<int, std::vector<Value>> placed_;
  std::vector<const Instruction*> constants_;
  // Results that may be the memory of an argument: result buffer -> argument value.
  absl::flat_hash_map<int, Value> aliased_argument_;
  std::vector<Init> inits_;
  // What has to be copied into place at the end of a computation; the sources may be placed later than that is known.
  absl::flat_hash_map<const Computation*, std::vector<std::pair<Value, int>>> end_copies_;
};

absl::StatusOr<std::unique_ptr<BufferAssignment>> BufferAssignment::Run(const hlo::Module& module,
                                                                        const TargetHooks& hooks) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<BufferAssignment> assignment, BufferAssigner(module, hooks, true).Run());
  if (assignment->rotations_.empty()) return assignment;
  // Memory that is kept through a loop is to cost a part of the program's at most.
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<BufferAssignment> copying, BufferAssigner(module, hooks, false).Run());
  int64_t bytes = copying->arena_bytes_;
  for (const Buffer& buffer : copying->buffers_) {
    const bool is_result = buffer.storage == Storage::kResult && !buffer.borrowed;
    if (buffer.storage == Storage::kArgument || is_result) bytes += buffer.bytes;
  }
  const bool is_much = assignment->arena_bytes_ - copying->arena_bytes_ > bytes / kRotatedPart;
  return is_much ? std::move(copying) : std::move(assignment);
}

int BufferAssignment::BufferOf(const Instruction* instruction, int64_t leaf) const {
  auto definition = defining_.find({instruction, leaf});
  if (definition == defining_.end()) return -1;
  auto it = buffer_of_.find(definition->second);
  return it == buffer_of_.end() ? -1 : it->second;
}

BufferAssignment::Part BufferAssignment::PartOf(const Instruction* instruction, int64_t leaf) const {
  auto it = parts_.find({instruction, leaf});
  return it == parts_.end() ? Part() : it->second;
}

int BufferAssignment::ScratchOf(const Instruction* instruction) const {
  auto it = scratch_.find(instruction);
  return it == scratch_.end() ? -1 : it->second;
}

const std::vector<BufferCopy>& BufferAssignment::CopiesBefore(const Instruction* instruction) const {
  static const std::vector<BufferCopy>* const kNone = new std::vector<BufferCopy>();
  auto it = copies_before_.find(instruction);
  return it == copies_before_.end() ? *kNone : it->second;
}

const std::vector<BufferRotation>& BufferAssignment::RotationsOf(const Instruction* loop) const {
  static const std::vector<BufferRotation>* const kNone = new std::vector<BufferRotation>();
  auto it = rotations_.find(loop);
  return it == rotations_.end() ? *kNone : it->second;
}

const std::vector<BufferCopy>& BufferAssignment::CopiesAtEnd(const Computation* computation) const {
  static const std::vector<BufferCopy>* const kNone = new std::vector<BufferCopy>();
  auto it = copies_at_end_.find(computation);
  return it == copies_at_end_.end() ? *kNone : it->second;
}

}  // namespace kiln::analysis
