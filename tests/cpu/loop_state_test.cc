// Loops whose state changes places, compiled, against the evaluator: what is moved, made anew, updated in part, and
// handed out twice, over none to nine rounds, alone and inside another loop.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "src/base/thread_pool.h"
#include "src/cpu/array_copy.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/cpu/program_writer.h"

namespace kiln::testing {
namespace {

// Numbers between 0 and 9 say how many rounds there are, so that no pass knows.
std::string WriteLoop(uint64_t seed, int64_t* state_size) {
  Random random(seed);
  const int64_t count = random.In(1, 5), rows = random.Of<int64_t>({3, 16, 37}),
                columns = random.Of<int64_t>({9, 64, 300});
  const std::string array = absl::StrCat("s32[", rows, ",", columns, "]");
  std::vector<std::string> types = {"s32[]", "s32[]"}, names = {"j", "limit"};
  std::string body;
  for (int64_t i = 0; i < count; ++i) types.push_back(array);
  const std::string state = absl::StrCat("(", absl::StrJoin(types, ", "), ")");
  absl::StrAppend(&body, "b {\n  p = ", state, " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n",
                  "  limit = s32[] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n",
                  "  ones = ", array, " broadcast(one), dimensions={}\n");
  for (int64_t i = 0; i < count; ++i) {
    absl::StrAppend(&body, "  x", i, " = ", array, " get-tuple-element(p), index=", i + 2, "\n");
  }
  for (int64_t i = 0; i < count; ++i) {
    const std::string x = absl::StrCat("x", random.In(0, count - 1)), y = absl::StrCat("x", random.In(0, count - 1));
    const std::string made = absl::StrCat("y", i);
    std::string name = made;
    switch (random.In(0, 4)) {
      case 0:
        name = x;
        break;
      case 1:
        absl::StrAppend(&body, "  ", made, "r = ", array, " reverse(", x, "), dimensions={1}\n  ", made, "s = ", array,
                        " add(", made, "r, ", y, ")\n  ", made, " = ", array, " xor(", made, "s, ones)\n");
        break;
      case 2: {
        const std::string box = absl::StrCat("s32[", rows - 1, ",", columns - 4, "]");
        absl::StrAppend(&body, "  ", made, "p = ", box, " slice(", x, "), slice={[1:", rows, "], [4:", columns,
                        "]}\n  ", made, "q = ", box, " slice(", y, "), slice={[0:", rows - 1, "], [0:", columns - 4,
                        "]}\n  ", made, "s = ", box, " subtract(", made, "p, ", made, "q)\n  ", made,
                        "a = s32[] constant(", random.In(-1, 2), ")\n  ", made, "b = s32[] constant(", random.In(0, 5),
                        ")\n  ", made, " = ", array, " dynamic-update-slice(", x, ", ", made, "s, ", made, "a, ", made,
                        "b)\n");
        break;
      }
      case 3: {
        // Borders, one after the other, each of what is beside it now or was before the first.
        std::string last = x;
        for (int64_t n = random.In(1, 3); n > 0; --n) {
          const bool is_row = random.Chance(0.5);
          const int64_t from = random.In(0, is_row ? rows - 1 : columns - 1),
                        to = random.In(0, is_row ? rows - 1 : columns - 1);
          const std::string border = is_row ? absl::StrCat("s32[1,", columns, "]") : absl::StrCat("s32[", rows, ",1]");
          const std::string at = absl::StrCat(made, "n", n);
          const std::string range = absl::StrCat("[", from, ":", from + 1, "]");
          absl::StrAppend(&body, "  ", at, "z = s32[] constant(0)\n  ", at, "t = s32[] constant(", to, ")\n  ", at,
                          "s = ", border, " slice(", random.Chance(0.5) ? x : last, "), slice={",
                          is_row ? absl::StrCat(range, ", [0:", columns, "]") : absl::StrCat("[0:", rows, "], ", range),
                          "}\n  ", at, " = ", array, " dynamic-update-slice(", last, ", ", at, "s, ", at,
                          is_row ? "t, " : "z, ", at, is_row ? "z)\n" : "t)\n");
          last = at;
        }
        name = last;
        break;
      }
      default:
        if (i > 0)
          name = names.back();  // twice the same
        else
          name = x;
    }
    names.push_back(name);
  }
  *state_size = count;
  return absl::StrCat(
      body, "  ROOT r = ", state, " tuple(", absl::StrJoin(names, ", "), ")\n}\nc {\n  p = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n",
      "  limit = s32[] get-tuple-element(p), index=1\n  ROOT r = pred[] compare(i, limit), direction=LT\n}\n",
      "ENTRY main {\n  zero = s32[] constant(0)\n  limit = s32[] parameter(0)\n",
      [&] {
        std::string text;
        std::vector<std::string> start = {"zero", "limit"};
        for (int64_t i = 0; i < count; ++i) {
          absl::StrAppend(&text, "  x", i, " = ", array, " parameter(", i + 1, ")\n");
          start.push_back(absl::StrCat("x", i));
        }
        return absl::StrCat(text, "  start = ", state, " tuple(", absl::StrJoin(start, ", "), ")\n");
      }(),
      "  ROOT w = ", state, " while(start), condition=c, body=b\n}\n");
}

// Calls the loop three times from another one, whose state is the same.
std::string Nested(const std::string& loop) {
  const size_t entry = loop.find("ENTRY main"), state = loop.find("ROOT w = ") + 9;
  const std::string type = loop.substr(state, loop.find(" while", state) - state);
  const std::string outer_type = absl::StrCat("(s32[], ", type, ")");
  std::string text =
      absl::StrCat(loop.substr(0, entry), "outer {\n  p = ", outer_type,
                   " parameter(0)\n  k = s32[] get-tuple-element(p), index=0\n",
                   "  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  m = s32[] add(k, one)\n  q = ", type,
                   " get-tuple-element(p), index=1\n  w = ", type, " while(q), condition=c, body=b\n  again = ", type,
                   " tuple(zero");
  const int64_t leaves = static_cast<int64_t>(std::count(type.begin(), type.end(), '['));
  std::string elements, list;
  for (int64_t leaf = 1; leaf < leaves; ++leaf) {
    const std::string shape =
        leaf == 1 ? "s32[]" : type.substr(type.rfind(", s32[") + 2, type.size() - 3 - type.rfind(", s32["));
    absl::StrAppend(&elements, "  e", leaf, " = ", shape, " get-tuple-element(w), index=", leaf, "\n");
    absl::StrAppend(&list, ", e", leaf);
  }
  text = absl::StrReplaceAll(text, {{absl::StrCat("  again = ", type), absl::StrCat(elements, "  again = ", type)}});
  absl::StrAppend(&text, list, ")\n  ROOT r = ", outer_type, " tuple(m, again)\n}\nouter_c {\n  p = ", outer_type,
                  " parameter(0)\n  k = s32[] get-tuple-element(p), index=0\n  three = s32[] constant(3)\n",
                  "  ROOT r = pred[] compare(k, three), direction=LT\n}\n");
  std::string main = loop.substr(entry);
  const size_t root = main.find("  ROOT w");
  return absl::StrCat(
      text, main.substr(0, root), "  outer_start = ", outer_type, " tuple(zero, start)\n  ow = ", outer_type,
      " while(outer_start), condition=outer_c, body=outer\n  ROOT r = ", type, " get-tuple-element(ow), index=1\n}\n");
}

TEST(LoopStateTest, AgreesWithTheEvaluator) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    int64_t arrays = 0;
    const std::string loop = WriteLoop(seed, &arrays);
    Program program;
    program.text = absl::StrCat("HloModule loop\n\n", seed % 3 == 0 ? Nested(loop) : loop);
    program.data.assign(static_cast<size_t>(arrays) + 1, Data{Data::Kind::kExtremes});
    program.data[0] = Data{Data::Kind::kSmall, 0, 9};
    program.tolerances.assign(static_cast<size_t>(arrays) + 2, Tolerance{});
    CheckOptions options;
    options.threads = static_cast<int>(1 + seed % 2);
    for (uint64_t rounds = 0; rounds < 4; ++rounds) {
      ASSERT_EQ(Check(program, seed * 4 + rounds, options), absl::OkStatus()) << "seed " << seed << "\n"
                                                                              << program.text;
    }
  }
}

// Every order in which five arrays may lie, of which the first's elements are lost.
TEST(LoopStateTest, PutsArraysBack) {
  constexpr int64_t kCount = 5, kBytes = 96;
  ThreadPool pool(1);
  cpu::ProgramContext context;
  context.pool = &pool;
  std::vector<int64_t> order = {0, 1, 2, 3, 4};
  do {
    std::vector<std::vector<char>> memory(kCount, std::vector<char>(kBytes));
    std::vector<void*> pointers(2 * kCount);
    for (size_t i = 0; i < kCount; ++i) {
      pointers[i] = memory[static_cast<size_t>(order[i])].data();
      pointers[kCount + i] = memory[i].data();
      std::memset(pointers[i], static_cast<int>(i), kBytes);
    }
    cpu::PutBack(&context, pointers.data(), kCount, kBytes);
    for (size_t i = 1; i < kCount; ++i) EXPECT_EQ(memory[i], std::vector<char>(kBytes, static_cast<char>(i)));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(LoopStateTest, CopiesAroundABox) {
  ThreadPool pool(1);
  cpu::ProgramContext context;
  context.pool = &pool;
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const int64_t rank = random.In(1, 4), element = random.Of<int64_t>({1, 4, 16});
    std::vector<int64_t> sizes, starts, box_sizes;
    int64_t count = 1;
    for (int64_t d = 0; d < rank; ++d) {
      sizes.push_back(random.In(1, 7));
      starts.push_back(random.In(0, sizes.back()));
      box_sizes.push_back(random.In(0, sizes.back() - starts.back()));
      count *= sizes.back();
    }
    std::vector<int64_t> box = {rank, element};
    for (const std::vector<int64_t>& numbers : {sizes, starts, box_sizes})
      box.insert(box.end(), numbers.begin(), numbers.end());
    const std::vector<char> from(static_cast<size_t>(count * element), 1);
    std::vector<char> to(from.size(), 0);
    cpu::CopyAround(&context, to.data(), from.data(), box.data());
    for (int64_t at = 0; at < count; ++at) {
      bool inside = true;
      for (int64_t d = rank - 1, rest = at; d >= 0; rest /= sizes[static_cast<size_t>(d--)]) {
        const size_t n = static_cast<size_t>(d);
        const int64_t index = rest % sizes[n];
        inside &= starts[n] <= index && index < starts[n] + box_sizes[n];
      }
      for (int64_t byte = 0; byte < element; ++byte) {
        ASSERT_EQ(to[static_cast<size_t>(at * element + byte)], inside ? 0 : 1)
            << absl::StrJoin(box, " ") << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::testing
