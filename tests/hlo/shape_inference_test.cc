// Shape inference: what each family accepts, gives and refuses. Instructions are written as text: the reader asks
// InferShape for the shapes that the text leaves out, and for agreement where it gives them.
#include "src/hlo/shape_inference.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/frontend/hlo_text/shape_parser.h"

namespace kiln::hlo {
namespace {

using ::testing::HasSubstr;

// Computations that the cases call.
constexpr absl::string_view kComputations = R"(
add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) r = add(a, b) }
add_s32 { a = s32[] parameter(0) b = s32[] parameter(1) r = add(a, b) }
add_f64 { a = f64[] parameter(0) b = f32[] parameter(1) r = add(a, f64[] convert(b)) }
lt_f32 { a = f32[] parameter(0) b = f32[] parameter(1) r = compare(a, b), direction=LT }
lt2 { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3) r = compare(a, b), direction=LT }
argmax { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3) r = tuple(a, b) }
neg { x = f32[2,3] parameter(0) r = negate(x) }
pair { x = f32[2,3] parameter(0) y = s32[] parameter(1) r = tuple(y, x) }
step { t = (s32[], f32[2,3]) parameter(0) i = get-tuple-element(t), index=0 x = get-tuple-element(t), index=1 r = tuple(add(i, i), x) }
go { t = (s32[], f32[2,3]) parameter(0) i = get-tuple-element(t), index=0 r = compare(i, i), direction=LT }
flat { x = f32[2,3] parameter(0) r = f32[6] reshape(x) }
sums { x = f32[3] parameter(0) c = f32[3] parameter(1) s = f32[3] add(x, c) r = tuple(s, s) }
)";

// Parameters that the cases use, by name.
constexpr absl::string_view kParameters = R"(
f = f32[] parameter(0)
i = s32[] parameter(1)
p = pred[] parameter(2)
x = f32[2,3] parameter(3)
y = f32[3,4] parameter(4)
n = s32[2,3] parameter(5)
m = pred[2,3] parameter(6)
c = c64[2,3] parameter(7)
b = f32[<=2,3] parameter(8)
v = f32[8] parameter(9)
ix = s32[4,1] parameter(10)
im = f32[1,8,8,6] parameter(11)
k3 = f32[3,3,6,4] parameter(12)
kg = f32[3,3,2,6] parameter(13)
sq = f32[5,4,4] parameter(14)
rhs = f32[5,4,2] parameter(15)
t = token[] parameter(16)
tu = (s32[], f32[2,3]) parameter(17)
u = u32[2,3] parameter(18)
w = f32[3] parameter(19)
s8 = s8[2,3] parameter(20)
s8y = s8[3,4] parameter(21)
key = u64[2] parameter(22)
d = f64[] parameter(23)
big = f32[1000000,1000000] parameter(24)
gs = s32[3] parameter(25)
rd = f32[3,3,4] parameter(26)
e = f32[0,3] parameter(27)
)";

absl::StatusOr<Shape> Infer(absl::string_view instruction) {
  const std::string text = absl::StrCat(kComputations, "ENTRY main {", kParameters, "ROOT r = ", instruction, "}");
  auto module = hlo_text::ParseHloText(text, "case");
  if (!module.ok()) return module.status();
  return (*module)->entry()->root()->shape();
}

struct Case {
  absl::string_view instruction;
  absl::string_view expected;  // the shape without layout, or words of the error
};

class InferenceTest : public ::testing::TestWithParam<Case> {};

TEST_P(InferenceTest, GivesTheShapeOrTheError) {
  const Case& c = GetParam();
  absl::StatusOr<Shape> shape = Infer(c.instruction);
  hlo_text::Lexer lexer(c.expected, "expected");
  if (hlo_text::ParseShape(lexer).ok() && lexer.AtEnd()) {
    ASSERT_TRUE(shape.ok()) << c.instruction << ": " << shape.status();
    EXPECT_EQ(shape->ToString(/*print_layout=*/false), c.expected) << c.instruction;
  } else {
    ASSERT_FALSE(shape.ok()) << c.instruction << " gives " << shape->ToString();
    EXPECT_EQ(shape.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(shape.status().message()), HasSubstr(std::string(c.expected))) << c.instruction;
  }
}

constexpr Case kElementwise[] = {
    {"abs(x)", "f32[2,3]"},
    {"abs(c)", "f32[2,3]"},
    {"abs(m)", "expected elements of integers or floats or complex numbers"},
    {"real(c)", "f32[2,3]"},
    {"imag(x)", "f32[2,3]"},
    {"is-finite(x)", "pred[2,3]"},
    {"is-finite(n)", "expected elements of floats"},
    {"popcnt(x)", "expected elements of integers"},
    {"not(m)", "pred[2,3]"},
    {"not(x)", "expected elements of pred or integers"},
    {"exponential(n)", "expected elements of floats or complex numbers"},
    {"tanh(c)", "c64[2,3]"},
    {"negate(t)", "must be an array"},
    {"s32[2,3] convert(x)", "s32[2,3]"},
    {"s32[3,2] convert(x)", "result shape is s32[2,3]"},
    {"convert(x)", "must be given"},
    {"reduce-precision(x), exponent_bits=5, mantissa_bits=10", "f32[2,3]"},
    {"reduce-precision(x), exponent_bits=0, mantissa_bits=10", "exponent_bits is 0 and mantissa_bits 10"},
    {"add(x, x)", "f32[2,3]"},
    {"add(x, b)", "f32[<=2,3]"},
    {"add(b, x)", "f32[<=2,3]"},
    {"add(x, n)", "the same element type"},
    {"add(x, y)", "the same dimensions"},
    {"add(x, f)", "the same dimensions"},
    {"add(x)", "takes 2 operands, got 1"},
    {"subtract(m, m)", "expected elements of integers or floats or complex numbers"},
    {"maximum(c, c)", "c64[2,3]"},
    {"remainder(c, c)", "expected elements of integers or floats"},
    {"shift-left(n, n)", "s32[2,3]"},
    {"shift-left(x, x)", "expected elements of integers"},
    {"atan2(x, x)", "f32[2,3]"},
    {"complex(x, x)", "c64[2,3]"},
    {"complex(d, d)", "c128[]"},
    {"compare(x, x), direction=LT", "pred[2,3]"},
    {"compare(x, x), direction=LT, type=TOTALORDER", "pred[2,3]"},
    {"compare(x, x), direction=LT, type=SIGNED", "comparison type"},
    {"compare(c, c), direction=EQ", "pred[2,3]"},
    {"compare(c, c), direction=LT", "pred[2,3]"},
    {"select(m, x, b)", "f32[<=2,3]"},
    {"select(p, x, x)", "f32[2,3]"},
    {"select(n, x, x)", "must be pred"},
    {"select(m, x, y)", "the same dimensions"},
    {"clamp(f, x, f)", "f32[2,3]"},
    {"clamp(x, x, f)", "f32[2,3]"},
    {"clamp(y, x, f)", "the same dimensions"},
    {"clamp(i, x, f)", "the same element type"},
    {"s8[2,3] stochastic-convert(x, u)", "s8[2,3]"},
    {"s8[2,3] stochastic-convert(x, n)", "unsigned integers"},
    {"fma(x, x, x)", "f32[2,3]"},
};
INSTANTIATE_TEST_SUITE_P(Elementwise, InferenceTest, ::testing::ValuesIn(kElementwise));

constexpr Case kSource[] = {
    {"s32[2,3] iota(), iota_dimension=1", "s32[2,3]"},
    {"s32[2,3] iota(), iota_dimension=2", "names dimension 2"},
    {"s32[] iota(), iota_dimension=0", "no dimension"},
    {"pred[2] iota(), iota_dimension=0", "does not give pred"},
    {"iota(), iota_dimension=0", "must be given"},
    {"partition-id()", "u32[]"},
    {"f32[5] rng(f, f), distribution=rng_uniform", "f32[5]"},
    {"f32[5] rng(i, i), distribution=rng_uniform", "must be scalars of type f32"},
    {"s32[5] rng(i, i), distribution=rng_normal", "floating-point"},
    {"(u64[2], u32[7]) rng-bit-generator(key), algorithm=rng_philox", "(u64[2], u32[7])"},
    {"(u64[3], u32[7]) rng-bit-generator(key), algorithm=rng_philox", "(state, bits)"},
    {"(u64[2], u32[7]) rng-bit-generator(x), algorithm=rng_philox", "unsigned integers"},
    {"u64[1] rng-get-and-update-state(), delta=4", "u64[1]"},
};
INSTANTIATE_TEST_SUITE_P(Source, InferenceTest, ::testing::ValuesIn(kSource));

constexpr Case kMovement[] = {
    {"f32[6] bitcast(x)", "f32[6]"},
    {"f32[7] bitcast(x)", "the sizes differ"},
    {"u32[2,3] bitcast-convert(x)", "u32[2,3]"},
    {"u8[2,3,4] bitcast-convert(x)", "u8[2,3,4]"},
    {"u8[2,3] bitcast-convert(x)", "result shape is u8[2,3,4]"},
    {"f64[2] bitcast-convert(x)", "must be 2"},
    {"c64[2,3] bitcast-convert(x)", "complex and real"},
    {"f32[4,2,3] broadcast(x), dimensions={1,2}", "f32[4,2,3]"},
    {"f32[3,2] broadcast(x), dimensions={1,0}", "f32[3,2]"},
    {"f32[4] broadcast(f), dimensions={}", "f32[4]"},
    {"f32[4,2,3] broadcast(x), dimensions={1}", "1 entries for an operand of rank 2"},
    {"f32[4,2,3] broadcast(x), dimensions={1,1}", "twice"},
    {"f32[4,2,3] broadcast(x), dimensions={1,3}", "names dimension 3"},
    {"f32[4,2,4] broadcast(x), dimensions={1,2}", "of size 3 meets"},
    {"s32[4,2,3] broadcast(x), dimensions={1,2}", "element type changes"},
    {"concatenate(x, x, e), dimensions={0}", "f32[4,3]"},
    {"concatenate(x, b), dimensions={1}", "f32[<=2,6]"},
    {"concatenate(x, y), dimensions={0}", "does not fit"},
    {"concatenate(x, n), dimensions={0}", "does not fit"},
    {"concatenate(x, x), dimensions={2}", "names dimension 2"},
    {"concatenate(), dimensions={0}", "needs an operand"},
    {"copy(x)", "f32[2,3]"},
    {"copy(tu)", "(s32[], f32[2,3])"},
    {"pad(x, f), padding=1_1_1x0_-1", "f32[5,2]"},
    {"pad(x, f), padding=0_-3x0_0", "the size -1"},
    {"pad(x, f), padding=1_1", "1 dimensions, the operand 2"},
    {"pad(x, i), padding=1_1x0_0", "must be a scalar of type f32"},
    {"pad(x, f), padding=0_0_-1x0_0", "must not be negative"},
    {"pad(x, f), padding=9223372036854775807_1x0_0", "overflows"},
    {"pad(x, f), padding=9223372036854775000_0x0_0", "larger than"},
    {"f32[3,2] reshape(x)", "f32[3,2]"},
    {"f32[3,3] reshape(x)", "cannot reshape"},
    {"s32[6] reshape(x)", "cannot reshape"},
    {"reverse(x), dimensions={1}", "f32[2,3]"},
    {"reverse(x), dimensions={1,1}", "twice"},
    {"slice(v), slice={[1:8:3]}", "f32[3]"},
    {"slice(v), slice={[8:8]}", "f32[0]"},
    {"slice(v), slice={[1:9]}", "no slice"},
    {"slice(v), slice={[3:2]}", "no slice"},
    {"slice(v), slice={[0:2:0]}", "no slice"},
    {"slice(x), slice={[0:2]}", "1 dimensions, the operand 2"},
    {"transpose(b), dimensions={1,0}", "f32[3,<=2]"},
    {"transpose(x), dimensions={1,1}", "twice"},
    {"transpose(x), dimensions={1}", "1 entries"},
};
INSTANTIATE_TEST_SUITE_P(Movement, InferenceTest, ::testing::ValuesIn(kMovement));

constexpr Case kIndexed[] = {
    {"dynamic-slice(x, i, i), dynamic_slice_sizes={1,3}", "f32[1,3]"},
    {"dynamic-slice(x, i), dynamic_slice_sizes={1,3}", "takes 2 start indices"},
    {"dynamic-slice(x, f, f), dynamic_slice_sizes={1,3}", "integer scalars"},
    {"dynamic-slice(x, i, i), dynamic_slice_sizes={1,4}", "is not within"},
    {"dynamic-slice(x, i, i), dynamic_slice_sizes={1}", "1 entries"},
    {"dynamic-update-slice(x, e, i, i)", "f32[2,3]"},
    {"dynamic-update-slice(x, y, i, i)", "does not fit"},
    {"dynamic-update-slice(x, n, i, i)", "does not fit"},
    {"gather(x, ix), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}",
     "f32[4,3]"},
    {"gather(x, ix), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,2}",
     "f32[2,4]"},
    {"gather(x, ix), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={2,3}",
     "f32[4,2,3]"},
    {"gather(x, ix), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}",
     "offset_dims names dimension 2"},
    {"gather(x, ix), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,3}",
     "index vectors have 1 entries"},
    {"gather(x, ix), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=3, "
     "slice_sizes={1,3}",
     "index_vector_dim 3 is out of range"},
    {"gather(x, ix), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={2,3}",
     "collapsed but has slice size 2"},
    {"gather(x, ix), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,4}",
     "is not within"},
    {"gather(x, v), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}",
     "indices must be integers"},
    {"scatter(x, ix, f32[4,3] broadcast(w), dimensions={1}), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
     "f32[2,3]"},
    {"scatter(x, ix, x), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=add_f32",
     "does not fit s32[4,1]"},
    {"scatter(x, ix, f32[4,3] broadcast(w), dimensions={1}), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
     "expected f32[]"},
    {"scatter(x, ix), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=add_f32",
     "got 2 operands"},
    {"scatter(x, ix, x), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=-7, to_apply=add_f32",
     "index_vector_dim -7 is out of range"},
    {"get-dimension-size(x), dimensions={1}", "s32[]"},
    {"get-dimension-size(x), dimensions={2}", "names dimension 2"},
    {"set-dimension-size(x, i), dimensions={0}", "f32[<=2,3]"},
    {"set-dimension-size(x, f), dimensions={0}", "must be s32[]"},
    {"f32[<=3,2] dynamic-reshape(x, i, i)", "f32[<=3,2]"},
    {"f32[<=3,2] dynamic-reshape(x, i)", "one size per result dimension"},
};
INSTANTIATE_TEST_SUITE_P(Indexed, InferenceTest, ::testing::ValuesIn(kIndexed));

constexpr Case kContraction[] = {
    {"dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,4]"},
    {"dot(x, y)", "f32[2,3,3,4]"},
    {"dot(sq, rhs), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "f32[5,4,2]"},
    {"s32[2,4] dot(s8, s8y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "s32[2,4]"},
    {"dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "need a declared result type"},
    {"dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "differ in size"},
    {"dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={}", "different numbers of contracting"},
    {"dot(x, y), lhs_contracting_dims={1}, lhs_batch_dims={1}, rhs_contracting_dims={0}", "twice"},
    {"dot(x, y), lhs_contracting_dims={2}, rhs_contracting_dims={0}", "names dimension 2"},
    {"dot(big, big), lhs_contracting_dims={}, rhs_contracting_dims={}", "larger than"},
    {"c64[2,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "do not give c64"},
    {"ragged-dot(x, rd, gs), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
     "rhs_group_dims={0}",
     "f32[2,4]"},
    {"ragged-dot(x, y, gs), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}", "f32[3,2,4]"},
    {"ragged-dot(x, y, gs), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={0}",
     "rhs_group_dims has 0 entries, expected 1"},
    {"convolution(im, k3), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f", "f32[1,8,8,4]"},
    {"convolution(im, k3), window={size=3x3 stride=2x1 pad=1_1x0_2 rhs_dilate=1x2}, dim_labels=b01f_01io->bf01",
     "f32[1,4,4,6]"},
    {"convolution(im, k3), window={size=3x3 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f", "f32[1,13,13,4]"},
    {"convolution(im, kg), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=3", "f32[1,6,6,6]"},
    {"convolution(im, kg), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2", "the kernel takes 2"},
    {"convolution(im, k3), window={size=3x2}, dim_labels=b01f_01io->b01f", "not that of the kernel"},
    {"convolution(im, k3), window={size=3}, dim_labels=b01f_01io->b01f", "window has 1 dimensions"},
    {"convolution(im, k3), window={size=3x3 stride=0x1}, dim_labels=b01f_01io->b01f", "must be positive"},
    {"convolution(im, k3), window={size=3x3 pad=-5_-5x0_0}, dim_labels=b01f_01io->b01f", "removes more"},
    {"convolution(im, k3), window={size=3x3 pad=9223372036854775807_9223372036854775807x0_0}, "
     "dim_labels=b01f_01io->b01f",
     "overflow"},
    {"convolution(im, k3), window={size=3x3}, dim_labels=b0f_0io->b0f", "the labels 1, 1 and 1"},
    {"convolution(im, k3), window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=2", "does not divide"},
};
INSTANTIATE_TEST_SUITE_P(Contraction, InferenceTest, ::testing::ValuesIn(kContraction));

constexpr Case kReduction[] = {
    {"reduce(x, f), dimensions={1}, to_apply=add_f32", "f32[2]"},
    {"reduce(b, f), dimensions={1}, to_apply=add_f32", "f32[<=2]"},
    {"reduce(x, f), dimensions={0,1}, to_apply=add_f32", "f32[]"},
    {"reduce(x, n, f, i), dimensions={0}, to_apply=argmax", "(f32[3], s32[3])"},
    {"reduce(x, d), dimensions={0}, to_apply=add_f64", "f64[3]"},
    {"reduce(x, f), dimensions={2}, to_apply=add_f32", "names dimension 2"},
    {"reduce(x, f), dimensions={1}, to_apply=add_s32", "expected f32[]"},
    {"reduce(x, f), dimensions={1}, to_apply=argmax", "takes 4 parameters, expected 2"},
    {"reduce(x, f), dimensions={1}, to_apply=lt_f32", "gives pred[], expected f32[]"},
    {"reduce(x, x), dimensions={1}, to_apply=add_f32", "must be scalars"},
    {"reduce(x), dimensions={1}, to_apply=add_f32", "got 1 operands"},
    {"reduce-window(x, f), window={size=2x2 stride=1x1}, to_apply=add_f32", "f32[1,2]"},
    {"reduce-window(x, f), window={size=1x3 pad=0_0x2_0}, to_apply=add_f32", "f32[2,3]"},
    {"reduce-window(x, f), window={size=3x1}, to_apply=add_f32", "f32[0,3]"},
    {"reduce-window(x, f), window={size=3}, to_apply=add_f32", "window has 1 dimensions"},
    {"reduce-window(x, f), window={size=0x1}, to_apply=add_f32", "must be positive"},
    {"select-and-scatter(x, slice(x), slice={[0:1], [0:2]}, f), window={size=2x2}, select=lt_f32, scatter=add_f32",
     "f32[2,3]"},
    {"select-and-scatter(x, x, f), window={size=2x2}, select=lt_f32, scatter=add_f32", "must be f32[1,2]"},
    {"select-and-scatter(x, x, f), window={size=1x1}, select=add_f32, scatter=add_f32", "expected pred[]"},
    {"map(x, x), dimensions={0,1}, to_apply=add_f32", "f32[2,3]"},
    {"map(x, x), dimensions={0,1}, to_apply=lt_f32", "pred[2,3]"},
    {"map(x, x), dimensions={0}, to_apply=add_f32", "expected all dimensions of f32[2,3] in order"},
    {"sort(x, n), dimensions={1}, to_apply=lt2", "(f32[2,3], s32[2,3])"},
    {"sort(x), dimensions={1}, to_apply=lt_f32", "f32[2,3]"},
    {"sort(x), dimensions={2}, to_apply=lt_f32", "names dimension 2"},
    {"sort(x, y), dimensions={1}, to_apply=lt2", "the same dimensions"},
    {"sort(x), dimensions={1}, to_apply=add_f32", "expected pred[]"},
    {"topk(x), k=2", "(f32[2,2], s32[2,2])"},
    {"topk(x), k=4", "is not within"},
    {"topk(f), k=1", "with a dimension"},
    {"(f32[2,3], f32[3]) scan(x, w), dimensions={0}, num_carries=1, to_apply=sums", "(f32[2,3], f32[3])"},
    {"(f32[2,3], f32[2]) scan(x, w), dimensions={1}, num_carries=1, to_apply=sums", "has the parameter f32[3]"},
    {"(f32[2,3], f32[3]) scan(x, w), dimensions={2}, num_carries=1, to_apply=sums", "dimensions"},
    {"(f32[3,3], f32[3]) scan(x, w), dimensions={0}, num_carries=1, to_apply=sums", "different sizes"},
    {"(f32[2,3], f32[2]) scan(x, w), dimensions={0}, num_carries=1, to_apply=sums", "has the result f32[3]"},
    {"(f32[2,3], f32[3]) scan(w, w), dimensions={0}, num_carries=2, to_apply=sums", "an input or output besides"},
    {"f32[2,3] scan(x, w), dimensions={0}, num_carries=1, to_apply=sums", "gives 2 results, expected 2 and 1"},
};
INSTANTIATE_TEST_SUITE_P(Reduction, InferenceTest, ::testing::ValuesIn(kReduction));

constexpr Case kComposite[] = {
    {"cholesky(sq), lower=true", "f32[5,4,4]"},
    {"cholesky(x)", "square matrices"},
    {"cholesky(s32[4,4] broadcast(i), dimensions={})", "floating-point or complex"},
    {"triangular-solve(sq, rhs), left_side=true", "f32[5,4,2]"},
    {"triangular-solve(sq, rhs)", "do not fit"},
    {"fft(x), fft_type=RFFT, fft_length={3}", "c64[2,2]"},
    {"fft(c), fft_type=FFT, fft_length={2,3}", "c64[2,3]"},
    {"fft(c), fft_type=IRFFT, fft_length={4}", "f32[2,4]"},
    {"fft(c), fft_type=IRFFT, fft_length={5}", "f32[2,5]"},
    {"fft(c), fft_type=IRFFT, fft_length={3}", "of size 2"},
    {"fft(c), fft_type=IRFFT, fft_length={0}", "of size 1"},
    {"fft(x), fft_type=FFT, fft_length={3}", "complex numbers"},
    {"fft(c), fft_type=FFT, fft_length={4}", "of size 4"},
    {"fft(c), fft_type=FFT, fft_length={}", "1 to 3"},
    {"batch-norm-training(x, w, w), epsilon=0.001, feature_index=1", "(f32[2,3], f32[3], f32[3])"},
    {"batch-norm-inference(x, w, w, w, w), epsilon=0.001, feature_index=1", "f32[2,3]"},
    {"batch-norm-grad(x, w, w, w, x), epsilon=0.001, feature_index=1", "(f32[2,3], f32[3], f32[3])"},
    {"batch-norm-training(x, w, w), epsilon=0.001, feature_index=0", "must be a vector of 2"},
    {"batch-norm-training(x, w, w), epsilon=0.001, feature_index=2", "names dimension 2"},
};
INSTANTIATE_TEST_SUITE_P(Composite, InferenceTest, ::testing::ValuesIn(kComposite));

constexpr Case kControl[] = {
    {"tuple(x, tuple(), i)", "(f32[2,3], (), s32[])"},
    {"get-tuple-element(tu), index=1", "f32[2,3]"},
    {"get-tuple-element(tu), index=2", "out of range"},
    {"get-tuple-element(tu), index=-1", "out of range"},
    {"get-tuple-element(x), index=0", "takes a tuple"},
    {"call(x), to_apply=neg", "f32[2,3]"},
    {"call(y), to_apply=neg", "is f32[2,3], the operand f32[3,4]"},
    {"call(x, i), to_apply=neg", "takes 1 parameters, got 2"},
    {"fusion(x), kind=kLoop, calls=neg", "f32[2,3]"},
    {"while(tu), body=step, condition=go", "(s32[], f32[2,3])"},
    {"while(tu), body=go, condition=go", "gives pred[], it takes"},
    {"while(tu), body=step, condition=step", "expected pred[]"},
    {"while(x), body=step, condition=go", "the operand f32[2,3]"},
    {"conditional(p, x, x), true_computation=neg, false_computation=neg", "f32[2,3]"},
    {"conditional(i, x, x, x), branch_computations={neg, neg, neg}", "f32[2,3]"},
    {"conditional(i, x, x), branch_computations={neg, flat}", "gives f32[6]"},
    {"conditional(i, x), branch_computations={neg, neg}", "got 2 operands"},
    {"conditional(f, x, x), branch_computations={neg, neg}", "pred[] or s32[]"},
    {"conditional(p, x), branch_computations={neg}", "needs 2 branches"},
    {"after-all(t, t)", "token[]"},
    {"after-all(x)", "takes tokens"},
    {"add-dependency(x, t)", "f32[2,3]"},
    {"add-dependency(x, x)", "must be a token"},
    {"opt-barrier(tu)", "(s32[], f32[2,3])"},
    {"f32[7] custom-call(x), custom_call_target=\"t\"", "f32[7]"},
    {"custom-call(x), custom_call_target=\"t\"", "must be given"},
    {"f32[2,3] custom-call(x), custom_call_target=\"t\", output_to_operand_aliasing={{}: (1, {})}", "operand 1 of 1"},
    {"f32[2,3] custom-call(x), custom_call_target=\"t\", output_to_operand_aliasing={{0}: (0, {})}", "no part"},
    {"f32[2,3] custom-call(x), custom_call_target=\"t\", operand_layout_constraints={f32[3,2]{1,0}}",
     "layout constraint 0"},
    {"async-start(x), calls=neg", "((f32[2,3]), f32[2,3], u32[])"},
    {"async-done(async-start(x), calls=neg)", "f32[2,3]"},
    {"async-done(x)", "takes what an async-start gives"},
};
INSTANTIATE_TEST_SUITE_P(Control, InferenceTest, ::testing::ValuesIn(kControl));

constexpr Case kCommunication[] = {
    {"all-reduce(x), replica_groups={}, to_apply=add_f32", "f32[2,3]"},
    {"all-reduce(x, w), replica_groups={}, to_apply=add_f32", "(f32[2,3], f32[3])"},
    {"all-reduce(t), replica_groups={}, to_apply=add_f32", "must be an array"},
    {"all-reduce(x), replica_groups={}, to_apply=neg", "must take two scalars"},
    {"all-gather(x), replica_groups={{0,1}}, dimensions={0}", "f32[4,3]"},
    {"f32[6,3] all-gather(x), replica_groups={}, dimensions={0}", "f32[6,3]"},
    {"f32[5,3] all-gather(x), replica_groups={}, dimensions={0}", "cannot give"},
    {"all-gather(x), replica_groups={}, dimensions={0}", "must be given"},
    {"reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add_f32", "f32[1,3]"},
    {"reduce-scatter(x), replica_groups={{0,1}}, dimensions={1}, to_apply=add_f32", "does not divide"},
    {"all-to-all(x), replica_groups={{0,1}}, dimensions={0}", "f32[2,3]"},
    {"all-to-all(x), replica_groups={{0,1}}, dimensions={1}", "does not divide"},
    {"all-to-all(x, x), replica_groups={{0,1}}", "(f32[2,3], f32[2,3])"},
    {"collective-permute(x), source_target_pairs={{0,1}}", "f32[2,3]"},
    {"collective-permute(x), source_target_pairs={{0,-1}}", "negative device"},
    {"collective-permute-start(x), source_target_pairs={}", "(f32[2,3], f32[2,3], u32[], u32[])"},
    {"collective-broadcast(x), replica_groups={{0,-1}}", "negative device"},
    {"all-reduce-done(x)", "f32[2,3]"},
    {"copy-done(copy-start(x))", "f32[2,3]"},
    {"copy-done(x)", "takes what its start gives"},
    {"send(x, t), channel_id=1", "(f32[2,3], u32[], token[])"},
    {"send(x, x), channel_id=1", "data and a token"},
    {"send-done(send(x, t), channel_id=1), channel_id=1", "token[]"},
    {"recv-done((f32[2], u32[], token[]) recv(t), channel_id=1), channel_id=1", "(f32[2], token[])"},
    {"((f32[2]), token[]) infeed(t)", "((f32[2]), token[])"},
    {"infeed(t)", "must be given"},
    {"outfeed(x, t), outfeed_shape=f32[2,3]", "token[]"},
    {"outfeed(x, t), outfeed_shape=f32[3,2]", "outfeed_shape is"},
};
INSTANTIATE_TEST_SUITE_P(Communication, InferenceTest, ::testing::ValuesIn(kCommunication));

}  // namespace
}  // namespace kiln::hlo
