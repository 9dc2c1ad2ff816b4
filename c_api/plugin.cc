// The plugin as a whole: initialization and attributes.
#include "c_api/arguments.h"
#include "c_api/functions.h"
#include "c_api/named_value.h"

namespace kiln::c_api {
namespace {

// The generation of compile options and executables that the plugin understands, and the StableHLO artifacts it reads.
constexpr int64_t kXlaVersion = 2;
constexpr int64_t kStablehloCurrentVersion[] = {1, 24, 0};
constexpr int64_t kStablehloMinimumVersion[] = {0, 9, 0};

}  // namespace

void Call(PJRT_Plugin_Initialize_Args&) {}

void Call(PJRT_Plugin_Attributes_Args& args) {
  static const PJRT_NamedValue attributes[] = {
      NamedInt64("xla_version", kXlaVersion),
      NamedInt64List("stablehlo_current_version", kStablehloCurrentVersion),
      NamedInt64List("stablehlo_minimum_version", kStablehloMinimumVersion),
  };
  args.attributes = attributes;
  args.num_attributes = std::size(attributes);
}

}  // namespace kiln::c_api
