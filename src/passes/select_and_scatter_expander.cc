#include "src/passes/select_and_scatter_expander.h"

#include <limits>
#include <utility>
#include <vector>

#include "src/analysis/combiner.h"
#include "src/base/status.h"
#include "src/passes/array_value.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// Windows of at most this many places are asked one by one.
constexpr int64_t kMaxPlaces = 25;
// So many elements beside each other, without a window over them, are worth transposes.
constexpr int64_t kMinLanes = 16;

class SelectAndScatterExpansion {
 public:
  explicit SelectAndScatterExpansion(Instruction* root)
      : builder_(root->parent(), root),
        root_(*root),
        window_(root->Get<hlo::WindowAttributes>().window),
        operand_(&builder_, root->operand(0)),
        source_(&builder_, root->operand(1)),
        init_(&builder_, root->operand(2)),
        index_type_(operand_.shape().element_count() > std::numeric_limits<int32_t>::max() ? PrimitiveType::kS64
                                                                                           : PrimitiveType::kS32) {}

  Instruction* Run() {
    const DimensionVector& dimensions = operand_.shape().dimensions();
    const ArrayValue start = init_.Broadcast(dimensions, {});
    if (operand_.shape().element_count() == 0 || source_.shape().element_count() == 0) return start.instruction();
    // A sum of counts, so that fusions that want it compute it.
    int64_t stride = 1;
    for (int64_t d = operand_.shape().rank() - 1; d >= 0; stride *= dimensions[d--]) {
      const ArrayValue count = Iota(&builder_, index_type_, dimensions, d);
      const ArrayValue part = stride == 1 ? count : count * count.Number(stride);
      places_ = places_.instruction() == nullptr ? part : places_ + part;
    }
    if (places_.instruction() == nullptr) places_ = {&builder_, builder_.Scalar(index_type_, 0)};
    const ArrayValue selected = Selected();
    int64_t count = 1;
    bool dilated = false;
    for (const hlo::WindowDimension& w : window_) {
      count = count > kMaxPlaces ? count : count * w.size;
      dilated |= w.base_dilation != 1;
    }
    return (count > kMaxPlaces || dilated ? Scatter(start, selected) : Ask(start, selected)).instruction();
  }

 private:
  // Of every window, the linear index of the element that the select computation keeps; -1 where it has none.
  ArrayValue Selected() {
    const Shape values(operand_.type(), source_.shape().dimensions());
    const Shape indices(index_type_, source_.shape().dimensions());
    const ArrayValue none(&builder_, builder_.Scalar(index_type_, -1));
    const ArrayValue zero(&builder_, builder_.Constant(hlo::ZeroLiteral(operand_.type())));
    Instruction* chosen =
        builder_.Add(Opcode::kReduceWindow, Shape::Tuple({values, indices}),
                     {operand_.instruction(), places_.instruction(), zero.instruction(), none.instruction()},
                     hlo::WindowAttributes{window_}, {Chooser()});
    return {&builder_, builder_.GetTupleElement(chosen, 1)};
  }

  // (value, index) of two candidates -> that of the one to keep; a negative index is no candidate.
  Computation* Chooser() {
    Computation* chooser = builder_.computation()->parent()->AddComputation("choose");
    Builder inside(chooser, &root_);
    const Shape value = Shape::Scalar(operand_.type()), index = Shape::Scalar(index_type_);
    const ArrayValue a(&inside, chooser->AddParameter(0, value)), i(&inside, chooser->AddParameter(1, index));
    const ArrayValue b(&inside, chooser->AddParameter(2, value)), j(&inside, chooser->AddParameter(3, index));
    const ArrayValue preferred(&inside,
                               inside.Inline(*root_.called_computation(0), {a.instruction(), b.instruction()}));
    const ArrayValue zero = i.Number(int64_t{0});
    const ArrayValue keep = (i >= zero) & (preferred | (j < zero));
    chooser->set_root(inside.Tuple({Select(keep, a, b).instruction(), Select(keep, i, j).instruction()}));
    return chooser;
  }

  // What stands `position` places after the start of the window that covers each element of the operand: that window's
  // element of `value`, or `outside` where no window lies so.
  ArrayValue AtWindow(const ArrayValue& value, const ArrayValue& outside, const DimensionVector& position) {
    hlo::PadAttributes pad;
    for (size_t d = 0; d < window_.size(); ++d) {
      const hlo::WindowDimension& w = window_[d];
      const int64_t low = position[d] * w.window_dilation - w.padding_low;
      const int64_t spread = (value.shape().dimensions(d) - 1) * w.stride + 1;
      pad.low.push_back(low);
      pad.interior.push_back(w.stride - 1);
      pad.high.push_back(operand_.shape().dimensions(d) - low - spread);
    }
    return {&builder_, builder_.Add(Opcode::kPad, Shape(value.type(), operand_.shape().dimensions()),
                                    {value.instruction(), outside.instruction()}, std::move(pad))};
  }

  ArrayValue Ask(const ArrayValue& start, const ArrayValue& selected) {
    const ArrayValue none(&builder_, builder_.Scalar(index_type_, -1));
    const ArrayValue zero(&builder_, builder_.Constant(hlo::ZeroLiteral(source_.type())));
    // The later a place is in the window, the earlier is the window in the source.
    DimensionVector position;
    for (const hlo::WindowDimension& w : window_) position.push_back(w.size - 1);
    ArrayValue result = start;
    while (true) {
      const ArrayValue here = AtWindow(selected, none, position) == places_;
      result = Select(here, Combine(result, AtWindow(source_, zero, position)), result);
      int64_t d = static_cast<int64_t>(position.size()) - 1;
      while (d >= 0 && position[d] == 0) {
        position[d] = window_[d].size - 1;
        --d;
      }
      if (d < 0) return result;
      --position[d];
    }
  }

  // The scatter computation, element by element.
  ArrayValue Combine(const ArrayValue& a, const ArrayValue& b) {
    return {&builder_,
            builder_.Add(Opcode::kMap, a.shape(), {a.instruction(), b.instruction()},
                         hlo::DimensionsAttributes{AllDimensions(a.shape())}, {root_.called_computation(1)})};
  }

  static DimensionVector AllDimensions(const Shape& shape) {
    DimensionVector all;
    for (int64_t d = 0; d < shape.rank(); ++d) all.push_back(d);
    return all;
  }

  ArrayValue Scatter(const ArrayValue& start, const ArrayValue& selected) {
    const int64_t count = source_.shape().element_count();
    const ArrayValue flat = start.Reshape({operand_.shape().element_count()});
    hlo::ScatterAttributes attributes;
    attributes.inserted_window_dims = {0};
    attributes.scatter_dims_to_operand_dims = {0};
    attributes.index_vector_dim = 1;
    const ArrayValue result(&builder_, builder_.Add(Opcode::kScatter, flat.shape(),
                                                    {flat.instruction(), selected.Reshape({count}).instruction(),
                                                     source_.Reshape({count}).instruction()},
                                                    std::move(attributes), {root_.called_computation(1)}));
    return result.Reshape(operand_.shape().dimensions());
  }

  Builder builder_;
  const Instruction& root_;
  const hlo::Window window_;
  ArrayValue operand_, source_, init_;
  const PrimitiveType index_type_;
  ArrayValue places_;  // linear index of every element of the operand
};

// Windows of one element choose it: what is scattered comes to it, at the distances of the windows.
Instruction* ScatterOfOnes(Instruction* instruction) {
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*instruction->called_computation(1));
  Instruction *source = instruction->operands()[1], *init = instruction->operands()[2];
  if (!combiner || instruction->shape().element_count() == 0 || source->shape().element_count() == 0) return nullptr;
  hlo::PadAttributes pad;
  const hlo::Window& window = instruction->Get<hlo::WindowAttributes>().window;
  for (size_t i = 0; i < window.size(); ++i) {
    const hlo::WindowDimension& d = window[i];
    if (d.size != 1 || d.padding_low != 0 || d.padding_high != 0 || d.base_dilation != 1) return nullptr;
    pad.low.push_back(0);
    pad.interior.push_back(d.stride - 1);
    pad.high.push_back(instruction->shape().dimensions(i) - (source->shape().dimensions(i) - 1) * d.stride - 1);
  }
  Builder builder(instruction->parent(), instruction);
  Instruction* combined =
      builder.Binary(*combiner, builder.BroadcastScalar(init, source->shape().dimensions()), source);
  return builder.Add(Opcode::kPad, Shape(instruction->shape().element_type(), instruction->shape().dimensions()),
                     {combined, init}, std::move(pad));
}

absl::StatusOr<Instruction*> ExpandSelectAndScatter(Instruction* instruction) {
  if (Instruction* scattered = ScatterOfOnes(instruction)) return scattered;
  // Dimensions without a window go last, where they become lanes: windows along lanes cost more than transposes.
  const hlo::Window window = instruction->Get<hlo::WindowAttributes>().window;
  const DimensionVector& sizes = instruction->shape().dimensions();
  const auto is_plain = [&](int64_t d) {
    return window[d].size == 1 && window[d].stride == 1 && window[d].padding_low == 0 && window[d].padding_high == 0;
  };
  DimensionVector permutation;
  int64_t plain_elements = 1;
  for (const bool plain : {false, true}) {
    for (int64_t d = 0; d < instruction->shape().rank(); ++d) {
      if (is_plain(d) != plain) continue;
      permutation.push_back(d);
      if (plain) plain_elements *= sizes[d];
    }
  }
  if (window.empty() || is_plain(static_cast<int64_t>(window.size()) - 1) || plain_elements < kMinLanes) {
    return SelectAndScatterExpansion(instruction).Run();
  }
  Builder builder(instruction->parent(), instruction);
  hlo::WindowAttributes permuted;
  DimensionVector permuted_sizes, inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    permuted.window.push_back(window[permutation[i]]);
    permuted_sizes.push_back(sizes[permutation[i]]);
    inverse[permutation[i]] = static_cast<int64_t>(i);
  }
  Instruction* operand = builder.Transpose(instruction->operand(0), permutation);
  Instruction* source = builder.Transpose(instruction->operand(1), permutation);
  Instruction* moved =
      builder.Add(Opcode::kSelectAndScatter, Shape(instruction->shape().element_type(), permuted_sizes),
                  {operand, source, instruction->operand(2)}, std::move(permuted), instruction->called_computations());
  Instruction* result = builder.Transpose(SelectAndScatterExpansion(moved).Run(), inverse);
  // In an order of their own, so that no fusion takes the transposes in and has the windows along lanes again.
  source->AddControlPredecessor(operand);
  result->AddControlPredecessor(source);
  return result;
}

}  // namespace

absl::StatusOr<bool> ExpandSelectAndScatters(Module* module) {
  return ReplaceOps(module, {Opcode::kSelectAndScatter}, ExpandSelectAndScatter);
}

}  // namespace kiln::passes
