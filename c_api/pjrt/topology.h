// Topologies, and compiling for one.
#ifndef KILN_C_API_PJRT_TOPOLOGY_H_
#define KILN_C_API_PJRT_TOPOLOGY_H_

#include "error.h"

// A topology made from a name and options, without a client; the caller destroys it.
struct PJRT_TopologyDescription_Create_Args {
  PJRT_STRUCT_HEAD;
  const char* topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_Create, topology);

// Frees a topology that the caller owns.
struct PJRT_TopologyDescription_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_TopologyDescription* topology;
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_Destroy, topology);

// As PJRT_Client_PlatformName.
struct PJRT_TopologyDescription_PlatformName_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_TopologyDescription* topology;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_PlatformName, platform_name_size);

// As PJRT_Client_PlatformVersion.
struct PJRT_TopologyDescription_PlatformVersion_Args {
  PJRT_STRUCT_HEAD;
  PJRT_TopologyDescription* topology;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_PlatformVersion, platform_version_size);

// The devices that a client of this topology would have.
struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;  // out
  size_t num_descriptions;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_GetDeviceDescriptions, num_descriptions);

// Bytes that PJRT_TopologyDescription_Deserialize takes back.
struct PJRT_TopologyDescription_Serialize_Args {
  PJRT_STRUCT_HEAD;
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedTopology* serialized_topology;  // out
  void (*serialized_topology_deleter)(PJRT_SerializedTopology*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_Serialize, serialized_topology_deleter);

// Named facts about the topology.
struct PJRT_TopologyDescription_Attributes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_Attributes, num_attributes);

// A topology from its bytes; the caller destroys it.
struct PJRT_TopologyDescription_Deserialize_Args {
  PJRT_STRUCT_HEAD;
  const char* serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_Deserialize, topology);

// A number that is equal for equal topologies. Since 101.
struct PJRT_TopologyDescription_Fingerprint_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_TopologyDescription* topology;
  uint64_t fingerprint;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_Fingerprint, fingerprint);

// The serialized shape that an array has in a memory. Since 110.
struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_TopologyDescription* topology;
  int memory_space_kind_id;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout* layout;
  const char* serialized_shape;  // out
  size_t serialized_shape_size;  // out
  void (*serialized_shape_deleter)(const char*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, serialized_shape_deleter);

// Numbers of the memory kinds. Since 110.
struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_TopologyDescription* topology;
  const int* memory_space_kind_ids;  // out
  size_t num_memory_space_kind_ids;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_TopologyDescription_GetMemorySpaceKindIds, num_memory_space_kind_ids);

// Compiles for a topology, with or without a client.
struct PJRT_Compile_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_TopologyDescription* topology;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_Client* client;
  PJRT_Executable* executable;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Compile, executable);

#endif  // KILN_C_API_PJRT_TOPOLOGY_H_
