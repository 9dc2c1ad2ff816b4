// MemoryDescriptions extension: the memories of a device that is only described.
#ifndef KILN_C_API_PJRT_EXTENSIONS_MEMORY_DESCRIPTIONS_H_
#define KILN_C_API_PJRT_EXTENSIONS_MEMORY_DESCRIPTIONS_H_

#include "../../pjrt_c_api.h"

typedef struct PJRT_MemoryDescriptions_Extension PJRT_MemoryDescriptions_Extension;

#define PJRT_API_MEMORY_DESCRIPTIONS_EXTENSION_VERSION 1

typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;

// The memories of a described device; default index -1 for none.
struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;  // out
  size_t num_memory_descriptions;  // out
  size_t default_memory_index;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_MemoryDescriptions, default_memory_index);

// Kind of a described memory, as name and number.
struct PJRT_MemoryDescription_Kind_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_MemoryDescription* memory_description;
  const char* kind;  // out
  size_t kind_size;  // out
  int kind_id;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_MemoryDescription_Kind, kind_id);

struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_DeviceDescription_MemoryDescriptions)(PJRT_DeviceDescription_MemoryDescriptions_Args* args);
  PJRT_Error* (*PJRT_MemoryDescription_Kind)(PJRT_MemoryDescription_Kind_Args* args);
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_MemoryDescriptions_Extension, PJRT_MemoryDescription_Kind);

#endif  // KILN_C_API_PJRT_EXTENSIONS_MEMORY_DESCRIPTIONS_H_
