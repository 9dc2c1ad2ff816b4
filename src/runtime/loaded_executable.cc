#include "src/runtime/loaded_executable.h"

#include <utility>

#include "src/base/status.h"

namespace kiln::runtime {

absl::StatusOr<RefPtr<LoadedExecutable>> LoadedExecutable::Load(Client* client,
                                                                std::unique_ptr<cpu::Executable> executable,
                                                                Device* device, bool portable, std::string name) {
  auto loaded = RefPtr<LoadedExecutable>::Adopt(new LoadedExecutable());
  loaded->client_ = client;
  loaded->device_ = device;
  loaded->portable_ = portable;
  loaded->name_ = std::move(name);
  for (const hlo::Shape& leaf : executable->parameter_leaves()) {
    KILN_ASSIGN_OR_RETURN(RefPtr<const BufferType> type, BufferType::FromShape(leaf));
    loaded->parameter_types_.push_back(std::move(type));
  }
  for (const hlo::Shape& leaf : executable->output_leaves()) {
    KILN_ASSIGN_OR_RETURN(RefPtr<const BufferType> type, BufferType::FromShape(leaf));
    loaded->output_types_.push_back(std::move(type));
  }
  loaded->donated_parameter_.assign(loaded->output_types_.size(), -1);
  const absl::Span<const cpu::OutputLeaf> aliases = executable->output_aliases();
  for (size_t i = 0; i < aliases.size() && i < loaded->output_types_.size(); ++i) {
    if (!aliases[i].aliased_parameter.has_value()) continue;
    const int64_t parameter = *aliases[i].aliased_parameter;
    if (parameter < 0 || parameter >= static_cast<int64_t>(loaded->parameter_types_.size())) {
      return Internal("output ", i, " is aliased with parameter ", parameter, ", which does not exist");
    }
    if (loaded->parameter_types_[parameter]->byte_count() != loaded->output_types_[i]->byte_count()) {
      return InvalidArgument("output ", i, " of type ", loaded->output_types_[i]->ToString(),
                             " cannot take over parameter ", parameter, " of type ",
                             loaded->parameter_types_[parameter]->ToString(), ": their sizes differ");
    }
    loaded->donated_parameter_[i] = parameter;
  }
  loaded->runs_inline_ = executable->estimated_nanoseconds() <= client->options().inline_nanoseconds;
  loaded->executable_ = std::move(executable);
  return loaded;
}

}  // namespace kiln::runtime
