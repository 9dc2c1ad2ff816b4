// The evaluator against tables made by make_evaluator_cases.py, a family per file.
#include "tests/hlo/evaluator_test_util.h"

namespace kiln::hlo {
namespace {

class EvaluatorCasesTest : public testing::TestWithParam<const char*> {};

TEST_P(EvaluatorCasesTest, GivesTheReferenceResults) { RunFamily(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Families, EvaluatorCasesTest,
                         testing::Values("integer", "float", "complex", "convert", "movement", "indexed", "reduction",
                                         "contraction", "linalg", "random", "control"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kiln::hlo
