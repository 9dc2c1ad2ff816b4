#include "src/cpu/group_product.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/float_environment.h"
#include "src/base/rounding.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using GroupDimension = GroupProduct::Dimension;

struct Range {
  int64_t begin, end;
};

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The indices i in [0, count) where 0 <= first + i * step < size.
Range Inside(int64_t first, int64_t step, int64_t size, int64_t count) {
  const int64_t begin = std::max<int64_t>(-FloorDivide(first, step), 0);
  const int64_t end = std::min(FloorDivide(size - 1 - first, step) + 1, count);
  return begin < end ? Range{begin, end} : Range{0, 0};
}

Range TapsOf(const GroupDimension& d, int64_t place) {
  return Inside(place * d.stride - d.low, d.dilation, d.inputs, d.taps);
}

class GroupRunner {
 public:
  GroupRunner(const GroupProduct& product, void* const* extra, GemmFinish* finish)
      : g_(product),
        kernels_(*FindGroupKernels()),
        own_(kernels_.groups[std::countr_zero(static_cast<uint64_t>(product.group))]),
        extra_(extra),
        finish_(finish) {
    const GroupDimension& last = g_.space[2];
    for (int64_t t = 0; t < last.taps; ++t) {
      valid_[t] = Inside(t * last.dilation - last.low, last.stride, last.inputs, last.places);
      whole_ = {std::max(whole_.begin, valid_[t].begin), std::min(whole_.end, valid_[t].end)};
    }
  }

  // Places [begin, end) of row number `row`.
  void RunRow(int64_t row, int64_t begin, int64_t end, const char* lhs, const char* rhs, char* out) const {
    const GroupDimension *d = g_.space, &last = g_.space[2];
    const int64_t place[2] = {row / d[1].places % d[0].places, row % d[1].places};
    const int64_t batch = row / (d[0].places * d[1].places);
    lhs += batch * g_.lhs_batch;
    out += batch * g_.out_batch;
    GroupTaps taps{.w_step = g_.rhs_step, .x_place = last.stride * last.lhs};
    for (int i = 0; i < 2; ++i) {
      const Range range = TapsOf(d[i], place[i]);
      lhs += (place[i] * d[i].stride + range.begin * d[i].dilation - d[i].low) * d[i].lhs;
      rhs += range.begin * d[i].rhs;
      out += place[i] * d[i].out;
      taps.count[i] = range.end - range.begin;
    }
    taps.count[2] = last.taps;
    for (int i = 0; i < 3; ++i) {
      taps.x[i] = d[i].dilation * d[i].lhs;
      taps.w[i] = d[i].rhs;
    }
    const int64_t lanes = kernels_.lanes, tile = GroupKernels::kVectors * lanes;
    const int64_t most = g_.channels < tile ? lanes : tile;
    const int64_t element = sizeof(float);
    taps.sums_place = g_.direct ? last.out : tile * element;
    for (int64_t channel = 0; channel < g_.channels; channel += most) {
      // The last vectors begin early enough to be whole.
      const int64_t columns = std::min(most, g_.channels - channel);
      const int64_t vectors = CeilDivide(columns, lanes);
      const int64_t first = std::min(channel, g_.channels - vectors * lanes);
      for (int64_t m = begin; m < end;) {
        const int64_t places = std::min(kernels_.places, end - m);
        const char* x = lhs + (m * last.stride - last.low) * last.lhs + first * element;
        const char* w = rhs + first * element;
        char* sums = g_.direct ? out + m * last.out + first * element : sums_;
        if (m >= whole_.begin && m + kernels_.places <= std::min(end, whole_.end)) {
          own_.whole[vectors - 1](x, w, sums, taps, nullptr, places);
        } else {
          uint8_t valid[kMaxGroupTaps];
          const auto below = [&](int64_t limit) { return (1u << std::clamp<int64_t>(limit - m, 0, places)) - 1; };
          for (int64_t t = 0; t < last.taps; ++t) {
            valid[t] = static_cast<uint8_t>(below(valid_[t].end) & ~below(valid_[t].begin));
          }
          (2 * places <= kernels_.places ? own_.few : own_.any)[vectors - 1](x, w, sums, taps, valid, places);
        }
        if (!g_.direct) {
          for (int64_t place = 0; first < channel && place < places; ++place) {
            char* to = sums_ + place * taps.sums_place;  // whole vectors again
            std::memmove(to, to + (channel - first) * element, static_cast<size_t>(columns * element));
          }
          finish_(sums_, out, extra_, row, m, channel, places, columns, taps.sums_place);
        }
        m += places;
      }
    }
  }

 private:
  const GroupProduct& g_;
  const GroupKernels& kernels_;
  const GroupKernels::OfSize& own_;
  void* const* const extra_;
  GemmFinish* const finish_;
  Range whole_{0, INT64_MAX};   // places of the last dimension where every tap meets an input
  Range valid_[kMaxGroupTaps];  // the same for each tap
  alignas(64) mutable char sums_[8 * GroupKernels::kVectors * 64];
};

}  // namespace

const GroupKernels* FindGroupKernels() {
  const int bytes = Host().compiled_vector_bytes;
  return bytes == 64 ? GroupKernels512() : bytes == 32 ? GroupKernels256() : GroupKernels128();
}

void RunGroupProduct(const GroupProduct* product, const char* lhs, const char* rhs, char* out, void* const* extra,
                     int64_t begin, int64_t end, GemmFinish* finish) {
  const FlushedFloatEnvironment environment;
  const GroupProduct& g = *product;
  const GroupRunner runner(g, extra, finish);
  const int64_t limit = std::min(end * g.block, g.positions);
  for (int64_t position = begin * g.block; position < limit;) {
    const int64_t row = position / g.row, m = position % g.row;
    const int64_t count = std::min(g.row - m, limit - position);
    runner.RunRow(row, m, std::min(m + count, g.space[2].places), lhs, rhs, out);
    position += count;
  }
}

void ChooseGroupBlocks(const GemmProblem& problem, int threads, GemmSchedule& schedule) {
  const GroupKernels& kernels = *FindGroupKernels();
  schedule.kind = GemmSchedule::Kind::kGroups;
  schedule.lanes = static_cast<int>(kernels.lanes);
  schedule.rows = static_cast<int>(kernels.places);
  schedule.vectors = GroupKernels::kVectors;
  schedule.k_block = problem.k_total();
  schedule.n_block = problem.n;
  // Whole rows where there are enough of them.
  constexpr int64_t kTasksPerThread = 8;
  const int64_t row = RoundUp(problem.m, kernels.places);
  const int64_t wanted = CeilDivide(row * problem.m_outer, threads * kTasksPerThread);
  schedule.m_block = RoundUp(wanted, wanted < row ? kernels.places : row);
}

std::vector<int64_t> DescribeGroupProduct(const GemmSpec& spec, const GemmProblem& problem,
                                          const GemmSchedule& schedule, const GemmLayout& layout, bool direct) {
  const auto lhs = static_cast<int64_t>(sizeof(float)), rhs = lhs;
  const int64_t out = hlo::ByteWidth(problem.out_type);
  GroupProduct g;
  g.group = problem.column_group;
  g.channels = problem.n;
  g.rhs_step = problem.rhs_k * rhs;
  g.lhs_batch = problem.outer_rows.front().lhs_stride * lhs;
  g.out_batch = problem.outer_rows.front().out_stride * out;
  g.block = schedule.m_block;
  g.row = layout.m_padded;
  g.positions = layout.m_total;
  g.direct = direct ? 1 : 0;
  for (size_t i = 0; i < spec.windows.size(); ++i) {
    const GemmWindow& w = spec.windows[i];
    g.space[3 - spec.windows.size() + i] = {w.places, w.inputs,    w.taps,      w.stride,   w.dilation,
                                            w.low,    w.lhs * lhs, w.rhs * rhs, w.out * out};
  }
  static_assert(sizeof(GroupProduct) % sizeof(int64_t) == 0);
  std::vector<int64_t> words(sizeof(GroupProduct) / sizeof(int64_t));
  std::memcpy(words.data(), &g, sizeof(GroupProduct));
  return words;
}

}  // namespace kiln::cpu
