// Shardings extension: shardings of parameters and outputs as serialized OpSharding.
#ifndef KILN_C_API_PJRT_EXTENSIONS_SHARDINGS_H_
#define KILN_C_API_PJRT_EXTENSIONS_SHARDINGS_H_

#include "../../pjrt_c_api.h"

typedef struct PJRT_Shardings_Extension PJRT_Shardings_Extension;

#define PJRT_API_SHARDINGS_EXTENSION_VERSION 1

// Serialized sharding of each parameter, or null.
struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;  // out
  const char* const* shardings;  // out
  const size_t* sharding_sizes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Shardings_PJRT_Executable_ParameterShardings, sharding_sizes);

// Serialized sharding of each output, or null.
struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;  // out
  const char* const* shardings;  // out
  const size_t* sharding_sizes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Shardings_PJRT_Executable_OutputShardings, sharding_sizes);

struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_ParameterShardings)(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args);
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_OutputShardings)(PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args);
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Shardings_Extension, PJRT_Shardings_PJRT_Executable_OutputShardings);

#endif  // KILN_C_API_PJRT_EXTENSIONS_SHARDINGS_H_
