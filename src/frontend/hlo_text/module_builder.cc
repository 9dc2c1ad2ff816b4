#include "src/frontend/hlo_text/module_builder.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/base/call_order.h"
#include "src/frontend/hlo_text/attribute_parser.h"
#include "src/hlo/shape_inference.h"

namespace kiln::hlo_text {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

// Array and tuple nodes of a shape.
int64_t NodeCount(const Shape& shape) {
  int64_t count = 1;
  for (const Shape& element : shape.tuple_shapes()) count += NodeCount(element);
  return count;
}

class ModuleBuilder {
 public:
  ModuleBuilder(const Lexer& lexer, const ParsedModule& parsed)
      : lexer_(lexer),
        parsed_(parsed),
        module_(std::make_unique<hlo::Module>(parsed.header.name)),
        // Shapes that are left out may not make a module much larger than its text: tuples of tuples double.
        inferred_node_budget_(int64_t{1} << 20) {}

  absl::StatusOr<std::unique_ptr<hlo::Module>> Build() {
    KILN_RETURN_IF_ERROR(IndexComputations());
    KILN_ASSIGN_OR_RETURN(std::vector<size_t> order, CalleesFirst());
    computations_.resize(parsed_.computations.size(), nullptr);
    for (size_t index : order) KILN_RETURN_IF_ERROR(BuildComputation(index));
    module_->set_entry(computations_[entry_]);
    KILN_RETURN_IF_ERROR(FillHeader());
    return std::move(module_);
  }

 private:
  absl::Status IndexComputations() {
    if (parsed_.computations.empty()) return lexer_.Error(lexer_.text().size(), "the module has no computation");
    bool has_entry = false;
    entry_ = parsed_.computations.size() - 1;
    for (size_t i = 0; i < parsed_.computations.size(); ++i) {
      const ParsedComputation& computation = parsed_.computations[i];
      if (!index_of_.emplace(computation.name, i).second) {
        return lexer_.Error(computation.offset, absl::StrCat("computation '", computation.name, "' is defined twice"));
      }
      if (!computation.is_entry) continue;
      if (has_entry) return lexer_.Error(computation.offset, "a second ENTRY computation");
      has_entry = true;
      entry_ = i;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> FindComputation(const NameReference& reference) const {
    auto found = index_of_.find(reference.name);
    if (found != index_of_.end()) return found->second;
    return lexer_.Error(reference.offset, absl::StrCat("no computation is named '", reference.name, "'"));
  }

  // Indices of all computations such that callees stand before callers; a cycle is an error.
  absl::StatusOr<std::vector<size_t>> CalleesFirst() const {
    std::vector<std::vector<size_t>> callees(parsed_.computations.size()), offsets(callees.size());
    for (size_t i = 0; i < callees.size(); ++i) {
      for (const ParsedInstruction& instruction : parsed_.computations[i].instructions) {
        for (const NameReference& reference : CalledComputations(instruction)) {
          KILN_ASSIGN_OR_RETURN(size_t callee, FindComputation(reference));
          callees[i].push_back(callee);
          offsets[i].push_back(reference.offset);
        }
      }
    }
    CallOrder calls = kiln::CalleesFirst(callees);
    if (calls.cycle) {
      return lexer_.Error(offsets[calls.caller][calls.call], "computations call each other in a cycle");
    }
    return std::move(calls.order);
  }

  absl::Status BuildComputation(size_t index) {
    const ParsedComputation& parsed = parsed_.computations[index];
    if (parsed.instructions.empty()) {
      return lexer_.Error(parsed.offset, absl::StrCat("computation '", parsed.name, "' has no instructions"));
    }
    KILN_RETURN_IF_ERROR(CheckParameterNumbers(parsed));
    Computation* computation = module_->AddComputation(std::string(parsed.name));
    computations_[index] = computation;
    absl::flat_hash_map<absl::string_view, Instruction*> by_name;
    std::vector<Instruction*> built;
    built.reserve(parsed.instructions.size());
    Instruction* root = nullptr;
    for (const ParsedInstruction& instruction : parsed.instructions) {
      KILN_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(instruction, by_name, built));
      KILN_ASSIGN_OR_RETURN(Instruction * result, BuildInstruction(instruction, std::move(operands), computation));
      built.push_back(result);
      if (!instruction.name.empty() && !by_name.emplace(instruction.name, result).second) {
        return lexer_.Error(instruction.offset, absl::StrCat("'", instruction.name, "' is defined twice"));
      }
      if (!instruction.is_root) continue;
      if (root != nullptr) return lexer_.Error(instruction.offset, "a second ROOT in the computation");
      root = result;
    }
    computation->set_root(root == nullptr ? built.back() : root);
    for (size_t i = 0; i < built.size(); ++i) {
      for (const NameReference& reference : parsed.instructions[i].control_predecessors) {
        auto found = by_name.find(reference.name);
        if (found == by_name.end()) return UnknownName(reference);
        built[i]->AddControlPredecessor(found->second);
      }
    }
    return absl::OkStatus();
  }

  // Numbers 0..n-1, each once: computations index their parameters by it.
  absl::Status CheckParameterNumbers(const ParsedComputation& parsed) const {
    int64_t count = 0;
    for (const ParsedInstruction& instruction : parsed.instructions) count += instruction.opcode == Opcode::kParameter;
    std::vector<bool> seen(count, false);
    for (const ParsedInstruction& instruction : parsed.instructions) {
      if (instruction.opcode != Opcode::kParameter) continue;
      const int64_t number = instruction.attributes.Get<hlo::ParameterAttributes>().number;
      if (number < 0 || number >= count || seen[number]) {
        return lexer_.Error(instruction.offset, absl::StrCat("parameter number ", number, " of '", parsed.name,
                                                             "': expected each of 0 to ", count - 1, " once"));
      }
      seen[number] = true;
    }
    return absl::OkStatus();
  }

  absl::Status UnknownName(const NameReference& reference) const {
    return lexer_.Error(reference.offset,
                        absl::StrCat("no instruction named '", reference.name, "' stands before this one"));
  }

  absl::StatusOr<std::vector<Instruction*>> Operands(
      const ParsedInstruction& instruction, const absl::flat_hash_map<absl::string_view, Instruction*>& by_name,
      const std::vector<Instruction*>& built) const {
    std::vector<Instruction*> operands;
    operands.reserve(instruction.operands.size());
    for (const ParsedOperand& operand : instruction.operands) {
      Instruction* value = nullptr;
      if (operand.nested.has_value()) {
        value = built[*operand.nested];
      } else {
        auto found = by_name.find(operand.reference.name);
        if (found == by_name.end()) return UnknownName(operand.reference);
        value = found->second;
      }
      if (operand.shape.has_value() && !Shape::Compatible(*operand.shape, value->shape())) {
        return lexer_.Error(operand.reference.offset,
                            absl::StrCat("operand '", value->name(), "' is ", value->shape().ToString(),
                                         ", the text says ", operand.shape->ToString()));
      }
      operands.push_back(value);
    }
    return operands;
  }

  absl::StatusOr<Instruction*> BuildInstruction(const ParsedInstruction& parsed, std::vector<Instruction*> operands,
                                                Computation* computation) {
    std::vector<Computation*> called;
    hlo::Attributes attributes;
    if (parsed.wrapped.has_value()) {
      KILN_ASSIGN_OR_RETURN(Computation * wrapped, BuildWrapped(parsed, operands));
      called.push_back(wrapped);
    } else {
      attributes = parsed.attributes;
      KILN_ASSIGN_OR_RETURN(called, Called(parsed));
    }
    const Shape* declared = parsed.shape.has_value() ? &*parsed.shape : nullptr;
    KILN_ASSIGN_OR_RETURN(Shape shape, Infer(parsed, parsed.opcode, operands, attributes, called, declared));
    Instruction* instruction = computation->Add(parsed.opcode, std::move(shape), std::move(operands),
                                                std::move(attributes), std::move(called), std::string(parsed.name));
    FillCommon(parsed, instruction);
    if (!parsed.wrapped.has_value()) {
      if (!parsed.carried_attributes.empty()) *instruction->mutable_carried_attributes() = parsed.carried_attributes;
    } else if (auto thread = parsed.carried_attributes.find("async_execution_thread");
               thread != parsed.carried_attributes.end()) {
      instruction->mutable_carried_attributes()->insert(*thread);
    }
    return instruction;
  }

  // The computation around the operation of "negate-start(...)".
  absl::StatusOr<Computation*> BuildWrapped(const ParsedInstruction& parsed,
                                            const std::vector<Instruction*>& operands) {
    const Opcode opcode = *parsed.wrapped;
    hlo::Attributes attributes = parsed.attributes;
    KILN_ASSIGN_OR_RETURN(std::vector<Computation*> called, Called(parsed));
    Computation* computation = module_->AddComputation(absl::StrCat("wrapped_", hlo::OpcodeName(opcode)));
    std::vector<Instruction*> parameters;
    for (size_t i = 0; i < operands.size(); ++i) {
      inferred_node_budget_ -= NodeCount(operands[i]->shape());
      if (inferred_node_budget_ < 0) return lexer_.Error(parsed.offset, "the shapes of the module grow too large");
      parameters.push_back(computation->AddParameter(i, operands[i]->shape()));
    }
    // The result is the second part of what the start gives.
    const Shape* declared = nullptr;
    if (parsed.shape.has_value() && parsed.shape->IsTuple() && parsed.shape->tuple_shapes().size() >= 2) {
      declared = &parsed.shape->tuple_shapes(1);
    }
    KILN_ASSIGN_OR_RETURN(Shape shape, Infer(parsed, opcode, parameters, attributes, called, declared));
    Instruction* root =
        computation->Add(opcode, std::move(shape), std::move(parameters), std::move(attributes), std::move(called));
    *root->mutable_carried_attributes() = parsed.carried_attributes;
    root->mutable_carried_attributes()->erase("async_execution_thread");
    root->set_backend_config(parsed.backend_config);
    computation->set_root(root);
    return computation;
  }

  absl::StatusOr<std::vector<Computation*>> Called(const ParsedInstruction& parsed) const {
    std::vector<Computation*> called;
    for (const NameReference& reference : CalledComputations(parsed)) {
      KILN_ASSIGN_OR_RETURN(size_t index, FindComputation(reference));
      called.push_back(computations_[index]);
    }
    return called;
  }

  absl::StatusOr<Shape> Infer(const ParsedInstruction& parsed, Opcode opcode, const std::vector<Instruction*>& operands,
                              const hlo::Attributes& attributes, const std::vector<Computation*>& called,
                              const Shape* declared) {
    std::vector<const Shape*> shapes;
    shapes.reserve(operands.size());
    for (const Instruction* operand : operands) shapes.push_back(&operand->shape());
    absl::StatusOr<Shape> shape = hlo::InferShape(opcode, shapes, attributes, called, declared);
    if (!shape.ok()) return lexer_.Locate(parsed.offset, shape.status());
    if (declared == nullptr) {
      inferred_node_budget_ -= NodeCount(*shape);
      if (inferred_node_budget_ < 0) return lexer_.Error(parsed.offset, "the shapes of the module grow too large");
    }
    return shape;
  }

  static void FillCommon(const ParsedInstruction& parsed, Instruction* instruction) {
    if (parsed.metadata != hlo::Metadata()) instruction->set_metadata(parsed.metadata);
    // Most instructions have none of these, and then no memory for them.
    if (!parsed.sharding.empty()) instruction->set_sharding(parsed.sharding);
    if (!parsed.wrapped.has_value() && !parsed.backend_config.empty()) {
      instruction->set_backend_config(parsed.backend_config);
    }
    if (!parsed.frontend_attributes.empty()) *instruction->mutable_frontend_attributes() = parsed.frontend_attributes;
  }

  absl::Status FillHeader() {
    const ParsedHeader& header = parsed_.header;
    if (header.has_entry_layout) {
      KILN_RETURN_IF_ERROR(CheckEntryLayout());
      module_->set_has_entry_layout(true);
      *module_->mutable_entry_parameter_layouts() = header.entry_parameters;
      *module_->mutable_entry_result_layout() = header.entry_result;
    }
    *module_->mutable_aliases() = header.aliases;
    *module_->mutable_donors() = header.donors;
    module_->set_replica_count(header.replica_count);
    module_->set_partition_count(header.partition_count);
    module_->set_is_scheduled(header.is_scheduled);
    *module_->mutable_frontend_attributes() = header.frontend_attributes;
    *module_->mutable_carried_attributes() = header.carried_attributes;
    return absl::OkStatus();
  }

  absl::Status CheckEntryLayout() const {
    const ParsedHeader& header = parsed_.header;
    const Computation* entry = module_->entry();
    if (static_cast<int64_t>(header.entry_parameters.size()) != entry->parameter_count()) {
      return lexer_.Error(header.entry_layout_offset,
                          absl::StrCat("entry_computation_layout has ", header.entry_parameters.size(),
                                       " parameters, the entry has ", entry->parameter_count()));
    }
    for (int64_t i = 0; i < entry->parameter_count(); ++i) {
      const Shape& shape = entry->parameter(i)->shape();
      if (Shape::Compatible(header.entry_parameters[i], shape)) continue;
      return lexer_.Error(header.entry_layout_offset,
                          absl::StrCat("entry_computation_layout says ", header.entry_parameters[i].ToString(),
                                       " for parameter ", i, ", the entry has ", shape.ToString()));
    }
    if (!Shape::Compatible(header.entry_result, entry->root()->shape())) {
      return lexer_.Error(header.entry_layout_offset,
                          absl::StrCat("entry_computation_layout says ", header.entry_result.ToString(),
                                       " for the result, the entry gives ", entry->root()->shape().ToString()));
    }
    return absl::OkStatus();
  }

  const Lexer& lexer_;
  const ParsedModule& parsed_;
  std::unique_ptr<hlo::Module> module_;
  absl::flat_hash_map<absl::string_view, size_t> index_of_;
  size_t entry_ = 0;
  std::vector<Computation*> computations_;
  int64_t inferred_node_budget_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<hlo::Module>> BuildModule(const Lexer& lexer, const ParsedModule& parsed) {
  return ModuleBuilder(lexer, parsed).Build();
}

}  // namespace kiln::hlo_text
