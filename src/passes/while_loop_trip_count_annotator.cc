#include "src/passes/while_loop_trip_count_annotator.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/analysis/while_loop.h"

namespace kiln::passes {

absl::StatusOr<bool> AnnotateTripCounts(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    for (Instruction* loop : computation->instructions()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      const std::string& config = loop->backend_config();
      const bool is_empty = config.empty() || config == "{}";
      // Text that is no JSON object belongs to somebody else.
      if (!is_empty && (config.front() != '{' || config.back() != '}')) continue;
      if (config.find("known_trip_count") != std::string::npos) continue;
      const std::optional<int64_t> rounds = analysis::DerivedTripCount(*loop);
      if (!rounds) continue;
      const std::string entry = absl::StrCat("\"known_trip_count\":{\"n\":\"", *rounds, "\"}}");
      loop->set_backend_config(is_empty ? absl::StrCat("{", entry)
                                        : absl::StrCat(config.substr(0, config.size() - 1), ",", entry));
      changed = true;
    }
  }
  return changed;
}

}  // namespace kiln::passes
