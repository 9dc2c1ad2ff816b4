// Convolutions of groups of few channels, depthwise ones among them, over channels that are next to each other in
// memory: compiled with Kiln, since their loops are the same for every program, and what a program adds (sizes,
// strides, the epilogue) reaches them as data. Padding is not stored: taps outside of the input are left out.
#ifndef KILN_CPU_GROUP_PRODUCT_H_
#define KILN_CPU_GROUP_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm_blocks.h"
#include "src/cpu/gemm_layout.h"
#include "src/cpu/group_kernels.h"

namespace kiln::cpu {

inline constexpr int64_t kMaxGroupTaps = 64;  // of the last dimension

// All 64-bit integers, so that a module holds it as an array of them; strides in bytes.
struct GroupProduct {
  struct Dimension {
    int64_t places = 1, inputs = 1, taps = 1, stride = 1, dilation = 1, low = 0;
    int64_t lhs = 0, rhs = 0, out = 0;
  };
  int64_t group = 1, channels = 0;
  int64_t rhs_step = 0;  // between the weights of a group's inputs
  int64_t lhs_batch = 0, out_batch = 0;
  int64_t block = 0;      // positions of a task; each row of the last dimension has `row` of them
  int64_t row = 0;        // its places rounded up to whole tiles
  int64_t positions = 0;  // of all rows
  int64_t direct = 0;     // sums are the result as it is stored
  Dimension space[3];
};

// Symbol "kiln_group_product": runs tasks [begin, end). `finish` as for RunGemmBlocks.
void RunGroupProduct(const GroupProduct* product, const char* lhs, const char* rhs, char* out, void* const* extra,
                     int64_t begin, int64_t end, GemmFinish* finish);
inline constexpr char kGroupProductName[] = "kiln_group_product";

// Chooses the blocks of a product with windows.
void ChooseGroupBlocks(const GemmProblem& problem, int threads, GemmSchedule& schedule);
// The description as it stands in memory.
std::vector<int64_t> DescribeGroupProduct(const GemmSpec& spec, const GemmProblem& problem,
                                          const GemmSchedule& schedule, const GemmLayout& layout, bool direct);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GROUP_PRODUCT_H_
