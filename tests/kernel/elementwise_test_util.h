// Elements of every type as bits, and cases that run one op over planes of them against a reference.
#ifndef KILN_TESTS_KERNEL_ELEMENTWISE_TEST_UTIL_H_
#define KILN_TESTS_KERNEL_ELEMENTWISE_TEST_UTIL_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "llvm/TargetParser/Host.h"
#include "src/base/small_float.h"
#include "src/hlo/elements.h"
#include "tests/kernel/jit_test_util.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::TypeClass;
using Wide = __int128;

// What code is generated for.
struct Configuration {
  int lanes;
  std::string cpu;  // empty: the host
};

inline std::vector<Configuration> Configurations() {
  std::vector<Configuration> configurations = {{1, ""}, {2, ""}, {4, ""}, {16, ""}};
  // Without AVX512 masks, compares and conversions of vectors are quite other code.
  if (llvm::sys::getHostCPUFeatures().lookup("avx2")) configurations.push_back({8, "x86-64-v3"});
  return configurations;
}

inline std::vector<PrimitiveType> TypesOf(std::vector<TypeClass> classes) {
  std::vector<PrimitiveType> types;
  for (int i = 1; i < hlo::kPrimitiveTypeCount; ++i) {
    PrimitiveType type = static_cast<PrimitiveType>(i);
    for (TypeClass c : classes) {
      if (hlo::ClassOf(type) == c) types.push_back(type);
    }
  }
  return types;
}

inline std::string Name(PrimitiveType type) { return std::string(hlo::PrimitiveTypeName(type)); }
inline std::string Name(Opcode opcode) { return std::string(hlo::OpcodeName(opcode)); }

// Elements as the bits they have in memory.
using Plane = std::vector<uint64_t>;

inline std::vector<uint8_t> Pack(PrimitiveType type, const Plane& bits) {
  const int size = hlo::ByteWidth(hlo::ComplexComponentType(type));
  std::vector<uint8_t> bytes(bits.size() * size);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bytes[i * size], &bits[i], size);
  return bytes;
}

inline Plane Unpack(PrimitiveType type, const std::vector<uint8_t>& bytes) {
  const int size = hlo::ByteWidth(hlo::ComplexComponentType(type));
  Plane bits(bytes.size() / size);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], &bytes[i * size], size);
  return bits;
}

// The number in `value` modulo the type's width, extended to its bytes as in memory.
inline uint64_t FromInteger(PrimitiveType type, Wide value) {
  const int bits = hlo::BitWidth(type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  uint64_t raw = static_cast<uint64_t>(value) & mask;
  if (bits < 8 && hlo::ClassOf(type) == TypeClass::kSigned && (raw >> (bits - 1))) raw |= 0xff & ~mask;
  return raw;
}

inline Wide ToInteger(PrimitiveType type, uint64_t bits) {
  const int width = hlo::ByteWidth(type) * 8;
  if (hlo::ClassOf(type) != TypeClass::kSigned) return bits;
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

inline double ToReal(PrimitiveType type, uint64_t bits) {
  if (type == PrimitiveType::kF64 || type == PrimitiveType::kC128) return std::bit_cast<double>(bits);
  if (type == PrimitiveType::kF32 || type == PrimitiveType::kC64)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == PrimitiveType::kF8E8M0FNU) return DecodeF8E8M0FNU(static_cast<uint8_t>(bits));
  return DecodeFloat(*hlo::NarrowFormat(type), static_cast<uint32_t>(bits));
}

inline uint64_t FromReal(PrimitiveType type, double value) {
  if (type == PrimitiveType::kF64 || type == PrimitiveType::kC128) return std::bit_cast<uint64_t>(value);
  if (type == PrimitiveType::kF32 || type == PrimitiveType::kC64)
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == PrimitiveType::kF8E8M0FNU) return EncodeF8E8M0FNU(value);
  return EncodeFloat(*hlo::NarrowFormat(type), value);
}

inline bool Same(PrimitiveType type, uint64_t got, uint64_t want) {
  if (got == want) return true;
  const TypeClass c = hlo::ClassOf(type);
  return (c == TypeClass::kFloat || c == TypeClass::kComplex) && std::isnan(ToReal(type, got)) &&
         std::isnan(ToReal(type, want));
}

// Random elements of a type with its edges at the front.
inline Plane Elements(PrimitiveType type, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Plane plane;
  const TypeClass c = hlo::ClassOf(type);
  const PrimitiveType part = hlo::ComplexComponentType(type);
  if (c == TypeClass::kPred) {
    while (static_cast<int>(plane.size()) < count) plane.push_back(random() & 1);
    return plane;
  }
  const int bits = hlo::BitWidth(part);
  if (c == TypeClass::kSigned || c == TypeClass::kUnsigned) {
    for (Wide edge : {Wide{0}, Wide{1}, Wide{-1}, Wide{2}, Wide{3}, Wide{-3}, Wide{7}, Wide{1} << (bits - 1),
                      (Wide{1} << (bits - 1)) - 1, (Wide{1} << (bits - 1)) + 1, Wide{bits}, Wide{bits - 1}}) {
      plane.push_back(FromInteger(type, edge));
    }
    while (static_cast<int>(plane.size()) < count) {
      // All magnitudes.
      plane.push_back(FromInteger(type, static_cast<int64_t>(random()) >> (random() % 64)));
    }
  } else {
    const double inf = std::numeric_limits<double>::infinity();
    for (double edge : {0.0,          -0.0,          1.0,          -1.0,   inf,    -inf,   std::nan(""), 0.5,
                        -0.5,         1.5,           2.5,          -2.5,   3e-45,  1e-320, 65519.0,      65520.0,
                        2147483647.0, -2147483649.0, 4294967296.0, 9.3e18, 1.9e19, -1e30,  127.5,        255.5}) {
      plane.push_back(FromReal(part, edge));
    }
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    while (static_cast<int>(plane.size()) < count) {
      const double moderate = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -60);
      plane.push_back((random() & 1) ? random() & mask : FromReal(part, moderate));
    }
  }
  std::shuffle(plane.begin(), plane.end(), random);
  plane.resize(count);
  return plane;
}

// Two planes with all pairs of the codes of narrow types, random ones of others.
inline std::pair<Plane, Plane> Pairs(PrimitiveType type, int count) {
  const int bits = hlo::BitWidth(type);
  if (bits > 8 || hlo::ClassOf(type) == TypeClass::kPred) return {Elements(type, count, 1), Elements(type, count, 2)};
  Plane x, y;
  for (int i = 0; i < 1 << bits; ++i) {
    for (int j = 0; j < 1 << bits; ++j) {
      const bool integral = hlo::IsIntegral(type);
      x.push_back(integral ? FromInteger(type, i) : i);
      y.push_back(integral ? FromInteger(type, j) : j);
    }
  }
  while (x.size() % 16 != 0) x.push_back(x[0]), y.push_back(y[0]);
  return {x, y};
}

struct Case {
  std::string name;
  const hlo::Instruction* instruction;
  std::vector<Plane> operands;                                   // one per operand part
  std::function<std::vector<uint64_t>(size_t index)> reference;  // one per result part
};

inline void RunCases(const std::vector<Case>& cases, const Configuration& configuration) {
  const int lanes = configuration.lanes;
  ElementwiseJit jit(lanes, Target::kCpu, configuration.cpu);
  for (const Case& c : cases) {
    absl::Status added = jit.Add(c.name, *c.instruction);
    ASSERT_TRUE(added.ok()) << c.name << ": " << added;
  }
  absl::Status compiled = jit.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (const Case& c : cases) {
    const PrimitiveType to = c.instruction->shape().element_type();
    const int parts = hlo::ClassOf(to) == TypeClass::kComplex ? 2 : 1;
    const size_t count = c.operands[0].size();
    std::vector<std::vector<uint8_t>> inputs, outputs(parts);
    size_t plane = 0;
    for (const hlo::Instruction* operand : c.instruction->operands()) {
      const PrimitiveType type = operand->shape().element_type();
      const int operand_parts = hlo::ClassOf(type) == TypeClass::kComplex ? 2 : 1;
      for (int p = 0; p < operand_parts; ++p) inputs.push_back(Pack(type, c.operands[plane++]));
    }
    std::vector<const void*> operand_pointers;
    std::vector<void*> result_pointers;
    for (const auto& input : inputs) operand_pointers.push_back(input.data());
    for (auto& output : outputs) {
      output.resize(count * hlo::ByteWidth(hlo::ComplexComponentType(to)));
      result_pointers.push_back(output.data());
    }
    absl::Status run = jit.Run(c.name, operand_pointers, result_pointers, static_cast<int64_t>(count));
    ASSERT_TRUE(run.ok()) << run;
    int failures = 0;
    for (int p = 0; p < parts; ++p) {
      Plane got = Unpack(to, outputs[p]);
      for (size_t i = 0; i < count; ++i) {
        const uint64_t want = c.reference(i)[p];
        if (Same(to, got[i], want)) continue;
        if (++failures > 2) continue;
        std::string arguments;
        for (const Plane& operand : c.operands) absl::StrAppend(&arguments, " 0x", absl::Hex(operand[i]));
        ADD_FAILURE() << c.name << " x" << lanes << configuration.cpu << " of" << arguments << ": got 0x" << std::hex
                      << got[i] << ", expected 0x" << want;
      }
    }
    EXPECT_EQ(failures, 0) << c.name << " x" << lanes << configuration.cpu;
  }
}

}  // namespace kiln::kernel

#endif  // KILN_TESTS_KERNEL_ELEMENTWISE_TEST_UTIL_H_
