"""Kiln as a JAX platform.

JAX finds this module by itself, through the entry point group and the namespace package `jax_plugins`, and calls
`initialize()` before it makes its first backend. `JAX_PLATFORMS=kiln` or `JAX_PLATFORMS=kiln,cpu` chooses the platform.

`KILN_LIBRARY_PATH` names another plugin library than the one in this package, for work on Kiln itself.
"""

import os
import pathlib

from . import buffer_callbacks, callbacks, dlpack, ffi, gates, hooks, lapack, libraries, lowerings  # noqa: F401: each module of hooks announces its own
from .hooks import PLATFORM

# Where JAX_PLATFORMS is not set: before XLA:CPU (0), after TPUs (300) and GPUs (500).
_PRIORITY = 100


def library_path() -> pathlib.Path:
    """The plugin library that JAX loads."""
    override = os.environ.get("KILN_LIBRARY_PATH")
    return pathlib.Path(override) if override else pathlib.Path(__file__).parent / "libkiln_pjrt.so"


def initialize() -> None:
    """Registers the platform `kiln` with JAX. Called by JAX."""
    from jax._src import xla_bridge

    path = library_path()
    if not path.is_file():
        origin = "KILN_LIBRARY_PATH" if "KILN_LIBRARY_PATH" in os.environ else "the kiln-jax package"
        raise FileNotFoundError(f"Kiln's library {path}, named by {origin}, is not there")
    hooks.apply(early=True)
    xla_bridge.register_plugin(PLATFORM, priority=_PRIORITY, library_path=str(path), options=None)
    lapack.register(PLATFORM, ffi.register(PLATFORM, str(path)))
    hooks.apply(early=False)
