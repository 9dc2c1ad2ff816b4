// Protos read to the module that their text gives, and come back as they went.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "src/frontend/hlo_proto/reader.h"
#include "src/frontend/hlo_proto/writer.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/hlo/printer.h"
#include "tests/frontend/test_files.h"

namespace kiln::hlo_proto {
namespace {

using ::testing::HasSubstr;

std::string Text(const hlo::Module& module) {
  hlo::PrintOptions options;
  options.metadata = true;
  return hlo::ToString(module, options);
}

// Lines without what does not travel in protos or in the order of computations.
std::vector<std::string> SortedLines(const hlo::Module& module) {
  hlo::PrintOptions options;
  options.metadata = false;
  const std::string text = hlo::ToString(module, options);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (at > 0) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<absl::string_view> Opcodes(const hlo::Module& module) {
  std::vector<absl::string_view> opcodes;
  for (const hlo::Computation* computation : module.computations()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      opcodes.push_back(hlo::OpcodeName(instruction->opcode()));
    }
  }
  std::sort(opcodes.begin(), opcodes.end());
  return opcodes;
}

TEST(HloProtoReader, ProtosOfXlaAreTheirTexts) {
  int compared = 0;
  for (const auto& file : DataFiles(".hlo.pb")) {
    const auto from_proto = ReadModule(ReadFile(file));
    ASSERT_TRUE(from_proto.ok()) << file << ": " << from_proto.status();
    const auto from_text =
        hlo_text::ParseHloText(ReadFile(absl::StrReplaceAll(file.string(), {{".hlo.pb", ".hlo.txt"}})), "text");
    ASSERT_TRUE(from_text.ok()) << from_text.status();
    EXPECT_EQ(Opcodes(**from_proto), Opcodes(**from_text)) << file;
    // Here the text has shorthands, whose computations are named by who reads them.
    if (file.filename() != "h01_all_ops.hlo.pb") EXPECT_EQ(SortedLines(**from_proto), SortedLines(**from_text)) << file;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

// What is written reads back to the same module, by its text with metadata, and is written the same again.
TEST(HloProtoReader, RoundTrip) {
  int compared = 0;
  for (const auto& file : DataFiles(".hlo.txt")) {
    const auto module = hlo_text::ParseHloText(ReadFile(file), "text");
    ASSERT_TRUE(module.ok()) << module.status();
    const std::string bytes = WriteModule(**module);
    const auto once = ReadModule(bytes);
    ASSERT_TRUE(once.ok()) << file << ": " << once.status();
    EXPECT_EQ(WriteModule(**once), bytes) << file;
    const auto with_config = ReadModule(WriteModuleWithConfig(**module));
    ASSERT_TRUE(with_config.ok()) << file << ": " << with_config.status();
    EXPECT_EQ((*with_config)->replica_count(), (*module)->replica_count());
    (*once)->set_replica_count((*module)->replica_count());
    (*once)->set_partition_count((*module)->partition_count());
    EXPECT_EQ(Text(**once), Text(**with_config)) << file;
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

std::string Wrapped(uint32_t field, const std::string& bytes) {
  WireWriter writer;
  writer.Element(field, bytes);
  return writer.Take();
}

TEST(HloProtoReader, TellsTheMessagesApart) {
  const auto module = hlo_text::ParseHloText("HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }", "text");
  ASSERT_TRUE(module.ok());
  const std::string bytes = WriteModule(**module);
  const std::string proto = Wrapped(1, bytes);
  const std::string snapshot = Wrapped(1, proto) + Wrapped(4, "cpu");
  for (const std::string& message : {bytes, proto, snapshot, WriteModuleWithConfig(**module)}) {
    EXPECT_TRUE(LooksLikeModule(message));
    const auto read = ReadModule(message);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)->name(), "m");
  }
  for (const std::string& other :
       {std::string("HloModule m"), std::string(), std::string("\x0a\x01m"), bytes.substr(1)}) {
    EXPECT_FALSE(LooksLikeModule(other));
    EXPECT_THAT(std::string(ReadModule(other).status().message()), HasSubstr("expected an HloModuleProto"));
  }
}

// A literal whose layout is not row-major keeps its elements in the order of the layout.
TEST(HloProtoReader, LiteralsInTheirOwnLayout) {
  WireWriter layout;
  layout.Integers(1, std::vector<int64_t>{0, 1});
  WireWriter shape;
  shape.Int64(2, static_cast<int64_t>(hlo::PrimitiveType::kS32));
  shape.Integers(3, std::vector<int64_t>{2, 3});
  shape.Message(5, layout);
  WireWriter literal;
  literal.Message(1, shape);
  literal.Integers(4, std::vector<int64_t>{1, 4, 2, 5, 3, -6});
  const auto read = ReadLiteral(literal.bytes());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(hlo::ToString(*read), "{ { 1, 2, 3 }, { 4, 5, -6 } }");
}

TEST(HloProtoReader, Errors) {
  // An instruction per field that is wrong, in a module that is right otherwise.
  const auto read = [](const WireWriter& instruction, int64_t root = 1) {
    WireWriter computation;
    computation.String(1, "c");
    computation.Message(2, instruction);
    computation.Int64(5, 1);
    computation.Int64(6, root);
    WireWriter module;
    module.String(1, "m");
    module.Message(3, computation);
    module.Int64(6, 1);
    return std::string(ReadModule(module.bytes()).status().message());
  };
  const auto instruction = [](absl::string_view opcode, int64_t type) {
    WireWriter shape;
    shape.Int64(2, type);
    WireWriter proto;
    proto.String(1, "x");
    proto.String(2, opcode);
    proto.Message(3, shape);
    proto.Int64(35, 1);
    return proto;
  };
  WireWriter uses_later = instruction("negate", 11);
  uses_later.Integers(36, std::vector<int64_t>{7});
  WireWriter calls_nothing = instruction("call", 11);
  calls_nothing.Integers(38, std::vector<int64_t>{9});
  WireWriter calls_itself = instruction("call", 11);
  calls_itself.Integers(38, std::vector<int64_t>{1});
  WireWriter third_parameter = instruction("parameter", 11);
  third_parameter.Int64(9, 2);
  EXPECT_THAT(read(instruction("fly", 11)), HasSubstr("instruction x (fly): the opcode is not known"));
  EXPECT_THAT(read(instruction("parameter", 77)), HasSubstr("element type 77 in a shape is not supported"));
  EXPECT_THAT(read(instruction("compare", 16)), HasSubstr("unknown comparison direction ''"));
  EXPECT_THAT(read(instruction("parameter", 11), 5), HasSubstr("its root, number 5, is not in it"));
  EXPECT_THAT(read(uses_later), HasSubstr("instruction x uses number 7, which does not stand before it"));
  EXPECT_THAT(read(calls_nothing), HasSubstr("instruction x calls computation 9, which the module does not have"));
  EXPECT_THAT(read(calls_itself), HasSubstr("computations call each other in a cycle"));
  EXPECT_THAT(read(third_parameter), HasSubstr("parameter number 2: expected each of 0 to 0 once"));
  EXPECT_EQ(read(instruction("parameter", 11)), "");
}

}  // namespace
}  // namespace kiln::hlo_proto
