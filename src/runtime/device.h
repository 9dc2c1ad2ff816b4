// Devices of a client and their memories. A CPU client has as many devices as it is asked for; all run on the same
// cores, each with one memory.
#ifndef KILN_RUNTIME_DEVICE_H_
#define KILN_RUNTIME_DEVICE_H_

#include <string>

namespace kiln::runtime {

class Client;
class Device;

// Owned by its client; immutable but for `handle`.
class Memory {
 public:
  static constexpr char kDefaultKind[] = "device";
  static constexpr int kDefaultKindId = 0;

  Memory(Device* device, int id) : device_(device), id_(id) {}
  Device* device() const { return device_; }
  int id() const { return id_; }

  // The object that stands for this memory in the layer above; set once before the client is shared.
  void* handle = nullptr;

 private:
  Device* device_;
  int id_;
};

// Owned by its client; immutable but for `handle`.
class Device {
 public:
  Device(Client* client, int id) : client_(client), id_(id), memory_(this, id) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Client* client() const { return client_; }
  int id() const { return id_; }
  Memory* default_memory() { return &memory_; }

  void* handle = nullptr;  // as Memory::handle

 private:
  Client* client_;
  int id_;
  Memory memory_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_DEVICE_H_
