// The numbers of Tuning().threads on this machine: what a stencil over two arrays that take turns, as in a loop of
// small kernels, takes on one thread and on two. CPUs of a virtual machine may be near each other now and far apart a
// second later, so times are told apart by how long it takes until the other thread begins. ninja sharing_bench
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "src/base/cpu_tuning.h"
#include "src/base/thread_pool.h"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<int64_t, 9> kWidths = {32, 64, 96, 128, 192, 256, 384, 512, 768};

struct Step {
  const float* in;
  float* out;
  int64_t width;
};

void Rows(void* closure, int64_t begin, int64_t end) {
  const Step& step = *static_cast<const Step*>(closure);
  for (int64_t row = begin + 1; row < end + 1; ++row) {
    const float* in = step.in + row * step.width;
    float* out = step.out + row * step.width;
    for (int64_t i = 1; i < step.width - 1; ++i) {
      out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - step.width] + in[i + step.width]);
    }
  }
}

// Microseconds of one of `steps` steps.
double PerStep(ThreadPool& pool, bool shares, int64_t width, int64_t steps, std::vector<float>& a,
               std::vector<float>& b) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    Step step = {i % 2 == 0 ? a.data() : b.data(), i % 2 == 0 ? b.data() : a.data(), width};
    const int64_t rows = width - 2;
    if (shares) {
      pool.ParallelFor(rows, std::max<int64_t>(rows / 16, 1), Rows, &step);
    } else {
      Rows(&step, 0, rows);
    }
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / static_cast<double>(steps);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size()) / 2, values.end());
  return values[values.size() / 2];
}

struct Times {
  std::vector<double> alone, shared;
};

void Measure(double seconds) {
  ThreadPool pool(2);
  std::array<Times, kWidths.size()> near, far;
  std::vector<double> handovers[2];
  const auto start = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    for (size_t i = 0; i < kWidths.size(); ++i) {
      const int64_t width = kWidths[i];
      const int64_t steps = std::max<int64_t>(40, 4'000'000 / (width * width));
      std::vector<float> a(width * width, 1.0f), b = a;
      const double shared = PerStep(pool, true, width, steps, a, b);
      const int64_t handover = pool.handover_nanoseconds();
      const double alone = PerStep(pool, false, width, steps, a, b);
      const bool is_far = handover > Tuning().threads.near_nanoseconds;
      handovers[is_far].push_back(static_cast<double>(handover));
      Times& times = (is_far ? far : near)[i];
      times.shared.push_back(shared);
      times.alone.push_back(alone);
    }
  }
  printf("the other thread begins after %.0f ns where it is near (%zu times), %.0f where it is far (%zu times)\n",
         Median(handovers[0]), handovers[0].size(), Median(handovers[1]), handovers[1].size());
  printf("  width   near: alone  shared us    far: alone  shared us\n");
  for (size_t i = 0; i < kWidths.size(); ++i) {
    printf("  %5d   %11.2f %10.2f   %11.2f %10.2f\n", static_cast<int>(kWidths[i]), Median(near[i].alone),
           Median(near[i].shared), Median(far[i].alone), Median(far[i].shared));
  }
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  kiln::Measure(argc > 1 ? std::atof(argv[1]) : 20);
  return 0;
}
