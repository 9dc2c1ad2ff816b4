#include "src/inspect/dot.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/hlo/opcode.h"

namespace kiln::inspect {
namespace {

using hlo::Opcode;

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
}

bool IsDrawnInside(const hlo::Instruction& instruction) {
  return instruction.opcode() == Opcode::kFusion || instruction.opcode() == Opcode::kWhile ||
         instruction.opcode() == Opcode::kConditional || instruction.opcode() == Opcode::kCall;
}

absl::string_view Color(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return "#eeeeee";
    case Opcode::kDot:
    case Opcode::kConvolution:
      return "#ffcc80";
    case Opcode::kFusion:
      return "#b3d4fc";
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall:
    case Opcode::kCustomCall:
      return "#d1c4e9";
    default:
      return "#ffffff";
  }
}

// A computation that is called twice is drawn at its first caller.
void Draw(const hlo::Computation& computation, absl::flat_hash_set<const hlo::Computation*>* drawn, std::string* text,
          std::string* edges) {
  if (!drawn->insert(&computation).second) return;
  for (const hlo::Instruction* instruction : computation.PostOrder()) {
    absl::StrAppend(text, "n", instruction->id(), " [label=",
                    Quoted(absl::StrCat(instruction->name(), "\n", hlo::OpcodeName(instruction->opcode()), " ",
                                        instruction->shape().ToString())),
                    " fillcolor=", Quoted(Color(instruction->opcode())), instruction->IsRoot() ? " penwidth=3" : "",
                    "];\n");
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      absl::StrAppend(edges, "n", instruction->operand(i)->id(), " -> n", instruction->id(),
                      instruction->operand_count() > 1 ? absl::StrCat(" [headlabel=\"", i, "\"]") : "", ";\n");
    }
    if (!IsDrawnInside(*instruction)) continue;
    for (const hlo::Computation* callee : instruction->called_computations()) {
      absl::StrAppend(text, "subgraph ", Quoted(absl::StrCat("cluster_", callee->name())),
                      " {\nstyle=\"rounded,filled\" fillcolor=\"#f7f7f7\" label=", Quoted(callee->name()), ";\n");
      Draw(*callee, drawn, text, edges);
      *text += "}\n";
      absl::StrAppend(edges, "n", callee->root()->id(), " -> n", instruction->id(), " [style=dashed];\n");
    }
  }
}

}  // namespace

std::string ToDot(const hlo::Module& module) {
  std::string text = absl::StrCat("digraph ", Quoted(module.name()), " {\nlabel=", Quoted(module.name()),
                                  ";\nnode [shape=box style=filled fontname=sans fontsize=10];\n");
  std::string edges;
  absl::flat_hash_set<const hlo::Computation*> drawn;
  Draw(*module.entry(), &drawn, &text, &edges);
  return absl::StrCat(text, edges, "}\n");
}

}  // namespace kiln::inspect
