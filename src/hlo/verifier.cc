// What holds of every module (rule numbers stand in the messages):
//
//  1. There is an entry; every computation belongs to the module, has a root of its own and at least one instruction.
//  2. Names are not empty, made of letters, digits and "_.-$", and no two instructions and no two computations share one.
//  3. Instructions belong to their computation; so do their operands, users and control predecessors. Users are exactly
//     the distinct instructions that have the value as an operand.
//  4. Operands and control predecessors form no cycle; in a scheduled module they stand before what needs them.
//  5. Parameters are numbered 0 to n-1, each once, and the computation lists them in that order; no other instruction is
//     a parameter.
//  6. Called computations belong to the module; calls form no cycle and nest at most 500 deep.
//  7. Each opcode carries the attributes of its family and calls as many computations as it should.
//  8. Shapes are valid (ValidateShape).
//  9. The shape of each instruction is, up to layout, what shape inference gives; that covers operand counts and types,
//     dimension lists, windows, tuple indices, and the signatures of called computations.
// 10. Computations that fusions and scalar operations (reduce, sort, map, ...) apply have no side effects.
// 11. A constant's literal has the constant's shape and as many bytes as that says.
// 12. The entry layout, when given, is compatible with the entry's parameters and root.
// 13. Aliases and donors name leaves of entry parameters and of the result that exist; an alias joins leaves of one size;
//     no output leaf and no parameter leaf is named twice.
// 14. Replica and partition counts are positive.
#include "src/hlo/verifier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/hlo/attribute_printer.h"
#include "src/hlo/shape_inference.h"

namespace kiln::hlo {
namespace {

constexpr int64_t kMaxCallDepth = 500;

template <typename... Parts>
absl::Status Broken(int rule, const Parts&... parts) {
  return InvalidArgument("module breaks rule ", rule, ": ", parts...);
}

std::string Where(const Instruction& instruction, const Computation& computation) {
  return absl::StrCat(instruction.Describe(), " in computation ", computation.name());
}

bool IsGoodName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-' || c == '$';
  });
}

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module), computations_(module.computations()) {}

  absl::Status Run() {
    KILN_RETURN_IF_ERROR(CheckModule());
    for (const Computation* computation : computations_) {
      KILN_RETURN_IF_ERROR(CheckStructure(*computation));
      KILN_RETURN_IF_ERROR(CheckParameters(*computation));
      KILN_RETURN_IF_ERROR(CheckOrder(*computation));
    }
    KILN_RETURN_IF_ERROR(CheckCallGraph());
    for (const Computation* computation : computations_) {
      for (const Instruction* instruction : computation->instructions()) {
        KILN_RETURN_IF_ERROR(CheckInstruction(*instruction, *computation));
      }
    }
    KILN_RETURN_IF_ERROR(CheckEntryLayout());
    return CheckAliases();
  }

 private:
  absl::Status CheckModule() {
    owned_.insert(computations_.begin(), computations_.end());
    if (module_.entry() == nullptr) return Broken(1, "there is no entry computation");
    if (!owned_.contains(module_.entry())) return Broken(1, "the entry computation is not of this module");
    absl::flat_hash_set<absl::string_view> computation_names, instruction_names;
    for (const Computation* computation : computations_) {
      if (computation->parent() != &module_) return Broken(1, "computation ", computation->name(), " is of another module");
      if (computation->root() == nullptr) return Broken(1, "computation ", computation->name(), " has no root");
      if (!IsGoodName(computation->name())) return Broken(2, "computation name '", computation->name(), "'");
      if (!computation_names.insert(computation->name()).second) {
        return Broken(2, "two computations are named ", computation->name());
      }
      for (const Instruction* instruction : computation->instructions()) {
        if (!IsGoodName(instruction->name())) {
          return Broken(2, "instruction name '", instruction->name(), "' in computation ", computation->name());
        }
        if (!instruction_names.insert(instruction->name()).second) {
          return Broken(2, "two instructions are named ", instruction->name());
        }
      }
    }
    if (module_.replica_count() < 1 || module_.partition_count() < 1) {
      return Broken(14, "replica_count=", module_.replica_count(), ", num_partitions=", module_.partition_count());
    }
    return absl::OkStatus();
  }

  // Rules 1 and 3.
  absl::Status CheckStructure(const Computation& computation) {
    const std::vector<Instruction*> instructions = computation.instructions();
    const absl::flat_hash_set<const Instruction*> inside(instructions.begin(), instructions.end());
    if (!inside.contains(computation.root())) {
      return Broken(1, "the root of computation ", computation.name(), " is not one of its instructions");
    }
    absl::flat_hash_set<std::pair<const Instruction*, const Instruction*>> uses;
    for (const Instruction* instruction : instructions) {
      if (instruction->parent() != &computation) {
        return Broken(3, Where(*instruction, computation), " believes to be elsewhere");
      }
      for (const Instruction* operand : instruction->operands()) {
        if (!inside.contains(operand)) {
          return Broken(3, Where(*instruction, computation), " has an operand of another computation");
        }
        uses.emplace(operand, instruction);
      }
      for (const Instruction* before : instruction->control_predecessors()) {
        if (!inside.contains(before)) {
          return Broken(3, Where(*instruction, computation), " has a control predecessor of another computation");
        }
      }
    }
    size_t listed = 0;
    for (const Instruction* instruction : instructions) {
      absl::flat_hash_set<const Instruction*> distinct;
      for (const Instruction* user : instruction->users()) {
        if (!uses.contains(std::make_pair(instruction, user))) {
          return Broken(3, Where(*instruction, computation), " lists a user that does not use it");
        }
        if (!distinct.insert(user).second) {
          return Broken(3, Where(*instruction, computation), " lists user ", user->name(), " twice");
        }
      }
      listed += distinct.size();
    }
    if (listed != uses.size()) return Broken(3, "a user is missing in the lists of computation ", computation.name());
    return absl::OkStatus();
  }

  // Rule 5.
  absl::Status CheckParameters(const Computation& computation) {
    int64_t count = 0;
    for (const Instruction* instruction : computation.instructions()) {
      if (instruction->opcode() != Opcode::kParameter) continue;
      ++count;
      const auto* attributes = instruction->GetIf<ParameterAttributes>();
      if (attributes == nullptr || attributes->number < 0 || attributes->number >= computation.parameter_count() ||
          computation.parameter(attributes->number) != instruction) {
        return Broken(5, Where(*instruction, computation), " is not where its number says");
      }
    }
    if (count != computation.parameter_count()) {
      return Broken(5, "computation ", computation.name(), " lists ", computation.parameter_count(),
                    " parameters and has ", count);
    }
    return absl::OkStatus();
  }

  // Rule 4. In the post order of a graph with a cycle something comes too early.
  absl::Status CheckOrder(const Computation& computation) {
    if (const Instruction* early = FirstOutOfOrder(computation.PostOrder())) {
      return Broken(4, Where(*early, computation), " depends on itself");
    }
    const Instruction* early = module_.is_scheduled() ? FirstOutOfOrder(computation.instructions()) : nullptr;
    if (early == nullptr) return absl::OkStatus();
    return Broken(4, Where(*early, computation), " is scheduled before what it needs");
  }

  // Rule 6: the depth of each computation, callees first.
  absl::Status CheckCallGraph() {
    for (const Computation* computation : computations_) {
      for (const Computation* callee : computation->Callees()) {
        if (owned_.contains(callee)) continue;
        return Broken(6, "computation ", computation->name(), " calls one that is not of the module");
      }
    }
    absl::flat_hash_map<const Computation*, int64_t> depth;
    for (const Computation* computation : CalleesFirst(computations_)) {
      int64_t deepest = 0;
      for (const Computation* callee : computation->Callees()) {
        const auto found = depth.find(callee);
        if (found == depth.end()) {
          return Broken(6, "computation ", callee->name(), " calls itself through ", computation->name());
        }
        deepest = std::max(deepest, found->second);
      }
      if (deepest >= kMaxCallDepth) {
        return Broken(6, "calls nest deeper than ", kMaxCallDepth, " from computation ", computation->name());
      }
      depth[computation] = deepest + 1;
    }
    return absl::OkStatus();
  }

  // Rules 7 to 11.
  absl::Status CheckInstruction(const Instruction& instruction, const Computation& computation) {
    const Opcode opcode = instruction.opcode();
    auto broken = [&](int rule, const absl::Status& status) {
      return Broken(rule, Where(instruction, computation), ": ", status.message());
    };
    absl::Status status = CheckAttributesPresent(opcode, instruction.attributes());
    if (!status.ok()) return broken(7, status);
    status = CheckCalledCount(opcode, instruction.called_computations().size());
    if (!status.ok()) return broken(7, status);
    status = ValidateShape(instruction.shape());
    if (!status.ok()) return broken(8, status);
    absl::StatusOr<Shape> inferred = InferShape(instruction);
    if (!inferred.ok()) {
      const std::string prefix = absl::StrCat(OpcodeName(opcode), ": ");
      return Broken(9, Where(instruction, computation), ": ", absl::StripPrefix(inferred.status().message(), prefix));
    }
    if (opcode == Opcode::kFusion || HasScalarComputation(opcode)) {
      for (const Computation* callee : instruction.called_computations()) {
        KILN_RETURN_IF_ERROR(CheckNoSideEffects(*callee, instruction));
      }
    }
    if (opcode == Opcode::kConstant) return CheckLiteral(instruction.Get<ConstantAttributes>().literal, instruction);
    return absl::OkStatus();
  }

  absl::Status CheckNoSideEffects(const Computation& callee, const Instruction& caller) {
    if (!pure_.insert(&callee).second) return absl::OkStatus();
    for (const Instruction* instruction : callee.instructions()) {
      if (instruction->HasSideEffect()) {
        return Broken(10, caller.Describe(), " applies ", callee.name(), ", where ", instruction->Describe(),
                      " has a side effect");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckLiteral(const Literal& literal, const Instruction& instruction) {
    const Shape& shape = literal.shape();
    if (shape.IsTuple()) {
      if (literal.elements().size() != shape.tuple_shapes().size()) {
        return Broken(11, instruction.Describe(), " has a tuple literal of the wrong length");
      }
      for (size_t i = 0; i < literal.elements().size(); ++i) {
        if (!Shape::Compatible(literal.elements()[i].shape(), shape.tuple_shapes(i))) {
          return Broken(11, instruction.Describe(), " has a tuple literal whose element ", i, " has another shape");
        }
        KILN_RETURN_IF_ERROR(CheckLiteral(literal.elements()[i], instruction));
      }
      return absl::OkStatus();
    }
    if (!shape.IsArray() || static_cast<int64_t>(literal.bytes().size()) != shape.byte_count()) {
      return Broken(11, instruction.Describe(), " has ", literal.bytes().size(), " bytes for ", shape.ToString(false));
    }
    return absl::OkStatus();
  }

  // Rule 12.
  absl::Status CheckEntryLayout() {
    if (!module_.has_entry_layout()) return absl::OkStatus();
    const Computation& entry = *module_.entry();
    const std::vector<Shape>& parameters = module_.entry_parameter_layouts();
    if (static_cast<int64_t>(parameters.size()) != entry.parameter_count()) {
      return Broken(12, "the entry layout has ", parameters.size(), " parameters, the entry ", entry.parameter_count());
    }
    for (int64_t i = 0; i < entry.parameter_count(); ++i) {
      absl::Status valid = ValidateShape(parameters[i]);
      if (!valid.ok()) return Broken(12, "layout of parameter ", i, ": ", valid.message());
      if (!Shape::Compatible(parameters[i], entry.parameter(i)->shape())) {
        return Broken(12, "the entry layout has ", parameters[i].ToString(), " for parameter ", i, ", which is ",
                      entry.parameter(i)->shape().ToString());
      }
    }
    absl::Status valid = ValidateShape(module_.entry_result_layout());
    if (!valid.ok()) return Broken(12, "layout of the result: ", valid.message());
    if (!Shape::Compatible(module_.entry_result_layout(), entry.root()->shape())) {
      return Broken(12, "the entry layout has the result ", module_.entry_result_layout().ToString(), ", the entry ",
                    entry.root()->shape().ToString());
    }
    return absl::OkStatus();
  }

  // The leaf of `shape` at `index`, null when there is none.
  static const Shape* LeafAt(const Shape& shape, const DimensionVector& index) {
    const Shape* part = shape.Part(index);
    return part == nullptr || part->IsTuple() ? nullptr : part;
  }

  const Shape* ParameterLeaf(int64_t parameter, const DimensionVector& index) const {
    const Computation& entry = *module_.entry();
    if (parameter < 0 || parameter >= entry.parameter_count()) return nullptr;
    return LeafAt(entry.parameter(parameter)->shape(), index);
  }

  // Rule 13.
  absl::Status CheckAliases() {
    absl::flat_hash_set<DimensionVector> outputs;
    absl::flat_hash_set<std::pair<int64_t, DimensionVector>> inputs;
    for (const InputOutputAlias& alias : module_.aliases()) {
      const Shape* output = LeafAt(module_.entry()->root()->shape(), alias.output_index);
      const Shape* input = ParameterLeaf(alias.parameter, alias.parameter_index);
      const std::string text = absl::StrCat("the alias of output ", IndexText(alias.output_index), " and parameter ",
                                            alias.parameter, IndexText(alias.parameter_index));
      if (output == nullptr || input == nullptr) return Broken(13, text, " names no leaf");
      if (output->byte_count() != input->byte_count()) {
        return Broken(13, text, " joins ", output->ToString(), " and ", input->ToString());
      }
      if (!outputs.insert(alias.output_index).second)
        return Broken(13, text, " names an output that is aliased already");
      if (!inputs.emplace(alias.parameter, alias.parameter_index).second)
        return Broken(13, text, " names a parameter that is aliased already");
    }
    for (const BufferDonor& donor : module_.donors()) {
      const Shape* input = ParameterLeaf(donor.parameter, donor.parameter_index);
      const std::string text = absl::StrCat("the donor ", donor.parameter, IndexText(donor.parameter_index));
      if (input == nullptr) return Broken(13, text, " names no leaf");
      if (!inputs.emplace(donor.parameter, donor.parameter_index).second)
        return Broken(13, text, " is named twice or aliased");
    }
    return absl::OkStatus();
  }

  const Module& module_;
  const std::vector<Computation*> computations_;
  absl::flat_hash_set<const Computation*> owned_;
  // Computations that rule 10 was checked of.
  absl::flat_hash_set<const Computation*> pure_;
};

}  // namespace

absl::Status Verify(const Module& module) { return Verifier(module).Run(); }

}  // namespace kiln::hlo
