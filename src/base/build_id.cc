#include "src/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace kiln {
namespace {

constexpr size_t kNoteAlignment = 4;

size_t Padded(size_t size) { return (size + kNoteAlignment - 1) / kNoteAlignment * kNoteAlignment; }

// The build id among the notes of a segment, or nothing.
absl::string_view FindBuildId(absl::string_view notes) {
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof(note)) {
    std::memcpy(&note, notes.data(), sizeof(note));
    notes.remove_prefix(sizeof(note));
    const size_t name = Padded(note.n_namesz), description = Padded(note.n_descsz);
    if (name > notes.size() || description > notes.size() - name) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(0, note.n_namesz) == absl::string_view("GNU\0", 4)) {
      return notes.substr(name, note.n_descsz);
    }
    notes.remove_prefix(name + description);
  }
  return {};
}

struct Search {
  uintptr_t inside;  // an address in the object that is looked for
  std::string found;
};

// For dl_iterate_phdr: stops at the object that holds the address.
int Visit(dl_phdr_info* object, size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  absl::string_view notes;
  bool contains = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) contains |= search->inside - begin < segment.p_memsz;
    if (segment.p_type != PT_NOTE || !notes.empty()) continue;
    notes = FindBuildId({reinterpret_cast<const char*>(begin), segment.p_memsz});
  }
  if (contains) search->found = absl::BytesToHexString(notes);
  return contains ? 1 : 0;
}

}  // namespace

const std::string& BuildId() {
  static const std::string* const id = [] {
    Search search = {reinterpret_cast<uintptr_t>(&Visit), {}};
    dl_iterate_phdr(&Visit, &search);
    return new std::string(std::move(search.found));
  }();
  return *id;
}

}  // namespace kiln
