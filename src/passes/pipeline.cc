#include "src/passes/pipeline.h"

#include "src/base/cpu_tuning.h"
#include "src/passes/approx_top_k_expander.h"
#include "src/passes/associative_scan.h"
#include "src/passes/attention_fusion.h"
#include "src/passes/attention_sources.h"
#include "src/passes/batch_norm_expander.h"
#include "src/passes/bitcast_expander.h"
#include "src/passes/broadcast_sinking.h"
#include "src/passes/call_inliner.h"
#include "src/passes/cholesky_expander.h"
#include "src/passes/condition_propagation.h"
#include "src/passes/conditional_code_motion.h"
#include "src/passes/conditional_merger.h"
#include "src/passes/conditional_simplifier.h"
#include "src/passes/constant_folding.h"
#include "src/passes/cse.h"
#include "src/passes/custom_call_expander.h"
#include "src/passes/custom_call_flattening.h"
#include "src/passes/dce.h"
#include "src/passes/dot_canonicalization.h"
#include "src/passes/dot_merger.h"
#include "src/passes/dynamic_padder.h"
#include "src/passes/eigh_expander.h"
#include "src/passes/fft_dimensions.h"
#include "src/passes/fft_expander.h"
#include "src/passes/flatten_call_graph.h"
#include "src/passes/float_normalization.h"
#include "src/passes/fusion.h"
#include "src/passes/lapack_expander.h"
#include "src/passes/layout_normalization.h"
#include "src/passes/multi_output_fusion.h"
#include "src/passes/operand_sinking.h"
#include "src/passes/opt_barrier_remover.h"
#include "src/passes/part_flattening.h"
#include "src/passes/qr_expander.h"
#include "src/passes/ragged_dot_expander.h"
#include "src/passes/reader_recomputation.h"
#include "src/passes/real_fft.h"
#include "src/passes/reduce_window_to_scan.h"
#include "src/passes/reduction_splitter.h"
#include "src/passes/rematerialization.h"
#include "src/passes/rng_bit_generator_expander.h"
#include "src/passes/rng_expander.h"
#include "src/passes/row_chain_fusion.h"
#include "src/passes/row_fusion.h"
#include "src/passes/scalar_flattening.h"
#include "src/passes/scan_expander.h"
#include "src/passes/scatter_splitter.h"
#include "src/passes/schedule.h"
#include "src/passes/select_and_scatter_expander.h"
#include "src/passes/short_reductions.h"
#include "src/passes/side_effect_order.h"
#include "src/passes/simplify/algebraic_simplifier.h"
#include "src/passes/single_device_collectives.h"
#include "src/passes/sort_keys.h"
#include "src/passes/sort_to_top_k.h"
#include "src/passes/sum_widening.h"
#include "src/passes/thin_products.h"
#include "src/passes/transpose_folding.h"
#include "src/passes/triangular_solve_expander.h"
#include "src/passes/vector_products.h"
#include "src/passes/waiting_results.h"
#include "src/passes/while_loop_constant_sinking.h"
#include "src/passes/while_loop_invariant_code_motion.h"
#include "src/passes/while_loop_simplifier.h"
#include "src/passes/while_loop_trip_count_annotator.h"
#include "src/passes/while_loop_unroller.h"
#include "src/passes/while_loop_widening.h"

namespace kiln::passes {
namespace {

enum Targets { kCpu = 1, kGpu = 2, kBoth = 3 };

struct Step {
  Pass pass;
  Targets targets = kBoth;
};

// All of both targets, in order.
std::vector<Step> Steps(bool fast_math) {
  Pass simplifier = {"algebraic-simplifier", [](Module* module) { return SimplifyAlgebra(module); }};
  if (fast_math) {
    simplifier = {"algebraic-simplifier-fast-math", [](Module* module) { return SimplifyAlgebra(module, true); }};
  }
  const Pass constants = {"constant-folding", FoldConstants}, cse = {"cse", MergeEqualInstructions},
             dce = {"dce", RemoveDeadCode}, flatten = {"flatten-call-graph", FlattenCallGraph};
  // Until nothing changes: few forms, no value computed twice, nothing unused.
  const auto simplification = [&](absl::string_view name) {
    return Pass{name, nullptr, {simplifier, {"operand-sinking", SinkMoves}, constants, cse, dce}, /*max_rounds=*/8};
  };
  // Loops and branches, and what simplification makes of what leaves or enters them.
  const Pass control_flow = {"control-flow",
                             nullptr,
                             {{"condition-propagation", PropagateConditions},
                              {"while-loop-constant-sinking", SinkLoopConstants},
                              {"while-loop-simplifier", SimplifyLoops},
                              {"while-loop-widening", WidenLoops},
                              {"while-loop-unroller", UnrollLoops},
                              {"conditional-simplifier", SimplifyConditionals},
                              {"conditional-merger", MergeConditionals},
                              {"conditional-code-motion", MoveConditionalCode},
                              {"algebraic-simplifier", [](Module* module) { return SimplifyAlgebra(module); }},
                              constants,
                              cse,
                              {"while-loop-invariant-code-motion", HoistLoopInvariants}},
                             /*max_rounds=*/4};
  return {
      {{"side-effect-order", OrderSideEffects}},
      {{"call-inliner", InlineCalls}},
      {{"lapack-expander", ExpandLapack}},
      {{"custom-call-flattening", FlattenCustomCalls}},
      {{"dynamic-padder", PadDynamicDimensions}},
      {{"float-normalization", NormalizeFloats}},
      {{"sum-widening", WidenSums}},
      {{"layout-normalization", NormalizeLayouts}},
      {dce},
      // Scans have generated code on CPUs alone.
      {{"associative-scan", RecognizeAssociativeScans}, kCpu},
      // Ops that are written as others.
      {{"bitcast-expander", ExpandBitcasts}},
      {{"batch-norm-expander", ExpandBatchNorms}},
      {{"rng-expander", ExpandRng}},
      {{"rng-bit-generator-expander", ExpandRngBitGenerators}},
      {{"select-and-scatter-expander", ExpandSelectAndScatters}},
      // CPUs have code for matrices of real numbers and for transforms.
      {{"cholesky-expander", [](Module* module) { return ExpandCholesky(module); }}, kGpu},
      {{"cholesky-expander", [](Module* module) { return ExpandCholesky(module, /*keeps_real=*/true); }}, kCpu},
      {{"triangular-solve-expander", [](Module* module) { return ExpandTriangularSolves(module); }}, kGpu},
      {{"triangular-solve-expander",
        [](Module* module) { return ExpandTriangularSolves(module, /*keeps_real=*/true); }},
       kCpu},
      {{"qr-expander", [](Module* module) { return ExpandQr(module); }}, kGpu},
      {{"qr-expander", [](Module* module) { return ExpandQr(module, /*keeps_real=*/true); }}, kCpu},
      {{"eigh-expander", ExpandEigh}},
      {{"approx-top-k-expander", ExpandApproxTopK}},
      {{"custom-call-expander", ExpandCustomCalls}},
      {{"single-device-collectives", ExpandCollectives}},
      {{"ragged-dot-expander", ExpandRaggedDots}},
      {{"fft-dimensions", DropFftDimensions}},
      {{"real-fft", HalveRealFfts}, kCpu},
      {{"fft-expander", ExpandFfts}, kGpu},
      {simplification("simplification")},
      {flatten},
      {control_flow},
      {{"scalar-flattening", FlattenScalarComputations}},
      {{"reduce-window-to-scan", MakeWindowsScans}, kCpu},
      {{"scan-expander", ExpandScans}},
      {{"sort-to-top-k", SelectInsteadOfSorting}},
      {{"sort-keys", MakeSortKeys}},
      {{"dot-merger", MergeDots}, kCpu},
      {{"dot-canonicalization", CanonicalizeDots}},
      {simplification("dot-simplification")},
      {{"transpose-folding", FoldTransposes}},
      {{"opt-barrier-remover", RemoveOptBarriers}},
      {{"part-flattening", FlattenParts}},
      {simplification("final-simplification")},
      {{"while-loop-trip-count-annotator", AnnotateTripCounts}},
      {flatten},
      // A thread of a GPU has no whole rows, and a group of them no several results.
      {{"vector-products", ExpandVectorProducts}, kCpu},
      {{"thin-products", ExpandThinProducts}, kCpu},
      {{"short-reductions", ExpandShortReductions}, kCpu},
      {{"scatter-splitter", SplitScatters}, kCpu},
      {{"reduction-splitter", SplitReductions}, kCpu},
      {{"attention-fusion", FuseAttention}, kCpu},
      {{"row-fusion", FuseRows}},
      {{"fusion", [](Module* module) { return FuseInstructions(module, Tuning().fusion); }}, kCpu},
      {{"fusion", [](Module* module) { return FuseInstructions(module, analysis::kGpuFusionCosts); }}, kGpu},
      {{"broadcast-sinking", SinkBroadcasts}},
      {{"multi-output-fusion", MergeKernels}, kCpu},
      {{"attention-sources", FuseAttentionSources}, kCpu},
      {{"row-chain-fusion", FuseRowChains}, kCpu},
      {{"waiting-results", HoldResultsBack}, kCpu},
      {{"schedule", ScheduleModule}},
      {{"reader-recomputation", RecomputeInReaders}, kCpu},
  };
}

PassList PassesFor(Targets target, bool fast_math) {
  PassList list;
  for (Step& step : Steps(fast_math)) {
    if ((step.targets & target) != 0) list.push_back(std::move(step.pass));
  }
  return list;
}

// Adds `pass`, or what a group repeats, unless a pass of that name is there.
void AddTo(PassList* list, const Pass& pass) {
  for (const Pass& inner : pass.group) AddTo(list, inner);
  const auto has_name = [&](const Pass& other) { return other.name == pass.name; };
  if (pass.group.empty() && !absl::c_any_of(*list, has_name)) list->push_back(pass);
}

// Each once. Never destroyed.
const PassList& AllPasses() {
  static const auto* const all = [] {
    auto* list = new PassList();
    for (const bool fast_math : {false, true}) {
      for (const Step& step : Steps(fast_math)) AddTo(list, step.pass);
    }
    AddTo(list, RematerializationUnder(0));
    return list;
  }();
  return *all;
}

}  // namespace

PassList CpuPipeline(bool fast_math) { return PassesFor(kCpu, fast_math); }

PassList GpuPipeline(bool fast_math) { return PassesFor(kGpu, fast_math); }

Pass RematerializationUnder(int64_t limit_bytes) {
  return {"rematerialization", [limit_bytes](Module* module) { return Rematerialize(module, limit_bytes); }};
}

const Pass* FindPass(absl::string_view name) {
  const auto found = absl::c_find_if(AllPasses(), [&](const Pass& pass) { return pass.name == name; });
  return found == AllPasses().end() ? nullptr : &*found;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : AllPasses()) names.emplace_back(pass.name);
  return names;
}

}  // namespace kiln::passes
