// When a process ends, threads of the library may be in the middle of a compilation. So nothing of the library is
// destroyed then: the linker gives registrations of destructors of globals, LLVM's above all, to this function, which
// drops them.
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }
