// Softmax over the rows of a matrix, written in HLO text and run from C++.
//
//   c++ -std=c++17 -Iinclude -Ic_api examples/cpp/softmax.cc -o softmax -Lbuild -lkiln_pjrt -Wl,-rpath,$PWD/build
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kiln/client.h"

namespace {

constexpr char kProgram[] = R"(
HloModule softmax

maximum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[2,3] parameter(0)
  low = f32[] constant(-inf)
  top = f32[2] reduce(x, low), dimensions={1}, to_apply=maximum
  tops = f32[2,3] broadcast(top), dimensions={0}
  centred = f32[2,3] subtract(x, tops)
  e = f32[2,3] exponential(centred)
  zero = f32[] constant(0)
  total = f32[2] reduce(e, zero), dimensions={1}, to_apply=sum
  totals = f32[2,3] broadcast(total), dimensions={0}
  ROOT y = f32[2,3] divide(e, totals)
}
)";

// The value of a result; ends the program with its message when there is none.
template <typename T>
T Must(kiln::Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "kiln: %s\n", result.status().message().c_str());
  std::exit(1);
}

}  // namespace

int main() {
  const kiln::Client client = Must(kiln::Client::Create());
  const kiln::Function softmax = Must(client.Load(kProgram));
  const std::vector<float> x = {0, 1, 2, 3, 3, 3};
  const kiln::Buffer input = Must(client.MakeBuffer(x, {2, 3}));
  const std::vector<kiln::Buffer> outputs = Must(softmax.Call({&input}));
  const std::vector<float> y = Must(outputs[0].ToVector<float>());
  bool right = true;
  for (int row = 0; row < 2; ++row) {
    float total = 0;
    for (int column = 0; column < 3; ++column) total += std::exp(x[3 * row + column]);
    for (int column = 0; column < 3; ++column) {
      std::printf("%s%.6f", column == 0 ? "" : " ", y[3 * row + column]);
      right &= std::abs(y[3 * row + column] - std::exp(x[3 * row + column]) / total) < 1e-6f;
    }
    std::printf("\n");
  }
  const kiln::Buffer wrong = Must(client.MakeBuffer(std::vector<float>{1, 2}, {2}));
  const kiln::Result<std::vector<kiln::Buffer>> refused = softmax.Call({&wrong});
  std::printf("%s\n", refused.status().message().c_str());
  return right && !refused.ok() ? 0 : 1;
}
