// The plugin as a whole.
#ifndef KILN_C_API_PJRT_PLUGIN_H_
#define KILN_C_API_PJRT_PLUGIN_H_

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PJRT_Plugin_Attributes_Args PJRT_Plugin_Attributes_Args;
typedef struct PJRT_Plugin_Initialize_Args PJRT_Plugin_Initialize_Args;

// One-time set-up, called before anything else.
struct PJRT_Plugin_Initialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Plugin_Initialize_Args, extension_start);
typedef PJRT_Error* PJRT_Plugin_Initialize(PJRT_Plugin_Initialize_Args* args);

// Facts about the plugin, such as the StableHLO versions it reads. They live as long as the process.
struct PJRT_Plugin_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;  // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Plugin_Attributes_Args, num_attributes);
typedef PJRT_Error* PJRT_Plugin_Attributes(PJRT_Plugin_Attributes_Args* args);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KILN_C_API_PJRT_PLUGIN_H_
