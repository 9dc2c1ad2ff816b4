#include "src/cpu/fft_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/thread_pool.h"
#include "src/cpu/fft_kernels.h"
#include "src/cpu/fft_radices.h"
#include "src/cpu/vector_clones.h"

namespace kiln::cpu {
namespace {

using hlo::FftType;

// Pairs of one unit.
constexpr int64_t kPairsPerUnit = 8192;

constexpr int64_t kMostTogether = 32;

// Complex numbers, elements so many of them apart.
FftSide Interleaved(int64_t pitch = 1) { return {.plane = 1, .pitch = 2 * pitch}; }

constexpr FftSide kReal = {.plane = 0, .pitch = 1};

// One side of a step: which array, and how it is seen.
struct End {
  FftBuffer buffer;
  FftSide side;
};

class FftPlanner {
 public:
  explicit FftPlanner(const hlo::Instruction& fft)
      : type_(fft.Get<hlo::FftAttributes>().type),
        shape_(type_ == FftType::kIrfft ? fft.shape() : fft.operand(0)->shape()),
        dimensions_(shape_.dimensions()),
        transformed_(static_cast<int64_t>(fft.Get<hlo::FftAttributes>().length.size())) {
    plan_.is_double = hlo::ByteWidth(fft.operand(0)->shape().element_type()) /
                          (hlo::IsComplex(fft.operand(0)->shape().element_type()) ? 2 : 1) ==
                      8;
    number_bytes_ = plan_.is_double ? 8 : 4;
    vector_lanes_ = CompiledVectorBytes() / number_bytes_;
  }

  FftPlan Run() && {
    const int64_t rank = static_cast<int64_t>(dimensions_.size()), first = rank - transformed_;
    const bool inverse = type_ == FftType::kIfft || type_ == FftType::kIrfft;
    double scale = 1;
    for (int64_t d = first; inverse && d < rank; ++d) scale /= static_cast<double>(dimensions_[d]);
    // What the dimensions before the last one see: of real transforms the half spectrum.
    std::vector<int64_t> spectrum(dimensions_.begin(), dimensions_.end());
    if (type_ == FftType::kRfft || type_ == FftType::kIrfft) spectrum.back() = spectrum.back() / 2 + 1;
    const int64_t row = spectrum.back();
    if (type_ != FftType::kIrfft) {
      Rows(FftBuffer::kInput, inverse, transformed_ == 1 ? scale : 1);
      for (int64_t d = first; d < rank - 1; ++d) {
        const RowPlace place = {FftBuffer::kOutput, row};
        Columns(spectrum, d, row, place, place, inverse, d == first ? scale : 1);
      }
    } else if (transformed_ > 1 && EndsInResult()) {
      // Rows without their last element are as long as those of the result. It is transformed beside them, together
      // with those before it, which fill the lanes.
      const int64_t tail = vector_lanes_;
      RowPlace body = {FftBuffer::kInput, row}, ends = {FftBuffer::kInput, row, row - tail};
      for (int64_t d = first; d < rank - 1; ++d) {
        for (const auto& [from, width] : {std::pair(&body, row - 1), std::pair(&ends, tail)}) {
          const RowPlace to = {from == &body ? FftBuffer::kOutput : FftBuffer::kTemporary, width};
          Columns(spectrum, d, width, *from, to, inverse, 1);
          *from = to;
        }
      }
      plan_.temporary_numbers = 2 * tail * RowCount();
      Rows(FftBuffer::kOutput, inverse, scale);
    } else {
      FftBuffer from = FftBuffer::kInput;
      for (int64_t d = first; d < rank - 1; ++d) {
        Columns(spectrum, d, row, {from, row}, {FftBuffer::kTemporary, row}, inverse, 1);
        from = FftBuffer::kTemporary;
        plan_.temporary_numbers = 2 * row * RowCount();
      }
      Rows(from, inverse, scale);
    }
    int64_t units = 1;
    for (FftGroup& group : plan_.groups) {
      for (FftPhase& phase : group.phases) {
        plan_.nanoseconds += phase.nanoseconds * static_cast<double>(group.rounds);
        units = std::max(units, phase.units.count());
        plan_.slot_numbers = std::max(plan_.slot_numbers, 2 * phase.scratch_numbers * phase.units.together);
      }
    }
    plan_.slots = std::min<int64_t>(ThreadPool::AvailableCpus(), units);
    return std::move(plan_);
  }

 private:
  // Columns have both parts of an element beside each other, rows far apart.
  FftSide Scratch(FftPhase* phase, int64_t length, bool columns, int64_t pitch) {
    const int64_t line = 64 / number_bytes_;
    // Of rows some more, which passes write behind their end, and lest both parts fall to the same places in the cache.
    int64_t row = length + vector_lanes_;
    if (const FftRadices found = RowRadices(length, vector_lanes_); !columns && !found.radices.empty()) {
      const int64_t radix = found.radices.front();
      row = std::max(row, LanesFor(length / radix) * radix);
    }
    const int64_t plane = columns ? pitch : RoundUp(row, line) + line;
    int64_t numbers = 2 * plane * (columns ? length : 1);
    // Both arrays as well.
    const int64_t page = 4096 / number_bytes_;
    if (numbers * 2 > page) numbers = RoundUp(numbers - page / 2, page) + page / 2 + line;
    phase->scratch_numbers = std::max(phase->scratch_numbers, numbers);
    return {.plane = plane, .pitch = columns ? 2 * pitch : 1};
  }

  int64_t Together(int64_t numbers, int64_t outer) const {
    const int64_t fitting = 2 * Host().l1_bytes / (number_bytes_ * std::max<int64_t>(numbers, 1));
    return std::clamp<int64_t>(std::min(fitting, outer / 8), 1, kMostTogether);
  }

  // Several rows or groups of columns together, as far as the cache has place for them: short ones are worth no call of
  // each step.
  void SetTogether(FftPhase* phase) const {
    FftUnits& units = phase->units;
    if (units.blocks() == 1) units.together = Together(2 * phase->scratch_numbers, units.outer);
  }

  static FftBuffer OtherScratch(FftBuffer buffer) {
    return buffer == FftBuffer::kScratch0 ? FftBuffer::kScratch1 : FftBuffer::kScratch0;
  }

  int Table(FftTable table) {
    const std::string key = table.Key();
    for (size_t i = 0; i < plan_.tables.size(); ++i) {
      if (plan_.tables[i].Key() == key) return static_cast<int>(i);
    }
    plan_.tables.push_back(table);
    return static_cast<int>(plan_.tables.size()) - 1;
  }

  static FftStep& Add(FftPhase* phase, FftOperation operation, bool columns, int64_t length, const End& from,
                      const End& to) {
    phase->steps.push_back({.operation = operation,
                            .columns = columns,
                            .from = from.buffer,
                            .to = to.buffer,
                            .source = from.side,
                            .destination = to.side,
                            .length = length,
                            .vector_bytes = CompiledVectorBytes()});
    return phase->steps.back();
  }

  // A copy or, with a table, a product.
  static void Copy(FftPhase* phase, int64_t length, bool columns, const End& from, const End& to, int table,
                   double scale) {
    FftStep& step = Add(phase, FftOperation::kCopy, columns, length, from, to);
    step.table = table;
    step.scale = scale;
  }

  // Steps of one complex transform, to `to` or to any scratch array; gives where the result is. The scratch's columns
  // are `pitch` apart.
  End Complex(FftPhase* phase, int64_t length, bool columns, int64_t pitch, bool inverse, const End& from,
              std::optional<End> to, double scale) {
    const FftUnits& units = phase->units;
    if (length > 1 && !IsSmooth(length)) return Convolution(phase, length, columns, pitch, inverse, from, to, scale);
    const FftRadices found =
        columns ? ColumnRadices(length, vector_lanes_, std::min(units.block, units.extent) >= vector_lanes_)
                : RowRadices(length, vector_lanes_);
    const double vectors =
        columns ? static_cast<double>(units.extent) / static_cast<double>(vector_lanes_ * units.blocks()) : 1;
    phase->nanoseconds += static_cast<double>(units.outer * units.blocks()) * std::max(vectors, 1.0) * found.cycles /
                          Tuning().fourier.cycles_per_nanosecond;
    End at = from;
    int64_t neighbours = 1;
    const size_t count = found.radices.size();
    // One pass, or none, in place goes by way of the scratch where its vectors overlap.
    const bool whole = columns && units.blocks() == 1 && units.extent % FftLanes(vector_lanes_, units.extent) == 0;
    const bool direct = to.has_value() && (to->buffer != from.buffer || count > 1 || (count == 1 && whole));
    for (size_t i = 0; i < count; ++i) {
      const int64_t radix = found.radices[i];
      const bool last = i + 1 == count;
      const End next = last && direct ? *to : End{OtherScratch(at.buffer), Scratch(phase, length, columns, pitch)};
      // A row's only pass is one of columns of which there is one.
      FftStep& step = Add(phase, FftOperation::kPass, columns || count == 1, length, at, next);
      step.radix = radix;
      step.neighbours = neighbours;
      step.inverse = inverse;
      step.scale = last ? scale : 1;
      if (!columns) step.extent = count == 1 ? 1 : i == 0 ? length / radix : neighbours;
      step.vector_bytes = LanesFor(columns ? std::min(units.block, units.extent) : step.extent) * number_bytes_;
      if (neighbours > 1) step.table = Table({FftTable::kTwiddles, columns, inverse, radix, neighbours});
      if (radix % 2 != 0 && radix > 10) step.prime_roots = Table({FftTable::kPrimeRoots, false, false, radix});
      neighbours *= radix;
      at = next;
    }
    if (count == 0 && !direct) {
      const End next = {OtherScratch(at.buffer), Scratch(phase, length, columns, pitch)};
      Copy(phase, length, columns, at, next, -1, scale);
      at = next;
    }
    if (to.has_value() && (count == 0 || !direct)) {
      Copy(phase, length, columns, at, *to, -1, count == 0 && direct ? scale : 1);
      at = *to;
    }
    return at;
  }

  // X[k] = w[k] sum_j (x[j] w[j]) conj(w[k - j]) with the chirp w: a cyclic convolution of zero-padded rows.
  End Convolution(FftPhase* phase, int64_t length, bool columns, int64_t pitch, bool inverse, const End& from,
                  const std::optional<End>& to, double scale) {
    const int64_t size = ConvolutionLength(length, columns, vector_lanes_);
    const int chirp = Table({FftTable::kChirp, columns, inverse, length});
    const int spectrum = Table({FftTable::kChirpSpectrum, columns, inverse, length, size});
    const FftSide scratch = Scratch(phase, size, columns, pitch);
    End at = {OtherScratch(from.buffer), scratch};
    Copy(phase, length, columns, from, at, chirp, 1);
    Add(phase, FftOperation::kZero, columns, size, at, at).begin = length;
    at = Complex(phase, size, columns, pitch, /*inverse=*/false, at, std::nullopt, 1);
    const End product = {OtherScratch(at.buffer), scratch};
    Copy(phase, size, columns, at, product, spectrum, 1);
    at = Complex(phase, size, columns, pitch, /*inverse=*/true, product, std::nullopt, 1);
    const End result = to.has_value() ? *to : End{OtherScratch(at.buffer), scratch};
    Copy(phase, length, columns, at, result, chirp, scale);
    return result;
  }

  // Of the vectors for so many lanes: those that they fill, or the narrowest.
  int64_t LanesFor(int64_t extent) const {
    return std::max(FftLanes(vector_lanes_, extent), std::min<int64_t>(CompiledVectorBytes(), 32) / number_bytes_);
  }

  int64_t RowCount() const { return shape_.element_count() / dimensions_.back(); }

  // Whether transforms of rows to real ones may begin where they end, in the result.
  bool EndsInResult() const {
    const int64_t length = dimensions_.back(), half = length / 2, rows = RowCount();
    return length % 2 == 0 && half >= vector_lanes_ && LongRowSplit(half, rows) == 0 &&
           (rows % (vector_lanes_ * TransposedVectors(half, rows)) == 0 || !TransposeRows(half, rows));
  }

  // Where rows of so many elements are, and from which element on they are meant.
  struct RowPlace {
    FftBuffer buffer;
    int64_t length = 0, begin = 0;
  };

  // Along dimension `d`, which is not the last one, `width` elements of the rows.
  void Columns(const std::vector<int64_t>& dimensions, int64_t d, int64_t width, const RowPlace& from,
               const RowPlace& to, bool inverse, double scale) {
    const int64_t length = dimensions[d];
    int64_t before = 1, between = 1;
    for (int64_t i = 0; i < d; ++i) before *= dimensions[i];
    for (size_t i = d + 1; i + 1 < dimensions.size(); ++i) between *= dimensions[i];
    const int64_t from_pitch = between * from.length, to_pitch = between * to.length;
    if (from.length == width && to.length == width) width *= std::exchange(between, 1);
    FftPhase phase;
    phase.units.outer = between == 1 ? before : between;
    SetBlocks(&phase.units, width, length);
    for (const auto& [place, pitch] : {std::pair(&from, from_pitch), std::pair(&to, to_pitch)}) {
      const int64_t all = 2 * length * pitch;
      phase.units.strides[static_cast<int>(place->buffer)] = {
          .round = between == 1 ? 0 : all, .outer = between == 1 ? all : 2 * place->length, .block = 2};
    }
    Complex(&phase, length, /*columns=*/true, Pitch(phase.units), inverse, {from.buffer, Interleaved(from_pitch)},
            End{to.buffer, Interleaved(to_pitch)}, scale);
    phase.steps.front().from_begin = 2 * from.begin;
    SetTogether(&phase);
    plan_.groups.push_back({between == 1 ? 1 : before, {std::move(phase)}});
  }

  void SetBlocks(FftUnits* units, int64_t columns, int64_t length) const {
    const int64_t fitting =
        Host().l2_bytes / Tuning().fourier.block_part / (2 * number_bytes_ * std::max<int64_t>(length, 1));
    units->extent = columns;
    units->block = std::min(columns, std::max(vector_lanes_, FftLanes(4 * vector_lanes_, fitting)));
  }

  // From one element of the transforms of a block to the next.
  int64_t Pitch(const FftUnits& units) const {
    const int64_t widest = units.overlapped ? units.block : units.extent - (units.blocks() - 1) * units.block;
    return RoundUp(widest, vector_lanes_);
  }

  // Along the last dimension, to the result.
  void Rows(FftBuffer from, bool inverse, double scale) {
    const int64_t length = dimensions_.back();
    const int64_t rows = RowCount();
    const bool forward_real = type_ == FftType::kRfft, to_real = type_ == FftType::kIrfft;
    const bool halved = (forward_real || to_real) && length % 2 == 0;
    const int64_t complex_length = halved ? length / 2 : length, kept = length / 2 + 1;
    // Without its last element, where rows begin in the result.
    const bool in_place = to_real && from == FftBuffer::kOutput;
    const int64_t source_row = forward_real || in_place ? length : to_real ? 2 * kept : 2 * length;
    const int64_t result_row = forward_real ? 2 * kept : to_real ? length : 2 * length;
    const int source = static_cast<int>(from), result = static_cast<int>(FftBuffer::kOutput);
    const bool odd_real = (forward_real || to_real) && !halved;
    const End in = {from, Interleaved()}, out = {FftBuffer::kOutput, Interleaved()};

    // A row after the other.
    const auto add_rounds = [&](FftGroup group) {
      if (forward_real && halved) group.phases.push_back(PairsPhase(complex_length, out));
      for (FftPhase& phase : group.phases) {
        phase.units.strides[source].round = source_row;
        phase.units.strides[result].round = result_row;
      }
      plan_.groups.push_back(std::move(group));
    };
    if (const int64_t split = odd_real ? 0 : LongRowSplit(complex_length, rows); split > 0) {
      FftGroup group = {.rounds = rows};
      FourSteps(&group, complex_length, split, inverse, in, out, /*pairs=*/to_real, scale);
      return add_rounds(std::move(group));
    }

    const bool may_share = from != FftBuffer::kTemporary && !(to_real && halved);
    const int64_t size = may_share ? LongConvolution(complex_length, rows) : 0;
    if (size > 0) {
      FftGroup group = {.rounds = rows};
      const End source_end = {from, odd_real && forward_real ? kReal : Interleaved()};
      const End result_end = {FftBuffer::kOutput, odd_real && to_real ? kReal : Interleaved()};
      LongRow(&group, complex_length, size, inverse, source_end, result_end,
              /*mirrored=*/odd_real && to_real ? kept : 0, odd_real && forward_real ? kept : complex_length, scale);
      return add_rounds(std::move(group));
    }

    FftPhase phase;
    FftUnits& units = phase.units;
    // Transpositions are of two numbers at least.
    const bool transposed = TransposeRows(complex_length, rows) && !(odd_real && length == 1);
    if (transposed) {
      units.extent = rows;
      units.block = vector_lanes_ * TransposedVectors(complex_length, rows);
      units.overlapped = true;
      units.strides[source].block = source_row;
      units.strides[result].block = result_row;
    } else {
      units.outer = rows;
      units.strides[source].outer = source_row;
      units.strides[result].outer = result_row;
    }
    const int64_t pitch = transposed ? units.block : 1;
    const FftSide scratch = Scratch(&phase, complex_length + (halved ? 1 : 0), transposed, pitch);
    auto copy = [&](int64_t count, int64_t row, const End& begin, const End& end) {
      if (transposed) {
        Transposition(&phase, FftOperation::kToColumns, count, row, begin, end);
      } else {
        Copy(&phase, count, false, begin, end, -1, 1);
      }
    };
    End at = in;
    if (odd_real && transposed) {
      at = {FftBuffer::kScratch0, scratch};
      if (forward_real) Add(&phase, FftOperation::kZero, true, length, at, at);
      Transposition(&phase, FftOperation::kToColumns, forward_real ? length : kept, source_row,
                    {from, forward_real ? kReal : Interleaved()}, at);
    } else if (odd_real && forward_real) {
      at = {FftBuffer::kScratch0, scratch};
      Copy(&phase, length, false, {from, kReal}, at, -1, 1);
    } else if (transposed || in_place) {
      at = {FftBuffer::kScratch0, scratch};
      copy(to_real && !in_place ? kept : complex_length, source_row, in, at);
      if (in_place) {
        const int64_t row = 2 * vector_lanes_;
        copy(1, row, {FftBuffer::kTemporary, Interleaved()}, at);
        phase.steps.back().from_begin = row - 2;
        phase.steps.back().to_begin = complex_length * scratch.pitch;
        FftStrides& strides = units.strides[static_cast<int>(FftBuffer::kTemporary)];
        (transposed ? strides.block : strides.outer) = row;
      }
    }
    if (to_real && halved) {
      const End next = {OtherScratch(at.buffer), scratch};
      Pairs(&phase, FftOperation::kPairsToReal, transposed, complex_length, at, next);
      at = next;
    } else if (to_real) {
      at = {FftBuffer::kScratch0, scratch};
      if (!transposed) Copy(&phase, kept, false, in, at, -1, 1);
      Add(&phase, FftOperation::kMirror, transposed, length, at, at);
    }
    if (!transposed && !forward_real && !odd_real) {
      Complex(&phase, complex_length, false, pitch, inverse, at, out, scale);
    } else {
      at = Complex(&phase, complex_length, transposed, pitch, inverse, at, std::nullopt, scale);
      if (forward_real && halved) {
        const End next = transposed ? End{OtherScratch(at.buffer), scratch} : out;
        Pairs(&phase, FftOperation::kPairs, transposed, complex_length, at, next);
        at = next;
      } else if (odd_real && !transposed) {
        Copy(&phase, to_real ? length : kept, false, at, to_real ? End{out.buffer, kReal} : out, -1, 1);
      }
      if (transposed) {
        const End rows_of = odd_real && to_real ? End{out.buffer, kReal} : out;
        Transposition(&phase, FftOperation::kToRows, forward_real ? kept : complex_length, result_row, at, rows_of);
      }
    }
    if (!transposed) SetTogether(&phase);
    plan_.groups.push_back({1, {std::move(phase)}});
  }

  void Transposition(FftPhase* phase, FftOperation operation, int64_t length, int64_t row, const End& from,
                     const End& to) {
    Add(phase, operation, true, length, from, to).row = row;
    phase->nanoseconds += Tuning().fourier.transpose_cycles *
                          static_cast<double>(phase->units.blocks() * length * phase->units.block / vector_lanes_) /
                          Tuning().fourier.cycles_per_nanosecond;
  }

  void Pairs(FftPhase* phase, FftOperation operation, bool columns, int64_t half, const End& from, const End& to) {
    Add(phase, operation, columns, half, from, to).table = Table({FftTable::kHalfTurns, columns, false, half});
    const double vectors = static_cast<double>(half) / static_cast<double>(columns ? 1 : vector_lanes_);
    phase->nanoseconds += 5 * vectors * static_cast<double>(phase->units.outer * phase->units.blocks()) /
                          Tuning().fourier.cycles_per_nanosecond;
  }

  // In place, of one long row, by pieces.
  FftPhase PairsPhase(int64_t half, const End& row) {
    FftPhase phase;
    phase.units.extent = half / 2 + 1;
    phase.units.block = kPairsPerUnit;
    Pairs(&phase, FftOperation::kPairsOfUnit, false, half, row, row);
    phase.nanoseconds /= static_cast<double>(phase.units.blocks());
    return phase;
  }

  // Whether rows are transformed as columns, `vector_lanes_` at a time.
  bool TransposeRows(int64_t length, int64_t rows) const {
    if (vector_lanes_ < 2 || rows < vector_lanes_ ||
        length * vector_lanes_ * 2 * number_bytes_ > Tuning().fourier.transposed_bytes) {
      return false;
    }
    const bool smooth = IsSmooth(length);
    const int64_t size = smooth ? length : ConvolutionLength(length, true, vector_lanes_);
    const double lanes = static_cast<double>(vector_lanes_);
    const double columns = ColumnRadices(size, vector_lanes_).cycles * (smooth ? 1 : 2) / lanes +
                           2 * Tuning().fourier.transpose_cycles * static_cast<double>(length) / lanes;
    const FftRadices row = RowRadices(size, vector_lanes_);
    const double steps = static_cast<double>(row.radices.size()) + 1;
    const double together = static_cast<double>(Together(4 * length, rows));
    const FourierTuning& costs = Tuning().fourier;
    return columns < (row.cycles + (costs.row_cycles + costs.step_cycles / together) * steps) * (smooth ? 1 : 2);
  }

  // How many vectors of rows make a block: short ones are worth no call of each step.
  int64_t TransposedVectors(int64_t length, int64_t rows) const {
    const int64_t fitting = Host().l1_bytes / (8 * number_bytes_ * length * vector_lanes_);
    return std::clamp<int64_t>(std::min(fitting, rows / (4 * vector_lanes_)), 1, 8);
  }

  // How many rows the matrix has that a long row is taken for; 0 for rows that are transformed at once.
  int64_t LongRowSplit(int64_t length, int64_t rows) const {
    const FourierTuning& costs = Tuning().fourier;
    // How many threads there are has no say, lest results depend on it.
    const int64_t bytes = 2 * number_bytes_ * length;
    if (bytes <= costs.lone_row_bytes || (bytes <= costs.row_bytes && rows > 1) || !IsSmooth(length)) return 0;
    int64_t best = 0;
    double cycles = 0;
    for (int64_t n1 = vector_lanes_; n1 <= length / vector_lanes_; ++n1) {
      if (n1 > (int64_t{1} << 14)) break;
      if (length % n1 != 0) continue;
      const int64_t n2 = length / n1;
      // Lanes of a phase's columns are those of the other's rows; those past the last column do nothing.
      const auto of_columns = [&](int64_t transformed, int64_t columns) {
        return ColumnRadices(transformed, vector_lanes_).cycles / static_cast<double>(transformed) *
               static_cast<double>(RoundUp(columns, vector_lanes_)) / static_cast<double>(columns);
      };
      double its = of_columns(n1, n2) + of_columns(n2, n1);
      // Few columns are few blocks, which threads cannot share.
      for (int64_t columns : {n1, n2}) {
        if (columns < 8 * vector_lanes_) its += 2;
        if (columns < 4 * vector_lanes_) its += 8;
      }
      // Rows of the matrix that begin at odd places, and blocks that do not fit the second-level cache.
      if (n1 % vector_lanes_ != 0) its += 2;
      if (n2 % vector_lanes_ != 0) its += 2;
      for (int64_t n : {n1, n2}) {
        if (4 * n * vector_lanes_ * number_bytes_ > Host().l2_bytes) its += 10;
      }
      if (best == 0 || its < cycles) best = n1, cycles = its;
    }
    return best;
  }

  // A row as [n1][n2]: its columns are transformed and become rows of [n2][n1], whose columns are multiplied by roots
  // and transformed in place, which leaves them in order.
  void FourSteps(FftGroup* group, int64_t length, int64_t n1, bool inverse, const End& from, const End& to, bool pairs,
                 double scale) {
    const int64_t n2 = length / n1;
    FftPhase first;
    SetBlocks(&first.units, n2, n1);
    first.units.block = first.units.block / vector_lanes_ * vector_lanes_;
    first.units.overlapped = true;
    first.units.strides[static_cast<int>(from.buffer)].block = pairs ? 0 : 2;
    first.units.strides[static_cast<int>(to.buffer)].block = 2 * n1;
    End source = {from.buffer, Interleaved(n2)};
    if (pairs) {
      const End unpaired = {FftBuffer::kScratch0, Scratch(&first, n1, true, first.units.block)};
      FftStep& step = Add(&first, FftOperation::kUnpairedColumns, true, length, from, unpaired);
      step.row = n2;
      step.table = Table({FftTable::kStepRoots, false, false, 2, length, n2});
      step.bases = Table({FftTable::kStepBases, true, false, 2, length, n2});
      source = unpaired;
    }
    const End columns = Complex(&first, n1, true, first.units.block, inverse, source, std::nullopt, 1);
    Transposition(&first, FftOperation::kToRows, n1, 2 * n1, columns, to);
    group->phases.push_back(std::move(first));

    FftPhase second;
    SetBlocks(&second.units, n1, n2);
    second.units.strides[static_cast<int>(to.buffer)].block = 2;
    const End result = {to.buffer, Interleaved(n1)};
    const int64_t pitch = Pitch(second.units);
    Complex(&second, n2, true, pitch, inverse, result, result, scale);
    FftStep& step = second.steps.front();
    step.step_roots = true;
    step.table = Table({FftTable::kStepRoots, false, inverse, n2, n1, pitch});
    step.bases = Table({FftTable::kStepBases, true, inverse, n2, n1, second.units.block});
    step.bases_per_block = 2 * n2;
    group->phases.push_back(std::move(second));
  }

  // The smooth length of the convolution that a row of `length` is where threads had better share it, since two arrays
  // of it for each would be much memory; 0: none.
  int64_t LongConvolution(int64_t length, int64_t rows) const {
    if (length < 2 || IsSmooth(length)) return 0;
    const int64_t size = ConvolutionLength(length, /*columns=*/false, vector_lanes_);
    return LongRowSplit(size, rows) > 0 ? size : 0;
  }

  // Elements of a row by pieces, times those of a table of `table_length`.
  void Pieces(FftGroup* group, int64_t length, const End& from, const End& to, int table, int64_t table_length,
              double scale) {
    FftPhase phase;
    phase.units.extent = length;
    phase.units.block = kPairsPerUnit;
    for (const End& end : {from, to}) phase.units.strides[static_cast<int>(end.buffer)].block = end.side.step();
    FftStep& step = Add(&phase, FftOperation::kCopyOfUnit, false, table_length, from, to);
    step.table = table;
    step.scale = scale;
    phase.nanoseconds = 3 * static_cast<double>(length / vector_lanes_) / Tuning().fourier.cycles_per_nanosecond;
    group->phases.push_back(std::move(phase));
  }

  // Convolution, of a long row, whose transforms are in four steps. With `mirrored` the first so many elements are
  // those of a spectrum of real numbers. The first `count` elements are written.
  void LongRow(FftGroup* group, int64_t length, int64_t size, bool inverse, End from, const End& to, int64_t mirrored,
               int64_t count, double scale) {
    const int chirp = Table({FftTable::kChirp, false, inverse, length});
    const int spectrum = Table({FftTable::kChirpSpectrum, false, inverse, length, size});
    const End one = {FftBuffer::kTemporary, Interleaved()}, other = {FftBuffer::kOther, Interleaved()};
    plan_.temporary_numbers = plan_.other_numbers = 2 * size;
    const auto on_one_thread = [&](FftOperation operation, bool columns, const End& at) -> FftStep& {
      FftPhase& phase = group->phases.emplace_back();
      phase.nanoseconds = static_cast<double>(length / vector_lanes_) / Tuning().fourier.cycles_per_nanosecond;
      return Add(&phase, operation, columns, length, at, at);
    };
    if (mirrored > 0) {
      const End split = {FftBuffer::kOther, {.plane = size, .pitch = 1}};
      Pieces(group, mirrored, from, split, -1, length, 1);
      on_one_thread(FftOperation::kMirror, false, split);
      from = split;
    }
    Pieces(group, length, from, one, chirp, length, 1);
    FftStep& zero = on_one_thread(FftOperation::kZero, true, one);
    zero.begin = length;
    zero.length = size;
    const int64_t split = LongRowSplit(size, /*rows=*/1);
    FourSteps(group, size, split, /*inverse=*/false, one, other, /*pairs=*/false, 1);
    Pieces(group, size, other, other, spectrum, size, 1);
    FourSteps(group, size, split, /*inverse=*/true, other, one, /*pairs=*/false, 1);
    Pieces(group, count, one, to, chirp, length, scale);
  }

  const FftType type_;
  const hlo::Shape& shape_;  // of the side that is not halved
  const hlo::DimensionVector& dimensions_;
  const int64_t transformed_;
  int64_t number_bytes_ = 4, vector_lanes_ = 1;
  FftPlan plan_;
};

}  // namespace

int64_t FftPlan::ScratchBytes() const {
  return OffsetOf(FftBuffer::kScratch0, FftPhase()) + slots * slot_numbers * (is_double ? 8 : 4);
}

int64_t FftPlan::OffsetOf(FftBuffer buffer, const FftPhase& phase) const {
  const int64_t bytes = is_double ? 8 : 4;
  int64_t offset = 0;
  if (buffer == FftBuffer::kTemporary) return offset;
  offset += RoundUp(temporary_numbers * bytes, 64);
  if (buffer == FftBuffer::kOther) return offset;
  offset += RoundUp(other_numbers * bytes, 64);
  return buffer == FftBuffer::kScratch1 ? offset + phase.scratch_numbers * bytes : offset;
}

bool FftPlan::MayRunInPlace() const {
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const FftPhase& phase : groups[g].phases) {
      if (absl::c_none_of(phase.steps, [](const FftStep& step) { return step.from == FftBuffer::kInput; })) continue;
      const FftUnits& units = phase.units;
      const FftStrides &in = units.strides[static_cast<int>(FftBuffer::kInput)],
                       &out = units.strides[static_cast<int>(FftBuffer::kOutput)];
      const bool overlaps = units.overlapped != 0 && units.extent % units.block != 0;
      if (g > 0 || groups[g].phases.size() > 1 || overlaps || in.round != out.round || in.outer != out.outer ||
          in.block != out.block) {
        return false;
      }
      bool is_written = false;
      for (const FftStep& step : phase.steps) {
        is_written |= step.to == FftBuffer::kOutput;
        if (step.from == FftBuffer::kInput && is_written) return false;
      }
    }
  }
  return true;
}

FftUnits FftPlan::UnitsOf(const FftPhase& phase) const {
  FftUnits units = phase.units;
  units.slots = std::min(slots, units.count());
  units.slot_numbers = slot_numbers;
  units.row_numbers = 2 * phase.scratch_numbers;
  units.is_double = is_double;
  units.steps = static_cast<int64_t>(phase.steps.size());
  return units;
}

FftPlan PlanFft(const hlo::Instruction& fft) { return FftPlanner(fft).Run(); }

}  // namespace kiln::cpu
