// PJRT's C ABI, minor version 117: the table of functions through which a framework drives a device. Every function
// takes one pointer to an Args structure; structures and slots only ever grow at their end.
#ifndef KILN_C_API_PJRT_C_API_H_
#define KILN_C_API_PJRT_C_API_H_

#include "pjrt/types.h"
#include "pjrt/error.h"
#include "pjrt/plugin.h"
#include "pjrt/event.h"
#include "pjrt/memory.h"
#include "pjrt/device.h"
#include "pjrt/client.h"
#include "pjrt/buffer_creation.h"
#include "pjrt/buffer.h"
#include "pjrt/transfer.h"
#include "pjrt/executable.h"
#include "pjrt/loaded_executable.h"
#include "pjrt/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PJRT_Api PJRT_Api;
typedef struct PJRT_Api_Version PJRT_Api_Version;

#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 117

// Version of the interface that a table was built with.
struct PJRT_Api_Version {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  int major_version;  // out
  int minor_version;  // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Api_Version, minor_version);

// The function table. Slots are never moved; newer ones are appended.
struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Api_Version pjrt_api_version;
  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args* args);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args* args);
#define PJRT_FUNCTION(result, name, field) PJRT_Error* (*PJRT_##name)(PJRT_##name##_Args * args);
#include "pjrt/functions.inc"
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds);

// The one entry point of a plugin. The table lives as long as the process.
const PJRT_Api* GetPjrtApi(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KILN_C_API_PJRT_C_API_H_
