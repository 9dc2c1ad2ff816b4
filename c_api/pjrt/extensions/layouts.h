// Layouts extension: default and actual layouts as opaque objects with a text form.
#ifndef KILN_C_API_PJRT_EXTENSIONS_LAYOUTS_H_
#define KILN_C_API_PJRT_EXTENSIONS_LAYOUTS_H_

#include "../../pjrt_c_api.h"

typedef struct PJRT_Layouts_Extension PJRT_Layouts_Extension;

#define PJRT_API_LAYOUTS_EXTENSION_VERSION 4

typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;

// Frees a layout that the caller owns.
struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Layouts_MemoryLayout* layout;
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_MemoryLayout_Destroy, layout);

// The layout as text, such as `{1,0}`; freed by the returned deleter.
struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_Layouts_SerializedLayout* serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_MemoryLayout_Serialize, serialized_layout_deleter);

// The layout of a buffer; the caller destroys it.
struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_PJRT_Buffer_MemoryLayout, layout);

// The layout an array gets when none is asked for; the caller destroys it.
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_PJRT_Client_GetDefaultLayout, layout);

// As PJRT_Layouts_PJRT_Client_GetDefaultLayout.
struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  PJRT_STRUCT_HEAD;
  PJRT_TopologyDescription* topology_description;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_PJRT_Topology_GetDefaultLayout, layout);

// Layouts of the outputs, owned by the executable.
struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;  // out
  PJRT_Layouts_MemoryLayout** layouts;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_PJRT_Executable_GetOutputLayouts, layouts);

// Layouts of the parameters, owned by the executable.
struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;  // out
  PJRT_Layouts_MemoryLayout** layouts;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Layouts_PJRT_Executable_GetParameterLayouts, layouts);

struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Layouts_MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args* args);
  PJRT_Error* (*PJRT_Layouts_MemoryLayout_Serialize)(PJRT_Layouts_MemoryLayout_Serialize_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args);
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Executable_GetParameterLayouts);

#endif  // KILN_C_API_PJRT_EXTENSIONS_LAYOUTS_H_
