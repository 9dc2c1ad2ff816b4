#include "src/frontend/load.h"

#include "absl/strings/match.h"
#include "src/base/float_environment.h"
#include "src/base/status.h"
#include "src/frontend/hlo_proto/reader.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/text_reader.h"
#include "src/frontend/stablehlo/importer.h"

namespace kiln::frontend {
namespace {

absl::StatusOr<std::unique_ptr<hlo::Module>> LoadBytecode(absl::string_view bytes) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<mlir::Module> module, mlir::ReadBytecode(bytes));
  return stablehlo::Import(*module);
}

enum class Encoding { kMlirBytecode, kMlirText, kHloText, kHloProto, kProtoText, kUnknown };

// The first line that is neither blank nor a comment.
absl::string_view FirstLine(absl::string_view bytes) {
  while (true) {
    const size_t start = bytes.find_first_not_of(" \t\r\n");
    if (start == absl::string_view::npos) return {};
    bytes.remove_prefix(start);
    if (!absl::StartsWith(bytes, "//")) return bytes.substr(0, bytes.find('\n'));
    const size_t end = bytes.find('\n');
    if (end == absl::string_view::npos) return {};
    bytes.remove_prefix(end);
  }
}

Encoding Sniff(absl::string_view bytes) {
  if (mlir::IsBytecode(bytes)) return Encoding::kMlirBytecode;
  if (hlo_proto::LooksLikeModule(bytes)) return Encoding::kHloProto;
  constexpr size_t kHead = 512;
  for (unsigned char c : bytes.substr(0, kHead)) {
    if (c < ' ' && c != '\n' && c != '\t' && c != '\r') return Encoding::kUnknown;
  }
  const absl::string_view line = FirstLine(bytes);
  if (absl::StartsWith(line, "HloModule")) return Encoding::kHloText;
  for (absl::string_view start : {"module ", "module{", "func.func", "#", "!", "\"", "builtin.module", "sdy.mesh"}) {
    if (absl::StartsWith(line, start)) return Encoding::kMlirText;
  }
  if (absl::StartsWith(line, "name:") || absl::StartsWith(line, "hlo_module {")) return Encoding::kProtoText;
  return line.empty() ? Encoding::kUnknown : Encoding::kHloText;
}

}  // namespace

absl::StatusOr<std::unique_ptr<hlo::Module>> Load(absl::string_view bytes, absl::string_view format,
                                                  absl::string_view name, hlo_text::ElidedConstants* elided) {
  const DefaultFloatEnvironment environment;
  const bool wants_mlir = format == "mlir";
  if (!format.empty() && !wants_mlir && format != "hlo" && format != "hlo_with_config") {
    return Unimplemented("program format '", format, "': this version reads 'mlir', 'hlo' and 'hlo_with_config'");
  }
  const Encoding encoding = Sniff(bytes);
  const bool is_mlir = encoding == Encoding::kMlirBytecode || encoding == Encoding::kMlirText;
  if (!format.empty() && encoding != Encoding::kUnknown && is_mlir != wants_mlir) {
    return InvalidArgument("the program does not look like its format '", format, "'");
  }
  switch (encoding) {
    case Encoding::kMlirBytecode:
      return LoadBytecode(bytes);
    case Encoding::kMlirText: {
      KILN_ASSIGN_OR_RETURN(std::unique_ptr<mlir::Module> module, mlir::ReadText(bytes, name));
      return stablehlo::Import(*module);
    }
    case Encoding::kHloText:
      return hlo_text::ParseHloText(bytes, name, {.elided = elided});
    case Encoding::kHloProto:
      return hlo_proto::ReadModule(bytes);
    case Encoding::kProtoText:
      return Unimplemented("the text form of protos is not read: give the binary form, or HLO text");
    case Encoding::kUnknown:
      return InvalidArgument(
          "the bytes are no program that is known: expected HLO text, StableHLO text, MLIR bytecode, an "
          "HloModuleProto, "
          "HloProto, HloSnapshot or HloModuleProtoWithConfig");
  }
  return Internal("no such encoding");
}

}  // namespace kiln::frontend
