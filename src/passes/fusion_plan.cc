#include "src/passes/fusion_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/counted_places.h"
#include "src/analysis/kept_blocks.h"
#include "src/analysis/scatter_windows.h"
#include "src/hlo/builder.h"
#include "src/hlo/module.h"
#include "src/passes/fusion_body.h"
#include "src/passes/update_in_place.h"

namespace kiln::passes {
namespace {

using analysis::EvaluationCost;
using analysis::IndexPath;
using hlo::FusionKind;
using hlo::Instruction;
using hlo::Opcode;

// Bounds on the code of one kernel. An instruction is emitted once per index map that leads to it.
constexpr int64_t kMaxEmittedOps = 400;
constexpr size_t kMaxParameters = 64;
constexpr size_t kMaxPathsPerInstruction = 16;
constexpr size_t kMaxGroupsPerInstruction = 64;
constexpr size_t kMaxEpilogue = 32;

// How many times over a producer may be evaluated in all: always a little, so that padding does not split it off, and
// never more than this, whatever the costs say.
constexpr double kMinMaxRatio = 1.25;
constexpr double kMaxRatio = 16.0;
// Columns of more ops are dear, and so much is made of each together with them.
constexpr int64_t kMaxColumnOps = 32;
constexpr int64_t kMaxOpsPerColumn = 64;
// Length of a chain of cheap ops that is evaluated more than once.
constexpr int64_t kMaxRepeatedDepth = 8;
// Cheap steps from what a kernel reads anyway, which store and load no array.
constexpr int kMaxStepsAtHand = 4;
// Of a scatter of single elements, which has no lanes.
constexpr int64_t kMaxScalarOps = 16;
// Of an index of rows, along which the lanes run.
constexpr size_t kMaxIndexOps = 64;
// Of what a kernel makes by blocks: values, and bytes of each from which on it is worth loops of its own.
constexpr size_t kMaxKept = 8;
constexpr int64_t kMinKeptBytes = 4 << 10;

// The elementwise instructions behind a reduce or contraction that run in its kernel: a set closed but for one exit.
struct Epilogue {
  Instruction* exit = nullptr;
  std::vector<const Instruction*> members;  // exit included, hero not
};

class Planner {
 public:
  Planner(const hlo::Computation& computation, const analysis::FusionCosts& costs)
      : costs_(costs), order_(computation.PostOrder()) {
    position_.reserve(order_.size());
    groups_of_.reserve(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<int64_t>(i);
    for (const Instruction* instruction : order_) {
      if (instruction->control_predecessors().empty()) continue;
      ordered_.insert(instruction);
      ordered_.insert(instruction->control_predecessors().begin(), instruction->control_predecessors().end());
    }
  }

  std::vector<FusionGroup> Plan() {
    for (Instruction* instruction : DeepestProductsFirst()) ClaimEpilogue(instruction);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) Place(*it);
    EvictBoundaryReshapes();
    std::reverse(groups_.begin(), groups_.end());
    return std::move(groups_);
  }

 private:
  using Groups = absl::InlinedVector<int64_t, 2>;  // ascending

  // Of products that meet in an epilogue the one that waits for most others runs it: what those are made of is gone by
  // then.
  std::vector<Instruction*> DeepestProductsFirst() {
    for (const Instruction* instruction : order_) {
      int64_t most = 0;
      for (const Instruction* operand : instruction->operands()) {
        most = std::max(most, depth_.at(operand) + (analysis::IsContraction(*operand) ? 1 : 0));
      }
      depth_[instruction] = most;
    }
    std::vector<Instruction*> result = order_;
    absl::c_sort(result, [&](const Instruction* a, const Instruction* b) {
      return std::pair(-depth_[a], position_.at(a)) < std::pair(-depth_[b], position_.at(b));
    });
    return result;
  }

  // Whether `member` of an epilogue would have `hero`, a product of large arrays with a small result, wait for products
  // that it does not need, while those arrays stay.
  bool HoldsUp(const Instruction& hero, const Instruction& member,
               const absl::flat_hash_set<const Instruction*>& inside) const {
    constexpr int64_t kMinGain = 8;
    int64_t bytes = 0;
    for (const Instruction* operand : hero.operands()) {
      if (!operand->IsParameter() && !operand->IsConstant()) bytes += operand->shape().byte_count();
    }
    return hero.shape().IsArray() && bytes >= kMinGain * hero.shape().byte_count() &&
           absl::c_any_of(member.operands(), [&](const Instruction* operand) {
             return !inside.contains(operand) && depth_.at(operand) > depth_.at(&hero);
           });
  }

  // Finds what may run behind `hero` in its kernel. Grows a set of elementwise users, the earliest first; whenever all
  // values in it but one are only read inside, that one is a possible exit.
  void ClaimEpilogue(Instruction* hero) {
    const bool is_reduction = analysis::IsReduction(*hero) && hero->shape().IsArray();
    if ((!is_reduction && !analysis::IsContraction(*hero)) || ordered_.contains(hero)) return;
    Epilogue best;
    std::vector<const Instruction*> set = {hero};
    absl::flat_hash_set<const Instruction*> inside = {hero};
    while (set.size() <= kMaxEpilogue) {
      Instruction* next = nullptr;
      for (const Instruction* value : set) {
        if (value->IsRoot()) continue;
        for (Instruction* user : value->users()) {
          if (!inside.contains(user) && (next == nullptr || position_[user] < position_[next])) next = user;
        }
      }
      if (next == nullptr || !analysis::IsElementwiseLike(*next) || claimed_.contains(next) ||
          ordered_.contains(next) || !hlo::Shape::SameDimensions(next->shape(), hero->shape()) ||
          HoldsUp(*hero, *next, inside)) {
        break;
      }
      set.push_back(next);
      inside.insert(next);
      bool closed = true;
      for (const Instruction* value : set) {
        if (value == next) continue;
        closed &= !value->IsRoot() && std::all_of(value->users().begin(), value->users().end(),
                                                  [&](const Instruction* user) { return inside.contains(user); });
      }
      if (closed) best = {next, {set.begin() + 1, set.end()}};
    }
    if (best.exit == nullptr) return;
    for (const Instruction* member : best.members) claimed_[member] = best.exit;
    claimed_[hero] = best.exit;
    hero_of_exit_[best.exit] = hero;
  }

  int64_t NewGroup(Instruction* root) {
    FusionGroup group;
    group.root = root;
    auto hero = hero_of_exit_.find(root);
    if (hero != hero_of_exit_.end()) {
      group.hero = hero->second;
    } else if (analysis::IsReduction(*root) || analysis::IsContraction(*root)) {
      group.hero = root;
    }
    if (group.hero != nullptr) {
      group.kind = analysis::IsReduction(*group.hero) ? FusionKind::kInput : FusionKind::kOutput;
    }
    const hlo::Shape& shape = root->shape().IsTuple() ? root->shape().tuple_shapes(0) : root->shape();
    group.members[root] = {IndexPath::Whole(shape)};
    group.emitted_ops = 1;
    AddParameters(*root, &group);
    groups_.push_back(std::move(group));
    return static_cast<int64_t>(groups_.size()) - 1;
  }

  static void AddParameters(const Instruction& member, FusionGroup* group) {
    for (const Instruction* operand : member.operands()) {
      if (!analysis::IsInlineConstant(*operand) && !group->members.contains(operand)) group->parameters.insert(operand);
    }
  }

  static bool CanRoot(const Instruction& instruction) {
    if (instruction.opcode() == Opcode::kDynamicSlice && analysis::IsPartOfMemory(instruction)) return false;
    return analysis::IsLoopRoot(instruction) || analysis::IsReduction(instruction) ||
           analysis::IsContraction(instruction) ||
           ((instruction.opcode() == Opcode::kDynamicUpdateSlice || instruction.opcode() == Opcode::kScatter) &&
            analysis::HasPlainShape(instruction));
  }

  // Decides where `instruction` is computed; all its users have been placed.
  void Place(Instruction* instruction) {
    const bool is_ordered = ordered_.contains(instruction);
    bool all_users = !instruction->IsRoot() && !is_ordered && !instruction->users().empty();
    std::map<int64_t, std::vector<const Instruction*>> users_in;  // by group
    for (const Instruction* user : instruction->users()) {
      const Groups& groups = groups_of_[user];
      all_users &= !groups.empty();
      for (int64_t group : groups) users_in[group].push_back(user);
    }
    auto claim = claimed_.find(instruction);
    if (claim != claimed_.end() && claim->second != instruction) {
      // Part of an epilogue, or the hero before one: all users are in that group.
      const auto& [group, users] = *users_in.begin();
      Join(instruction, group, PathsIn(*instruction, users, groups_[group]));
      groups_of_[instruction] = {group};
      return;
    }
    Groups own;
    const bool partly = analysis::IsRematerialized(*instruction) && !is_ordered;
    const bool is_exit = claim != claimed_.end();
    if (!is_exit && (all_users || partly) && analysis::IsLoopProducer(*instruction) && !IsSharedUpdate(*instruction)) {
      std::vector<std::vector<IndexPath>> paths;
      for (const auto& [group, users] : users_in) {
        std::vector<IndexPath> in_group = PathsIn(*instruction, users, groups_[group]);
        if (!Accepts(groups_[group], *instruction, users, in_group)) continue;
        own.push_back(group);
        paths.push_back(std::move(in_group));
      }
      const bool everywhere = own.size() == users_in.size();
      const bool divided = IsDividedOtherwise(*instruction);
      const bool stored = own.size() == 1 && IsFunctionOfRowIndices(groups_[own[0]], *instruction);
      if (partly || (everywhere && !divided && !stored && IsWorthRepeating(*instruction, own, paths))) {
        for (size_t i = 0; i < own.size(); ++i) Join(instruction, own[i], std::move(paths[i]));
        if (all_users && everywhere) {
          groups_of_[instruction] = std::move(own);
          return;
        }
      } else if (everywhere && all_users && own.size() == 1 && !stored && Keep(instruction, own[0], paths[0])) {
        groups_of_[instruction] = std::move(own);
        return;
      } else {
        own.clear();
      }
    }
    if (CanRoot(*instruction) && !is_ordered && (!instruction->users().empty() || instruction->IsRoot())) {
      own.push_back(NewGroup(instruction));
    }
    groups_of_[instruction] = std::move(own);
  }

  // How `producer` would be evaluated in `group`, from how `users`, members there, are.
  static std::vector<IndexPath> PathsIn(const Instruction& producer, const std::vector<const Instruction*>& users,
                                        const FusionGroup& group) {
    std::vector<IndexPath> paths;
    for (const Instruction* user : users) {
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (user->operand(i) != &producer) continue;
        for (const IndexPath& path : group.members.at(user)) {
          IndexPath through = analysis::PathOfOperand(*user, i, path);
          // Pieces of what a kernel joins are loops of their own, or one where they are made side by side.
          if ((user == group.root || group.kept.contains(user)) && user->opcode() == Opcode::kConcatenate &&
              analysis::CheaperAsPieces(*user)) {
            through.evaluations = static_cast<double>(producer.shape().element_count());
            if (analysis::MakesPiecesTogether(*user) &&
                (group.kept.contains(user) || analysis::PiecesShareWork(*user))) {
              through.map = through.ordered_map = absl::HashOf(path.map, user->id());
            }
          }
          if (user->opcode() == Opcode::kConcatenate && analysis::IsCutWith(*group.root, *user)) {
            through.evaluations = path.evaluations * static_cast<double>(producer.shape().element_count()) /
                                  static_cast<double>(user->shape().element_count());
          }
          if (std::none_of(paths.begin(), paths.end(), [&](const IndexPath& p) { return p.map == through.map; })) {
            paths.push_back(through);
          }
        }
      }
    }
    return paths;
  }

  bool Accepts(const FusionGroup& group, const Instruction& producer, const std::vector<const Instruction*>& users,
               const std::vector<IndexPath>& paths) const {
    for (const Instruction* user : users) {
      if (!TakesOperand(*user, producer)) return false;
    }
    if (analysis::IsInlineConstant(producer)) return true;
    // A scalar read from larger loops is counted as evaluated once; should it be evaluated in the loop after all, an
    // expensive one would cost more than it saves.
    const bool same_index = paths.size() == 1 && paths[0].map == 0;
    if (producer.shape().IsScalar() && !same_index && analysis::CostOf(producer) == EvaluationCost::kExpensive) {
      return false;
    }
    // One number for all elements: a kernel that is full is no reason to store copies of it.
    const bool is_splat = producer.opcode() == Opcode::kBroadcast && producer.operand(0)->IsConstant() &&
                          producer.operand(0)->shape().IsScalar();
    const int64_t ops = std::max(static_cast<int64_t>(paths.size()), ColumnOps(producer));
    if (!is_splat && (paths.size() > kMaxPathsPerInstruction || group.emitted_ops + ops > kMaxEmittedOps)) {
      return false;
    }
    // What is made of columns is code once per column.
    if (ops > kMaxColumnOps && group.emitted_ops > kMaxOpsPerColumn) return false;
    if (group.kind == FusionKind::kOutput) {
      // In front of the product is what makes its operands, at the cost of little and for it alone.
      const bool in_front = IsInFront(group, *users[0]);
      if (absl::c_any_of(users, [&](const Instruction* user) { return IsInFront(group, *user) != in_front; })) {
        return analysis::IsRematerialized(producer);
      }
      if (in_front) {
        return MayMakeOperand(*group.hero, producer) && (users[0] != group.hero || IsWorthMaking(producer, paths));
      }
      // The epilogue works on tiles of the result: only what is read at the same index, or broadcast to it.
      if (!same_index ||
          (!analysis::IsElementwiseLike(producer) && producer.opcode() != Opcode::kBroadcast &&
           producer.opcode() != Opcode::kIota) ||
          IsMadeOfMoved(producer)) {
        return false;
      }
    }
    if (group.root->opcode() == Opcode::kDynamicUpdateSlice && !MayRunBesideUpdate(*group.root, producer, paths)) {
      return false;
    }
    if (group.root->opcode() == Opcode::kScatter && !MayRunInScatter(group, producer)) return false;
    size_t added = 0;
    for (const Instruction* operand : producer.operands()) {
      added += !analysis::IsInlineConstant(*operand) && !group.members.contains(operand) &&
               !group.parameters.contains(operand);
    }
    if (added <= 1) return true;
    // Parameters that are yet to be placed may still become members, as long as there is room.
    const size_t room = static_cast<size_t>(std::max<int64_t>(kMaxEmittedOps - group.emitted_ops, 0)) / 2;
    return group.parameters.size() - 1 + added <= kMaxParameters + room;
  }

  // Whether an epilogue that computes `producer` would have several arrays stored that its own kernel reads elsewhere.
  static bool IsMadeOfMoved(const Instruction& producer) {
    constexpr size_t kMaxValues = 64;
    std::vector<const Instruction*> values = {&producer};
    int64_t moved = 0;
    for (size_t i = 0; i < values.size() && values.size() <= kMaxValues && moved < 2; ++i) {
      for (const Instruction* operand : values[i]->operands()) {
        if (!analysis::IsLoopProducer(*operand) || analysis::IsRematerialized(*operand) ||
            operand->opcode() == Opcode::kBroadcast || absl::c_linear_search(values, operand)) {
          continue;
        }
        if (analysis::IsElementwiseLike(*operand)) {
          values.push_back(operand);
        } else {
          moved += operand->opcode() != Opcode::kReshape && !analysis::IsPartOfMemory(*operand) ? 1 : 0;
        }
      }
    }
    return moved > 1;
  }

  static bool IsInFront(const FusionGroup& group, const Instruction& member) {
    return &member == group.hero || group.in_front.contains(&member);
  }

  // Whether a product had better read what `operand` is made of, some of it several times, than what a kernel stored.
  static bool IsWorthMaking(const Instruction& operand, const std::vector<IndexPath>& paths) {
    const std::optional<double> read = analysis::BytesMadeOf(operand, /*cheap=*/true);
    const double elements = static_cast<double>(std::max<int64_t>(1, operand.shape().element_count()));
    const double own = static_cast<double>(operand.shape().byte_count());
    double times = 0;
    for (const IndexPath& path : paths) times += path.evaluations / elements;
    return read.has_value() && *read * times <= *read + (1 + times) * own;
  }

  // Functions are evaluated by kernels, and divisions where that is once for each element.
  static bool MayMakeOperand(const Instruction& hero, const Instruction& producer) {
    switch (producer.opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kIota:
        return true;
      default:
        return analysis::IsElementwiseLike(producer) &&
               (analysis::CostOf(producer) != EvaluationCost::kExpensive ||
                (producer.opcode() == Opcode::kDivide && analysis::MakesOnce(hero, producer)));
    }
  }

  static bool GathersRows(const Instruction& gather) {
    constexpr int64_t kMinRow = 8;
    int64_t row = 1;
    for (int64_t d : gather.Get<hlo::GatherAttributes>().offset_dims) row *= gather.shape().dimensions(d);
    return row >= kMinRow;
  }

  // As random indices do, which are computed in lanes and stored before.
  static bool TakesManyOps(const Instruction& index) {
    std::vector<const Instruction*> reached = {&index};
    for (size_t i = 0; i < reached.size() && reached.size() <= kMaxIndexOps; ++i) {
      if (!analysis::IsLoopProducer(*reached[i])) continue;
      for (const Instruction* operand : reached[i]->operands()) {
        if (!operand->shape().IsScalar() && !analysis::IsRematerialized(*operand) &&
            !absl::c_linear_search(reached, operand)) {
          reached.push_back(operand);
        }
      }
    }
    return reached.size() > kMaxIndexOps;
  }

  // Whether rows are gathered in the group by what is made of `function`: one at a time, where lanes go along the rows.
  static bool IsFunctionOfRowIndices(const FusionGroup& group, const Instruction& function) {
    if (analysis::CostOf(function) != EvaluationCost::kExpensive || !analysis::IsElementwiseLike(function) ||
        function.shape().byte_count() < kMinKeptBytes) {
      return false;
    }
    std::vector<const Instruction*> reached = {&function};
    for (size_t i = 0; i < reached.size() && reached.size() <= kMaxIndexOps; ++i) {
      for (const Instruction* user : reached[i]->users()) {
        const bool is_inside = group.members.contains(user) && !group.kept.contains(user);
        if (!is_inside || absl::c_linear_search(reached, user)) continue;
        if (user->opcode() == Opcode::kGather && user->operand(1) == reached[i] && GathersRows(*user)) return true;
        if (user->opcode() != Opcode::kGather) reached.push_back(user);
      }
    }
    return false;
  }

  // Operands of some ops are read by the kernel itself and stay parameters.
  bool TakesOperand(const Instruction& user, const Instruction& producer) const {
    for (int64_t i = 0; i < user.operand_count(); ++i) {
      if (user.operand(i) != &producer) continue;
      if (analysis::IsContraction(user) && !(costs_.makes_operands && analysis::MakesOperand(user, i))) return false;
      const bool is_init = user.opcode() == Opcode::kReduce && i >= user.operand_count() / 2;
      if (is_init && !producer.IsConstant()) return false;
      const bool is_update = user.opcode() == Opcode::kDynamicUpdateSlice || user.opcode() == Opcode::kScatter;
      if (is_update && i == 0) return false;
      const bool is_index =
          (user.opcode() == Opcode::kGather && i == 1) || (user.opcode() == Opcode::kDynamicSlice && i > 0) ||
          (user.opcode() == Opcode::kDynamicUpdateSlice && i > 1) || (user.opcode() == Opcode::kScatter && i == 1);
      if (is_index && analysis::CostOf(producer) == EvaluationCost::kExpensive && !analysis::IsCounted(producer))
        return false;
      if (is_index && user.opcode() == Opcode::kGather && GathersRows(user) && TakesManyOps(producer)) return false;
      // They would be made again for each element of these windows.
      if (is_index && user.opcode() == Opcode::kScatter && analysis::IsElementwiseLike(producer) &&
          analysis::WindowsOutside(user.Get<hlo::ScatterAttributes>(), user.operand(0)->shape().rank()) > 0) {
        return false;
      }
    }
    return true;
  }

  // Updates meet their places one after the other, in one thread and often without lanes: what is dear to compute is
  // computed before, and so is what takes many ops where the updates are single elements, as integers of floats do,
  // with their bounds. Elements of the array that is updated are read before as well. Rows that a large transpose
  // makes go by tiles elsewhere, here they would fetch a cache line for each element.
  static bool MayRunInScatter(const FusionGroup& group, const Instruction& producer) {
    constexpr int64_t kLargeElements = 1 << 14;
    const bool has_rows = !group.root->Get<hlo::ScatterAttributes>().update_window_dims.empty();
    if (has_rows && producer.opcode() == Opcode::kTranspose &&
        producer.dimensions().back() + 1 != producer.shape().rank() &&
        producer.shape().element_count() >= kLargeElements) {
      return false;
    }
    const Instruction* written = SourceOf(group.root->operand(0));
    const bool rounds = producer.opcode() == Opcode::kConvert && hlo::IsIntegral(producer.shape().element_type()) &&
                        hlo::IsFloating(producer.operand(0)->shape().element_type());
    if ((rounds || group.emitted_ops >= kMaxScalarOps) && analysis::IsElementwiseLike(producer) &&
        !producer.shape().IsScalar() && group.root->Get<hlo::ScatterAttributes>().update_window_dims.empty()) {
      return false;
    }
    return (producer.opcode() == Opcode::kGather || analysis::CostOf(producer) != EvaluationCost::kExpensive) &&
           absl::c_none_of(producer.operands(),
                           [&](const Instruction* operand) { return SourceOf(operand) == written; });
  }

  // Of columns that are joined, how many ops make them, as far as they may be in one kernel; 0 for all else. Columns
  // among these are made of code once per column again.
  static int64_t ColumnOps(const Instruction& value) {
    if (!analysis::JoinsColumns(value)) return 0;
    struct Op {
      const Instruction* instruction;
      int64_t times;
    };
    std::vector<Op> reached = {{&value, 1}};
    absl::flat_hash_set<const Instruction*> seen;
    int64_t ops = 1;
    for (size_t i = 0; i < reached.size() && ops <= kMaxEmittedOps; ++i) {
      const auto [op, of_op] = reached[i];
      const int64_t times = of_op * (i > 0 && analysis::JoinsColumns(*op) ? op->operand_count() : 1);
      for (const Instruction* operand : op->operands()) {
        if (analysis::IsLoopProducer(*operand) && !operand->shape().IsScalar() && seen.insert(operand).second) {
          reached.push_back({operand, times});
          ops += times;
        }
      }
    }
    return ops;
  }

  // Whether it costs little to read what `value` is made of in its place: no steps, no lookups.
  static bool IsReadAsOperands(const Instruction& value) {
    if (value.opcode() == Opcode::kSlice) {
      return absl::c_all_of(value.Get<hlo::SliceAttributes>().stride, [](int64_t stride) { return stride == 1; });
    }
    const EvaluationCost cost = analysis::CostOf(value);
    return analysis::IsLoopProducer(value) &&
           (cost == EvaluationCost::kFree || (cost == EvaluationCost::kCheap && analysis::IsElementwiseLike(value)));
  }

  // Whether `value` is an array, and not made again for each who reads it.
  static bool IsStored(const Instruction& value) {
    return !analysis::IsLoopProducer(value) || analysis::CostOf(value) == EvaluationCost::kExpensive;
  }

  // Whether a chain that `producer` is not part of leads from `value` to a member of the group; `openly`: past nothing
  // that is made elsewhere.
  bool LeadsInto(const FusionGroup& group, const Instruction& value, const Instruction& producer, bool openly) const {
    constexpr size_t kMaxValues = 64;  // looked at
    std::vector<const Instruction*> reached = {&value};
    absl::flat_hash_set<const Instruction*> seen = {&value, &producer};
    for (size_t i = 0; i < reached.size(); ++i) {
      for (const Instruction* user : reached[i]->users()) {
        if (seen.size() > kMaxValues) return false;
        if (!seen.insert(user).second) continue;
        if (group.members.contains(user)) return true;
        if (IsReadAsOperands(*user) && !(openly && groups_of_.contains(user))) reached.push_back(user);
      }
    }
    return false;
  }

  // Whether `value` is in the group anyway.
  bool IsReadIn(const FusionGroup& group, const Instruction& value, const Instruction& producer) const {
    if (group.parameters.contains(&value) || group.members.contains(&value) || analysis::IsRematerialized(value)) {
      return true;
    }
    // Updates go one by one, where operations count.
    return IsStored(value) && group.root->opcode() != Opcode::kScatter && LeadsInto(group, value, producer, false);
  }

  // Whether `value` is an array for one who reads no values that are made in its kernel.
  bool IsReadAsArray(const Instruction& value) const {
    return value.IsRoot() || absl::c_any_of(value.users(), [&](const Instruction* user) {
             return !TakesOperand(*user, value) || !(analysis::IsLoopProducer(*user) || CanRoot(*user));
           });
  }

  using Made = absl::InlinedVector<const Instruction*, 8>;

  // Whether `value` is read in the group beside `producer`, or is made of what is in so many cheap steps. With `made`,
  // to which it adds those steps, also of what is broadcast from a cache.
  bool IsAtHand(const FusionGroup& group, const Instruction& value, const Instruction& producer, int steps,
                Made* made) const {
    if (IsReadIn(group, value, producer)) return true;
    if (made != nullptr) {
      if (value.opcode() == Opcode::kBroadcast || absl::c_linear_search(*made, &value)) return true;
      if (IsReadAsArray(value)) return false;
      if (!LeadsInto(group, value, producer, true)) made->push_back(&value);
    }
    return steps > 0 && analysis::IsElementwiseLike(value) && analysis::CostOf(value) == EvaluationCost::kCheap &&
           absl::c_all_of(value.operands(), [&](const Instruction* operand) {
             return IsAtHand(group, *operand, producer, steps - 1, made);
           });
  }

  // Weighs evaluating `producer` so often in each of these groups. `made`: its operands too, in groups that read none
  // of them.
  bool IsCheaperThanStored(const Instruction& producer, const Groups& groups, absl::Span<const double> evaluations_in,
                           bool made) const {
    std::vector<double> reads(producer.operand_count(), 0);
    double evaluations = 0, steps = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      const FusionGroup& group = groups_[groups[i]];
      evaluations += evaluations_in[i];
      // What the group reads anyway costs nothing.
      Made made_in;
      if (absl::c_all_of(producer.operands(), [&](const Instruction* operand) {
            return IsAtHand(group, *operand, producer, kMaxStepsAtHand, made ? &made_in : nullptr);
          })) {
        steps += evaluations_in[i] * static_cast<double>(made_in.size());
        continue;
      }
      for (int64_t k = 0; k < producer.operand_count(); ++k) {
        const Instruction& operand = *producer.operand(k);
        if (!IsStored(operand) || !IsReadIn(group, operand, producer)) reads[k] += evaluations_in[i];
      }
    }
    return analysis::IsWorthRepeating(costs_, producer, evaluations, reads, steps);
  }

  // Whether `value` is made of no memory, in so many cheap steps: a mask of rows and columns.
  static bool IsMadeOfIndices(const Instruction& value, int steps) {
    const EvaluationCost cost = analysis::CostOf(value);
    const bool is_cheap =
        cost == EvaluationCost::kFree || (cost == EvaluationCost::kCheap && analysis::IsElementwiseLike(value));
    return is_cheap && (steps > 0 || value.operands().empty()) && !value.IsParameter() &&
           absl::c_all_of(value.operands(),
                          [&](const Instruction* operand) { return IsMadeOfIndices(*operand, steps - 1); });
  }

  // Weighs evaluating `producer` along all these paths against storing it once.
  bool IsWorthRepeating(const Instruction& producer, const Groups& groups,
                        const std::vector<std::vector<IndexPath>>& paths) {
    if (analysis::IsInlineConstant(producer) || analysis::IsCountedPlace(producer)) return true;
    if (paths.size() > kMaxGroupsPerInstruction) return false;
    double evaluations = 0;
    std::vector<double> evaluations_in;  // by group
    bool repeats_rows = false;
    for (size_t i = 0; i < groups.size(); ++i) {
      const FusionGroup& group = groups_[groups[i]];
      double& in_group = evaluations_in.emplace_back(0);
      // Dear values that the first loop does not change are computed once for all of its iterations.
      const bool once = group.kind == FusionKind::kLoop && groups.size() == 1 && group.kept.empty() &&
                        analysis::IsElementwiseLike(*group.root) &&
                        analysis::CostOf(producer) == EvaluationCost::kExpensive;
      for (const IndexPath& path : paths[i]) {
        const double count = once ? path.evaluations / path.repeats : path.evaluations;
        repeats_rows |= count < path.evaluations;
        in_group += count;
      }
      evaluations += in_group;
    }
    const double elements = static_cast<double>(std::max<int64_t>(1, producer.shape().element_count()));
    const double ratio = evaluations / elements;
    // Columns go where it goes: all of them at once, or each for every element.
    if (ColumnOps(producer) > kMaxColumnOps) {
      double of_column = 0;
      for (const auto& in_group : paths) {
        for (const IndexPath& path : in_group) of_column += analysis::PathOfOperand(producer, 0, path).evaluations;
      }
      return of_column <= kMinMaxRatio * elements / static_cast<double>(producer.operand_count());
    }
    if (ratio <= kMinMaxRatio) {
      if (repeats_rows) groups_[groups[0]].repeats_rows = true;
      return true;
    }
    if (analysis::CostOf(producer) == EvaluationCost::kFree || IsMadeOfIndices(producer, kMaxStepsAtHand)) return true;
    if (ratio > kMaxRatio || analysis::IsMadeOfMore(producer)) return false;
    const bool is_cheap = analysis::CostOf(producer) == EvaluationCost::kCheap;
    if (!IsCheaperThanStored(producer, groups, evaluations_in, false) &&
        !(is_cheap && IsCheaperThanStored(producer, groups, evaluations_in, true))) {
      return false;
    }
    int64_t depth = 1;
    for (const Instruction* user : producer.users()) {
      auto repeated = repeated_depth_.find(user);
      if (repeated != repeated_depth_.end()) depth = std::max(depth, repeated->second + 1);
    }
    if (depth > kMaxRepeatedDepth) return false;
    repeated_depth_[&producer] = depth;
    return true;
  }

  // Whether those who read a concatenate of equal pieces divide it again, otherwise: vectors of theirs would be of
  // several pieces, under conditions.
  static bool IsDividedOtherwise(const Instruction& concatenate) {
    if (!analysis::MakesPiecesTogether(concatenate) || concatenate.shape().byte_count() < kMinKeptBytes) return false;
    // What others read as well is an array, which pieces are read from as they are.
    for (const Instruction* piece : concatenate.operands()) {
      while (piece->opcode() == Opcode::kReshape && piece->users().size() == 1) piece = piece->operand(0);
      if (piece->users().size() > 1 || !analysis::IsLoopProducer(*piece)) return false;
    }
    const int64_t dimension = concatenate.dimensions()[0];
    const auto sizes = [](const Instruction& value) {  // beside ones
      hlo::DimensionVector sizes;
      absl::c_copy_if(value.shape().dimensions(), std::back_inserter(sizes), [](int64_t size) { return size != 1; });
      return sizes;
    };
    return absl::c_all_of(concatenate.users(), [&](const Instruction* user) {
      if (user->opcode() == Opcode::kSlice) {
        const auto& stride = user->Get<hlo::SliceAttributes>().stride;
        return (dimension + 1 == concatenate.shape().rank() && stride[dimension] > 1) ||
               (concatenate.users().size() > 1 && absl::c_any_of(stride, [](int64_t step) { return step > 1; }));
      }
      return user->opcode() == Opcode::kReshape && user->users().size() > 1 && sizes(*user) != sizes(concatenate) &&
             absl::c_all_of(user->users(), [](const Instruction* part) { return part->opcode() == Opcode::kSlice; });
    });
  }

  // Makes `producer` in the group for each block of its rows, where that can be; a transpose that another undoes is
  // evaluated along `paths`, where it is read.
  bool Keep(Instruction* producer, int64_t index, const std::vector<IndexPath>& paths) {
    FusionGroup& group = groups_[index];
    if (costs_.kept_bytes == 0 || group.kind != FusionKind::kLoop || group.repeats_rows ||
        !analysis::IsLoopRoot(*group.root) || group.kept.size() >= kMaxKept ||
        producer->shape().byte_count() < kMinKeptBytes) {
      return false;
    }
    std::vector<const Instruction*> members = {producer};
    for (const auto& [member, their_paths] : group.members) members.push_back(member);
    std::sort(members.begin(), members.end(),
              [&](const Instruction* a, const Instruction* b) { return position_[a] < position_[b]; });
    group.kept.insert(producer);
    const std::optional<analysis::KeptBlocks> blocks = analysis::PlanKeptBlocks(*group.root, members, group.kept);
    if (!blocks.has_value()) {
      group.kept.erase(producer);
      return false;
    }
    double evaluations = static_cast<double>(producer->shape().element_count());
    for (const analysis::KeptValue& kept : blocks->values) {
      if (kept.value != producer) continue;
      // Lanes run along what an undone transpose reads, and across what would be kept.
      if (producer->opcode() == Opcode::kTranspose && kept.lane_dimension >= 0 &&
          producer->dimensions()[kept.lane_dimension] + 1 == producer->shape().rank()) {
        group.kept.erase(producer);
        Join(producer, index, paths);
        return true;
      }
      evaluations *= 1 + static_cast<double>(kept.halo) / static_cast<double>(blocks->rows);
    }
    if (blocks->has_short_pieces) {
      group.kept.erase(producer);
      return false;
    }
    IndexPath path = IndexPath::Whole(producer->shape());
    path.evaluations = evaluations;
    path.map = path.ordered_map = absl::HashOf(producer->id(), evaluations);
    Join(producer, index, {path});
    return true;
  }

  void Join(Instruction* producer, int64_t index, std::vector<IndexPath> paths) {
    FusionGroup& group = groups_[index];
    group.parameters.erase(producer);
    if (!producer->IsConstant()) group.emitted_ops += static_cast<int64_t>(paths.size());
    group.members[producer] = std::move(paths);
    // Not its users, of which there may be one in each of many groups.
    const auto reads = [&](const Instruction* member) { return absl::c_linear_search(member->operands(), producer); };
    if (group.hero != nullptr && (reads(group.hero) || absl::c_any_of(group.in_front, reads))) {
      group.in_front.insert(producer);
    }
    AddParameters(*producer, &group);
  }

  // A reshape of a fusion's parameter costs index arithmetic inside and nothing outside: it becomes the parameter.
  void EvictBoundaryReshapes() {
    for (FusionGroup& group : groups_) {
      std::vector<const Instruction*> members;
      for (const auto& [member, paths] : group.members) {
        if (IsReshape(*member)) members.push_back(member);
      }
      // Those nearest the parameters first, so that chains of reshapes leave as a whole.
      std::sort(members.begin(), members.end(),
                [&](const Instruction* a, const Instruction* b) { return position_[a] < position_[b]; });
      for (const Instruction* member : members) Evict(member, &group);
    }
  }

  static void Evict(const Instruction* instruction, FusionGroup* group) {
    if (instruction == group->root || !group->members.contains(instruction)) return;
    const Instruction* operand = instruction->operand(0);
    if (group->members.contains(operand)) return;
    group->members.erase(instruction);
    group->parameters.insert(instruction);
    const bool still_read = absl::c_any_of(group->members, [&](const auto& member) {
      return absl::c_linear_search(member.first->operands(), operand);
    });
    if (!still_read) group->parameters.erase(operand);
  }

  const analysis::FusionCosts& costs_;
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, int64_t> position_;
  absl::flat_hash_map<const Instruction*, int64_t> depth_;              // products behind it, one after the other
  absl::flat_hash_set<const Instruction*> ordered_;                     // takes part in control dependencies
  absl::flat_hash_map<const Instruction*, Instruction*> claimed_;       // part of an epilogue -> its exit
  absl::flat_hash_map<const Instruction*, Instruction*> hero_of_exit_;  // exit -> hero
  absl::flat_hash_map<const Instruction*, Groups> groups_of_;
  absl::flat_hash_map<const Instruction*, int64_t> repeated_depth_;
  std::vector<FusionGroup> groups_;
};

}  // namespace

std::vector<FusionGroup> PlanFusion(const hlo::Computation& computation, const analysis::FusionCosts& costs) {
  return Planner(computation, costs).Plan();
}

}  // namespace kiln::passes
