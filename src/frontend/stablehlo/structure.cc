// Tuples, tokens, barriers, host transfer, and ops that mean nothing on one device.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// One value as it is, any other number as a tuple.
Instruction* Packed(OpImport& op, std::vector<Instruction*> values) {
  if (values.size() == 1) return values[0];
  hlo::Shape shape = TupleShape(values);
  return op.Add(Opcode::kTuple, std::move(shape), std::move(values));
}

absl::Status ImportTuple(OpImport& op) {
  return op.Define(op.Add(Opcode::kTuple, TupleShape(op.operands()), op.operands()));
}

absl::Status ImportGetTupleElement(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t index, op.Integer("index"));
  const hlo::Shape& tuple = op.operand_shape(0);
  if (!tuple.IsTuple() || index < 0 || index >= static_cast<int64_t>(tuple.tuple_shapes().size())) {
    return op.Invalid("index ", index, " is outside ", tuple.ToString(false));
  }
  return op.Define(op.AddTupleElement(op.operand(0), index));
}

absl::Status ImportAfterAll(OpImport& op) {
  return op.Define(op.Add(Opcode::kAfterAll, hlo::Shape::Token(), op.operands()));
}

absl::Status ImportBarrier(OpImport& op) {
  if (op.operand_count() == 0) return op.Define(std::vector<Instruction*>());
  Instruction* packed = Packed(op, op.operands());
  return op.DefineTuple(op.Add(Opcode::kOptBarrier, packed->shape(), {packed}));
}

// Results are the operands.
absl::Status ImportIdentity(OpImport& op) { return op.Define(op.operands()); }

absl::Status ImportNothing(OpImport&) { return absl::OkStatus(); }

// On one device the shapes inside are those outside: the body stands in place of the op. Gives what it returns.
absl::StatusOr<std::vector<Instruction*>> InlineBody(OpImport& op) {
  const mlir::Region& region = op.region(0);
  if (region.blocks.size() != 1 || region.blocks[0]->arguments.size() != op.operand_count()) {
    return op.Invalid("the body must be one block with ", op.operand_count(), " arguments");
  }
  for (size_t i = 0; i < op.operand_count(); ++i) {
    const mlir::Value* argument = region.blocks[0]->arguments[i];
    absl::StatusOr<hlo::Shape> shape = ToOpenShape(*argument->type);
    if (!shape.ok()) return Annotate(shape.status(), op.Describe());
    if (!Fits(*shape, op.operand_shape(i))) {
      return op.Unsupported("argument ", i, " of the body is ", shape->ToString(false), " per device and ",
                            op.operand_shape(i).ToString(false), " outside; several devices are not supported");
    }
    op.body().Define(argument, op.operand(i));
  }
  return op.body().ImportBlock(region, op.operation());
}

absl::Status ImportManualComputation(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const std::vector<Instruction*> results, InlineBody(op));
  return op.Define(results);
}

// A collective takes no time among one: what is done later is what the start gives.
absl::Status ImportAsyncStart(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(std::vector<Instruction*> results, InlineBody(op));
  op.body().Define(op.operation().results[0], Packed(op, std::move(results)));
  return absl::OkStatus();
}

absl::Status ImportAsyncDone(OpImport& op) {
  const mlir::Operation* start = op.operation().operands[0]->operation;
  if (start == nullptr || start->name != "stablehlo.async_start") {
    return op.Invalid("takes no result of stablehlo.async_start");
  }
  return op.DefineTuple(op.operand(0));
}

absl::Status ImportInfeed(OpImport& op) {
  if (op.result_count() == 0) return op.Invalid("has no results, expected a token at least");
  hlo::FeedAttributes feed;
  KILN_ASSIGN_OR_RETURN(feed.config, op.String("infeed_config", ""));
  KILN_ASSIGN_OR_RETURN(std::vector<hlo::Shape> data, op.ResultShapeList(op.result_count() - 1));
  KILN_RETURN_IF_ERROR(ReadLayouts(op, "layout", absl::MakeSpan(data)).status());
  const hlo::Shape data_shape = hlo::Shape::Tuple(data);
  Instruction* infeed =
      op.Add(Opcode::kInfeed, hlo::Shape::Tuple({data_shape, hlo::Shape::Token()}), op.operands(), std::move(feed));
  std::vector<Instruction*> results;
  Instruction* values = op.AddTupleElement(infeed, 0);
  for (size_t i = 0; i < data.size(); ++i) results.push_back(op.AddTupleElement(values, static_cast<int64_t>(i)));
  results.push_back(op.AddTupleElement(infeed, 1));
  return op.Define(results);
}

absl::Status SplitToken(OpImport& op, Instruction*& data, Instruction*& token) {
  if (op.operand_count() == 0) return op.Invalid("has no token operand");
  std::vector<Instruction*> inputs = op.operands();
  token = inputs.back();
  inputs.pop_back();
  data = Packed(op, std::move(inputs));
  return absl::OkStatus();
}

absl::Status ImportOutfeed(OpImport& op) {
  hlo::FeedAttributes feed;
  KILN_ASSIGN_OR_RETURN(feed.config, op.String("outfeed_config", ""));
  Instruction* data = nullptr;
  Instruction* token = nullptr;
  KILN_RETURN_IF_ERROR(SplitToken(op, data, token));
  feed.outfeed_shape = data->shape();
  return op.Define(op.Add(Opcode::kOutfeed, hlo::Shape::Token(), {data, token}, std::move(feed)));
}

absl::StatusOr<hlo::CollectiveAttributes> ReadChannel(const OpImport& op) {
  hlo::CollectiveAttributes channel;
  KILN_ASSIGN_OR_RETURN(channel.channel_id, op.Integer("channel_id"));
  KILN_ASSIGN_OR_RETURN(channel.is_host_transfer, op.Bool("is_host_transfer", false));
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector pairs, op.Integers("source_target_pairs", std::vector<int64_t>()));
  if (pairs.size() % 2 != 0) return op.Invalid("attribute source_target_pairs has ", pairs.size(), " entries");
  for (size_t i = 0; i < pairs.size(); i += 2) channel.source_target_pairs.emplace_back(pairs[i], pairs[i + 1]);
  return channel;
}

hlo::Shape ChannelShape(const hlo::Shape& data) {
  return hlo::Shape::Tuple({data, hlo::Shape::Scalar(hlo::PrimitiveType::kU32), hlo::Shape::Token()});
}

absl::Status ImportSend(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const hlo::CollectiveAttributes channel, ReadChannel(op));
  Instruction* data = nullptr;
  Instruction* token = nullptr;
  KILN_RETURN_IF_ERROR(SplitToken(op, data, token));
  Instruction* send = op.Add(Opcode::kSend, ChannelShape(data->shape()), {data, token}, channel);
  return op.Define(op.Add(Opcode::kSendDone, hlo::Shape::Token(), {send}, channel));
}

absl::Status ImportRecv(OpImport& op) {
  if (op.result_count() == 0) return op.Invalid("has no results, expected a token at least");
  KILN_ASSIGN_OR_RETURN(const hlo::CollectiveAttributes channel, ReadChannel(op));
  KILN_ASSIGN_OR_RETURN(const std::vector<hlo::Shape> shapes, op.ResultShapeList(op.result_count() - 1));
  const hlo::Shape data = shapes.size() == 1 ? shapes[0] : hlo::Shape::Tuple(shapes);
  Instruction* recv = op.Add(Opcode::kRecv, ChannelShape(data), op.operands(), channel);
  Instruction* done = op.Add(Opcode::kRecvDone, hlo::Shape::Tuple({data, hlo::Shape::Token()}), {recv}, channel);
  Instruction* value = op.AddTupleElement(done, 0);
  std::vector<Instruction*> results;
  if (shapes.size() == 1) results.push_back(value);
  for (size_t i = 0; shapes.size() != 1 && i < shapes.size(); ++i) {
    results.push_back(op.AddTupleElement(value, static_cast<int64_t>(i)));
  }
  results.push_back(op.AddTupleElement(done, 1));
  return op.Define(results);
}

constexpr OpRow kStructureOps[] = {
    {"stablehlo.tuple", ImportTuple},
    {"stablehlo.get_tuple_element", ImportGetTupleElement, 1},
    {"stablehlo.create_token", ImportAfterAll, 0},
    {"stablehlo.after_all", ImportAfterAll},
    {"stablehlo.optimization_barrier", ImportBarrier, -1, -1},
    {"stablehlo.infeed", ImportInfeed, 1, -1},
    {"stablehlo.outfeed", ImportOutfeed},
    {"stablehlo.send", ImportSend},
    {"stablehlo.recv", ImportRecv, 1, -1},
    {"stablehlo.async_done", ImportAsyncDone, 1, -1},
    {"stablehlo.async_start", ImportAsyncStart, -1, 1, 1},
    {"builtin.unrealized_conversion_cast", ImportIdentity, -1, -1},
    {"sdy.sharding_constraint", ImportIdentity, 1},
    {"sdy.manual_computation", ImportManualComputation, -1, -1, 1},
    {"sdy.mesh", ImportNothing, 0, 0},
};

}  // namespace

absl::Span<const OpRow> StructureOps() { return kStructureOps; }

}  // namespace kiln::stablehlo
