#include "src/cpu/fft_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/thread_pool.h"
#include "src/cpu/fft_radices.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using hlo::FftType;

// Pairs of one unit.
constexpr int64_t kPairsPerUnit = 8192;

FftSide Interleaved(bool swapped, int64_t pitch = 1) {
  return {.form = FftSide::kInterleaved, .swapped = swapped, .pitch = pitch};
}

FftSide Swapped(FftSide side, bool swapped) {
  side.swapped ^= swapped;
  return side;
}

// One side of a step: which array, and how it is seen.
struct End {
  FftBuffer buffer;
  FftSide side;
};

class Planner {
 public:
  explicit Planner(const hlo::Instruction& fft)
      : type_(fft.Get<hlo::FftAttributes>().type),
        shape_(type_ == FftType::kIrfft ? fft.shape() : fft.operand(0)->shape()),
        dimensions_(shape_.dimensions()),
        transformed_(static_cast<int64_t>(fft.Get<hlo::FftAttributes>().length.size())) {
    plan_.is_double = hlo::ByteWidth(fft.operand(0)->shape().element_type()) /
                          (hlo::IsComplex(fft.operand(0)->shape().element_type()) ? 2 : 1) ==
                      8;
    number_bytes_ = plan_.is_double ? 8 : 4;
    vector_lanes_ = std::max<int64_t>(1, Host().vector_bytes / number_bytes_);
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
        units = std::max(units, phase.outer * phase.blocks());
      }
    }
    plan_.slots = std::min<int64_t>(ThreadPool::AvailableCpus(), units);
    return std::move(plan_);
  }

 private:
  FftSide Scratch(int64_t length, int64_t pitch) {
    // Some more, lest both parts fall to the same places in the cache.
    const int64_t line = 64 / number_bytes_;
    const int64_t plane = RoundUp(length * pitch, line) + line;
    plan_.scratch_numbers = std::max(plan_.scratch_numbers, 2 * plane);
    return {.form = FftSide::kSplit, .plane = plane, .pitch = pitch};
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

  template <typename Code>
  static FftStep& Add(FftPhase* phase, Code code, FftBuffer source, FftBuffer destination, int lanes) {
    phase->steps.push_back({.code = std::move(code), .source = source, .destination = destination, .lanes = lanes});
    return phase->steps.back();
  }

  // A copy or, with a table, a product, of `length` elements.
  FftStep& Pointwise(FftPhase* phase, int64_t length, bool columns, const End& from, const End& to, int table,
                     double scale) {
    FftPass pass = {.lanes_run = columns ? FftPass::kColumns : FftPass::kAlong,
                    .length = length,
                    .neighbours = length,
                    .twiddles = table >= 0,
                    .scale = scale,
                    .source = from.side,
                    .destination = to.side};
    FftStep& step = Add(phase, pass, from.buffer, to.buffer, LanesOf(*phase, columns, length));
    step.table = table;
    return step;
  }

  int LanesOf(const FftPhase& phase, bool columns, int64_t extent) const {
    return static_cast<int>(FftLanes(vector_lanes_, columns ? std::min(phase.block, phase.extent) : extent));
  }

  // Steps of one complex transform, to `to` or to any scratch array; gives where the result is. The scratch's elements
  // are `pitch` apart.
  End Complex(FftPhase* phase, int64_t length, bool columns, int64_t pitch, const End& from, std::optional<End> to,
              double scale) {
    const double units = static_cast<double>(phase->outer * phase->blocks());
    if (length > 1 && !IsSmooth(length)) return Convolution(phase, length, columns, pitch, from, to, scale);
    const FftRadices found = columns ? ColumnRadices(length, vector_lanes_) : RowRadices(length, vector_lanes_);
    const double vectors =
        columns ? static_cast<double>(phase->extent) / static_cast<double>(vector_lanes_ * phase->blocks()) : 1;
    phase->nanoseconds += units * std::max(vectors, 1.0) * found.cycles / Tuning().fourier.cycles_per_nanosecond;
    End at = from;
    int64_t neighbours = 1;
    // One pass, or none, in place goes by way of the scratch: its vectors overlap.
    const bool direct = to.has_value() && (to->buffer != from.buffer || found.radices.size() > 1);
    for (size_t i = 0; i < found.radices.size(); ++i) {
      const int64_t radix = found.radices[i];
      const bool last = i + 1 == found.radices.size() && direct;
      const End next = last ? *to : End{OtherScratch(at.buffer), Scratch(length, pitch)};
      FftPass pass = {.lanes_run = columns  ? FftPass::kColumns
                                   : i == 0 ? FftPass::kAcrossGroups
                                            : FftPass::kAlong,
                      .length = length,
                      .radix = radix,
                      .neighbours = neighbours,
                      .twiddles = neighbours > 1,
                      .scale = last ? scale : 1,
                      .source = at.side,
                      .destination = next.side};
      FftStep& step =
          Add(phase, pass, at.buffer, next.buffer, LanesOf(*phase, columns, i == 0 ? length / radix : neighbours));
      if (neighbours > 1) {
        step.table = Table({FftTable::kTwiddles, columns, radix, neighbours});
      }
      neighbours *= radix;
      at = next;
    }
    if (found.radices.empty() && !direct) {
      const End next = {OtherScratch(at.buffer), Scratch(length, pitch)};
      Pointwise(phase, length, columns, at, next, -1, 1);
      at = next;
    }
    if (to.has_value() && (found.radices.empty() || !direct)) {
      Pointwise(phase, length, columns, at, *to, -1, scale);
      at = *to;
    }
    return at;
  }

  // X[k] = w[k] sum_j (x[j] w[j]) conj(w[k - j]) with the chirp w: a cyclic convolution of zero-padded rows.
  End Convolution(FftPhase* phase, int64_t length, bool columns, int64_t pitch, const End& from,
                  const std::optional<End>& to, double scale) {
    const int64_t size = ConvolutionLength(length, columns, vector_lanes_);
    const int chirp = Table({FftTable::kChirp, columns, length});
    const int spectrum = Table({FftTable::kChirpSpectrum, columns, length, size});
    const FftSide scratch = Scratch(size, pitch);
    End at = {OtherScratch(from.buffer), scratch};
    Pointwise(phase, length, columns, from, at, chirp, 1);
    Add(phase, FftZero{length, size, scratch}, at.buffer, at.buffer, 1);
    at = Complex(phase, size, columns, pitch, at, std::nullopt, 1);
    const End product = {OtherScratch(at.buffer), scratch};
    Pointwise(phase, size, columns, at, product, spectrum, 1);
    at = Complex(phase, size, columns, pitch, {product.buffer, Swapped(scratch, true)}, std::nullopt, 1);
    at.side = Swapped(at.side, true);
    const End result = to.has_value() ? *to : End{OtherScratch(at.buffer), scratch};
    Pointwise(phase, length, columns, at, result, chirp, scale);
    return result;
  }

  int64_t RowCount() const { return shape_.element_count() / dimensions_.back(); }

  // Whether transforms of rows to real ones may begin where they end, in the result.
  bool EndsInResult() const {
    const int64_t length = dimensions_.back(), half = length / 2, rows = RowCount();
    return length % 2 == 0 && half >= vector_lanes_ && LongRowSplit(half, rows) == 0 &&
           (rows % vector_lanes_ == 0 || !TransposeRows(half, rows));
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
    phase.outer = between == 1 ? before : between;
    SetBlocks(&phase, width, length);
    for (const auto& [place, pitch] : {std::pair(&from, from_pitch), std::pair(&to, to_pitch)}) {
      const int64_t all = 2 * length * pitch;
      phase.strides[static_cast<int>(place->buffer)] = {
          .round = between == 1 ? 0 : all, .outer = between == 1 ? all : 2 * place->length, .block = 2};
    }
    Complex(&phase, length, /*columns=*/true, Pitch(phase), {from.buffer, Interleaved(inverse, from_pitch)},
            End{to.buffer, Interleaved(inverse, to_pitch)}, scale);
    phase.steps.front().source_begin = 2 * from.begin;
    plan_.groups.push_back({between == 1 ? 1 : before, {std::move(phase)}});
  }

  void SetBlocks(FftPhase* phase, int64_t columns, int64_t length) const {
    const int64_t fitting =
        Host().l2_bytes / Tuning().fourier.block_part / (2 * number_bytes_ * std::max<int64_t>(length, 1));
    phase->extent = columns;
    phase->block = std::min(columns, std::max(vector_lanes_, FftLanes(4 * vector_lanes_, fitting)));
  }

  // From one element of the transforms of a block to the next.
  int64_t Pitch(const FftPhase& phase) const {
    const int64_t widest = phase.overlapped ? phase.block : phase.extent - (phase.blocks() - 1) * phase.block;
    return RoundUp(widest, FftLanes(vector_lanes_, widest));
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
    const End in = {from, Interleaved(inverse)}, out = {FftBuffer::kOutput, Interleaved(inverse)};

    if (const int64_t split = odd_real ? 0 : LongRowSplit(complex_length, rows); split > 0) {
      FftGroup group = {.rounds = rows};
      FourSteps(&group, complex_length, split, in, out, /*pairs=*/to_real, scale);
      if (forward_real) group.phases.push_back(PairsPhase(complex_length, out.buffer));
      for (FftPhase& phase : group.phases) {
        phase.strides[source].round = source_row;
        phase.strides[result].round = result_row;
      }
      plan_.groups.push_back(std::move(group));
      return;
    }

    FftPhase phase;
    const bool transposed = !odd_real && TransposeRows(complex_length, rows);
    if (transposed) {
      phase.extent = rows;
      phase.block = vector_lanes_;
      phase.overlapped = true;
      phase.strides[source].block = source_row;
      phase.strides[result].block = result_row;
    } else {
      phase.outer = rows;
      phase.strides[source].outer = source_row;
      phase.strides[result].outer = result_row;
    }
    const int64_t pitch = transposed ? vector_lanes_ : 1;
    const int64_t scratch_length = complex_length + (halved ? 1 : 0);
    const FftSide scratch = Scratch(scratch_length, pitch);
    End at = in;
    if (odd_real && forward_real) at.side.form = FftSide::kReal;
    if (transposed || in_place) {
      at = {FftBuffer::kScratch0, scratch};
      // What is swapped is so from here on.
      auto move = [&](FftBuffer buffer, int64_t count, int64_t row) {
        const End begin = {buffer, Interleaved(inverse && !to_real)};
        if (transposed) {
          Transposition(&phase, false, count, row, begin, at, 1);
        } else {
          Pointwise(&phase, count, false, begin, at, -1, 1);
        }
      };
      move(from, to_real && !in_place ? kept : complex_length, source_row);
      if (in_place) {
        const int64_t row = 2 * vector_lanes_;
        move(FftBuffer::kTemporary, 1, row);
        phase.steps.back().source_begin = row - 2;
        phase.steps.back().destination_begin = complex_length * pitch;
        FftStrides& strides = phase.strides[static_cast<int>(FftBuffer::kTemporary)];
        (transposed ? strides.block : strides.outer) = row;
      }
    }
    if (to_real && halved) {
      const End next = {OtherScratch(at.buffer), scratch};
      Pairs(&phase, true, transposed, complex_length, {at.buffer, Swapped(at.side, at.side.swapped)}, next);
      at = {next.buffer, Swapped(scratch, true)};
    } else if (to_real) {
      const End next = {FftBuffer::kScratch0, scratch};
      Pointwise(&phase, kept, false, {in.buffer, Interleaved(false)}, next, -1, 1);
      Add(&phase, FftMirror{length, scratch}, next.buffer, next.buffer, LanesOf(phase, false, kept - 1));
      at = {next.buffer, Swapped(scratch, true)};
    }
    if (!transposed && !forward_real) {
      End end = out;
      if (odd_real) end.side.form = FftSide::kReal;
      Complex(&phase, complex_length, false, pitch, at, end, scale);
    } else {
      at = Complex(&phase, complex_length, transposed, pitch, at, std::nullopt, 1);
      if (forward_real && halved) {
        const End next = transposed ? End{OtherScratch(at.buffer), scratch} : out;
        Pairs(&phase, false, transposed, complex_length, at, next);
        at = next;
      } else if (forward_real) {
        Pointwise(&phase, kept, false, at, out, -1, 1);
      }
      if (transposed) {
        Transposition(&phase, true, forward_real ? kept : complex_length, result_row, at, out, scale);
      }
    }
    plan_.groups.push_back({1, {std::move(phase)}});
  }

  void Transposition(FftPhase* phase, bool into_rows, int64_t length, int64_t row, const End& from, const End& to,
                     double scale) {
    Add(phase,
        FftTransposition{into_rows, phase->block, length, row, scale, into_rows ? to.side : from.side,
                         into_rows ? from.side : to.side},
        from.buffer, to.buffer, static_cast<int>(vector_lanes_));
    phase->nanoseconds += Tuning().fourier.transpose_cycles *
                          static_cast<double>(phase->blocks() * length * phase->block / vector_lanes_) /
                          Tuning().fourier.cycles_per_nanosecond;
  }

  void Pairs(FftPhase* phase, bool to_real, bool columns, int64_t half, const End& from, const End& to,
             bool pieces = false) {
    FftStep& step = Add(phase, FftPairs{to_real, columns, pieces, half, from.side, to.side}, from.buffer, to.buffer,
                        LanesOf(*phase, columns, std::max<int64_t>(1, half / 2)));
    step.table = Table({FftTable::kHalfTurns, columns, half});
    const double vectors = static_cast<double>(half) * static_cast<double>(columns ? 1 : 1.0 / step.lanes);
    phase->nanoseconds +=
        5 * vectors * static_cast<double>(phase->outer * phase->blocks()) / Tuning().fourier.cycles_per_nanosecond;
  }

  // From one long row, by pieces.
  FftPhase PairsPhase(int64_t half, FftBuffer row) {
    FftPhase phase = {.extent = half / 2 + 1, .block = kPairsPerUnit};
    Pairs(&phase, false, false, half, {row, Interleaved(false)}, {row, Interleaved(false)}, /*pieces=*/true);
    phase.nanoseconds /= static_cast<double>(phase.blocks());
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
    const double row = RowRadices(size, vector_lanes_).cycles * (smooth ? 1 : 2);
    return columns < row + Tuning().fourier.row_cycles;
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
      double its = ColumnRadices(n1, vector_lanes_).cycles / static_cast<double>(n1) +
                   ColumnRadices(n2, vector_lanes_).cycles / static_cast<double>(n2);
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
  void FourSteps(FftGroup* group, int64_t length, int64_t n1, const End& from, const End& to, bool pairs,
                 double scale) {
    const int64_t n2 = length / n1;
    FftPhase first;
    SetBlocks(&first, n2, n1);
    first.block = first.block / vector_lanes_ * vector_lanes_;
    first.overlapped = true;
    first.strides[static_cast<int>(from.buffer)].block = pairs ? 0 : 2;
    first.strides[static_cast<int>(to.buffer)].block = 2 * n1;
    End source = from;
    source.side.pitch = n2;
    const FftSide scratch = Scratch(n1, first.block);
    if (pairs) {
      FftStep& step = Add(&first, FftUnpairedColumns{n1, n2, Interleaved(false), scratch}, from.buffer,
                          FftBuffer::kScratch0, static_cast<int>(vector_lanes_));
      step.table = Table({FftTable::kStepRoots, false, 2, length, n2});
      step.bases = Table({FftTable::kStepBases, true, 2, length, n2});
      source = {FftBuffer::kScratch0, Swapped(scratch, source.side.swapped)};
    }
    const End columns = Complex(&first, n1, true, first.block, source, std::nullopt, 1);
    FftSide rows = to.side;
    rows.swapped = false;
    Transposition(&first, true, n1, 2 * n1, columns, {to.buffer, rows}, 1);
    group->phases.push_back(std::move(first));

    FftPhase second;
    SetBlocks(&second, n1, n2);
    second.strides[static_cast<int>(to.buffer)].block = 2;
    rows.pitch = n1;
    End result = to;
    result.side.pitch = n1;
    const int64_t pitch = Pitch(second);
    Complex(&second, n2, true, pitch, {to.buffer, rows}, result, scale);
    FftStep& step = second.steps.front();
    std::get<FftPass>(step.code).step_twiddles = true;
    step.table = Table({FftTable::kStepRoots, false, n2, n1, pitch});
    step.bases = Table({FftTable::kStepBases, true, n2, n1, second.block});
    step.bases_per_block = 2 * n2;
    group->phases.push_back(std::move(second));
  }

  const FftType type_;
  const hlo::Shape& shape_;  // of the side that is not halved
  const hlo::DimensionVector& dimensions_;
  const int64_t transformed_;
  int64_t number_bytes_ = 4, vector_lanes_ = 1;
  FftPlan plan_;
};

}  // namespace

int64_t FftPhase::blocks() const {
  if (overlapped) return CeilDivide(extent, block);
  return std::max<int64_t>(1, extent / block);
}

int64_t FftPlan::ScratchBytes() const {
  return OffsetOf(FftBuffer::kScratch0) + 2 * slots * scratch_numbers * (is_double ? 8 : 4);
}

int64_t FftPlan::OffsetOf(FftBuffer buffer) const {
  const int64_t bytes = is_double ? 8 : 4;
  int64_t offset = 0;
  if (buffer == FftBuffer::kTemporary) return offset;
  offset += RoundUp(temporary_numbers * bytes, 64);
  return buffer == FftBuffer::kScratch1 ? offset + scratch_numbers * bytes : offset;
}

FftPlan PlanFft(const hlo::Instruction& fft) { return Planner(fft).Run(); }

}  // namespace kiln::cpu
