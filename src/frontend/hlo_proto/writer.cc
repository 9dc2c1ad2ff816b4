#include "src/frontend/hlo_proto/writer.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/hlo/computation.h"

namespace kiln::hlo_proto {
namespace {

// Numbers that refer from one part of a module to another: computations from 1 in the order they are written,
// instructions as (computation << 32 | position).
class Numbering {
 public:
  explicit Numbering(const hlo::Module& module) : computations_(module.PostOrder()) {
    for (size_t i = 0; i < computations_.size(); ++i) {
      const int64_t number = static_cast<int64_t>(i) + 1;
      numbers_[computations_[i]] = number;
      int64_t position = 0;
      for (const hlo::Instruction* instruction : Order(*computations_[i], module.is_scheduled())) {
        instructions_[instruction] = number << 32 | position++;
      }
    }
  }
  // Callees before callers.
  const std::vector<hlo::Computation*>& computations() const { return computations_; }
  int64_t Of(const hlo::Computation* computation) const { return numbers_.at(computation); }
  int64_t Of(const hlo::Instruction* instruction) const { return instructions_.at(instruction); }
  bool Has(const hlo::Instruction* instruction) const { return instructions_.contains(instruction); }

  // The schedule, or an order in which operands come before users.
  static std::vector<hlo::Instruction*> Order(const hlo::Computation& computation, bool is_scheduled) {
    return is_scheduled ? computation.instructions() : computation.PostOrder();
  }

 private:
  std::vector<hlo::Computation*> computations_;
  absl::flat_hash_map<const hlo::Computation*, int64_t> numbers_;
  absl::flat_hash_map<const hlo::Instruction*, int64_t> instructions_;
};

WireWriter MetadataProto(const hlo::Metadata& metadata) {
  WireWriter proto;
  proto.String(1, metadata.op_type);
  proto.String(2, metadata.op_name);
  proto.String(3, metadata.source_file);
  proto.Int64(4, metadata.source_line);
  proto.Int64(18, metadata.source_column);
  return proto;
}

WireWriter FrontendAttributesProto(const std::map<std::string, std::string>& attributes) {
  WireWriter proto;
  proto.StringMap(1, attributes);
  return proto;
}

// Functions that the readers of frameworks do not know: a reader refuses the whole module for the name of one opcode.
// They go as custom calls, under the names that StableHLO's importer takes too.
bool IsCustomCallToOthers(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kErfc || opcode == hlo::Opcode::kExp2 || opcode == hlo::Opcode::kLog2;
}

WireWriter InstructionProto(const hlo::Instruction& instruction, const Numbering& numbering) {
  WireWriter proto;
  proto.String(1, instruction.name());
  const absl::string_view opcode = hlo::OpcodeName(instruction.opcode());
  const bool is_custom_call = IsCustomCallToOthers(instruction.opcode());
  proto.String(2, is_custom_call ? "custom-call" : opcode);
  if (is_custom_call) proto.String(28, absl::StrCat("mhlo.", opcode));
  proto.Message(3, ShapeProto(instruction.shape()));
  if (instruction.metadata() != hlo::Metadata()) proto.Message(7, MetadataProto(instruction.metadata()));
  AppendAttributes(instruction, &proto);
  proto.Int64(35, numbering.Of(&instruction));
  std::vector<int64_t> numbers;
  for (const hlo::Instruction* operand : instruction.operands()) numbers.push_back(numbering.Of(operand));
  proto.Integers(36, numbers);
  numbers.clear();
  for (const hlo::Instruction* predecessor : instruction.control_predecessors()) {
    if (numbering.Has(predecessor)) numbers.push_back(numbering.Of(predecessor));
  }
  proto.Integers(37, numbers);
  numbers.clear();
  for (const hlo::Computation* called : instruction.called_computations()) numbers.push_back(numbering.Of(called));
  proto.Integers(38, numbers);
  proto.String(43, instruction.backend_config());
  if (!instruction.frontend_attributes().empty()) {
    proto.Message(68, FrontendAttributesProto(instruction.frontend_attributes()));
  }
  return proto;
}

// Of a computation, with other shapes for its parameters and result. There is a name for every parameter.
WireWriter ProgramShapeProto(const hlo::Computation& computation, const std::vector<hlo::Shape>& parameters,
                             const hlo::Shape& result) {
  WireWriter proto;
  for (const hlo::Shape& parameter : parameters) proto.Message(1, ShapeProto(parameter));
  proto.Message(2, ShapeProto(result));
  for (const hlo::Instruction* parameter : computation.parameters()) proto.Element(3, parameter->name());
  return proto;
}

WireWriter ProgramShapeProto(const hlo::Computation& computation) {
  std::vector<hlo::Shape> parameters;
  for (const hlo::Instruction* parameter : computation.parameters()) parameters.push_back(parameter->shape());
  return ProgramShapeProto(computation, parameters, computation.root()->shape());
}

// The entry's parameters and result in the layouts that the caller sees.
WireWriter EntryLayoutProto(const hlo::Module& module) {
  const hlo::Computation& entry = *module.entry();
  if (!module.has_entry_layout() || module.entry_parameter_layouts().size() != entry.parameters().size()) {
    return ProgramShapeProto(entry);
  }
  return ProgramShapeProto(entry, module.entry_parameter_layouts(), module.entry_result_layout());
}

WireWriter ComputationProto(const hlo::Computation& computation, const Numbering& numbering, bool is_scheduled,
                            bool is_fusion) {
  WireWriter proto;
  proto.String(1, computation.name());
  for (const hlo::Instruction* instruction : Numbering::Order(computation, is_scheduled)) {
    proto.Message(2, InstructionProto(*instruction, numbering));
  }
  proto.Message(4, ProgramShapeProto(computation));
  proto.Int64(5, numbering.Of(&computation));
  proto.Int64(6, numbering.Of(computation.root()));
  proto.Bool(7, is_fusion);
  proto.String(8, "main");
  return proto;
}

WireWriter ScheduleProto(const hlo::Module& module, const Numbering& numbering,
                         const absl::flat_hash_set<const hlo::Computation*>& fusions) {
  WireWriter proto;
  for (const hlo::Computation* computation : numbering.computations()) {
    if (fusions.contains(computation)) continue;
    std::vector<int64_t> numbers;
    for (const hlo::Instruction* instruction : computation->instructions())
      numbers.push_back(numbering.Of(instruction));
    WireWriter sequence;
    sequence.Integers(1, numbers);
    WireWriter entry;
    entry.Int64(1, numbering.Of(computation));
    entry.Message(2, sequence);
    proto.Message(1, entry);
  }
  return proto;
}

WireWriter AliasesProto(const hlo::Module& module) {
  WireWriter proto;
  for (const hlo::InputOutputAlias& alias : module.aliases()) {
    WireWriter entry;
    entry.Integers(1, alias.output_index);
    entry.Int64(2, alias.parameter);
    entry.Integers(3, alias.parameter_index);
    entry.Int64(4, alias.must_alias ? 2 : 1);
    proto.Message(1, entry);
  }
  return proto;
}

WireWriter DonorsProto(const hlo::Module& module) {
  WireWriter proto;
  for (const hlo::BufferDonor& donor : module.donors()) {
    WireWriter entry;
    entry.Int64(1, donor.parameter);
    entry.Integers(2, donor.parameter_index);
    proto.Message(1, entry);
  }
  return proto;
}

WireWriter ModuleProto(const hlo::Module& module) {
  const Numbering numbering(module);
  absl::flat_hash_set<const hlo::Computation*> fusions;
  for (const hlo::Computation* computation : numbering.computations()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != hlo::Opcode::kFusion) continue;
      for (const hlo::Computation* called : instruction->called_computations()) fusions.insert(called);
    }
  }
  WireWriter proto;
  proto.String(1, module.name());
  proto.String(2, module.entry()->name());
  for (const hlo::Computation* computation : numbering.computations()) {
    proto.Message(3, ComputationProto(*computation, numbering, module.is_scheduled(), fusions.contains(computation)));
  }
  proto.Message(4, EntryLayoutProto(module));
  proto.Int64(6, numbering.Of(module.entry()));
  if (module.is_scheduled()) proto.Message(7, ScheduleProto(module, numbering, fusions));
  if (!module.aliases().empty()) proto.Message(8, AliasesProto(module));
  if (!module.donors().empty()) proto.Message(18, DonorsProto(module));
  if (!module.frontend_attributes().empty()) proto.Message(19, FrontendAttributesProto(module.frontend_attributes()));
  return proto;
}

}  // namespace

WireWriter ShapeProto(const hlo::Shape& shape) {
  WireWriter proto;
  proto.Int64(2, static_cast<int64_t>(shape.element_type()));
  proto.Integers(3, shape.dimensions());
  for (const hlo::Shape& element : shape.tuple_shapes()) proto.Message(4, ShapeProto(element));
  if (!shape.IsArray()) return proto;
  WireWriter layout;
  layout.Integers(1, shape.layout().minor_to_major);
  for (const hlo::DimensionVector& dimensions : shape.layout().tiles) {
    WireWriter tile;
    tile.Integers(1, dimensions);
    layout.Message(6, tile);
  }
  layout.Int64(7, shape.layout().element_size_in_bits);
  layout.Int64(8, shape.layout().memory_space);
  layout.Int64(16, 1);
  proto.Message(5, layout);
  std::vector<int> dynamic;
  for (int64_t i = 0; i < shape.rank(); ++i) dynamic.push_back(shape.is_dynamic_dimension(i) ? 1 : 0);
  proto.Integers(6, dynamic);
  return proto;
}

std::string WriteModule(const hlo::Module& module) { return ModuleProto(module).Take(); }

std::string WriteModuleWithConfig(const hlo::Module& module) {
  WireWriter config;
  config.Message(1, EntryLayoutProto(module));
  config.Int64(4, module.replica_count());
  config.Int64(5, module.partition_count());
  WireWriter proto;
  proto.Message(1, ModuleProto(module));
  proto.Message(2, config);
  return proto.Take();
}

}  // namespace kiln::hlo_proto
