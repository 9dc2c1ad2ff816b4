#include "src/runtime/serialization.h"

#include <utility>

#include "absl/strings/match.h"
#include "src/base/build_id.h"
#include "src/base/fingerprint.h"
#include "src/base/status.h"
#include "src/base/wire_reader.h"
#include "src/base/wire_writer.h"

namespace kiln::runtime {
namespace {

// The outer message: magic, then these fields.
enum HeaderField : uint32_t { kBuild = 1, kChecksum = 2, kBody = 3 };
enum KindsField : uint32_t { kParameterKinds = 6, kOutputKinds = 7 };
constexpr std::pair<uint32_t, std::string SerializedExecutable::*> kTexts[] = {
    {1, &SerializedExecutable::name},        {2, &SerializedExecutable::options},
    {3, &SerializedExecutable::fingerprint}, {4, &SerializedExecutable::optimized_program},
    {5, &SerializedExecutable::image},       {8, &SerializedExecutable::program_text},
};

constexpr absl::string_view kMagic = "KILNEXE2";

}  // namespace

std::string Seal(const SerializedExecutable& executable) {
  WireWriter body;
  for (const auto& [field, text] : kTexts) body.String(field, executable.*text);
  body.Integers(kParameterKinds, executable.memory_kinds.parameters);
  body.Integers(kOutputKinds, executable.memory_kinds.outputs);
  WireWriter header;
  header.String(kBuild, BuildId());
  header.String(kChecksum, Fingerprint({BuildId(), body.bytes()}));
  header.Message(kBody, body);
  return absl::StrCat(kMagic, header.bytes());
}

absl::StatusOr<SerializedExecutable> Unseal(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kMagic)) return InvalidArgument("these bytes are no executable that Kiln wrote");
  absl::string_view build, checksum, body;
  // The header has each field once and nothing else, so that no byte of it goes unchecked.
  int fields = 0;
  WireReader header(bytes.substr(kMagic.size()));
  while (header.Next()) {
    ++fields;
    if (header.field() == kBuild) build = header.Bytes();
    if (header.field() == kChecksum) checksum = header.Bytes();
    if (header.field() == kBody) body = header.Bytes();
  }
  KILN_RETURN_IF_ERROR(Annotate(header.status(), "the serialized executable is damaged"));
  if (fields != (BuildId().empty() ? 2 : 3) || checksum != Fingerprint({build, body})) {
    return InvalidArgument("the serialized executable is damaged: its checksum is not that of its ", body.size(),
                           " bytes");
  }
  if (build != BuildId()) {
    return FailedPrecondition("the serialized executable is of another build of Kiln (", build, "), this is ",
                              BuildId());
  }
  SerializedExecutable executable;
  WireReader reader(body);
  while (reader.Next()) {
    for (const auto& [field, text] : kTexts) {
      if (reader.field() == field) executable.*text = reader.String();
    }
    if (reader.field() == kParameterKinds) reader.AppendInt64(&executable.memory_kinds.parameters);
    if (reader.field() == kOutputKinds) reader.AppendInt64(&executable.memory_kinds.outputs);
  }
  KILN_RETURN_IF_ERROR(Annotate(reader.status(), "the serialized executable"));
  return executable;
}

}  // namespace kiln::runtime
