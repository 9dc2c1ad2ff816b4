// Attributes of the sharding dialect, as the structs that the bytecode reader makes of them (sdy_entries.cc).
#include "src/frontend/mlir/text_parser.h"

namespace kiln::mlir {

// "x" or "x":(2)4
AttributeRef TextParser::ReadAxisRef() {
  StructAttribute axis{"sdy.axis_ref", {}};
  axis.fields.push_back({"name", Text(String())});
  if (Next(":")) {
    StructAttribute info{"sdy.sub_axis_info", {}};
    Expect("(");
    info.fields.push_back({"pre_size", context_.MakeInteger(Integer("a size"))});
    Expect(")");
    info.fields.push_back({"size", context_.MakeInteger(Integer("a size"))});
    axis.fields.push_back({"sub_axis_info", context_.MakeAttribute(std::move(info))});
  }
  return context_.MakeAttribute(std::move(axis));
}

AttributeRef TextParser::SdyAxes() {
  ArrayAttribute axes;
  Expect("{");
  List("}", [&] { axes.elements.push_back(ReadAxisRef()); });
  return context_.MakeAttribute(std::move(axes));
}

// After '<': @mesh, [{"x", ?}, {}p1], replicated={"y"}, unreduced={"z"}
AttributeRef TextParser::ReadSharding() {
  StructAttribute sharding{"sdy.sharding", {}};
  if (Peek() == '@') {
    sharding.fields.push_back({"mesh_or_ref", context_.MakeAttribute(Symbol())});
  } else {
    Expect("mesh");
    Expect("<");
    sharding.fields.push_back({"mesh_or_ref", ReadSdyAttribute("sdy.mesh")});
  }
  Expect(",");
  Expect("[");
  ArrayAttribute dimensions;
  List("]", [&] {
    StructAttribute dimension{"sdy.dimension_sharding", {}};
    ArrayAttribute axes;
    bool closed = true;
    Expect("{");
    List("}", [&] {
      if (Next("?")) {
        closed = false;
      } else {
        axes.elements.push_back(ReadAxisRef());
      }
    });
    dimension.fields.push_back({"axes", context_.MakeAttribute(std::move(axes))});
    dimension.fields.push_back({"is_closed", context_.MakeAttribute(BoolAttribute{closed})});
    if (Next("p")) dimension.fields.push_back({"priority", context_.MakeInteger(Integer("a priority"))});
    dimensions.elements.push_back(context_.MakeAttribute(std::move(dimension)));
  });
  sharding.fields.push_back({"dim_shardings", context_.MakeAttribute(std::move(dimensions))});
  AttributeRef replicated = context_.MakeAttribute(ArrayAttribute{});
  AttributeRef unreduced = replicated;
  while (ok() && Next(",")) {
    AttributeRef& axes = Next("replicated") ? replicated : unreduced;
    if (&axes == &unreduced) Expect("unreduced");
    Expect("=");
    axes = SdyAxes();
  }
  sharding.fields.push_back({"replicated_axes", replicated});
  sharding.fields.push_back({"unreduced_axes", unreduced});
  Expect(">");
  return context_.MakeAttribute(std::move(sharding));
}

AttributeRef TextParser::SdyShardings() {
  StructAttribute all{"sdy.sharding_per_value", {}};
  ArrayAttribute shardings;
  Expect("[");
  List("]", [&] {
    Expect("<");
    shardings.elements.push_back(ReadSharding());
  });
  all.fields.push_back({"shardings", context_.MakeAttribute(std::move(shardings))});
  return context_.MakeAttribute(std::move(all));
}

AttributeRef TextParser::ReadSdyAttribute(absl::string_view name) {
  if (name == "sdy.sharding") return ReadSharding();
  if (name == "sdy.sharding_per_value") {
    const AttributeRef shardings = SdyShardings();
    Expect(">");
    return shardings;
  }
  if (name == "sdy.manual_axes") {
    StructAttribute axes{name, {}};
    ArrayAttribute names;
    const bool braces = Next("{");
    List(braces ? "}" : ">", [&] { names.elements.push_back(Text(String())); });
    if (braces) Expect(">");
    axes.fields.push_back({"value", context_.MakeAttribute(std::move(names))});
    return context_.MakeAttribute(std::move(axes));
  }
  if (name == "sdy.mesh") {
    StructAttribute mesh{name, {}};
    ArrayAttribute axes;
    AttributeRef ids = context_.MakeIntegers({});
    Expect("[");
    List("]", [&] {
      StructAttribute axis{"sdy.mesh_axis", {}};
      axis.fields.push_back({"name", Text(String())});
      Expect("=");
      axis.fields.push_back({"size", context_.MakeInteger(Integer("the size of an axis"))});
      axes.elements.push_back(context_.MakeAttribute(std::move(axis)));
    });
    if (Next(",")) {
      Expect("device_ids");
      Expect("=");
      ids = Integers();
    }
    Expect(">");
    mesh.fields.push_back({"axes", context_.MakeAttribute(std::move(axes))});
    mesh.fields.push_back({"device_ids", ids});
    return context_.MakeAttribute(std::move(mesh));
  }
  const absl::string_view body = Balanced();
  return context_.MakeAttribute(OpaqueAttribute{context_.Keep(absl::StrCat("#", name, "<", body, ">"))});
}

}  // namespace kiln::mlir
