#include "src/frontend/mlir/bytecode_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace kiln::mlir {
namespace {

constexpr absl::string_view kMagic("ML\xefR", 4);

absl::Status ReadStrings(ByteReader reader, std::vector<absl::string_view>& strings) {
  // Lengths stand in reverse order.
  std::vector<uint64_t> lengths(reader.Count());
  for (size_t i = lengths.size(); i > 0; --i) lengths[i - 1] = reader.Varint();
  strings.reserve(lengths.size());
  for (uint64_t length : lengths) {
    const absl::string_view text = reader.Bytes(length);
    if (reader.ok() && (text.empty() || text.back() != '\0')) reader.Fail("a string without its terminating zero");
    if (!reader.ok()) break;
    strings.push_back(text.substr(0, text.size() - 1));
  }
  reader.ExpectEnd("the strings");
  return reader.status();
}

absl::string_view StringAt(ByteReader& reader, const BytecodeFile& file, uint64_t index) {
  if (reader.ok() && index >= file.strings.size()) {
    reader.Fail(absl::StrCat("string ", index, " of ", file.strings.size()));
  }
  return reader.ok() ? file.strings[index] : absl::string_view();
}

absl::Status ReadDialects(ByteReader reader, BytecodeFile& file) {
  const uint64_t count = reader.Count();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    bool has_version = false;
    const uint64_t name = file.version >= 1 ? reader.FlaggedVarint(has_version) : reader.Varint();
    file.dialects.push_back(StringAt(reader, file, name));
    // A dialect's own version bytes: VHLO artifacts have none, and nothing else needs them.
    if (has_version && ReadSection(reader).id != kDialectVersionSection) reader.Fail("expected a dialect version");
  }
  const uint64_t announced = file.version >= 4 ? reader.Count() : 0;
  file.op_names.reserve(announced);
  while (!reader.AtEnd()) {
    const uint64_t dialect = reader.Varint();
    const uint64_t ops = reader.Count();
    if (reader.ok() && dialect >= file.dialects.size()) reader.Fail("an op name of an unknown dialect");
    for (uint64_t i = 0; i < ops && reader.ok(); ++i) {
      bool registered = false;
      const uint64_t name = file.version >= 5 ? reader.FlaggedVarint(registered) : reader.Varint();
      file.op_names.push_back({file.dialects[dialect], StringAt(reader, file, name)});
    }
  }
  return reader.status();
}

absl::Status ReadProperties(ByteReader reader, std::vector<Section>& properties) {
  const uint64_t count = reader.Count();
  properties.reserve(count);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const uint64_t size = reader.Varint();
    const uint64_t offset = reader.offset();
    properties.push_back({kPropertiesSection, reader.Bytes(size), offset});
  }
  reader.ExpectEnd("the properties");
  return reader.status();
}

absl::Status ReadResources(ByteReader offsets, ByteReader data, BytecodeFile& file) {
  const uint64_t external = offsets.Varint();
  for (uint64_t group = 0; !offsets.AtEnd(); ++group) {
    const uint64_t key = offsets.Varint();
    const uint64_t count = offsets.Count(3);
    const bool is_builtin =
        group >= external && offsets.ok() && key < file.dialects.size() && file.dialects[key] == "builtin";
    for (uint64_t i = 0; i < count && offsets.ok(); ++i) {
      absl::string_view resource;
      StringAt(offsets, file, offsets.Varint());  // Its name.
      const uint64_t size = offsets.Varint();
      const uint8_t kind = offsets.Byte();
      const uint64_t base = data.offset();
      ByteReader entry(data.Bytes(size), base);
      if (kind == 0) {
        const uint64_t alignment = entry.Varint();
        const uint64_t bytes = entry.Varint();
        entry.Align(alignment);
        resource = entry.Bytes(bytes);
        KILN_RETURN_IF_ERROR(entry.status());
      }
      if (is_builtin && offsets.ok() && data.ok()) file.builtin_resources.push_back(resource);
    }
    KILN_RETURN_IF_ERROR(data.status());
  }
  return offsets.status();
}

}  // namespace

Section ReadSection(ByteReader& reader) {
  Section section;
  const uint8_t id = reader.Byte();
  const uint64_t length = reader.Varint();
  if ((id & 0x80) != 0) reader.Align(reader.Varint());
  section.id = id & 0x7f;
  section.offset = reader.offset();
  section.bytes = reader.Bytes(length);
  return section;
}

absl::StatusOr<BytecodeFile> ReadBytecodeFile(absl::string_view bytes) {
  ByteReader reader(bytes, 0);
  BytecodeFile file;
  if (reader.Bytes(kMagic.size()) != kMagic)
    return InvalidArgument("not MLIR bytecode: the first bytes are not ML\\xEFR");
  file.version = reader.Varint();
  file.producer = reader.NullTerminated();
  KILN_RETURN_IF_ERROR(reader.status());
  if (file.version > kNewestBytecodeVersion) {
    return InvalidArgument("MLIR bytecode version ", file.version, " is newer than ", kNewestBytecodeVersion,
                           ", the newest that is read");
  }
  while (!reader.AtEnd()) {
    const Section section = ReadSection(reader);
    KILN_RETURN_IF_ERROR(reader.status());
    if (section.id >= file.sections.size()) return InvalidArgument("MLIR bytecode: unknown section ", section.id);
    if (file.sections[section.id].has_value()) {
      return InvalidArgument("MLIR bytecode: section ", section.id, " stands twice");
    }
    file.sections[section.id] = section;
  }
  for (SectionId id :
       {kStringSection, kDialectSection, kAttributeTypeSection, kAttributeTypeOffsetSection, kIrSection}) {
    if (!file.sections[id].has_value()) return InvalidArgument("MLIR bytecode: section ", int{id}, " is missing");
  }
  KILN_RETURN_IF_ERROR(ReadStrings(file.sections[kStringSection]->Reader(), file.strings));
  KILN_RETURN_IF_ERROR(ReadDialects(file.sections[kDialectSection]->Reader(), file));
  if (file.sections[kPropertiesSection].has_value()) {
    KILN_RETURN_IF_ERROR(ReadProperties(file.sections[kPropertiesSection]->Reader(), file.properties));
  }
  if (file.sections[kResourceOffsetSection].has_value()) {
    const ByteReader data = file.sections[kResourceSection].has_value() ? file.sections[kResourceSection]->Reader()
                                                                        : ByteReader(absl::string_view(), 0);
    KILN_RETURN_IF_ERROR(ReadResources(file.sections[kResourceOffsetSection]->Reader(), data, file));
  }
  return file;
}

}  // namespace kiln::mlir
