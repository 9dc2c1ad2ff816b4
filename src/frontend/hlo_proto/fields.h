// A protobuf message as its fields, for readers that look fields up by number.
#ifndef KILN_FRONTEND_HLO_PROTO_FIELDS_H_
#define KILN_FRONTEND_HLO_PROTO_FIELDS_H_

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/base/wire_reader.h"

namespace kiln::hlo_proto {

// Borrows the bytes. Absent fields read as zero and empty. A field of the wrong wire type reads so too, and makes
// status() an error.
class Fields {
 public:
  explicit Fields(absl::string_view bytes) {
    WireReader reader(bytes);
    while (reader.Next()) {
      entries_.push_back({reader.field(), reader.has_bytes(), reader.has_bytes() ? 0 : reader.bits(),
                          reader.has_bytes() ? reader.Bytes() : absl::string_view()});
    }
    status_ = reader.status();
  }

  const absl::Status& status() const { return status_; }
  bool Has(uint32_t field) const { return Last(field) != nullptr; }
  int64_t Int(uint32_t field) const { return static_cast<int64_t>(Number(field)); }
  bool Bool(uint32_t field) const { return Number(field) != 0; }
  double Double(uint32_t field) const { return std::bit_cast<double>(Number(field)); }
  float Float(uint32_t field) const { return std::bit_cast<float>(static_cast<uint32_t>(Number(field))); }
  absl::string_view Bytes(uint32_t field) const {
    const Entry* entry = Last(field);
    if (entry == nullptr) return {};
    if (!entry->has_bytes) Fail(field, "a number");
    return entry->bytes;
  }
  std::string String(uint32_t field) const { return std::string(Bytes(field)); }
  // A message; empty when absent.
  Fields Message(uint32_t field) const { return Fields(Bytes(field)); }
  // All occurrences of a message or string.
  std::vector<absl::string_view> All(uint32_t field) const {
    std::vector<absl::string_view> all;
    for (const Entry& entry : entries_) {
      if (entry.field != field) continue;
      if (!entry.has_bytes) Fail(field, "a number");
      all.push_back(entry.bytes);
    }
    return all;
  }
  // A list of integers, packed or not.
  std::vector<int64_t> Ints(uint32_t field) const {
    std::vector<int64_t> values;
    for (const Entry& entry : entries_) {
      if (entry.field != field) continue;
      if (!entry.has_bytes) {
        values.push_back(static_cast<int64_t>(entry.number));
      } else if (!WireReader::AppendPacked(entry.bytes, &values)) {
        Fail(field, "no packed integers");
      }
    }
    return values;
  }

 private:
  struct Entry {
    uint32_t field;
    bool has_bytes;
    uint64_t number;
    absl::string_view bytes;
  };
  const Entry* Last(uint32_t field) const {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (entry->field == field) return &*entry;
    }
    return nullptr;
  }
  uint64_t Number(uint32_t field) const {
    const Entry* entry = Last(field);
    if (entry != nullptr && entry->has_bytes) Fail(field, "bytes");
    return entry == nullptr ? 0 : entry->number;
  }
  void Fail(uint32_t field, absl::string_view found) const {
    if (status_.ok()) status_ = InvalidArgument("protobuf: field ", field, " holds ", found);
  }

  std::vector<Entry> entries_;
  mutable absl::Status status_;
};

}  // namespace kiln::hlo_proto

#endif  // KILN_FRONTEND_HLO_PROTO_FIELDS_H_
