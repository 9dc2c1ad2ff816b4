"""The three platforms in one process."""

import os
import pathlib

EMPTY = "empty"
PLATFORMS = ("kiln", EMPTY, "cpu")
EMPTY_PLUGIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "libempty_plugin.so"


def register(empty_plugin=EMPTY_PLUGIN):
    """Imports JAX with all platforms. FileNotFoundError, with what to do, where the empty plugin is not built."""
    if not empty_plugin.is_file():
        raise FileNotFoundError(f"the plugin that does nothing, {empty_plugin}, is not there; build it with: ninja -C build empty_plugin")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["JAX_PLATFORMS"] = ",".join(PLATFORMS)
    import jax  # noqa: F401
    from jax._src import xla_bridge
    from jax_plugins import kiln

    os.environ["KILN_EMPTY_PLUGIN_OVER"] = str(kiln.library_path())
    xla_bridge._nonexperimental_plugins.add(EMPTY)  # no warning
    # To JAX its devices are of the platform `kiln`, for that is what they say: programs are lowered alike for both.
    xla_bridge.register_plugin(EMPTY, library_path=str(empty_plugin), options=None)
