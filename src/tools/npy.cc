#include "src/tools/npy.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/hlo/physical_copy.h"

namespace kiln::tools {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// In a field of an archive whose value stands in the extra field of zip64.
constexpr uint64_t kElsewhere = 0xffffffff;

// Little-endian numbers at `offset`; 0 behind the end.
uint64_t Number(absl::string_view bytes, size_t offset, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width && offset + i < bytes.size(); ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[offset + i])} << (8 * i);
  }
  return value;
}

void Append(std::string* out, int width, std::initializer_list<uint64_t> values) {
  for (uint64_t value : values) {
    for (int i = 0; i < width; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
  }
}

// The text behind `'key':` in the header's dictionary.
absl::string_view HeaderValue(absl::string_view header, absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "':"));
  return at == absl::string_view::npos ? absl::string_view()
                                       : absl::StripLeadingAsciiWhitespace(header.substr(at + key.size() + 3));
}

absl::StatusOr<NpyArray> ReadNpy(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < 10) return InvalidArgument("no .npy array");
  const int length_bytes = bytes[6] == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  const uint64_t length = Number(bytes, 8, length_bytes);
  if (begin > bytes.size() || length > bytes.size() - begin) return InvalidArgument("a .npy array that is cut off");
  const absl::string_view header = bytes.substr(begin, length);
  NpyArray array;
  const absl::string_view type = HeaderValue(header, "descr");
  absl::string_view digits = type.size() > 3 ? type.substr(3, type.find('\'', 1) - 3) : absl::string_view();
  if (!absl::StartsWith(type, "'") || !absl::SimpleAtoi(digits, &array.width) || array.width < 1 || array.width > 16 ||
      type[1] == '>') {
    return InvalidArgument("the element type ", type.substr(0, type.find(',')),
                           " is not supported: expected one of little-endian numbers");
  }
  array.kind = type[2];
  array.column_major = absl::StartsWith(HeaderValue(header, "fortran_order"), "True");
  absl::string_view shape = HeaderValue(header, "shape");
  if (!absl::ConsumePrefix(&shape, "(")) return InvalidArgument("a .npy array without a shape");
  uint64_t count = 1;
  shape = shape.substr(0, shape.find(')'));
  while (!shape.empty()) {
    const size_t comma = std::min(shape.find(','), shape.size());
    const absl::string_view word = absl::StripAsciiWhitespace(shape.substr(0, comma));
    shape.remove_prefix(std::min(comma + 1, shape.size()));
    if (word.empty()) continue;
    int64_t size = 0;
    if (!absl::SimpleAtoi(word, &size) || size < 0 ||
        __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) {
      return InvalidArgument("a .npy array of unknown shape");
    }
    array.dimensions.push_back(size);
  }
  const absl::string_view data = bytes.substr(begin + length);
  if (data.size() / array.width != count || data.size() % array.width != 0) {
    return InvalidArgument("a .npy array of ", count, " elements of ", array.width, " bytes has ", data.size(),
                           " bytes");
  }
  array.data = std::string(data);
  return array;
}

absl::StatusOr<std::string> Inflate(absl::string_view packed, uint64_t size) {
  // Deflate shrinks no more than this.
  if (size / 1100 > packed.size()) return InvalidArgument("a member of the archive is damaged");
  std::string data(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Internal("zlib cannot start");
  int code = Z_OK;
  size_t taken = 0, made = 0;
  while (code == Z_OK) {
    constexpr size_t kStep = size_t{1} << 30;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(std::min(kStep, packed.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(data.data() + made);
    stream.avail_out = static_cast<uInt>(std::min(kStep, data.size() - made));
    const size_t in = stream.avail_in, out = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || made != size) return InvalidArgument("a member of the archive is damaged");
  return data;
}

// Sizes and offsets above 4 GB stand in an extra field.
void ReadZip64(absl::string_view extra, uint64_t* size, uint64_t* packed, uint64_t* offset) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = Number(extra, at, 2), length = Number(extra, at + 2, 2);
    size_t next = at + 4;
    if (id == 1) {
      for (uint64_t* value : {size, packed, offset}) {
        if (*value != kElsewhere) continue;
        *value = Number(extra, next, 8);
        next += 8;
      }
      return;
    }
    at += 4 + length;
  }
}

absl::StatusOr<std::vector<NpyArray>> ReadZip(absl::string_view bytes) {
  const size_t end = bytes.rfind("PK\x05\x06");
  if (end == absl::string_view::npos) return InvalidArgument("an archive without its directory");
  uint64_t count = Number(bytes, end + 10, 2), at = Number(bytes, end + 16, 4);
  if (at == kElsewhere || count == 0xffff) {
    const size_t end64 = bytes.rfind("PK\x06\x06", end);
    if (end64 == absl::string_view::npos) return InvalidArgument("an archive without its directory");
    count = Number(bytes, end64 + 32, 8);
    at = Number(bytes, end64 + 48, 8);
  }
  std::vector<NpyArray> arrays;
  for (uint64_t i = 0; i < count; ++i) {
    if (at > bytes.size() || bytes.size() - at < 46 || bytes.substr(at, 4) != "PK\x01\x02") {
      return InvalidArgument("the directory of the archive is damaged");
    }
    const absl::string_view entry = bytes.substr(at);
    const uint64_t method = Number(entry, 10, 2), name_size = Number(entry, 28, 2), extra_size = Number(entry, 30, 2);
    uint64_t packed_size = Number(entry, 20, 4), size = Number(entry, 24, 4), offset = Number(entry, 42, 4);
    absl::string_view name = entry.substr(46, name_size);
    ReadZip64(entry.substr(std::min<size_t>(46 + name_size, entry.size()), extra_size), &size, &packed_size, &offset);
    at += 46 + name_size + extra_size + Number(entry, 32, 2);
    const uint64_t data = offset + 30 + Number(bytes, offset + 26, 2) + Number(bytes, offset + 28, 2);
    if (data > bytes.size() || packed_size > bytes.size() - data || offset > data) {
      return InvalidArgument("the archive's member ", name, " is cut off");
    }
    if (!absl::ConsumeSuffix(&name, ".npy")) continue;
    const absl::string_view packed = bytes.substr(data, packed_size);
    std::string inflated;
    if (method == 8) {
      KILN_ASSIGN_OR_RETURN(inflated, Inflate(packed, size));
    } else if (method != 0) {
      return Unimplemented("the archive's member ", name, " is packed by method ", method, "; 0 and 8 are read");
    }
    absl::StatusOr<NpyArray> array = ReadNpy(method == 8 ? absl::string_view(inflated) : packed);
    if (!array.ok()) return Annotate(array.status(), name);
    array->name = std::string(name);
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

// How NumPy stores a type: kind and width.
std::pair<char, int64_t> StoredAs(hlo::PrimitiveType type) {
  const int64_t width = hlo::ByteWidth(type);
  if (type == hlo::PrimitiveType::kPred) return {'b', 1};
  if (hlo::IsComplex(type)) return {'c', width};
  if (hlo::IsIntegral(type)) return {hlo::IsSignedIntegral(type) ? 'i' : 'u', width};
  const bool native =
      type == hlo::PrimitiveType::kF16 || type == hlo::PrimitiveType::kF32 || type == hlo::PrimitiveType::kF64;
  return {native ? 'f' : 'V', width};
}

std::string Description(char kind, int64_t width) {
  return absl::StrCat(width == 1 ? "|" : "<", std::string(1, kind), width);
}

}  // namespace

absl::StatusOr<std::vector<NpyArray>> ReadNpyFile(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "PK")) return ReadZip(bytes);
  if (!absl::StartsWith(bytes, kMagic)) return InvalidArgument("expected an .npy or .npz file");
  KILN_ASSIGN_OR_RETURN(NpyArray array, ReadNpy(bytes));
  std::vector<NpyArray> arrays;
  arrays.push_back(std::move(array));
  return arrays;
}

absl::StatusOr<hlo::Literal> ToLiteral(const NpyArray& array, const hlo::Shape& shape) {
  const auto [kind, width] = StoredAs(shape.element_type());
  // Raw bytes pass for any type of their width.
  if (array.width != width || (array.kind != kind && array.kind != 'V') ||
      !std::equal(array.dimensions.begin(), array.dimensions.end(), shape.dimensions().begin(),
                  shape.dimensions().end())) {
    return InvalidArgument("expected ", shape.ToString(false), " (", Description(kind, width), "), found ",
                           Description(array.kind, array.width), "[", absl::StrJoin(array.dimensions, ","), "]");
  }
  hlo::Shape stored(shape.element_type(), array.dimensions);
  if (array.column_major) {
    auto& order = stored.mutable_layout()->minor_to_major;
    std::reverse(order.begin(), order.end());
  }
  hlo::Literal literal = hlo::FromPhysical(array.data.data(), stored);
  return hlo::Literal::FromBytes(hlo::Shape(shape.element_type(), array.dimensions), literal.bytes());
}

std::string WriteNpy(const hlo::Literal& literal) {
  const auto [kind, width] = StoredAs(literal.shape().element_type());
  const auto& dimensions = literal.shape().dimensions();
  std::string header = absl::StrCat("{'descr': '", Description(kind, width), "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(dimensions, ", "), dimensions.size() == 1 ? "," : "", "), }");
  while ((kMagic.size() + 4 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  std::string bytes(kMagic);
  bytes += {'\1', '\0'};
  Append(&bytes, 2, {header.size()});
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(literal.bytes().data()), literal.bytes().size());
  return bytes;
}

std::string WriteNpz(const std::vector<std::pair<std::string, const hlo::Literal*>>& arrays) {
  std::string bytes, directory;
  for (const auto& [name, literal] : arrays) {
    const std::string file = name + ".npy";
    const std::string data = WriteNpy(*literal);
    const uint64_t offset = bytes.size();
    uint64_t sum = crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
    // Version 4.5, no flags, stored, 1980-01-01; sizes and offset in the extra field of zip64.
    const uint64_t size = data.size();
    std::string common;
    Append(&common, 2, {45, 0, 0, 0, 33});
    Append(&common, 4, {sum, kElsewhere, kElsewhere});
    Append(&common, 2, {file.size()});
    bytes += absl::StrCat("PK\x03\x04", common);
    Append(&bytes, 2, {20});
    bytes += file;
    Append(&bytes, 2, {1, 16});
    Append(&bytes, 8, {size, size});
    bytes += data;
    directory += "PK\x01\x02";
    Append(&directory, 2, {45});
    directory += common;
    Append(&directory, 2, {28, 0, 0, 0, 0, 0});  // No comment, disk 0, no attributes.
    Append(&directory, 4, {kElsewhere});
    directory += file;
    Append(&directory, 2, {1, 24});
    Append(&directory, 8, {size, size, offset});
  }
  const uint64_t start = bytes.size();
  bytes += directory;
  const uint64_t end = bytes.size();
  bytes += "PK\x06\x06";
  Append(&bytes, 8, {44});
  Append(&bytes, 2, {45, 45});
  Append(&bytes, 8, {0, arrays.size(), arrays.size(), directory.size(), start});
  bytes += "PK\x06\x07";
  Append(&bytes, 4, {0});
  Append(&bytes, 8, {end});
  Append(&bytes, 4, {1});
  bytes += "PK\x05\x06";
  Append(&bytes, 4, {0});
  Append(&bytes, 2, {0xffff, 0xffff});
  Append(&bytes, 4, {kElsewhere, kElsewhere});
  Append(&bytes, 2, {0});
  return bytes;
}

}  // namespace kiln::tools
