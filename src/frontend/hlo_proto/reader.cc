#include "src/frontend/hlo_proto/reader.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "src/base/call_order.h"
#include "src/frontend/hlo_proto/writer.h"
#include "src/hlo/verifier.h"

namespace kiln::hlo_proto {
namespace {

using hlo::Computation;
using hlo::Instruction;

// An HloModuleProto has computations of instructions that name an opcode.
bool IsModuleProto(absl::string_view bytes) {
  WireReader reader(bytes);
  absl::string_view computation;
  while (reader.Next()) {
    if (reader.field() == 3 && reader.has_bytes() && computation.empty()) computation = reader.Bytes();
  }
  if (!reader.status().ok() || computation.empty()) return false;
  WireReader instructions(computation);
  while (instructions.Next()) {
    if (instructions.field() != 2 || !instructions.has_bytes()) continue;
    WireReader instruction(instructions.Bytes());
    while (instruction.Next()) {
      if (instruction.field() != 2) continue;
      const absl::string_view opcode = instruction.has_bytes() ? instruction.Bytes() : absl::string_view();
      return !opcode.empty() && absl::ascii_islower(static_cast<unsigned char>(opcode[0]));
    }
    return false;
  }
  return false;
}

absl::string_view FirstField(absl::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) return reader.has_bytes() ? reader.Bytes() : absl::string_view();
  }
  return {};
}

// The module inside, and what stands around it.
struct Envelope {
  absl::string_view module;
  absl::string_view config;
};
std::optional<Envelope> Open(absl::string_view bytes) {
  if (IsModuleProto(bytes)) return Envelope{bytes, {}};
  const absl::string_view first = FirstField(bytes);
  if (IsModuleProto(first)) return Envelope{first, Fields(bytes).Bytes(2)};
  const absl::string_view inner = FirstField(first);
  if (IsModuleProto(inner)) return Envelope{inner, {}};
  return std::nullopt;
}

std::string CleanName(absl::string_view name) {
  std::string clean(name);
  for (char& c : clean) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-' && c != '$') c = '_';
  }
  return clean;
}

// Pairs of a map<string, string>.
void ReadStrings(const Fields& holder, std::map<std::string, std::string>* map) {
  for (absl::string_view bytes : holder.All(1)) {
    const Fields entry(bytes);
    (*map)[entry.String(1)] = entry.String(2);
  }
}

class ModuleReader {
 public:
  explicit ModuleReader(const Envelope& envelope) : proto_(envelope.module), config_(envelope.config) {}

  absl::StatusOr<std::unique_ptr<hlo::Module>> Read() {
    module_ = std::make_unique<hlo::Module>(proto_.String(1));
    KILN_RETURN_IF_ERROR(proto_.status());
    KILN_RETURN_IF_ERROR(config_.status());
    ReadFrames();
    KILN_RETURN_IF_ERROR(IndexComputations());
    const CallOrder calls = CalleesFirst(callees_);
    if (calls.cycle) return InvalidArgument("computations call each other in a cycle");
    for (size_t index : calls.order) {
      absl::Status status = ReadComputation(index);
      if (!status.ok()) return Annotate(status, absl::StrCat("computation ", sources_[index].proto.Bytes(1)));
    }
    KILN_RETURN_IF_ERROR(ReadEntry());
    KILN_RETURN_IF_ERROR(ReadHeader());
    KILN_RETURN_IF_ERROR(hlo::Verify(*module_));
    return std::move(module_);
  }

 private:
  struct Source {
    Fields proto;
    std::vector<absl::string_view> instructions;
    Computation* computation = nullptr;
  };
  struct Frame {
    std::string file;
    int64_t line = 0;
    int64_t column = 0;
  };

  // metadata.stack_frame_id names a frame, a frame a place, a place a file; all numbers count from 1.
  void ReadFrames() {
    const Fields index = proto_.Message(17);
    const std::vector<absl::string_view> files = index.All(1);
    const std::vector<absl::string_view> places = index.All(3);
    for (absl::string_view bytes : index.All(4)) {
      Frame& frame = frames_.emplace_back();
      const int64_t place = Fields(bytes).Int(1) - 1;
      if (place < 0 || place >= static_cast<int64_t>(places.size())) continue;
      const Fields location(places[place]);
      const int64_t file = location.Int(1) - 1;
      if (file < 0 || file >= static_cast<int64_t>(files.size())) continue;
      frame = {std::string(files[file]), location.Int(3), location.Int(4)};
    }
  }

  absl::Status IndexComputations() {
    for (absl::string_view bytes : proto_.All(3)) {
      Source& source = sources_.emplace_back(Source{Fields(bytes), {}});
      source.instructions = source.proto.All(2);
      KILN_RETURN_IF_ERROR(source.proto.status());
      if (!by_id_.emplace(source.proto.Int(5), sources_.size() - 1).second) {
        return InvalidArgument("two computations have the number ", source.proto.Int(5));
      }
    }
    for (const Source& source : sources_) {
      std::vector<size_t>& callees = callees_.emplace_back();
      for (absl::string_view bytes : source.instructions) {
        const Fields instruction(bytes);
        for (int64_t id : instruction.Ints(38)) {
          const auto callee = by_id_.find(id);
          if (callee == by_id_.end()) {
            return InvalidArgument("instruction ", instruction.Bytes(1), " calls computation ", id,
                                   ", which the module does not have");
          }
          callees.push_back(callee->second);
        }
        KILN_RETURN_IF_ERROR(instruction.status());
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadComputation(size_t index) {
    Source& source = sources_[index];
    if (source.instructions.empty()) return InvalidArgument("it has no instructions");
    Computation* computation = module_->AddComputation(CleanName(source.proto.Bytes(1)));
    source.computation = computation;
    KILN_RETURN_IF_ERROR(CheckParameterNumbers(source));
    for (absl::string_view bytes : source.instructions) {
      const Fields proto(bytes);
      KILN_ASSIGN_OR_RETURN(Instruction * instruction, ReadInstruction(proto, computation));
      if (!instructions_.emplace(proto.Int(35), instruction).second) {
        return InvalidArgument("two instructions have the number ", proto.Int(35));
      }
    }
    // Predecessors may stand behind.
    for (absl::string_view bytes : source.instructions) {
      const Fields proto(bytes);
      for (int64_t id : proto.Ints(37)) {
        KILN_ASSIGN_OR_RETURN(Instruction * predecessor, Find(id, *computation, proto));
        instructions_.at(proto.Int(35))->AddControlPredecessor(predecessor);
      }
    }
    const auto root = instructions_.find(source.proto.Int(6));
    if (root == instructions_.end() || root->second->parent() != computation) {
      return InvalidArgument("its root, number ", source.proto.Int(6), ", is not in it");
    }
    computation->set_root(root->second);
    return absl::OkStatus();
  }

  // Numbers 0..n-1, each once: computations index their parameters by it.
  static absl::Status CheckParameterNumbers(const Source& source) {
    std::vector<int64_t> numbers;
    for (absl::string_view bytes : source.instructions) {
      const Fields proto(bytes);
      if (proto.Bytes(2) == "parameter") numbers.push_back(proto.Int(9));
    }
    std::vector<bool> seen(numbers.size(), false);
    for (int64_t number : numbers) {
      if (number < 0 || number >= static_cast<int64_t>(numbers.size()) || seen[number]) {
        return InvalidArgument("parameter number ", number, ": expected each of 0 to ",
                               static_cast<int64_t>(numbers.size()) - 1, " once");
      }
      seen[number] = true;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Instruction*> Find(int64_t id, const Computation& computation, const Fields& user) const {
    const auto found = instructions_.find(id);
    if (found != instructions_.end() && found->second->parent() == &computation) return found->second;
    return InvalidArgument("instruction ", user.Bytes(1), " uses number ", id, ", which does not stand before it");
  }

  absl::StatusOr<Instruction*> ReadInstruction(const Fields& proto, Computation* computation) {
    absl::StatusOr<Instruction*> instruction = ReadUnannotated(proto, computation);
    if (instruction.ok()) return instruction;
    return Annotate(instruction.status(), absl::StrCat("instruction ", proto.Bytes(1), " (", proto.Bytes(2), ")"));
  }

  absl::StatusOr<Instruction*> ReadUnannotated(const Fields& proto, Computation* computation) {
    KILN_RETURN_IF_ERROR(proto.status());
    std::optional<hlo::Opcode> opcode = hlo::ParseOpcode(proto.Bytes(2));
    // How the writer says functions that other readers may not know.
    if (opcode == hlo::Opcode::kCustomCall && proto.Ints(36).size() == 1) {
      for (hlo::Opcode function : {hlo::Opcode::kErfc, hlo::Opcode::kExp2, hlo::Opcode::kLog2}) {
        if (proto.Bytes(28) == absl::StrCat("mhlo.", hlo::OpcodeName(function))) opcode = function;
      }
    }
    if (!opcode.has_value()) return Unimplemented("the opcode is not known");
    KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ReadShape(proto.Bytes(3)));
    KILN_ASSIGN_OR_RETURN(hlo::Attributes attributes, ReadAttributes(proto, *opcode));
    std::vector<Instruction*> operands;
    for (int64_t id : proto.Ints(36)) {
      KILN_ASSIGN_OR_RETURN(Instruction * operand, Find(id, *computation, proto));
      operands.push_back(operand);
    }
    // Writers say what the type of the operands says already.
    if (auto* compare = attributes.GetMutable<hlo::CompareAttributes>(); compare != nullptr && !operands.empty()) {
      const bool is_default = compare->type == DefaultComparison(operands[0]->shape().element_type());
      if (is_default) compare->type = hlo::ComparisonType::kDefault;
    }
    std::vector<Computation*> called;
    for (int64_t id : proto.Ints(38)) called.push_back(sources_[by_id_.at(id)].computation);
    Instruction* instruction = computation->Add(*opcode, std::move(shape), std::move(operands), std::move(attributes),
                                                std::move(called), CleanName(proto.Bytes(1)));
    if (proto.Has(7)) instruction->set_metadata(ReadMetadata(proto.Message(7)));
    if (proto.Has(40)) instruction->set_sharding(ShardingText(proto.Bytes(40)));
    // Most instructions have none of these, and then no memory for them.
    if (proto.Has(43)) instruction->set_backend_config(proto.String(43));
    if (proto.Has(68)) ReadStrings(proto.Message(68), instruction->mutable_frontend_attributes());
    const auto carry = [&](absl::string_view name, std::string text) {
      (*instruction->mutable_carried_attributes())[std::string(name)] = std::move(text);
    };
    if (!proto.Bytes(79).empty()) {
      carry("async_execution_thread", absl::StrCat("\"", CleanName(proto.Bytes(79)), "\""));
    }
    if (*opcode == hlo::Opcode::kDomain) {
      carry("domain", absl::StrCat("{kind=\"sharding\", entry=", ShardingText(proto.Bytes(54)),
                                   ", exit=", ShardingText(proto.Bytes(55)), "}"));
    }
    if (proto.Has(61)) {
      const auto word = [](std::string* out, int64_t leaf) { absl::StrAppend(out, leaf != 0 ? "true" : "false"); };
      carry("parameter_replication", absl::StrCat("{", absl::StrJoin(proto.Message(61).Ints(1), ",", word), "}"));
    }
    KILN_RETURN_IF_ERROR(proto.status());
    return instruction;
  }

  hlo::Metadata ReadMetadata(const Fields& proto) const {
    hlo::Metadata metadata{proto.String(1), proto.String(2), proto.String(3), proto.Int(4), proto.Int(18)};
    const int64_t frame = proto.Int(15) - 1;
    if (metadata.source_file.empty() && frame >= 0 && frame < static_cast<int64_t>(frames_.size())) {
      metadata.source_file = frames_[frame].file;
      metadata.source_line = frames_[frame].line;
      metadata.source_column = frames_[frame].column;
    }
    return metadata;
  }

  absl::Status ReadEntry() {
    size_t entry = sources_.size();
    if (const auto found = by_id_.find(proto_.Int(6)); found != by_id_.end()) entry = found->second;
    for (size_t i = 0; entry == sources_.size() && i < sources_.size(); ++i) {
      if (sources_[i].proto.Bytes(1) == proto_.Bytes(2)) entry = i;
    }
    if (entry == sources_.size()) return InvalidArgument("the module has no entry computation ", proto_.Int(6));
    module_->set_entry(sources_[entry].computation);
    return absl::OkStatus();
  }

  absl::Status ReadHeader() {
    if (proto_.Has(4)) {
      const Fields program = config_.Has(1) ? config_.Message(1) : proto_.Message(4);
      for (absl::string_view bytes : program.All(1)) {
        KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ReadShape(bytes));
        module_->mutable_entry_parameter_layouts()->push_back(std::move(shape));
      }
      KILN_ASSIGN_OR_RETURN(*module_->mutable_entry_result_layout(), ReadShape(program.Bytes(2)));
      KILN_RETURN_IF_ERROR(program.status());
      module_->set_has_entry_layout(true);
    }
    const auto list = [](const Fields& message, uint32_t field) {
      const std::vector<int64_t> values = message.Ints(field);
      return hlo::DimensionVector(values.begin(), values.end());
    };
    for (absl::string_view bytes : proto_.Message(8).All(1)) {
      const Fields alias(bytes);
      module_->mutable_aliases()->push_back({list(alias, 1), alias.Int(2), list(alias, 3), alias.Int(4) == 2});
      KILN_RETURN_IF_ERROR(alias.status());
    }
    for (absl::string_view bytes : proto_.Message(18).All(1)) {
      const Fields donor(bytes);
      module_->mutable_donors()->push_back({donor.Int(1), list(donor, 2)});
      KILN_RETURN_IF_ERROR(donor.status());
    }
    ReadStrings(proto_.Message(19), module_->mutable_frontend_attributes());
    if (config_.Has(4)) module_->set_replica_count(config_.Int(4));
    if (config_.Has(5)) module_->set_partition_count(config_.Int(5));
    KILN_RETURN_IF_ERROR(config_.status());
    if (proto_.Has(7)) KILN_RETURN_IF_ERROR(ReadSchedule(proto_.Message(7)));
    return proto_.status();
  }

  absl::Status ReadSchedule(const Fields& schedule) {
    for (absl::string_view bytes : schedule.All(1)) {
      const Fields entry(bytes);
      const auto source = by_id_.find(entry.Int(1));
      if (source == by_id_.end()) return InvalidArgument("the schedule names computation ", entry.Int(1));
      Computation* computation = sources_[source->second].computation;
      std::vector<Instruction*> order;
      for (int64_t id : entry.Message(2).Ints(1)) {
        const auto found = instructions_.find(id);
        if (found == instructions_.end() || found->second->parent() != computation) {
          return InvalidArgument("the schedule of ", computation->name(), " names instruction ", id);
        }
        order.push_back(found->second);
      }
      absl::flat_hash_map<Instruction*, int> seen;
      for (Instruction* instruction : order) ++seen[instruction];
      if (seen.size() != order.size() || static_cast<int64_t>(order.size()) != computation->instruction_count()) {
        return InvalidArgument("the schedule of ", computation->name(), " does not name each instruction once");
      }
      computation->SetOrder(order);
    }
    module_->set_is_scheduled(true);
    return absl::OkStatus();
  }

  const Fields proto_;
  const Fields config_;
  std::unique_ptr<hlo::Module> module_;
  std::vector<Frame> frames_;
  std::vector<Source> sources_;
  std::vector<std::vector<size_t>> callees_;  // By index in `sources_`.
  absl::flat_hash_map<int64_t, size_t> by_id_;
  absl::flat_hash_map<int64_t, Instruction*> instructions_;
};

}  // namespace

bool LooksLikeModule(absl::string_view bytes) { return Open(bytes).has_value(); }

absl::StatusOr<std::unique_ptr<hlo::Module>> ReadModule(absl::string_view bytes) {
  const std::optional<Envelope> envelope = Open(bytes);
  if (!envelope.has_value()) {
    return InvalidArgument(
        "expected an HloModuleProto, HloProto, HloSnapshot or HloModuleProtoWithConfig; the bytes "
        "have no field of computations with instructions");
  }
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = ModuleReader(*envelope).Read();
  if (!module.ok()) return Annotate(module.status(), "HloModuleProto");
  return module;
}

}  // namespace kiln::hlo_proto
