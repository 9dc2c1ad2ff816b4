#include "src/passes/pipeline.h"

#include "src/passes/approx_top_k_expander.h"
#include "src/passes/associative_scan.h"
#include "src/passes/batch_norm_expander.h"
#include "src/passes/bitcast_expander.h"
#include "src/passes/broadcast_sinking.h"
#include "src/passes/call_inliner.h"
#include "src/passes/cholesky_expander.h"
#include "src/passes/conditional_code_motion.h"
#include "src/passes/conditional_simplifier.h"
#include "src/passes/constant_folding.h"
#include "src/passes/cse.h"
#include "src/passes/custom_call_expander.h"
#include "src/passes/custom_call_flattening.h"
#include "src/passes/dce.h"
#include "src/passes/dot_canonicalization.h"
#include "src/passes/dynamic_padder.h"
#include "src/passes/eigh_expander.h"
#include "src/passes/fft_expander.h"
#include "src/passes/flatten_call_graph.h"
#include "src/passes/float_normalization.h"
#include "src/passes/fusion.h"
#include "src/passes/layout_normalization.h"
#include "src/passes/multi_output_fusion.h"
#include "src/passes/operand_sinking.h"
#include "src/passes/opt_barrier_remover.h"
#include "src/passes/qr_expander.h"
#include "src/passes/ragged_dot_expander.h"
#include "src/passes/real_fft.h"
#include "src/passes/reduce_window_to_scan.h"
#include "src/passes/reduction_splitter.h"
#include "src/passes/rematerialization.h"
#include "src/passes/rng_bit_generator_expander.h"
#include "src/passes/rng_expander.h"
#include "src/passes/row_fusion.h"
#include "src/passes/scalar_flattening.h"
#include "src/passes/scan_expander.h"
#include "src/passes/schedule.h"
#include "src/passes/select_and_scatter_expander.h"
#include "src/passes/side_effect_order.h"
#include "src/passes/simplify/algebraic_simplifier.h"
#include "src/passes/single_device_collectives.h"
#include "src/passes/sort_keys.h"
#include "src/passes/transpose_folding.h"
#include "src/passes/triangular_solve_expander.h"
#include "src/passes/while_loop_constant_sinking.h"
#include "src/passes/while_loop_invariant_code_motion.h"
#include "src/passes/while_loop_simplifier.h"
#include "src/passes/while_loop_trip_count_annotator.h"
#include "src/passes/while_loop_unroller.h"

namespace kiln::passes {
namespace {

template <typename... Passes>
PassList ListOf() {
  PassList list;
  (list.push_back(std::make_unique<Passes>()), ...);
  return list;
}

void Append(PassList* list, PassList more) {
  for (auto& pass : more) list->push_back(std::move(pass));
}

// Until nothing changes: few forms, no value computed twice, nothing unused.
std::unique_ptr<Pass> Simplification(std::string name, bool fast_math) {
  PassList list = fast_math ? ListOf<FastMathSimplifier>() : ListOf<AlgebraicSimplifier>();
  Append(&list, ListOf<OperandSinking, ConstantFolding, Cse, Dce>());
  return std::make_unique<FixedPoint>(std::move(name), std::move(list), /*max_rounds=*/8);
}

// Loops and branches, and what simplification makes of what leaves or enters them.
std::unique_ptr<Pass> ControlFlow() {
  return std::make_unique<FixedPoint>(
      "control-flow",
      ListOf<WhileLoopConstantSinking, WhileLoopSimplifier, WhileLoopUnroller, ConditionalSimplifier,
             ConditionalCodeMotion, AlgebraicSimplifier, ConstantFolding, Cse, WhileLoopInvariantCodeMotion>(),
      /*max_rounds=*/4);
}

enum class Target { kCpu, kGpu };

PassList PassesFor(Target target, bool fast_math) {
  PassList list = ListOf<SideEffectOrder, CallInliner, CustomCallFlattening, DynamicPadder, FloatNormalization,
                         LayoutNormalization, Dce>();
  // Scans have generated code on CPUs alone.
  if (target == Target::kCpu) Append(&list, ListOf<AssociativeScan>());
  // Ops that are written as others.
  Append(&list,
         ListOf<BitcastExpander, BatchNormExpander, RngExpander, RngBitGeneratorExpander, SelectAndScatterExpander>());
  list.push_back(std::make_unique<CholeskyExpander>(/*keeps_real=*/target == Target::kCpu));
  list.push_back(std::make_unique<TriangularSolveExpander>(/*keeps_real=*/target == Target::kCpu));
  Append(&list, ListOf<QrExpander, EighExpander, ApproxTopKExpander, CustomCallExpander, SingleDeviceCollectives,
                       RaggedDotExpander>());
  // CPUs have code for transforms.
  target == Target::kCpu ? Append(&list, ListOf<RealFft>()) : Append(&list, ListOf<FftExpander>());
  list.push_back(Simplification("simplification", fast_math));
  Append(&list, ListOf<FlattenCallGraph>());
  list.push_back(ControlFlow());
  Append(&list, ListOf<ScalarFlattening>());
  if (target == Target::kCpu) Append(&list, ListOf<ReduceWindowToScan>());
  Append(&list, ListOf<ScanExpander, SortKeys, DotCanonicalization>());
  list.push_back(Simplification("dot-simplification", fast_math));
  Append(&list, ListOf<TransposeFolding, OptBarrierRemover>());
  list.push_back(Simplification("final-simplification", fast_math));
  Append(&list, ListOf<WhileLoopTripCountAnnotator, FlattenCallGraph>());
  // A thread of a GPU has no whole rows, and a group of them no several results.
  if (target == Target::kCpu) Append(&list, ListOf<ReductionSplitter>());
  Append(&list, ListOf<RowFusion>());
  list.push_back(
      std::make_unique<Fusion>(target == Target::kCpu ? analysis::kCpuFusionCosts : analysis::kGpuFusionCosts));
  Append(&list, ListOf<BroadcastSinking>());
  if (target == Target::kCpu) Append(&list, ListOf<MultiOutputFusion>());
  Append(&list, ListOf<Schedule>());
  return list;
}

template <typename PassType>
std::unique_ptr<Pass> Make() {
  return std::make_unique<PassType>();
}

// In pipeline order. Names are those of the passes themselves.
constexpr std::unique_ptr<Pass> (*kFactories[])() = {
    Make<SideEffectOrder>,
    Make<CallInliner>,
    Make<CustomCallFlattening>,
    Make<DynamicPadder>,
    Make<FloatNormalization>,
    Make<LayoutNormalization>,
    Make<Dce>,
    Make<AssociativeScan>,
    Make<BitcastExpander>,
    Make<BatchNormExpander>,
    Make<RngExpander>,
    Make<RngBitGeneratorExpander>,
    Make<SelectAndScatterExpander>,
    Make<CholeskyExpander>,
    Make<TriangularSolveExpander>,
    Make<QrExpander>,
    Make<EighExpander>,
    Make<FftExpander>,
    Make<RealFft>,
    Make<ApproxTopKExpander>,
    Make<CustomCallExpander>,
    Make<SingleDeviceCollectives>,
    Make<RaggedDotExpander>,
    Make<AlgebraicSimplifier>,
    Make<FastMathSimplifier>,
    Make<OperandSinking>,
    Make<ConstantFolding>,
    Make<Cse>,
    Make<WhileLoopConstantSinking>,
    Make<WhileLoopSimplifier>,
    Make<WhileLoopUnroller>,
    Make<ConditionalSimplifier>,
    Make<ConditionalCodeMotion>,
    Make<WhileLoopInvariantCodeMotion>,
    Make<ScalarFlattening>,
    Make<ReduceWindowToScan>,
    Make<ScanExpander>,
    Make<SortKeys>,
    Make<DotCanonicalization>,
    Make<TransposeFolding>,
    Make<OptBarrierRemover>,
    Make<WhileLoopTripCountAnnotator>,
    Make<FlattenCallGraph>,
    Make<ReductionSplitter>,
    Make<RowFusion>,
    Make<Fusion>,
    Make<BroadcastSinking>,
    Make<MultiOutputFusion>,
    Make<Schedule>,
    Make<Rematerialization>,
};

}  // namespace

PassList CpuPipeline(bool fast_math) { return PassesFor(Target::kCpu, fast_math); }

PassList GpuPipeline(bool fast_math) { return PassesFor(Target::kGpu, fast_math); }

std::unique_ptr<Pass> CreatePass(absl::string_view name) {
  for (auto make : kFactories) {
    std::unique_ptr<Pass> pass = make();
    if (pass->name() == name) return pass;
  }
  return nullptr;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (auto make : kFactories) names.emplace_back(make()->name());
  return names;
}

}  // namespace kiln::passes
