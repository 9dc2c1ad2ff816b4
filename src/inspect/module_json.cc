#include "src/inspect/module_json.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "llvm/Support/JSON.h"
#include "src/hlo/printer.h"

namespace kiln::inspect {

std::string JsonText(absl::string_view text) {
  constexpr size_t kLimit = 100'000;
  std::string cut(text.substr(0, kLimit));
  if (cut.size() < text.size()) cut += " ...";
  return llvm::json::isUTF8(cut) ? cut : llvm::json::fixUTF8(cut);
}

std::string ModuleJson(const hlo::Module& module) {
  hlo::PrintOptions options;
  options.max_constant_elements = 16;
  std::string json;
  llvm::raw_string_ostream stream(json);
  llvm::json::OStream out(stream);
  const std::vector<hlo::Computation*> computations = module.PostOrder();
  absl::flat_hash_map<const hlo::Computation*, int64_t> numbers;
  for (const hlo::Computation* computation : computations) {
    numbers.emplace(computation, static_cast<int64_t>(numbers.size()));
  }
  out.object([&] {
    out.attribute("entry", numbers.at(module.entry()));
    out.attributeArray("computations", [&] {
      for (const hlo::Computation* computation : computations) {
        const std::vector<hlo::Instruction*> order =
            module.is_scheduled() ? computation->instructions() : computation->PostOrder();
        absl::flat_hash_map<const hlo::Instruction*, int64_t> places;
        for (const hlo::Instruction* instruction : order) {
          places.emplace(instruction, static_cast<int64_t>(places.size()));
        }
        out.object([&] {
          out.attribute("name", JsonText(computation->name()));
          out.attribute("root", places.at(computation->root()));
          out.attributeArray("nodes", [&] {
            for (const hlo::Instruction* instruction : order) {
              out.array([&] {
                out.value(JsonText(instruction->name()));
                out.value(JsonText(hlo::OpcodeName(instruction->opcode())));
                out.value(JsonText(instruction->shape().ToString()));
                out.array([&] {
                  for (const hlo::Instruction* operand : instruction->operands()) out.value(places.at(operand));
                });
                out.value(JsonText(absl::StripAsciiWhitespace(hlo::ToString(*instruction, options))));
                out.array([&] {
                  for (const hlo::Computation* callee : instruction->called_computations()) {
                    out.value(numbers.at(callee));
                  }
                });
                out.value(instruction->id());
              });
            }
          });
        });
      }
    });
  });
  return stream.str();
}

}  // namespace kiln::inspect
