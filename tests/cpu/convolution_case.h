// A convolution to be compiled, alone or with an op behind it, for tests against the evaluator. Data are small
// integers, so that sums are exact whatever their order.
#ifndef KILN_TESTS_CPU_CONVOLUTION_CASE_H_
#define KILN_TESTS_CPU_CONVOLUTION_CASE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cpu/program_writer.h"

namespace kiln::testing {

// Dimensions as HLO text has them.
struct ConvolutionCase {
  const char* name;
  const char* input;
  const char* kernel;
  const char* output;
  const char* window;
  const char* labels;
  int groups = 1;
};

// Of elements of `type`, to elements of `out`; behind it, an array of them is added and what is below zero left out.
inline Program WriteConvolution(const ConvolutionCase& c, const std::string& type, const std::string& out,
                                bool has_epilogue) {
  const std::string result = absl::StrCat(out, "[", c.output, "]");
  Program program;
  program.text = absl::StrCat("HloModule m\n\nENTRY main {\n  x = ", type, "[", c.input, "] parameter(0)\n  w = ", type,
                              "[", c.kernel, "] parameter(1)\n", has_epilogue ? "  " : "  ROOT ", "y = ", result,
                              " convolution(x, w), window={", c.window, "}, dim_labels=", c.labels,
                              ", feature_group_count=", c.groups, "\n");
  if (has_epilogue) {
    absl::StrAppend(&program.text, "  z = ", result, " parameter(2)\n  s = ", result, " add(y, z)\n  zero = ", out,
                    "[] constant(0)\n  zeros = ", result, " broadcast(zero), dimensions={}\n  ROOT r = ", result,
                    " maximum(s, zeros)\n");
  }
  absl::StrAppend(&program.text, "}\n");
  program.data.assign(has_epilogue ? 3 : 2, Data{});
  program.tolerances = {Tolerance{}};
  return program;
}

}  // namespace kiln::testing

#endif  // KILN_TESTS_CPU_CONVOLUTION_CASE_H_
