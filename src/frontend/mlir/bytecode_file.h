// The container of an MLIR bytecode file: header, sections, strings, dialects and op names.
#ifndef KILN_FRONTEND_MLIR_BYTECODE_FILE_H_
#define KILN_FRONTEND_MLIR_BYTECODE_FILE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/mlir/byte_reader.h"
#include "src/frontend/mlir/entry_table.h"

namespace kiln::mlir {

inline constexpr uint64_t kNewestBytecodeVersion = 6;

enum SectionId : uint8_t {
  kStringSection = 0,
  kDialectSection = 1,
  kAttributeTypeSection = 2,
  kAttributeTypeOffsetSection = 3,
  kIrSection = 4,
  kResourceSection = 5,
  kResourceOffsetSection = 6,
  kDialectVersionSection = 7,
  kPropertiesSection = 8,
};

struct Section {
  uint8_t id = 0;
  absl::string_view bytes;
  uint64_t offset = 0;  // In the file.

  ByteReader Reader() const { return ByteReader(bytes, offset); }
};

struct OpName {
  absl::string_view dialect;
  absl::string_view name;  // Without the dialect.
};

// Views point into the file's bytes.
struct BytecodeFile {
  uint64_t version = 0;
  absl::string_view producer;
  std::array<std::optional<Section>, 9> sections;
  std::vector<absl::string_view> strings;
  std::vector<absl::string_view> dialects;
  std::vector<OpName> op_names;
  std::vector<Section> properties;                   // One per entry of the properties section.
  std::vector<absl::string_view> builtin_resources;  // By handle.
};

// Reads everything but attributes, types and IR.
absl::StatusOr<BytecodeFile> ReadBytecodeFile(absl::string_view bytes);

// Reads one section header and takes its bytes.
Section ReadSection(ByteReader& reader);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_BYTECODE_FILE_H_
