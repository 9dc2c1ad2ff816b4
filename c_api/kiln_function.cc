// kiln.h: functions.
#include <cstddef>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "c_api/kiln.h"
#include "c_api/kiln_objects.h"
#include "src/frontend/load.h"
#include "src/runtime/jit_function.h"

using kiln::c_api::MakeStatus;

struct kiln_function {
  kiln::runtime::JitFunction function;
};

namespace kiln::c_api {
namespace {

absl::Status Load(kiln_client* client, const void* program, size_t size, const char* format, kiln_function** function) {
  if (client == nullptr || program == nullptr || function == nullptr) {
    return InvalidArgument("client, program and function must not be null");
  }
  KILN_ASSIGN_OR_RETURN(
      std::unique_ptr<hlo::Module> module,
      frontend::Load(absl::string_view(static_cast<const char*>(program), size), format == nullptr ? "" : format));
  *function = new kiln_function{runtime::JitFunction(client->client.get(), std::move(module))};
  return absl::OkStatus();
}

absl::Status CallFunction(kiln_function* function, kiln_buffer* const* inputs, size_t input_count,
                          kiln_buffer** outputs, size_t output_count) {
  if (function == nullptr || (inputs == nullptr && input_count != 0) || (outputs == nullptr && output_count != 0)) {
    return InvalidArgument("function, inputs and outputs must not be null");
  }
  if (output_count != function->function.output_count()) {
    return InvalidArgument("function ", function->function.name(), " gives ", function->function.output_count(),
                           " outputs, there is room for ", output_count);
  }
  absl::InlinedVector<runtime::Buffer*, 8> arguments;
  for (size_t i = 0; i < input_count; ++i) {
    if (inputs[i] == nullptr) return InvalidArgument("input ", i, " is null");
    arguments.push_back(UnwrapBuffer(inputs[i]));
  }
  absl::InlinedVector<runtime::Buffer*, 8> results(output_count);
  KILN_RETURN_IF_ERROR(function->function.Call(arguments, results.data()));
  for (size_t i = 0; i < output_count; ++i) outputs[i] = reinterpret_cast<kiln_buffer*>(results[i]);
  return absl::OkStatus();
}

}  // namespace
}  // namespace kiln::c_api

KILN_EXPORT kiln_status* kiln_function_load(kiln_client* client, const void* program, size_t size, const char* format,
                                            kiln_function** function) {
  return kiln::c_api::Answer([&] { return kiln::c_api::Load(client, program, size, format, function); });
}

KILN_EXPORT const char* kiln_function_name(const kiln_function* function) {
  return function == nullptr ? "" : function->function.name().c_str();
}

KILN_EXPORT size_t kiln_function_input_count(const kiln_function* function) {
  return function == nullptr ? 0 : function->function.parameter_count();
}

KILN_EXPORT size_t kiln_function_output_count(const kiln_function* function) {
  return function == nullptr ? 0 : function->function.output_count();
}

KILN_EXPORT kiln_status* kiln_function_call(kiln_function* function, kiln_buffer* const* inputs, size_t input_count,
                                            kiln_buffer** outputs, size_t output_count) {
  return kiln::c_api::Answer(
      [&] { return kiln::c_api::CallFunction(function, inputs, input_count, outputs, output_count); });
}

KILN_EXPORT kiln_status* kiln_function_get_statistics(const kiln_function* function,
                                                      kiln_function_statistics* statistics) {
  if (function == nullptr || statistics == nullptr) {
    return MakeStatus(kiln::InvalidArgument("function and statistics must not be null"));
  }
  const kiln::runtime::JitStatistics values = function->function.statistics();
#define KILN_SET_STATISTIC(field)                                                                         \
  if (statistics->struct_size >= offsetof(kiln_function_statistics, field) + sizeof(statistics->field)) { \
    statistics->field = values.field;                                                                     \
  }
  KILN_SET_STATISTIC(calls)
  KILN_SET_STATISTIC(compiles)
  KILN_SET_STATISTIC(cache_hits)
  KILN_SET_STATISTIC(compile_seconds)
#undef KILN_SET_STATISTIC
  return nullptr;
}

KILN_EXPORT void kiln_function_destroy(kiln_function* function) { delete function; }
