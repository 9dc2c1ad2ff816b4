#include "src/runtime/debug_flags.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <variant>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "src/base/cpu_tuning.h"
#include "src/base/isa_level.h"
#include "src/base/nearest_name.h"
#include "src/base/status.h"
#include "src/base/wire_reader.h"
#include "src/passes/pipeline.h"

namespace kiln::runtime {
namespace {

using Member = std::variant<bool DebugFlags::*, int64_t DebugFlags::*, std::string DebugFlags::*,
                            std::vector<std::string> DebugFlags::*>;

// Of a truth value that is checked for being one.
constexpr Member kNoEffect = static_cast<bool DebugFlags::*>(nullptr);

// `field` is the flag's number in XLA's DebugOptions; 0: what is sent there is XLA's default, not a wish.
struct Row {
  absl::string_view name;
  uint32_t field;
  Member member;
};

constexpr Row kRows[] = {
    {"xla_dump_to", 109, &DebugFlags::dump_to},
    {"xla_dump_hlo_module_re", 110, &DebugFlags::dump_module_re},
    {"xla_dump_hlo_pass_re", 111, &DebugFlags::dump_pass_re},
    {"xla_dump_hlo_as_text", 112, &DebugFlags::dump_text},
    {"xla_dump_hlo_as_long_text", 0, &DebugFlags::dump_long_text},
    {"xla_dump_hlo_as_proto", 113, &DebugFlags::dump_proto},
    {"xla_dump_hlo_as_dot", 114, &DebugFlags::dump_dot},
    {"xla_dump_hlo_as_html", 116, &DebugFlags::dump_html},
    {"xla_dump_large_constants", 290, &DebugFlags::dump_large_constants},
    {"xla_dump_disable_metadata", 153, &DebugFlags::dump_without_metadata},
    {"xla_dump_max_hlo_modules", 132, &DebugFlags::dump_max_modules},
    {"xla_disable_hlo_passes", 30, &DebugFlags::disabled_passes},
    {"xla_allow_excess_precision", 0, &DebugFlags::allow_excess_precision},
    {"xla_hlo_profile", 9, &DebugFlags::profile},
    {"xla_cpu_enable_fast_math", 0, &DebugFlags::fast_math},
    {"xla_backend_optimization_level", 31, &DebugFlags::optimization_level},
    {"xla_force_host_platform_device_count", 102, &DebugFlags::host_device_count},
    {"xla_embed_ir_in_executable", 0, kNoEffect},
    {"xla_cpu_max_isa", 0, &DebugFlags::max_isa},
    {"kiln_emulated_isa", 0, &DebugFlags::emulated_isa},
    {"kiln_tuning", 0, &DebugFlags::tuning},
    {"kiln_guarded_memory", 0, &DebugFlags::guarded_memory},
};

// False where `value` is none of the member's type.
bool SetMember(const Member& member, absl::string_view value, DebugFlags* flags) {
  if (const auto* text = std::get_if<std::string DebugFlags::*>(&member)) {
    flags->** text = std::string(value);
  } else if (const auto* list = std::get_if<std::vector<std::string> DebugFlags::*>(&member)) {
    flags->** list = absl::StrSplit(value, ',', absl::SkipWhitespace());
  } else if (const auto* number = std::get_if<int64_t DebugFlags::*>(&member)) {
    int64_t read = 0;
    if (!absl::SimpleAtoi(value, &read)) return false;
    flags->** number = read;
  } else {
    bool read = false;
    if (!absl::SimpleAtob(value, &read)) return false;
    if (member != kNoEffect) flags->*std::get<bool DebugFlags::*>(member) = read;
  }
  return true;
}

const Row* Find(absl::string_view name) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

// Words of a flags text; quotes keep spaces together.
std::vector<std::string> Words(absl::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (char c : text) {
    if (quote == 0 && absl::ascii_isspace(static_cast<unsigned char>(c))) {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote == 0 ? c : 0;
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// XLA's names of passes that are the same here.
constexpr std::pair<absl::string_view, absl::string_view> kPassAliases[] = {
    {"algsimp", "algebraic-simplifier"},
    {"cpu-instruction-fusion", "fusion"},
    {"instruction-fusion", "fusion"},
    {"dot-decomposer", "dot-canonicalization"},
    {"fold-transpose", "transpose-folding"},
    {"batchnorm-expander", "batch-norm-expander"},
    {"layout-assignment", "layout-normalization"},
};

}  // namespace

void DebugFlags::Complete() {
  if (dump_to == "sponge" || dump_to == "test_undeclared_outputs_dir") dump_to.clear();
  if (dump_to.empty() && Dumps()) dump_to = "-";
  if (!dump_to.empty() && !Dumps()) dump_text = true;
}

void WarnOnce(const std::string& text) {
  static absl::Mutex mutex(absl::kConstInit);
  static std::set<std::string>* const warned = new std::set<std::string>();
  absl::MutexLock lock(&mutex);
  if (warned->size() < 1000 && warned->insert(text).second) std::fprintf(stderr, "kiln: %s\n", text.c_str());
}

absl::StatusOr<bool> SetFlag(absl::string_view name, absl::string_view value, DebugFlags* flags) {
  const Row* row = Find(name);
  if (row == nullptr) return false;
  if (!SetMember(row->member, value, flags)) {
    const bool number = std::holds_alternative<int64_t DebugFlags::*>(row->member);
    return InvalidArgument("While setting option ", name, ", '", value.substr(0, 100), "' is not a valid ",
                           number ? "int64" : "bool", " value.");
  }
  return row->member != kNoEffect;
}

std::string DescribeUnknownFlag(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const Row& row : kRows) {
    if (row.name == name) return "has no effect on Kiln";
    names.push_back(row.name);
  }
  const absl::string_view nearest = NearestName(name, names);
  if (!nearest.empty()) return absl::StrCat("is no flag: did you mean --", nearest, "?");
  return "has no effect on Kiln";
}

void ReadFlags(absl::string_view text, absl::string_view source, DebugFlags* flags) {
  text = absl::StripAsciiWhitespace(text);
  std::string content;
  if (!text.empty() && text[0] != '-') {
    std::ifstream file{std::string(text)};
    if (!file) return WarnOnce(absl::StrCat(source, ": ", text, " is neither a flag nor a file that can be read"));
    content.assign(std::istreambuf_iterator<char>(file), {});
    text = content;
  }
  for (const std::string& word : Words(text)) {
    absl::string_view name = word;
    if (!absl::ConsumePrefix(&name, "--")) absl::ConsumePrefix(&name, "-");
    const size_t equals = name.find('=');
    const absl::string_view value = equals == name.npos ? "true" : name.substr(equals + 1);
    name = name.substr(0, equals);
    const absl::StatusOr<bool> set = SetFlag(name, value, flags);
    if (!set.ok()) {
      WarnOnce(absl::StrCat(source, ": ", set.status().message()));
    } else if (!*set) {
      WarnOnce(absl::StrCat(source, ": --", name, " ", DescribeUnknownFlag(name)));
    }
  }
}

absl::Status ReadAllFlags(absl::string_view debug_options, DebugFlags* flags) {
  static const std::string* const kiln_flags = new std::string(EnvironmentText("KILN_FLAGS"));
  static const DebugFlags* const xla_flags = [] {
    auto* read = new DebugFlags();
    ReadFlags(EnvironmentText("XLA_FLAGS"), "XLA_FLAGS", read);
    return read;
  }();
  *flags = *xla_flags;
  WireReader reader(debug_options);
  std::vector<std::string> disabled;
  while (reader.Next()) {
    for (const Row& row : kRows) {
      if (row.field != reader.field()) continue;
      if (const auto* text = std::get_if<std::string DebugFlags::*>(&row.member)) {
        flags->** text = reader.String();
      } else if (std::holds_alternative<std::vector<std::string> DebugFlags::*>(row.member)) {
        disabled.push_back(reader.String());
      } else if (const auto* number = std::get_if<int64_t DebugFlags::*>(&row.member)) {
        flags->** number = reader.Int64();
      } else {
        flags->*std::get<bool DebugFlags::*>(row.member) = reader.Bool();
      }
    }
  }
  if (!disabled.empty()) flags->disabled_passes = std::move(disabled);
  ReadFlags(*kiln_flags, "KILN_FLAGS", flags);
  return reader.status();
}

namespace {

const DebugFlags& EnvironmentFlags() {
  static const DebugFlags* const flags = [] {
    auto* read = new DebugFlags();
    (void)ReadAllFlags(/*debug_options=*/"", read);  // nothing to be malformed
    return read;
  }();
  return *flags;
}

void UseIsa(absl::string_view flag, const std::string& name, void (*use)(IsaLevel)) {
  if (name.empty()) return;
  const std::optional<IsaLevel> level = ParseIsaLevel(name);
  if (level.has_value()) return use(*level);
  WarnOnce(absl::StrCat(flag, ": there is no '", name.substr(0, 100), "'; ", IsaLevelNames()));
}

}  // namespace

void ApplyProcessFlags() {
  static absl::once_flag once;
  absl::call_once(once, [] {
    const DebugFlags& flags = EnvironmentFlags();
    UseIsa("--xla_cpu_max_isa", flags.max_isa, LimitIsa);
    UseIsa("--kiln_emulated_isa", flags.emulated_isa, EmulateIsa);
    if (flags.tuning.empty() || UseCpuTuning(flags.tuning)) return;
    const auto name = [](std::string* out, const CpuTuning& row) { out->append(row.name); };
    WarnOnce(absl::StrCat("--kiln_tuning: there is no '", flags.tuning.substr(0, 100), "'; ",
                          absl::StrJoin(CpuTunings(), ", ", name)));
  });
}

GuardedEnd GuardedMemory() {
  const std::string& end = EnvironmentFlags().guarded_memory;
  if (end == "last") return GuardedEnd::kLast;
  if (end == "first") return GuardedEnd::kFirst;
  if (!end.empty()) {
    WarnOnce(absl::StrCat("--kiln_guarded_memory: there is no '", end.substr(0, 100), "'; last, first"));
  }
  return GuardedEnd::kNone;
}

std::string CodeFlags() {
  const DebugFlags& flags = EnvironmentFlags();
  return absl::StrCat(absl::StrJoin(flags.disabled_passes, ","), " ", flags.optimization_level, " ", flags.profile, " ",
                      flags.fast_math, " ", flags.allow_excess_precision, " ", Tuning().name);
}

std::vector<std::string> PassesToDisable(const std::vector<std::string>& names) {
  std::vector<std::string> known = passes::PassNames();
  for (const passes::Pass& pass : passes::CpuPipeline()) known.emplace_back(pass.name);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string pass = absl::StrReplaceAll(name, {{"_", "-"}});
    for (const auto& [theirs, ours] : kPassAliases) {
      if (pass == theirs) pass = std::string(ours);
    }
    if (std::find(known.begin(), known.end(), pass) != known.end()) {
      found.push_back(std::move(pass));
    } else {
      WarnOnce(absl::StrCat("xla_disable_hlo_passes: there is no pass '", name.substr(0, 100), "' to leave out"));
    }
  }
  return found;
}

void ApplyFlags(const DebugFlags& flags, cpu::CompileOptions* options) {
  for (std::string& pass : PassesToDisable(flags.disabled_passes)) options->disabled_passes.push_back(std::move(pass));
  if (!flags.allow_excess_precision) options->disabled_passes.emplace_back("float-normalization");
  // Three is XLA's usual level.
  const bool is_unusual = flags.optimization_level >= 0 && flags.optimization_level < 3;
  if (is_unusual) options->optimization_level = static_cast<int>(flags.optimization_level);
  options->fast_math = flags.fast_math;
  options->profile = flags.profile;
  const DebugFlags& process = EnvironmentFlags();
  if (flags.max_isa != process.max_isa || flags.emulated_isa != process.emulated_isa ||
      flags.tuning != process.tuning || flags.guarded_memory != process.guarded_memory) {
    WarnOnce(
        "--xla_cpu_max_isa, --kiln_emulated_isa, --kiln_tuning and --kiln_guarded_memory are for a whole process: they "
        "go in XLA_FLAGS or KILN_FLAGS");
  }
}

}  // namespace kiln::runtime
