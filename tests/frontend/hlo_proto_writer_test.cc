// HloModuleProto as XLA writes it, from the text that belongs to it.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/base/wire_reader.h"
#include "src/frontend/hlo_proto/writer.h"
#include "src/frontend/hlo_text/parser.h"
#include "tests/frontend/test_files.h"

namespace kiln::hlo_proto {
namespace {

// Field number -> the payloads of its occurrences, numbers as text.
using Fields = std::map<uint32_t, std::vector<std::string>>;

Fields FieldsOf(const std::string& bytes) {
  Fields fields;
  // A reader of its own, since the type of the fields is not known: key, then payload.
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.size()) {
    const uint64_t key = varint();
    size_t size = 0;
    switch (key & 7) {
      case 0:
        fields[key >> 3].push_back(std::to_string(varint()));
        continue;
      case 1:
        size = 8;
        break;
      case 2:
        size = varint();
        break;
      case 5:
        size = 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
        return fields;
    }
    if (size > bytes.size() - at) {
      ADD_FAILURE() << "field " << (key >> 3) << " is cut off";
      return fields;
    }
    fields[key >> 3].push_back(bytes.substr(at, size));
    at += size;
  }
  return fields;
}

// What the writer numbers in its own way, spells in another form, or leaves out because HLO carries it as text.
bool IsCompared(const std::string& opcode, uint32_t field) {
  switch (field) {
    case 7:   // metadata
    case 35:  // id
    case 36:
    case 37:
    case 38:  // ids of operands, predecessors, called computations
    case 40:  // sharding
    case 49:
    case 87:
    case 92:  // the forms of replica groups
      return false;
    case 15:
    case 16:
    case 50:
    case 51:
    case 58:  // XLA fills the fields of a convolution for custom calls as well
      return opcode != "custom-call";
    case 54:
    case 55:  // shardings of a domain
      return opcode != "domain";
    case 61:  // replication of a parameter
      return opcode != "parameter";
    case 98:  // sparsity of a dot
      return opcode != "dot";
    default:
      return true;
  }
}

// Instruction name -> its fields, over all computations.
std::map<std::string, Fields> InstructionsOf(const std::string& module) {
  std::map<std::string, Fields> instructions;
  Fields fields_of_module = FieldsOf(module);
  for (const std::string& computation : fields_of_module[3]) {
    Fields fields_of_computation = FieldsOf(computation);
    for (const std::string& instruction : fields_of_computation[2]) {
      Fields fields = FieldsOf(instruction);
      const std::string name = fields[1].empty() ? "" : fields[1][0];
      const std::string opcode = fields[2].empty() ? "" : fields[2][0];
      for (auto entry = fields.begin(); entry != fields.end();) {
        // XLA writes some messages though they are empty.
        const bool empty = entry->second.size() == 1 && entry->second[0].empty();
        entry = !empty && IsCompared(opcode, entry->first) ? std::next(entry) : fields.erase(entry);
      }
      instructions[name] = std::move(fields);
    }
  }
  return instructions;
}

std::string Hex(const std::string& bytes) {
  std::string text;
  for (unsigned char c : bytes) text += absl::StrCat(absl::Hex(c, absl::kZeroPad2));
  return text;
}

TEST(HloProtoWriterTest, InstructionsAgreeWithXla) {
  const auto files = DataFiles(".hlo.pb");
  EXPECT_GE(files.size(), 10u);
  for (const auto& file : files) {
    std::filesystem::path text = file;
    text.replace_extension(".txt");
    if (!std::filesystem::exists(text)) continue;
    SCOPED_TRACE(file);
    hlo_text::ElidedConstants elided;
    auto module = hlo_text::ParseHloText(ReadFile(text), "sample", {.elided = &elided});
    ASSERT_TRUE(module.ok()) << module.status();
    const std::map<std::string, Fields> expected = InstructionsOf(ReadFile(file));
    const std::map<std::string, Fields> found = InstructionsOf(WriteModule(**module));
    // Computations that the entry does not reach are not written.
    std::set<std::string> reachable;
    for (const hlo::Computation* computation : (*module)->PostOrder()) {
      for (const hlo::Instruction* instruction : computation->instructions()) reachable.insert(instruction->name());
    }
    EXPECT_EQ(found.size(), reachable.size());
    for (const auto& [name, fields] : expected) {
      const auto own = found.find(name);
      if (own == found.end()) {
        EXPECT_FALSE(reachable.contains(name)) << "no instruction " << name;
        continue;
      }
      Fields all = fields;
      for (const auto& [number, values] : own->second) all[number];
      for (const auto& [number, unused] : all) {
        const std::vector<std::string> wanted =
            fields.contains(number) ? fields.at(number) : std::vector<std::string>();
        const std::vector<std::string> got =
            own->second.contains(number) ? own->second.at(number) : std::vector<std::string>();
        if (wanted == got) continue;
        ADD_FAILURE() << name << " (" << fields.at(2)[0] << ") field " << number << ": found "
                      << (got.empty() ? "nothing" : Hex(got[0])) << ", expected "
                      << (wanted.empty() ? "nothing" : Hex(wanted[0]));
      }
    }
  }
}

// Every id that is referred to exists once.
TEST(HloProtoWriterTest, IdsResolve) {
  for (const auto& file : DataFiles(".hlo.txt")) {
    SCOPED_TRACE(file);
    hlo_text::ElidedConstants elided;
    auto module = hlo_text::ParseHloText(ReadFile(file), "sample", {.elided = &elided});
    ASSERT_TRUE(module.ok()) << module.status();
    Fields proto = FieldsOf(WriteModule(**module));
    std::map<int64_t, int> ids;
    std::vector<int64_t> references;
    for (const std::string& computation : proto[3]) {
      WireReader reader(computation);
      while (reader.Next()) {
        if (reader.field() == 5) ++ids[reader.Int64()];
        if (reader.field() == 6) references.push_back(reader.Int64());
        if (reader.field() != 2) continue;
        WireReader instruction(reader.Bytes());
        while (instruction.Next()) {
          if (instruction.field() == 35) ++ids[instruction.Int64()];
          if (instruction.field() >= 36 && instruction.field() <= 38) instruction.AppendInt64(&references);
        }
        EXPECT_TRUE(instruction.status().ok());
      }
      EXPECT_TRUE(reader.status().ok());
    }
    for (const auto& [id, count] : ids) EXPECT_EQ(count, 1) << id;
    for (int64_t id : references) EXPECT_TRUE(ids.contains(id)) << id;
  }
}

}  // namespace
}  // namespace kiln::hlo_proto
