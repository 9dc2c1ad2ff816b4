// A PJRT plugin that does nothing: the floor of what a call through a framework can cost on Kiln. ninja empty_plugin;
// `python -m benchmarks.dispatch` measures Kiln beside it.
//
// It is Kiln's own library, named by KILN_EMPTY_PLUGIN_OVER, with other functions in three slots of its table. An
// executable runs for real the first time; every later call gives the same buffers again, whatever its arguments are.
// So that they stay, no buffer is ever freed, arguments among them: it leaks on purpose.
//
// What is left out is Kiln's Execute and the freeing of buffers. What framework and table cost is still there: what is
// asked of buffers and events is answered by Kiln's own functions.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "c_api/pjrt_c_api.h"

namespace {

// What an executable gave the first time. Lives as long as the process: another thread may be reading it.
struct Results {
  const PJRT_LoadedExecutable* executable;
  std::vector<PJRT_Buffer*> buffers;
};

const PJRT_Api* real = nullptr;
// What the last call found, which nearly always is what the next one looks for.
std::atomic<const Results*> latest = nullptr;
std::mutex mutex;  // for all that was kept, by executable
std::unordered_map<const PJRT_LoadedExecutable*, const Results*>& all_results =
    *new std::unordered_map<const PJRT_LoadedExecutable*, const Results*>;

// Null where the executable has not run yet.
const Results* FindResults(const PJRT_LoadedExecutable* executable) {
  const Results* results = latest.load(std::memory_order_acquire);
  if (results != nullptr && results->executable == executable) return results;
  const std::lock_guard lock(mutex);
  const auto found = all_results.find(executable);
  if (found == all_results.end()) return nullptr;
  latest.store(found->second, std::memory_order_release);
  return found->second;
}

PJRT_Error* CountOutputs(PJRT_LoadedExecutable* loaded, size_t* count) {
  PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
                                                  .loaded_executable = loaded};
  if (PJRT_Error* error = real->PJRT_LoadedExecutable_GetExecutable(&get)) return error;
  PJRT_Executable_NumOutputs_Args outputs = {.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE,
                                             .executable = get.executable};
  PJRT_Error* error = real->PJRT_Executable_NumOutputs(&outputs);
  *count = outputs.num_outputs;
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                          .executable = get.executable};
  PJRT_Error* destroy_error = real->PJRT_Executable_Destroy(&destroy);
  return error != nullptr ? error : destroy_error;
}

// Runs the program and keeps its results.
PJRT_Error* ExecuteFirst(PJRT_LoadedExecutable_Execute_Args* args) {
  size_t count = 0;
  if (PJRT_Error* error = CountOutputs(args->executable, &count)) return error;
  if (PJRT_Error* error = real->PJRT_LoadedExecutable_Execute(args)) return error;
  Results* results = new Results{.executable = args->executable};
  if (count != 0) results->buffers.assign(args->output_lists[0], args->output_lists[0] + count);
  const std::lock_guard lock(mutex);
  all_results.emplace(args->executable, results);
  return nullptr;
}

// An event that is settled, or settles with the first run.
PJRT_Error* MakeEvent(const Results& results, PJRT_Event** event) {
  if (!results.buffers.empty()) {
    PJRT_Buffer_ReadyEvent_Args ready = {.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE,
                                         .buffer = results.buffers[0]};
    PJRT_Error* error = real->PJRT_Buffer_ReadyEvent(&ready);
    *event = ready.event;
    return error;
  }
  PJRT_Event_Create_Args create = {.struct_size = PJRT_Event_Create_Args_STRUCT_SIZE};
  if (PJRT_Error* error = real->PJRT_Event_Create(&create)) return error;
  *event = create.event;
  PJRT_Event_Set_Args set = {.struct_size = PJRT_Event_Set_Args_STRUCT_SIZE, .event = create.event};
  return real->PJRT_Event_Set(&set);
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  const Results* results = FindResults(args->executable);
  if (results == nullptr) return ExecuteFirst(args);
  for (size_t i = 0; i < results->buffers.size(); ++i) args->output_lists[0][i] = results->buffers[i];
  return args->device_complete_events == nullptr ? nullptr : MakeEvent(*results, &args->device_complete_events[0]);
}

PJRT_Error* DestroyBuffer(PJRT_Buffer_Destroy_Args*) { return nullptr; }

// Another executable may come to lie at the same address.
PJRT_Error* DestroyExecutable(PJRT_LoadedExecutable_Destroy_Args* args) {
  {
    const std::lock_guard lock(mutex);
    latest.store(nullptr, std::memory_order_release);
    all_results.erase(args->executable);
  }
  return real->PJRT_LoadedExecutable_Destroy(args);
}

const PJRT_Api* MakeTable() {
  const char* path = std::getenv("KILN_EMPTY_PLUGIN_OVER");
  if (path == nullptr) {
    std::fputs("empty_plugin: set KILN_EMPTY_PLUGIN_OVER to the path of Kiln's library, libkiln_pjrt.so\n", stderr);
    return nullptr;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* entry = library == nullptr ? nullptr : dlsym(library, "GetPjrtApi");
  if (entry == nullptr) {
    std::fprintf(stderr, "empty_plugin: KILN_EMPTY_PLUGIN_OVER=%s: %s\n", path, dlerror());
    return nullptr;
  }
  real = reinterpret_cast<decltype(&GetPjrtApi)>(entry)();
  if (real->struct_size < PJRT_Api_STRUCT_SIZE) {
    std::fprintf(stderr, "empty_plugin: %s has PJRT 0.%d, expected 0.%d or later\n", path,
                 real->pjrt_api_version.minor_version, PJRT_API_MINOR);
    return nullptr;
  }
  static PJRT_Api table = *real;
  table.struct_size = PJRT_Api_STRUCT_SIZE;
  table.PJRT_LoadedExecutable_Execute = Execute;
  table.PJRT_LoadedExecutable_Destroy = DestroyExecutable;
  table.PJRT_Buffer_Destroy = DestroyBuffer;
  return &table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi(void) {
  static const PJRT_Api* const table = MakeTable();
  return table;
}
