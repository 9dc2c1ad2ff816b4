// Small MLIR bytecode files made by hand, for tests of what no honest writer would write.
#ifndef KILN_TESTS_FRONTEND_BYTECODE_WRITER_H_
#define KILN_TESTS_FRONTEND_BYTECODE_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

// The shortest form of a variable-length number.
inline std::string Varint(uint64_t value) {
  for (int extra = 0; extra < 8; ++extra) {
    if (extra < 7 ? value >> (7 * (extra + 1)) != 0 : value >> 56 != 0) continue;
    const uint64_t coded = (value << 1 | 1) << extra;
    std::string bytes;
    for (int i = 0; i <= extra; ++i) bytes.push_back(static_cast<char>(coded >> (8 * i)));
    return bytes;
  }
  std::string bytes(1, '\0');
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

inline std::string SectionBytes(int id, const std::string& bytes) {
  return std::string(1, static_cast<char>(id)) + Varint(bytes.size()) + bytes;
}

// A file of container version 6 with the dialect builtin and its op module (op 0). Attribute 0 is the unknown location.
struct BytecodeWriter {
  std::vector<std::string> attributes = {Varint(15)};
  std::vector<std::string> types;
  std::string ir;  // The ops of the top-level block, one.

  // builtin.module with an inline region; `body` is the region's bytes.
  static std::string ModuleOp(const std::string& body) {
    return Varint(0) + '\x10' + Varint(0) + Varint(1 << 1) + body;
  }

  std::string File() const {
    std::string strings = Varint(2) + Varint(7) + Varint(8);  // Lengths in reverse order.
    strings += std::string("builtin\0module\0", 15);
    const std::string dialects = Varint(1) + Varint(0 << 1) + Varint(1) + Varint(0) + Varint(1) + Varint(1 << 1 | 1);
    std::string offsets = Varint(attributes.size()) + Varint(types.size());
    std::string data;
    for (const auto* entries : {&attributes, &types}) {
      if (entries->empty()) continue;
      offsets += Varint(0) + Varint(entries->size());
      for (const std::string& entry : *entries) {
        offsets += Varint(entry.size() << 1 | 1);
        data += entry;
      }
    }
    return std::string("ML\xefR") + Varint(6) + std::string("test\0", 5) + SectionBytes(0, strings) +
           SectionBytes(1, dialects) + SectionBytes(3, offsets) + SectionBytes(2, data) +
           SectionBytes(4, Varint(1 << 1) + ir);
  }
};

}  // namespace kiln

#endif  // KILN_TESTS_FRONTEND_BYTECODE_WRITER_H_
