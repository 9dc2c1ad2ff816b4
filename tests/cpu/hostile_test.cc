// Programs that are valid and unpleasant: each must compile in bounded time or be refused with a status, never crash or
// hang. Those that are small enough also run and agree with the evaluator.
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/frontend/hlo_text/parser.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::testing {
namespace {

// Processor time, so that other work on the machine does not count.
// Several times what the slowest takes, for the sake of slower and busier machines.
constexpr double kMaxSeconds = 20;

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Case {
  std::string name;
  std::function<std::string()> text;
  bool runs = true;  // over arguments of small integers
  bool may_be_refused = false;  // by the reader
};

std::string Entry(const std::string& body, const std::string& computations = "") {
  return absl::StrCat("HloModule hostile\n\n", computations, "ENTRY main {\n", body, "}\n");
}

// p = SHAPE parameter(0), then `step`(i, previous name) for i in [0, depth), the last as root.
std::string Chain(const std::string& shape, int depth, const std::function<std::string(int, const std::string&)>& step,
                  const std::string& computations = "") {
  std::string body = absl::StrCat("  x0 = ", shape, " parameter(0)\n");
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&body, i + 1 == depth ? "  ROOT x" : "  x", i + 1, " = ", step(i, absl::StrCat("x", i)), "\n");
  }
  return Entry(body, computations);
}

const std::string kAdd = "add_f32 {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n\n";

std::string ShiftedSums(int depth, bool powers_of_two) {
  int64_t size = powers_of_two ? int64_t{1} << (depth + 1) : 2 * depth;
  std::string body = absl::StrCat("  x0 = f32[", size, "] parameter(0)\n");
  for (int i = 0; i < depth; ++i) {
    const int64_t shift = powers_of_two ? int64_t{1} << i : 1, next = size - shift;
    absl::StrAppend(&body, "  a", i, " = f32[", next, "] slice(x", i, "), slice={[0:", next, "]}\n  b", i, " = f32[", next,
                    "] slice(x", i, "), slice={[", shift, ":", size, "]}\n");
    absl::StrAppend(&body, i + 1 == depth ? "  ROOT x" : "  x", i + 1, " = f32[", next, "] maximum(a", i, ", b", i, ")\n");
    size = next;
  }
  return Entry(body);
}

std::string NestedWhiles(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&text, "c", i, " {\n  p = (s32[], f32[9]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n",
                    "  n = s32[] constant(1)\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n\n");
    absl::StrAppend(&text, "b", i, " {\n  p = (s32[], f32[9]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n",
                    "  x = f32[9] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n");
    if (i == 0) {
      absl::StrAppend(&text, "  y = f32[9] add(x, x)\n");
    } else {
      absl::StrAppend(&text, "  zero = s32[] constant(0)\n  t = (s32[], f32[9]) tuple(zero, x)\n  w = (s32[], f32[9]) while(t), "
                      "condition=c", i - 1, ", body=b", i - 1, "\n  y = f32[9] get-tuple-element(w), index=1\n");
    }
    absl::StrAppend(&text, "  ROOT r = (s32[], f32[9]) tuple(j, y)\n}\n\n");
  }
  return Entry(absl::StrCat("  x = f32[9] parameter(0)\n  zero = s32[] constant(0)\n  t = (s32[], f32[9]) tuple(zero, x)\n"
                            "  ROOT w = (s32[], f32[9]) while(t), condition=c", depth - 1, ", body=b", depth - 1, "\n"),
               text);
}

// f_n calls f_(n-1) twice.
std::string DoublingCalls(int depth, const std::string& call) {
  std::string text = "f0 {\n  x = f32[] parameter(0)\n  c = f32[] constant(0.5)\n  ROOT r = f32[] multiply(x, c)\n}\n\n";
  for (int i = 1; i < depth; ++i) {
    absl::StrAppend(&text, "f", i, " {\n  x = f32[] parameter(0)\n  a = f32[] ", call, "(x), ", call == "map" ? "dimensions={}, " : "",
                    "to_apply=f", i - 1, "\n  b = f32[] ", call, "(a), ", call == "map" ? "dimensions={}, " : "", "to_apply=f", i - 1,
                    "\n  ROOT r = f32[] add(a, b)\n}\n\n");
  }
  return Entry(absl::StrCat("  x = f32[] parameter(0)\n  ROOT r = f32[] ", call, "(x), ", call == "map" ? "dimensions={}, " : "",
                            "to_apply=f", depth - 1, "\n"),
               text);
}

std::string Independent(int count) {
  std::string body, names, shapes;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&body, "  p", i, " = f32[", i % 40 + 1, "] parameter(", i, ")\n  y", i, " = f32[", i % 40 + 1, "] ",
                    i % 2 ? "negate" : "abs", "(p", i, ")\n");
    absl::StrAppend(&names, i ? ", y" : "y", i);
    absl::StrAppend(&shapes, i ? ", " : "", "f32[", i % 40 + 1, "]");
  }
  return Entry(absl::StrCat(body, "  ROOT t = (", shapes, ") tuple(", names, ")\n"));
}

std::string ManyInstructions(int count) {
  // Values used far from where they are made.
  std::string body = "  x0 = s32[33] parameter(0)\n";
  for (int i = 0; i < count; ++i) {
    static const char* const ops[] = {"add", "subtract", "multiply", "maximum", "xor"};
    absl::StrAppend(&body, i + 1 == count ? "  ROOT x" : "  x", i + 1, " = s32[33] ", ops[i % 5], "(x", i, ", x",
                    static_cast<int>(static_cast<int64_t>(i) * 7919 % (i + 1)), ")\n");
  }
  return Entry(body);
}

std::string ManyBranches(int count) {
  std::string text, names, operands;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "f", i, " {\n  x = s32[5] parameter(0)\n  c = s32[] constant(", i,
                    ")\n  d = s32[5] broadcast(c), dimensions={}\n  ROOT r = s32[5] add(x, d)\n}\n\n");
    absl::StrAppend(&names, i ? ", f" : "f", i);
    absl::StrAppend(&operands, ", x");
  }
  return Entry(absl::StrCat("  x = s32[5] parameter(0)\n  i = s32[] parameter(1)\n  ROOT r = s32[5] conditional(i", operands,
                            "), branch_computations={", names, "}\n"),
               text);
}

std::string WideLoop(int leaves) {
  std::string shape = "(s32[]", gtes, names = "j", start, start_names = "z";
  for (int i = 0; i < leaves; ++i) {
    absl::StrAppend(&shape, ", f32[17]");
    absl::StrAppend(&gtes, "  g", i, " = f32[17] get-tuple-element(p), index=", i + 1, "\n");
    absl::StrAppend(&names, ", g", (i + 1) % leaves);  // rotates
    absl::StrAppend(&start, "  s", i, " = f32[17] parameter(", i, ")\n");
    absl::StrAppend(&start_names, ", s", i);
  }
  shape += ")";
  const std::string computations = absl::StrCat(
      "c {\n  p = ", shape, " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(5)\n"
      "  ROOT r = pred[] compare(i, n), direction=LT\n}\n\nb {\n  p = ", shape,
      " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  o = s32[] constant(1)\n  j = s32[] add(i, o)\n", gtes,
      "  ROOT r = ", shape, " tuple(", names, ")\n}\n\n");
  return Entry(absl::StrCat(start, "  z = s32[] constant(0)\n  t = ", shape, " tuple(", start_names, ")\n  ROOT w = ", shape,
                            " while(t), condition=c, body=b\n"),
               computations);
}

std::string ConcatenateDoubling(int depth, bool sliced) {
  int64_t size = 3;
  std::string body = "  x0 = f32[3] parameter(0)\n";
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&body, !sliced && i + 1 == depth ? "  ROOT x" : "  x", i + 1, " = f32[", 2 * size, "] concatenate(x", i, ", x", i,
                    "), dimensions={0}\n");
    size *= 2;
  }
  if (sliced) absl::StrAppend(&body, "  ROOT r = f32[7] slice(x", depth, "), slice={[", size - 7, ":", size, "]}\n");
  return Entry(body);
}

std::string ReshapeTransposes(int depth) {
  return Chain("f32[6,35,11]", depth, [](int i, const std::string& x) {
    switch (i % 4) {
      case 0:
        return absl::StrCat("f32[11,6,35] transpose(", x, "), dimensions={2,0,1}");
      case 1:
        return absl::StrCat("f32[7,330] reshape(", x, ")");
      case 2:
        return absl::StrCat("f32[330,7] transpose(", x, "), dimensions={1,0}");
      default:
        return absl::StrCat("f32[6,35,11] reshape(", x, ")");
    }
  });
}

std::string RankOf(int rank, int64_t size) {
  std::vector<std::string> dims(rank, absl::StrCat(size));
  std::vector<std::string> order;
  for (int i = rank - 1; i >= 0; --i) order.push_back(absl::StrCat(i));
  const std::string shape = absl::StrCat("f32[", absl::StrJoin(dims, ","), "]");
  return Entry(absl::StrCat("  x = ", shape, " parameter(0)\n  y = ", shape, " transpose(x), dimensions={", absl::StrJoin(order, ","),
                            "}\n  ROOT z = ", shape, " add(x, y)\n"));
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({"HugeShapeTinyWork", [] {
    return Entry("  x = f32[] parameter(0)\n  b = f32[1099511627776] broadcast(x), dimensions={}\n"
                 "  ROOT s = f32[3] slice(b), slice={[1099511627770:1099511627773]}\n");
  }, false});
  cases.push_back({"HugeIota", [] {
    return Entry("  x = s64[] parameter(0)\n  i = s64[1073741824,1024] iota(), iota_dimension=0\n"
                 "  ROOT s = s64[2,1] slice(i), slice={[1073741822:1073741824],[5:6]}\n");
  }, false});
  cases.push_back({"HugeReduction", [] {
    return Entry("  x = s64[] parameter(0)\n  i = s64[1073741824,1024] broadcast(x), dimensions={}\n"
                 "  z = s64[] constant(0)\n  ROOT r = s64[] reduce(i, z), dimensions={0,1}, to_apply=f\n",
                 "f {\n  a = s64[] parameter(0)\n  b = s64[] parameter(1)\n  ROOT r = s64[] add(a, b)\n}\n\n");
  }, false});
  cases.push_back({"HugeDot", [] {
    return Entry("  x = f32[100000,100000] parameter(0)\n  y = f32[100000,100000] parameter(1)\n"
                 "  ROOT d = f32[100000,100000] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  }, false});
  cases.push_back({"HugeResult", [] {
    return Entry("  x = f32[] parameter(0)\n  ROOT b = f32[1048576,1048576,1024] broadcast(x), dimensions={}\n");
  }, false, true});
  cases.push_back({"HugeInteriorPadding", [] {
    return Entry("  x = f32[3] parameter(0)\n  z = f32[] constant(0)\n"
                 "  p = f32[2000000001] pad(x, z), padding=0_0_999999999\n  ROOT s = f32[2] slice(p), slice={[0:2000000000:1000000000]}\n");
  }, false});
  cases.push_back({"HugeWindow", [] {
    return Entry("  x = f32[1000000] parameter(0)\n  z = f32[] constant(0)\n"
                 "  ROOT r = f32[1000000] reduce-window(x, z), window={size=1000000 pad=999999_0}, to_apply=add_f32\n", kAdd);
  }, false});
  cases.push_back({"HugeSortKeys", [] {
    return Entry("  x = f32[1073741824,4] parameter(0)\n  ROOT r = f32[1073741824,4] sort(x), dimensions={0}, to_apply=f\n",
                 "f {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT\n}\n\n");
  }, false});
  cases.push_back({"DeepElementwiseChain", [] {
    return Chain("f32[100]", 1000, [](int i, const std::string& x) { return absl::StrCat("f32[100] ", i % 2 ? "abs" : "negate", "(", x, ")"); });
  }});
  cases.push_back({"DeepTranscendentalChain", [] {
    return Chain("f32[100]", 1000, [](int i, const std::string& x) { return absl::StrCat("f32[100] ", i % 2 ? "sine" : "exponential", "(", x, ")"); });
  }, false});
  cases.push_back({"DeepDoubling", [] {
    return Chain("s32[100]", 1000, [](int, const std::string& x) { return absl::StrCat("s32[100] add(", x, ", ", x, ")"); });
  }});
  cases.push_back({"DeepReverseSums", [] {
    return Chain("s32[100]", 200, [](int i, const std::string& x) {
      return i % 2 ? absl::StrCat("s32[100] add(", x, ", x", i - 1, ")") : absl::StrCat("s32[100] reverse(", x, "), dimensions={0}");
    });
  }});
  cases.push_back({"ShiftedSums", [] { return ShiftedSums(300, false); }});
  cases.push_back({"ShiftedSumsByPowersOfTwo", [] { return ShiftedSums(14, true); }});
  cases.push_back({"ConcatenateDoubling", [] { return ConcatenateDoubling(12, false); }});
  cases.push_back({"ConcatenateDoublingHuge", [] { return ConcatenateDoubling(40, false); }, false});
  cases.push_back({"ConcatenateDoublingSliced", [] { return ConcatenateDoubling(36, true); }, false});
  cases.push_back({"ReshapeTransposes", [] { return ReshapeTransposes(400); }});
  cases.push_back({"SixHundredOnes", [] { return RankOf(600, 1); }, false, true});
  cases.push_back({"RankThirty", [] { return RankOf(30, 2); }, false});
  cases.push_back({"RankSixtyTwo", [] { return RankOf(62, 2); }, false, true});
  cases.push_back({"FiveThousandInstructions", [] { return ManyInstructions(5000); }});
  cases.push_back({"TwoHundredParameters", [] { return Independent(200); }});
  cases.push_back({"ThreeThousandParameters", [] { return Independent(3000); }});
  cases.push_back({"NestedWhiles20", [] { return NestedWhiles(20); }});
  cases.push_back({"NestedWhiles100", [] { return NestedWhiles(100); }});
  cases.push_back({"NestedWhiles1000", [] { return NestedWhiles(1000); }, false, true});
  cases.push_back({"DoublingCalls", [] { return DoublingCalls(60, "call"); }, false});
  cases.push_back({"DoublingMaps", [] { return DoublingCalls(60, "map"); }, false});
  cases.push_back({"ThousandBranches", [] { return ManyBranches(1000); }});
  cases.push_back({"WideLoop", [] { return WideLoop(500); }});
  cases.push_back({"DeepReductions", [] {
    return Chain("s32[40,40]", 150, [](int i, const std::string& x) -> std::string {
      switch (i % 3) {
        case 0:
          return absl::StrCat("s32[40] reduce(", x, ", s32[] constant(0)), dimensions={1}, to_apply=f");
        case 1:
          return absl::StrCat("s32[40,40] broadcast(", x, "), dimensions={", i / 3 % 2, "}");
        default:
          return absl::StrCat("s32[40,40] subtract(", x, ", x", i - 2, ")");
      }
    }, "f {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}\n\n");
  }});
  cases.push_back({"DeepGathers", [] {
    return Chain("s32[50]", 100, [](int, const std::string& x) {
      return absl::StrCat("s32[50] gather(", x, ", ", x, "), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
                          "index_vector_dim=1, slice_sizes={1}");
    });
  }});
  cases.push_back({"DeepUpdates", [] {
    return Chain("s32[50]", 500, [](int i, const std::string& x) {
      return absl::StrCat("s32[50] dynamic-update-slice(", x, ", s32[1] constant({", i, "}), s32[] constant(", i % 60, "))");
    });
  }});
  cases.push_back({"LongComparator", [] {
    std::string body = "  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  x0 = s32[] subtract(a, b)\n";
    for (int i = 0; i < 1000; ++i) absl::StrAppend(&body, "  x", i + 1, " = s32[] ", i % 2 ? "not" : "negate", "(x", i, ")\n");
    return Entry("  x = s32[100] parameter(0)\n  ROOT r = s32[100] sort(x), dimensions={0}, is_stable=true, to_apply=f\n",
                 absl::StrCat("f {\n", body, "  ROOT r = pred[] compare(a, b), direction=LT\n}\n\n"));
  }});
  cases.push_back({"InconsistentComparator", [] {
    // Each element is before each other: any order will do, but the sort must end within its memory.
    return Entry("  x = s32[1000] parameter(0)\n  ROOT r = s32[1000] sort(x), dimensions={0}, is_stable=true, to_apply=f\n",
                 "f {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] constant(true)\n}\n\n");
  }, false});
  cases.push_back({"EmptyEverything", [] {
    return Entry(
        "  x = f32[0,5] parameter(0)\n  y = f32[5,0] parameter(1)\n  z = f32[] constant(3)\n  i = s32[] constant(0)\n"
        "  d = f32[5,5] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  e = f32[0,0] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  r = f32[5] reduce(x, z), dimensions={0}, to_apply=add_f32\n  s = f32[0] reduce(x, z), dimensions={1}, to_apply=add_f32\n"
        "  t = f32[5,0] transpose(x), dimensions={1,0}\n  c = f32[5,0] add(t, y)\n"
        "  p = f32[2,7] pad(x, z), padding=1_1x1_1\n  k = f32[0,10] concatenate(x, x), dimensions={1}\n"
        "  l = f32[0,5] dynamic-slice(x, i, i), dynamic_slice_sizes={0,5}\n  m = f32[0,5] dynamic-update-slice(x, x, i, i)\n"
        "  n = s32[0] iota(), iota_dimension=0\n  q = f32[0,5] sort(x), dimensions={0}, to_apply=less\n"
        "  g = f32[0,0] gather(y, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,0}\n"
        "  h = f32[5,5] scatter(d, n, x), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=add_f32\n"
        "  ROOT o = (f32[5,5], f32[0,0], f32[5], f32[0], f32[5,0], f32[2,7], f32[0,10], f32[0,5], f32[0,5], f32[0,5], f32[0,0], f32[5,5]) "
        "tuple(d, e, r, s, c, p, k, l, m, q, g, h)\n",
        absl::StrCat(kAdd, "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT\n}\n\n"));
  }});
  cases.push_back({"ManyResultsOfOneValue", [] {
    std::string names = "y", shapes = "f32[33]";
    for (int i = 1; i < 1000; ++i) absl::StrAppend(&names, i % 3 ? ", y" : ", x"), absl::StrAppend(&shapes, ", f32[33]");
    return Entry(absl::StrCat("  x = f32[33] parameter(0)\n  y = f32[33] negate(x)\n  ROOT t = (", shapes, ") tuple(", names, ")\n"));
  }});
  return cases;
}

class HostileTest : public ::testing::TestWithParam<Case> {};

TEST_P(HostileTest, CompilesInTimeOrIsRefused) {
  const Case& test_case = GetParam();
  auto module = hlo_text::ParseHloText(test_case.text(), "hostile");
  if (!module.ok()) {
    // Limits of the reader on rank, size and depth are as good a refusal.
    EXPECT_TRUE(test_case.may_be_refused) << module.status();
    return;
  }
  const double start = ProcessorSeconds();
  absl::Status status = cpu::Executable::Compile((*module)->Clone(), {}).status();
  const double seconds = ProcessorSeconds() - start;
  std::printf("%-28s %.3f s %s\n", test_case.name.c_str(), seconds, std::string(status.message()).substr(0, 150).c_str());
  std::fflush(stdout);
  EXPECT_LT(seconds, kMaxSeconds);
  EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
  if (!test_case.runs) return;
  ASSERT_TRUE(status.ok()) << status;
  status = CheckModule(*std::move(module), {}, {}, 1, {});
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Programs, HostileTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kiln::testing
