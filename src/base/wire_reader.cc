#include "src/base/wire_reader.h"

#include <bit>
#include <cstring>

namespace kiln {

bool WireReader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (rest_.empty()) break;
    const uint8_t byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  Update(InvalidArgument("protobuf: a varint that does not end"));
  return false;
}

bool WireReader::Next() {
  if (!status_.ok() || rest_.empty()) return false;
  uint64_t key = 0;
  if (!ReadVarint(&key)) return false;
  if (key >> 3 == 0 || key >> 3 > 0x1fffffff) {
    Update(InvalidArgument("protobuf: bad field number ", key >> 3));
    return false;
  }
  field_ = static_cast<uint32_t>(key >> 3);
  type_ = static_cast<uint32_t>(key & 7);
  number_ = 0;
  bytes_ = {};
  size_t width = 0;
  switch (type_) {
    case kVarint:
      return ReadVarint(&number_);
    case kFixed64:
      width = 8;
      break;
    case kFixed32:
      width = 4;
      break;
    case kBytes: {
      uint64_t size = 0;
      if (!ReadVarint(&size)) return false;
      if (size > rest_.size()) {
        Update(InvalidArgument("protobuf: field ", field_, " of ", size, " bytes where ", rest_.size(), " are left"));
        return false;
      }
      bytes_ = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    default:
      Update(InvalidArgument("protobuf: field ", field_, " has wire type ", type_, ", which is not supported"));
      return false;
  }
  if (rest_.size() < width) {
    Update(InvalidArgument("protobuf: field ", field_, " is cut off"));
    return false;
  }
  std::memcpy(&number_, rest_.data(), width);
  rest_.remove_prefix(width);
  return true;
}

void WireReader::Expect(WireType type) {
  if (type_ != type) Update(InvalidArgument("protobuf: field ", field_, " has wire type ", type_, ", expected ", type));
}

uint64_t WireReader::Uint64() {
  Expect(kVarint);
  return number_;
}

double WireReader::Double() {
  Expect(kFixed64);
  return std::bit_cast<double>(number_);
}

float WireReader::Float() {
  Expect(kFixed32);
  return std::bit_cast<float>(static_cast<uint32_t>(number_));
}

absl::string_view WireReader::Bytes() {
  Expect(kBytes);
  return bytes_;
}

void WireReader::AppendInt64(std::vector<int64_t>* values) {
  if (type_ != kBytes) {
    values->push_back(Int64());
    return;
  }
  if (!AppendPacked(bytes_, values)) Update(InvalidArgument("protobuf: field ", field_, " holds no packed integers"));
}

bool WireReader::AppendPacked(absl::string_view bytes, std::vector<int64_t>* values) {
  WireReader packed(bytes);
  uint64_t value = 0;
  while (!packed.rest_.empty() && packed.ReadVarint(&value)) values->push_back(static_cast<int64_t>(value));
  return packed.status().ok();
}

}  // namespace kiln
