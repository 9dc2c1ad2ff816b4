#include "src/cpu/nest_groups.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "src/base/cpu_tuning.h"

namespace kiln::cpu {
namespace {

using kernel::Kernel;
using kernel::NestSchedule;

// The nests write elements of one array each, and read none of it.
bool AreIndependent(const Kernel& kernel) {
  return absl::c_count_if(kernel.parameters, [](const kernel::Parameter& p) { return p.is_output; }) == 1 &&
         absl::c_none_of(kernel.parameters, [](const kernel::Parameter& p) { return p.is_updated || p.is_local; });
}

// A task is some iterations of the outer loops, the same for both.
bool HaveSameTasks(const Kernel& kernel, const NestSchedule& a, const NestSchedule& b) {
  const auto is_plain = [](const NestSchedule& schedule) {
    return schedule.task_loops > 0 && schedule.block == 1 && schedule.tile.store_loop < 0 &&
           schedule.vector_loop != schedule.order[0];
  };
  if (!is_plain(a) || !is_plain(b) || a.task_loops != b.task_loops) return false;
  return std::equal(a.order.begin(), a.order.begin() + a.task_loops, b.order.begin(), [&](int x, int y) {
    return kernel.loops[x].extent == kernel.loops[y].extent && kernel.loops[x].kind == kernel::LoopKind::kParallel;
  });
}

// Elements that a nest's tasks write, each.
int64_t ElementsOfTask(const Kernel& kernel, const NestSchedule& schedule) {
  int64_t elements = 1;
  for (size_t i = static_cast<size_t>(schedule.task_loops); i < schedule.order.size(); ++i) {
    elements *= kernel.loops[schedule.order[i]].extent;
  }
  return elements;
}

}  // namespace

std::vector<NestGroup> NestGroups(const ScheduledKernel& scheduled) {
  const Kernel& kernel = scheduled.kernel;
  const bool are_independent = AreIndependent(kernel);
  std::vector<NestGroup> groups;
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    const NestSchedule& own = scheduled.schedules[n];
    if (n > 0 && are_independent && HaveSameTasks(kernel, scheduled.schedules[groups.back().first], own)) {
      groups.back().last = n + 1;
    } else {
      groups.push_back({n, n + 1});
    }
  }
  const auto output = absl::c_find_if(kernel.parameters, [](const kernel::Parameter& p) { return p.is_output; });
  for (NestGroup& group : groups) {
    if (group.last - group.first == 1) continue;
    int64_t bytes = 0;
    for (size_t n = group.first; n < group.last; ++n) {
      bytes += ElementsOfTask(kernel, scheduled.schedules[n]) * hlo::ByteWidth(output->type);
    }
    group.block = std::max<int64_t>(Tuning().kernels.group_bytes / std::max<int64_t>(bytes, 1), 1);
  }
  return groups;
}

bool HasLittleWork(const kernel::Kernel& kernel, const kernel::Nest& nest, int64_t most) {
  if (kernel.ops.size() > 400) return false;
  const auto product = [&](int64_t work, const std::vector<int>& loops) {
    for (int loop : loops) work = work > most ? work : work * kernel.loops[loop].extent;
    return work;
  };
  const int64_t outside = product(1, nest.loops);
  return outside <= most && absl::c_all_of(kernel.reduces, [&](const kernel::Reduce& reduce) {
           return product(outside, reduce.loops) <= most;
         });
}

}  // namespace kiln::cpu
