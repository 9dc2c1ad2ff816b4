// Reader of the protobuf wire format: fields one by one, with bounds checked, no schema and no copies.
#ifndef KILN_BASE_WIRE_READER_H_
#define KILN_BASE_WIRE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/base/status.h"

namespace kiln {

// Usage: while (reader.Next()) switch (reader.field()) {...}, then reader.status(). Values of the wrong wire type read
// as zero or empty and make status() an error. Fields that nobody reads are skipped. Views point into the input.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : rest_(bytes) {}

  // Advances to the next field. False at the end or at the first error.
  bool Next();
  uint32_t field() const { return field_; }
  // The value whatever it means: bytes of a length-delimited field, else the bits of a number.
  bool has_bytes() const { return type_ == kBytes; }
  uint64_t bits() const { return number_; }

  uint64_t Uint64();
  int64_t Int64() { return static_cast<int64_t>(Uint64()); }
  bool Bool() { return Uint64() != 0; }
  double Double();
  float Float();
  absl::string_view Bytes();
  std::string String() { return std::string(Bytes()); }
  // A repeated varint field, packed or not: appends this occurrence's values.
  void AppendInt64(std::vector<int64_t>* values);
  // Appends the varints that fill `bytes`; false when they do not end with it.
  static bool AppendPacked(absl::string_view bytes, std::vector<int64_t>* values);

  const absl::Status& status() const { return status_; }
  // Takes over an error of a nested reader.
  void Update(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

 private:
  enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };
  bool ReadVarint(uint64_t* value);
  void Expect(WireType type);

  absl::string_view rest_;
  uint32_t field_ = 0;
  uint32_t type_ = 0;
  uint64_t number_ = 0;      // varint, fixed64 and fixed32
  absl::string_view bytes_;  // length-delimited
  absl::Status status_;
};

}  // namespace kiln

#endif  // KILN_BASE_WIRE_READER_H_
