// What the getters of an executable return by pointer, made once per compilation and shared by its handles.
#ifndef KILN_C_API_EXECUTABLE_INFO_H_
#define KILN_C_API_EXECUTABLE_INFO_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "c_api/pjrt/extensions/layouts.h"
#include "c_api/pjrt_c_api.h"
#include "src/runtime/buffer_type.h"
#include "src/runtime/loaded_executable.h"

// A layout in its text form, such as "{1,0}".
struct PJRT_Layouts_MemoryLayout {
  std::string text;
};

namespace kiln::c_api {

// The text of the layout of `type`.
std::string LayoutText(const runtime::BufferType& type);

// The program as it was given.
struct ProgramSource {
  std::string code;
  std::string format;
  std::string options;
};

// Immutable after Create, but for what is made on first demand.
class ExecutableInfo {
 public:
  // `compile_options` are those of `options` as they came; `optimized_program` is empty where the executable has its
  // module.
  static std::shared_ptr<ExecutableInfo> Create(RefPtr<runtime::LoadedExecutable> executable, std::string fingerprint,
                                                std::string compile_options, std::string optimized_program,
                                                const runtime::CompileOptions& options);

  // The optimized program as HloModuleProtoWithConfig; made once, thread-safe.
  const std::string& OptimizedProgram();
  // What JAX shows as cost_analysis(); made once, thread-safe.
  absl::Span<const PJRT_NamedValue> CostProperties();

  const RefPtr<runtime::LoadedExecutable> executable;
  const std::string fingerprint;
  const std::string compile_options;
  const int64_t num_replicas;
  const int64_t num_partitions;
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dimensions;
  std::vector<size_t> output_ranks;
  // Of the parameters or outputs.
  struct Arrays {
    std::vector<const char*> memory_kinds;
    std::vector<size_t> memory_kind_sizes;
    std::vector<PJRT_Layouts_MemoryLayout> layouts;
    std::vector<PJRT_Layouts_MemoryLayout*> layout_pointers;
    int64_t bytes = 0;
  };
  Arrays parameters;
  Arrays outputs;
  int64_t alias_bytes = 0;

 private:
  ExecutableInfo(RefPtr<runtime::LoadedExecutable> executable, std::string fingerprint, std::string compile_options,
                 std::string optimized_program, const runtime::CompileOptions& options)
      : executable(std::move(executable)),
        fingerprint(std::move(fingerprint)),
        compile_options(std::move(compile_options)),
        num_replicas(options.num_replicas),
        num_partitions(options.num_partitions),
        optimized_program_(std::move(optimized_program)) {}

  absl::once_flag optimized_program_once_;
  std::string optimized_program_;
  absl::once_flag cost_once_;
  std::vector<std::pair<std::string, double>> cost_names_;
  std::vector<PJRT_NamedValue> cost_properties_;
};

}  // namespace kiln::c_api

#endif  // KILN_C_API_EXECUTABLE_INFO_H_
