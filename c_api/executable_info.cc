#include "c_api/executable_info.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "c_api/handles.h"
#include "c_api/named_value.h"
#include "src/frontend/hlo_proto/writer.h"

namespace kiln::c_api {
namespace {

constexpr absl::string_view kSerializedMagic = "KILNEXE1";

// 64 bits of a hash in the manner of multiply and fold; `seed` gives independent ones. Not against an adversary.
uint64_t Hash(absl::string_view bytes, uint64_t seed) {
  const auto mix = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = seed ^ (bytes.size() * 0x9e3779b97f4a7c15);
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t size = std::min<size_t>(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), size);
    bytes.remove_prefix(size);
    hash = mix(hash ^ word ^ 0xa0761d6478bd642f, 0xe7037ed1a0b428db ^ (hash << 1));
  }
  return mix(hash, 0x8ebc6af09c88c6e3);
}

uint64_t HashOf(const ProgramSource& source, uint64_t seed) {
  uint64_t hash = Hash(kPlatformVersion, seed);
  for (const std::string* part : {&source.code, &source.format, &source.options}) hash = Hash(*part, hash);
  return hash;
}

void AppendUint64(uint64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

bool ConsumeUint64(absl::string_view* bytes, uint64_t* value) {
  if (bytes->size() < sizeof(*value)) return false;
  std::memcpy(value, bytes->data(), sizeof(*value));
  bytes->remove_prefix(sizeof(*value));
  return true;
}

void FillLayouts(const std::vector<RefPtr<const runtime::BufferType>>& types,
                 std::vector<PJRT_Layouts_MemoryLayout>* layouts, std::vector<PJRT_Layouts_MemoryLayout*>* pointers) {
  for (const RefPtr<const runtime::BufferType>& type : types) layouts->push_back({LayoutText(*type)});
  for (PJRT_Layouts_MemoryLayout& layout : *layouts) pointers->push_back(&layout);
}

}  // namespace

std::string LayoutText(const runtime::BufferType& type) {
  return absl::StrCat("{", absl::StrJoin(type.minor_to_major(), ","), "}");
}

std::shared_ptr<ExecutableInfo> ExecutableInfo::Create(RefPtr<runtime::LoadedExecutable> executable,
                                                       ProgramSource source, const runtime::CompileOptions& options) {
  std::shared_ptr<ExecutableInfo> info(new ExecutableInfo(std::move(executable), std::move(source), options));
  const runtime::LoadedExecutable& loaded = *info->executable;
  info->fingerprint =
      absl::StrFormat("%016x%016x", HashOf(info->source, 0x243f6a8885a308d3), HashOf(info->source, 0x13198a2e03707344));
  for (const RefPtr<const runtime::BufferType>& type : loaded.output_types()) {
    info->output_types.push_back(ElementTypeOf(type->element_type()));
    info->output_dimensions.insert(info->output_dimensions.end(), type->dimensions().begin(), type->dimensions().end());
    info->output_ranks.push_back(type->dimensions().size());
    info->output_bytes += type->byte_count();
  }
  for (const RefPtr<const runtime::BufferType>& type : loaded.parameter_types()) {
    info->argument_bytes += type->byte_count();
  }
  const size_t kind_size = std::strlen(runtime::Memory::kDefaultKind);
  info->output_memory_kinds.assign(loaded.output_types().size(), runtime::Memory::kDefaultKind);
  info->output_memory_kind_sizes.assign(loaded.output_types().size(), kind_size);
  info->parameter_memory_kinds.assign(loaded.parameter_types().size(), runtime::Memory::kDefaultKind);
  info->parameter_memory_kind_sizes.assign(loaded.parameter_types().size(), kind_size);
  FillLayouts(loaded.output_types(), &info->output_layouts, &info->output_layout_pointers);
  FillLayouts(loaded.parameter_types(), &info->parameter_layouts, &info->parameter_layout_pointers);
  const absl::Span<const cpu::OutputLeaf> aliases = loaded.executable().output_aliases();
  for (size_t i = 0; i < aliases.size() && i < loaded.output_types().size(); ++i) {
    if (aliases[i].aliased_parameter.has_value()) info->alias_bytes += loaded.output_types()[i]->byte_count();
  }
  info->cost_properties = {
      NamedFloat("bytes accessed", static_cast<float>(info->argument_bytes + info->output_bytes)),
      NamedFloat("optimal_seconds", static_cast<float>(loaded.executable().estimated_nanoseconds()) * 1e-9f),
      NamedInt64("kernels", loaded.executable().statistics().kernel_count),
      NamedInt64("fused operations", loaded.executable().statistics().fused_instruction_count),
  };
  return info;
}

const std::string& ExecutableInfo::OptimizedProgram() {
  absl::call_once(optimized_program_once_,
                  [this] { optimized_program_ = hlo_proto::WriteModuleWithConfig(executable->executable().module()); });
  return optimized_program_;
}

std::string SerializeSource(const ProgramSource& source) {
  std::string out(kSerializedMagic);
  AppendUint64(HashOf(source, 0), &out);
  for (const std::string* part : {&source.code, &source.format, &source.options}) {
    AppendUint64(part->size(), &out);
    out += *part;
  }
  return out;
}

absl::StatusOr<ProgramSource> DeserializeSource(absl::string_view bytes) {
  if (bytes.substr(0, kSerializedMagic.size()) != kSerializedMagic) {
    return InvalidArgument("these bytes are no executable that Kiln wrote");
  }
  bytes.remove_prefix(kSerializedMagic.size());
  uint64_t checksum = 0;
  bool complete = ConsumeUint64(&bytes, &checksum);
  ProgramSource source;
  for (std::string* part : {&source.code, &source.format, &source.options}) {
    uint64_t size = 0;
    complete = complete && ConsumeUint64(&bytes, &size) && size <= bytes.size();
    if (!complete) return InvalidArgument("the serialized executable is cut off");
    part->assign(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  if (!bytes.empty()) return InvalidArgument("the serialized executable has ", bytes.size(), " bytes too many");
  if (HashOf(source, 0) != checksum) {
    return InvalidArgument("the serialized executable is damaged or of another version of Kiln");
  }
  return source;
}

}  // namespace kiln::c_api
