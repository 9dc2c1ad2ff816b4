#include "src/frontend/stablehlo/importer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
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
        const mlir::AttributeRef called = operation->Get("called_computations");
        const auto* list = called != nullptr ? called->As<mlir::ArrayAttribute>() : nullptr;
        for (size_t i = 0; list != nullptr && i < list->elements.size(); ++i) {
          if (auto name = mlir::AsString(list->elements[i])) callees.push_back(*name);
        }
      }
      for (const mlir::Region* inner : operation->regions) CollectCallees(*inner, callees);
    }
  }
}

std::vector<absl::string_view> Callees(const mlir::Operation& function) {
  std::vector<absl::string_view> all;
  for (const mlir::Region* region : function.regions) CollectCallees(*region, all);
  std::vector<absl::string_view> callees;
  absl::flat_hash_set<absl::string_view> seen;
  for (absl::string_view name : all) {
    if (seen.insert(name).second) callees.push_back(name);
  }
  return callees;
}

// `main` and all that it reaches, callees first. Iterative: call chains may be long.
absl::StatusOr<std::vector<const mlir::Operation*>> OrderFunctions(const ModuleImport& module) {
  struct Frame {
    const mlir::Operation* function;
    std::vector<absl::string_view> callees;
    size_t next = 0;
  };
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return InvalidArgument("the program has no function main");
  enum class State { kActive, kDone };
  absl::flat_hash_map<const mlir::Operation*, State> states;
  std::vector<const mlir::Operation*> order;
  std::vector<Frame> stack;
  stack.push_back({main->second, Callees(*main->second)});
  states[main->second] = State::kActive;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == frame.callees.size()) {
      states[frame.function] = State::kDone;
      order.push_back(frame.function);
      stack.pop_back();
      continue;
    }
    const auto callee = module.functions.find(frame.callees[frame.next++]);
    if (callee == module.functions.end()) continue;  // The call names itself and its location when it is imported.
    const auto [state, inserted] = states.emplace(callee->second, State::kActive);
    if (inserted) {
      stack.push_back({callee->second, Callees(*callee->second)});
    } else if (state->second == State::kActive) {
      return InvalidArgument(Describe(*callee->second), ": @", callee->first,
                             " calls itself, directly or through others; recursion is not supported");
    }
  }
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
    body.Define(block.arguments[i], computation->AddParameter(static_cast<int64_t>(i), *std::move(shape)));
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<hlo::Instruction*> results, body.ImportBlock(*function.regions[0], function));
  if (results.size() == 1) {
    computation->set_root(results[0]);
  } else {
    std::vector<hlo::Shape> shapes;
    for (const hlo::Instruction* result : results) shapes.push_back(result->shape());
    computation->set_root(computation->Add(hlo::Opcode::kTuple, hlo::Shape::Tuple(std::move(shapes)), results));
  }
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
