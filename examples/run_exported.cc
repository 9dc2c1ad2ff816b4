// Runs a JAX function from C++, without Python: loads Kiln through the PJRT C API, compiles a program that
// export_softmax.py wrote, and runs it on a 2 x 3 matrix.
//
//   build/examples/run_exported build/libkiln_pjrt.so examples/softmax.mlirbc
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "c_api/pjrt_c_api.h"

namespace {

// PJRT functions take one structure that begins with its own size.
template <typename Args>
Args Make(size_t size) {
  Args args{};
  args.struct_size = size;
  return args;
}
#define MAKE(type) Make<type>(type##_STRUCT_SIZE)

// Ends the program with the message of an error, if there is one.
void Check(const PJRT_Api* api, PJRT_Error* error) {
  if (error == nullptr) return;
  auto message = MAKE(PJRT_Error_Message_Args);
  message.error = error;
  api->PJRT_Error_Message(&message);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(message.message_size), message.message);
  auto destroy = MAKE(PJRT_Error_Destroy_Args);
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  std::exit(1);
}

void AwaitAndDestroy(const PJRT_Api* api, PJRT_Event* event) {
  auto await = MAKE(PJRT_Event_Await_Args);
  await.event = event;
  Check(api, api->PJRT_Event_Await(&await));
  auto destroy = MAKE(PJRT_Event_Destroy_Args);
  destroy.event = event;
  Check(api, api->PJRT_Event_Destroy(&destroy));
}

void DestroyBuffer(const PJRT_Api* api, PJRT_Buffer* buffer) {
  auto destroy = MAKE(PJRT_Buffer_Destroy_Args);
  destroy.buffer = buffer;
  Check(api, api->PJRT_Buffer_Destroy(&destroy));
}

const PJRT_Api* Load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
}

PJRT_LoadedExecutable* Compile(const PJRT_Api* api, PJRT_Client* client, std::string code) {
  auto program = MAKE(PJRT_Program);
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto compile = MAKE(PJRT_Client_Compile_Args);
  compile.client = client;
  compile.program = &program;
  compile.compile_options = "";  // An empty CompileOptionsProto: every option at its default.
  Check(api, api->PJRT_Client_Compile(&compile));
  return compile.executable;
}

PJRT_Buffer* ToDevice(const PJRT_Api* api, PJRT_Client* client, PJRT_Device* device, const float* data,
                      const std::array<int64_t, 2>& dimensions) {
  auto transfer = MAKE(PJRT_Client_BufferFromHostBuffer_Args);
  transfer.client = client;
  transfer.data = data;
  transfer.type = PJRT_Buffer_Type_F32;
  transfer.dims = dimensions.data();
  transfer.num_dims = dimensions.size();
  transfer.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  transfer.device = device;
  Check(api, api->PJRT_Client_BufferFromHostBuffer(&transfer));
  AwaitAndDestroy(api, transfer.done_with_host_buffer);
  return transfer.buffer;
}

PJRT_Buffer* Run(const PJRT_Api* api, PJRT_LoadedExecutable* executable, PJRT_Buffer* argument) {
  auto options = MAKE(PJRT_ExecuteOptions);
  PJRT_Buffer* const arguments[] = {argument};
  PJRT_Buffer* const* const argument_lists[] = {arguments};  // one list for each device
  PJRT_Buffer* results[1] = {};
  PJRT_Buffer** const result_lists[] = {results};
  PJRT_Event* done[1] = {};
  auto execute = MAKE(PJRT_LoadedExecutable_Execute_Args);
  execute.executable = executable;
  execute.options = &options;
  execute.argument_lists = argument_lists;
  execute.num_devices = 1;
  execute.num_args = 1;
  execute.output_lists = result_lists;
  execute.device_complete_events = done;
  Check(api, api->PJRT_LoadedExecutable_Execute(&execute));
  AwaitAndDestroy(api, done[0]);
  return results[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s LIBRARY PROGRAM\n", argv[0]);
    return 2;
  }
  const PJRT_Api* api = Load(argv[1]);
  std::ifstream file(argv[2], std::ios::binary);
  const std::string program(std::istreambuf_iterator<char>(file), {});

  auto initialize = MAKE(PJRT_Plugin_Initialize_Args);
  Check(api, api->PJRT_Plugin_Initialize(&initialize));
  auto create = MAKE(PJRT_Client_Create_Args);
  Check(api, api->PJRT_Client_Create(&create));
  auto devices = MAKE(PJRT_Client_AddressableDevices_Args);
  devices.client = create.client;
  Check(api, api->PJRT_Client_AddressableDevices(&devices));

  PJRT_LoadedExecutable* softmax = Compile(api, create.client, program);
  const std::array<int64_t, 2> dimensions = {2, 3};
  const std::array<float, 6> input = {1, 2, 3, 1, 1, 1};
  PJRT_Buffer* argument = ToDevice(api, create.client, devices.addressable_devices[0], input.data(), dimensions);
  PJRT_Buffer* result = Run(api, softmax, argument);

  std::array<float, 6> output = {};
  auto fetch = MAKE(PJRT_Buffer_ToHostBuffer_Args);
  fetch.src = result;
  fetch.dst = output.data();
  fetch.dst_size = sizeof(output);
  Check(api, api->PJRT_Buffer_ToHostBuffer(&fetch));
  AwaitAndDestroy(api, fetch.event);
  for (int row = 0; row < 2; ++row) {
    std::printf("%.3f %.3f %.3f\n", output[row * 3], output[row * 3 + 1], output[row * 3 + 2]);
  }

  DestroyBuffer(api, argument);
  DestroyBuffer(api, result);
  auto destroy_executable = MAKE(PJRT_LoadedExecutable_Destroy_Args);
  destroy_executable.executable = softmax;
  Check(api, api->PJRT_LoadedExecutable_Destroy(&destroy_executable));
  auto destroy_client = MAKE(PJRT_Client_Destroy_Args);
  destroy_client.client = create.client;
  Check(api, api->PJRT_Client_Destroy(&destroy_client));
  return 0;
}
