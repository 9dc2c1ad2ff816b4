#include "src/passes/counter_random.h"

namespace kiln::passes {
namespace {

ArrayValue Low(const ArrayValue& wide) { return wide.Convert(PrimitiveType::kU32); }
ArrayValue High(const ArrayValue& wide) { return (wide >> 32).Convert(PrimitiveType::kU32); }
ArrayValue Join(const ArrayValue& low, const ArrayValue& high) {
  return low.Convert(PrimitiveType::kU64) | (high.Convert(PrimitiveType::kU64) << 32);
}
ArrayValue Rotate(const ArrayValue& x, int64_t bits) { return (x << bits) | (x >> (32 - bits)); }

}  // namespace

ArrayValue ThreeFryBits(const ArrayValue& key, const ArrayValue& counter) {
  constexpr int64_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  constexpr int64_t kParity = 0x1BD11BDA;
  const ArrayValue first = Low(key), second = High(key);
  const ArrayValue keys[3] = {first, second, first ^ second ^ first.Number(kParity)};
  ArrayValue x = Low(counter) + keys[0], y = High(counter) + keys[1];
  for (int64_t group = 0; group < 5; ++group) {
    for (int64_t rotation : kRotations[group % 2]) {
      x = x + y;
      y = Rotate(y, rotation) ^ x;
    }
    x = x + keys[(group + 1) % 3];
    const ArrayValue& last = keys[(group + 2) % 3];
    y = y + (last + last.Number(group + 1));
  }
  return Join(x, y);
}

std::array<ArrayValue, 2> PhiloxBits(const ArrayValue& key, const ArrayValue& low, const ArrayValue& high) {
  constexpr int64_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr int64_t kKeySteps[2] = {0x9E3779B9, 0xBB67AE85};
  std::array<ArrayValue, 4> x = {Low(low), High(low), Low(high), High(high)};
  ArrayValue keys[2] = {Low(key), High(key)};
  for (int round = 0; round < 10; ++round) {
    auto product = [](int64_t factor, const ArrayValue& word) {
      const ArrayValue wide = word.Convert(PrimitiveType::kU64);
      return wide * wide.Number(factor);
    };
    const ArrayValue a = product(kMultipliers[0], x[0]), b = product(kMultipliers[1], x[2]);
    x = {High(b) ^ x[1] ^ keys[0], Low(b), High(a) ^ x[3] ^ keys[1], Low(a)};
    for (int i = 0; i < 2; ++i) keys[i] = keys[i] + keys[i].Number(kKeySteps[i]);
  }
  return {Join(x[0], x[1]), Join(x[2], x[3])};
}

}  // namespace kiln::passes
