// The tables between header and computations that metadata={... stack_frame_id=N} points into.
#ifndef KILN_FRONTEND_HLO_TEXT_STACK_FRAMES_H_
#define KILN_FRONTEND_HLO_TEXT_STACK_FRAMES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "src/frontend/hlo_text/lexer.h"
#include "src/hlo/instruction.h"

namespace kiln::hlo_text {

class StackFrames {
 public:
  // Reads FileNames, FunctionNames, FileLocations and StackFrames, those that are there.
  absl::Status Parse(Lexer& lexer);

  // Fills file, line and column of `metadata` from a frame; leaves it alone when the frame is unknown.
  void Resolve(int64_t frame_id, hlo::Metadata* metadata) const;

 private:
  struct Location {
    int64_t file_name_id = 0, line = 0, column = 0;
  };
  absl::flat_hash_map<int64_t, std::string> file_names_;
  absl::flat_hash_map<int64_t, Location> locations_;
  absl::flat_hash_map<int64_t, int64_t> frame_locations_;
};

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_STACK_FRAMES_H_
