// The plugin as a whole.
#ifndef KILN_C_API_PJRT_PLUGIN_H_
#define KILN_C_API_PJRT_PLUGIN_H_

#include "error.h"

// One-time set-up, called before anything else.
struct PJRT_Plugin_Initialize_Args {
  PJRT_STRUCT_HEAD;
};
PJRT_DEFINE_FUNCTION(PJRT_Plugin_Initialize, extension_start);

// Facts about the plugin, such as the StableHLO versions it reads. They live as long as the process.
struct PJRT_Plugin_Attributes_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Plugin_Attributes, num_attributes);

#endif  // KILN_C_API_PJRT_PLUGIN_H_
