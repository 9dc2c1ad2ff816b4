#include "src/passes/schedule.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Whether `instruction` may write its result over operand 0 of the update (which is operand `*index` of it).
bool UpdatesInPlace(const Instruction& instruction, int64_t* index) {
  *index = 0;
  if (instruction.opcode() == Opcode::kDynamicUpdateSlice || instruction.opcode() == Opcode::kScatter) return true;
  if (instruction.opcode() != Opcode::kFusion) return false;
  const Instruction* root = instruction.called_computation()->root();
  if (root->opcode() != Opcode::kDynamicUpdateSlice || !root->operand(0)->IsParameter()) return false;
  *index = root->operand(0)->parameter_number();
  return true;
}

// Bytes that an instruction's own result takes; views of other results take none.
int64_t ResultBytes(const Instruction& instruction) {
  int64_t index = 0;
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kWhile:
    case Opcode::kOptBarrier:
      return 0;
    default:
      return UpdatesInPlace(instruction, &index) ? 0 : instruction.shape().byte_count();
  }
}

// One computation as a graph of numbers: positions in its post order.
class Graph {
 public:
  Graph(const Computation& computation, bool is_loop_body) : order_(computation.PostOrder()) {
    const size_t n = order_.size();
    Numbers number;
    number.reserve(n);
    for (size_t i = 0; i < n; ++i) number[order_[i]] = static_cast<int>(i);
    before_.resize(n);
    after_.resize(n);
    bytes_.resize(n);
    for (size_t i = 0; i < n; ++i) {
      bytes_[i] = ResultBytes(*order_[i]);
      auto add = [&](const Instruction* instruction) { before_[i].push_back(number.at(instruction)); };
      for (const Instruction* operand : order_[i]->operands()) add(operand);
      reads_.push_back(before_[i]);
      for (const Instruction* control : order_[i]->control_predecessors()) add(control);
    }
    for (size_t i = 0; i < n; ++i) {
      for (std::vector<int>* edges : {&before_[i], &reads_[i]}) {
        std::sort(edges->begin(), edges->end());
        edges->erase(std::unique(edges->begin(), edges->end()), edges->end());
      }
      for (int b : before_[i]) after_[b].push_back(static_cast<int>(i));
    }
    root_ = number.at(computation.root());
    for (size_t i = 0; i < n; ++i) {
      int64_t index = 0;
      if (UpdatesInPlace(*order_[i], &index)) ReadersFirst(*order_[i]->operand(index), static_cast<int>(i), number);
    }
    if (is_loop_body) NextStateLast(computation, number);
  }

  std::vector<int> DepthFirst() const {
    std::vector<int> result;
    std::vector<bool> visited(order_.size(), false);
    std::vector<std::pair<int, size_t>> stack;
    auto visit = [&](int start) {
      if (visited[start]) return;
      visited[start] = true;
      stack.push_back({start, 0});
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next == before_[node].size()) {
          result.push_back(node);
          stack.pop_back();
          continue;
        }
        const int operand = before_[node][next++];
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
        for (int reader : after_[operand]) {
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
      peak = std::max(peak, live);
      for (int operand : reads_[node]) {
        if (--unread[operand] == 0) live -= bytes_[operand];
      }
    }
    return peak;
  }

  std::vector<Instruction*> Instructions(const std::vector<int>& order) const {
    std::vector<Instruction*> result;
    result.reserve(order.size());
    for (int node : order) result.push_back(order_[node]);
    return result;
  }

 private:
  using Numbers = absl::flat_hash_map<const Instruction*, int>;

  // Lets every reader of `value` run before `writer`, which takes its memory over, unless the reader needs the writer.
  void ReadersFirst(const Instruction& value, int writer, const Numbers& number) {
    for (const Instruction* reader : value.users()) {
      const int r = number.at(reader);
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
  std::vector<std::vector<int>> before_, after_;  // all edges
  std::vector<std::vector<int>> reads_;           // operands alone
  std::vector<int64_t> bytes_;
  int root_ = 0;
};

}  // namespace

absl::StatusOr<bool> Schedule::Run(hlo::Module* module) {
  absl::flat_hash_set<const Computation*> bodies;
  for (const Computation* computation : module->PostOrder()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kWhile) bodies.insert(instruction->called_computation(0));
    }
  }
  for (Computation* computation : module->PostOrder()) {
    const Graph graph(*computation, bodies.contains(computation));
    const std::vector<int> depth_first = graph.DepthFirst(), greedy = graph.Greedy();
    if (depth_first.size() != greedy.size()) return absl::InternalError("the schedule lost instructions");
    const bool better = graph.PeakBytes(greedy) < graph.PeakBytes(depth_first);
    computation->SetOrder(graph.Instructions(better ? greedy : depth_first));
  }
  module->set_is_scheduled(true);
  return true;
}

}  // namespace kiln::passes
