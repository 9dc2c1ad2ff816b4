// What instructions share, what a module remembers of them, and how large they are.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/module.h"
#include "src/hlo/verifier.h"
#include "tests/hlo_test_util.h"

namespace kiln::hlo {
namespace {

using testing::ElementsAre;

TEST(InstructionMemoryTest, FitsFourLinesOfCache) { EXPECT_LE(sizeof(Instruction), 256); }

TEST(ShapeTest, WritingACopyLeavesTheOriginal) {
  const Shape original(PrimitiveType::kF32, {2, 3});
  Shape type = original, size = original, layout = original, dynamic = original;
  type.set_element_type(PrimitiveType::kS8);
  size.set_dimensions(0, 7);
  layout.set_layout({0, 1});
  dynamic.set_dynamic_dimension(1, true);
  EXPECT_EQ(original, Shape(PrimitiveType::kF32, {2, 3}));
  for (const Shape& changed : {type, size, layout, dynamic}) EXPECT_NE(changed, original);
}

TEST(ShapeTest, WritingAnElementLeavesOtherTuples) {
  const Shape pair = Shape::Tuple({Shape(PrimitiveType::kF32, {2}), Shape(PrimitiveType::kF32, {2})});
  Shape changed = pair;
  (*changed.mutable_tuple_shapes())[1].set_dimensions(0, 5);
  EXPECT_EQ(pair.tuple_shapes(1).dimensions(0), 2);
  EXPECT_EQ(changed.tuple_shapes(0).dimensions(0), 2);
  EXPECT_EQ(changed.tuple_shapes(1).dimensions(0), 5);
}

TEST(ShapeTest, OneThatWasMovedFromIsAsNew) {
  Shape from(PrimitiveType::kF32, {2});
  const Shape to = std::move(from);
  EXPECT_EQ(from, Shape());
  EXPECT_EQ(to.rank(), 1);
}

constexpr char kText[] = R"(HloModule m
first { a = f32[8] parameter(0)  ROOT r = f32[8] negate(a) }
second { a = f32[8] parameter(0)  ROOT r = f32[8] sine(a) }
ENTRY e {
  x = f32[8] parameter(0)
  s = f32[4] slice(x), slice={[2:6]}, sharding={replicated}
  p = f32[8] pad(s, z), padding=2_2
  c = f32[8] call(p), to_apply=first
  ROOT d = f32[8] call(c), to_apply=second
}
)";

std::unique_ptr<Module> Parse() {
  std::string text = kText;
  text.insert(text.find("  s ="), "  z = f32[] constant(0)\n");
  return ParseOrDie(text);
}

Instruction* Find(const Module& module, Opcode opcode) {
  for (Instruction* instruction : module.entry()->instructions()) {
    if (instruction->opcode() == opcode) return instruction;
  }
  return nullptr;
}

TEST(InstructionMemoryTest, WritingAttributesOfACloneLeavesTheOriginal) {
  const std::unique_ptr<Module> module = Parse();
  Instruction* slice = Find(*module, Opcode::kSlice);
  Instruction* clone = module->entry()->AddClone(*slice, {slice->operand(0)});
  EXPECT_EQ(clone->attributes(), slice->attributes());
  clone->GetMutable<SliceAttributes>()->start[0] = 0;
  clone->set_sharding("{manual}");
  clone->mutable_shape()->set_dimensions(0, 6);
  EXPECT_EQ(slice->Get<SliceAttributes>().start[0], 2);
  EXPECT_EQ(slice->sharding(), "{replicated}");
  EXPECT_EQ(slice->shape().dimensions(0), 4);
  EXPECT_EQ(clone->Get<SliceAttributes>().start[0], 0);
  EXPECT_NE(clone->attributes(), slice->attributes());
}

std::vector<std::string> Order(const Module& module) {
  std::vector<std::string> names;
  for (const Computation* computation : module.PostOrder()) names.push_back(computation->name());
  return names;
}

TEST(ModuleTest, PostOrderFollowsWhatIsCalled) {
  const std::unique_ptr<Module> module = Parse();
  Computation* entry = module->entry();
  EXPECT_THAT(Order(*module), ElementsAre("first", "second", "e"));
  Instruction* first = Find(*module, Opcode::kCall);
  Instruction* second = entry->root();
  first->set_called_computation(0, second->called_computation());
  EXPECT_THAT(Order(*module), ElementsAre("second", "e"));
  Computation* third = module->AddClone(*second->called_computation(), "third");
  Instruction* added = entry->Add(Opcode::kCall, second->shape(), {second}, CallAttributes(), {third});
  EXPECT_THAT(Order(*module), ElementsAre("second", "third", "e"));
  entry->Remove(added);
  EXPECT_THAT(Order(*module), ElementsAre("second", "e"));
  entry->set_root(Find(*module, Opcode::kPad));
  entry->RemoveDeadInstructions();
  EXPECT_THAT(Order(*module), ElementsAre("e"));
  module->set_entry(third);
  EXPECT_THAT(Order(*module), ElementsAre("third"));
}

TEST(ModuleTest, ComputationsKnowWhichOpcodesTheyMayContain) {
  const std::unique_ptr<Module> module = Parse();
  EXPECT_TRUE(module->entry()->MayContain(Opcode::kPad));
  EXPECT_FALSE(module->entry()->MayContain(Opcode::kSin));
  module->entry()->AddInferred(Opcode::kSin, {module->entry()->root()}).IgnoreError();
  EXPECT_TRUE(module->entry()->MayContain(Opcode::kSin));
}

TEST(ModuleTest, EqualShapesOfParametersAreAliasedApart) {
  const std::unique_ptr<Module> module = ParseOrDie(R"(HloModule m, input_output_alias={ {0}: (0, {0}), {1}: (1, {0}) }
ENTRY e {
  a = (f32[8]) parameter(0)
  b = (f32[8]) parameter(1)
  x = f32[8] get-tuple-element(a), index=0
  y = f32[8] get-tuple-element(b), index=0
  ROOT t = (f32[8], f32[8]) tuple(x, y)
})");
  *module->entry()->parameter(1)->mutable_shape() = module->entry()->parameter(0)->shape();
  EXPECT_EQ(Verify(*module), absl::OkStatus());
  (*module->mutable_aliases())[1].parameter = 0;
  EXPECT_NE(Verify(*module), absl::OkStatus());
}

}  // namespace
}  // namespace kiln::hlo
