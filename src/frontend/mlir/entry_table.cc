#include "src/frontend/mlir/entry_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace kiln::mlir {
namespace {

// Attributes, types and locations nested deeper are refused: readers and printers recurse over them.
constexpr int kMaxNesting = 400;
// Nodes of one type or attribute when shared parts are counted as often as they are reached.
constexpr uint64_t kMaxTypeWeight = uint64_t{1} << 18;
constexpr uint64_t kMaxAttributeWeight = uint64_t{1} << 24;

}  // namespace

Context& EntryReader::context() { return table_.context(); }

absl::string_view EntryReader::String() {
  const uint64_t index = Varint();
  if (!ok()) return {};
  if (index >= table_.strings().size()) {
    Fail(absl::StrCat("string ", index, " of ", table_.strings().size()));
    return {};
  }
  return table_.strings()[index];
}

TypeRef EntryReader::Type() { return TypeById(Varint()); }
AttributeRef EntryReader::Attribute() { return AttributeById(Varint()); }

AttributeRef EntryReader::OptionalAttribute() {
  bool present = false;
  const uint64_t id = FlaggedVarint(present);
  return present ? AttributeById(id) : nullptr;
}

TypeRef EntryReader::TypeById(uint64_t id) {
  if (!ok()) return context().none_type();
  if (absl::Status status = table_.Resolve(/*is_type=*/true, id); !status.ok()) {
    Fail(std::move(status));
    return context().none_type();
  }
  const EntryTable::Entry& entry = table_.types_[id];
  depth_ = std::max(depth_, entry.depth + 1);
  weight_ += entry.weight;
  return static_cast<TypeRef>(entry.node);
}

AttributeRef EntryReader::AttributeById(uint64_t id) {
  if (!ok()) return context().unit_attribute();
  if (absl::Status status = table_.Resolve(/*is_type=*/false, id); !status.ok()) {
    Fail(std::move(status));
    return context().unit_attribute();
  }
  const EntryTable::Entry& entry = table_.attributes_[id];
  depth_ = std::max(depth_, entry.depth + 1);
  weight_ += entry.weight;
  return static_cast<AttributeRef>(entry.node);
}

std::vector<TypeRef> EntryReader::TypeList() {
  std::vector<TypeRef> list(Count());
  for (TypeRef& element : list) element = Type();
  return list;
}

std::vector<AttributeRef> EntryReader::AttributeList() {
  std::vector<AttributeRef> list(Count());
  for (AttributeRef& element : list) element = Attribute();
  return list;
}

std::vector<int64_t> EntryReader::SignedList() {
  std::vector<int64_t> list(Count());
  for (int64_t& element : list) element = SignedVarint();
  return list;
}

absl::string_view EntryReader::StringAttributeValue() {
  const StringAttribute* string = Attribute()->As<StringAttribute>();
  if (string == nullptr) {
    Fail("expected a string attribute");
    return {};
  }
  return string->value;
}

std::vector<uint64_t> EntryReader::IntegerForm(uint32_t width) {
  if (width <= 8) return {Byte()};
  if (width <= 64) return {static_cast<uint64_t>(SignedVarint())};
  const uint64_t count = Count();
  if (ok() && count > (uint64_t{width} + 63) / 64)
    Fail(absl::StrCat(count, " words for an integer of ", width, " bits"));
  std::vector<uint64_t> words(ok() ? count : 0);
  for (uint64_t& word : words) word = static_cast<uint64_t>(SignedVarint());
  return words;
}

absl::string_view EntryReader::ResourceByHandle(uint64_t handle) {
  if (ok() && handle >= table_.resources_.size()) Fail(absl::StrCat("resource ", handle, " is not in the file"));
  return ok() ? table_.resources_[handle] : absl::string_view();
}

absl::Status EntryTable::Load(ByteReader offsets, absl::string_view data, uint64_t data_base,
                              std::vector<absl::string_view> strings, std::vector<absl::string_view> dialects) {
  strings_ = std::move(strings);
  dialects_ = std::move(dialects);
  data_ = data;
  data_base_ = data_base;
  attributes_.resize(offsets.Count());
  types_.resize(offsets.Count());
  uint64_t offset = 0;
  KILN_RETURN_IF_ERROR(LoadGroups(offsets, attributes_, data.size(), offset));
  KILN_RETURN_IF_ERROR(LoadGroups(offsets, types_, data.size(), offset));
  offsets.ExpectEnd("the attribute and type offsets");
  return offsets.status();
}

absl::Status EntryTable::LoadGroups(ByteReader& offsets, std::vector<Entry>& entries, uint64_t data_size,
                                    uint64_t& offset) {
  size_t next = 0;
  while (next < entries.size() && offsets.ok()) {
    const uint64_t dialect = offsets.Varint();
    const uint64_t count = offsets.Count();
    if (!offsets.ok()) break;
    if (dialect >= dialects_.size()) offsets.Fail(absl::StrCat("dialect ", dialect, " of ", dialects_.size()));
    if (count > entries.size() - next) offsets.Fail("more attribute or type entries than announced");
    for (uint64_t i = 0; i < count && offsets.ok(); ++i) {
      Entry& entry = entries[next++];
      entry.size = offsets.FlaggedVarint(entry.binary);
      entry.offset = offset;
      entry.dialect = static_cast<uint32_t>(dialect);
      if (entry.size > data_size - offset) offsets.Fail("an attribute or type lies outside its section");
      if (offsets.ok()) offset += entry.size;
    }
  }
  return offsets.status();
}

absl::Status EntryTable::Resolve(bool is_type, uint64_t id) {
  std::vector<Entry>& entries = is_type ? types_ : attributes_;
  if (id >= entries.size()) {
    return InvalidArgument("MLIR bytecode: ", is_type ? "type " : "attribute ", id, " of ", entries.size());
  }
  Entry& entry = entries[id];
  if (entry.state == State::kDone) return absl::OkStatus();
  if (entry.state == State::kReading) {
    return InvalidArgument("MLIR bytecode: ", is_type ? "type " : "attribute ", id, " contains itself");
  }
  if (nesting_ >= kMaxNesting) {
    return InvalidArgument("MLIR bytecode: attributes nest deeper than ", kMaxNesting, " levels");
  }
  entry.state = State::kReading;
  ++nesting_;
  EntryReader reader(*this, data_.substr(entry.offset, entry.size), data_base_ + entry.offset);
  absl::Status status = Decode(is_type, entry, reader);
  --nesting_;
  KILN_RETURN_IF_ERROR(status);
  entry.state = State::kDone;
  entry.depth = reader.depth();
  entry.weight = reader.weight();
  if (!is_type && static_cast<AttributeRef>(entry.node)->As<LocationAttribute>() != nullptr) entry.weight = 1;
  if (entry.depth > kMaxNesting || entry.weight > (is_type ? kMaxTypeWeight : kMaxAttributeWeight)) {
    return InvalidArgument("MLIR bytecode: ", is_type ? "type " : "attribute ", id, " is too large: ", entry.weight,
                           " nodes, ", entry.depth, " levels");
  }
  return absl::OkStatus();
}

absl::Status EntryTable::Decode(bool is_type, Entry& entry, EntryReader& reader) {
  const absl::string_view dialect = dialects_[entry.dialect];
  if (!entry.binary) {
    const absl::string_view text = reader.NullTerminated();
    reader.ExpectEnd("an attribute's or a type's text");
    KILN_RETURN_IF_ERROR(reader.status());
    FloatKind kind;
    if (!is_type) {
      entry.node = context_.MakeAttribute(OpaqueAttribute{text});
    } else if (FloatKindFromName(text, kind)) {
      entry.node = context_.MakeType(FloatType{kind});
    } else {
      entry.node = context_.MakeType(OpaqueType{text});
    }
    return absl::OkStatus();
  }
  if (dialect == "builtin") {
    entry.node = is_type ? static_cast<const void*>(ReadBuiltinType(reader)) : ReadBuiltinAttribute(reader);
  } else if (dialect == "vhlo") {
    entry.node = is_type ? static_cast<const void*>(ReadVhloType(reader)) : ReadVhloAttribute(reader);
  } else if (dialect == "sdy" && !is_type) {
    entry.node = ReadSdyAttribute(reader);
  } else {
    return Unimplemented("MLIR bytecode: ", is_type ? "types" : "attributes", " of dialect '", dialect,
                         "' in binary form are not supported; serialize the program as a portable (VHLO) artifact");
  }
  reader.ExpectEnd(is_type ? "a type" : "an attribute");
  KILN_RETURN_IF_ERROR(reader.status());
  if (entry.node == nullptr) return Internal("MLIR bytecode: an entry was not decoded");
  return absl::OkStatus();
}

}  // namespace kiln::mlir
