// Values that live at one time have places of their own, and loops work in place.
#include "src/analysis/buffer_assignment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/analysis/memory_plan.h"
#include "src/cpu/program_emitter.h"
#include "src/passes/pipeline.h"
#include "tests/cpu/random_programs.h"
#include "tests/hlo_test_util.h"

namespace kiln::analysis {
namespace {

struct Assigned {
  std::unique_ptr<hlo::Module> module;
  std::unique_ptr<cpu::ProgramEmitter> emitter;
  std::unique_ptr<BufferAssignment> buffers;
};

Assigned Assign(const std::string& text) {
  Assigned assigned;
  assigned.module = ParseOrDie(text);
  EXPECT_TRUE(passes::RunPipeline(assigned.module.get(), passes::CpuPipeline()).ok());
  assigned.emitter = std::make_unique<cpu::ProgramEmitter>(*assigned.module, 1);
  const absl::Status status = assigned.emitter->Prepare();
  EXPECT_TRUE(status.ok()) << status;
  auto buffers = BufferAssignment::Run(*assigned.module, assigned.emitter->Hooks());
  EXPECT_TRUE(buffers.ok()) << buffers.status();
  if (buffers.ok()) assigned.buffers = *std::move(buffers);
  return assigned;
}

TEST(BufferAssignmentTest, LiveBuffersOfTheArenaDoNotMeet) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Assigned assigned = Assign(testing::WriteGraph(seed, static_cast<int>(seed % 4), 30).text);
    ASSERT_NE(assigned.buffers, nullptr);
    const std::vector<Buffer>& buffers = assigned.buffers->buffers();
    for (size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& a = buffers[i];
      if (a.bytes == 0 || a.last < a.first) continue;
      if (a.storage != Storage::kArena && a.storage != Storage::kResult && !a.framed) continue;
      if (a.framed) EXPECT_LE(a.offset + a.bytes, assigned.buffers->frame_bytes());
      if (a.storage == Storage::kArena) EXPECT_LE(a.offset + a.bytes, assigned.buffers->arena_bytes());
      for (size_t j = 0; j < i; ++j) {
        const Buffer& b = buffers[j];
        if (b.storage != a.storage || b.framed != a.framed || b.bytes == 0 || b.last < b.first) continue;
        if (b.storage == Storage::kResult && b.number != a.number) continue;
        if (a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << "seed " << seed << ": buffers " << i << " and " << j;
      }
    }
  }
}

int64_t CopiesInLoop(const Assigned& assigned) {
  int64_t copies = 0;
  for (const hlo::Computation* computation : assigned.module->computations()) {
    if (computation == assigned.module->entry()) continue;
    copies += static_cast<int64_t>(assigned.buffers->CopiesAtEnd(computation).size());
    for (const hlo::Instruction* instruction : computation->instructions()) {
      copies += static_cast<int64_t>(assigned.buffers->CopiesBefore(instruction).size());
    }
  }
  return copies;
}

// A loop with state (s32[], STATE...), run 100 times.
std::string Loop(const std::string& state, const std::string& body, const std::string& entry) {
  return absl::StrCat(
      "HloModule loop\nb {\n  p = ", state, " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n",
      "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n", body, "}\nc {\n  p = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(100)\n",
      "  ROOT r = pred[] compare(i, n), direction=LT\n}\nENTRY main {\n  z = s32[] constant(0)\n", entry, "}\n");
}

TEST(BufferAssignmentTest, ScanWritesItsRowsInPlace) {
  const std::string state = "(s32[], f32[64], f32[100,64], f32[100,64])";
  const Assigned assigned = Assign(
      Loop(state,
           absl::StrCat(
               "  h = f32[64] get-tuple-element(p), index=1\n  xs = f32[100,64] get-tuple-element(p), index=2\n"
               "  ys = f32[100,64] get-tuple-element(p), index=3\n  zero = s32[] constant(0)\n"
               "  row = f32[1,64] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,64}\n  x = f32[64] reshape(row)\n"
               "  s = f32[64] add(h, x)\n  t = f32[64] tanh(s)\n  u = f32[1,64] reshape(t)\n"
               "  zs = f32[100,64] dynamic-update-slice(ys, u, i, zero)\n  ROOT r = ",
               state, " tuple(j, t, xs, zs)\n"),
           absl::StrCat("  h = f32[64] parameter(0)\n  xs = f32[100,64] parameter(1)\n  f = f32[] constant(0)\n"
                        "  ys = f32[100,64] broadcast(f), dimensions={}\n  t = ",
                        state, " tuple(z, h, xs, ys)\n  w = ", state,
                        " while(t), condition=c, body=b\n  ROOT r = f32[100,64] get-tuple-element(w), index=3\n")));
  ASSERT_NE(assigned.buffers, nullptr);
  EXPECT_EQ(CopiesInLoop(assigned), 0) << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

TEST(BufferAssignmentTest, ElementwiseStateIsUpdatedInPlace) {
  const std::string state = "(s32[], f32[1000], f32[])";
  const Assigned assigned = Assign(Loop(
      state,
      absl::StrCat("  x = f32[1000] get-tuple-element(p), index=1\n  a = f32[] get-tuple-element(p), index=2\n"
                   "  b = f32[1000] broadcast(a), dimensions={}\n  y = f32[1000] multiply(x, b)\n  q = f32[] sine(a)\n "
                   " ROOT r = ",
                   state, " tuple(j, y, q)\n"),
      absl::StrCat("  x = f32[1000] parameter(0)\n  a = f32[] parameter(1)\n  t = ", state, " tuple(z, x, a)\n  w = ",
                   state, " while(t), condition=c, body=b\n  ROOT r = f32[1000] get-tuple-element(w), index=1\n")));
  ASSERT_NE(assigned.buffers, nullptr);
  int64_t array_copies = 0;
  for (const hlo::Computation* computation : assigned.module->computations()) {
    if (computation == assigned.module->entry()) continue;
    for (const BufferCopy& copy : assigned.buffers->CopiesAtEnd(computation)) {
      array_copies += assigned.buffers->buffer(copy.from).bytes > 64;
    }
  }
  EXPECT_EQ(array_copies, 0) << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

// The old value moves before the new one takes its place: nothing is set aside.
TEST(BufferAssignmentTest, CopiesFollowOneAnother) {
  const Assigned assigned = Assign(R"(
condition { p = (s32[], f32[8192], f32[8192]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(9)  ROOT r = pred[] compare(i, n), direction=LT }
body {
  p = (s32[], f32[8192], f32[8192]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  u = f32[8192] get-tuple-element(p), index=1
  before = f32[8192] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  turned = f32[8192] reverse(u), dimensions={0}
  sum = f32[8192] add(turned, before)
  ROOT r = (s32[], f32[8192], f32[8192]) tuple(next, sum, u)
}
ENTRY main {
  u = f32[8192] parameter(0)
  zero = s32[] constant(0)
  state = (s32[], f32[8192], f32[8192]) tuple(zero, u, u)
  ROOT w = (s32[], f32[8192], f32[8192]) while(state), condition=condition, body=body
})");
  ASSERT_NE(assigned.buffers, nullptr);
  EXPECT_LE(assigned.buffers->arena_bytes(), 8192 * 4);
  // The sum is made where the array before was.
  for (const hlo::Instruction* instruction : assigned.module->entry()->instructions()) {
    if (instruction->opcode() != hlo::Opcode::kWhile) continue;
    const std::vector<BufferRotation>& rotations = assigned.buffers->RotationsOf(instruction);
    ASSERT_EQ(rotations.size(), 1u);
    EXPECT_FALSE(rotations[0].spare_turns);
    EXPECT_THAT(rotations[0].state, ::testing::UnorderedElementsAre(assigned.buffers->BufferOf(instruction, 1),
                                                                    assigned.buffers->BufferOf(instruction, 2)));
  }
  EXPECT_EQ(CopiesInLoop(assigned), 0);
}

TEST(BufferAssignmentTest, UnchangedStateStaysWhereItIs) {
  // An argument that every round reads is neither copied into the loop nor overwritten while the loop runs.
  const std::string state = "(s32[], f32[1000], f32[1000])";
  const Assigned assigned = Assign(Loop(
      state,
      absl::StrCat("  x = f32[1000] get-tuple-element(p), index=1\n  w = f32[1000] get-tuple-element(p), index=2\n",
                   "  v = f32[1000] multiply(x, w)\n  y = f32[1000] cosine(v)\n  ROOT r = ", state,
                   " tuple(j, y, w)\n"),
      absl::StrCat("  x = f32[1000] parameter(0)\n  w = f32[1000] parameter(1)\n  t = ", state,
                   " tuple(z, x, w)\n  l = ", state,
                   " while(t), condition=c, body=b\n  ROOT r = f32[1000] get-tuple-element(l), index=1\n")));
  ASSERT_NE(assigned.buffers, nullptr);
  EXPECT_EQ(assigned.buffers->arena_bytes(), 0) << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

TEST(BufferAssignmentTest, SwappedStateIsNotLost) {
  // Two arrays that change places need memory for one more, and not more than that.
  const std::string state = "(s32[], f32[1000], f32[1000])";
  const Assigned assigned = Assign(Loop(
      state,
      absl::StrCat(
          "  x = f32[1000] get-tuple-element(p), index=1\n  y = f32[1000] get-tuple-element(p), index=2\n  ROOT r = ",
          state, " tuple(j, y, x)\n"),
      absl::StrCat("  x = f32[1000] parameter(0)\n  y = f32[1000] parameter(1)\n  t = ", state,
                   " tuple(z, x, y)\n  ROOT w = ", state, " while(t), condition=c, body=b\n")));
  ASSERT_NE(assigned.buffers, nullptr);
  EXPECT_LE(assigned.buffers->arena_bytes(), 2 * 4032)
      << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

// A slice whose elements lie together is a place in its operand, which outlives it; one at an odd place is copied.
TEST(BufferAssignmentTest, PartsStayWhereTheyAre) {
  const Assigned assigned = Assign(R"(
ENTRY main {
  ws = f32[4,64,64] parameter(0)
  x = f32[64,64] parameter(1)
  first = f32[1,64,64] slice(ws), slice={[0:1], [0:64], [0:64]}
  last = f32[1,64,64] slice(ws), slice={[3:4], [0:64], [0:64]}
  w = f32[64,64] reshape(first)
  v = f32[64,64] reshape(last)
  y = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[64,64] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  ASSERT_NE(assigned.buffers, nullptr);
  const hlo::Instruction& product = *assigned.module->entry()->root();
  EXPECT_EQ(assigned.buffers->BufferOf(product.operand(1), 0),
            assigned.buffers->BufferOf(assigned.module->entry()->parameter(0), 0));
  EXPECT_EQ(assigned.buffers->PartOf(product.operand(1), 0).offset, 3 * 64 * 64 * 4);
  EXPECT_LE(assigned.buffers->arena_bytes(), 64 * 64 * 4)
      << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

// What is written over an array must not be in the way of a part of it that is read at other places.
TEST(BufferAssignmentTest, PartsAreNotOverwritten) {
  const std::string state = "(s32[], f32[64,32])";
  const Assigned assigned = Assign(
      Loop(state,
           absl::StrCat(
               "  x = f32[64,32] get-tuple-element(p), index=1\n  s = f32[32,32] slice(x), slice={[32:64], [0:32]}\n",
               "  d = f32[32,32] dot(s, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
               "  zero = s32[] constant(0)\n  e = f32[32,32] sort(s), dimensions={1}, to_apply=before\n",
               "  f = f32[32,32] add(d, e)\n  y = f32[64,32] dynamic-update-slice(x, f, zero, zero)\n  ROOT r = ",
               state, " tuple(j, y)\n"),
           absl::StrCat("  x = f32[64,32] parameter(0)\n  t = ", state, " tuple(z, x)\n  ROOT w = ", state,
                        " while(t), condition=c, body=b\n")) +
      "before { u = f32[] parameter(0)  v = f32[] parameter(1)  ROOT r = pred[] compare(u, v), direction=LT }\n");
  ASSERT_NE(assigned.buffers, nullptr);
  EXPECT_EQ(CopiesInLoop(assigned), 0) << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

// A scan stands where what it scans stood.
TEST(BufferAssignmentTest, ScansAreInPlace) {
  const Assigned assigned = Assign(R"(
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[256,512] parameter(0)
  s = f32[256,512] sine(x)
  zero = f32[] constant(0)
  ROOT w = f32[256,512] reduce-window(s, zero), window={size=1x512 pad=0_0x511_0}, to_apply=sum
})");
  ASSERT_NE(assigned.buffers, nullptr);
  EXPECT_LE(assigned.buffers->arena_bytes(), 4096) << MakeMemoryPlan(*assigned.module, *assigned.buffers).ToString();
}

}  // namespace
}  // namespace kiln::analysis
