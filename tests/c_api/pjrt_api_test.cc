// The table, errors, events, clients, devices and compilation errors.
#include <thread>

#include "c_api/pjrt/extensions/layouts.h"
#include "tests/c_api/pjrt.h"

namespace kiln::test {
namespace {

TEST(PjrtApiTest, EverySlotIsFilled) {
  const PJRT_Api* api = Api();
  EXPECT_EQ(api->struct_size, static_cast<size_t>(PJRT_Api_STRUCT_SIZE));
  EXPECT_EQ(api->pjrt_api_version.major_version, 0);
  EXPECT_EQ(api->pjrt_api_version.minor_version, 117);
  const size_t first = offsetof(PJRT_Api, PJRT_Error_Destroy);
  for (size_t offset = first; offset < api->struct_size; offset += sizeof(void*)) {
    void* slot;
    std::memcpy(&slot, reinterpret_cast<const char*>(api) + offset, sizeof(slot));
    EXPECT_NE(slot, nullptr) << "slot " << (offset - first) / sizeof(void*);
  }
}

TEST(PjrtApiTest, ExtensionsAreAWellFormedList) {
  bool layouts = false, memories = false;
  for (const PJRT_Extension_Base* node = Api()->extension_start; node != nullptr; node = node->next) {
    EXPECT_GE(node->struct_size, sizeof(PJRT_Extension_Base));
    layouts |= node->type == PJRT_Extension_Type_Layouts;
    memories |= node->type == PJRT_Extension_Type_MemoryDescriptions;
  }
  EXPECT_TRUE(layouts);
  EXPECT_TRUE(memories);
}

TEST(PjrtApiTest, PluginAttributesNameStablehloVersions) {
  KILN_ARGS(PJRT_Plugin_Attributes, args);
  KILN_EXPECT_OK(Api()->PJRT_Plugin_Attributes(&args));
  bool found = false;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    if (std::string(value.name, value.name_size) != "stablehlo_current_version") continue;
    found = true;
    ASSERT_EQ(value.type, PJRT_NamedValue_kInt64List);
    ASSERT_EQ(value.value_size, 3u);
    EXPECT_EQ(value.int64_array_value[0], 1);
  }
  EXPECT_TRUE(found);
}

TEST(PjrtApiTest, ErrorsWorkThroughTheirOwnTable) {
  KILN_ARGS(PJRT_Client_Create, args);
  PJRT_NamedValue option = IntegerOption("no_such_option", 1);
  args.create_options = &option;
  args.num_options = 1;
  PJRT_Error* error = Api()->PJRT_Client_Create(&args);
  ASSERT_NE(error, nullptr);
  const PJRT_Error_FunctionTable* table = error->vtable;
  ASSERT_NE(table, nullptr);
  EXPECT_GE(table->struct_size, static_cast<size_t>(PJRT_Error_FunctionTable_STRUCT_SIZE));
  EXPECT_EQ(table->get_code(error), PJRT_Error_Code_INVALID_ARGUMENT);
  const char* message;
  size_t size;
  table->message(error, &message, &size);
  EXPECT_NE(std::string(message, size).find("no_such_option"), std::string::npos);
  int visited = 0;
  table->for_each_payload(error, [](const char*, size_t, const char*, size_t, void* count) { ++*static_cast<int*>(count); },
                          &visited);
  EXPECT_EQ(visited, 0);
  table->destroy(error);
  KILN_ARGS(PJRT_Error_Destroy, nothing);
  Api()->PJRT_Error_Destroy(&nothing);
}

TEST(PjrtApiTest, SmallStructuresAreRefusedAndLargerOnesAreFine) {
  struct Newer {
    PJRT_Client_PlatformName_Args args;
    char tail[64];
  } newer = {};
  PJRT_Client* client = CreateClient();
  newer.args.struct_size = sizeof(newer);
  newer.args.client = client;
  std::memset(newer.tail, 0x5a, sizeof(newer.tail));
  KILN_EXPECT_OK(Api()->PJRT_Client_PlatformName(&newer.args));
  EXPECT_EQ(std::string(newer.args.platform_name, newer.args.platform_name_size), "kiln");
  for (char c : newer.tail) EXPECT_EQ(c, 0x5a);
  PJRT_Client_PlatformName_Args older = {};
  older.struct_size = offsetof(PJRT_Client_PlatformName_Args, platform_name_size);
  older.client = client;
  EXPECT_EQ(Take(Api()->PJRT_Client_PlatformName(&older)).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(older.platform_name, nullptr);
  DestroyClient(client);
}

TEST(PjrtApiTest, MemoryStatsWriteAllThatTheCallerHasAndNoMore) {
  PJRT_Client* client = CreateClient();
  KILN_ARGS(PJRT_Client_Devices, devices);
  devices.client = client;
  KILN_EXPECT_OK(Api()->PJRT_Client_Devices(&devices));
  PJRT_Device_MemoryStats_Args stats;
  for (size_t size : {static_cast<size_t>(PJRT_Device_MemoryStats_Args_STRUCT_SIZE),
                      offsetof(PJRT_Device_MemoryStats_Args, peak_allocated_bytes)}) {
    std::memset(&stats, 0x5a, sizeof(stats));
    stats.struct_size = size;
    stats.device = devices.devices[0];
    KILN_EXPECT_OK(Api()->PJRT_Device_MemoryStats(&stats));
    EXPECT_TRUE(stats.bytes_limit_is_set);
    EXPECT_GT(stats.bytes_limit, 0);
    unsigned char flag;
    std::memcpy(&flag, &stats.bytes_reserved_is_set, 1);
    EXPECT_EQ(flag, 0);
    const bool has_tail = size == static_cast<size_t>(PJRT_Device_MemoryStats_Args_STRUCT_SIZE);
    std::memcpy(&flag, &stats.peak_allocated_bytes_is_set, 1);
    EXPECT_EQ(flag, has_tail ? 0 : 0x5a);
  }
  DestroyClient(client);
}

TEST(PjrtApiTest, DevicesAndMemoriesAgree) {
  PJRT_Client* client = CreateClient({IntegerOption("device_count", 3)});
  KILN_ARGS(PJRT_Client_AddressableDevices, devices);
  devices.client = client;
  KILN_EXPECT_OK(Api()->PJRT_Client_AddressableDevices(&devices));
  ASSERT_EQ(devices.num_addressable_devices, 3u);
  KILN_ARGS(PJRT_Client_AddressableMemories, memories);
  memories.client = client;
  KILN_EXPECT_OK(Api()->PJRT_Client_AddressableMemories(&memories));
  ASSERT_EQ(memories.num_addressable_memories, 9u);  // three kinds each
  for (int i = 0; i < 3; ++i) {
    KILN_ARGS(PJRT_Client_LookupDevice, lookup);
    lookup.client = client;
    lookup.id = i;
    KILN_EXPECT_OK(Api()->PJRT_Client_LookupDevice(&lookup));
    EXPECT_EQ(lookup.device, devices.addressable_devices[i]);
    KILN_ARGS(PJRT_Device_DefaultMemory, memory);
    memory.device = lookup.device;
    KILN_EXPECT_OK(Api()->PJRT_Device_DefaultMemory(&memory));
    EXPECT_EQ(memory.memory, memories.addressable_memories[3 * i]);
    KILN_ARGS(PJRT_Memory_AddressableByDevices, by);
    by.memory = memory.memory;
    KILN_EXPECT_OK(Api()->PJRT_Memory_AddressableByDevices(&by));
    ASSERT_EQ(by.num_devices, 1u);
    EXPECT_EQ(by.devices[0], lookup.device);
    KILN_ARGS(PJRT_Memory_Kind, kind);
    kind.memory = memory.memory;
    KILN_EXPECT_OK(Api()->PJRT_Memory_Kind(&kind));
    EXPECT_EQ(std::string(kind.kind, kind.kind_size), "device");
  }
  KILN_ARGS(PJRT_Client_LookupDevice, lookup);
  lookup.client = client;
  lookup.id = 3;
  EXPECT_FALSE(Take(Api()->PJRT_Client_LookupDevice(&lookup)).ok());
  DestroyClient(client);
}

TEST(PjrtApiTest, MemoriesKeepUserData) {
  static int destroyed = 0;
  PJRT_Client* client = CreateClient();
  KILN_ARGS(PJRT_Client_AddressableMemories, memories);
  memories.client = client;
  KILN_EXPECT_OK(Api()->PJRT_Client_AddressableMemories(&memories));
  PJRT_Memory* memory = memories.addressable_memories[0];
  const PJRT_Memory_FunctionTable* table = memory->vtable;
  ASSERT_NE(table, nullptr);
  int key = 0, data = 0, other = 0;
  const auto destroy = [](void*) { ++destroyed; };
  EXPECT_EQ(table->get_user_data(memory, &key), nullptr);
  table->set_user_data(memory, &key, &data, destroy);
  EXPECT_EQ(table->get_user_data(memory, &key), &data);
  table->set_user_data(memory, &key, &other, destroy);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(table->get_user_data(memory, &key), &other);
  DestroyClient(client);
  EXPECT_EQ(destroyed, 2);
}

TEST(PjrtApiTest, TopologiesSerialize) {
  PJRT_NamedValue option = IntegerOption("device_count", 2);
  KILN_ARGS(PJRT_TopologyDescription_Create, create);
  create.create_options = &option;
  create.num_options = 1;
  KILN_EXPECT_OK(Api()->PJRT_TopologyDescription_Create(&create));
  KILN_ARGS(PJRT_TopologyDescription_Serialize, serialize);
  serialize.topology = create.topology;
  KILN_EXPECT_OK(Api()->PJRT_TopologyDescription_Serialize(&serialize));
  KILN_ARGS(PJRT_TopologyDescription_Deserialize, deserialize);
  deserialize.serialized_topology = serialize.serialized_bytes;
  deserialize.serialized_topology_size = serialize.serialized_bytes_size;
  KILN_EXPECT_OK(Api()->PJRT_TopologyDescription_Deserialize(&deserialize));
  KILN_ARGS(PJRT_TopologyDescription_GetDeviceDescriptions, descriptions);
  descriptions.topology = deserialize.topology;
  KILN_EXPECT_OK(Api()->PJRT_TopologyDescription_GetDeviceDescriptions(&descriptions));
  EXPECT_EQ(descriptions.num_descriptions, 2u);
  KILN_ARGS(PJRT_TopologyDescription_Deserialize, cut);
  cut.serialized_topology = serialize.serialized_bytes;
  cut.serialized_topology_size = serialize.serialized_bytes_size - 1;
  EXPECT_FALSE(Take(Api()->PJRT_TopologyDescription_Deserialize(&cut)).ok());
  serialize.serialized_topology_deleter(serialize.serialized_topology);
  for (PJRT_TopologyDescription* topology : {create.topology, deserialize.topology}) {
    KILN_ARGS(PJRT_TopologyDescription_Destroy, destroy);
    destroy.topology = topology;
    KILN_EXPECT_OK(Api()->PJRT_TopologyDescription_Destroy(&destroy));
  }
}

TEST(PjrtApiTest, EventsOfTheCaller) {
  KILN_ARGS(PJRT_Event_Create, create);
  KILN_EXPECT_OK(Api()->PJRT_Event_Create(&create));
  KILN_ARGS(PJRT_Event_IsReady, ready);
  ready.event = create.event;
  KILN_EXPECT_OK(Api()->PJRT_Event_IsReady(&ready));
  EXPECT_FALSE(ready.is_ready);
  KILN_ARGS(PJRT_Event_Error, early);
  early.event = create.event;
  EXPECT_EQ(Take(Api()->PJRT_Event_Error(&early)).code, PJRT_Error_Code_FAILED_PRECONDITION);
  Failure seen;
  KILN_ARGS(PJRT_Event_OnReady, on_ready);
  on_ready.event = create.event;
  on_ready.user_arg = &seen;
  on_ready.callback = [](PJRT_Error* error, void* arg) { *static_cast<Failure*>(arg) = Take(error); };
  KILN_EXPECT_OK(Api()->PJRT_Event_OnReady(&on_ready));
  std::thread setter([&] {
    std::string message = "stopped";
    KILN_ARGS(PJRT_Event_Set, set);
    set.event = create.event;
    set.error_code = PJRT_Error_Code_ABORTED;
    set.error_message = message.data();
    set.error_message_size = message.size();
    KILN_EXPECT_OK(Api()->PJRT_Event_Set(&set));
    message = "xxxxxxx";
    EXPECT_EQ(Take(Api()->PJRT_Event_Set(&set)).code, PJRT_Error_Code_FAILED_PRECONDITION);
  });
  KILN_ARGS(PJRT_Event_Await, await);
  await.event = create.event;
  const Failure failure = Take(Api()->PJRT_Event_Await(&await));
  setter.join();
  EXPECT_EQ(failure.code, PJRT_Error_Code_ABORTED);
  EXPECT_EQ(failure.message, "stopped");
  EXPECT_EQ(seen.message, "stopped");
  EXPECT_EQ(AwaitAndDestroy(create.event).message, "stopped");
}

TEST(PjrtApiTest, CompileErrorsAreErrors) {
  PJRT_Client* client = CreateClient();
  const auto compile = [&](std::string code, const std::string& format, const std::string& options) {
    const PJRT_Program program = ProgramOf(code, format);
    KILN_ARGS(PJRT_Client_Compile, args);
    args.client = client;
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    return Take(Api()->PJRT_Client_Compile(&args));
  };
  EXPECT_FALSE(compile("", "hlo", "").ok());
  EXPECT_FALSE(compile("HloModule broken\n\nENTRY %e {", "hlo", "").ok());
  EXPECT_FALSE(compile("ML\xefR garbage", "mlir", "").ok());
  EXPECT_FALSE(compile("HloModule m", "mlir", "").ok());
  EXPECT_FALSE(compile("x", "wasm", "").ok());
  EXPECT_EQ(compile("HloModule m", "hlo", "\xff\xff").code, PJRT_Error_Code_INVALID_ARGUMENT);
  KILN_ARGS(PJRT_Executable_DeserializeAndLoad, load);
  load.client = client;
  load.serialized_executable = "KILNEXE1 and more";
  load.serialized_executable_size = 17;
  EXPECT_EQ(Take(Api()->PJRT_Executable_DeserializeAndLoad(&load)).code, PJRT_Error_Code_INVALID_ARGUMENT);
  DestroyClient(client);
}

TEST(PjrtApiTest, WhatIsMissingSaysSo) {
  KILN_ARGS(PJRT_Client_CreateAliasBuffer, alias);
  EXPECT_EQ(Take(Api()->PJRT_Client_CreateAliasBuffer(&alias)).code, PJRT_Error_Code_UNIMPLEMENTED);
  KILN_ARGS(PJRT_CopyToDeviceStream_AddChunk, chunk);
  EXPECT_EQ(Take(Api()->PJRT_CopyToDeviceStream_AddChunk(&chunk)).code, PJRT_Error_Code_UNIMPLEMENTED);
}

}  // namespace
}  // namespace kiln::test
