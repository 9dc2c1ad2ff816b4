#include "src/analysis/memory_plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace kiln::analysis {

using hlo::Instruction;

namespace {

constexpr int64_t kBarWidth = 32;
// Buffers that are listed one by one, the largest of them.
constexpr size_t kListedBuffers = 200;

std::string StepName(const BufferAssignment::Step& step) {
  if (step.instruction == nullptr) return absl::StrCat("end of ", step.computation->name());
  return absl::StrCat(step.ends ? "end of " : "", step.instruction->name());
}

std::string Place(const PlannedBuffer& buffer) {
  switch (buffer.storage) {
    case Storage::kArgument:
      return absl::StrCat("argument ", buffer.number);
    case Storage::kResult:
      return absl::StrCat("result ", buffer.number, buffer.borrowed ? absl::StrCat(" +", buffer.offset) : "");
    case Storage::kConstant:
      return absl::StrCat("constant ", buffer.number);
    case Storage::kArena:
      return absl::StrCat("arena +", buffer.offset);
    case Storage::kWorkspace:
      return "workspace";
    case Storage::kStack:
      return buffer.framed ? absl::StrCat("stack +", buffer.offset) : "stack";
  }
  return "";
}

int64_t CopiedBytes(const BufferCopy& copy, const BufferAssignment& assignment) {
  const int64_t bytes = assignment.buffer(copy.to).bytes;
  if (!copy.but.has_value()) return bytes;
  int64_t elements = 1, left_out = 1;
  for (int64_t size : copy.dimensions) elements *= size;
  for (int64_t size : copy.but->sizes) left_out *= size;
  return bytes / elements * (elements - left_out);
}

std::string Contents(const PlannedBuffer& buffer) {
  if (buffer.values.empty()) return "set aside for a copy";
  std::string text;
  for (size_t i = 0; i < buffer.values.size() && i < 4; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", then ", buffer.scratch ? "scratch of " : "", buffer.values[i].name,
                    buffer.values[i].shape.empty() ? "" : " ", buffer.values[i].shape);
  }
  if (buffer.values.size() > 4) absl::StrAppend(&text, ", then ", buffer.values.size() - 4, " more");
  return text;
}

// The steps of the whole program squeezed into a bar.
std::string Bar(const PlannedBuffer& buffer, int64_t steps) {
  const int64_t width = std::min(kBarWidth, std::max<int64_t>(steps, 1));
  std::string bar(static_cast<size_t>(width), '.');
  const auto column = [&](int64_t step) {
    return std::clamp<int64_t>(step * width / std::max<int64_t>(steps, 1), 0, width - 1);
  };
  if (buffer.last < buffer.first) return bar;
  for (int64_t i = column(buffer.first); i <= column(buffer.last); ++i) bar[static_cast<size_t>(i)] = '#';
  return bar;
}

std::string Row(const PlannedBuffer& buffer, int64_t steps) {
  return absl::StrFormat("  %-18s %12d  %s  %s\n", Place(buffer), buffer.bytes, Bar(buffer, steps), Contents(buffer));
}

}  // namespace

MemoryPlan MakeMemoryPlan(const hlo::Module& module, const BufferAssignment& assignment) {
  MemoryPlan plan;
  plan.module = module.name();
  plan.arena_bytes = assignment.arena_bytes();
  plan.workspace_bytes = assignment.workspace_bytes();
  for (const Buffer& buffer : assignment.buffers()) {
    plan.buffers.emplace_back();
    static_cast<Buffer&>(plan.buffers.back()) = buffer;
    if (buffer.storage == Storage::kArgument) plan.argument_bytes += buffer.bytes;
    if (buffer.storage == Storage::kResult && !buffer.borrowed) plan.result_bytes += buffer.bytes;
    if (buffer.storage == Storage::kConstant) plan.constant_bytes += buffer.bytes;
  }
  const auto copy = [&](const std::vector<BufferCopy>& copies, int64_t step) {
    for (const BufferCopy& c : copies) plan.copies.push_back({step, c.from, c.to, CopiedBytes(c, assignment)});
  };
  for (const BufferAssignment::Step& step : assignment.steps()) {
    const int64_t position = static_cast<int64_t>(plan.steps.size());
    plan.steps.push_back(step.computation == nullptr ? "start" : StepName(step));
    if (step.computation != nullptr && step.instruction == nullptr) {
      copy(assignment.CopiesAtEnd(step.computation), position);
    }
    if (step.instruction == nullptr || step.ends) continue;
    copy(assignment.CopiesBefore(step.instruction), position);
    for (const BufferRotation& rotation : assignment.RotationsOf(step.instruction)) {
      plan.rotations.push_back({rotation, position});
    }
    const std::vector<const hlo::Shape*> leaves = step.instruction->shape().Leaves();
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (!assignment.Makes(step.instruction, static_cast<int64_t>(leaf))) continue;
      PlannedBuffer& buffer = plan.buffers[assignment.BufferOf(step.instruction, static_cast<int64_t>(leaf))];
      const std::string index = leaves.size() > 1 ? absl::StrCat("{", leaf, "}") : "";
      buffer.values.push_back({absl::StrCat(step.instruction->name(), index), leaves[leaf]->ToString(false), position});
    }
    if (const int scratch = assignment.ScratchOf(step.instruction); scratch >= 0) {
      plan.buffers[scratch].scratch = true;
      plan.buffers[scratch].values.push_back({step.instruction->name(), "", position});
    }
  }
  for (const hlo::InputOutputAlias& alias : module.aliases()) {
    const hlo::Shape* shape = &module.entry()->root()->shape();
    for (int64_t index : alias.output_index) shape = &shape->tuple_shapes(index);
    plan.alias_bytes += shape->byte_count();
  }
  const std::vector<int64_t> live = plan.LiveBytes();
  const auto peak = std::max_element(live.begin(), live.end());
  if (peak != live.end()) {
    plan.peak_live_bytes = *peak;
    plan.peak_step = peak - live.begin();
  }
  return plan;
}

std::vector<int64_t> MemoryPlan::LiveBytes() const {
  std::vector<int64_t> live(steps.size() + 1, 0);
  for (const PlannedBuffer& buffer : buffers) {
    if (buffer.storage != Storage::kArena || buffer.last < buffer.first) continue;
    live[static_cast<size_t>(std::clamp<int64_t>(buffer.first, 0, static_cast<int64_t>(steps.size())))] += buffer.bytes;
    live[static_cast<size_t>(std::clamp<int64_t>(buffer.last + 1, 0, static_cast<int64_t>(steps.size())))] -=
        buffer.bytes;
  }
  for (size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  live.pop_back();
  return live;
}

std::string MemoryPlan::ToString() const {
  const int64_t count = static_cast<int64_t>(steps.size());
  std::string text = absl::StrFormat(
      "memory of %s: %d bytes\n  arguments %d, results %d (%d of them in the memory of arguments), arena %d; constants "
      "%d; workspace %d\n",
      module, total_bytes(), argument_bytes, result_bytes, alias_bytes, arena_bytes, constant_bytes, workspace_bytes);
  if (arena_bytes > 0) {
    absl::StrAppendFormat(&text, "\narena: %d bytes, of which at most %d are live: at step %d of %d, %s\n", arena_bytes,
                          peak_live_bytes, peak_step, count - 1, steps[peak_step]);
  }
  // By size where there are too many, otherwise as they begin.
  std::vector<const PlannedBuffer*> order;
  for (const PlannedBuffer& buffer : buffers) order.push_back(&buffer);
  const auto larger = [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->bytes > b->bytes; };
  const auto list = [&](absl::string_view title, auto wanted, auto before) {
    std::vector<const PlannedBuffer*> rows;
    std::copy_if(order.begin(), order.end(), std::back_inserter(rows), wanted);
    if (rows.empty()) return;
    const size_t left_out = rows.size() > kListedBuffers ? rows.size() - kListedBuffers : 0;
    if (left_out > 0) {
      std::stable_sort(rows.begin(), rows.end(), larger);
      rows.resize(kListedBuffers);
    }
    std::stable_sort(rows.begin(), rows.end(), before);
    absl::StrAppend(&text, "\n", title, "\n");
    for (const PlannedBuffer* buffer : rows) text += Row(*buffer, count);
    if (left_out > 0) absl::StrAppend(&text, "  and ", left_out, " smaller ones\n");
  };
  const auto earlier = [](const PlannedBuffer* a, const PlannedBuffer* b) {
    return std::pair(a->first, a->offset) < std::pair(b->first, b->offset);
  };
  const auto is_at_peak = [&](const PlannedBuffer* b) {
    return b->storage == Storage::kArena && b->bytes > 0 && b->first <= peak_step && peak_step <= b->last;
  };
  list("at the peak:", is_at_peak, larger);
  list(
      "place                     bytes  life                              holds",
      [](const PlannedBuffer* b) { return b->storage == Storage::kArena; }, earlier);
  list(
      "in results that are not yet written:", [](const PlannedBuffer* b) { return b->borrowed; }, earlier);
  list(
      "outside the arena:", [](const PlannedBuffer* b) { return b->storage != Storage::kArena && !b->borrowed; },
      earlier);
  if (!copies.empty()) text += "\ncopies\n";
  for (size_t i = 0; i < copies.size() && i < kListedBuffers; ++i) {
    absl::StrAppendFormat(&text, "  %12d bytes before %s: %s to %s\n", copies[i].bytes, steps[copies[i].step],
                          Place(buffers[copies[i].from]), Place(buffers[copies[i].to]));
  }
  if (!rotations.empty())
    text += "\nmemory that is passed on at the end of each round, to the next and from the last to the first\n";
  for (size_t i = 0; i < rotations.size() && i < kListedBuffers; ++i) {
    const auto place = [&](std::string* out, int buffer) { out->append(Place(buffers[buffer])); };
    absl::StrAppendFormat(&text, "  %12d bytes of %s: %s; %s %s\n", buffers[rotations[i].spare].bytes,
                          steps[rotations[i].step], absl::StrJoin(rotations[i].state, ", ", place),
                          rotations[i].spare_turns ? "by way of" : "put back by way of",
                          Place(buffers[rotations[i].spare]));
  }
  return text;
}

}  // namespace kiln::analysis
