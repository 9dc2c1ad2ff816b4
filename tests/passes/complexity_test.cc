// Time of the whole pipeline over programs that grow: linear, and short for 20,000 instructions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/passes/pipeline.h"
#include "tests/hlo_test_util.h"

namespace kiln::passes {
namespace {

constexpr char kHeader[] =
    "HloModule m\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n";
constexpr char kEntry[] =
    "ENTRY e {\n  x = f32[64] parameter(0)\n  p = pred[] parameter(1)\n  zero = f32[] constant(0)\n";

// ROOT r = add(add(l0, l1), add(l2, l3)), ... of all of `lines`' names: a tree, so that nothing is dead.
std::string SumTree(std::vector<std::string> names, const std::string& shape) {
  std::string text;
  int64_t next = 0;
  while (names.size() > 1) {
    std::vector<std::string> sums;
    for (size_t i = 0; i + 1 < names.size(); i += 2) {
      sums.push_back(absl::StrCat("t", next++));
      absl::StrAppend(&text, "  ", sums.back(), " = ", shape, " add(", names[i], ", ", names[i + 1], ")\n");
    }
    if (names.size() % 2 == 1) sums.push_back(names.back());
    names = std::move(sums);
  }
  return absl::StrCat(text, "  ROOT r = ", shape, " negate(", names[0], ")\n}\n");
}

std::string Chain(int64_t n) {
  std::string text = absl::StrCat(kHeader, kEntry, "  v0 = f32[64] add(x, x)\n");
  const char* const ops[] = {"add(v%, x)", "multiply(v%, v%)", "tanh(v%)", "subtract(x, v%)"};
  for (int64_t i = 0; i < n; ++i) {
    std::string op = ops[i % 4];
    for (size_t at = op.find('%'); at != std::string::npos; at = op.find('%')) op.replace(at, 1, absl::StrCat(i));
    absl::StrAppend(&text, i + 1 == n ? "  ROOT v" : "  v", i + 1, " = f32[64] ", op, "\n");
  }
  return text + "}\n";
}

std::string Wide(int64_t n) {
  std::string text = absl::StrCat(kHeader, kEntry);
  std::vector<std::string> names;
  for (int64_t i = 0; i < n / 4; ++i) {
    absl::StrAppend(&text, "  k", i, " = f32[] constant(", i, ")\n  b", i, " = f32[64] broadcast(k", i,
                    "), dimensions={}\n  v", i, " = f32[64] power(x, b", i, ")\n");
    names.push_back(absl::StrCat("v", i));
  }
  return text + SumTree(names, "f32[64]");
}

std::string Reductions(int64_t n) {
  std::string text = absl::StrCat(kHeader, kEntry, "  v0 = f32[64] add(x, x)\n");
  std::vector<std::string> names;
  for (int64_t i = 0; i < n / 3; ++i) {
    absl::StrAppend(&text, "  v", i + 1, " = f32[64] cosine(v", i, ")\n  s", i, " = f32[] reduce(v", i + 1,
                    ", zero), dimensions={0}, to_apply=sum\n");
    names.push_back(absl::StrCat("s", i));
  }
  return text + SumTree(names, "f32[]");
}

std::string Constants(int64_t n) {
  std::string text = absl::StrCat(kHeader, kEntry);
  std::vector<std::string> names;
  for (int64_t i = 0; i < n / 3; ++i) {
    absl::StrAppend(&text, "  c", i, " = f32[4] constant({", i, ", 1, 2, 3})\n  v", i, " = f32[4] cosine(c", i, ")\n");
    names.push_back(absl::StrCat("v", i));
  }
  return text + SumTree(names, "f32[4]");
}

// One after the other, each with its own body of a counter and an array.
std::string Whiles(int64_t n) {
  std::string bodies, entry = absl::StrCat(kEntry, "  i = s32[] constant(0)\n  v0 = f32[64] add(x, x)\n");
  const int64_t loops = n / 14;
  for (int64_t i = 0; i < loops; ++i) {
    absl::StrAppend(&bodies, "body", i, " {\n  s = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), ",
                    "index=0\n  x = f32[64] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n",
                    "  j = s32[] add(i, one)\n  y = f32[64] cosine(x)\n",
                    "  ROOT t = (s32[], f32[64]) tuple(j, y)\n}\ncond", i,
                    " {\n  s = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
                    "  n = s32[] constant(", 100 + i, ")\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n");
    absl::StrAppend(&entry, "  s", i, " = (s32[], f32[64]) tuple(i, v", i, ")\n  w", i, " = (s32[], f32[64]) while(s",
                    i, "), condition=cond", i, ", body=body", i, "\n", i + 1 == loops ? "  ROOT v" : "  v", i + 1,
                    " = f32[64] get-tuple-element(w", i, "), index=1\n");
  }
  return absl::StrCat(kHeader, bodies, entry, "}\n");
}

// Loops in loops, some hundred levels deep.
std::string NestedWhiles(int64_t n) {
  std::string text =
      absl::StrCat(kHeader,
                   "cond {\n  s = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), "
                   "index=0\n  n = s32[] constant(9)\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n");
  constexpr int64_t kDepth = 100;
  std::string entry = absl::StrCat(kEntry, "  v0 = f32[64] add(x, x)\n  i = s32[] constant(0)\n");
  const int64_t towers = n / 1250;  // of some eleven instructions a level; divides all sizes
  for (int64_t t = 0; t < towers; ++t) {
    for (int64_t d = 0; d < kDepth; ++d) {
      absl::StrAppend(&text, "body", t, "_", d, " {\n  s = (s32[], f32[64]) parameter(0)\n  i = s32[] ",
                      "get-tuple-element(s), index=0\n  x = f32[64] get-tuple-element(s), index=1\n",
                      "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n");
      if (d == 0) {
        absl::StrAppend(&text, "  y = f32[64] cosine(x)\n");
      } else {
        absl::StrAppend(&text, "  z = s32[] constant(0)\n  u = (s32[], f32[64]) tuple(z, x)\n",
                        "  w = (s32[], f32[64]) while(u), condition=cond, body=body", t, "_", d - 1,
                        "\n  v = f32[64] get-tuple-element(w), index=1\n  y = f32[64] add(v, x)\n");
      }
      absl::StrAppend(&text, "  ROOT t = (s32[], f32[64]) tuple(j, y)\n}\n");
    }
    absl::StrAppend(&entry, "  s", t, " = (s32[], f32[64]) tuple(i, v", t, ")\n  w", t, " = (s32[], f32[64]) while(s",
                    t, "), condition=cond, body=body", t, "_", kDepth - 1, "\n  v", t + 1,
                    " = f32[64] get-tuple-element(w", t, "), index=1\n");
  }
  return absl::StrCat(text, entry, "  ROOT r = f32[64] negate(v", towers, ")\n}\n");
}

// Functions that call the one before them, as deep as a module may, and very many calls of one function.
std::string Calls(int64_t n) {
  std::string text = absl::StrCat(kHeader, "f0 {\n  x = f32[64] parameter(0)\n  ROOT r = f32[64] cosine(x)\n}\n");
  const int64_t functions = 400;
  std::string entry = kEntry;
  for (int64_t i = 1; i <= functions; ++i) {
    absl::StrAppend(&text, "f", i, " {\n  x = f32[64] parameter(0)\n  y = f32[64] ", i % 2 ? "sine" : "tanh",
                    "(x)\n  ROOT r = f32[64] call(y), to_apply=f", i - 1, "\n}\n");
  }
  absl::StrAppend(&entry, "  y = f32[64] call(x), to_apply=f", functions, "\n  v0 = f32[64] add(x, y)\n");
  for (int64_t i = 0; i < n / 2; ++i) {
    absl::StrAppend(&entry, "  v", i + 1, " = f32[64] call(v", i, "), to_apply=f0\n");
  }
  return absl::StrCat(text, entry, "  ROOT r = f32[64] negate(v", n / 2, ")\n}\n");
}

// One loop over a state of very many arrays, some of which never change.
std::string DeepState(int64_t n) {
  const int64_t size = n / 6;
  std::vector<std::string> shapes(size + 1, "f32[8]"), start = {"i"}, next = {"j"};
  shapes[0] = "s32[]";
  const std::string shape = absl::StrCat("(", absl::StrJoin(shapes, ", "), ")");
  std::string body = absl::StrCat("body {\n  s = ", shape, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
                                  "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n");
  std::string entry = absl::StrCat(kEntry, "  i = s32[] constant(0)\n  y = f32[8] slice(x), slice={[0:8]}\n"), reads;
  std::vector<std::string> names;
  for (int64_t k = 1; k <= size; ++k) {
    absl::StrAppend(&body, "  x", k, " = f32[8] get-tuple-element(s), index=", k, "\n");
    if (k % 4 != 0) absl::StrAppend(&body, "  y", k, " = f32[8] add(x", k, ", x", k > 1 ? k - 1 : 1, ")\n");
    next.push_back(absl::StrCat(k % 4 != 0 ? "y" : "x", k));
    absl::StrAppend(&entry, "  c", k, " = f32[] constant(", k, ")\n  b", k, " = f32[8] broadcast(c", k,
                    "), dimensions={}\n  a", k, " = f32[8] add(b", k, ", y)\n");
    start.push_back(absl::StrCat("a", k));
    absl::StrAppend(&reads, "  g", k, " = f32[8] get-tuple-element(w), index=", k, "\n");
    names.push_back(absl::StrCat("g", k));
  }
  return absl::StrCat(kHeader, body, "  ROOT t = ", shape, " tuple(", absl::StrJoin(next, ", "),
                      ")\n}\ncond {\n  s = ", shape,
                      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(1000)\n",
                      "  ROOT r = pred[] compare(i, n), direction=LT\n}\n", entry, "  u = ", shape, " tuple(",
                      absl::StrJoin(start, ", "), ")\n  w = ", shape, " while(u), condition=cond, body=body\n", reads,
                      SumTree(names, "f32[8]"));
}

// Branches with operands to sink and code to hoist.
std::string Conditionals(int64_t n) {
  std::string branches, entry = absl::StrCat(kEntry, "  v0 = f32[64] add(x, x)\n");
  for (int64_t i = 0; i < n / 14; ++i) {
    for (const char* op : {"sine", "cosine"}) {
      absl::StrAppend(&branches, op, i,
                      " {\n  s = (f32[64], f32[64]) parameter(0)\n  x = f32[64] get-tuple-element(s), ",
                      "index=0\n  y = f32[64] get-tuple-element(s), index=1\n  z = f32[64] atan2(x, y)\n",
                      "  d = f32[] dot(z, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
                      "  b = f32[64] broadcast(d), dimensions={}\n  ROOT r = f32[64] ", op, "(b)\n}\n");
    }
    absl::StrAppend(&entry, "  e", i, " = f32[64] exponential(v", i, ")\n  s", i, " = (f32[64], f32[64]) tuple(v", i,
                    ", x)\n  u", i, " = (f32[64], f32[64]) tuple(v", i, ", e", i, ")\n  v", i + 1,
                    " = f32[64] conditional(p, s", i, ", u", i, "), true_computation=sine", i,
                    ", false_computation=cosine", i, "\n");
  }
  return absl::StrCat(kHeader, branches, entry, "  ROOT r = f32[64] negate(v", n / 14, ")\n}\n");
}

// Pieces of one wide concatenate, each taken out again.
std::string Slices(int64_t n) {
  const int64_t pieces = n / 2;
  std::string text = absl::StrCat(kHeader, kEntry), slices;
  std::vector<std::string> joined, names;
  for (int64_t i = 0; i < pieces; ++i) {
    absl::StrAppend(&text, "  k", i, " = f32[] constant(", i, ")\n  b", i, " = f32[4] broadcast(k", i,
                    "), dimensions={}\n");
    absl::StrAppend(&slices, "  s", i, " = f32[2] slice(c), slice={[", 4 * i + 1, ":", 4 * i + 3, "]}\n");
    joined.push_back(absl::StrCat("b", i));
    names.push_back(absl::StrCat("s", i));
  }
  return absl::StrCat(text, "  c = f32[", 4 * pieces, "] concatenate(", absl::StrJoin(joined, ", "),
                      "), dimensions={0}\n", slices, SumTree(names, "f32[2]"));
}

// Scatters that all update one value, which one of them may do in place.
std::string Scatters(int64_t n) {
  std::string text = absl::StrCat(kHeader, kEntry, "  i = s32[64] iota(), iota_dimension=0\n  v = f32[64] sine(x)\n",
                                  "  places = s32[64] multiply(i, i)\n");
  std::vector<std::string> names;
  for (int64_t i = 0; i < n / 4; ++i) {
    absl::StrAppend(&text, "  k", i, " = f32[] constant(", i, ")\n  b", i, " = f32[64] broadcast(k", i,
                    "), dimensions={}\n  s", i, " = f32[64] scatter(v, places, b", i,
                    "), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, ",
                    "index_vector_dim=1, to_apply=sum\n");
    names.push_back(absl::StrCat("s", i));
  }
  return text + SumTree(names, "f32[64]");
}

// Many arrays made of nothing, by broadcasts, that one loop changes.
std::string MadeState(int64_t n) {
  const int64_t size = n / 2;
  std::vector<std::string> shapes(size, "f32[8]"), start, next;
  const std::string shape = absl::StrCat("(s32[], ", absl::StrJoin(shapes, ", "), ")");
  std::string body = absl::StrCat("body {\n  s = ", shape, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
                                  "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n");
  std::string entry = absl::StrCat(kEntry, "  i = s32[] constant(0)\n");
  for (int64_t k = 1; k <= size; ++k) {
    absl::StrAppend(&body, "  x", k, " = f32[8] get-tuple-element(s), index=", k, "\n  y", k, " = f32[8] cosine(x", k,
                    ")\n");
    absl::StrAppend(&entry, "  k", k, " = f32[] constant(", k, ")\n  b", k, " = f32[8] broadcast(k", k,
                    "), dimensions={}\n");
    start.push_back(absl::StrCat("b", k));
    next.push_back(absl::StrCat("y", k));
  }
  return absl::StrCat(kHeader, body, "  ROOT t = ", shape, " tuple(j, ", absl::StrJoin(next, ", "),
                      ")\n}\ncond {\n  s = ", shape,
                      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(1000)\n",
                      "  ROOT r = pred[] compare(i, n), direction=LT\n}\n", entry, "  u = ", shape, " tuple(i, ",
                      absl::StrJoin(start, ", "), ")\n  ROOT w = ", shape, " while(u), condition=cond, body=body\n}\n");
}

// One array that all read, with what is made of it read at two places each.
std::string SharedOperand(int64_t n) {
  std::string text = absl::StrCat(kHeader, kEntry, "  y = f32[100000] parameter(2)\n  q = f32[100000] parameter(3)\n");
  std::vector<std::string> values, shapes;
  for (int64_t i = 0; i < n / 6; ++i) {
    absl::StrAppend(&text, "  c", i, " = f32[] constant(", i, ".5)\n  b", i, " = f32[100000] broadcast(c", i,
                    "), dimensions={}\n  m", i, " = f32[100000] multiply(y, b", i, ")\n  s", i,
                    " = f32[100000] subtract(m", i, ", q)\n  e", i, " = f32[100000] exponential(s", i, ")\n  k", i,
                    " = f32[99999] slice(m", i, "), slice={[1:100000]}\n");
    values.insert(values.end(), {absl::StrCat("e", i), absl::StrCat("k", i)});
    shapes.insert(shapes.end(), {"f32[100000]", "f32[99999]"});
  }
  return absl::StrCat(text, "  ROOT r = (", absl::StrJoin(shapes, ", "), ") tuple(", absl::StrJoin(values, ", "),
                      ")\n}\n");
}

// Layers of a network that all read one matrix and are scaled by one number.
std::string Layers(int64_t n) {
  const std::string shape = "f32[512,256]";
  std::string text =
      absl::StrCat(kHeader, "ENTRY e {\n  t0 = ", shape, " parameter(0)\n  w = f32[256,256] parameter(1)\n",
                   "  half = f32[] constant(0.5)\n  b = ", shape, " broadcast(half), dimensions={}\n");
  for (int64_t i = 0; i < n / 3; ++i) {
    absl::StrAppend(&text, "  d", i, " = ", shape, " dot(t", i, ", w), lhs_contracting_dims={1},",
                    " rhs_contracting_dims={0}\n  m", i, " = ", shape, " multiply(d", i, ", b)\n  t", i + 1, " = ",
                    shape, " tanh(m", i, ")\n");
  }
  return absl::StrCat(text, "  ROOT r = ", shape, " negate(t", n / 3, ")\n}\n");
}

struct Form {
  const char* name;
  std::string (*make)(int64_t);
};

class ComplexityTest : public testing::TestWithParam<Form> {};

// Seconds of this thread, the least of some tries: other work on the machine takes its caches.
double Seconds(const Form& form, int64_t size, int tries) {
  auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const std::string text = form.make(size);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries; ++i) {
    const std::unique_ptr<hlo::Module> module = ParseOrDie(text);
    std::vector<PassTiming> timings;
    PipelineOptions options;
    options.verify_each_pass = false;
    const double start = now();
    EXPECT_EQ(RunPipeline(module.get(), CpuPipeline(), options, &timings), absl::OkStatus());
    least = std::min(least, now() - start);
    if (std::getenv("KILN_PRINT_TIMINGS") != nullptr) {
      std::printf("%s of %lld: %.3f s\n%s\n", form.name, static_cast<long long>(size), least,
                  FormatTimings(timings).c_str());
    }
  }
  return least;
}

TEST_P(ComplexityTest, IsLinear) {
  const bool full = std::getenv("KILN_FULL_TESTS") != nullptr;
  const std::vector<int64_t> sizes =
      full ? std::vector<int64_t>{2500, 5000, 10000, 20000} : std::vector<int64_t>{5000, 20000};
  double before = Seconds(GetParam(), sizes[0], 1), seconds = 0;
  for (size_t i = 1; i < sizes.size(); ++i) {
    // Two for every doubling, more where the program leaves the cache; what is quadratic makes four.
    double allowed = std::max(before, 0.01);
    for (int64_t size = sizes[i - 1]; size < sizes[i]; size *= 2) allowed *= 3.4;
    seconds = Seconds(GetParam(), sizes[i], 1);
    if (seconds > allowed) seconds = Seconds(GetParam(), sizes[i], 3);
    EXPECT_LE(seconds, allowed) << sizes[i] << " after " << sizes[i - 1] << " in " << before;
    before = seconds;
  }
#ifdef NDEBUG
  EXPECT_LT(seconds, 2.0);
#endif
}

INSTANTIATE_TEST_SUITE_P(Forms, ComplexityTest,
                         testing::Values(Form{"Chain", Chain}, Form{"Wide", Wide}, Form{"Reductions", Reductions},
                                         Form{"Constants", Constants}, Form{"Whiles", Whiles},
                                         Form{"NestedWhiles", NestedWhiles}, Form{"Calls", Calls},
                                         Form{"DeepState", DeepState}, Form{"Conditionals", Conditionals},
                                         Form{"Slices", Slices}, Form{"MadeState", MadeState},
                                         Form{"Scatters", Scatters}, Form{"SharedOperand", SharedOperand},
                                         Form{"Layers", Layers}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::passes
