// Programs run on 1, 2, 8 and 64 threads, whatever CPUs there are: each gives the same bits every time. How sums are cut
// into pieces follows from the shapes alone, so nothing needs a flag for it. Nor does it matter how many CPUs there are
// when a program is compiled: what runs on one thread is compiled where there is one.
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/thread_pool.h"
#include "src/cpu/executable.h"
#include "src/frontend/load.h"
#include "src/hlo/shape.h"

namespace kiln::cpu {
namespace {

struct Program {
  const char* name;
  const char* text;
};

constexpr char kBodies[] = R"(
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
)";

constexpr Program kPrograms[] = {
    {"sum_all", R"(ENTRY main { x = f32[1000,999] parameter(0) z = f32[] constant(0)
       ROOT r = f32[] reduce(x, z), dimensions={0,1}, to_apply=add })"},
    {"sum_rows", R"(ENTRY main { x = f32[300,5001] parameter(0) z = f32[] constant(0)
       ROOT r = f32[300] reduce(x, z), dimensions={1}, to_apply=add })"},
    {"sum_columns", R"(ENTRY main { x = f32[5001,300] parameter(0) z = f32[] constant(0)
       ROOT r = f32[300] reduce(x, z), dimensions={0}, to_apply=add })"},
    {"softmax", R"(ENTRY main { x = f32[500,1003] parameter(0) z = f32[] constant(0) i = f32[] constant(-inf)
       m = f32[500] reduce(x, i), dimensions={1}, to_apply=max
       b = f32[500,1003] broadcast(m), dimensions={0} d = f32[500,1003] subtract(x, b) e = f32[500,1003] exponential(d)
       s = f32[500] reduce(e, z), dimensions={1}, to_apply=add t = f32[500,1003] broadcast(s), dimensions={0}
       ROOT r = f32[500,1003] divide(e, t) })"},
    {"cumsum", R"(ENTRY main { x = f32[300000] parameter(0) z = f32[] constant(0)
       ROOT r = f32[300000] reduce-window(x, z), window={size=300000 pad=299999_0}, to_apply=add })"},
    {"cumsum_columns", R"(ENTRY main { x = f32[3000,70] parameter(0) z = f32[] constant(0)
       ROOT r = f32[3000,70] reduce-window(x, z), window={size=3000x1 pad=2999_0x0_0}, to_apply=add })"},
    {"sort", R"(ENTRY main { x = f32[200000] parameter(0)
       ROOT r = f32[200000] sort(x), dimensions={0}, to_apply=less })"},
    {"sort_columns", R"(ENTRY main { x = f32[900,70] parameter(0)
       ROOT r = f32[900,70] sort(x), dimensions={0}, to_apply=less })"},
    {"pooling", R"(ENTRY main { x = f32[4,130,130,16] parameter(0) z = f32[] constant(0)
       ROOT r = f32[4,64,64,16] reduce-window(x, z), window={size=1x3x3x1 stride=1x2x2x1}, to_apply=add })"},
    {"product", R"(ENTRY main { x = f32[300,700] parameter(0) y = f32[700,500] parameter(1)
       ROOT r = f32[300,500] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"},
    {"long_product", R"(ENTRY main { x = f32[33,50001] parameter(0) y = f32[50001,37] parameter(1)
       ROOT r = f32[33,37] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"},
    {"matrix_times_vector", R"(ENTRY main { x = f32[1500,1501] parameter(0) y = f32[1501] parameter(1)
       ROOT r = f32[1500] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"},
    {"vector_times_matrix", R"(ENTRY main { x = f32[1501] parameter(0) y = f32[1501,1500] parameter(1)
       ROOT r = f32[1500] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} })"},
    {"product_of_bytes", R"(ENTRY main { x = f32[70,700] parameter(0) w = s8[700,500] parameter(1)
       s = f32[500] parameter(2) c = f32[700,500] convert(w) b = f32[700,500] broadcast(s), dimensions={1}
       y = f32[700,500] multiply(c, b) ROOT r = f32[70,500] dot(x, y), lhs_contracting_dims={1},
       rhs_contracting_dims={0} })"},
    {"product_of_masked", R"(ENTRY main { x = f32[300,700] parameter(0) p = f32[300,700] parameter(1)
       y = f32[500,700] parameter(2) l = f32[300,700] multiply(x, p) ROOT r = f32[300,500] dot(l, y),
       lhs_contracting_dims={1}, rhs_contracting_dims={1} })"},
    {"vector_times_bytes", R"(ENTRY main { x = f32[1501] parameter(0) w = s8[1501,1500] parameter(1)
       y = f32[1501,1500] convert(w)
       ROOT r = f32[1500] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} })"},
    {"batched_product", R"(ENTRY main { x = f32[40,64,65] parameter(0) y = f32[40,65,66] parameter(1)
       ROOT r = f32[40,64,66] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
       rhs_contracting_dims={1} })"},
    {"attention", R"(ENTRY main { q = f32[2,333,3,40] parameter(0) k = f32[2,700,3,40] parameter(1)
       v = f32[2,700,3,40] parameter(2) z = f32[] constant(0) i = f32[] constant(-inf)
       p = f32[2,3,333,700] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3},
       rhs_contracting_dims={3} m = f32[2,3,333] reduce(p, i), dimensions={3}, to_apply=max
       b = f32[2,3,333,700] broadcast(m), dimensions={0,1,2} d = f32[2,3,333,700] subtract(p, b)
       e = f32[2,3,333,700] exponential(d) s = f32[2,3,333] reduce(e, z), dimensions={3}, to_apply=add
       t = f32[2,3,333,700] broadcast(s), dimensions={0,1,2} w = f32[2,3,333,700] divide(e, t)
       ROOT r = f32[2,3,333,40] dot(w, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3},
       rhs_contracting_dims={1} })"},
    {"attention_of_normalized_rows", R"(ENTRY main { x = f32[9,333,40] parameter(0) y = f32[9,700,40] parameter(1)
       v = f32[9,700,40] parameter(2) z = f32[] constant(0) i = f32[] constant(-inf)
       xx = f32[9,333,40] multiply(x, x) xs = f32[9,333] reduce(xx, z), dimensions={2}, to_apply=add
       xr = f32[9,333] rsqrt(xs) xb = f32[9,333,40] broadcast(xr), dimensions={0,1} q = f32[9,333,40] multiply(x, xb)
       yy = f32[9,700,40] multiply(y, y) ys = f32[9,700] reduce(yy, z), dimensions={2}, to_apply=add
       yr = f32[9,700] rsqrt(ys) yb = f32[9,700,40] broadcast(yr), dimensions={0,1} k = f32[9,700,40] multiply(y, yb)
       p = f32[9,333,700] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
       rhs_contracting_dims={2} m = f32[9,333] reduce(p, i), dimensions={2}, to_apply=max
       b = f32[9,333,700] broadcast(m), dimensions={0,1} d = f32[9,333,700] subtract(p, b)
       e = f32[9,333,700] exponential(d) s = f32[9,333] reduce(e, z), dimensions={2}, to_apply=add
       t = f32[9,333,700] broadcast(s), dimensions={0,1} w = f32[9,333,700] divide(e, t)
       ROOT r = f32[9,333,40] dot(w, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
       rhs_contracting_dims={1} })"},
    {"convolution", R"(ENTRY main { x = f32[2,40,40,32] parameter(0) y = f32[3,3,32,48] parameter(1)
       ROOT r = f32[2,40,40,48] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })"},
    {"kept_beside_activation", R"(ENTRY main { x = f32[300,700] parameter(0) y = f32[700,500] parameter(1)
       c = f32[500] parameter(2) cb = f32[300,500] broadcast(c), dimensions={1} z = f32[] constant(0)
       p = f32[300,500] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} s = f32[300,500] add(p, cb)
       t = f32[300,500] tanh(s) w = f32[500,500] parameter(3) g = f32[500] reduce(t, z), dimensions={0}, to_apply=add
       q = f32[300,500] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
       ROOT r = (f32[300,500], f32[300,500], f32[300,500], f32[500]) tuple(s, t, q, g) })"},
    {"depthwise", R"(ENTRY main { x = f32[2,60,60,64] parameter(0) y = f32[3,3,1,64] parameter(1)
       ROOT r = f32[2,60,60,64] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f,
       feature_group_count=64 })"},
    {"scatter", R"(ENTRY main { x = f32[5000,8] parameter(0) u = f32[40000,8] parameter(1) f = f32[40000,1] parameter(2)
       k = f32[] constant(1000) kb = f32[40000,1] broadcast(k), dimensions={} g = f32[40000,1] multiply(f, kb)
       i = s32[40000,1] convert(g)
       ROOT r = f32[5000,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
       scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add })"},
    {"transform", R"(ENTRY main { x = f32[32768] parameter(0) c = c64[32768] complex(x, x)
       t = c64[32768] fft(c), fft_type=FFT, fft_length={32768} r = f32[32768] real(t) i = f32[32768] imag(t)
       ROOT o = (f32[32768], f32[32768]) tuple(r, i) })"},
    {"transforms", R"(ENTRY main { x = f32[300,96,64] parameter(0) c = c64[300,96,64] complex(x, x)
       t = c64[300,96,64] fft(c), fft_type=IFFT, fft_length={96,64} ROOT r = f32[300,96,64] real(t) })"},
    {"triangular_solve", R"(ENTRY main { a = f32[300,300] parameter(0) b = f32[300,200] parameter(1)
       n = f32[] constant(300) nb = f32[300,300] broadcast(n), dimensions={}
       i = s32[300,300] iota(), iota_dimension=0 j = s32[300,300] iota(), iota_dimension=1
       e = pred[300,300] compare(i, j), direction=EQ l = f32[300,300] select(e, nb, a)
       ROOT x = f32[300,200] triangular-solve(l, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE })"},
    {"cholesky", R"(ENTRY main { a = f32[200,40] parameter(0)
       p = f32[200,200] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}
       n = f32[] constant(50) nb = f32[200,200] broadcast(n), dimensions={} z = f32[] constant(0)
       zb = f32[200,200] broadcast(z), dimensions={}
       i = s32[200,200] iota(), iota_dimension=0 j = s32[200,200] iota(), iota_dimension=1
       e = pred[200,200] compare(i, j), direction=EQ d = f32[200,200] select(e, nb, zb) s = f32[200,200] add(p, d)
       ROOT c = f32[200,200] cholesky(s), lower=true })"},
    {"sum_of_products",
     R"(ENTRY main { x = f32[2000000] parameter(0) y = f32[2000000] parameter(1) z = f32[] constant(0)
       p = f32[2000000] multiply(x, y) ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add })"},
};

class ThreadCountTest : public ::testing::TestWithParam<Program> {};

struct AlignedBytes {
  explicit AlignedBytes(int64_t bytes)
      : size(static_cast<size_t>(bytes)), data(static_cast<char*>(std::aligned_alloc(64, (size + 64) / 64 * 64))) {}
  AlignedBytes(AlignedBytes&& other) : size(other.size), data(std::exchange(other.data, nullptr)) {}
  ~AlignedBytes() { std::free(data); }
  size_t size;
  char* data;
};

// While it lives, this thread may use one CPU alone.
class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof(allowed_), &allowed_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof(allowed_), &allowed_); }

 private:
  cpu_set_t allowed_;
};

absl::StatusOr<std::unique_ptr<Executable>> Compile(const std::string& text, int threads) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = frontend::Load(text, "");
  if (!module.ok()) return module.status();
  std::optional<OneCpu> one;
  if (threads == 1) {
    one.emplace();
    EXPECT_EQ(ThreadPool::AvailableCpus(), 1);
  }
  CompileOptions options;
  options.max_parallelism = threads;
  return Executable::Compile(*std::move(module), options);
}

TEST_P(ThreadCountTest, BitsDoNotDependOnIt) {
  const std::string text = std::string("HloModule threads\n") + kBodies + GetParam().text;
  std::vector<AlignedBytes> expected;
  for (int threads : {1, 2, 8, 64}) {
    SCOPED_TRACE(threads);
    auto executable = Compile(text, threads);
    ASSERT_TRUE(executable.ok()) << executable.status();
    ThreadPool pool(threads);
    uint32_t state = 7;
    const auto next = [&] { return static_cast<float>((state = state * 1664525 + 1013904223) >> 8) * 0x1p-24f; };
    std::vector<AlignedBytes> arguments, results;
    std::vector<const void*> argument_pointers;
    for (const hlo::Shape& leaf : (*executable)->parameter_leaves()) {
      AlignedBytes& bytes = arguments.emplace_back(leaf.byte_count());
      auto* values = reinterpret_cast<float*>(bytes.data);
      const bool is_bytes = leaf.element_type() == hlo::PrimitiveType::kS8;
      for (int64_t i = 0; i < leaf.element_count(); ++i) {
        if (is_bytes) {
          bytes.data[i] = static_cast<char>(256 * next() - 128);
        } else {
          values[i] = next();
        }
      }
      argument_pointers.push_back(bytes.data);
    }
    const AlignedBytes arena((*executable)->arena_bytes());
    for (int run = 0; run < 3; ++run) {
      results.clear();
      std::vector<void*> result_pointers;
      for (const hlo::Shape& leaf : (*executable)->output_leaves()) {
        result_pointers.push_back(results.emplace_back(leaf.byte_count()).data);
      }
      ASSERT_TRUE((*executable)->Run(argument_pointers, result_pointers, arena.data, &pool).ok());
      if (expected.empty()) expected = std::move(results);
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(std::memcmp(results[i].data, expected[i].data, expected[i].size), 0) << "run " << run;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThreadCountTest, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::cpu
