#include "c_api/executable_info.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_join.h"
#include "c_api/handles.h"
#include "c_api/named_value.h"
#include "src/analysis/cost_analysis.h"
#include "src/cpu/host_rates.h"
#include "src/frontend/hlo_proto/writer.h"

namespace kiln::c_api {
namespace {

void Fill(const std::vector<RefPtr<const runtime::BufferType>>& types, const std::vector<int64_t>& kinds,
          ExecutableInfo::Arrays* arrays) {
  for (const RefPtr<const runtime::BufferType>& type : types) {
    arrays->layouts.push_back({LayoutText(*type)});
    arrays->bytes += type->byte_count();
  }
  for (PJRT_Layouts_MemoryLayout& layout : arrays->layouts) arrays->layout_pointers.push_back(&layout);
  for (int64_t kind : kinds) {
    arrays->memory_kinds.push_back(runtime::Memory::kKinds[kind].data());
    arrays->memory_kind_sizes.push_back(runtime::Memory::kKinds[kind].size());
  }
}

}  // namespace

std::string LayoutText(const runtime::BufferType& type) {
  return absl::StrCat("{", absl::StrJoin(type.minor_to_major(), ","), "}");
}

std::shared_ptr<ExecutableInfo> ExecutableInfo::Create(RefPtr<runtime::LoadedExecutable> executable,
                                                       std::string fingerprint, std::string compile_options,
                                                       std::string optimized_program,
                                                       const runtime::CompileOptions& options) {
  std::shared_ptr<ExecutableInfo> info(new ExecutableInfo(std::move(executable), std::move(fingerprint),
                                                          std::move(compile_options), std::move(optimized_program),
                                                          options));
  const runtime::LoadedExecutable& loaded = *info->executable;
  for (const RefPtr<const runtime::BufferType>& type : loaded.output_types()) {
    info->output_types.push_back(ElementTypeOf(type->element_type()));
    info->output_dimensions.insert(info->output_dimensions.end(), type->dimensions().begin(), type->dimensions().end());
    info->output_ranks.push_back(type->dimensions().size());
  }
  Fill(loaded.parameter_types(), loaded.memory_kinds().parameters, &info->parameters);
  Fill(loaded.output_types(), loaded.memory_kinds().outputs, &info->outputs);
  const absl::Span<const cpu::OutputLeaf> aliases = loaded.executable().output_aliases();
  for (size_t i = 0; i < aliases.size() && i < loaded.output_types().size(); ++i) {
    if (aliases[i].aliased_parameter.has_value()) info->alias_bytes += loaded.output_types()[i]->byte_count();
  }
  return info;
}

absl::Span<const PJRT_NamedValue> ExecutableInfo::CostProperties() {
  absl::call_once(cost_once_, [this] {
    const cpu::Executable& compiled = executable->executable();
    if (compiled.module() != nullptr) {
      analysis::CostAnalysis costs(cpu::HostRates(1));
      cost_names_ = analysis::CostProperties(costs.Of(*compiled.module()->entry()));
    } else {
      cost_names_ = {{"bytes accessed", static_cast<double>(parameters.bytes + outputs.bytes)},
                     {"optimal_seconds", static_cast<double>(compiled.estimated_nanoseconds()) * 1e-9}};
    }
    for (const auto& [name, value] : cost_names_) {
      cost_properties_.push_back(NamedFloat(name.c_str(), static_cast<float>(value)));
    }
    cost_properties_.push_back(NamedInt64("kernels", compiled.statistics().kernel_count));
    cost_properties_.push_back(NamedInt64("fused operations", compiled.statistics().fused_instruction_count));
  });
  return cost_properties_;
}

const std::string& ExecutableInfo::OptimizedProgram() {
  absl::call_once(optimized_program_once_, [this] {
    const hlo::Module* module = executable->executable().module();
    if (optimized_program_.empty() && module != nullptr) optimized_program_ = hlo_proto::WriteModuleWithConfig(*module);
  });
  return optimized_program_;
}

}  // namespace kiln::c_api
