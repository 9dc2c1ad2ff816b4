// Programs of all kinds that the table of measured numbers has a say in, under each of its rows, against the evaluator.
// KILN_FLAGS=--xla_cpu_max_isa=AVX2 or SSE4_2 tries both with the instructions of lesser processors.
#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/cpu_tuning.h"
#include "src/base/isa_level.h"
#include "src/cpu/gemm_kernels.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/vector_clones.h"
#include "src/cpu/vector_sort.h"
#include "src/hlo/evaluator.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/hlo_test_util.h"

namespace kiln::testing {
namespace {

struct NamedProgram {
  const char* name;
  const char* text;
};

constexpr char kBodies[] = R"(HloModule tuning
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
prefix { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b) ROOT r = (f32[], f32[]) tuple(s, s) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
first { a = s16[] parameter(0) b = s16[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY main {
)";

constexpr NamedProgram kPrograms[] = {
    {"product", R"(x = f32[70,130] parameter(0) y = f32[130,90] parameter(1) c = f32[90] parameter(2)
       cb = f32[70,90] broadcast(c), dimensions={1} z = f32[] constant(0) zb = f32[70,90] broadcast(z), dimensions={}
       p = f32[70,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} s = f32[70,90] add(p, cb)
       ROOT r = f32[70,90] maximum(s, zb))"},
    {"product_of_doubles", R"(x = f64[70,130] parameter(0) y = f64[90,130] parameter(1)
       ROOT p = f64[70,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
    {"product_of_bytes", R"(x = s8[70,132] parameter(0) y = s8[132,90] parameter(1)
       ROOT p = s32[70,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"product_of_bf16", R"(x = bf16[70,132] parameter(0) y = bf16[132,90] parameter(1)
       ROOT p = f32[70,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"few_rows", R"(x = f32[3,300] parameter(0) y = f32[200,300] parameter(1)
       ROOT p = f32[3,200] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
    {"convolution", R"(x = f32[2,14,14,16] parameter(0) y = f32[3,3,16,24] parameter(1)
       ROOT r = f32[2,14,14,24] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f)"},
    {"depthwise", R"(x = f32[1,20,20,40] parameter(0) y = f32[3,3,1,40] parameter(1)
       ROOT r = f32[1,20,20,40] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f,
       feature_group_count=40)"},
    {"transforms", R"(x = c64[20,360] parameter(0) y = f32[3,37] parameter(1)
       f = c64[20,360] fft(x), fft_type=FFT, fft_length={360} g = c64[3,19] fft(y), fft_type=RFFT, fft_length={37}
       ROOT r = (c64[20,360], c64[3,19]) tuple(f, g))"},
    {"long_transform", R"(x = c64[16384] parameter(0)
       ROOT f = c64[16384] fft(x), fft_type=IFFT, fft_length={16384})"},
    // Of whole numbers: the evaluator adds one after the other.
    {"running_sum", R"(x = f32[40000] parameter(0) z = f32[] constant(0) k = f32[] constant(8)
       kb = f32[40000] broadcast(k), dimensions={} m = f32[40000] multiply(x, kb) y = f32[40000] floor(m)
       s = (f32[40000], f32[]) scan(y, z), dimensions={0}, num_carries=1, is_associative=true, to_apply=prefix
       ROOT r = f32[40000] get-tuple-element(s), index=0)"},
    {"column_sums", R"(x = f32[90,70] parameter(0) z = f32[] constant(0)
       ROOT r = f32[90,70] reduce-window(x, z), window={size=90x1 pad=89_0x0_0}, to_apply=add)"},
    {"long_sort", R"(x = f32[70000] parameter(0) ROOT r = f32[70000] sort(x), dimensions={0}, to_apply=less)"},
    {"short_sorts", R"(x = f32[200,50] parameter(0) y = s16[30,200] parameter(1) v = f32[30,200] parameter(2)
       a = f32[200,50] sort(x), dimensions={1}, to_apply=less b = f32[200,50] sort(x), dimensions={0}, to_apply=less
       c = (s16[30,200], f32[30,200]) sort(y, v), dimensions={1}, is_stable=true, to_apply=first
       ROOT r = (f32[200,50], f32[200,50], (s16[30,200], f32[30,200])) tuple(a, b, c))"},
    {"selection", R"(x = f32[8,3000] parameter(0) ROOT r = (f32[8,20], s32[8,20]) topk(x), k=20, largest=true)"},
    {"softmax", R"(x = f32[50,1003] parameter(0) z = f32[] constant(0) i = f32[] constant(-inf)
       m = f32[50] reduce(x, i), dimensions={1}, to_apply=max
       b = f32[50,1003] broadcast(m), dimensions={0} d = f32[50,1003] subtract(x, b) e = f32[50,1003] exponential(d)
       s = f32[50] reduce(e, z), dimensions={1}, to_apply=add t = f32[50,1003] broadcast(s), dimensions={0}
       ROOT r = f32[50,1003] divide(e, t))"},
    {"long_sums", R"(x = f32[200,999] parameter(0) z = f32[] constant(0)
       a = f32[] reduce(x, z), dimensions={0,1}, to_apply=add b = f32[999] reduce(x, z), dimensions={0}, to_apply=add
       ROOT r = (f32[], f32[999]) tuple(a, b))"},
    {"transpose", R"(x = f32[130,70] parameter(0) y = f32[70,130] parameter(1)
       t = f32[70,130] transpose(x), dimensions={1,0} ROOT r = f32[70,130] add(t, y))"},
    {"stack_of_small_matrices", R"(x = f32[40,6,6] parameter(0) n = f32[] constant(10)
       nb = f32[40,6,6] broadcast(n), dimensions={} i = s32[40,6,6] iota(), iota_dimension=1
       j = s32[40,6,6] iota(), iota_dimension=2 e = pred[40,6,6] compare(i, j), direction=EQ
       l = f32[40,6,6] select(e, nb, x) y = f32[40,6,3] parameter(1)
       ROOT r = f32[40,6,3] triangular-solve(l, y), left_side=true, lower=true, transpose_a=NO_TRANSPOSE)"},
    {"larger_matrix", R"(x = f32[70,70] parameter(0) n = f32[] constant(70) nb = f32[70,70] broadcast(n), dimensions={}
       i = s32[70,70] iota(), iota_dimension=0 j = s32[70,70] iota(), iota_dimension=1
       e = pred[70,70] compare(i, j), direction=EQ l = f32[70,70] select(e, nb, x) y = f32[70,80] parameter(1)
       ROOT r = f32[70,80] triangular-solve(l, y), left_side=true, lower=true, transpose_a=NO_TRANSPOSE)"},
};

template <typename Number>
double RelativeError(const hlo::Literal& actual, const hlo::Literal& expected) {
  double error = 0, size = 0;
  const auto a = actual.data<Number>(), b = expected.data<Number>();
  for (size_t i = 0; i < b.size(); ++i) {
    error += static_cast<double>(std::norm(a[i] - b[i]));
    size += static_cast<double>(std::norm(b[i]));
  }
  return std::sqrt(error / std::max(size, 1e-30));
}

class TuningTest : public ::testing::TestWithParam<NamedProgram> {};

TEST_P(TuningTest, EveryRowGivesTheSame) {
  const std::string text = std::string(kBodies) + GetParam().text + "\n}\n";
  const std::unique_ptr<hlo::Module> reference = ParseOrDie(text);
  const std::vector<hlo::Literal> arguments = tools::RandomArguments(*reference->entry(), 11);
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*reference->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  const auto leaves = tools::Leaves(*expected);
  for (const CpuTuning& row : CpuTunings()) {
    SCOPED_TRACE(row.name);
    ASSERT_TRUE(UseCpuTuning(row.name));
    const auto program = CompiledProgram::Compile(ParseOrDie(text), {});
    ASSERT_EQ(program.status(), absl::OkStatus());
    Random random(5);
    const auto actual = (*program)->Run(arguments, /*donate=*/false, /*threads=*/2, &random);
    ASSERT_EQ(actual.status(), absl::OkStatus());
    for (size_t i = 0; i < leaves.size(); ++i) {
      switch (leaves[i]->shape().element_type()) {
        case hlo::PrimitiveType::kF32:
          EXPECT_LE(RelativeError<float>((*actual)[i], *leaves[i]), 1e-6) << "result " << i;
          break;
        case hlo::PrimitiveType::kF64:
          EXPECT_LE(RelativeError<double>((*actual)[i], *leaves[i]), 1e-15) << "result " << i;
          break;
        case hlo::PrimitiveType::kC64:
          EXPECT_LE(RelativeError<std::complex<float>>((*actual)[i], *leaves[i]), 3e-7) << "result " << i;
          break;
        default:
          EXPECT_EQ(Difference((*actual)[i], *leaves[i], {}), "") << "result " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TuningTest, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Tuning, RowsHaveNames) {
  EXPECT_FALSE(UseCpuTuning("none"));
  for (const CpuTuning& row : CpuTunings()) {
    ASSERT_TRUE(UseCpuTuning(row.name));
    EXPECT_EQ(&Tuning(), &row);
  }
}

TEST(Tuning, LimitHoldsForCodeCompiledWithKiln) {
  const cpu::HostIsa& host = cpu::Host();
  EXPECT_EQ(cpu::CompiledVectorBytes(), host.compiled_vector_bytes);
  const cpu::GemmKernels* kernels = cpu::FindGemmKernels(cpu::GemmKernelKind::kF32);
  if (kernels != nullptr) EXPECT_EQ(kernels->lanes * 4, host.compiled_vector_bytes);
  if (IsFeatureAllowed("avx512f")) return;
  const int most = IsFeatureAllowed("avx2") ? 32 : 16;
  EXPECT_LE(host.vector_bytes, most);
  EXPECT_LE(host.compiled_vector_bytes, most);
  for (const char* feature : {"+avx512", "+avxvnni", "+amx", "+avx10", "+evex512"}) {
    EXPECT_EQ(host.features.find(feature), std::string::npos) << feature;
  }
  EXPECT_EQ(cpu::SortsInVectors(), host.compiled_vector_bytes == 32);
  EXPECT_EQ(cpu::FindGemmKernels(cpu::GemmKernelKind::kBrain), nullptr);
  // Bytes are multiplied as words with AVX2.
  const cpu::GemmKernels* bytes = cpu::FindGemmKernels(cpu::GemmKernelKind::kSignedBytes);
  EXPECT_EQ(bytes != nullptr, host.compiled_vector_bytes == 32);
  if (bytes != nullptr) EXPECT_EQ(bytes->lanes * 4, host.compiled_vector_bytes);
}

}  // namespace
}  // namespace kiln::testing
