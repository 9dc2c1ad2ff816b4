#include "src/passes/simplify/rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace kiln::passes::simplify {

absl::Span<const RuleGroup> AllRules() {
  static const RuleGroup kGroups[] = {
      {"arithmetic", ArithmeticRules()},
      {"minimum, maximum, clamp", MinMaxRules()},
      {"functions", FunctionRules()},
      {"magnitudes", MagnitudeRules()},
      {"logic", LogicRules()},
      {"compare", CompareRules()},
      {"select", SelectRules()},
      {"convert", ConvertRules()},
      {"reshape", ReshapeRules()},
      {"broadcast", BroadcastRules()},
      {"transpose, reverse, iota", TransposeRules()},
      {"slice", SliceRules()},
      {"slice of results", SliceOfResultRules()},
      {"pad", PadRules()},
      {"dynamic-slice", DynamicSliceRules()},
      {"gather, scatter", GatherScatterRules()},
      {"concatenate", ConcatenateRules()},
      {"reduce", ReduceRules()},
      {"reduce of slices", CoveringSliceRules()},
      {"reduce-window", ReduceWindowRules()},
      {"windows of windows", JoinedWindowRules()},
      {"dot", DotRules()},
      {"dot, joined", JoinedDotRules()},
      {"cholesky", CholeskyRules()},
      {"convolution", ConvolutionRules()},
      {"sort", SortRules()},
      {"control", ControlRules()},
      {"fast math (algebraic-simplifier-fast-math only)", FastMathRules()},
  };
  return kGroups;
}

std::string FormatRules() {
  std::string text;
  size_t count = 0;
  for (const RuleGroup& group : AllRules()) {
    count += group.rules.size();
    absl::StrAppend(&text, group.name, ": ", group.rules.size(), "\n");
    for (const Rule& rule : group.rules) {
      std::vector<absl::string_view> notes;
      for (const Guard& guard : rule.guards) {
        if (guard.text != nullptr) notes.push_back(guard.text);
      }
      std::string line = absl::StrFormat("  %-50s = %s", rule.left, rule.right);
      if (!notes.empty()) absl::StrAppend(&line, "   [", absl::StrJoin(notes, "; "), "]");
      absl::StrAppend(&text, line, "\n");
    }
  }
  return absl::StrCat(text, count, " rules\n");
}

}  // namespace kiln::passes::simplify
