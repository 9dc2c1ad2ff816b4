#include "src/cpu/fft_radices.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ranges>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/cpu/fft_kernels.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/vector_clones.h"

namespace kiln::cpu {
namespace {

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
  if (!absl::c_linear_search(kFftCommonRadices, radix)) cycles += costs.rare_cycles;
  for (int64_t held = Host().compiled_vector_registers / 4; held < radix; held *= 2) cycles += costs.spill_cycles;
  return cycles;
}

// The cheapest radices for what is left of the length when the product of those before is `neighbours`.
class Search {
 public:
  Search(int64_t length, int64_t vector_lanes, bool columns, bool whole = true)
      : length_(length), vector_lanes_(vector_lanes), columns_(columns), whole_(whole) {}

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

  // Vectors of 32 bytes among those of 64.
  bool Halves(int64_t extent) const {
    return CompiledVectorBytes() == 64 && (columns_ ? !whole_ : extent < vector_lanes_);
  }

  bool Has(int64_t neighbours, int64_t radix) const {
    if (length_ / neighbours % radix != 0) return false;
    return radix != 16 || (Host().compiled_vector_registers >= 32 && !Halves(Extent(neighbours, radix)));
  }

  int64_t Extent(int64_t neighbours, int64_t radix) const { return neighbours == 1 ? length_ / radix : neighbours; }

  double PassCycles(int64_t neighbours, int64_t radix) const {
    const double legs = static_cast<double>(length_);
    if (columns_) return legs * LegCycles(radix);
    const int64_t extent = Extent(neighbours, radix);
    const FourierTuning& costs = Tuning().fourier;
    // Few lanes are computed by vectors of half the width.
    const bool half = Halves(extent);
    const int64_t lanes = half ? vector_lanes_ / 2 : vector_lanes_;
    double vectors = legs / static_cast<double>(extent) * static_cast<double>(CeilDivide(extent, lanes)) *
                     (half ? costs.half_vector : 1);
    if (extent < lanes) vectors *= costs.narrow_vector;
    double moves = 0;
    if (neighbours == 1) {
      moves = IsFftPrime(radix) ? costs.number_cycles * static_cast<double>(2 * vector_lanes_)
                                : costs.shuffle_cycles * std::ceil(std::log2(static_cast<double>(radix)));
    }
    if (extent % lanes != 0) moves += costs.unaligned_cycles;
    return vectors * (LegCycles(radix) + moves);
  }

  double Best(int64_t neighbours) {
    if (neighbours == length_) return 0;
    if (const auto found = best_.find(neighbours); found != best_.end()) return found->second.cycles;
    Choice best;
    auto consider = [&](int64_t radix) {
      if (!Has(neighbours, radix)) return;
      const double cycles = PassCycles(neighbours, radix) + Best(neighbours * radix);
      if (cycles < best.cycles) best = {radix, cycles};
    };
    // Large ones first where others are as good: the first pass has no roots.
    for (int64_t radix : std::views::reverse(kFftRadices)) consider(radix);
    for (int64_t radix : kFftPrimes) consider(radix);
    best_[neighbours] = best;
    return best.cycles;
  }

  const int64_t length_, vector_lanes_;
  const bool columns_, whole_;
  absl::flat_hash_map<int64_t, Choice> best_;
};

}  // namespace

int64_t FftLanes(int64_t vector_lanes, int64_t extent) {
  int64_t lanes = 1;
  while (lanes * 2 <= std::min(vector_lanes, extent)) lanes *= 2;
  return lanes;
}

bool IsFftPrime(int64_t radix) { return absl::c_linear_search(kFftPrimes, radix); }

bool IsSmooth(int64_t length) {
  for (int64_t p = 2; p <= kFftLargestRadix; ++p) {
    while (length % p == 0) length /= p;
  }
  return length == 1;
}

FftRadices RowRadices(int64_t length, int64_t vector_lanes) { return Search(length, vector_lanes, false).Run(); }

FftRadices ColumnRadices(int64_t length, int64_t vector_lanes, bool whole) {
  return Search(length, vector_lanes, true, whole).Run();
}

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
