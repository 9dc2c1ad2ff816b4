// An order of computations in which callees stand before their callers.
#ifndef KILN_BASE_CALL_ORDER_H_
#define KILN_BASE_CALL_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kiln {

struct CallOrder {
  std::vector<size_t> order;  // Of all, unless there is a cycle.
  bool cycle = false;
  // The call that closes the cycle: callees[caller][call].
  size_t caller = 0, call = 0;
};

// `callees[i]` are the indices that i calls. Iterative and linear.
inline CallOrder CalleesFirst(const std::vector<std::vector<size_t>>& callees) {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(callees.size(), Mark::kNew);
  CallOrder result;
  std::vector<std::pair<size_t, size_t>> stack;  // caller, next call
  for (size_t start = 0; start < callees.size(); ++start) {
    if (marks[start] != Mark::kNew) continue;
    marks[start] = Mark::kOpen;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [caller, next] = stack.back();
      if (next == callees[caller].size()) {
        marks[caller] = Mark::kDone;
        result.order.push_back(caller);
        stack.pop_back();
        continue;
      }
      const size_t call = next++;
      const size_t callee = callees[caller][call];
      if (marks[callee] == Mark::kOpen) return {{}, true, caller, call};
      if (marks[callee] == Mark::kDone) continue;
      marks[callee] = Mark::kOpen;
      stack.emplace_back(callee, 0);
    }
  }
  return result;
}

}  // namespace kiln

#endif  // KILN_BASE_CALL_ORDER_H_
