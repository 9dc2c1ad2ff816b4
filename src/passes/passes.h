// Every pass, in the order of the pipeline. The name before the colon is its flag, its golden test is
// tests/golden/passes/NAME.hlo, and its source NAME.cc. Each rewrites `module` and says whether anything changed; on
// error the module is unusable.
#ifndef KILN_PASSES_PASSES_H_
#define KILN_PASSES_PASSES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "src/analysis/fusion_costs.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// side-effect-order: what acts on the world does so in the order of the program. Chains the instructions with side
// effects of each computation by control edges, in the order in which they stand. First of all passes: later ones keep
// edges, not orders.
absl::StatusOr<bool> OrderSideEffects(Module* module);

// call-inliner: replaces every call by the body of its computation, nested calls and composites included. Bodies are
// inlined bottom up, so each is copied once per call. Calls nested so that copies would grow past a fixed budget stay
// calls.
absl::StatusOr<bool> InlineCalls(Module* module);

// custom-call-flattening: gives typed custom calls the elements of their tuple operands as operands of their own, which
// is how handlers see them anyway, so that what is said of operands (layouts, shared memory) is said of arrays.
absl::StatusOr<bool> FlattenCustomCalls(Module* module);

// dynamic-padder: arrays of bounded dynamic size become arrays of their bound beside s32 sizes, and ops that would see
// what lies past a size get the element that changes nothing there. Every op acts as if its arrays had their dynamic
// sizes (dynamic_rules.h has the ops). PadToStatic and SliceToDynamic become the array and its sizes. Loops,
// conditionals and calls carry the sizes of what they pass. Parameters of the entry are as large as their bounds; its
// results are zero past their sizes. Afterwards no shape is dynamic.
absl::StatusOr<bool> PadDynamicDimensions(Module* module);

// float-normalization: what the program converts from bf16 to f32 is not rounded to bf16 before. Arithmetic, dot and
// convolution of bf16 whose results the program converts to f32 give those f32 results themselves; every other use
// reads the rounded value. This is all the excess precision that XLA:CPU keeps, whatever it fuses: its numbers are met
// bit for bit by rounding everywhere else, and results do not depend on fusion. Values that the program itself rounds
// (convert to bf16, reduce-precision) stay rounded, and so do f16 and 8-bit floats. Functions that XLA's front-end
// writes out in f32 (erfc and the like) count as such converts. Runs before simplification, on the program's own
// converts.
absl::StatusOr<bool> NormalizeFloats(Module* module);

// layout-normalization: every array inside is row-major; other layouts remain at the borders only. Borders are the
// parameters and the result of the entry, which take the layouts the module's header asks for, and custom calls with
// layout constraints. Behind a border value f32[2,3]{0,1} stands bitcast f32[3,2]{1,0}, the same buffer, and a
// transpose of that to f32[2,3]{1,0}; before one, the same two in reverse. Those bitcasts are the only instructions
// left with a layout that is not row-major on one side.
absl::StatusOr<bool> NormalizeLayouts(Module* module);

// dce: removes what no result needs: instructions, tuple elements carried through loops, computations.
absl::StatusOr<bool> RemoveDeadCode(Module* module);

// associative-scan: recognizes scans written as trees (jax.lax.associative_scan): at every level neighbours are
// combined, half as many are scanned, and the results are combined with what lies between and interleaved with it.
// Where the combiner is proved associative the whole becomes one scan, which goes over the elements once. Runs before
// simplification, which takes the ends of the tree apart.
absl::StatusOr<bool> RecognizeAssociativeScans(Module* module);

// bitcast-expander: a bitcast to another element type inside a fusion as reshapes, bitcast-converts and parts of
// complex numbers. Where instructions run one by one a bitcast is a view of its operand's memory and stays. Types
// narrower than a byte and pred stay as well.
absl::StatusOr<bool> ExpandBitcasts(Module* module);

// batch-norm-expander: batch-norm-training, -inference and -grad as reductions and arithmetic. Types narrower than f32
// are computed in f32 and rounded once. The variance is the mean of squared distances from the mean, not a difference
// of means of squares, which cancels.
absl::StatusOr<bool> ExpandBatchNorms(Module* module);

// rng-expander: rng as Philox over the counter that rng-get-and-update-state hands out. Draws one counter per element,
// with key 0, and computes in f64: uniform numbers in [a, b) (integers too), or normal ones with mean a and deviation b
// by Box and Muller. Every run draws new numbers, as the state lives with the program.
absl::StatusOr<bool> ExpandRng(Module* module);

// rng-bit-generator-expander: rng-bit-generator as integer arithmetic over iotas. The numbers and the new state are bit
// for bit those of XLA on CPU; the default algorithm is Philox. The state holds a key and a counter: u64[2] or (Philox
// only) u64[3], or the same words as u32, the lower half of each first.
absl::StatusOr<bool> ExpandRngBitGenerators(Module* module);

// select-and-scatter-expander: select-and-scatter as a reduce-window that finds the places, and what puts values there.
// The place of each window comes from a reduce-window over (value, linear index). Small windows then become one
// elementwise chain in which every element asks, in the order of the source, each window that could have chosen it;
// large ones a scatter.
absl::StatusOr<bool> ExpandSelectAndScatters(Module* module);

// cholesky-expander: cholesky as loops over columns, in blocks. Left-looking: a block of columns loses its product with
// the columns before it, by one matrix product, and is then factorized column by column. The other triangle of the
// result is 0; a matrix that is not positive definite gives NaN throughout its triangle. Types narrower than f32 are
// computed in f32. `keeps_real`: leaves what the CPU target has a library for.
absl::StatusOr<bool> ExpandCholesky(Module* module, bool keeps_real = false);

// triangular-solve-expander: triangular-solve as loops over rows, in blocks. Substitution: a block of rows loses its
// product with the rows that are solved, by one matrix product, and is then solved row by row. The other triangle is
// never looked at. Types narrower than f32 are computed in f32. `keeps_real`: leaves what the CPU target has a library
// for.
absl::StatusOr<bool> ExpandTriangularSolves(Module* module, bool keeps_real = false);

// qr-expander: the custom calls Qr and ProductOfElementaryHouseholderReflectors as loops over columns, in blocks. Qr
// takes matrices [..., m, n] and gives what LAPACK's geqrf does: R in the upper triangle, the reflectors H = I - tau v
// v^H below it (v starts with a 1 that is not stored), and the vectors of tau, [..., min(m, n)]. The other one takes
// both back and gives the first n columns of the product of the reflectors, as orgqr. Blocks of reflectors are applied
// as I - V T V^H, by matrix products.
absl::StatusOr<bool> ExpandQr(Module* module);

// eigh-expander: the custom call Eigh as sweeps of Jacobi rotations. Eigenvectors (columns, [..., n, n]) and real
// eigenvalues ([..., n]) of symmetric or Hermitian matrices, of which one triangle counts. The backend config is
// "lower,sort,sweeps,tolerance"; sweeps end when what is off the diagonal is lost in rounding, and their number bounds
// them. n / 2 rotations at a time do not touch each other: the pairs are those of a round-robin tournament.
absl::StatusOr<bool> ExpandEigh(Module* module);

// approx-top-k-expander: the custom call ApproxTopK as a sort, which is exact. Operands are n arrays and n initial
// values, of which the latter would only fill up incomplete groups; the comparator is that of a sort. However many
// results are asked for, they are the first ones.
absl::StatusOr<bool> ExpandApproxTopK(Module* module);

// custom-call-expander: the custom calls TopK, and those that only say where values lie, as ops. Sharding and its kin
// are the identity on one device; they vanish. TopK gives values and positions along the last dimension; a comparator,
// if it has one, must be "greater".
absl::StatusOr<bool> ExpandCustomCalls(Module* module);

// single-device-collectives: communication among one participant. A program of one replica and one partition is device
// 0. Where groups have no other member, a collective gives back what it got, and a permutation that sends nothing to
// device 0 gives zeros; copies between memories and asynchronous calls become what they copy and call. Whatever names
// another device is left.
absl::StatusOr<bool> ExpandCollectives(Module* module);

// ragged-dot-expander: writes ragged-dot and scaled-dot as dots.
// A ragged dot goes over its groups in blocks of rows (of the ragged dimension), so that its work is that of a dot of
// the operands as they are, plus what the last block of each group has too many: no group is multiplied by another's
// rows.
absl::StatusOr<bool> ExpandRaggedDots(Module* module);

// real-fft: transforms of real numbers that were made complex as transforms to half a spectrum, of which the other half
// is the mirror image. FFT(convert(x)) of even length, in any number of dimensions: half the work, and what reads the
// result reads half as much.
absl::StatusOr<bool> HalveRealFfts(Module* module);

// fft-expander: fft as matrix products and twiddle factors, for targets without code for transforms. A length is split
// into factors of up to 64, each of them one product with a small table of roots of unity (Cooley and Tukey); a length
// without such factors becomes a convolution of a power of two (Bluestein). Several dimensions go one after the other;
// real transforms are complex ones of which half is kept or made up.
absl::StatusOr<bool> ExpandFfts(Module* module);

// operand-sinking: arithmetic on moved arrays becomes arithmetic on the arrays, and one move of the result. An
// elementwise op whose array operands are all the same broadcast is computed before it, on fewer elements. Of several
// operands that are the same reshape, transpose or reverse only the result is. Splats among the operands are made anew.
// Elementwise ops behind the reshape of a matrix product, of which dot-canonicalization leaves many, come before it, so
// that they can run in the product's kernel; not where rows of theirs are reduced, which is row fusion's.
absl::StatusOr<bool> SinkMoves(Module* module);

// constant-folding: instructions over constants become constants, computed by the evaluator. Small results only, and a
// bounded amount of work per instruction and in all. Splats and iotas stay what they are: code makes them for less than
// memory does. Arrays without elements become empty constants whatever they come from.
absl::StatusOr<bool> FoldConstants(Module* module);

// cse: common subexpressions of a computation become one instruction. Works per computation, bodies included. Called
// computations are compared by structure, operands of commutative ops in any order. Random state, communication,
// tokens, barriers and anything with a side effect are left alone. Copies of scalar computations (of reduce, sort, ...)
// are replaced by one of them.
absl::StatusOr<bool> MergeEqualInstructions(Module* module);

// flatten-call-graph: gives every while, conditional and call computations of its own, so that each value in them has
// one place in memory. Computations called as control flow from several places are copied for all but the first. Fails
// with RESOURCE_EXHAUSTED when the copies would grow past a fixed budget. Scalar computations and fusions stay shared.
absl::StatusOr<bool> FlattenCallGraph(Module* module);

// while-loop-constant-sinking: state that starts from a constant, or from broadcasts and iotas of constants, and that
// the body hands on unchanged becomes such an instruction inside body and condition, where it folds and takes no
// memory.
absl::StatusOr<bool> SinkLoopConstants(Module* module);

// while-loop-simplifier: loop state: elements that are always equal become one, elements that the body hands on
// unchanged are read before the loop, and elements that nobody reads go, with what computes them.
absl::StatusOr<bool> SimplifyLoops(Module* module);

// while-loop-unroller: loops that never run become their start and loops that run once their body. Loops of few rounds
// over a small body are written out: rounds then fold and fuse with each other.
absl::StatusOr<bool> UnrollLoops(Module* module);

// conditional-simplifier: conditionals with a known predicate or equal branches become the branch, and those of small
// branches selects. Results that are equal in every branch, or that no branch changes, become one or go; so do unread
// operands and results.
absl::StatusOr<bool> SimplifyConditionals(Module* module);

// conditional-code-motion: what all branches of a conditional compute alike is computed before it. What is computed
// before it for one branch alone is computed in that branch.
absl::StatusOr<bool> MoveConditionalCode(Module* module);

// while-loop-invariant-code-motion: what body or condition compute from unchanged state alone is computed once before
// the loop and carried. Neither constants, broadcasts, iotas and other views by themselves, nor what would take more
// memory than its sources.
absl::StatusOr<bool> HoistLoopInvariants(Module* module);

// scalar-flattening: brings the scalar computations of reduce, map, sort, scatter, ... into the form that kernels take
// in: elementwise ops over scalars, constants, a tuple at the root, and loops over tuples of scalars.
// Calls are inlined, branches are computed all and chosen from (a loop in a branch that is not taken runs no round),
// and small arrays become their elements: ops that move them rename elements, reductions and dots become chains of
// their combiner, slices at run-time positions become selections.
absl::StatusOr<bool> FlattenScalarComputations(Module* module);

// reduce-window-to-scan: rewrites a reduce-window whose windows are all prefixes, or all suffixes, of one dimension
// (cumsum, cummax and their kin) into a scan, which takes time linear in the dimension instead of quadratic.
absl::StatusOr<bool> MakeWindowsScans(Module* module);

// scan-expander: rewrites scans whose body is more than a formula of elements into loops over slices.
absl::StatusOr<bool> ExpandScans(Module* module);

// sort-keys: rewrites sorts by simple orders into the form that radix sorts take (sort_keys.h): along the last
// dimension, if more than one array is sorted, by the first operand, in an order whose unsigned integer keys are made of its bits as they are read.
// A comparator such as JAX's makes of each element a value, then compares two of them; several keys are compared one
// after the other. Where no order of bits is the same, those values become an array of unsigned integers, computed once
// per element instead of once per comparison, and the comparator becomes `a < b` on that array. Results that nothing
// reads go.
absl::StatusOr<bool> MakeSortKeys(Module* module);

// dot-canonicalization: every dot as a batch of matrix products. Afterwards each operand of a dot has at most one
// batch, one contracting and one free dimension, in any order and none of size 1, and something is contracted.
// Dimensions of one role are merged by a reshape where they lie side by side in the right order, after a transpose
// where they do not. A dot that contracts nothing becomes a multiplication of broadcasts,
// one of two long vectors the sum of a multiplication.
absl::StatusOr<bool> CanonicalizeDots(Module* module);

// transpose-folding: transposes around dots and convolutions become the order of their dimensions. Looks at dots in the
// form that dot-canonicalization gives them. A transpose of an operand is read through by strides, unless that would
// make the batch dimension the fastest in memory. A transpose of the result that swaps its two matrix dimensions swaps
// the operands. Convolutions have names for their dimensions and take in any transpose.
absl::StatusOr<bool> FoldTransposes(Module* module);

// opt-barrier-remover: drops optimization barriers, once no pass runs any more that they hold back.
absl::StatusOr<bool> RemoveOptBarriers(Module* module);

// while-loop-trip-count-annotator: writes how often a loop runs, where that is known, into its backend_config as XLA
// does: {"known_trip_count":{"n":"10"}}.
absl::StatusOr<bool> AnnotateTripCounts(Module* module);

// reduction-splitter: large reductions to few results are done in parts, which threads share. reduce(f32[16777216] x)
// becomes reduce(reduce(f32[32,524288] reshape(x), dimensions={1}), dimensions={0}). The parts follow from the shape
// alone: results do not depend on the number of threads. A dimension is divided into equal parts; where none has a
// divisor of use the reduction stays whole.
absl::StatusOr<bool> SplitReductions(Module* module);

// row-fusion: forms one fusion of work that reduces rows and goes on over the same rows (softmax, layer norm,
// logsumexp, cross entropy, and their gradients), so that a row is read once and stays in cache between the stages. The
// stages are elementwise ops over arrays, reduces of some of their dimensions, elementwise ops over what those leave
// (the rows), picks of one element per row, and broadcasts back. Values of rows that others need are results as well (a
// tuple then); full arrays too when they are dear, while cheap ones are computed again outside.
absl::StatusOr<bool> FuseRows(Module* module);

// fusion: instructions that fit one kernel become one fusion instruction.
// Works on the entry and on the computations of loops, conditionals and calls. Kinds:
//   kLoop    each element of the root from elements of the parameters; also in-place updates: when the root is a
//            dynamic-update-slice, its first operand is a parameter, and any other read of that parameter inside is of
//            exactly the elements overwritten, each before its write
//   kInput   one reduce (its init values scalar constants or parameters), producers inside, elementwise ops of the
//            result's dimensions behind
//   kOutput  one dot or convolution over parameters, elementwise ops of the result's dimensions behind (one result
//            here; multi-output-fusion adds others)
// See fusion_plan.h for the choice. A producer goes into all its users or none, unless it is made from nothing.
// Reshapes at the border of a fusion stay outside as its parameters: between row-major arrays they are another view of
// one buffer.
absl::StatusOr<bool> FuseInstructions(Module* module, const analysis::FusionCosts& costs = analysis::kCpuFusionCosts);

// broadcast-sinking: computes large arrays that are made from little in the fusions that read them. Runs behind fusion.
// A broadcast, or a loop fusion of cheap ops whose operands together are a small part of its result (masks, positions,
// statistics of rows), that only fusions of elements read goes into each of them: its memory, which may be held from
// the first layer to the last, and the traffic are saved.
absl::StatusOr<bool> SinkBroadcasts(Module* module);

// multi-output-fusion: kernels that go through the same iterations become one with several results.
// Works on what the fusion pass leaves: loop fusions and elementwise instructions of equal dimensions, reductions of
// equal operands, dimensions and results, and matrix products. Merges
//   siblings    that read the same array, when reading it once saves more than analysis::FusionCosts asks for
//   a producer  that others read too into consumers that read it element by element
//   a product   with what reads its result element by element: a value kept for the backward pass beside its
//               activation, the three results of an optimizer's step behind the gradient of a weight
// The result is a fusion with a tuple, unless one value alone is read outside, of kind kLoop, kInput or kOutput, and a
// get-tuple-element per result.
absl::StatusOr<bool> MergeKernels(Module* module);

// schedule: puts the instructions of every computation in the order in which they run. Of four orders takes the one
// with the smallest peak in a simulation: depth first from the root, in the order of operands and with the most
// demanding ones first; greedy by the memory that each step frees; and the order as it was. Readers of an array that is
// updated in place run before the update where dependencies allow it, and readers of a loop's state before the next
// value of that state is made.
absl::StatusOr<bool> ScheduleModule(Module* module);

// rematerialization: computes values again where they are needed instead of keeping them, under a memory limit. Of a
// scheduled module, keeping its order. As long as temporaries take more than the limit at some step, the value that is
// live there, is read only later, and is the cheapest to compute again per byte, is copied before that later use. Cheap
// are elementwise ops, broadcasts and the like, and loop fusions of them, whose operands are still there (or are
// small). Values never move into or out of loops. Stops at `limit_bytes` of temporaries; with 0 it goes on as long as
// that helps.
absl::StatusOr<bool> Rematerialize(Module* module, int64_t limit_bytes = 0);

}  // namespace kiln::passes

#endif  // KILN_PASSES_PASSES_H_
