#include "src/passes/schedule.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "src/analysis/code_kinds.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

// Bytes that an instruction's own result takes.
int64_t ResultBytes(const Instruction& instruction) {
  if (analysis::IsView(instruction) || instruction.IsParameter() || instruction.IsConstant() ||
      instruction.opcode() == Opcode::kWhile || analysis::UpdatedOperand(instruction) >= 0) {
    return 0;
  }
  return instruction.shape().byte_count();
}

// May write its result over an operand of the same size that nobody reads later.
bool TakesOver(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kFusion) {
    const hlo::FusionKind kind = instruction.Get<hlo::FusionAttributes>().kind;
    return kind == hlo::FusionKind::kLoop || kind == hlo::FusionKind::kInput;
  }
  return hlo::IsElementwise(instruction.opcode()) || instruction.opcode() == Opcode::kSort ||
         instruction.opcode() == Opcode::kFft;
}

// The most bytes of temporaries in computations that were scheduled before.
using Peaks = absl::flat_hash_map<const Computation*, int64_t>;

// Numbers of instructions; most have few.
using Edges = absl::InlinedVector<int, 4>;

// How much is spent on improving an order: lengths of orders that are tried, together.
constexpr int64_t kMaxScheduleSteps = 1 << 16;
// Values made so far before the peak are looked at together with their readers.
constexpr int64_t kMaxBeforePeak = 16;

// One computation as a graph of numbers: positions in its post order.
class Graph {
 public:
  Graph(const Computation& computation, bool is_loop_body, const Peaks& peaks) : order_(computation.PostOrder()) {
    const size_t n = order_.size();
    Numbers number;
    number.reserve(n);
    for (size_t i = 0; i < n; ++i) number[order_[i]] = static_cast<int>(i);
    before_.resize(n);
    after_.resize(n);
    bytes_.resize(n);
    freed_.resize(n);
    inside_.resize(n);
    reads_.resize(n);
    readers_.resize(n);
    std::vector<Edges> sources(n);  // of views: the values that they name
    for (size_t i = 0; i < n; ++i) {
      bytes_[i] = ResultBytes(*order_[i]);
      // Several results of a fusion are made at once and free one by one.
      freed_[i] = IsFreedInParts(*order_[i]) ? 0 : bytes_[i];
      const bool is_part = order_[i]->opcode() == Opcode::kGetTupleElement && IsFreedInParts(*order_[i]->operand(0));
      if (is_part) freed_[i] = order_[i]->shape().byte_count();
      for (const Computation* callee : order_[i]->called_computations()) {
        if (!analysis::IsControlFlow(order_[i]->opcode())) break;  // values of a fusion take no memory
        const auto peak = peaks.find(callee);
        if (peak != peaks.end()) inside_[i] = std::max(inside_[i], peak->second);
      }
      Edges& named = analysis::IsView(*order_[i]) ? sources[i] : reads_[i];
      if (is_part) named = {static_cast<int>(i)};
      for (const Instruction* operand : order_[i]->operands()) {
        if (is_part) break;
        const int o = number.at(operand);
        if (analysis::IsView(*operand)) {
          named.insert(named.end(), sources[o].begin(), sources[o].end());
        } else {
          named.push_back(o);
        }
      }
      auto add = [&](const Instruction* instruction) { before_[i].push_back(number.at(instruction)); };
      for (const Instruction* operand : order_[i]->operands()) add(operand);
      for (const Instruction* control : order_[i]->control_predecessors()) add(control);
    }
    for (size_t i = 0; i < n; ++i) {
      for (Edges* edges : {&before_[i], &reads_[i]}) {
        std::sort(edges->begin(), edges->end());
        edges->erase(std::unique(edges->begin(), edges->end()), edges->end());
      }
      for (int b : before_[i]) after_[b].push_back(static_cast<int>(i));
      for (int r : reads_[i]) readers_[r].push_back(static_cast<int>(i));
    }
    root_ = number.at(computation.root());
    // The next state of a loop, and what becomes of an argument's memory, have memory of their own. So have other
    // results, but temporaries are there before them: written, they are as temporaries that stay.
    for (int result : sources[root_]) {
      MakerBytes(result, number) -= freed_[result];
      freed_[result] = 0;
    }
    bytes_[root_] = freed_[root_] = 0;
    if (&computation == computation.parent()->entry()) CountResults(computation, number, sources);
    // One of those that update a value can take its memory over; the others copy it.
    absl::flat_hash_set<const Instruction*> taken_over;
    for (size_t i = 0; i < n; ++i) {
      const int64_t updated = analysis::UpdatedOperand(*order_[i]);
      if (updated < 0 || !taken_over.insert(order_[i]->operand(updated)).second) continue;
      ReadersFirst(*order_[i]->operand(updated), static_cast<int>(i), number);
    }
    if (is_loop_body) NextStateLast(computation, number);
  }

  // Depth first from the root, operands in their order, or those first that need most memory to compute beside what
  // they leave.
  std::vector<int> DepthFirst(bool by_need) const {
    const std::vector<Edges> by_order = by_need ? ByNeed() : std::vector<Edges>();
    const std::vector<Edges>& edges = by_need ? by_order : before_;
    std::vector<int> result;
    std::vector<bool> visited(order_.size(), false);
    std::vector<std::pair<int, size_t>> stack;
    auto visit = [&](int start) {
      if (visited[start]) return;
      visited[start] = true;
      stack.push_back({start, 0});
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next == edges[node].size()) {
          result.push_back(node);
          stack.pop_back();
          continue;
        }
        const int operand = edges[node][next++];
        if (visited[operand]) continue;
        visited[operand] = true;
        stack.push_back({operand, 0});
      }
    };
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_[i]->IsParameter()) visit(static_cast<int>(i));
    }
    visit(root_);
    for (size_t i = 0; i < order_.size(); ++i) visit(static_cast<int>(i));
    return result;
  }

  // Always the ready instruction that frees most, the earliest in post order among equals.
  std::vector<int> Greedy() const {
    const size_t n = order_.size();
    std::vector<int> waiting(n), unread(n, 0);
    std::vector<bool> done(n, false);
    for (size_t i = 0; i < n; ++i) {
      waiting[i] = static_cast<int>(before_[i].size());
      for (int operand : reads_[i]) ++unread[operand];
    }
    auto gain = [&](int node) {
      int64_t bytes = -bytes_[node];
      for (int operand : reads_[node]) {
        if (unread[operand] == 1) bytes += freed_[operand];
      }
      return bytes;
    };
    using Entry = std::tuple<bool, int64_t, int>;  // parameters first, gain, earlier first
    std::priority_queue<Entry> ready;
    auto push = [&](int node) { ready.emplace(order_[node]->IsParameter(), gain(node), -node); };
    for (size_t i = 0; i < n; ++i) {
      if (waiting[i] == 0) push(static_cast<int>(i));
    }
    std::vector<int> result;
    result.reserve(n);
    while (!ready.empty()) {
      const int node = -std::get<2>(ready.top());
      ready.pop();
      if (done[node]) continue;  // pushed again with a larger gain
      done[node] = true;
      result.push_back(node);
      for (int operand : reads_[node]) {
        if (--unread[operand] != 1) continue;
        for (int reader : readers_[operand]) {
          if (!done[reader] && waiting[reader] == 0) push(reader);
        }
      }
      for (int next : after_[node]) {
        if (--waiting[next] == 0) push(next);
      }
    }
    return result;
  }

  int64_t PeakBytes(const std::vector<int>& order) const {
    const std::vector<int64_t> live = LiveBytes(order);
    return live.empty() ? 0 : *absl::c_max_element(live);
  }

  // The order with instructions moved out of the way of its peak: those behind it that free more than they make to
  // before it, those before it that make more than they free to behind it, and values that are there with all their
  // readers to before it. Moves that only make a peak of another place lead on now and then, so that each instruction
  // makes one of these, lest two undo each other for ever.
  std::vector<int> Relieved(std::vector<int> order) const {
    int64_t tries = kMaxScheduleSteps / std::max<int64_t>(static_cast<int64_t>(order.size()), 1);
    std::vector<int64_t> live = LiveBytes(order);
    std::vector<bool> may_trade(order.size(), true);
    while (true) {
      if (RelieveOnce(/*may_trade=*/nullptr, &tries, &order, &live)) {
        may_trade.assign(order.size(), true);
      } else if (!RelieveOnce(&may_trade, &tries, &order, &live)) {
        return order;
      }
    }
  }

  // The order that the computation had, where it keeps all edges, otherwise nothing.
  std::vector<int> AsItWas() const {
    std::vector<int> result(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      result[i] = static_cast<int>(i);
      if (absl::c_any_of(before_[i], [&](int b) { return b > static_cast<int>(i); })) return {};
    }
    return result;
  }

  std::vector<Instruction*> Instructions(const std::vector<int>& order) const {
    std::vector<Instruction*> result;
    result.reserve(order.size());
    for (int node : order) result.push_back(order_[node]);
    return result;
  }

 private:
  // The bytes of temporaries while each instruction of an order runs.
  std::vector<int64_t> LiveBytes(const std::vector<int>& order) const {
    std::vector<int> unread(order_.size(), 0);
    for (const auto& reads : reads_) {
      for (int operand : reads) ++unread[operand];
    }
    int64_t live = 0;
    std::vector<int64_t> result;
    result.reserve(order.size());
    for (int node : order) {
      live += bytes_[node];
      int64_t taken_over = 0;
      int64_t freed = 0;
      for (int operand : reads_[node]) {
        if (--unread[operand] > 0) continue;
        freed += freed_[operand];
        if (freed_[operand] == bytes_[node] && TakesOver(*order_[node])) taken_over = bytes_[node];
      }
      result.push_back(live - taken_over + inside_[node]);
      live -= freed;
    }
    return result;
  }

  // The first place for `node` where it frees as much as at its own, if that is more than it makes.
  int64_t EarliestGain(int node, const std::vector<int64_t>& place) const {
    int64_t first = 0, gain = -bytes_[node];
    for (int b : before_[node]) first = std::max(first, place[b] + 1);
    for (int operand : reads_[node]) {
      if (freed_[operand] == 0) continue;
      int64_t others = 0;
      for (int reader : readers_[operand]) {
        if (reader != node) others = std::max(others, place[reader] + 1);
      }
      if (others > place[node]) continue;
      gain += freed_[operand];
      first = std::max(first, others);
    }
    return gain > 0 ? first : place[node];
  }

  // The last place for `node`, if it makes more than it frees at its own.
  int64_t LatestGain(int node, const std::vector<int64_t>& place) const {
    int64_t last = static_cast<int64_t>(order_.size()) - 1, gain = bytes_[node];
    for (int a : after_[node]) last = std::min(last, place[a] - 1);
    for (int operand : reads_[node]) {
      if (absl::c_all_of(readers_[operand], [&](int reader) { return place[reader] <= place[node]; })) {
        gain -= freed_[operand];
      }
    }
    return gain > 0 ? last : place[node];
  }

  // One move that takes something from a peak, if there is one within so many `tries`; one that makes another peak of
  // it where the instruction `may_trade`.
  bool RelieveOnce(std::vector<bool>* may_trade, int64_t* tries, std::vector<int>* order,
                   std::vector<int64_t>* live) const {
    const int64_t n = static_cast<int64_t>(order->size()), at = absl::c_max_element(*live) - live->begin();
    std::vector<int64_t> place(order->size());
    for (int64_t i = 0; i < n; ++i) place[(*order)[i]] = i;
    const bool trades = may_trade != nullptr;
    // Whether `move` moves the instruction at `i`.
    const auto moves = [&](int64_t i, absl::FunctionRef<bool()> move) {
      const int node = (*order)[i];
      if ((trades && !(*may_trade)[node]) || --*tries < 0 || !move()) return false;
      if (trades) (*may_trade)[node] = false;
      return true;
    };
    for (int64_t i = at + 1; i < n; ++i) {
      const int64_t to = EarliestGain((*order)[i], place);
      if (to <= at && moves(i, [&] { return MoveIfLess(i, to, at, trades, order, live); })) return true;
    }
    for (int64_t i = at - 1; i >= 0; --i) {
      const int64_t to = LatestGain((*order)[i], place);
      if (to >= at && moves(i, [&] { return MoveIfLess(i, to, at, trades, order, live); })) return true;
    }
    for (int64_t i = at; i >= std::max<int64_t>(at - kMaxBeforePeak, 0); --i) {
      if (moves(i, [&] { return MoveWithReadersIfLess(i, at, place, trades, order, live); })) return true;
    }
    return false;
  }

  // Moves what stands at `from` to `to` where less is live at `at` then, and nowhere more than there was.
  bool MoveIfLess(int64_t from, int64_t to, int64_t at, bool trades, std::vector<int>* order,
                  std::vector<int64_t>* live) const {
    std::vector<int> other = *order;
    const auto begin = other.begin();
    if (to < from) std::rotate(begin + to, begin + from, begin + from + 1);
    if (to > from) std::rotate(begin + from, begin + from + 1, begin + to + 1);
    return TakeIfLess(std::move(other), at, /*slack=*/0, trades, order, live);
  }

  // Moves what stands at `i` and its readers, with all before them that is made for these alone and with names of
  // parameters, as far to the front as they may be, where less is live at `at` then, and nowhere more than there was.
  bool MoveWithReadersIfLess(int64_t i, int64_t at, const std::vector<int64_t>& place, bool trades,
                             std::vector<int>* order, std::vector<int64_t>* live) const {
    std::vector<bool> inside(order_.size(), false);
    const auto is_inside = [&](int node) { return inside[node]; };
    int64_t last = i, first = i, to = 0;
    inside[(*order)[i]] = true;
    for (int reader : readers_[(*order)[i]]) {
      inside[reader] = true;
      last = std::max(last, place[reader]);
    }
    if (last == i) return false;
    for (int64_t k = last; k >= 0; --k) {
      const int node = (*order)[k];
      if (order_[node]->IsParameter() || after_[node].empty()) continue;
      const bool is_name = analysis::IsView(*order_[node]) && order_[node]->operand_count() == 1 &&
                           order_[node]->operand(0)->IsParameter();
      inside[node] = inside[node] || absl::c_all_of(after_[node], is_inside) ||
                     (is_name && absl::c_any_of(after_[node], is_inside));
      if (inside[node]) first = k;
    }
    for (int64_t k = 0; k < last; ++k) {
      const int node = (*order)[k];
      if (!inside[node] && (order_[node]->IsParameter() || absl::c_any_of(after_[node], is_inside))) to = k + 1;
    }
    if (to > at || to >= first) return false;
    std::vector<int> other = *order;
    std::stable_partition(other.begin() + to, other.begin() + last + 1, is_inside);
    return TakeIfLess(std::move(other), at, /*slack=*/(*live)[at] / 64, trades, order, live);
  }

  // `other` in place of an order where less, by more than `slack`, is live at what stands at `at`, and nowhere more
  // than there was; where peaks are not traded for others, as much at fewer places.
  bool TakeIfLess(std::vector<int> other, int64_t at, int64_t slack, bool trades, std::vector<int>* order,
                  std::vector<int64_t>* live) const {
    std::vector<int64_t> bytes = LiveBytes(other);
    const int64_t peak = (*live)[at], now_at = absl::c_find(other, (*order)[at]) - other.begin();
    if (bytes[now_at] + slack >= peak || *absl::c_max_element(bytes) > peak) return false;
    if (!trades && absl::c_count(bytes, peak) >= absl::c_count(*live, peak)) return false;
    *order = std::move(other);
    *live = std::move(bytes);
    return true;
  }

  using Numbers = absl::flat_hash_map<const Instruction*, int>;

  void CountResults(const Computation& entry, const Numbers& number, const std::vector<Edges>& sources) {
    const auto count = [&](const Instruction& result, const Edges& values) {
      if (values.size() != 1) return;
      const Instruction& made = *order_[values[0]];
      if (made.IsParameter() || made.IsConstant() || analysis::UpdatedOperand(made) >= 0) return;
      MakerBytes(values[0], number) += result.shape().byte_count();
    };
    const Instruction* root = entry.root();
    if (root->opcode() != Opcode::kTuple) {
      if (!analysis::IsView(*root) && entry.parent()->aliases().empty()) count(*root, {root_});
      return;
    }
    for (int64_t i = 0; i < root->operand_count(); ++i) {
      const bool is_argument = absl::c_any_of(entry.parent()->aliases(), [&](const hlo::InputOutputAlias& alias) {
        return !alias.output_index.empty() && alias.output_index[0] == i;
      });
      const int operand = number.at(root->operand(i));
      if (is_argument) continue;
      count(*root->operand(i), analysis::IsView(*root->operand(i)) ? sources[operand] : Edges{operand});
    }
  }

  static bool IsFreedInParts(const Instruction& instruction) {
    if (instruction.opcode() != Opcode::kFusion || !instruction.shape().IsTuple()) return false;
    absl::flat_hash_set<int64_t> parts;
    return absl::c_all_of(instruction.users(), [&](const Instruction* user) {
      return user->opcode() == Opcode::kGetTupleElement && parts.insert(user->tuple_index()).second;
    });
  }

  // The bytes of what makes a value, or the value that it is a part of.
  int64_t& MakerBytes(int value, const Numbers& number) {
    return bytes_[order_[value]->opcode() == Opcode::kGetTupleElement ? number.at(order_[value]->operand(0)) : value];
  }

  // Operands by the rule of Sethi and Ullman: what needs more than it leaves comes first.
  std::vector<Edges> ByNeed() const {
    std::vector<Edges> edges = before_;
    std::vector<int64_t> need(order_.size(), 0);
    for (size_t i = 0; i < order_.size(); ++i) {
      absl::c_stable_sort(edges[i], [&](int a, int b) { return need[a] - freed_[a] > need[b] - freed_[b]; });
      int64_t held = 0;
      for (int operand : edges[i]) {
        need[i] = std::max(need[i], held + need[operand]);
        held += freed_[operand];
      }
      need[i] = std::max(need[i], held + bytes_[i] + inside_[i]);
    }
    return edges;
  }

  // Lets every reader of `value` run before `writer`, which takes its memory over, unless the reader needs the writer.
  void ReadersFirst(const Instruction& value, int writer, const Numbers& number) {
    for (const Instruction* reader : value.users()) {
      const int r = number.at(reader);
      if (analysis::IsPartOfMemory(*reader)) ReadersFirst(*reader, writer, number);
      if (r == writer || r == root_ || order_[r]->opcode() == Opcode::kTuple || Reaches(writer, r)) continue;
      before_[writer].push_back(r);
      after_[r].push_back(writer);
    }
  }

  // In the body of a loop the next value of a state element takes over the memory of the present one.
  void NextStateLast(const Computation& body, const Numbers& number) {
    const Instruction* root = body.root();
    if (root->opcode() != Opcode::kTuple || body.parameter_count() != 1) return;
    for (const Instruction* element : body.parameter(0)->users()) {
      if (element->opcode() != Opcode::kGetTupleElement) continue;
      const Instruction* next = root->operand(element->tuple_index());
      if (next != element && !next->IsParameter()) ReadersFirst(*element, number.at(next), number);
    }
  }

  // Whether `to` comes after `from` by the edges so far. Gives up, with yes, when the searches take too long in all.
  bool Reaches(int from, int to) {
    std::vector<int> work = {from};
    absl::flat_hash_set<int> visited = {from};
    while (!work.empty()) {
      const int node = work.back();
      work.pop_back();
      if (node == to || --search_budget_ < 0) return true;
      for (int next : after_[node]) {
        if (visited.insert(next).second) work.push_back(next);
      }
    }
    return false;
  }

  std::vector<Instruction*> order_;
  int64_t search_budget_ = 1 << 20;
  std::vector<Edges> before_, after_;  // all edges
  std::vector<Edges> reads_;           // values that are read, through views; views themselves read none
  std::vector<Edges> readers_;
  std::vector<int64_t> bytes_;   // that are taken when an instruction runs
  std::vector<int64_t> freed_;   // that are free again when the last reader of a value has run
  std::vector<int64_t> inside_;  // temporaries of what an instruction calls
  int root_ = 0;
};

}  // namespace

absl::StatusOr<bool> ScheduleModule(Module* module) {
  absl::flat_hash_set<const Computation*> bodies;
  Peaks peaks;
  const std::vector<Computation*> with_code = ControlComputations(*module);
  const absl::flat_hash_set<const Computation*> runs(with_code.begin(), with_code.end());
  for (const Computation* computation : module->PostOrder()) {
    if (!computation->MayContain(Opcode::kWhile)) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kWhile) bodies.insert(instruction->called_computation(0));
    }
  }
  for (Computation* computation : module->PostOrder()) {
    const Graph graph(*computation, bodies.contains(computation), peaks);
    std::vector<int> best;
    int64_t& peak = peaks[computation];
    // Orders that are not better by so much stay as they are.
    const auto consider = [&](std::vector<int> order, int64_t slack) {
      if (order.size() != static_cast<size_t>(computation->instruction_count())) return;
      const int64_t bytes = graph.PeakBytes(order);
      if (!best.empty() && bytes + slack >= peak) return;
      peak = bytes;
      best = std::move(order);
    };
    consider(graph.DepthFirst(/*by_need=*/false), 0);
    consider(graph.DepthFirst(/*by_need=*/true), peak / 64);
    consider(graph.Greedy(), peak / 64);
    consider(graph.AsItWas(), peak / 64);
    if (runs.contains(computation)) consider(graph.Relieved(best), /*slack=*/0);
    if (best.empty()) return absl::InternalError("the schedule lost instructions");
    computation->SetOrder(graph.Instructions(best));
  }
  module->set_is_scheduled(true);
  return true;
}

}  // namespace kiln::passes
