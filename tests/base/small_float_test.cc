// Narrow float conversion against the table of ml_dtypes (make_small_float_table.py).
#include "src/base/small_float.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace kiln {
namespace {

struct Format {
  const char* name;
  FloatFormat format;
};

constexpr Format kFormats[] = {
    {"f16", kHalfFormat},
    {"bf16", kBFloat16Format},
    {"f8e5m2", kF8E5M2Format},
    {"f8e4m3", kF8E4M3Format},
    {"f8e3m4", kF8E3M4Format},
    {"f8e4m3fn", kF8E4M3FNFormat},
    {"f8e4m3b11fnuz", kF8E4M3B11FNUZFormat},
    {"f8e5m2fnuz", kF8E5M2FNUZFormat},
    {"f8e4m3fnuz", kF8E4M3FNUZFormat},
    {"f4e2m1fn", kF4E2M1FNFormat},
};

nlohmann::json Table() {
  std::ifstream file(KILN_TEST_DATA "/small_float.json");
  return nlohmann::json::parse(file);
}

uint64_t Hash(const std::vector<double>& values) {
  uint64_t state = 0xCBF29CE484222325;
  for (double value : values) {
    unsigned char bytes[8];
    std::memcpy(bytes, &value, 8);
    for (unsigned char byte : bytes) state = (state ^ byte) * 0x100000001B3;
  }
  return state;
}

template <typename Decode>
void CheckDecode(const nlohmann::json& entry, int codes, const Decode& decode) {
  std::vector<double> values;
  for (int code = 0; code < codes; ++code) {
    const double value = decode(static_cast<uint32_t>(code));
    values.push_back(std::isnan(value) ? -12345.0 : value);
    if (entry["decoded"].is_null()) continue;
    const nlohmann::json& expected = entry["decoded"][code];
    if (expected.is_null()) {
      EXPECT_TRUE(std::isnan(value)) << "code " << code << " is " << value;
    } else if (expected.is_string()) {
      EXPECT_EQ(value, expected == "inf" ? INFINITY : -INFINITY) << "code " << code;
    } else {
      EXPECT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(expected.get<double>())) << "code " << code;
    }
  }
  EXPECT_EQ(std::to_string(Hash(values)), entry["decoded_hash"].get<std::string>());
}

template <typename Encode>
void CheckEncode(const nlohmann::json& entry, const Encode& encode) {
  ASSERT_GT(entry["inputs"].size(), 20u);
  for (size_t i = 0; i < entry["inputs"].size(); ++i) {
    const float value = std::bit_cast<float>(entry["inputs"][i].get<uint32_t>());
    EXPECT_EQ(encode(value), entry["codes"][i].get<uint32_t>()) << std::hexfloat << value << " " << value;
  }
  EXPECT_EQ(encode(std::numeric_limits<double>::quiet_NaN()), entry["nan"].get<uint32_t>());
}

TEST(SmallFloatTest, DecodesEveryCodeAsMlDtypes) {
  const nlohmann::json table = Table();
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    const int bits = 1 + format.format.exponent_bits + format.format.mantissa_bits;
    CheckDecode(table[format.name], 1 << bits, [&](uint32_t code) { return DecodeFloat(format.format, code); });
  }
  CheckDecode(table["f8e8m0fnu"], 256, [](uint32_t code) { return DecodeF8E8M0FNU(static_cast<uint8_t>(code)); });
}

TEST(SmallFloatTest, EncodesAsMlDtypes) {
  const nlohmann::json table = Table();
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    CheckEncode(table[format.name], [&](double value) { return EncodeFloat(format.format, value); });
  }
  SCOPED_TRACE("f8e8m0fnu");
  CheckEncode(table["f8e8m0fnu"], [](double value) { return uint32_t{EncodeF8E8M0FNU(value)}; });
}

TEST(SmallFloatTest, EveryCodeSurvivesTheWayThroughDouble) {
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    const int bits = 1 + format.format.exponent_bits + format.format.mantissa_bits;
    for (uint32_t code = 0; code < (1u << bits); ++code) {
      const double value = DecodeFloat(format.format, code);
      if (!std::isnan(value)) EXPECT_EQ(EncodeFloat(format.format, value), code);
    }
  }
}

TEST(SmallFloatTest, RoundsDoublesOnce) {
  // Just above the midpoint of 1 and the next bf16, by less than a float can tell.
  const double value = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -50);
  EXPECT_EQ(EncodeFloat(kBFloat16Format, value), 0x3F81u);
  EXPECT_EQ(EncodeFloat(kBFloat16Format, 1 + std::ldexp(1.0, -8)), 0x3F80u);
  EXPECT_EQ(EncodeFloat(kHalfFormat, std::numeric_limits<double>::denorm_min()), 0u);
  EXPECT_EQ(EncodeFloat(kHalfFormat, -std::numeric_limits<double>::max()), 0xFC00u);
}

}  // namespace
}  // namespace kiln
