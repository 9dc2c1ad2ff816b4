#include "src/cpu/fft_radices.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

// Larger ones that are no primes take LLVM longer and run no faster.
constexpr int64_t kRadices[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 17, 19, 23, 29, 31};
constexpr int64_t kLargestPrime = 31;

double LegCycles(int64_t radix) {
  const FourierTuning& costs = Tuning().fourier;
  double cycles = costs.move_cycles;
  for (int64_t rest = radix, p = 2; rest > 1;) {
    if (rest % p != 0) {
      ++p;
      continue;
    }
    cycles += p == 2 ? costs.halving_cycles : costs.prime_cycles * static_cast<double>(p);
    rest /= p;
  }
  for (int64_t held = Host().vector_registers / 4; held < radix; held *= 2) cycles += costs.spill_cycles;
  return cycles;
}

// The cheapest radices for what is left of the length when the product of those before is `neighbours`.
class Search {
 public:
  Search(int64_t length, int64_t vector_lanes, bool columns)
      : length_(length), vector_lanes_(vector_lanes), columns_(columns) {}

  FftRadices Run() {
    FftRadices result;
    if (!IsSmooth(length_)) return result;
    result.cycles = Best(1);
    for (int64_t at = 1; at < length_; at *= best_[at].radix) result.radices.push_back(best_[at].radix);
    return result;
  }

 private:
  struct Choice {
    int64_t radix = 0;
    double cycles = std::numeric_limits<double>::infinity();
  };

  double PassCycles(int64_t neighbours, int64_t radix) const {
    const double legs = static_cast<double>(length_);
    if (columns_) return legs * LegCycles(radix);
    const int64_t extent = neighbours == 1 ? length_ / radix : neighbours;
    const int64_t lanes = FftLanes(vector_lanes_, extent);
    const double vectors = legs / static_cast<double>(extent) * static_cast<double>(CeilDivide(extent, lanes));
    const FourierTuning& costs = Tuning().fourier;
    double moves = 0;
    if (neighbours == 1 && lanes > 1) {
      moves = std::has_single_bit(static_cast<uint64_t>(radix))
                  ? costs.shuffle_cycles * std::log2(static_cast<double>(radix))
                  : costs.number_cycles * static_cast<double>(2 * lanes);
    }
    return vectors * (LegCycles(radix) + moves);
  }

  double Best(int64_t neighbours) {
    if (neighbours == length_) return 0;
    if (const auto found = best_.find(neighbours); found != best_.end()) return found->second.cycles;
    Choice best;
    for (int64_t radix : kRadices) {
      if (length_ / neighbours % radix != 0) continue;
      const double cycles = PassCycles(neighbours, radix) + Best(neighbours * radix);
      if (cycles < best.cycles) best = {radix, cycles};
    }
    best_[neighbours] = best;
    return best.cycles;
  }

  const int64_t length_, vector_lanes_;
  const bool columns_;
  absl::flat_hash_map<int64_t, Choice> best_;
};

}  // namespace

int64_t FftLanes(int64_t vector_lanes, int64_t extent) {
  int64_t lanes = 1;
  while (lanes * 2 <= std::min(vector_lanes, extent)) lanes *= 2;
  return lanes;
}

bool IsSmooth(int64_t length) {
  for (int64_t p = 2; p <= kLargestPrime; ++p) {
    while (length % p == 0) length /= p;
  }
  return length == 1;
}

FftRadices RowRadices(int64_t length, int64_t vector_lanes) { return Search(length, vector_lanes, false).Run(); }

FftRadices ColumnRadices(int64_t length, int64_t vector_lanes) { return Search(length, vector_lanes, true).Run(); }

int64_t ConvolutionLength(int64_t length, bool columns, int64_t vector_lanes) {
  const int64_t least = 2 * length - 1;
  int64_t best = 0;
  double cycles = std::numeric_limits<double>::infinity();
  for (int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t size = odd;
    while (size < least) size *= 2;
    const double its = Search(size, vector_lanes, columns).Run().cycles;
    if (its < cycles) best = size, cycles = its;
  }
  return best;
}

}  // namespace kiln::cpu
