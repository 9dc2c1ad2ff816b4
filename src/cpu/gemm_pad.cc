#include "src/cpu/gemm_pad.h"

#include <algorithm>
#include <cstring>

namespace kiln::cpu {
namespace {

// Elements of a row to places `dilation` apart, with zeros elsewhere.
void CopyRow(const GemmPadding& row, int64_t element, const char* from, char* to) {
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * element); };
  if (row.dilation > 1) {
    std::memset(to, 0, bytes(row.padded));
    for (int64_t i = 0; i < row.size; ++i) {
      const int64_t place = row.low + i * row.dilation;
      if (place >= 0 && place < row.padded) std::memcpy(to + place * element, from + i * element, bytes(1));
    }
    return;
  }
  const int64_t begin = std::clamp<int64_t>(row.low, 0, row.padded);
  const int64_t end = std::clamp<int64_t>(row.low + row.size, begin, row.padded);
  std::memset(to, 0, bytes(begin));
  std::memcpy(to + begin * element, from + (begin - row.low) * element, bytes(end - begin));
  std::memset(to + end * element, 0, bytes(row.padded - end));
}

}  // namespace

std::vector<int64_t> DescribeGemmPad(const std::vector<GemmPadding>& padding, int64_t element_bytes) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < padding.size(); ++i) rows *= padding[i].padded;
  std::vector<int64_t> words = {element_bytes, rows, static_cast<int64_t>(padding.size())};
  for (const GemmPadding& d : padding) words.insert(words.end(), {d.size, d.low, d.dilation, d.padded});
  return words;
}

void PadGemmRows(const GemmPad* pad, const char* from, char* to, int64_t first_row, int64_t begin, int64_t end) {
  static_assert(sizeof(GemmPadding) == 4 * sizeof(int64_t) && sizeof(GemmPad) == 3 * sizeof(int64_t));
  const auto* padding = reinterpret_cast<const GemmPadding*>(pad + 1);
  const GemmPadding& inner = padding[pad->dimensions - 1];
  // Rows of the dimension around the innermost one follow each other, and are told apart without divisions.
  static constexpr GemmPadding kOne = {.size = 1, .low = 0, .dilation = 1, .padded = 1};
  const GemmPadding& line = pad->dimensions > 1 ? padding[pad->dimensions - 2] : kOne;
  const int64_t row_bytes = inner.padded * pad->element_bytes, from_bytes = inner.size * pad->element_bytes;
  const bool whole = inner.low == 0 && inner.dilation == 1 && inner.padded == inner.size;
  const auto clear = [&](char* row, int64_t rows) { std::memset(row, 0, static_cast<size_t>(rows * row_bytes)); };
  const int64_t limit = std::min(end, pad->rows - first_row);
  for (int64_t slot = begin; slot < limit;) {
    int64_t rest = first_row + slot, offset = 0, stride = line.size;
    const int64_t place = rest % line.padded, count = std::min(limit - slot, line.padded - place);
    char* const row = to + slot * row_bytes;
    slot += count;
    rest /= line.padded;
    bool exists = true;
    for (int64_t i = pad->dimensions - 2; i-- > 0;) {
      const GemmPadding& d = padding[i];
      const int64_t position = rest % d.padded - d.low;
      rest /= d.padded;
      exists = exists && position >= 0 && position % d.dilation == 0 && position / d.dilation < d.size;
      offset += position / d.dilation * stride;
      stride *= d.size;
    }
    if (!exists) {
      clear(row, count);
    } else if (line.dilation > 1) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t position = place + i - line.low;
        if (position >= 0 && position % line.dilation == 0 && position / line.dilation < line.size) {
          CopyRow(inner, pad->element_bytes, from + (offset + position / line.dilation) * from_bytes,
                  row + i * row_bytes);
        } else {
          clear(row + i * row_bytes, 1);
        }
      }
    } else {
      const int64_t first = std::clamp<int64_t>(line.low - place, 0, count);
      const int64_t last = std::clamp<int64_t>(line.low + line.size - place, first, count);
      clear(row, first);
      const char* lines = from + (offset + place - line.low + first) * from_bytes;
      if (whole) {
        std::memcpy(row + first * row_bytes, lines, static_cast<size_t>((last - first) * row_bytes));
      } else {
        for (int64_t i = first; i < last; ++i, lines += from_bytes) {
          CopyRow(inner, pad->element_bytes, lines, row + i * row_bytes);
        }
      }
      clear(row + last * row_bytes, count - last);
    }
  }
}

}  // namespace kiln::cpu
