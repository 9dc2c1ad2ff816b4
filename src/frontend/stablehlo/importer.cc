#include "src/frontend/stablehlo/importer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "src/base/call_order.h"
#include "src/frontend/stablehlo/entry_attributes.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"
#include "src/hlo/verifier.h"

namespace kiln::stablehlo {
namespace {

// Functions that the ops of a region call, in order of appearance.
void CollectCallees(const mlir::Region& region, std::vector<absl::string_view>& callees) {
  for (const mlir::Block* block : region.blocks) {
    for (const mlir::Operation* operation : block->operations) {
      if (operation->name == "func.call") {
        if (auto name = mlir::AsString(operation->Get("callee"))) callees.push_back(*name);
      } else if (operation->name == "stablehlo.composite") {
        auto name = mlir::AsString(operation->Get("decomposition"));
        if (name.has_value() && NeedsDecomposition(*operation)) callees.push_back(*name);
      } else if (operation->name == "stablehlo.custom_call") {
        const auto* list = mlir::As<mlir::ArrayAttribute>(operation->Get("called_computations"));
        for (size_t i = 0; list != nullptr && i < list->elements.size(); ++i) {
          if (auto name = mlir::AsString(list->elements[i])) callees.push_back(*name);
        }
      }
      for (const mlir::Region* inner : operation->regions) CollectCallees(*inner, callees);
    }
  }
}

std::vector<absl::string_view> Callees(const mlir::Operation& function) {
  std::vector<absl::string_view> callees;
  for (const mlir::Region* region : function.regions) CollectCallees(*region, callees);
  return callees;
}

// `main` and all that it reaches, callees first.
absl::StatusOr<std::vector<const mlir::Operation*>> OrderFunctions(const ModuleImport& module) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return InvalidArgument("the program has no function main");
  std::vector<const mlir::Operation*> functions = {main->second};
  absl::flat_hash_map<const mlir::Operation*, size_t> indices = {{main->second, 0}};
  std::vector<std::vector<size_t>> callees;
  for (size_t i = 0; i < functions.size(); ++i) {
    callees.emplace_back();
    for (absl::string_view name : Callees(*functions[i])) {
      const auto callee = module.functions.find(name);
      if (callee == module.functions.end()) continue;  // The call names itself and its location when it is imported.
      const auto [entry, is_new] = indices.emplace(callee->second, functions.size());
      if (is_new) functions.push_back(callee->second);
      callees[i].push_back(entry->second);
    }
  }
  const CallOrder calls = CalleesFirst(callees);
  if (calls.cycle) {
    const mlir::Operation& callee = *functions[callees[calls.caller][calls.call]];
    return InvalidArgument(Describe(callee), ": @", *mlir::AsString(callee.Get("sym_name")),
                           " calls itself, directly or through others; recursion is not supported");
  }
  std::vector<const mlir::Operation*> order;
  for (size_t index : calls.order) order.push_back(functions[index]);
  return order;
}

// A function may have any name, such as <lambda>; a computation's has letters, digits and these signs.
std::string ComputationName(absl::string_view function) {
  std::string name(function);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-' && c != '$') c = '_';
  }
  return name;
}

absl::Status ImportFunctionBody(ModuleImport& module, const mlir::Operation& function, absl::string_view name) {
  if (function.regions.size() != 1 || function.regions[0]->blocks.size() != 1) {
    return Unimplemented(Describe(function), ": @", name, " has no body of one block");
  }
  hlo::Computation* computation = module.module->AddComputation(ComputationName(name));
  Body body(module, computation);
  const mlir::Block& block = *function.regions[0]->blocks[0];
  for (size_t i = 0; i < block.arguments.size(); ++i) {
    absl::StatusOr<hlo::Shape> shape = ToShape(*block.arguments[i]->type);
    if (!shape.ok()) return Annotate(shape.status(), absl::StrCat("argument ", i, " of @", name));
    hlo::Instruction* parameter = computation->AddParameter(static_cast<int64_t>(i), *std::move(shape));
    if (const mlir::Location* location = block.arguments[i]->location; location != nullptr && !location->name.empty()) {
      parameter->set_metadata({.op_name = std::string(location->name)});
    }
    body.Define(block.arguments[i], parameter);
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<hlo::Instruction*> results, body.ImportBlock(*function.regions[0], function));
  computation->set_root(PackResults(computation, results));
  module.computations[name] = computation;
  return absl::OkStatus();
}

absl::Status ReadFunctions(const mlir::Operation& root, ModuleImport& module) {
  if (root.name != "builtin.module" || root.regions.size() != 1 || root.regions[0]->blocks.size() != 1) {
    return InvalidArgument("expected a module of functions, found ", Describe(root));
  }
  for (const mlir::Operation* operation : root.regions[0]->blocks[0]->operations) {
    if (operation->name == "sdy.mesh") continue;
    if (operation->name != "func.func") {
      return Unimplemented(Describe(*operation), ": expected a function at the top level of the program");
    }
    const std::optional<absl::string_view> name = mlir::AsString(operation->Get("sym_name"));
    if (!name.has_value()) return InvalidArgument(Describe(*operation), ": a function without a name");
    if (!module.functions.emplace(*name, operation).second) {
      return InvalidArgument(Describe(*operation), ": @", *name, " is defined twice");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<hlo::Module>> ImportProgram(const mlir::Module& source, bool checks_each_op) {
  const mlir::Operation& root = *source.root;
  ModuleImport module;
  module.checks_each_op = checks_each_op;
  KILN_RETURN_IF_ERROR(ReadFunctions(root, module));
  auto result = std::make_unique<hlo::Module>(std::string(mlir::AsString(root.Get("sym_name")).value_or("main")));
  module.module = result.get();
  KILN_RETURN_IF_ERROR(ReadModuleAttributes(root, *result));
  KILN_ASSIGN_OR_RETURN(const std::vector<const mlir::Operation*> order, OrderFunctions(module));
  // Callees come first: what calls a function that is imported at each call must give it constants, and is one itself.
  for (const mlir::Operation* function : order) {
    const std::vector<absl::string_view> callees = Callees(*function);
    if (NeedsRefinement(*function) || std::any_of(callees.begin(), callees.end(), [&](absl::string_view callee) {
          return module.refined.contains(callee);
        })) {
      module.refined.insert(*mlir::AsString(function->Get("sym_name")));
    }
  }
  for (const mlir::Operation* function : order) {
    const absl::string_view name = *mlir::AsString(function->Get("sym_name"));
    if (name != "main" && module.refined.contains(name)) continue;
    KILN_RETURN_IF_ERROR(ImportFunctionBody(module, *function, name));
  }
  const mlir::Operation& main = *module.functions.at("main");
  hlo::Computation* entry = module.computations.at("main");
  result->set_entry(entry);
  KILN_RETURN_IF_ERROR(ReadEntryAttributes(main, *result));
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<hlo::Module>> Import(const mlir::Module& source) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, ImportProgram(source, /*checks_each_op=*/false));
  const absl::Status status = hlo::Verify(*module);
  if (status.ok()) return module;
  // Once more, for a sentence about an op of the program rather than one of the module.
  KILN_RETURN_IF_ERROR(ImportProgram(source, /*checks_each_op=*/true).status());
  return status;
}

}  // namespace kiln::stablehlo
