#include "src/frontend/mlir/bytecode_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/frontend/mlir/bytecode_file.h"
#include "src/frontend/mlir/entry_table.h"
#include "src/frontend/mlir/ir_reader.h"
#include "src/frontend/mlir/vhlo_ops.h"

namespace kiln::mlir {
namespace {

constexpr absl::string_view kArtifactProducer = "StableHLO_v";

// Portable artifacts name their VHLO version in the producer string; other producers have none to check.
absl::Status CheckArtifactVersion(absl::string_view producer) {
  if (!absl::StartsWith(producer, kArtifactProducer)) return absl::OkStatus();
  const absl::string_view text = producer.substr(kArtifactProducer.size());
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  VhloVersion version;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &version.major) || !absl::SimpleAtoi(parts[1], &version.minor) ||
      !absl::SimpleAtoi(parts[2], &version.patch)) {
    return InvalidArgument("StableHLO artifact of unknown version '", text, "'");
  }
  if (version < kMinimumVhloVersion || kCurrentVhloVersion < version) {
    return InvalidArgument("StableHLO artifact of version ", text, "; versions ", kMinimumVhloVersion.major, ".",
                           kMinimumVhloVersion.minor, ".", kMinimumVhloVersion.patch, " to ", kCurrentVhloVersion.major,
                           ".", kCurrentVhloVersion.minor, ".", kCurrentVhloVersion.patch, " are read");
  }
  return absl::OkStatus();
}

}  // namespace

bool IsBytecode(absl::string_view bytes) { return absl::StartsWith(bytes, "ML\xefR"); }

absl::StatusOr<std::unique_ptr<Module>> ReadBytecode(absl::string_view bytes) {
  auto module = std::make_unique<Module>();
  const absl::string_view own = module->context.Keep(std::string(bytes));
  KILN_ASSIGN_OR_RETURN(BytecodeFile file, ReadBytecodeFile(own));
  KILN_RETURN_IF_ERROR(CheckArtifactVersion(file.producer));
  EntryTable entries(module->context);
  entries.SetBuiltinResources(file.builtin_resources);
  const Section& data = *file.sections[kAttributeTypeSection];
  KILN_RETURN_IF_ERROR(entries.Load(file.sections[kAttributeTypeOffsetSection]->Reader(), data.bytes, data.offset,
                                    file.strings, file.dialects));
  KILN_ASSIGN_OR_RETURN(module->root, IrReader(file, entries).Read());
  return module;
}

}  // namespace kiln::mlir
