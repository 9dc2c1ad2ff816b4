// PJRT_Executable: what a compilation gives.
#include <cstring>
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/program.h"

struct PJRT_SerializedExecutable : kiln::c_api::Bytes {};
struct PJRT_SerializedCompileOptions : kiln::c_api::Bytes {};

namespace kiln::c_api {

void Call(PJRT_Executable_Destroy_Args& args) { delete args.executable; }

void Call(PJRT_Executable_Name_Args& args) {
  Give(args.executable->info->executable->name(), &args.executable_name, &args.executable_name_size);
}

void Call(PJRT_Executable_NumReplicas_Args& args) {
  args.num_replicas = static_cast<size_t>(args.executable->info->num_replicas);
}

void Call(PJRT_Executable_NumPartitions_Args& args) {
  args.num_partitions = static_cast<size_t>(args.executable->info->num_partitions);
}

void Call(PJRT_Executable_NumOutputs_Args& args) { args.num_outputs = args.executable->info->output_types.size(); }

void Call(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  args.size_in_bytes = args.executable->info->executable->executable().statistics().generated_code_bytes;
}

void Call(PJRT_Executable_GetCostAnalysis_Args& args) {
  Give(args.executable->info->CostProperties(), &args.properties, &args.num_properties);
}

void Call(PJRT_Executable_OutputMemoryKinds_Args& args) {
  const ExecutableInfo::Arrays& outputs = args.executable->info->outputs;
  Give(outputs.memory_kinds, &args.memory_kinds, &args.num_outputs);
  args.memory_kind_sizes = outputs.memory_kind_sizes.data();
}

void Call(PJRT_Executable_ParameterMemoryKinds_Args& args) {
  const ExecutableInfo::Arrays& parameters = args.executable->info->parameters;
  Give(parameters.memory_kinds, &args.memory_kinds, &args.num_parameters);
  args.memory_kind_sizes = parameters.memory_kind_sizes.data();
}

absl::Status Call(PJRT_Executable_OptimizedProgram_Args& args) {
  KILN_REQUIRE_POINTER(args, program);
  PJRT_Program* program = args.program;
  if (!KILN_HAS_FIELD(*program, format_size)) {
    return TooSmall("format_size", program->struct_size, PJRT_Program_STRUCT_SIZE);
  }
  static constexpr absl::string_view kFormat = "hlo_with_config";
  const std::string& bytes = args.executable->info->OptimizedProgram();
  program->format = kFormat.data();
  program->format_size = kFormat.size();
  if (program->code == nullptr) {
    program->code_size = bytes.size();
    return absl::OkStatus();
  }
  if (program->code_size < bytes.size()) {
    return InvalidArgument("the optimized program has ", bytes.size(), " bytes, there is room for ",
                           program->code_size);
  }
  std::memcpy(program->code, bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status Call(PJRT_Executable_Serialize_Args& args) {
  KILN_ASSIGN_OR_RETURN(std::string bytes, Serialize(args.executable->info.get()));
  GiveBytes(std::move(bytes), &args.serialized_bytes, &args.serialized_bytes_size, &args.serialized_executable,
            &args.serialized_executable_deleter);
  return absl::OkStatus();
}

void Call(PJRT_Executable_GetCompileOptions_Args& args) {
  GiveBytes(args.executable->info->compile_options, &args.serialized_bytes, &args.serialized_bytes_size,
            &args.serialized_compile_options, &args.serialized_compile_options_deleter);
}

void Call(PJRT_Executable_Fingerprint_Args& args) {
  Give(args.executable->info->fingerprint, &args.executable_fingerprint, &args.executable_fingerprint_size);
}

void Call(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  const cpu::Executable& executable = info.executable->executable();
  const int64_t temporary = executable.arena_bytes();
  const int64_t code = executable.statistics().generated_code_bytes;
  args.generated_code_size_in_bytes = code;
  args.argument_size_in_bytes = info.parameters.bytes;
  args.output_size_in_bytes = info.outputs.bytes;
  args.alias_size_in_bytes = info.alias_bytes;
  args.temp_size_in_bytes = temporary;
  const int64_t total = info.parameters.bytes + info.outputs.bytes - info.alias_bytes + temporary;
  // As in XLA, what kernels work in is no temporary of the program.
  const int64_t allocated = total + executable.statistics().workspace_bytes;
#define KILN_SET_SIZE(field, value) \
  if (KILN_HAS_FIELD(args, field)) args.field = (value)
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
}

void Call(PJRT_Executable_OutputElementTypes_Args& args) {
  Give(args.executable->info->output_types, &args.output_types, &args.num_output_types);
}

void Call(PJRT_Executable_OutputDimensions_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  Give(info.output_ranks, &args.dim_sizes, &args.num_outputs);
  args.dims = info.output_dimensions.data();
}

}  // namespace kiln::c_api
