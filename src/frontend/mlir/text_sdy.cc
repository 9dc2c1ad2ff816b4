// Attributes of the sharding dialect, as the structs that the bytecode reader makes of them (sdy_entries.cc).
#include "src/frontend/mlir/text_parser.h"

namespace kiln::mlir {

// "x" or "x":(2)4
AttributeRef TextParser::ReadAxisRef() {
  std::vector<NamedAttribute> fields = {{"name", Text(String())}};
  if (Next(":")) fields.push_back({"sub_axis_info", ReadSubAxis("sdy.sub_axis_info")});
  return context_.MakeStruct("sdy.axis_ref", std::move(fields));
}

AttributeRef TextParser::ReadSubAxis(absl::string_view name) {
  Expect("(");
  const AttributeRef before = context_.MakeInteger(Integer("a size"));
  Expect(")");
  return context_.MakeStruct(name, {{"pre_size", before}, {"size", context_.MakeInteger(Integer("a size"))}});
}

AttributeRef TextParser::SdyAxes() {
  std::vector<AttributeRef> axes;
  Expect("{");
  List("}", [&] { axes.push_back(ReadAxisRef()); });
  return context_.MakeArray(std::move(axes));
}

// After '<': @mesh, [{"x", ?}, {}p1], replicated={"y"}, unreduced={"z"}
AttributeRef TextParser::ReadSharding() {
  AttributeRef mesh = nullptr;
  if (Peek() == '@') {
    mesh = context_.MakeAttribute(Symbol());
  } else {
    Expect("mesh");
    Expect("<");
    mesh = ReadSdyAttribute("sdy.mesh");
  }
  Expect(",");
  Expect("[");
  std::vector<AttributeRef> dimensions;
  List("]", [&] {
    std::vector<AttributeRef> axes;
    bool closed = true;
    Expect("{");
    List("}", [&] {
      if (Next("?")) {
        closed = false;
      } else {
        axes.push_back(ReadAxisRef());
      }
    });
    std::vector<NamedAttribute> fields = {{"axes", context_.MakeArray(std::move(axes))},
                                          {"is_closed", context_.MakeAttribute(BoolAttribute{closed})}};
    if (Next("p")) fields.push_back({"priority", context_.MakeInteger(Integer("a priority"))});
    dimensions.push_back(context_.MakeStruct("sdy.dimension_sharding", std::move(fields)));
  });
  AttributeRef replicated = context_.MakeArray({});
  AttributeRef unreduced = replicated;
  while (ok() && Next(",")) {
    AttributeRef& axes = Next("replicated") ? replicated : unreduced;
    if (&axes == &unreduced) Expect("unreduced");
    Expect("=");
    axes = SdyAxes();
  }
  Expect(">");
  return context_.MakeStruct("sdy.sharding", {{"mesh_or_ref", mesh},
                                              {"dim_shardings", context_.MakeArray(std::move(dimensions))},
                                              {"replicated_axes", replicated},
                                              {"unreduced_axes", unreduced}});
}

AttributeRef TextParser::SdyShardings() {
  std::vector<AttributeRef> shardings;
  Expect("[");
  List("]", [&] {
    Expect("<");
    shardings.push_back(ReadSharding());
  });
  return context_.MakeStruct("sdy.sharding_per_value", {{"shardings", context_.MakeArray(std::move(shardings))}});
}

AttributeRef TextParser::SdyManualAxes(absl::string_view close) {
  std::vector<AttributeRef> names;
  List(close, [&] { names.push_back(Text(String())); });
  return context_.MakeStruct("sdy.manual_axes", {{"value", context_.MakeArray(std::move(names))}});
}

AttributeRef TextParser::ReadSdyAttribute(absl::string_view name) {
  if (name == "sdy.sharding") return ReadSharding();
  if (name == "sdy.sharding_per_value") {
    const AttributeRef shardings = SdyShardings();
    Expect(">");
    return shardings;
  }
  if (name == "sdy.manual_axes") {
    if (!Next("{")) return SdyManualAxes(">");
    const AttributeRef axes = SdyManualAxes("}");
    Expect(">");
    return axes;
  }
  if (name == "sdy.mesh") {
    std::vector<AttributeRef> axes;
    AttributeRef ids = context_.MakeIntegers({});
    Expect("[");
    List("]", [&] {
      const AttributeRef axis = Text(String());
      Expect("=");
      const AttributeRef size = context_.MakeInteger(Integer("the size of an axis"));
      axes.push_back(context_.MakeStruct("sdy.mesh_axis", {{"name", axis}, {"size", size}}));
    });
    if (Next(",")) {
      Expect("device_ids");
      Expect("=");
      ids = Integers();
    }
    Expect(">");
    return context_.MakeStruct(name, {{"axes", context_.MakeArray(std::move(axes))}, {"device_ids", ids}});
  }
  const absl::string_view body = Balanced();
  return context_.MakeAttribute(OpaqueAttribute{context_.Keep(absl::StrCat("#", name, "<", body, ">"))});
}

}  // namespace kiln::mlir
