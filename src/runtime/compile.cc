// LoadedExecutable::Compile and Restore: options of the caller applied to a module, and the module compiled or its
// machine code loaded.
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/float_environment.h"
#include "src/base/status.h"
#include "src/runtime/ffi/calls.h"
#include "src/runtime/loaded_executable.h"

namespace kiln::runtime {
namespace {

absl::StatusOr<Device*> ChooseDevice(Client* client, const CompileOptions& options) {
  if (options.num_replicas != 1 || options.num_partitions != 1) {
    return Unimplemented("programs over several devices: ", options.num_replicas, " replicas of ",
                         options.num_partitions, " partitions were asked for, this version runs on one device");
  }
  int64_t id = 0;
  if (!options.device_assignment.empty()) {
    id = options.device_assignment[0];
  } else if (options.device_ordinal >= 0) {
    id = options.device_ordinal;
  }
  Device* device = client->device(id);
  if (device == nullptr) return InvalidArgument("compile options: there is no device ", id);
  return device;
}

// Replaces the layouts of the module's entry by those that the caller asks for.
absl::Status ApplyLayouts(const CompileOptions& options, hlo::Module* module) {
  if (options.argument_layouts.empty() && !options.result_layout.has_value()) return absl::OkStatus();
  const hlo::Computation& entry = *module->entry();
  if (!module->has_entry_layout()) {
    module->mutable_entry_parameter_layouts()->clear();
    for (const hlo::Instruction* parameter : entry.parameters()) {
      module->mutable_entry_parameter_layouts()->push_back(parameter->shape());
    }
    *module->mutable_entry_result_layout() = entry.root()->shape();
    module->set_has_entry_layout(true);
  }
  if (!options.argument_layouts.empty()) {
    std::vector<hlo::Shape>& layouts = *module->mutable_entry_parameter_layouts();
    if (options.argument_layouts.size() != layouts.size()) {
      return InvalidArgument("compile options: ", options.argument_layouts.size(), " argument layouts for ",
                             layouts.size(), " parameters");
    }
    for (size_t i = 0; i < layouts.size(); ++i) {
      if (!hlo::Shape::Compatible(layouts[i], options.argument_layouts[i])) {
        return InvalidArgument("compile options: argument layout ", i, " is ", options.argument_layouts[i].ToString(),
                               ", the parameter is ", layouts[i].ToString());
      }
    }
    layouts = options.argument_layouts;
  }
  if (options.result_layout.has_value()) {
    if (!hlo::Shape::Compatible(module->entry_result_layout(), *options.result_layout)) {
      return InvalidArgument("compile options: the result layout is ", options.result_layout->ToString(),
                             ", the result is ", module->entry_result_layout().ToString());
    }
    *module->mutable_entry_result_layout() = *options.result_layout;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> KindId(absl::string_view name) {
  if (name.empty()) return 0;
  const int kind = Memory::KindId(name);
  if (kind < 0) {
    return InvalidArgument("the memory kind '", name, "' is none of ", absl::StrJoin(Memory::kKinds, ", "));
  }
  return kind;
}

// What the front-end noted on the module (frontend/stablehlo/importer.h).
absl::StatusOr<MemoryKinds> ReadMemoryKinds(const hlo::Module& module) {
  MemoryKinds kinds;
  for (const hlo::Instruction* parameter : module.entry()->parameters()) {
    const auto& attributes = parameter->frontend_attributes();
    const auto found = attributes.find("mhlo.memory_kind");
    KILN_ASSIGN_OR_RETURN(const int64_t kind, KindId(found == attributes.end() ? "" : found->second));
    kinds.parameters.insert(kinds.parameters.end(), parameter->shape().leaf_count(), kind);
  }
  const auto found = module.frontend_attributes().find("kiln.result_memory_kinds");
  if (found == module.frontend_attributes().end()) return kinds;
  for (absl::string_view name : absl::StrSplit(found->second, ',')) {
    KILN_ASSIGN_OR_RETURN(kinds.outputs.emplace_back(), KindId(name));
  }
  return kinds;
}

// Looks custom calls up among the registered handlers and numbers them.
cpu::CustomCallResolver Handlers() {
  return [number = int64_t{0}](const hlo::Instruction& call) mutable { return ffi::ResolveCall(call, number++); };
}

}  // namespace

absl::StatusOr<RefPtr<LoadedExecutable>> LoadedExecutable::Compile(Client* client, std::unique_ptr<hlo::Module> module,
                                                                   const CompileOptions& options) {
  const DefaultFloatEnvironment environment;
  KILN_ASSIGN_OR_RETURN(Device * device, ChooseDevice(client, options));
  KILN_RETURN_IF_ERROR(ApplyLayouts(options, module.get()));
  cpu::CompileOptions cpu_options;
  cpu_options.max_parallelism = static_cast<int>(options.max_parallelism);
  cpu_options.disabled_passes = options.disabled_passes;
  ApplyFlags(options.flags, &cpu_options);
  std::unique_ptr<cpu::CompileObserver> observer;
  if (client->options().observe) observer = client->options().observe(options.flags);
  cpu_options.observer = observer.get();
  cpu_options.in_background = true;
  cpu_options.custom_calls = Handlers();
  std::string name = module->name();
  KILN_ASSIGN_OR_RETURN(MemoryKinds kinds, ReadMemoryKinds(*module));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Executable> executable,
                        cpu::Executable::Compile(std::move(module), cpu_options));
  return Load(client, std::move(executable), device, options.portable, std::move(name), std::move(kinds));
}

absl::StatusOr<RefPtr<LoadedExecutable>> LoadedExecutable::Restore(Client* client, absl::string_view image,
                                                                   std::unique_ptr<hlo::Module> program,
                                                                   const CompileOptions& options, MemoryKinds kinds,
                                                                   std::string name) {
  KILN_ASSIGN_OR_RETURN(Device * device, ChooseDevice(client, options));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Executable> executable, cpu::Executable::Load(image, std::move(program), Handlers()));
  return Load(client, std::move(executable), device, options.portable, std::move(name), std::move(kinds));
}

}  // namespace kiln::runtime
