// The verifier: a sound module passes, and breaking any rule is noticed by its number.
#include "src/hlo/verifier.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hlo_test_util.h"

namespace kiln::hlo {
namespace {

using ::testing::HasSubstr;

constexpr absl::string_view kModule = R"(
HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, entry_computation_layout={(f32[4]{0}, f32[4]{0})->(f32[4]{0}, f32[])}
sum { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b) }
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  z = f32[] constant(0)
  n = f32[4] add(x, y)
  r = f32[] reduce(n, z), dimensions={0}, to_apply=sum
  ROOT t = (f32[4], f32[]) tuple(n, r)
}
)";

Instruction* Find(const Module& module, absl::string_view name) {
  for (const Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->name() == name) return instruction;
    }
  }
  ADD_FAILURE() << "no instruction " << name;
  return nullptr;
}

Computation* FindComputation(const Module& module, absl::string_view name) {
  for (Computation* computation : module.computations()) {
    if (computation->name() == name) return computation;
  }
  ADD_FAILURE() << "no computation " << name;
  return nullptr;
}

struct Break {
  int rule;
  absl::string_view words;
  std::function<void(Module*)> how;
};

TEST(VerifierTest, SoundModulesPass) { EXPECT_EQ(Verify(*ParseOrDie(kModule)), absl::OkStatus()); }

TEST(VerifierTest, EveryRuleIsChecked) {
  const Shape vector(PrimitiveType::kF32, {4});
  const std::vector<Break> breaks = {
      {1, "no entry", [](Module* m) { m->set_entry(nullptr); }},
      {1, "has no root", [](Module* m) { m->AddComputation("empty"); }},
      {1, "not one of its instructions", [](Module* m) { m->entry()->set_root(Find(*m, "s")); }},
      {2, "instruction name 'a b'",
       [](Module* m) { m->entry()->Add(Opcode::kPartitionId, Shape::Scalar(PrimitiveType::kU32), {}, {}, {}, "a b"); }},
      {2, "computation name",
       [](Module* m) {
         Computation* computation = m->AddComputation("x y");
         computation->AddConstant(ZeroLiteral(PrimitiveType::kF32));
       }},
      {3, "lists a user that does not use it",
       [](Module* m) { Find(*m, "n")->ReplaceOperand(0, Find(*m, "a")); }},
      {3, "control predecessor of another", [](Module* m) { Find(*m, "n")->AddControlPredecessor(Find(*m, "a")); }},
      {4, "depends on itself", [](Module* m) { Find(*m, "x")->AddControlPredecessor(Find(*m, "n")); }},
      {4, "scheduled before",
       [](Module* m) {
         m->set_is_scheduled(true);
         std::vector<Instruction*> order = m->entry()->instructions();
         std::swap(order[0], order[3]);
         m->entry()->SetOrder(order);
       }},
      {5, "not where its number says",
       [](Module* m) { Find(*m, "y")->GetMutable<ParameterAttributes>()->number = 0; }},
      {5, "lists 3 parameters and has 2", 
       [](Module* m) {
         m->entry()->AddParameter(2, Shape::Scalar(PrimitiveType::kF32));
         m->entry()->Remove(m->entry()->parameter(2));
       }},
      {6, "calls itself",
       [](Module* m) {
         Computation* sum = FindComputation(*m, "sum");
         sum->Add(Opcode::kCall, Shape::Scalar(PrimitiveType::kF32), {Find(*m, "a"), Find(*m, "b")}, CallAttributes{},
                  {sum});
       }},
      {7, "lacks its own", [](Module* m) { *Find(*m, "r")->mutable_attributes() = Attributes(); }},
      {7, "attributes of another opcode", [](Module* m) { *Find(*m, "n")->mutable_attributes() = SortAttributes(); }},
      {7, "calls 0 computations", [](Module* m) { Find(*m, "r")->set_called_computations({}); }},
      {8, "negative dimension", [](Module* m) { Find(*m, "n")->mutable_shape()->set_dimensions(0, -4); }},
      {8, "not a permutation", [](Module* m) { Find(*m, "n")->mutable_shape()->set_layout({1}); }},
      {9, "result shape is f32[4]", [](Module* m) { Find(*m, "n")->mutable_shape()->set_dimensions(0, 5); }},
      {9, "takes 2 operands, got 3", [](Module* m) { Find(*m, "n")->AppendOperand(Find(*m, "x")); }},
      {9, "dimensions names dimension 1",
       [](Module* m) { Find(*m, "r")->GetMutable<DimensionsAttributes>()->dimensions = {1}; }},
      {9, "expected 2",
       [](Module* m) { FindComputation(*m, "sum")->AddParameter(2, Shape::Scalar(PrimitiveType::kF32)); }},
      {10, "has a side effect",
       [](Module* m) {
         FindComputation(*m, "sum")->Add(Opcode::kRngGetAndUpdateState, Shape(PrimitiveType::kU64, {1}), {},
                                         RngAttributes{});
       }},
      {11, "for f32[4]",
       [vector](Module* m) {
         Literal literal = ZeroLiteral(PrimitiveType::kF32).Reshaped(vector);
         m->entry()->AddConstant(std::move(literal));
       }},
      {12, "has 1 parameters", [](Module* m) { m->mutable_entry_parameter_layouts()->pop_back(); }},
      {12, "for parameter 1",
       [](Module* m) { (*m->mutable_entry_parameter_layouts())[1] = Shape(PrimitiveType::kF32, {5}); }},
      {12, "has the result", [vector](Module* m) { *m->mutable_entry_result_layout() = vector; }},
      {13, "names no leaf", [](Module* m) { (*m->mutable_aliases())[0].output_index = {2}; }},
      {13, "names no leaf", [](Module* m) { (*m->mutable_aliases())[0].output_index = {}; }},
      {13, "names no leaf", [](Module* m) { (*m->mutable_aliases())[0].parameter = 7; }},
      {13, "joins", [](Module* m) { (*m->mutable_aliases())[0].output_index = {1}; }},
      {13, "an output that is aliased already",
       [](Module* m) { m->mutable_aliases()->push_back({{0}, 1, {}, false}); }},
      {13, "named twice or aliased", [](Module* m) { (*m->mutable_donors())[0].parameter = 0; }},
      {14, "num_partitions=0", [](Module* m) { m->set_partition_count(0); }},
  };
  for (const Break& b : breaks) {
    SCOPED_TRACE(absl::StrCat("rule ", b.rule, ": ", b.words));
    auto module = ParseOrDie(kModule);
    b.how(module.get());
    absl::Status status = Verify(*module);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("breaks rule ", b.rule, ":")));
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(b.words)));
  }
}

TEST(VerifierTest, SideEffectsAreFoundInLinearTime) {
  // Every level calls the one below twice: 2^400 paths.
  std::string text = "f0 { x = f32[] parameter(0) r = abs(x) }\n";
  for (int i = 1; i <= 400; ++i) {
    absl::StrAppend(&text, "f", i, " { x = f32[] parameter(0) y = call(x), to_apply=f", i - 1,
                    " r = call(y), to_apply=f", i - 1, " }\n");
  }
  auto module = ParseOrDie(text);
  EXPECT_FALSE(module->entry()->root()->HasSideEffect());
}

}  // namespace
}  // namespace kiln::hlo
