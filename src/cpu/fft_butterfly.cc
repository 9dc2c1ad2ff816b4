#include "src/cpu/fft_butterfly.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {
namespace {

using Values = std::vector<ComplexValue>;

ComplexValue Sum(llvm::IRBuilder<>& b, const ComplexValue& x, const ComplexValue& y) {
  return {b.CreateFAdd(x.re, y.re), b.CreateFAdd(x.im, y.im)};
}

ComplexValue Difference(llvm::IRBuilder<>& b, const ComplexValue& x, const ComplexValue& y) {
  return {b.CreateFSub(x.re, y.re), b.CreateFSub(x.im, y.im)};
}

// x exp(-2 pi i k / n).
ComplexValue Turned(llvm::IRBuilder<>& b, const ComplexValue& x, int64_t k, int64_t n) {
  k %= n;
  if (k == 0) return x;
  if (2 * k == n) return {b.CreateFNeg(x.re), b.CreateFNeg(x.im)};
  if (4 * k == n) return {x.im, b.CreateFNeg(x.re)};
  if (4 * k == 3 * n) return {b.CreateFNeg(x.im), x.re};
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  llvm::Constant* re = llvm::ConstantFP::get(x.re->getType(), std::cos(angle));
  if (8 * k == n || 8 * k == 5 * n) {
    return {b.CreateFMul(re, b.CreateFAdd(x.re, x.im)), b.CreateFMul(re, b.CreateFSub(x.im, x.re))};
  }
  if (8 * k == 3 * n || 8 * k == 7 * n) {
    return {b.CreateFMul(re, b.CreateFSub(x.re, x.im)), b.CreateFMul(re, b.CreateFAdd(x.im, x.re))};
  }
  return ComplexProduct(b, x, {re, llvm::ConstantFP::get(x.re->getType(), -std::sin(angle))});
}

// By sums and differences of opposite values.
void OddPrime(llvm::IRBuilder<>& b, Values* values) {
  Values& x = *values;
  const int64_t p = static_cast<int64_t>(x.size()), half = p / 2;
  Values sums, differences, result(p);
  result[0] = x[0];
  for (int64_t j = 1; j <= half; ++j) {
    sums.push_back(Sum(b, x[j], x[p - j]));
    differences.push_back(Difference(b, x[j], x[p - j]));
    result[0] = Sum(b, result[0], sums.back());
  }
  for (int64_t k = 1; k <= half; ++k) {
    ComplexValue even = x[0], odd;
    for (int64_t j = 1; j <= half; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % p) / static_cast<double>(p);
      llvm::Constant* cosine = llvm::ConstantFP::get(x[0].re->getType(), std::cos(angle));
      llvm::Constant* sine = llvm::ConstantFP::get(x[0].re->getType(), std::sin(angle));
      const ComplexValue &sum = sums[j - 1], &difference = differences[j - 1];
      even = Sum(b, even, {b.CreateFMul(cosine, sum.re), b.CreateFMul(cosine, sum.im)});
      const ComplexValue turned = {b.CreateFMul(sine, difference.re), b.CreateFMul(sine, difference.im)};
      odd = j == 1 ? turned : Sum(b, odd, turned);
    }
    result[k] = {b.CreateFAdd(even.re, odd.im), b.CreateFSub(even.im, odd.re)};
    result[p - k] = {b.CreateFSub(even.re, odd.im), b.CreateFAdd(even.im, odd.re)};
  }
  x = std::move(result);
}

// Primes above this one loop over half of their results, since LLVM would take long for all of their products at once.
constexpr int64_t kLargestUnrolledPrime = 13;

// The same by way of the stack.
void LargePrime(llvm::IRBuilder<>& b, Values* values) {
  Values& x = *values;
  const int64_t p = static_cast<int64_t>(x.size()), half = p / 2;
  llvm::Type* type = x[0].re->getType();
  llvm::Type* number = type->getScalarType();
  auto constant = [&](int64_t index) { return b.getInt64(static_cast<uint64_t>(index)); };
  llvm::Value* halves = StackSlot(b, type, 64, constant(4 * half));
  llvm::Value* results = StackSlot(b, type, 64, constant(2 * p));
  auto put = [&](llvm::Value* value, llvm::Value* base, llvm::Value* index) {
    b.CreateStore(value, b.CreateGEP(type, base, index));
  };
  auto get = [&](llvm::Value* base, int64_t index) {
    return b.CreateLoad(type, b.CreateGEP(type, base, constant(index)));
  };
  ComplexValue total = x[0];
  std::vector<llvm::Constant*> roots;
  for (int64_t j = 1; j <= half; ++j) {
    const ComplexValue sum = Sum(b, x[j], x[p - j]), difference = Difference(b, x[j], x[p - j]);
    total = Sum(b, total, sum);
    llvm::Value* const parts[] = {sum.re, sum.im, difference.re, difference.im};
    for (int64_t i = 0; i < 4; ++i) put(parts[i], halves, constant(4 * (j - 1) + i));
    for (int64_t k = 1; k <= half; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % p) / static_cast<double>(p);
      roots.push_back(llvm::ConstantFP::get(number, std::cos(angle)));
      roots.push_back(llvm::ConstantFP::get(number, std::sin(angle)));
    }
  }
  llvm::Constant* data = llvm::ConstantArray::get(llvm::ArrayType::get(number, roots.size()), roots);
  auto* table = new llvm::GlobalVariable(*b.GetInsertBlock()->getModule(), data->getType(), /*isConstant=*/true,
                                         llvm::GlobalValue::PrivateLinkage, data);
  EmitLoop(b, constant(0), constant(half), 1, "prime", [&](llvm::Value* k) {
    ComplexValue even = x[0], odd;
    llvm::Value* row = b.CreateGEP(number, table, b.CreateMul(k, constant(2 * half)));
    for (int64_t j = 0; j < half; ++j) {
      auto root = [&](int64_t i) -> llvm::Value* {
        llvm::Value* scalar = b.CreateLoad(number, b.CreateGEP(number, row, constant(2 * j + i)));
        const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
        return vector == nullptr ? scalar : b.CreateVectorSplat(vector->getNumElements(), scalar);
      };
      llvm::Value *cosine = root(0), *sine = root(1);
      even = Sum(b, even, {b.CreateFMul(cosine, get(halves, 4 * j)), b.CreateFMul(cosine, get(halves, 4 * j + 1))});
      const ComplexValue turned = {b.CreateFMul(sine, get(halves, 4 * j + 2)),
                                   b.CreateFMul(sine, get(halves, 4 * j + 3))};
      odd = j == 0 ? turned : Sum(b, odd, turned);
    }
    // As [k][re, im], from both ends.
    llvm::Value *low = b.CreateShl(b.CreateAdd(k, constant(1)), 1), *high = b.CreateSub(constant(2 * p), low);
    put(b.CreateFAdd(even.re, odd.im), results, low);
    put(b.CreateFSub(even.im, odd.re), results, b.CreateAdd(low, constant(1)));
    put(b.CreateFSub(even.re, odd.im), results, high);
    put(b.CreateFAdd(even.im, odd.re), results, b.CreateAdd(high, constant(1)));
  });
  x[0] = total;
  for (int64_t k = 1; k < p; ++k) x[k] = {get(results, 2 * k), get(results, 2 * k + 1)};
}

// The factor to take out first; n itself for primes.
int64_t FactorOf(int64_t n) {
  if (n % 4 == 0 && n > 4) return 4;
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

}  // namespace

ComplexValue ComplexProduct(llvm::IRBuilder<>& b, const ComplexValue& x, const ComplexValue& y) {
  return {b.CreateFSub(b.CreateFMul(x.re, y.re), b.CreateFMul(x.im, y.im)),
          b.CreateFAdd(b.CreateFMul(x.re, y.im), b.CreateFMul(x.im, y.re))};
}

void EmitButterfly(llvm::IRBuilder<>& b, std::vector<ComplexValue>* values) {
  Values& x = *values;
  const int64_t n = static_cast<int64_t>(x.size());
  if (n == 1) return;
  if (n == 2) {
    x = {Sum(b, x[0], x[1]), Difference(b, x[0], x[1])};
    return;
  }
  const int64_t p = FactorOf(n), q = n / p;
  if (q == 1) return p > kLargestUnrolledPrime ? LargePrime(b, values) : OddPrime(b, values);
  // Coprime factors need no roots between them: elements are numbered by their remainders then.
  const bool coprime = std::gcd(p, q) == 1;
  const auto source = [&](int64_t i, int64_t j) { return coprime ? (i * q + j * p) % n : i * q + j; };
  std::vector<Values> inner(q);
  for (int64_t j = 0; j < q; ++j) {
    for (int64_t i = 0; i < p; ++i) inner[j].push_back(x[source(i, j)]);
    EmitButterfly(b, &inner[j]);
  }
  Values result(n);
  for (int64_t i = 0; i < p; ++i) {
    Values outer;
    for (int64_t j = 0; j < q; ++j) outer.push_back(coprime ? inner[j][i] : Turned(b, inner[j][i], i * j, n));
    EmitButterfly(b, &outer);
    for (int64_t k = 0; k < q; ++k) {
      int64_t at = i + p * k;
      if (coprime) {
        for (at = i; at % q != k; at += p) {
        }
      }
      result[at] = outer[k];
    }
  }
  x = std::move(result);
}

}  // namespace kiln::cpu
