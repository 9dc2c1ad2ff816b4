#include "c_api/program.h"

#include <utility>

#include "src/base/fingerprint.h"
#include "src/frontend/load.h"
#include "src/hlo/printer.h"
#include "src/runtime/serialization.h"

namespace kiln::c_api {

absl::StatusOr<ProgramSource> SourceFrom(const PJRT_Program* program, const char* options, size_t options_size) {
  if (program != nullptr && !KILN_HAS_FIELD(*program, format_size)) {
    return TooSmall("format_size", program->struct_size, PJRT_Program_STRUCT_SIZE);
  }
  if (program == nullptr || program->code == nullptr || program->code_size == 0) {
    return InvalidArgument("there is no program to compile");
  }
  ProgramSource source;
  source.code.assign(program->code, program->code_size);
  source.format.assign(View(program->format, program->format_size));
  source.options.assign(View(options, options_size));
  return source;
}

absl::StatusOr<std::shared_ptr<ExecutableInfo>> CompileSource(PJRT_Client* client, const ProgramSource& source) {
  KILN_ASSIGN_OR_RETURN(runtime::CompileOptions options, runtime::ParseCompileOptions(source.options));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, frontend::Load(source.code, source.format));
  KILN_ASSIGN_OR_RETURN(RefPtr<runtime::LoadedExecutable> executable,
                        runtime::LoadedExecutable::Compile(client->client.get(), std::move(module), options));
  std::string fingerprint = Fingerprint({kPlatformVersion, source.code, source.format, source.options});
  return ExecutableInfo::Create(std::move(executable), std::move(fingerprint), source.options, "", options);
}

absl::StatusOr<std::string> Serialize(ExecutableInfo* info) {
  runtime::SerializedExecutable serialized;
  KILN_ASSIGN_OR_RETURN(serialized.image, info->executable->executable().Serialize());
  serialized.name = info->executable->name();
  const cpu::Executable& executable = info->executable->executable();
  if (executable.custom_call_count() != 0) serialized.program_text = hlo::ToString(*executable.module());
  serialized.memory_kinds = info->executable->memory_kinds();
  serialized.options = info->compile_options;
  serialized.fingerprint = info->fingerprint;
  serialized.optimized_program = info->OptimizedProgram();
  return runtime::Seal(serialized);
}

absl::StatusOr<std::shared_ptr<ExecutableInfo>> Deserialize(PJRT_Client* client, absl::string_view bytes,
                                                            absl::string_view compile_options) {
  KILN_ASSIGN_OR_RETURN(runtime::SerializedExecutable serialized, runtime::Unseal(bytes));
  if (!compile_options.empty()) serialized.options.assign(compile_options);
  KILN_ASSIGN_OR_RETURN(runtime::CompileOptions options, runtime::ParseCompileOptions(serialized.options));
  std::unique_ptr<hlo::Module> program;
  if (!serialized.program_text.empty()) {
    KILN_ASSIGN_OR_RETURN(program, frontend::Load(serialized.program_text, ""));
  }
  KILN_ASSIGN_OR_RETURN(
      RefPtr<runtime::LoadedExecutable> executable,
      runtime::LoadedExecutable::Restore(client->client.get(), serialized.image, std::move(program), options,
                                         std::move(serialized.memory_kinds), std::move(serialized.name)));
  return ExecutableInfo::Create(std::move(executable), std::move(serialized.fingerprint), std::move(serialized.options),
                                std::move(serialized.optimized_program), options);
}

PJRT_LoadedExecutable* MakeLoadedExecutable(PJRT_Client* client, std::shared_ptr<ExecutableInfo> info) {
  PJRT_Device* device = HandleOf(info->executable->device());
  RefPtr<runtime::LoadedExecutable> executable = info->executable;
  return new PJRT_LoadedExecutable{std::move(executable), std::move(info), client, {device}};
}

}  // namespace kiln::c_api
