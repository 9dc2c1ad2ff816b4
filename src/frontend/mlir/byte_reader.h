// Reading the primitives of MLIR bytecode from memory that is not trusted.
#ifndef KILN_FRONTEND_MLIR_BYTE_READER_H_
#define KILN_FRONTEND_MLIR_BYTE_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kiln::mlir {

// A cursor over a span of the file. The first failure sticks: every later read returns zero or empty, and counts are
// zero, so that a decoder reads a whole record and checks ok() once before it uses what it read as an index or a size.
class ByteReader {
 public:
  // `base` is the offset of `bytes` in the file: alignments and error messages count from the start of the file.
  ByteReader(absl::string_view bytes, uint64_t base) : bytes_(bytes), base_(base) {}

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status);
  void Fail(absl::string_view message);  // INVALID_ARGUMENT with the file offset.

  uint64_t remaining() const { return bytes_.size() - position_; }
  bool AtEnd() const { return remaining() == 0 || !ok(); }
  uint64_t offset() const { return base_ + position_; }

  uint8_t Byte();
  uint64_t Varint();
  int64_t SignedVarint();
  // v >> 1, with bit 0 in `flag`.
  uint64_t FlaggedVarint(bool& flag);
  // A count of things of at least `least_bytes` each: fails when they cannot fit in what is left.
  uint64_t Count(uint64_t least_bytes = 1);
  uint64_t FlaggedCount(bool& flag);
  absl::string_view Bytes(uint64_t count);
  absl::string_view Blob();            // Varint size, then the bytes.
  absl::string_view NullTerminated();  // Without the zero.
  // Skips padding up to a multiple of `alignment` in the file.
  void Align(uint64_t alignment);
  // Fails when anything is left.
  void ExpectEnd(absl::string_view what);

 private:
  absl::string_view bytes_;
  uint64_t base_ = 0;
  uint64_t position_ = 0;
  absl::Status status_;
};

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_BYTE_READER_H_
