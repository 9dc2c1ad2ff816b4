#include "src/cpu/convolution_spec.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "src/analysis/buffer_assignment.h"
#include "src/base/rounding.h"
#include "src/cpu/dot_spec.h"
#include "src/cpu/gemm_kernels.h"
#include "src/cpu/gemm_types.h"
#include "src/cpu/group_product.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {
namespace {

using hlo::Instruction;
using hlo::Shape;

// A dimension of the product, with what it counts through in the result.
struct Dimension {
  GemmBatchDimension step;
  kernel::EpilogueLoop loop;
};

// Fewer iterations than this make poor innermost loops.
constexpr int64_t kMinInner = 7;
// As many features per group may be broadcast instead of being lanes.
constexpr int64_t kFewFeatures = 4;

// Sorts by distance in lhs, the largest first, and makes one dimension of those that follow each other everywhere.
void Merge(std::vector<Dimension>* dimensions) {
  std::erase_if(*dimensions, [](const Dimension& d) { return d.step.size == 1; });
  std::sort(dimensions->begin(), dimensions->end(),
            [](const Dimension& a, const Dimension& b) { return a.step.lhs_stride > b.step.lhs_stride; });
  std::vector<Dimension> merged;
  for (Dimension& d : *dimensions) {
    const GemmBatchDimension& s = d.step;
    if (!merged.empty()) {
      GemmBatchDimension& outer = merged.back().step;
      if (outer.lhs_stride == s.size * s.lhs_stride && outer.rhs_stride == s.size * s.rhs_stride &&
          outer.out_stride == s.size * s.out_stride) {
        outer = {outer.size * s.size, s.lhs_stride, s.rhs_stride, s.out_stride};
        auto& parts = merged.back().loop.parts;
        parts.insert(parts.end(), d.loop.parts.begin(), d.loop.parts.end());
        continue;
      }
    }
    merged.push_back(std::move(d));
  }
  *dimensions = std::move(merged);
}

Dimension Take(size_t index, std::vector<Dimension>* dimensions) {
  Dimension taken = std::move((*dimensions)[index]);
  dimensions->erase(dimensions->begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

// Takes the innermost out: the nearest neighbours in lhs, if there are enough of them.
Dimension TakeInner(std::vector<Dimension>* dimensions) {
  if (dimensions->empty()) return {};
  const auto size = [](const Dimension& d) { return d.step.size; };
  const auto enough =
      std::find_if(dimensions->rbegin(), dimensions->rend(), [&](const Dimension& d) { return size(d) >= kMinInner; });
  const auto chosen = enough != dimensions->rend() ? std::prev(enough.base())
                                                   : std::ranges::max_element(*dimensions, std::less<>(), size);
  return Take(static_cast<size_t>(chosen - dimensions->begin()), dimensions);
}

bool HasProduct(const Instruction& convolution, const hlo::ConvolutionAttributes& a) {
  const Shape& lhs = convolution.operand(0)->shape();
  const Shape& rhs = convolution.operand(1)->shape();
  for (const Shape* shape : {&lhs, &rhs, &convolution.shape()}) {
    const hlo::PrimitiveType type = shape->element_type();
    if (!IsProductType(type) || hlo::IsComplex(type) || shape->element_count() == 0) return false;
  }
  constexpr int64_t kLimit = int64_t{1} << 31;  // products of two stay far from overflow
  return std::all_of(a.window.begin(), a.window.end(), [](const hlo::WindowDimension& w) {
    return !(w.reversal && w.size > 1) && w.size < kLimit && w.stride < kLimit && w.window_dilation < kLimit &&
           w.base_dilation < kLimit && std::abs(w.padding_low) < kLimit;
  });
}

// A part of the result along one spatial dimension: every result_step-th place from result_start on, which meet every
// window_step-th place of the window from window_start on, from place `input_start` of the input on.
struct Phase {
  int64_t result_start = 0, result_step = 1, result_count = 1;
  int64_t window_start = 0, window_step = 1, window_count = 1;
  int64_t input_start = 0;
};

// The parts that one spatial dimension is computed in, and what becomes of the input along it.
struct Space {
  std::vector<Phase> phases;
  GemmPadding padding;
  int64_t stride = 1;    // of the input between places of the result
  int64_t dilation = 1;  // between places of the window
  bool copied = false;
};

constexpr int64_t kMaxPhases = 4;  // of one dimension

// A padded copy has at most so many times the elements of input and result, or this many.
constexpr double kMaxGrowth = 4;
constexpr double kSmallCopy = 1 << 20;

Space SpaceOf(const hlo::WindowDimension& w, int64_t size, int64_t result) {
  Space space;
  const int64_t base = size > 1 ? w.base_dilation : 1;
  if (base > 1 && base <= kMaxPhases && base <= result && w.stride == 1 && w.window_dilation == 1) {
    int64_t low = 0, end = size;
    for (int64_t r = 0; r < base; ++r) {
      Phase phase;
      phase.result_start = r;
      phase.result_step = phase.window_step = base;
      phase.result_count = CeilDivide(result - r, base);
      phase.window_start = ((w.padding_low - r) % base + base) % base;
      phase.window_count = std::max<int64_t>(CeilDivide(w.size - phase.window_start, base), 0);
      phase.input_start = (r + phase.window_start - w.padding_low) / base;
      if (phase.window_count > 0) {
        low = std::max(low, -phase.input_start);
        end = std::max(end, phase.input_start + phase.result_count + phase.window_count - 1);
      } else {
        phase.input_start = 0;
      }
      space.phases.push_back(phase);
    }
    for (Phase& phase : space.phases) phase.input_start += low;
    space.padding = {size, low, 1, low + end};
    space.copied = low > 0 || end > size;
    return space;
  }
  const int64_t read = (result - 1) * w.stride + (w.size - 1) * w.window_dilation + 1;
  space.stride = w.stride;
  space.dilation = w.window_dilation;
  space.padding = {size, w.padding_low, base, read};
  space.copied = w.padding_low > 0 || read - w.padding_low > size || base > 1;
  space.phases.push_back({0, 1, result, 0, 1, w.size, 0});
  return space;
}

class Splitter {
 public:
  Splitter(const Instruction& convolution, int lanes)
      : a_(convolution.Get<hlo::ConvolutionAttributes>()),
        lhs_(convolution.operand(0)->shape()),
        rhs_(convolution.operand(1)->shape()),
        out_(convolution.shape()),
        lanes_(lanes) {}

  std::vector<ConvolutionSpec> Run() {
    common_.lhs.type = lhs_.element_type();
    common_.rhs.type = rhs_.element_type();
    common_.out.type = common_.result_type = out_.element_type();
    const auto arithmetic = GemmArithmetic::Make(common_.lhs.type, common_.rhs.type, common_.result_type);
    if (!arithmetic.ok() || (a_.feature_group_count > 1 && a_.batch_group_count > 1)) return {};
    groups_ = a_.feature_group_count * a_.batch_group_count;
    features_ = out_.dimensions(a_.output_feature) / groups_;
    inputs_ = rhs_.dimensions(a_.kernel_input_feature);
    if (!PlaceWindows() && !PlaceTiles() && !PlaceInput(*arithmetic)) return {};
    std::vector<ConvolutionSpec> specs;
    std::vector<Phase> phases(spaces_.size());
    AddPhases(0, &phases, &specs);
    // A large copy is made a part at a time, for each phase.
    const bool is_shared = specs.size() > 1 && PaddedBytes() <= analysis::kMaxWorkspaceBytes;
    for (size_t i = 0; i < specs.size(); ++i) {
      specs[i].gemm.padding_is_shared = is_shared;
      specs[i].gemm.padded_before = is_shared && i > 0;
    }
    return specs;
  }

 private:
  int64_t PaddedBytes() const {
    int64_t bytes = hlo::ByteWidth(lhs_.element_type());
    for (const GemmPadding& d : common_.padding) bytes *= d.padded;
    return bytes;
  }

  static bool IsF32(const Shape& shape) { return shape.element_type() == hlo::PrimitiveType::kF32; }

  void FindStrides() {
    lhs_strides_ = RowMajorStrides(lhs_.dimensions());
    rhs_strides_ = RowMajorStrides(rhs_.dimensions());
    out_strides_ = RowMajorStrides(out_.dimensions());
  }

  std::vector<GemmWindow> WindowsInPlace() const {
    std::vector<GemmWindow> windows;
    for (size_t s = 0; s < a_.window.size(); ++s) {
      const hlo::WindowDimension& w = a_.window[s];
      const int64_t input = a_.input_spatial[s], output = a_.output_spatial[s];
      windows.push_back({out_.dimensions(output), lhs_.dimensions(input), w.size, w.stride, w.window_dilation,
                         w.padding_low, lhs_strides_[input], rhs_strides_[a_.kernel_spatial[s]], out_strides_[output]});
    }
    return windows;
  }

  void PlaceSpaces() {
    for (size_t s = 0; s < a_.window.size(); ++s) {
      const int64_t input = a_.input_spatial[s], output = a_.output_spatial[s];
      spaces_.push_back(SpaceOf(a_.window[s], lhs_.dimensions(input), out_.dimensions(output)));
    }
    common_.windows = WindowsInPlace();
  }

  // For groups of as few channels as kernels of groups take: lhs is read as it is.
  bool PlaceWindows() {
    const GroupKernels* kernels = FindGroupKernels();
    const size_t rank = a_.window.size();
    if (kernels == nullptr || kernels->lanes != lanes_ || a_.feature_group_count == 1 || rank < 1 || rank > 3 ||
        features_ != inputs_ || features_ > lanes_ || !std::has_single_bit(static_cast<uint64_t>(features_)) ||
        out_.dimensions(a_.output_feature) < lanes_ || !IsF32(lhs_) || !IsF32(rhs_) || !IsF32(out_) ||
        a_.window[rank - 1].size > kMaxGroupTaps ||
        std::any_of(a_.window.begin(), a_.window.end(), [](const auto& w) { return w.base_dilation != 1; })) {
      return false;
    }
    FindStrides();
    if (lhs_strides_[a_.input_feature] != 1 || rhs_strides_[a_.kernel_output_feature] != 1 ||
        out_strides_[a_.output_feature] != 1) {
      return false;
    }
    PlaceSpaces();
    return true;
  }

  // For windows of three by three taps of many channels (winograd.h): lhs is read as it is, whether channels or places
  // are neighbours. Sums round by the largest input of a tile, not of a window, which highest precision is not.
  bool PlaceTiles() {
    const WinogradKernels* kernels = FindWinogradKernels();
    if (kernels == nullptr || absl::c_linear_search(a_.operand_precision, hlo::Precision::kHighest) ||
        kernels->lanes != lanes_ || groups_ > 1 || a_.window.size() != 2 || inputs_ % lanes_ != 0 ||
        features_ % lanes_ != 0 || !IsF32(lhs_) || !IsF32(rhs_) || !IsF32(out_) ||
        !std::all_of(a_.window.begin(), a_.window.end(),
                     [](const auto& w) { return w.size == 3 && w.stride == 1 && w.base_dilation == 1; })) {
      return false;
    }
    FindStrides();
    const int64_t kernel_input = rhs_strides_[a_.kernel_input_feature];
    const int64_t row = rhs_strides_[a_.kernel_spatial[0]], column = rhs_strides_[a_.kernel_spatial[1]];
    const bool weights_are_neighbours = rhs_strides_[a_.kernel_output_feature] == 1 || kernel_input == 1 ||
                                        (kernel_input == 9 && row == 3 && column == 1);
    const auto is_known = [&](int64_t feature, int64_t spatial, const std::vector<int64_t>& strides) {
      return strides[feature] == 1 || (strides[spatial] == 1 && a_.window[1].window_dilation == 1);
    };
    if (!is_known(a_.input_feature, a_.input_spatial[1], lhs_strides_) ||
        !is_known(a_.output_feature, a_.output_spatial[1], out_strides_) || !weights_are_neighbours ||
        !IsWorthWinograd(out_.dimensions(a_.output_batch), WindowsInPlace(), inputs_, features_)) {
      return false;
    }
    PlaceSpaces();
    return true;
  }

  // Finds how lhs is read, and whether it is there as it is read. False when the copy would be out of proportion.
  bool PlaceInput(const GemmArithmetic& arithmetic) {
    const int depth = arithmetic.MaxDepth(common_.lhs.type, common_.rhs.type);
    const bool in_groups_of_k = depth > 1 && a_.input_feature == lhs_.rank() - 1 && inputs_ % depth == 0 &&
                                (groups_ == 1 || features_ >= lanes_);
    const bool one_place = std::all_of(a_.window.begin(), a_.window.end(), [](const auto& w) { return w.size == 1; });
    // Other types are converted once, not in every tile.
    bool copied = !arithmetic.IsNative(common_.lhs.type) && !in_groups_of_k && !one_place;
    std::vector<GemmPadding> padding;
    for (int64_t d = 0; d < lhs_.rank(); ++d) padding.push_back({lhs_.dimensions(d), 0, 1, lhs_.dimensions(d)});
    for (size_t s = 0; s < a_.window.size(); ++s) {
      const int64_t d = a_.input_spatial[s];
      spaces_.push_back(SpaceOf(a_.window[s], lhs_.dimensions(d), out_.dimensions(a_.output_spatial[s])));
      padding[d] = spaces_.back().padding;
      copied |= spaces_.back().copied;
    }
    double elements = 1;
    for (const GemmPadding& p : padding) elements *= static_cast<double>(p.padded);
    const double all = static_cast<double>(lhs_.element_count() + out_.element_count());
    if (copied && elements > kMaxGrowth * all + kSmallCopy) return false;
    std::vector<int64_t> sizes;
    for (const GemmPadding& p : padding) sizes.push_back(copied ? p.padded : p.size);
    lhs_strides_ = RowMajorStrides(sizes);
    rhs_strides_ = RowMajorStrides(rhs_.dimensions());
    out_strides_ = RowMajorStrides(out_.dimensions());
    if (copied) {
      common_.padding = padding;
    } else {
      for (size_t d = 0; d < padding.size(); ++d) common_.lhs_offset -= padding[d].low * lhs_strides_[d];
    }
    return true;
  }

  // One product for every choice of phases of the spatial dimensions from `space` on.
  void AddPhases(size_t space, std::vector<Phase>* phases, std::vector<ConvolutionSpec>* specs) {
    if (space < spaces_.size()) {
      for (const Phase& phase : spaces_[space].phases) {
        (*phases)[space] = phase;
        AddPhases(space + 1, phases, specs);
      }
      return;
    }
    specs->push_back(Product(*phases));
  }

  ConvolutionSpec Product(const std::vector<Phase>& phases) const {
    ConvolutionSpec spec;
    GemmSpec& gemm = spec.gemm;
    gemm = common_;
    std::vector<Dimension> rows, steps, batch;
    rows.push_back({{out_.dimensions(a_.output_batch), lhs_strides_[a_.input_batch], 0, out_strides_[a_.output_batch]},
                    {{{a_.output_batch, out_.dimensions(a_.output_batch)}}}});
    steps.push_back({{inputs_, lhs_strides_[a_.input_feature], rhs_strides_[a_.kernel_input_feature], 0}, {}});
    bool empty = false;
    for (size_t s = 0; s < phases.size(); ++s) {
      const Phase& phase = phases[s];
      const int64_t d = a_.output_spatial[s];
      const int64_t lhs = lhs_strides_[a_.input_spatial[s]], rhs = rhs_strides_[a_.kernel_spatial[s]];
      rows.push_back({{phase.result_count, spaces_[s].stride * lhs, 0, phase.result_step * out_strides_[d]},
                      {{{d, phase.result_count, phase.result_step}}}});
      steps.push_back({{phase.window_count, spaces_[s].dilation * lhs, phase.window_step * rhs, 0}, {}});
      gemm.lhs_offset += phase.input_start * lhs;
      gemm.rhs_offset += phase.window_start * rhs;
      gemm.out_offset += phase.result_start * out_strides_[d];
      empty |= phase.window_count == 0;
    }
    if (empty) {
      // No place of the window meets an element: zeros.
      steps = {{{0, 1, 1, 0}, {}}};
      gemm.lhs_offset = gemm.rhs_offset = 0;
    }
    const int64_t group_stride = a_.batch_group_count > 1
                                     ? out_.dimensions(a_.output_batch) * lhs_strides_[a_.input_batch]
                                     : inputs_ * lhs_strides_[a_.input_feature];
    const int64_t feature_rhs = rhs_strides_[a_.kernel_output_feature], feature_out = out_strides_[a_.output_feature];
    const auto feature_loop = [&](int64_t size, int64_t scale) {
      return kernel::EpilogueLoop{{{a_.output_feature, size, scale}}};
    };
    Dimension columns{{features_, 0, feature_rhs, feature_out}, feature_loop(features_, 1)};
    const Dimension group{{groups_, group_stride, features_ * feature_rhs, features_ * feature_out},
                          feature_loop(groups_, features_)};
    const bool windows = !gemm.windows.empty();
    if (!windows) Merge(&rows);
    const bool tiles = windows && groups_ == 1;
    if (!tiles) Merge(&steps);
    const bool channels = groups_ > 1 && (windows || features_ < lanes_) &&
                          std::has_single_bit(static_cast<uint64_t>(features_)) && group_stride <= features_;
    const auto across =
        std::find_if(rows.begin(), rows.end(), [](const Dimension& d) { return d.step.out_stride == 1; });
    if (channels) {
      // Groups next to each other are lanes, each with its own elements of lhs.
      columns.step.size = out_.dimensions(a_.output_feature);
      columns.loop = feature_loop(columns.step.size, 1);
      gemm.column_group = features_;
      gemm.column_group_stride = group_stride;
    } else {
      batch.push_back(group);
      if (features_ <= kFewFeatures && across != rows.end() && across->step.size > features_ && feature_out != 1) {
        // Too few features for lanes: places of the result are lanes, each with its own elements, and weights are
        // broadcast.
        batch.push_back(columns);
        columns = *across;
        rows.erase(across);
        gemm.column_group = 1;
        gemm.column_group_stride = columns.step.lhs_stride;
        columns.step.rhs_stride = 0;
      }
    }
    const Dimension inner_row = windows ? Take(rows.size() - 1, &rows) : TakeInner(&rows);
    // Lanes of their own elements are loads for every step: those that follow each other should be neighbours.
    const bool last_step = !steps.empty() && (gemm.column_group > 0 || StepsAreNeighbours(gemm, steps));
    const Dimension inner_step = tiles       ? Take(0, &steps)
                                 : last_step ? Take(steps.size() - 1, &steps)
                                             : TakeInner(&steps);
    gemm.m = inner_row.step.size;
    gemm.n = columns.step.size;
    gemm.k = inner_step.step.size;
    gemm.lhs.row_stride = inner_row.step.lhs_stride;
    gemm.lhs.column_stride = inner_step.step.lhs_stride;
    gemm.rhs.row_stride = inner_step.step.rhs_stride;
    gemm.rhs.column_stride = columns.step.rhs_stride;
    gemm.out.row_stride = inner_row.step.out_stride;
    gemm.out.column_stride = columns.step.out_stride;
    for (const Dimension& d : steps) gemm.outer_steps.push_back(d.step);
    std::erase_if(batch, [](const Dimension& d) { return d.step.size == 1; });
    const bool may_swap = !windows && gemm.padding.empty() &&
                          gemm.lhs_offset + gemm.rhs_offset + gemm.out_offset == 0 && gemm.column_group == 0 &&
                          gemm.lhs.row_stride == 1 && gemm.out.row_stride == 1;
    if (may_swap) {
      // Rows may become lanes: a product for every outer row.
      batch.insert(batch.end(), rows.begin(), rows.end());
      rows.clear();
    }
    for (const Dimension& d : batch) {
      gemm.batch.push_back(d.step);
      spec.loops.push_back(d.loop);
    }
    for (const Dimension& d : rows) {
      gemm.outer_rows.push_back(d.step);
      spec.loops.push_back(d.loop);
    }
    spec.loops.push_back(inner_row.loop);
    spec.loops.push_back(columns.loop);
    for (size_t s = 0; s < phases.size(); ++s) AddOffset(a_.output_spatial[s], phases[s].result_start, &spec);
    return spec;
  }

  // Whether weights lie in the order of the steps, for kernels compiled with Kiln, which then pack them in one go.
  bool StepsAreNeighbours(const GemmSpec& gemm, const std::vector<Dimension>& steps) const {
    const int64_t runs = std::accumulate(steps.begin(), std::prev(steps.end()), int64_t{1},
                                         [](int64_t count, const Dimension& d) { return count * d.step.size; });
    int64_t next = 1;
    for (size_t i = steps.size(); i-- > 0; next *= steps[i].step.size) {
      if (steps[i].step.rhs_stride != next) return false;
    }
    // Narrow elements become f32 in the padded copy, and where weights are packed.
    const auto widens = [](const Shape& shape) {
      return shape.element_type() == hlo::PrimitiveType::kBF16 ||
             (shape.element_type() == hlo::PrimitiveType::kF16 && Host().half_conversions);
    };
    return runs <= kMaxGemmRuns && (IsF32(lhs_) || (widens(lhs_) && !gemm.padding.empty())) &&
           (IsF32(rhs_) || widens(rhs_)) && features_ >= lanes_ && FindGemmKernels(GemmKernelKind::kF32) != nullptr;
  }

  // The index of `dimension` starts at `offset`.
  static void AddOffset(int64_t dimension, int64_t offset, ConvolutionSpec* spec) {
    if (offset == 0) return;
    for (kernel::EpilogueLoop& loop : spec->loops) {
      for (kernel::EpilogueLoop::Part& part : loop.parts) {
        if (part.dimension != dimension) continue;
        part.offset = offset;
        return;
      }
    }
    // Of one place alone: no loop counts through it.
    spec->loops.back().parts.insert(spec->loops.back().parts.begin(), {dimension, 1, 1, offset});
  }

  const hlo::ConvolutionAttributes& a_;
  const Shape &lhs_, &rhs_, &out_;
  const int lanes_;
  GemmSpec common_;
  int64_t groups_ = 1;
  int64_t features_ = 0;  // of a group
  int64_t inputs_ = 0;    // of a group
  std::vector<Space> spaces_;
  std::vector<int64_t> lhs_strides_, rhs_strides_, out_strides_;
};

}  // namespace

std::vector<ConvolutionSpec> ConvolutionProductsOf(const Instruction& convolution, int lanes) {
  if (!HasProduct(convolution, convolution.Get<hlo::ConvolutionAttributes>())) return {};
  return Splitter(convolution, lanes).Run();
}

}  // namespace kiln::cpu
