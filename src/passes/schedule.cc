#include "src/passes/schedule.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "src/analysis/code_kinds.h"

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
  return hlo::IsElementwise(instruction.opcode());
}

// The most bytes of temporaries in computations that were scheduled before.
using Peaks = absl::flat_hash_map<const Computation*, int64_t>;

// Numbers of instructions; most have few.
using Edges = absl::InlinedVector<int, 4>;

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
    inside_.resize(n);
    reads_.resize(n);
    readers_.resize(n);
    std::vector<Edges> sources(n);  // of views: the values that they name
    for (size_t i = 0; i < n; ++i) {
      bytes_[i] = ResultBytes(*order_[i]);
      for (const Computation* callee : order_[i]->called_computations()) {
        const auto peak = peaks.find(callee);
        if (peak != peaks.end()) inside_[i] = std::max(inside_[i], peak->second);
      }
      Edges& named = analysis::IsView(*order_[i]) ? sources[i] : reads_[i];
      for (const Instruction* operand : order_[i]->operands()) {
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
    // Results and the next state of a loop have memory of their own.
    bytes_[root_] = 0;
    for (int result : sources[root_]) bytes_[result] = 0;
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
        if (unread[operand] == 1) bytes += bytes_[operand];
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
    std::vector<int> unread(order_.size(), 0);
    for (const auto& reads : reads_) {
      for (int operand : reads) ++unread[operand];
    }
    int64_t live = 0, peak = 0;
    for (int node : order) {
      live += bytes_[node];
      int64_t taken_over = 0;
      int64_t freed = 0;
      for (int operand : reads_[node]) {
        if (--unread[operand] > 0) continue;
        freed += bytes_[operand];
        if (bytes_[operand] == bytes_[node] && TakesOver(*order_[node])) taken_over = bytes_[operand];
      }
      peak = std::max(peak, live - taken_over + inside_[node]);
      live -= freed;
    }
    return peak;
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
  using Numbers = absl::flat_hash_map<const Instruction*, int>;

  // Operands by the rule of Sethi and Ullman: what needs more than it leaves comes first.
  std::vector<Edges> ByNeed() const {
    std::vector<Edges> edges = before_;
    std::vector<int64_t> need(order_.size(), 0);
    for (size_t i = 0; i < order_.size(); ++i) {
      absl::c_stable_sort(edges[i], [&](int a, int b) { return need[a] - bytes_[a] > need[b] - bytes_[b]; });
      int64_t held = 0;
      for (int operand : edges[i]) {
        need[i] = std::max(need[i], held + need[operand]);
        held += bytes_[operand];
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
  std::vector<int64_t> bytes_;
  std::vector<int64_t> inside_;  // temporaries of what an instruction calls
  int root_ = 0;
};

}  // namespace

absl::StatusOr<bool> ScheduleModule(Module* module) {
  absl::flat_hash_set<const Computation*> bodies;
  Peaks peaks;
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
    for (std::vector<int> order :
         {graph.DepthFirst(/*by_need=*/false), graph.DepthFirst(/*by_need=*/true), graph.Greedy(), graph.AsItWas()}) {
      if (order.size() != static_cast<size_t>(computation->instruction_count())) continue;
      const int64_t bytes = graph.PeakBytes(order);
      // Orders that hardly differ stay as they are.
      if (!best.empty() && bytes + bytes / 64 >= peak) continue;
      peak = bytes;
      best = std::move(order);
    }
    if (best.empty()) return absl::InternalError("the schedule lost instructions");
    computation->SetOrder(graph.Instructions(best));
  }
  module->set_is_scheduled(true);
  return true;
}

}  // namespace kiln::passes
