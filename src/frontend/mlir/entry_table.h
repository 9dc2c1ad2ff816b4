// The attribute and type tables of a bytecode file, decoded on demand.
#ifndef KILN_FRONTEND_MLIR_ENTRY_TABLE_H_
#define KILN_FRONTEND_MLIR_ENTRY_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/frontend/mlir/byte_reader.h"
#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

class EntryTable;

// A ByteReader that resolves references to strings, types and attributes. After a failure, references read as
// the context's none type and unit attribute: never null.
class EntryReader : public ByteReader {
 public:
  EntryReader(EntryTable& table, absl::string_view bytes, uint64_t base) : ByteReader(bytes, base), table_(table) {}

  Context& context();
  absl::string_view String();
  TypeRef Type();
  AttributeRef Attribute();
  AttributeRef OptionalAttribute();  // Flagged varint; null when absent.
  TypeRef TypeById(uint64_t id);
  AttributeRef AttributeById(uint64_t id);
  std::vector<TypeRef> TypeList();
  std::vector<AttributeRef> AttributeList();
  std::vector<int64_t> SignedList();
  // A string reference through an attribute: the text of a StringAttribute.
  absl::string_view StringAttributeValue();
  // The integer form of `width` bits; words low first.
  std::vector<uint64_t> IntegerForm(uint32_t width);
  // The bytes of a resource, as dense_resource attributes name it.
  absl::string_view ResourceByHandle(uint64_t handle);

  // How deep the entry read so far nests, and how many nodes it has with sharing expanded (locations count as one).
  uint32_t depth() const { return depth_; }
  uint64_t weight() const { return weight_; }

 private:
  friend class EntryTable;
  EntryTable& table_;
  uint32_t depth_ = 1;
  uint64_t weight_ = 1;
};

class EntryTable {
 public:
  explicit EntryTable(Context& context) : context_(context) {}
  EntryTable(const EntryTable&) = delete;
  EntryTable& operator=(const EntryTable&) = delete;

  // Reads the offset section; `data` is the attribute/type data section and `data_base` its file offset. All views must
  // live as long as the context. `dialects` are names by index.
  absl::Status Load(ByteReader offsets, absl::string_view data, uint64_t data_base,
                    std::vector<absl::string_view> strings, std::vector<absl::string_view> dialects);
  void SetBuiltinResources(std::vector<absl::string_view> resources) { resources_ = std::move(resources); }

  Context& context() { return context_; }
  const std::vector<absl::string_view>& strings() const { return strings_; }

 private:
  friend class EntryReader;
  enum class State : uint8_t { kUnread, kReading, kDone };
  struct Entry {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint32_t dialect = 0;
    bool binary = false;
    State state = State::kUnread;
    uint32_t depth = 0;
    uint64_t weight = 0;
    const void* node = nullptr;  // A Type or an Attribute, by the vector it stands in.
  };
  absl::Status LoadGroups(ByteReader& offsets, std::vector<Entry>& entries, uint64_t data_size, uint64_t& offset);
  // Decodes entry `id` when it is not yet; recursion passes through here and is bounded.
  absl::Status Resolve(bool is_type, uint64_t id);
  absl::Status Decode(bool is_type, Entry& entry, EntryReader& reader);

  Context& context_;
  std::vector<absl::string_view> strings_;
  std::vector<absl::string_view> dialects_;
  std::vector<Entry> attributes_;
  std::vector<Entry> types_;
  std::vector<absl::string_view> resources_;
  absl::string_view data_;
  uint64_t data_base_ = 0;
  int nesting_ = 0;
};

// The binary forms of the dialects. Each reads one entry and returns null, with the reader failed, when it is
// malformed; an unknown code fails as Unimplemented.
TypeRef ReadBuiltinType(EntryReader& reader);
AttributeRef ReadBuiltinAttribute(EntryReader& reader);
TypeRef ReadVhloType(EntryReader& reader);
AttributeRef ReadVhloAttribute(EntryReader& reader);
AttributeRef ReadSdyAttribute(EntryReader& reader);

// A dense attribute from the raw bytes of a file: recognizes splats, unpacks booleans, checks the size. Null on
// failure.
AttributeRef MakeDense(EntryReader& reader, TypeRef type, absl::string_view data);
// An integer attribute of `type` in integer form (a BoolAttribute for i1). Null on failure.
AttributeRef ReadIntegerAttribute(EntryReader& reader, TypeRef type);
// A float attribute of `type` in integer form of its width. Null on failure.
AttributeRef ReadFloatAttribute(EntryReader& reader, TypeRef type);
// A dictionary of (name attribute, value) pairs, sorted. Null on failure.
AttributeRef ReadDictionary(EntryReader& reader);
// A structured attribute from its fields, written `name:kind` and separated by spaces; kinds: A attribute list,
// a attribute, o optional attribute, p the same behind a number, s string, i signed number, I list of them, v optional
// number, b bool byte, d double.
AttributeRef ReadStruct(EntryReader& reader, absl::string_view name, absl::string_view fields);
// The shape of a type: list of svarint, each at least 0 or open.
std::vector<int64_t> ReadShape(EntryReader& reader);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_ENTRY_TABLE_H_
