#include <chrono>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "src/base/status.h"
#include "src/hlo/verifier.h"
#include "src/passes/pipeline.h"

namespace kiln::passes {
namespace {

// These leave the instructions in order.
constexpr absl::string_view kSchedulingPasses[] = {"schedule", "reader-recomputation", "rematerialization"};

int64_t CountInstructions(const Module& module) {
  int64_t count = 0;
  for (const Computation* computation : module.computations()) count += computation->instruction_count();
  return count;
}

// Runs passes and groups of them, keeping the books.
class Runner {
 public:
  Runner(Module* module, const PipelineOptions& options, std::vector<PassTiming>* timings)
      : module_(module), options_(options), timings_(timings) {
    disabled_.insert(options.disabled_passes.begin(), options.disabled_passes.end());
  }

  absl::StatusOr<bool> RunList(const PassList& passes, absl::string_view group = "") {
    bool changed = false;
    for (const Pass& pass : passes) {
      KILN_ASSIGN_OR_RETURN(bool one, RunOne(pass, group));
      changed |= one;
    }
    return changed;
  }

 private:
  absl::StatusOr<bool> RunOne(const Pass& pass, absl::string_view group_name) {
    if (disabled_.contains(pass.name)) return false;
    if (!pass.group.empty()) return RunGroup(pass);
    // What left this module alone would do so again.
    auto left_alone = left_alone_.find(pass.name);
    if (left_alone != left_alone_.end() && left_alone->second == version_) return false;
    if (options_.before_pass) options_.before_pass(group_name, pass, *module_);
    const int64_t before = timings_ == nullptr ? 0 : CountInstructions(*module_);
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<bool> result = pass.run(module_);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!result.ok()) return Annotate(result.status(), absl::StrCat("pass ", pass.name));
    if (timings_ != nullptr) {
      PassTiming& timing = TimingOf(pass.name);
      timing.seconds += elapsed.count();
      timing.runs += 1;
      timing.runs_with_changes += *result ? 1 : 0;
      timing.instruction_delta += CountInstructions(*module_) - before;
    }
    if (*result) {
      ++version_;
    } else {
      left_alone_[pass.name] = version_;
    }
    // Rewriting gives up an order that the module came with; the last pass of a pipeline makes a new one.
    const bool schedules = absl::c_linear_search(kSchedulingPasses, pass.name);
    if (*result && !schedules) module_->set_is_scheduled(false);
    if (*result && options_.verify_each_pass) {
      absl::Status verified = hlo::Verify(*module_);
      if (!verified.ok()) {
        return Internal("pass ", pass.name, " broke the module: ", verified.message());
      }
    }
    if (options_.after_pass) options_.after_pass(pass, *module_, *result);
    return *result;
  }

  absl::StatusOr<bool> RunGroup(const Pass& group) {
    bool changed = false;
    for (int round = 0; round < group.max_rounds; ++round) {
      KILN_ASSIGN_OR_RETURN(bool one, RunList(group.group, group.name));
      if (!one) break;
      changed = true;
    }
    return changed;
  }

  PassTiming& TimingOf(absl::string_view name) {
    auto [it, inserted] = index_.try_emplace(name, timings_->size());
    if (inserted) timings_->push_back({std::string(name)});
    return (*timings_)[it->second];
  }

  Module* module_;
  const PipelineOptions& options_;
  std::vector<PassTiming>* timings_;
  absl::flat_hash_set<std::string> disabled_;
  absl::flat_hash_map<absl::string_view, size_t> index_;
  int64_t version_ = 0;                                         // of the module: counts changes
  absl::flat_hash_map<absl::string_view, int64_t> left_alone_;  // pass -> the version that it did not change
};

void CollectNames(const PassList& passes, absl::flat_hash_set<absl::string_view>* names) {
  for (const Pass& pass : passes) {
    names->insert(pass.name);
    CollectNames(pass.group, names);
  }
}

}  // namespace

absl::Status RunPipeline(Module* module, const PassList& passes, const PipelineOptions& options,
                         std::vector<PassTiming>* timings) {
  absl::flat_hash_set<absl::string_view> known;
  CollectNames(passes, &known);
  for (const std::string& name : options.disabled_passes) {
    if (!known.contains(name) && FindPass(name) == nullptr)
      return InvalidArgument("there is no pass named '", name, "' to disable");
  }
  KILN_RETURN_IF_ERROR(Runner(module, options, timings).RunList(passes).status());
  // What reads the module next relies on it, and a fault of a pass must not end the host.
  const absl::Status verified = hlo::Verify(*module);
  if (!verified.ok()) return Internal("the passes broke the module (--verify-each names one): ", verified.message());
  return absl::OkStatus();
}

std::string FormatTimings(const std::vector<PassTiming>& timings) {
  std::vector<PassTiming> sorted = timings;
  absl::c_sort(sorted, [](const PassTiming& a, const PassTiming& b) { return a.seconds > b.seconds; });
  PassTiming total;
  for (const PassTiming& timing : sorted) {
    total.seconds += timing.seconds;
    total.runs += timing.runs;
    total.runs_with_changes += timing.runs_with_changes;
    total.instruction_delta += timing.instruction_delta;
  }
  std::string text =
      absl::StrFormat("%10s %6s %6s %8s %13s  %s\n", "ms", "share", "runs", "changing", "instructions", "pass");
  auto row = [&](const PassTiming& timing, absl::string_view name) {
    absl::StrAppendFormat(&text, "%10.3f %5.1f%% %6d %8d %+13d  %s\n", timing.seconds * 1e3,
                          total.seconds > 0 ? timing.seconds / total.seconds * 100 : 0.0, timing.runs,
                          timing.runs_with_changes, timing.instruction_delta, name);
  };
  for (const PassTiming& timing : sorted) row(timing, timing.name);
  row(total, "total");
  return text;
}

}  // namespace kiln::passes
