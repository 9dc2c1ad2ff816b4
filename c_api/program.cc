#include "c_api/program.h"

#include <utility>

#include "src/frontend/load.h"

namespace kiln::c_api {

absl::StatusOr<ProgramSource> SourceFrom(const PJRT_Program* program, const char* options, size_t options_size) {
  if (program == nullptr || program->code == nullptr || program->code_size == 0) {
    return InvalidArgument("there is no program to compile");
  }
  if (!KILN_HAS_FIELD(program, format_size)) {
    return TooSmall("format_size", program->struct_size, PJRT_Program_STRUCT_SIZE);
  }
  ProgramSource source;
  source.code.assign(program->code, program->code_size);
  source.format.assign(View(program->format, program->format_size));
  source.options.assign(View(options, options_size));
  return source;
}

absl::StatusOr<std::shared_ptr<ExecutableInfo>> CompileSource(PJRT_Client* client, ProgramSource source) {
  KILN_ASSIGN_OR_RETURN(runtime::CompileOptions options, runtime::ParseCompileOptions(source.options));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, frontend::Load(source.code, source.format));
  KILN_ASSIGN_OR_RETURN(RefPtr<runtime::LoadedExecutable> executable,
                        runtime::LoadedExecutable::Compile(client->client.get(), std::move(module), options));
  return ExecutableInfo::Create(std::move(executable), std::move(source), options);
}

PJRT_LoadedExecutable* MakeLoadedExecutable(PJRT_Client* client, std::shared_ptr<ExecutableInfo> info) {
  PJRT_Device* device = HandleOf(info->executable->device());
  RefPtr<runtime::LoadedExecutable> executable = info->executable;
  return new PJRT_LoadedExecutable{std::move(executable), std::move(info), client, {device}};
}

}  // namespace kiln::c_api
