// Executables: what a compilation gives, apart from any device.
#ifndef KILN_C_API_PJRT_EXECUTABLE_H_
#define KILN_C_API_PJRT_EXECUTABLE_H_

#include "error.h"

// Frees an executable's description; loaded executables live on.
struct PJRT_Executable_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_Destroy, executable);

// The program's name.
struct PJRT_Executable_Name_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  const char* executable_name;  // out
  size_t executable_name_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_Name, executable_name_size);

// Replicas the program was compiled for.
struct PJRT_Executable_NumReplicas_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_replicas;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_NumReplicas, num_replicas);

// Partitions the program was compiled for.
struct PJRT_Executable_NumPartitions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_partitions;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_NumPartitions, num_partitions);

// Outputs per device.
struct PJRT_Executable_NumOutputs_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_NumOutputs, num_outputs);

// Bytes of native code, -1 when not known.
struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  int64_t size_in_bytes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_SizeOfGeneratedCodeInBytes, size_in_bytes);

// Named cost figures, such as `flops`; owned by the executable.
struct PJRT_Executable_GetCostAnalysis_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_properties;  // out
  const PJRT_NamedValue* properties;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_GetCostAnalysis, properties);

// Memory kind of each output.
struct PJRT_Executable_OutputMemoryKinds_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_OutputMemoryKinds, memory_kind_sizes);

// The program after optimization. First call with null `code`: writes size and format; second call: fills the
// buffer.
struct PJRT_Executable_OptimizedProgram_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  PJRT_Program* program;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_OptimizedProgram, program);

// Bytes that PJRT_Executable_DeserializeAndLoad takes back; freed by the returned deleter.
struct PJRT_Executable_Serialize_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_Serialize, serialized_executable_deleter);

// Element type of each output.
struct PJRT_Executable_OutputElementTypes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  PJRT_Buffer_Type* output_types;  // out
  size_t num_output_types;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_OutputElementTypes, num_output_types);

// All outputs' dimensions in one list, with the rank of each in `dim_sizes`.
struct PJRT_Executable_OutputDimensions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;
  const int64_t* dims;  // out
  const size_t* dim_sizes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_OutputDimensions, dim_sizes);

// A text that is equal for equal executables.
struct PJRT_Executable_Fingerprint_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_Fingerprint, executable_fingerprint_size);

// Bytes that one run needs, by use.
struct PJRT_Executable_GetCompiledMemoryStats_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  int64_t generated_code_size_in_bytes;  // out
  int64_t argument_size_in_bytes;  // out
  int64_t output_size_in_bytes;  // out
  int64_t alias_size_in_bytes;  // out
  int64_t temp_size_in_bytes;  // out
  int64_t host_generated_code_size_in_bytes;  // out
  int64_t host_argument_size_in_bytes;  // out
  int64_t host_output_size_in_bytes;  // out
  int64_t host_alias_size_in_bytes;  // out
  int64_t host_temp_size_in_bytes;  // out
  int64_t peak_memory_in_bytes;  // out
  int64_t total_size_in_bytes;  // out
  int64_t total_allocation_bytes;  // out, since 104
  int64_t indefinite_allocations;  // out, since 104
  int64_t peak_unpadded_heap_bytes;  // out, since 104
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_GetCompiledMemoryStats, peak_unpadded_heap_bytes);

// The serialized options of the compilation; freed by the returned deleter.
struct PJRT_Executable_GetCompileOptions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedCompileOptions* serialized_compile_options;
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_GetCompileOptions, serialized_compile_options_deleter);

// Memory kind of each parameter. Since 102.
struct PJRT_Executable_ParameterMemoryKinds_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_ParameterMemoryKinds, memory_kind_sizes);

#endif  // KILN_C_API_PJRT_EXECUTABLE_H_
