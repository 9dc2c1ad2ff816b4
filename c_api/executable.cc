// PJRT_Executable: what a compilation gives.
#include <cstring>
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/program.h"

struct PJRT_SerializedExecutable {
  std::string bytes;
};
struct PJRT_SerializedCompileOptions {
  std::string bytes;
};

namespace kiln::c_api {

PJRT_Error* ExecutableDestroy(PJRT_Executable_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, executable);
  delete args->executable;
  return nullptr;
}

PJRT_Error* ExecutableName(PJRT_Executable_Name_Args* args) {
  KILN_REQUIRE_FIELD(args, executable_name_size);
  KILN_REQUIRE_POINTER(args, executable);
  const std::string& name = args->executable->info->executable->name();
  args->executable_name = name.data();
  args->executable_name_size = name.size();
  return nullptr;
}

PJRT_Error* ExecutableNumReplicas(PJRT_Executable_NumReplicas_Args* args) {
  KILN_REQUIRE_FIELD(args, num_replicas);
  KILN_REQUIRE_POINTER(args, executable);
  args->num_replicas = static_cast<size_t>(args->executable->info->num_replicas);
  return nullptr;
}

PJRT_Error* ExecutableNumPartitions(PJRT_Executable_NumPartitions_Args* args) {
  KILN_REQUIRE_FIELD(args, num_partitions);
  KILN_REQUIRE_POINTER(args, executable);
  args->num_partitions = static_cast<size_t>(args->executable->info->num_partitions);
  return nullptr;
}

PJRT_Error* ExecutableNumOutputs(PJRT_Executable_NumOutputs_Args* args) {
  KILN_REQUIRE_FIELD(args, num_outputs);
  KILN_REQUIRE_POINTER(args, executable);
  args->num_outputs = args->executable->info->output_types.size();
  return nullptr;
}

PJRT_Error* ExecutableSizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  KILN_REQUIRE_FIELD(args, size_in_bytes);
  KILN_REQUIRE_POINTER(args, executable);
  args->size_in_bytes = args->executable->info->executable->executable().statistics().generated_code_bytes;
  return nullptr;
}

PJRT_Error* ExecutableGetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  KILN_REQUIRE_FIELD(args, properties);
  KILN_REQUIRE_POINTER(args, executable);
  const absl::Span<const PJRT_NamedValue> properties = args->executable->info->CostProperties();
  args->properties = properties.data();
  args->num_properties = properties.size();
  return nullptr;
}

PJRT_Error* ExecutableOutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args* args) {
  KILN_REQUIRE_FIELD(args, memory_kind_sizes);
  KILN_REQUIRE_POINTER(args, executable);
  const ExecutableInfo& info = *args->executable->info;
  args->num_outputs = info.output_memory_kinds.size();
  args->memory_kinds = info.output_memory_kinds.data();
  args->memory_kind_sizes = info.output_memory_kind_sizes.data();
  return nullptr;
}

PJRT_Error* ExecutableParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args* args) {
  KILN_REQUIRE_FIELD(args, memory_kind_sizes);
  KILN_REQUIRE_POINTER(args, executable);
  const ExecutableInfo& info = *args->executable->info;
  args->num_parameters = info.parameter_memory_kinds.size();
  args->memory_kinds = info.parameter_memory_kinds.data();
  args->memory_kind_sizes = info.parameter_memory_kind_sizes.data();
  return nullptr;
}

PJRT_Error* ExecutableOptimizedProgram(PJRT_Executable_OptimizedProgram_Args* args) {
  KILN_REQUIRE_FIELD(args, program);
  KILN_REQUIRE_POINTER(args, executable);
  KILN_REQUIRE_POINTER(args, program);
  PJRT_Program* program = args->program;
  KILN_REQUIRE_FIELD(program, format_size);
  static constexpr absl::string_view kFormat = "hlo_with_config";
  const std::string& bytes = args->executable->info->OptimizedProgram();
  program->format = kFormat.data();
  program->format_size = kFormat.size();
  if (program->code == nullptr) {
    program->code_size = bytes.size();
    return nullptr;
  }
  if (program->code_size < bytes.size()) {
    return MakeError(
        InvalidArgument("the optimized program has ", bytes.size(), " bytes, there is room for ", program->code_size));
  }
  std::memcpy(program->code, bytes.data(), bytes.size());
  return nullptr;
}

PJRT_Error* ExecutableSerialize(PJRT_Executable_Serialize_Args* args) {
  KILN_REQUIRE_FIELD(args, serialized_executable_deleter);
  KILN_REQUIRE_POINTER(args, executable);
  KILN_C_ASSIGN_OR_RETURN(std::string bytes, Serialize(args->executable->info.get()));
  auto* serialized = new PJRT_SerializedExecutable{std::move(bytes)};
  args->serialized_bytes = serialized->bytes.data();
  args->serialized_bytes_size = serialized->bytes.size();
  args->serialized_executable = serialized;
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable* serialized) { delete serialized; };
  return nullptr;
}

PJRT_Error* ExecutableGetCompileOptions(PJRT_Executable_GetCompileOptions_Args* args) {
  KILN_REQUIRE_FIELD(args, serialized_compile_options_deleter);
  KILN_REQUIRE_POINTER(args, executable);
  auto* serialized = new PJRT_SerializedCompileOptions{args->executable->info->compile_options};
  args->serialized_bytes = serialized->bytes.data();
  args->serialized_bytes_size = serialized->bytes.size();
  args->serialized_compile_options = serialized;
  args->serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* serialized) { delete serialized; };
  return nullptr;
}

PJRT_Error* ExecutableFingerprint(PJRT_Executable_Fingerprint_Args* args) {
  KILN_REQUIRE_FIELD(args, executable_fingerprint_size);
  KILN_REQUIRE_POINTER(args, executable);
  args->executable_fingerprint = args->executable->info->fingerprint.data();
  args->executable_fingerprint_size = args->executable->info->fingerprint.size();
  return nullptr;
}

PJRT_Error* ExecutableGetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  KILN_REQUIRE_FIELD(args, temp_size_in_bytes);
  KILN_REQUIRE_POINTER(args, executable);
  const ExecutableInfo& info = *args->executable->info;
  const cpu::Executable& executable = info.executable->executable();
  const int64_t temporary = executable.arena_bytes();
  const int64_t code = executable.statistics().generated_code_bytes;
  args->generated_code_size_in_bytes = code;
  args->argument_size_in_bytes = info.argument_bytes;
  args->output_size_in_bytes = info.output_bytes;
  args->alias_size_in_bytes = info.alias_bytes;
  args->temp_size_in_bytes = temporary;
  const int64_t total = info.argument_bytes + info.output_bytes - info.alias_bytes + temporary;
  // As in XLA, what kernels work in is no temporary of the program.
  const int64_t allocated = total + executable.statistics().workspace_bytes;
#define KILN_SET_SIZE(field, value) \
  if (KILN_HAS_FIELD(args, field)) args->field = (value)
  KILN_SET_SIZE(host_generated_code_size_in_bytes, 0);
  KILN_SET_SIZE(host_argument_size_in_bytes, 0);
  KILN_SET_SIZE(host_output_size_in_bytes, 0);
  KILN_SET_SIZE(host_alias_size_in_bytes, 0);
  KILN_SET_SIZE(host_temp_size_in_bytes, 0);
  KILN_SET_SIZE(peak_memory_in_bytes, total);
  KILN_SET_SIZE(total_size_in_bytes, allocated + code);
  KILN_SET_SIZE(total_allocation_bytes, allocated);
  KILN_SET_SIZE(indefinite_allocations, 0);
  KILN_SET_SIZE(peak_unpadded_heap_bytes, total);
#undef KILN_SET_SIZE
  return nullptr;
}

PJRT_Error* ExecutableOutputElementTypes(PJRT_Executable_OutputElementTypes_Args* args) {
  KILN_REQUIRE_FIELD(args, num_output_types);
  KILN_REQUIRE_POINTER(args, executable);
  ExecutableInfo& info = *args->executable->info;
  args->output_types = info.output_types.data();
  args->num_output_types = info.output_types.size();
  return nullptr;
}

PJRT_Error* ExecutableOutputDimensions(PJRT_Executable_OutputDimensions_Args* args) {
  KILN_REQUIRE_FIELD(args, dim_sizes);
  KILN_REQUIRE_POINTER(args, executable);
  const ExecutableInfo& info = *args->executable->info;
  args->num_outputs = info.output_ranks.size();
  args->dims = info.output_dimensions.data();
  args->dim_sizes = info.output_ranks.data();
  return nullptr;
}

}  // namespace kiln::c_api
