#include "src/frontend/mlir/byte_reader.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace kiln::mlir {

void ByteReader::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void ByteReader::Fail(absl::string_view message) {
  if (status_.ok()) status_ = InvalidArgument("MLIR bytecode, byte ", offset(), ": ", message);
}

uint8_t ByteReader::Byte() {
  if (!ok()) return 0;
  if (remaining() == 0) {
    Fail("the data ends too early");
    return 0;
  }
  return static_cast<uint8_t>(bytes_[position_++]);
}

uint64_t ByteReader::Varint() {
  const uint8_t first = Byte();
  if (!ok()) return 0;
  if ((first & 1) != 0) return first >> 1;
  const int extra = first == 0 ? 8 : std::countr_zero(first);
  const absl::string_view rest = Bytes(extra);
  if (!ok()) return 0;
  uint64_t value = 0;
  for (int i = extra - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(rest[i]);
  if (extra == 8) return value;
  return value << (7 - extra) | first >> (extra + 1);
}

int64_t ByteReader::SignedVarint() {
  const uint64_t value = Varint();
  return static_cast<int64_t>(value >> 1 ^ -(value & 1));
}

uint64_t ByteReader::FlaggedVarint(bool& flag) {
  const uint64_t value = Varint();
  flag = (value & 1) != 0;
  return value >> 1;
}

uint64_t ByteReader::Count(uint64_t least_bytes) {
  const uint64_t count = Varint();
  if (ok() && count > remaining() / least_bytes) Fail(absl::StrCat("a count of ", count, " exceeds the data left"));
  return ok() ? count : 0;
}

uint64_t ByteReader::FlaggedCount(bool& flag) {
  const uint64_t count = FlaggedVarint(flag);
  if (ok() && count > remaining()) Fail(absl::StrCat("a count of ", count, " exceeds the data left"));
  return ok() ? count : 0;
}

absl::string_view ByteReader::Bytes(uint64_t count) {
  if (ok() && count > remaining()) Fail(absl::StrCat("needs ", count, " bytes, has ", remaining()));
  if (!ok()) return {};
  const absl::string_view result = bytes_.substr(position_, count);
  position_ += count;
  return result;
}

absl::string_view ByteReader::Blob() { return Bytes(Varint()); }

absl::string_view ByteReader::NullTerminated() {
  if (!ok()) return {};
  const size_t end = bytes_.find('\0', position_);
  if (end == absl::string_view::npos) {
    Fail("a text without its terminating zero");
    return {};
  }
  const absl::string_view result = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return result;
}

void ByteReader::Align(uint64_t alignment) {
  if (!ok()) return;
  if (alignment == 0 || !std::has_single_bit(alignment)) return Fail(absl::StrCat("alignment ", alignment));
  const uint64_t past = offset() & (alignment - 1);
  if (past != 0) Bytes(alignment - past);
}

void ByteReader::ExpectEnd(absl::string_view what) {
  if (ok() && remaining() != 0) Fail(absl::StrCat(remaining(), " bytes left after ", what));
}

}  // namespace kiln::mlir
