// Replica groups in their three forms: lists, iota ("[2,2]<=[2,2]T(1,0)") and mesh axes.
#ifndef KILN_FRONTEND_HLO_TEXT_REPLICA_GROUPS_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_REPLICA_GROUPS_PARSER_H_

#include <cstdint>
#include <vector>

#include "src/frontend/hlo_text/lexer.h"

namespace kiln::hlo_text {

// Groups written out. `*budget` bounds what the short forms may expand to and goes down by it.
absl::StatusOr<std::vector<std::vector<int64_t>>> ParseReplicaGroups(Lexer& lexer, int64_t* budget);

// "{{0,1},{2,3}}"
absl::StatusOr<std::vector<std::vector<int64_t>>> ParseNestedIntegers(Lexer& lexer);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_REPLICA_GROUPS_PARSER_H_
