// How offsets move from one lane to the next.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

bool LinearStride(const IndexTerms& terms, const IndexExpr& expr, int loop, int lanes, int64_t* stride) {
  const uint64_t bit = uint64_t{1} << loop;
  *stride = 0;
  for (const auto& [number, coefficient] : expr.terms) {
    const IndexTerms::Term& term = terms.term(number);
    if ((term.loops & bit) == 0) continue;
    if (term.kind == IndexTerms::Kind::kLoop) {
      *stride += coefficient;
      continue;
    }
    if (term.kind == IndexTerms::Kind::kSymbol) return false;
    // (c*i + rest) floordiv d and mod d keep their quotient over a run of `lanes` iterations when every run starts at a
    // multiple of c*lanes that divides d.
    int64_t inner;
    if (!LinearStride(terms, term.inner, loop, lanes, &inner) || inner <= 0) return false;
    const int64_t run = inner * lanes;
    if (term.divisor % run != 0 || term.inner.constant % run != 0) return false;
    for (const auto& [inner_number, inner_coefficient] : term.inner.terms) {
      const IndexTerms::Term& inner_term = terms.term(inner_number);
      if (inner_term.kind == IndexTerms::Kind::kLoop && inner_term.id == loop) continue;
      if ((inner_term.loops & bit) != 0 || inner_coefficient % run != 0) return false;
    }
    if (term.kind == IndexTerms::Kind::kMod) *stride += coefficient * inner;
  }
  return true;
}

int LoopsOfLines(const Kernel& kernel, const std::vector<const Store*>& stores, const std::vector<int>& order,
                 int vector_loop, int lanes) {
  constexpr int64_t kLine = 64;
  int64_t filled = 0;  // bytes, gaps among them
  const auto fills = [&](int loop) {
    filled = kLine;
    return absl::c_all_of(stores, [&](const Store* store) {
      int64_t stride, apart;
      if (!LinearStride(kernel.terms, store->offset, loop, 1, &stride) || stride == 0) return false;
      if (!LinearStride(kernel.terms, store->offset, vector_loop, lanes, &apart)) return false;
      // Elements that a few vectors hold are shuffled.
      if (std::abs(apart) <= std::abs(stride) || apart == 1 || IsNearby(apart, lanes)) return false;
      const int64_t width = hlo::ByteWidth(kernel.parameters[store->parameter].type);
      filled = std::min(filled, std::abs(stride) * kernel.loops[loop].extent * width);
      return true;
    });
  };
  int count = 0;
  for (auto loop = order.rbegin(); loop != order.rend() && filled < kLine && fills(*loop); ++loop) ++count;
  return count;
}

bool IsSpread(const IndexTerms& terms, const IndexExpr& expr, int loop, int lanes, Spread* spread) {
  // Constants are of the places, so that accesses next to each other share their offset.
  *spread = {.places = std::vector<int64_t>(static_cast<size_t>(lanes), expr.constant), .is_quotient = true};
  int patterns = 0;
  for (const auto& [number, coefficient] : expr.terms) {
    const IndexTerms::Term& term = terms.term(number);
    IndexRange range = term.range;
    if ((term.loops >> loop & 1) != 0) {
      const bool is_loop = term.kind == IndexTerms::Kind::kLoop, is_rest = term.kind == IndexTerms::Kind::kMod;
      const int64_t phase = is_loop ? 0 : terms.PhaseOf(term, loop, lanes);
      if (phase < 0) return false;
      const auto step = [&](int64_t lane) {
        return is_loop ? lane : is_rest ? (lane + phase) % term.divisor : (lane + phase) / term.divisor;
      };
      for (int lane = 0; lane < lanes; ++lane) spread->places[static_cast<size_t>(lane)] += coefficient * step(lane);
      patterns += is_loop ? 0 : 1;
      spread->is_quotient &= !is_loop && !is_rest && coefficient > 0;
      if (is_rest) continue;
      if (!is_loop) range.high -= step(lanes - 1);
    }
    spread->shared.terms.push_back({number, coefficient});
    const auto [low, high] = std::minmax(coefficient * range.low, coefficient * range.high);
    spread->range.low += low;
    spread->range.high += high;
  }
  const auto [low, high] = absl::c_minmax_element(spread->places);
  spread->low = *low;
  spread->high = *high;
  return patterns > 0 && *high - *low < 2 * int64_t{lanes};
}

bool IsWrapped(const IndexTerms& terms, const IndexExpr& expr, int loop, int lanes, Wrapped* wrapped) {
  *wrapped = {};
  for (const auto& [number, coefficient] : expr.terms) {
    const IndexTerms::Term& term = terms.term(number);
    if ((term.loops >> loop & 1) == 0) continue;
    if (wrapped->term >= 0 || term.kind != IndexTerms::Kind::kMod || term.divisor < lanes) return false;
    if (!LinearStride(terms, term.inner, loop, lanes, &wrapped->step)) return false;
    wrapped->term = number;
    wrapped->stride = coefficient * wrapped->step;
  }
  return std::abs(wrapped->step) == 1 && std::abs(wrapped->stride) == 1;
}

}  // namespace kiln::kernel
