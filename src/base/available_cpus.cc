// How many CPUs the process may use: affinity mask and cgroup quota, versions 2 and 1.
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "src/base/thread_pool.h"

namespace kiln {
namespace {

int AffinityCpus() {
  // The kernel refuses a mask shorter than its own, so grow until it fits.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 2) {
    std::vector<uint64_t> mask(cpus / 64);
    const size_t bytes = mask.size() * sizeof(uint64_t);
    if (sched_getaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(mask.data())) != 0) continue;
    int count = 0;
    for (uint64_t word : mask) count += __builtin_popcountll(word);
    return std::max(count, 1);
  }
  return std::max<int>(std::thread::hardware_concurrency(), 1);
}

int QuotaCpus(double quota, double period, int limit) {
  if (quota <= 0 || period <= 0) return limit;
  const double cpus = quota / period;
  if (cpus >= limit) return limit;
  const int whole = static_cast<int>(cpus);
  return std::max(1, cpus > whole ? whole + 1 : whole);
}

// The quota in one version 2 directory: "max 100000" or "150000 100000".
int QuotaV2(const std::string& directory, int limit) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return limit;
  return QuotaCpus(std::strtod(quota.c_str(), nullptr), period, limit);
}

int QuotaV1(const std::string& directory, int limit) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
  std::ifstream period_file(directory + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return limit;
  return QuotaCpus(quota, period, limit);
}

// Applies `quota` to `path` under `root` and to every directory above it: a limit anywhere on the way binds.
int QuotaAlongPath(const std::string& root, std::string path, int limit, int (*quota)(const std::string&, int)) {
  while (true) {
    limit = quota(root + path, limit);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return limit;
    path.resize(slash);
  }
}

// What the process's control groups allow, from half a dozen files.
int ReadQuota() {
  int cpus = std::numeric_limits<int>::max();
  std::ifstream groups("/proc/self/cgroup");
  std::string line;  // "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version 1)
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    std::stringstream controllers(line.substr(first + 1, second - first - 1));
    std::string controller;
    if (second == first + 1) {
      cpus = QuotaAlongPath("/sys/fs/cgroup", path, cpus, QuotaV2);
      cpus = QuotaAlongPath("/sys/fs/cgroup/unified", path, cpus, QuotaV2);
    }
    while (std::getline(controllers, controller, ',')) {
      if (controller == "cpu") cpus = QuotaAlongPath("/sys/fs/cgroup/cpu", path, cpus, QuotaV1);
    }
  }
  return cpus;
}

}  // namespace

int ThreadPool::AvailableCpus() {
  static const int quota = ReadQuota();
  return std::min(AffinityCpus(), quota);
}

}  // namespace kiln
