#include "src/kernel/kernel.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/analysis/combiner.h"
#include "src/hlo/printer.h"

namespace kiln::kernel {

namespace {

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string Print() {
    absl::StrAppend(&text_, "kernel ", kernel_.name, " (");
    AppendParameters(false);
    text_ += ") -> (";
    AppendParameters(true);
    text_ += ")\n";
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) {
      if (kernel_.parameters[i].is_local) absl::StrAppend(&text_, "  local ", Describe(i), "\n");
    }
    for (const Nest& nest : kernel_.nests) {
      text_ += "  nest";
      for (int loop : nest.loops) {
        const Loop& info = kernel_.loops[loop];
        absl::StrAppend(&text_, info.kind == LoopKind::kSerial ? " serial" : " parallel", " i", loop, " in ",
                        info.extent);
      }
      text_ += "\n";
      AppendBlock(nest.body, 4);
    }
    return std::move(text_);
  }

 private:
  void AppendParameters(bool outputs) {
    absl::string_view separator;
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const Parameter& p = kernel_.parameters[i];
      if (p.is_output == outputs && !p.is_local) {
        absl::StrAppend(&text_, std::exchange(separator, ", "), Describe(i));
      }
    }
  }

  std::string Describe(size_t parameter) {
    const Parameter& p = kernel_.parameters[parameter];
    return absl::StrCat("p", parameter, ": ", hlo::PrimitiveTypeName(p.type), "[", absl::StrJoin(p.dimensions, ","),
                        "]", p.is_updated ? " updated" : "", p.constant.has_value() ? " constant" : "");
  }

  std::string Values(const std::vector<ValueId>& values) {
    return absl::StrJoin(values, ", ", [](std::string* out, ValueId v) { absl::StrAppend(out, "v", v); });
  }

  std::string Opcodes(const std::vector<hlo::Opcode>& opcodes) {
    return absl::StrJoin(opcodes, ", ",
                         [](std::string* out, hlo::Opcode o) { absl::StrAppend(out, hlo::OpcodeName(o)); });
  }

  std::string Predicate(ValueId predicate) { return predicate == kNoValue ? "" : absl::StrCat(" if v", predicate); }

  std::string Describe(const Op& op) {
    switch (op.kind) {
      case OpKind::kLoad:
        return absl::StrCat("load p", op.parameter, "[", kernel_.terms.ToString(op.offset), "]",
                            Predicate(op.predicate));
      case OpKind::kConstant: {
        const size_t width = hlo::ByteWidth(op.type);
        auto element = hlo::Literal::FromBytes(hlo::Shape::Scalar(op.type),
                                               op.literal.bytes().subspan(op.literal_index * width, width));
        return absl::StrCat("constant ", element.ok() ? hlo::ToString(*element) : "?");
      }
      case OpKind::kElementwise:
        return absl::StrCat(hlo::OpcodeName(op.opcode), " ", Values(op.operands));
      case OpKind::kIndex:
        return absl::StrCat("index ", kernel_.terms.ToString(op.offset));
      case OpKind::kCondition:
        return absl::StrCat("condition ",
                            absl::StrJoin(op.conditions, " and ",
                                          [&](std::string* out, const Condition& c) {
                                            absl::StrAppend(out, c.low, " <= ", kernel_.terms.ToString(c.expr), " < ",
                                                            c.high);
                                          }),
                            op.operands.empty() ? "" : absl::StrCat(" and ", Values(op.operands)));
      case OpKind::kToIndex:
        return absl::StrCat(op.clamp ? "clamp " : "index-of ", Values(op.operands), " in [", op.range.low, ", ",
                            op.range.high, "]");
      case OpKind::kExternal:
        return "external";
      case OpKind::kKey:
        return absl::StrCat("key of ", Values(op.operands), " for ", hlo::OpcodeName(op.opcode));
      case OpKind::kOfKey:
        return absl::StrCat("of key ", Values(op.operands), " for ", hlo::OpcodeName(op.opcode));
      case OpKind::kReduced:
        return absl::StrCat("result ", op.offset.constant, " of reduce ", op.reduce);
    }
    return "?";
  }

  void AppendBlock(const Block& block, int indent) {
    const std::string margin(indent, ' ');
    for (const Block::Statement& statement : block.statements) {
      switch (statement.kind) {
        case Block::Kind::kOp: {
          const Op& op = kernel_.ops[statement.index];
          if (op.kind == OpKind::kReduced) break;  // named by its reduce
          absl::StrAppend(&text_, margin, "v", statement.index, ": ", hlo::PrimitiveTypeName(op.type), " = ",
                          Describe(op), "\n");
          break;
        }
        case Block::Kind::kReduce: {
          const Reduce& reduce = kernel_.reduces[statement.index];
          absl::StrAppend(&text_, margin, reduce.results.empty() ? "stage" : "reduce");
          for (int loop : reduce.loops) absl::StrAppend(&text_, " i", loop, " in ", kernel_.loops[loop].extent);
          if (reduce.results.empty()) {
            absl::StrAppend(&text_, "\n");
            AppendBlock(*reduce.block, indent + 2);
            break;
          }
          absl::StrAppend(
              &text_, " -> ", Values(reduce.results), " = ",
              reduce.combiner != nullptr ? std::string(reduce.combiner->name()) : Opcodes(reduce.combine_opcodes),
              " of ", Values(reduce.elements), " from ", Values(reduce.inits),
              reduce.predicate == kNoValue ? "" : absl::StrCat(" where v", reduce.predicate), "\n");
          AppendBlock(*reduce.block, indent + 2);
          break;
        }
        case Block::Kind::kStore: {
          const Store& store = kernel_.stores[statement.index];
          absl::StrAppend(&text_, margin, "store p", store.parameter, "[", kernel_.terms.ToString(store.offset),
                          "] = v", store.value, Predicate(store.predicate), "\n");
          break;
        }
      }
    }
  }

  const Kernel& kernel_;
  std::string text_;
};

// Applies `f` to every index expression of the kernel, in order of definition.
template <typename F>
void ForEachExpr(Kernel* kernel, F f) {
  for (Op& op : kernel->ops) {
    if (op.kind == OpKind::kLoad || op.kind == OpKind::kIndex) f(&op.offset);
    for (Condition& condition : op.conditions) f(&condition.expr);
  }
  for (Store& store : kernel->stores) f(&store.offset);
}

bool TryCollapse(Kernel* kernel, int outer, int inner) {
  const int64_t inner_extent = kernel->loops[inner].extent;
  bool fits = true;
  ForEachExpr(kernel,
              [&](IndexExpr* expr) { fits = fits && kernel->terms.CanCollapse(*expr, outer, inner, inner_extent); });
  if (!fits) return false;
  const int64_t extent = kernel->loops[outer].extent * inner_extent;
  std::vector<uint64_t> value_loops;
  for (Op& op : kernel->ops) {
    ReplaceLoop(outer, inner, &op.loops);
    value_loops.push_back(op.loops);
  }
  for (Reduce& reduce : kernel->reduces) ReplaceLoop(outer, inner, &reduce.outer_loops);
  IndexTerms terms;
  ForEachExpr(kernel, [&](IndexExpr* expr) {
    *expr = kernel->terms.CollapseInto(&terms, *expr, outer, inner, extent, value_loops);
  });
  kernel->terms = std::move(terms);
  kernel->loops[outer].extent = 1;
  kernel->loops[inner].extent = extent;
  return true;
}

void CollapseAdjacent(Kernel* kernel, std::vector<int>* loops) {
  for (size_t i = loops->size(); i-- > 1;) {
    if (kernel->loops[(*loops)[i - 1]].kind != kernel->loops[(*loops)[i]].kind) continue;
    if (TryCollapse(kernel, (*loops)[i - 1], (*loops)[i])) loops->erase(loops->begin() + (i - 1));
  }
}

}  // namespace

uint64_t SetOf(const std::vector<int>& loops) {
  uint64_t set = 0;
  for (int loop : loops) set |= uint64_t{1} << loop;
  return set;
}

void ReplaceLoop(int from, int to, uint64_t* set) {
  if ((*set >> from & 1) != 0) *set = (*set & ~(uint64_t{1} << from)) | uint64_t{1} << to;
}

void ForEachOperand(const Kernel& kernel, const Block::Statement& statement,
                    const std::function<void(ValueId)>& visit) {
  const auto visit_all = [&](const std::vector<ValueId>& ids, ValueId predicate) {
    for (ValueId id : ids) visit(id);
    if (predicate != kNoValue) visit(predicate);
  };
  if (statement.kind == Block::Kind::kOp) {
    const Op& op = kernel.ops[statement.index];
    if (op.kind == OpKind::kReduced) visit(statement.index);  // it names its reduce's result
    visit_all(op.operands, op.predicate);
    kernel.terms.ForEachSymbol(op.offset, visit);
    for (const Condition& condition : op.conditions) kernel.terms.ForEachSymbol(condition.expr, visit);
  } else if (statement.kind == Block::Kind::kStore) {
    const Store& store = kernel.stores[statement.index];
    visit_all({store.value}, store.predicate);
    kernel.terms.ForEachSymbol(store.offset, visit);
  } else {
    const Reduce& reduce = kernel.reduces[statement.index];
    visit_all(reduce.inits, reduce.predicate);
    visit_all(reduce.elements, reduce.inside);
  }
}

hlo::Literal CombinerIdentity(hlo::Opcode opcode, hlo::PrimitiveType type) {
  // 0 + -0 is not -0.
  if (opcode == hlo::Opcode::kAdd && hlo::IsFloating(type)) return hlo::LiteralOf(hlo::Shape::Scalar(type), -0.0);
  return *analysis::IdentityOf(opcode, type);
}

void RemoveUnread(Kernel* kernel) {
  absl::flat_hash_set<ValueId> read;
  std::vector<ValueId> work;
  const auto mark = [&](ValueId id) {
    if (read.insert(id).second) work.push_back(id);
  };
  for (size_t i = 0; i < kernel->stores.size(); ++i) {
    ForEachOperand(*kernel, {Block::Kind::kStore, static_cast<int>(i)}, mark);
  }
  for (size_t i = 0; i < kernel->reduces.size(); ++i) {
    ForEachOperand(*kernel, {Block::Kind::kReduce, static_cast<int>(i)}, mark);
  }
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    ForEachOperand(*kernel, {Block::Kind::kOp, id}, mark);
  }
  const auto clean = [&](Block& block) {
    std::erase_if(block.statements, [&](const Block::Statement& s) {
      return s.kind == Block::Kind::kOp && kernel->ops[s.index].kind != OpKind::kReduced && !read.contains(s.index);
    });
  };
  for (Nest& nest : kernel->nests) clean(nest.body);
  for (Reduce& reduce : kernel->reduces) clean(*reduce.block);
}

std::string ToString(const Kernel& kernel) { return Printer(kernel).Print(); }

void CollapseLoops(Kernel* kernel) {
  for (Nest& nest : kernel->nests) CollapseAdjacent(kernel, &nest.loops);
  for (Reduce& reduce : kernel->reduces) CollapseAdjacent(kernel, &reduce.loops);
  ForEachExpr(kernel, [&](IndexExpr* expr) { *expr = kernel->terms.WithLoopsApart(*expr); });
}

}  // namespace kiln::kernel
