// Devices of a client and their memories. A CPU client has as many devices as it is asked for; all run on the same
// cores, each with one memory of each kind. The kinds are names only: all memory is the host's.
#ifndef KILN_RUNTIME_DEVICE_H_
#define KILN_RUNTIME_DEVICE_H_

#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln::runtime {

class Client;
class Device;

// Owned by its client; immutable but for `handle`.
class Memory {
 public:
  // By kind id; the first is the default.
  static constexpr absl::string_view kKinds[] = {"device", "pinned_host", "unpinned_host"};
  static constexpr int kKindCount = std::size(kKinds);
  // The id of a kind's name, or -1.
  static int KindId(absl::string_view name) {
    for (int kind = 0; kind < kKindCount; ++kind) {
      if (kKinds[kind] == name) return kind;
    }
    return -1;
  }

  Memory(Device* device, int kind_id, int id) : device_(device), kind_id_(kind_id), id_(id) {}
  Device* device() const { return device_; }
  int kind_id() const { return kind_id_; }
  absl::string_view kind() const { return kKinds[kind_id_]; }
  // Unique among the memories of a client.
  int id() const { return id_; }

  // The object that stands for this memory in the layer above; set once before the client is shared.
  void* handle = nullptr;

 private:
  Device* device_;
  int kind_id_;
  int id_;
};

// Owned by its client; immutable but for `handle`.
class Device {
 public:
  Device(Client* client, int id)
      : client_(client),
        id_(id),
        memories_{Memory(this, 0, id * Memory::kKindCount), Memory(this, 1, id * Memory::kKindCount + 1),
                  Memory(this, 2, id * Memory::kKindCount + 2)} {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Client* client() const { return client_; }
  int id() const { return id_; }
  Memory* memory(int kind_id) { return &memories_[kind_id]; }
  Memory* default_memory() { return memory(0); }

  void* handle = nullptr;  // as Memory::handle

 private:
  Client* client_;
  int id_;
  std::array<Memory, Memory::kKindCount> memories_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_DEVICE_H_
