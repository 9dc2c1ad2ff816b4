#include "src/passes/while_loop_widening.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"
#include "src/analysis/combiner.h"
#include "src/analysis/while_loop.h"
#include "src/hlo/shape_inference.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

// What rounds compute in between is seldom kept; this much may be, beside what the state takes.
constexpr int64_t kMaxWidenedElements = 1 << 22;
constexpr int64_t kMaxWidenedInstructions = 256;

// A number that changes from round to round as `slope` * round + `first`.
struct Count {
  int64_t slope = 0, first = 0;
};

// Where one row of an array lies that a round reads or writes: at `count` along `dimension`, at the same place in all
// rounds along others: at their start, or at a number that the loop is given.
struct Row {
  int64_t dimension = -1;
  Count count;
  std::vector<const Instruction*> fixed;  // by dimension; null: the start

  bool IsSplit() const {
    return absl::c_any_of(fixed, [](const Instruction* start) { return start != nullptr; });
  }
};

// What an element of the state is to the rounds.
enum class Role : uint8_t { kCounter, kInvariant, kRows, kGathered };

class Widening {
 public:
  Widening(Instruction* loop, int64_t rounds)
      : loop_(loop), body_(*loop->called_computation(0)), rounds_(rounds), builder_(loop->parent(), loop) {}

  // Whether each element of the state has a role, and rounds have nothing else that cannot be widened. Adds nothing.
  bool MayWiden() {
    const Instruction& root = *body_.root();
    const std::vector<bool> invariant = analysis::InvariantState(*loop_);
    const std::optional<analysis::LoopCounter> counter = analysis::FindLoopCounter(*loop_);
    if (!counter || invariant.empty()) return false;
    // The counter has values behind the last round and before the first, none of which wraps around.
    const PrimitiveType type = loop_->shape().tuple_shapes(counter->element).element_type();
    if (!Fits(counter->init + counter->step * rounds_, type)) return false;
    counter_ = {counter->step, counter->init};
    roles_.assign(invariant.size(), Role::kInvariant);
    for (const Instruction* element : body_.parameter(0)->users()) {
      if (element->opcode() != Opcode::kGetTupleElement) return false;
      const int64_t index = element->tuple_index();
      if (index == counter->element) counts_[element] = counter_;
    }
    for (Instruction* instruction : body_.PostOrder()) {
      NoteCount(*instruction);
      NoteFixed(*instruction, invariant);
    }
    for (size_t k = 0; k < invariant.size(); ++k) {
      const int64_t index = static_cast<int64_t>(k);
      if (invariant[k]) continue;
      if (index == counter->element) {
        roles_[k] = Role::kCounter;
      } else if (IsRowsOf(index)) {
        roles_[k] = Role::kRows;
      } else if (IsGatheredBy(*root.operand(index), index)) {
        roles_[k] = Role::kGathered;
      } else {
        return false;
      }
    }
    widened_elements_ = 0;
    for (size_t k = 0; k < roles_.size(); ++k) {
      const Instruction& next = *root.operand(static_cast<int64_t>(k));
      if (roles_[k] == Role::kRows && !(Considers(*next.operand(1)) && ConsidersStarts(rows_.at(&next)))) return false;
      if (roles_[k] == Role::kGathered) {
        const Instruction& value = *Gathered(next, static_cast<int64_t>(k));
        if (!Considers(value) || (!varies_.at(&value) && !IsKnownTimes(next.opcode()))) return false;
      }
    }
    return absl::c_any_of(roles_, [](Role role) { return role == Role::kRows || role == Role::kGathered; });
  }

  void Run() {
    const Instruction& root = *body_.root();
    std::vector<Instruction*> results;
    for (size_t k = 0; k < roles_.size(); ++k) {
      const int64_t index = static_cast<int64_t>(k);
      Instruction* start = loop_->operand(0)->operand(index);
      const Instruction& next = *root.operand(index);
      switch (roles_[k]) {
        case Role::kInvariant:
          results.push_back(start);
          break;
        case Role::kCounter:
          results.push_back(
              builder_.Constant(hlo::LiteralOf(start->shape(), counter_.first + counter_.slope * rounds_)));
          break;
        case Role::kRows:
          results.push_back(WriteRows(start, next));
          break;
        case Role::kGathered: {
          results.push_back(builder_.Binary(next.opcode(), start, GatheredFrom(*Gathered(next, index), next.opcode())));
          break;
        }
      }
    }
    loop_->ReplaceAllUsesWith(builder_.Tuple(std::move(results)));
  }

 private:
  // The body's reader of an element; null where it has none or several.
  const Instruction* ElementOf(int64_t index) const {
    const Instruction* found = nullptr;
    for (const Instruction* element : body_.parameter(0)->users()) {
      if (element->tuple_index() != index || (element->users().empty() && !element->IsRoot())) continue;
      if (found != nullptr) return nullptr;
      found = element;
    }
    return found;
  }

  bool IsElement(const Instruction& value) const {
    return value.opcode() == Opcode::kGetTupleElement && value.operand(0) == body_.parameter(0);
  }

  // Numbers that are the same in all rounds.
  void NoteFixed(const Instruction& x, const std::vector<bool>& invariant) {
    const bool is_fixed = IsElement(x) ? invariant[x.tuple_index()]
                                       : x.IsConstant() || (x.operand_count() > 0 && (hlo::IsElementwise(x.opcode()) ||
                                                                                      x.opcode() == Opcode::kReshape));
    const auto contains = [&](const Instruction* operand) { return fixed_.contains(operand); };
    if (is_fixed && x.shape().IsArray() && x.shape().element_count() == 1 &&
        (IsElement(x) || absl::c_all_of(x.operands(), contains))) {
      fixed_.insert(&x);
    }
  }

  // Integers that count rounds, as far as none wraps around.
  void NoteCount(const Instruction& x) {
    const PrimitiveType type = x.shape().IsArray() ? x.shape().element_type() : PrimitiveType::kPred;
    if (counts_.contains(&x) || !x.shape().IsArray() || x.shape().element_count() != 1 || !hlo::IsIntegral(type))
      return;
    const auto of = [&](int64_t i) -> std::optional<Count> {
      const auto it = counts_.find(x.operand(i));
      return it == counts_.end() ? std::nullopt : std::optional(it->second);
    };
    std::optional<Count> count;
    switch (x.opcode()) {
      case Opcode::kConstant:
        count = Count{0, hlo::ElementAsInt64(x.literal(), 0)};
        break;
      case Opcode::kAdd:
      case Opcode::kSubtract: {
        const int64_t sign = x.opcode() == Opcode::kAdd ? 1 : -1;
        if (const std::optional<Count> a = of(0), b = of(1); a && b)
          count = Count{a->slope + sign * b->slope, a->first + sign * b->first};
        break;
      }
      case Opcode::kConvert:
      case Opcode::kReshape:
      case Opcode::kCopy:
        count = of(0);
        break;
      case Opcode::kSelect: {
        // As frameworks count from the end: i < 0 ? i + n : i.
        const Instruction& test = *x.operand(0);
        if (test.opcode() != Opcode::kCompare || test.comparison().direction != ComparisonDirection::kLt) break;
        const auto a = counts_.find(test.operand(0)), b = counts_.find(test.operand(1));
        if (a == counts_.end() || b == counts_.end()) break;
        const int64_t slope = a->second.slope - b->second.slope, first = a->second.first - b->second.first;
        const int64_t last = first + slope * (rounds_ - 1);
        if (first < 0 && last < 0) count = of(1);
        if (first >= 0 && last >= 0) count = of(2);
        break;
      }
      default:
        break;
    }
    constexpr int64_t kLimit = int64_t{1} << 40;
    if (!count || std::abs(count->slope) > kLimit || std::abs(count->first) > kLimit) return;
    const int64_t last = count->first + count->slope * (rounds_ - 1);
    if (Fits(count->first, type) && Fits(last, type)) counts_[&x] = *count;
  }

  static bool Fits(int64_t value, PrimitiveType type) {
    return hlo::ElementAsInt64(hlo::LiteralOf(Shape::Scalar(type), value), 0) == value;
  }

  // The row of `array` of these sizes, at starts that are the operands of `access` from `first_start` on.
  std::optional<Row> RowOf(const Instruction& access, int64_t first_start, const Shape& array,
                           absl::Span<const int64_t> sizes) const {
    Row row;
    row.fixed.resize(array.rank());
    for (int64_t i = 0; i < array.rank(); ++i) {
      const Instruction* value = access.operand(first_start + i);
      const auto start = counts_.find(value);
      if (start == counts_.end() || start->second.slope == 0) {
        if (sizes[i] == array.dimensions(i)) continue;
        if (!fixed_.contains(value)) return std::nullopt;
        row.fixed[i] = value;
        continue;
      }
      const Count count = start->second;
      const int64_t last = count.first + count.slope * (rounds_ - 1);
      if (row.dimension >= 0 || sizes[i] != 1 || std::min(count.first, last) < 0 ||
          std::max(count.first, last) >= array.dimensions(i)) {
        return std::nullopt;
      }
      row.dimension = i;
      row.count = count;
    }
    return row.dimension >= 0 ? std::optional(row) : std::nullopt;
  }

  // Whether rounds put a row each into element `index`, and read of it at most that row before.
  bool IsRowsOf(int64_t index) {
    const Instruction &update = *body_.root()->operand(index), *element = ElementOf(index);
    if (update.opcode() != Opcode::kDynamicUpdateSlice || element == nullptr || update.operand(0) != element ||
        update.users().size() != 1) {
      return false;
    }
    const std::optional<Row> row = RowOf(update, 2, element->shape(), update.operand(1)->shape().dimensions());
    if (!row || std::abs(row->count.slope) != 1) return false;
    rows_.insert({&update, *row});
    for (const Instruction* user : element->users()) {
      if (user == &update) continue;
      if (user->opcode() != Opcode::kDynamicSlice) return false;
      const std::optional<Row> read = RowOf(*user, 1, element->shape(), user->shape().dimensions());
      if (!read || read->dimension != row->dimension || read->count.slope != row->count.slope ||
          read->count.first != row->count.first || read->fixed != row->fixed ||
          user->shape() != update.operand(1)->shape()) {
        return false;
      }
    }
    return true;
  }

  // Whether each round combines element `index` with something, in any order.
  bool IsGatheredBy(const Instruction& next, int64_t index) const {
    const Instruction* element = ElementOf(index);
    if (element == nullptr || element->users().size() != 1 || next.operand_count() != 2 || next.users().size() != 1 ||
        next.operand(0) == next.operand(1) || (next.operand(0) != element && next.operand(1) != element)) {
      return false;
    }
    const PrimitiveType type = next.shape().element_type();
    const bool is_exact = hlo::IsIntegral(type) || type == PrimitiveType::kPred;
    switch (next.opcode()) {
      case Opcode::kMaximum:
      case Opcode::kMinimum:
        return !hlo::IsComplex(type);
      case Opcode::kAdd:
      case Opcode::kMultiply:
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
        return is_exact;
      default:
        return false;
    }
  }
  const Instruction* Gathered(const Instruction& next, int64_t index) const {
    return next.operand(next.operand(0) == ElementOf(index) ? 1 : 0);
  }

  // Whether combining a value with itself once per round needs no rounds.
  static bool IsKnownTimes(Opcode opcode) { return opcode != Opcode::kMultiply && opcode != Opcode::kXor; }

  // What all rounds gather: `value` of each, combined.
  Instruction* GatheredFrom(const Instruction& value, Opcode opcode) {
    const Shape& shape = value.shape();
    Instruction* wide = Wide(value);
    if (varies_.at(&value)) {
      Instruction* init = builder_.Constant(*analysis::IdentityOf(opcode, shape.element_type()));
      return builder_.Reduce(wide, init, {0}, opcode);
    }
    if (opcode != Opcode::kAdd || shape.element_type() == PrimitiveType::kPred) return wide;
    const Literal times = hlo::LiteralOf(Shape::Scalar(shape.element_type()), rounds_);
    return builder_.Binary(Opcode::kMultiply, wide, builder_.Splat(shape, times));
  }

  // Whether `value` can be computed for all rounds at once; notes whether it varies among them.
  bool Considers(const Instruction& value) {
    if (const auto it = varies_.find(&value); it != varies_.end()) return true;
    if (IsElement(value)) {
      const Role role = roles_[value.tuple_index()];
      if (role == Role::kRows || role == Role::kGathered) return false;
      varies_[&value] = role == Role::kCounter;
      return true;
    }
    if (value.IsParameter() || !value.control_predecessors().empty() || value.HasSideEffect() ||
        !value.called_computations().empty() != (value.opcode() == Opcode::kReduce) || !value.shape().IsArray() ||
        value.shape().has_dynamic_dimensions()) {
      return false;
    }
    if (value.opcode() == Opcode::kDynamicSlice && IsElement(*value.operand(0))) {
      const Role role = roles_[value.operand(0)->tuple_index()];
      const std::optional<Row> row = RowOf(value, 1, value.operand(0)->shape(), value.shape().dimensions());
      if (row && (role == Role::kInvariant || role == Role::kRows)) {
        rows_.insert({&value, *row});
        return ConsidersStarts(*row) && Vary(value);
      }
    }
    bool varies = false;
    for (const Instruction* operand : value.operands()) {
      if (!Considers(*operand)) return false;
      varies |= varies_.at(operand);
    }
    if (!varies) {
      varies_[&value] = false;
      return true;
    }
    switch (value.opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
        return Vary(value);
      case Opcode::kReduce:
        return value.operand_count() == 2 && !varies_.at(value.operand(1)) && Vary(value);
      default:
        return hlo::IsElementwise(value.opcode()) && Vary(value);
    }
  }
  bool ConsidersStarts(const Row& row) {
    return absl::c_all_of(row.fixed, [&](const Instruction* start) { return start == nullptr || Considers(*start); });
  }
  bool Vary(const Instruction& value) {
    varies_[&value] = true;
    widened_elements_ += value.shape().element_count() * rounds_;
    int64_t of_state = 0;
    for (const Shape& element : loop_->shape().tuple_shapes()) of_state += element.element_count();
    return widened_elements_ <= std::max(kMaxWidenedElements, 16 * of_state);
  }

  DimensionVector WideSizes(const Shape& shape) const {
    DimensionVector sizes = shape.dimensions();
    sizes.insert(sizes.begin(), rounds_);
    return sizes;
  }

  // `value` for all rounds, which are a new first dimension, or as it is where it does not vary.
  Instruction* Wide(const Instruction& value) {
    const auto it = wide_.find(&value);
    if (it != wide_.end()) return it->second;
    Instruction* made = varies_.at(&value) ? MakeWide(value) : MakeOnce(value);
    wide_[&value] = made;
    return made;
  }

  Instruction* MakeOnce(const Instruction& value) {
    if (IsElement(value)) return loop_->operand(0)->operand(value.tuple_index());
    std::vector<Instruction*> operands;
    for (const Instruction* operand : value.operands()) operands.push_back(Wide(*operand));
    return builder_.Add(value.opcode(), value.shape(), std::move(operands), value.attributes(),
                        value.called_computations());
  }

  // `operand` of an elementwise op with results like `shape`, spread over the rounds where it is the same in all, and
  // over the elements where it is one number for all.
  Instruction* Spread(const Instruction& operand, const Shape& shape) {
    Instruction* wide = Wide(operand);
    const bool varies = varies_.at(&operand);
    if (varies && operand.shape().rank() == shape.rank()) return wide;
    DimensionVector map;
    if (varies) map.push_back(0);
    for (int64_t i = 0; i < operand.shape().rank(); ++i) map.push_back(i + 1);
    return builder_.Broadcast(wide, WideSizes(shape), map);
  }

  Instruction* MakeWide(const Instruction& value) {
    const Shape shape(value.shape().element_type(), WideSizes(value.shape()));
    if (IsElement(value)) {
      const Count count = counts_.at(&value);
      Instruction* rounds = builder_.Add(Opcode::kIota, shape, {}, hlo::DimensionsAttributes{{0}});
      const auto number = [&](int64_t n) {
        return builder_.Splat(shape, hlo::LiteralOf(Shape::Scalar(shape.element_type()), n));
      };
      if (count.slope != 1) rounds = builder_.Binary(Opcode::kMultiply, rounds, number(count.slope));
      return count.first == 0 ? rounds : builder_.Binary(Opcode::kAdd, rounds, number(count.first));
    }
    if (const auto row = rows_.find(&value); row != rows_.end()) {
      Instruction* array = loop_->operand(0)->operand(value.operand(0)->tuple_index());
      if (row->second.IsSplit()) {
        DimensionVector sizes = value.shape().dimensions();
        sizes[row->second.dimension] = array->shape().dimensions(row->second.dimension);
        std::vector<Instruction*> operands = StartsOf(row->second, 0);
        operands.insert(operands.begin(), array);
        array = builder_.Add(Opcode::kDynamicSlice, Shape(shape.element_type(), sizes), std::move(operands),
                             hlo::DynamicSliceAttributes{sizes});
      }
      return ReadRows(array, row->second, shape);
    }
    const Instruction& first = *value.operand(0);
    switch (value.opcode()) {
      case Opcode::kReshape:
        return builder_.Reshape(Wide(first), shape.dimensions());
      case Opcode::kBroadcast:
      case Opcode::kTranspose: {
        DimensionVector dimensions = {0};
        for (int64_t dimension : value.dimensions()) dimensions.push_back(dimension + 1);
        if (value.opcode() == Opcode::kTranspose) return builder_.Transpose(Wide(first), dimensions);
        return builder_.Broadcast(Wide(first), shape.dimensions(), dimensions);
      }
      case Opcode::kReduce: {
        DimensionVector dimensions;
        for (int64_t dimension : value.dimensions()) dimensions.push_back(dimension + 1);
        return builder_.Reduce(Wide(first), Wide(*value.operand(1)), dimensions, value.called_computation());
      }
      default: {
        std::vector<Instruction*> operands;
        for (const Instruction* operand : value.operands()) operands.push_back(Spread(*operand, value.shape()));
        return builder_.Add(value.opcode(), shape, std::move(operands), value.attributes());
      }
    }
  }

  // The rows of `array` that rounds read, round by round.
  Instruction* ReadRows(Instruction* array, const Row& row, const Shape& shape) {
    const int64_t last = row.count.first + row.count.slope * (rounds_ - 1);
    hlo::SliceAttributes slice;
    slice.start.assign(array->shape().rank(), 0);
    slice.limit = array->shape().dimensions();
    slice.stride.assign(array->shape().rank(), 1);
    slice.start[row.dimension] = std::min(row.count.first, last);
    slice.limit[row.dimension] = std::max(row.count.first, last) + 1;
    slice.stride[row.dimension] = std::abs(row.count.slope);
    Instruction* rows = InOrder(builder_.Slice(array, slice), row);
    DimensionVector permutation = {row.dimension};
    for (int64_t i = 0; i < array->shape().rank(); ++i) {
      if (i != row.dimension) permutation.push_back(i);
    }
    return builder_.Reshape(builder_.Transpose(rows, permutation), shape.dimensions());
  }

  Instruction* InOrder(Instruction* rows, const Row& row) {
    if (row.count.slope > 0) return rows;
    return builder_.Add(Opcode::kReverse, rows->shape(), {rows}, hlo::DimensionsAttributes{{row.dimension}});
  }

  // Where rows of all rounds begin: at `first` along their dimension.
  std::vector<Instruction*> StartsOf(const Row& row, int64_t first) {
    PrimitiveType type = PrimitiveType::kS64;
    for (const Instruction* start : row.fixed) {
      if (start != nullptr) type = start->shape().element_type();
    }
    std::vector<Instruction*> starts;
    for (size_t i = 0; i < row.fixed.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) == row.dimension ? first : 0;
      starts.push_back(row.fixed[i] != nullptr ? Wide(*row.fixed[i])
                                               : builder_.Constant(hlo::LiteralOf(Shape::Scalar(type), at)));
    }
    return starts;
  }

  // `start` with the rows that rounds write by `update`.
  Instruction* WriteRows(Instruction* start, const Instruction& update) {
    const Row row = rows_.at(&update);
    const Instruction& part = *update.operand(1);
    Instruction* rows = varies_.at(&part) ? Wide(part) : Spread(part, part.shape());
    DimensionVector sizes = part.shape().dimensions(), permutation;
    sizes.erase(sizes.begin() + row.dimension);
    sizes.insert(sizes.begin(), rounds_);
    for (int64_t i = 0; i < part.shape().rank(); ++i) {
      permutation.push_back(i < row.dimension ? i + 1 : i == row.dimension ? 0 : i);
    }
    rows = InOrder(builder_.Transpose(builder_.Reshape(rows, sizes), permutation), row);
    if (rows->shape().dimensions() == start->shape().dimensions()) return rows;
    const int64_t first = row.count.slope > 0 ? row.count.first : row.count.first - (rounds_ - 1);
    std::vector<Instruction*> operands = StartsOf(row, first);
    operands.insert(operands.begin(), {start, rows});
    return builder_.Add(Opcode::kDynamicUpdateSlice, start->shape(), std::move(operands));
  }

  Instruction* loop_;
  const Computation& body_;
  const int64_t rounds_;
  Builder builder_;
  std::vector<Role> roles_;  // of each element of the state
  Count counter_;
  absl::flat_hash_map<const Instruction*, Count> counts_;
  absl::flat_hash_set<const Instruction*> fixed_;      // numbers
  absl::flat_hash_map<const Instruction*, Row> rows_;  // of dynamic slices and updates
  absl::flat_hash_map<const Instruction*, bool> varies_;
  absl::flat_hash_map<const Instruction*, Instruction*> wide_;
  int64_t widened_elements_ = 0;
};

// What the first look at a loop tells: small, and with something that rounds leave behind beside their number.
bool MayHaveRows(const Instruction& loop) {
  const Computation& body = *loop.called_computation(0);
  return loop.shape().IsTuple() && loop.operand(0)->shape().IsTuple() &&
         body.instruction_count() <= kMaxWidenedInstructions && body.root()->opcode() == Opcode::kTuple &&
         absl::c_all_of(loop.shape().tuple_shapes(), [](const Shape& element) { return element.IsArray(); });
}

}  // namespace

absl::StatusOr<bool> WidenLoops(Module* module) {
  bool changed = false;
  for (Instruction* loop : analysis::OwnersOfCallees(*module, Opcode::kWhile)) {
    const std::optional<int64_t> rounds = analysis::DerivedTripCount(*loop);
    if (!rounds || *rounds < 2 || !MayHaveRows(*loop) || loop->HasSideEffect() || !MakeStateExplicit(loop)) continue;
    Widening widening(loop, *rounds);
    if (!widening.MayWiden()) continue;
    widening.Run();
    changed = true;
  }
  if (changed) {
    for (Computation* computation : module->PostOrder()) computation->RemoveDeadInstructions();
    module->RemoveUnusedComputations();
  }
  return changed;
}

}  // namespace kiln::passes
