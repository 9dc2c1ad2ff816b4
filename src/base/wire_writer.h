// Writer of the protobuf wire format. Fields may come in any order; absent fields read as zero or empty.
#ifndef KILN_BASE_WIRE_WRITER_H_
#define KILN_BASE_WIRE_WRITER_H_

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace kiln {

// Appends fields to its bytes. Zero and empty values of single fields are left out, as proto3 does.
class WireWriter {
 public:
  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

  void Int64(uint32_t field, int64_t value) {
    if (value == 0) return;
    Key(field, 0);
    Varint(static_cast<uint64_t>(value));
  }
  void Bool(uint32_t field, bool value) { Int64(field, value ? 1 : 0); }
  void Float(uint32_t field, float value) {
    if (value == 0) return;
    Key(field, 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Double(uint32_t field, double value) {
    if (value == 0) return;
    Key(field, 1);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void String(uint32_t field, absl::string_view value) {
    if (!value.empty()) Element(field, value);
  }
  // A submessage or a repeated string or bytes field, written even when empty.
  void Element(uint32_t field, absl::string_view value) {
    Key(field, 2);
    Varint(value.size());
    bytes_.append(value);
  }
  void Message(uint32_t field, const WireWriter& message) { Element(field, message.bytes_); }
  // A packed list of integers (signed values take ten bytes when negative, as int32 and int64 do).
  template <typename List>
  void Integers(uint32_t field, const List& values) {
    if (std::begin(values) == std::end(values)) return;
    WireWriter packed;
    for (const auto value : values) packed.Varint(static_cast<uint64_t>(static_cast<int64_t>(value)));
    Message(field, packed);
  }
  // map<string, string>
  template <typename Map>
  void StringMap(uint32_t field, const Map& map) {
    for (const auto& [key, value] : map) {
      WireWriter entry;
      entry.String(1, key);
      entry.String(2, value);
      Message(field, entry);
    }
  }

 private:
  void Key(uint32_t field, uint32_t type) { Varint(uint64_t{field} << 3 | type); }
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace kiln

#endif  // KILN_BASE_WIRE_WRITER_H_
