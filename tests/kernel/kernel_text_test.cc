// Kernels of a few instructions and fusions as text: what the index maps of ops make of each other.
#include <string>

#include "gtest/gtest.h"
#include "src/kernel/kernel_builder.h"
#include "tests/hlo_test_util.h"

namespace kiln::kernel {
namespace {

// The kernel of the root of `text`'s entry.
std::string KernelText(const std::string& text) {
  auto module = ParseOrDie(text);
  auto kernel = BuildKernel(*module->entry()->root());
  return kernel.ok() ? ToString(*kernel) : kernel.status().ToString();
}

TEST(KernelTextTest, ElementwiseOverAnyShapeIsOneLoop) {
  EXPECT_EQ(KernelText(R"(HloModule m
ENTRY main {
  x = f32[8,6,5] parameter(0)
  ROOT y = f32[8,6,5] negate(x)
})"),
            R"(kernel y (p0: f32[8,6,5]) -> (p1: f32[8,6,5])
  nest parallel i2 in 240
    v0: f32 = load p0[i2]
    v1: f32 = negate v0
    store p1[i2] = v1
)");
}

TEST(KernelTextTest, SliceOfReshapeOfTransposeIsOneLoad) {
  EXPECT_EQ(KernelText(R"(HloModule m
f {
  x = f32[8,6] parameter(0)
  t = f32[6,8] transpose(x), dimensions={1,0}
  b = f32[48] reshape(t)
  s = f32[24] slice(b), slice={[0:48:2]}
  ROOT r = f32[24] abs(s)
}
ENTRY main {
  x = f32[8,6] parameter(0)
  ROOT y = f32[24] fusion(x), kind=kLoop, calls=f
})"),
            R"(kernel y (p0: f32[8,6]) -> (p1: f32[24])
  nest parallel i0 in 24
    v0: f32 = load p0[12*((i0) mod 4) + ((i0) floordiv 4)]
    v1: f32 = abs v0
    store p1[i0] = v1
)");
}

TEST(KernelTextTest, RowReductionUsedTwice) {
  EXPECT_EQ(KernelText(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
f {
  x = f32[8,6] parameter(0)
  z = f32[] constant(0)
  s = f32[8] reduce(x, z), dimensions={1}, to_apply=add
  b = f32[8,6] broadcast(s), dimensions={0}
  ROOT r = f32[8,6] divide(x, b)
}
ENTRY main {
  x = f32[8,6] parameter(0)
  ROOT y = f32[8,6] fusion(x), kind=kLoop, calls=f
})"),
            R"(kernel y (p0: f32[8,6]) -> (p1: f32[8,6])
  nest parallel i0 in 8 parallel i1 in 6
    v0: f32 = load p0[6*i0 + i1]
    v1: f32 = constant 0
    reduce i2 in 6 -> v3 = add of v2 from v1
      v2: f32 = load p0[6*i0 + i2]
    v4: f32 = divide v0, v3
    store p1[6*i0 + i1] = v4
)");
}

TEST(KernelTextTest, PaddingIsACondition) {
  EXPECT_EQ(KernelText(R"(HloModule m
ENTRY main {
  x = s32[5] parameter(0)
  z = s32[] parameter(1)
  ROOT y = s32[8] pad(x, z), padding=1_2
})"),
            R"(kernel y (p0: s32[5], p1: s32[]) -> (p2: s32[8])
  nest parallel i0 in 8
    v0: s32 = load p1[0]
    v1: pred = condition 0 <= i0 + -1 < 5
    v2: s32 = load p0[i0 + -1] if v1
    v3: s32 = select v1, v2, v0
    store p2[i0] = v3
)");
}

TEST(KernelTextTest, UpdateWritesOnlyWhatChanges) {
  EXPECT_EQ(KernelText(R"(HloModule m
ENTRY main {
  x = f32[100] parameter(0)
  u = f32[10] parameter(1)
  i = s32[] parameter(2)
  ROOT y = f32[100] dynamic-update-slice(x, u, i)
})"),
            R"(kernel y (p0: f32[100], p1: f32[10], p2: s32[]) -> (p3: f32[100] updated)
  nest parallel i0 in 10
    v0: s32 = load p2[0]
    v1: s64 = clamp v0 in [0, 90]
    v2: f32 = load p1[i0]
    store p3[i0 + [v1]] = v2
)");
}

// Such an update has no place of its own to be written to.
TEST(KernelTextTest, UpdateOfSomethingComputedIsASelect) {
  const std::string text = KernelText(R"(HloModule m
f {
  x = f32[8] parameter(0)
  u = f32[2] parameter(1)
  i = s32[] parameter(2)
  n = f32[8] negate(x)
  ROOT r = f32[8] dynamic-update-slice(n, u, i)
}
ENTRY main {
  x = f32[8] parameter(0)
  u = f32[2] parameter(1)
  i = s32[] parameter(2)
  ROOT y = f32[8] fusion(x, u, i), kind=kLoop, calls=f
})");
  EXPECT_NE(text.find("select"), std::string::npos) << text;
  EXPECT_EQ(text.find("nest"), text.rfind("nest")) << text;
}

}  // namespace
}  // namespace kiln::kernel
