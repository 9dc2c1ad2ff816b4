"""The same programs written for other libraries, where such a library is installed.

A peer is a module of this package with `NEEDS`, the packages that it imports, `names()`, the programs that it has, and
`build(program)`, which gives (function, arguments, seconds of compilation). Results are arrays of the shapes that the
JAX program gives, and are compared with XLA:CPU's.
"""

import importlib
import importlib.util

_PEERS = {"numpy": "numpy_peer", "torch": "torch_peer", "inductor": "inductor_peer", "onnxruntime": "onnxruntime_peer"}


def _module(engine):
    return importlib.import_module(f"{__name__}.{_PEERS[engine]}")


def available():
    """Names of the peers whose packages are installed."""
    return [engine for engine in _PEERS if all(importlib.util.find_spec(package) for package in _module(engine).NEEDS)]


def covers(engine, name):
    """Whether the program is written for that peer."""
    return name in _module(engine).names()


def build(engine, program):
    """(function, arguments, seconds of compilation)."""
    return _module(engine).build(program)


def to_numpy(result):
    """An array of a peer's result; numpy has no bfloat16 of torch's."""
    import numpy as np

    if str(getattr(result, "dtype", "")) == "torch.bfloat16":
        result = result.float()
    return result.numpy() if hasattr(result, "numpy") else np.asarray(result)
