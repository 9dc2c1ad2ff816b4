#include "src/runtime/loaded_executable.h"

#include <utility>

#include "src/base/status.h"

namespace kiln::runtime {
namespace {

// Fills in the default kind where there are none.
absl::Status CompleteKinds(absl::string_view what, size_t count, std::vector<int64_t>* kinds) {
  if (kinds->empty()) kinds->assign(count, 0);
  if (kinds->size() != count) {
    return InvalidArgument(kinds->size(), " memory kinds for ", count, " ", what, " of the program");
  }
  for (int64_t kind : *kinds) {
    if (kind < 0 || kind >= Memory::kKindCount) return InvalidArgument("there is no memory kind ", kind);
  }
  return absl::OkStatus();
}

// Handing a program over and back waits for two sleeping threads to wake: a product of 512 by 512 takes 945
// microseconds so and 875 without (two cores), one of 256 by 256 by 512 290 and 217. What threads share runs in the
// calling thread while that matters; of what they do not, several runs go side by side.
bool RunsInline(const cpu::Executable& executable, const Client& client) {
  constexpr int64_t kShared = 8;
  const int64_t most = client.options().inline_nanoseconds, all = executable.estimated_nanoseconds();
  // Calls out may wait for others, which are not to wait for this thread.
  const bool is_shared = executable.custom_call_count() == 0 &&
                         (client.pool()->threads() == 1 || executable.lone_nanoseconds() <= all / 4);
  return all <= most || (is_shared && all / kShared <= most);
}

}  // namespace

absl::StatusOr<RefPtr<LoadedExecutable>> LoadedExecutable::Load(Client* client,
                                                                std::unique_ptr<cpu::Executable> executable,
                                                                Device* device, bool portable, std::string name,
                                                                MemoryKinds kinds) {
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
    loaded->result_bytes_ += static_cast<int64_t>(type->byte_count());
    loaded->output_types_.push_back(std::move(type));
  }
  loaded->memory_kinds_ = std::move(kinds);
  KILN_RETURN_IF_ERROR(CompleteKinds("parameters", loaded->parameter_types_.size(), &loaded->memory_kinds_.parameters));
  KILN_RETURN_IF_ERROR(CompleteKinds("outputs", loaded->output_types_.size(), &loaded->memory_kinds_.outputs));
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
    loaded->donates_ = true;
  }
  for (int64_t parameter : executable->donated_parameters()) {
    if (parameter < 0 || parameter >= static_cast<int64_t>(loaded->parameter_types_.size())) {
      return Internal("donated parameter ", parameter, " does not exist");
    }
  }
  loaded->runs_inline_ = RunsInline(*executable, *client);
  loaded->executable_ = std::move(executable);
  return loaded;
}

}  // namespace kiln::runtime
