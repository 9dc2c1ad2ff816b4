#include "src/frontend/mlir/ir_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"

namespace kiln::mlir {
namespace {

constexpr int kMaxRegionNesting = 128;

// Bits of the byte that says what an operation has.
constexpr uint8_t kHasAttributes = 0x01;
constexpr uint8_t kHasResults = 0x02;
constexpr uint8_t kHasOperands = 0x04;
constexpr uint8_t kHasSuccessors = 0x08;
constexpr uint8_t kHasRegions = 0x10;
constexpr uint8_t kHasUseListOrder = 0x20;
constexpr uint8_t kHasProperties = 0x40;

AttributeRef FindSorted(const DictionaryAttribute& dictionary, absl::string_view name) {
  const auto found = std::lower_bound(dictionary.entries.begin(), dictionary.entries.end(), name,
                                      [](const NamedAttribute& a, absl::string_view other) { return a.name < other; });
  return found != dictionary.entries.end() && found->name == name ? found->value : nullptr;
}

}  // namespace

IrReader::IrReader(const BytecodeFile& file, EntryTable& entries)
    : file_(file), entries_(entries), context_(entries.context()) {
  known_ops_.resize(file.op_names.size());
  for (size_t i = 0; i < known_ops_.size(); ++i) {
    const OpName& op = file.op_names[i];
    KnownOp& known = known_ops_[i];
    if (op.dialect == "vhlo") {
      known.row = FindVhloOp(op.name);
      if (known.row == nullptr) known.status = Unimplemented("vhlo.", op.name, " is not an op of VHLO up to 1.24.0");
    } else {
      known.tree_name = context_.Keep(absl::StrCat(op.dialect, ".", op.name));
      known.row = FindForeignOp(known.tree_name);
    }
    if (known.row != nullptr) known.tree_name = known.row->tree_name;
  }
}

absl::StatusOr<Operation*> IrReader::Read() {
  const Section& section = *file_.sections[kIrSection];
  values_left_ = section.bytes.size();
  copies_left_ = 64 * (section.bytes.size() + 1);
  EntryReader reader(entries_, section.bytes, section.offset);
  Region* region = context_.MakeRegion();
  Block* block = context_.AddBlock(region);
  Scope scope;
  KILN_RETURN_IF_ERROR(ReadBlock(reader, scope, block, 0));
  reader.ExpectEnd("the IR");
  KILN_RETURN_IF_ERROR(reader.status());
  if (block->operations.size() != 1) {
    return InvalidArgument("MLIR bytecode: expected one top-level op, found ", block->operations.size());
  }
  Operation* root = block->operations[0];
  root->parent = nullptr;
  return root;
}

absl::Status IrReader::ReadBlock(EntryReader& reader, Scope& scope, Block* block, int nesting) {
  bool has_arguments = false;
  const uint64_t count = reader.FlaggedCount(has_arguments);
  if (has_arguments) ReadArguments(reader, scope, block);
  KILN_RETURN_IF_ERROR(reader.status());
  block->operations.reserve(count);
  for (uint64_t i = 0; i < count; ++i) KILN_RETURN_IF_ERROR(ReadOperation(reader, scope, block, nesting));
  return absl::OkStatus();
}

void IrReader::ReadArguments(EntryReader& reader, Scope& scope, Block* block) {
  const uint64_t count = reader.Count();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    bool has_location = file_.version < 4;
    const TypeRef type = reader.TypeById(file_.version < 4 ? reader.Varint() : reader.FlaggedVarint(has_location));
    const LocationAttribute* location = has_location ? reader.Attribute()->As<LocationAttribute>() : nullptr;
    Value* value = Define(reader, scope);
    if (value == nullptr) return;
    value->type = type;
    value->block = block;
    value->index = static_cast<uint32_t>(i);
    if (location != nullptr) value->location = location->value;
    block->arguments.push_back(value);
  }
  if (file_.version >= 3 && reader.Byte() != 0) ReadUseListOrder(reader, count > 1);
}

void IrReader::ReadUseListOrder(EntryReader& reader, bool several_values) {
  const uint64_t entries = several_values ? reader.Count() : 1;
  for (uint64_t i = 0; i < entries && reader.ok(); ++i) {
    if (several_values) reader.Varint();
    bool pairs = false;
    const uint64_t count = reader.FlaggedCount(pairs);
    for (uint64_t j = 0; j < count && reader.ok(); ++j) reader.Varint();
  }
}

Value* IrReader::Define(EntryReader& reader, Scope& scope) {
  if (scope.next >= scope.end) {
    reader.Fail("a region defines more values than it announces");
    return nullptr;
  }
  return scope.values[scope.next++];
}

absl::Status IrReader::ReadOperation(EntryReader& reader, Scope& scope, Block* block, int nesting) {
  const uint64_t op_id = reader.Varint();
  const uint8_t mask = reader.Byte();
  const LocationAttribute* location = reader.Attribute()->As<LocationAttribute>();
  if (reader.ok() && op_id >= known_ops_.size())
    reader.Fail(absl::StrCat("op name ", op_id, " of ", known_ops_.size()));
  if (reader.ok() && location == nullptr) reader.Fail("an op's location is no location attribute");
  KILN_RETURN_IF_ERROR(reader.status());
  const KnownOp& known = known_ops_[op_id];
  if (!known.status.ok()) {
    return absl::Status(known.status.code(), absl::StrCat(known.status.message(), ", at ", ToString(*location->value)));
  }
  Operation* operation = context_.MakeOperation();
  block->operations.push_back(operation);
  operation->parent = block->parent;
  operation->name = known.tree_name;
  operation->location = location->value;

  if ((mask & kHasAttributes) != 0) {
    const DictionaryAttribute* dictionary = reader.Attribute()->As<DictionaryAttribute>();
    if (reader.ok() && dictionary == nullptr) reader.Fail("an op's attributes are no dictionary");
    KILN_RETURN_IF_ERROR(reader.status());
    if (file_.version >= 5) {
      operation->discardable = dictionary->entries;
    } else {
      KILN_RETURN_IF_ERROR(SplitDictionary(*dictionary, known.row, operation));
    }
  }
  if ((mask & kHasProperties) != 0) KILN_RETURN_IF_ERROR(ReadProperties(reader, known.row, operation));
  std::vector<TypeRef> result_types;
  if ((mask & kHasResults) != 0) result_types = reader.TypeList();
  if ((mask & kHasOperands) != 0) {
    const uint64_t count = reader.Count();
    operation->operands.reserve(count);
    for (uint64_t i = 0; i < count && reader.ok(); ++i) {
      const uint64_t number = reader.Varint();
      if (!reader.ok()) break;
      if (number >= scope.values.size() || (scope.values[number]->type == nullptr && !scope.forward_allowed)) {
        reader.Fail(absl::StrCat(operation->name, ", ", ToString(*operation->location), ": operand ", i, " is value ",
                                 number, ", which is not defined before"));
        break;
      }
      operation->operands.push_back(scope.values[number]);
    }
  }
  if ((mask & kHasSuccessors) != 0) {
    const uint64_t count = reader.Count();
    for (uint64_t i = 0; i < count && reader.ok(); ++i) {
      const uint64_t index = reader.Varint();
      if (index >= block->parent->blocks.size()) {
        reader.Fail(absl::StrCat("successor ", index, " of ", block->parent->blocks.size(), " blocks"));
        break;
      }
      operation->successors.push_back(block->parent->blocks[index]);
    }
  }
  for (size_t i = 0; i < result_types.size() && reader.ok(); ++i) {
    Value* value = Define(reader, scope);
    if (value == nullptr) break;
    value->type = result_types[i];
    value->operation = operation;
    value->index = static_cast<uint32_t>(i);
    operation->results.push_back(value);
  }
  if ((mask & kHasUseListOrder) != 0) ReadUseListOrder(reader, result_types.size() > 1);
  KILN_RETURN_IF_ERROR(reader.status());
  if (file_.op_names[op_id].dialect == "vhlo") RaiseAttributes(operation, file_.op_names[op_id].name);
  if ((mask & kHasRegions) != 0) KILN_RETURN_IF_ERROR(ReadRegions(reader, scope, operation, nesting));
  const int regions = known.row != nullptr ? known.row->regions : -1;
  if (regions >= 0 && operation->regions.size() != static_cast<size_t>(regions)) {
    return InvalidArgument(operation->name, " at ", ToString(*operation->location), ": expected ", regions,
                           " regions, found ", operation->regions.size());
  }
  return absl::OkStatus();
}

absl::Status IrReader::ReadRegions(EntryReader& reader, Scope& scope, Operation* operation, int nesting) {
  if (nesting >= kMaxRegionNesting) {
    return InvalidArgument("regions nest deeper than ", kMaxRegionNesting, " levels, at ",
                           ToString(*operation->location));
  }
  bool isolated = false;
  const uint64_t count = reader.FlaggedCount(isolated);
  KILN_RETURN_IF_ERROR(reader.status());
  for (uint64_t i = 0; i < count; ++i) context_.AddRegion(operation);
  if (!isolated) {
    for (Region* region : operation->regions) KILN_RETURN_IF_ERROR(ReadRegion(reader, scope, region, nesting + 1));
    return absl::OkStatus();
  }
  Scope own_scope;
  if (file_.version < 2) {
    for (Region* region : operation->regions) KILN_RETURN_IF_ERROR(ReadRegion(reader, own_scope, region, nesting + 1));
    return absl::OkStatus();
  }
  const Section section = ReadSection(reader);
  if (reader.ok() && section.id != kIrSection) reader.Fail("expected the section of an op's regions");
  KILN_RETURN_IF_ERROR(reader.status());
  EntryReader own_reader(entries_, section.bytes, section.offset);
  for (Region* region : operation->regions)
    KILN_RETURN_IF_ERROR(ReadRegion(own_reader, own_scope, region, nesting + 1));
  own_reader.ExpectEnd("the regions of an op");
  return own_reader.status();
}

absl::Status IrReader::ReadRegion(EntryReader& reader, Scope& scope, Region* region, int nesting) {
  const uint64_t blocks = reader.Count();
  if (blocks == 0) return reader.status();
  const uint64_t values = reader.Varint();
  if (reader.ok() && values > values_left_) reader.Fail(absl::StrCat("a region announces ", values, " values"));
  KILN_RETURN_IF_ERROR(reader.status());
  values_left_ -= values;
  const Scope outer = {{}, scope.next, scope.end, scope.forward_allowed};
  const size_t base = scope.values.size();
  for (uint64_t i = 0; i < values; ++i) scope.values.push_back(context_.MakeValue());
  scope.next = base;
  scope.end = scope.values.size();
  scope.forward_allowed = scope.forward_allowed || blocks > 1;
  for (uint64_t i = 0; i < blocks; ++i) context_.AddBlock(region);
  for (Block* block : region->blocks) KILN_RETURN_IF_ERROR(ReadBlock(reader, scope, block, nesting));
  if (scope.next != scope.end) {
    return InvalidArgument("MLIR bytecode, byte ", reader.offset(), ": a region announces ", values,
                           " values and defines ", scope.next - base);
  }
  scope.values.resize(base);
  scope.next = outer.next;
  scope.end = outer.end;
  scope.forward_allowed = outer.forward_allowed;
  return absl::OkStatus();
}

absl::Status IrReader::ReadProperties(EntryReader& reader, const VhloOp* row, Operation* operation) {
  const uint64_t index = reader.Varint();
  if (reader.ok() && index >= file_.properties.size()) {
    reader.Fail(absl::StrCat("properties ", index, " of ", file_.properties.size()));
  }
  KILN_RETURN_IF_ERROR(reader.status());
  const Section& entry = file_.properties[index];
  if (entry.bytes.empty()) return absl::OkStatus();
  if (row == nullptr) {
    return Unimplemented("the properties of op ", operation->name, " at ", ToString(*operation->location),
                         " have a binary form that is not known; serialize the program as a portable (VHLO) artifact");
  }
  EntryReader properties(entries_, entry.bytes, entry.offset);
  for (absl::string_view name : absl::StrSplit(row->attributes, ' ', absl::SkipEmpty())) {
    const bool optional = name.back() == '?';
    if (optional) name.remove_suffix(1);
    AttributeRef value = optional ? properties.OptionalAttribute() : properties.Attribute();
    if (value != nullptr) operation->attributes.push_back({name, value});
  }
  properties.ExpectEnd("an op's properties");
  return Annotate(properties.status(), operation->name);
}

absl::Status IrReader::SplitDictionary(const DictionaryAttribute& dictionary, const VhloOp* row, Operation* operation) {
  if (row != nullptr) {
    for (absl::string_view name : absl::StrSplit(row->attributes, ' ', absl::SkipEmpty())) {
      if (name.back() == '?') name.remove_suffix(1);
      if (AttributeRef value = FindSorted(dictionary, name)) operation->attributes.push_back({name, value});
    }
  }
  if (operation->attributes.empty()) {
    operation->discardable = dictionary.entries;
    return absl::OkStatus();
  }
  if (operation->attributes.size() == dictionary.entries.size()) return absl::OkStatus();
  // Many ops may share one large dictionary.
  if (dictionary.entries.size() > copies_left_) {
    return ResourceExhausted("MLIR bytecode: the ops have too many attributes for the size of the file");
  }
  copies_left_ -= dictionary.entries.size();
  std::vector<NamedAttribute> rest;
  for (const NamedAttribute& entry : dictionary.entries) {
    if (Find(operation->attributes, entry.name) == nullptr) rest.push_back(entry);
  }
  operation->discardable = context_.Keep(std::move(rest));
  return absl::OkStatus();
}

void IrReader::RaiseAttributes(Operation* operation, absl::string_view vhlo_name) {
  // Attributes of later versions are optional in the tree, so an old version needs no filling in.
  std::vector<NamedAttribute> raised;
  raised.reserve(operation->attributes.size());
  for (const NamedAttribute& entry : operation->attributes) {
    // VHLO writes an absent dot algorithm as the type none.
    const TypeAttribute* type = entry.value->As<TypeAttribute>();
    if (type != nullptr && type->value->As<NoneType>() != nullptr) continue;
    // This form names the padding twice: the operand counts.
    if (vhlo_name == "dynamic_conv_v1" && entry.name == "padding") continue;
    const StringAttribute* string = entry.value->As<StringAttribute>();
    if (string != nullptr && (entry.name == "callee" || entry.name == "decomposition")) {
      raised.push_back({entry.name, context_.MakeAttribute(SymbolAttribute{string->value, {}})});
      continue;
    }
    raised.push_back(entry);
  }
  operation->attributes = std::move(raised);
  if (operation->name == "stablehlo.return" && operation->parent->parent != nullptr &&
      operation->parent->parent->name == "func.func") {
    operation->name = "func.return";
  }
}

}  // namespace kiln::mlir
