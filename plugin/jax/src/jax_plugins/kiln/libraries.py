"""Libraries beside JAX that list the platforms they run on, changed when they are imported."""

import importlib.util
import logging
import sys
from collections.abc import Callable
from types import ModuleType

from .hooks import PLATFORM, hook, wrap

_logger = logging.getLogger("jax_plugins.kiln")
_changes: dict[str, Callable[[ModuleType], None]] = {}


def change(name: str) -> Callable:
    """Decorator: `function(module)` is called once the module `name` is there; nothing imports it for that."""

    def decorate(function: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        _changes[name] = function
        return function

    return decorate


def _apply(module: ModuleType) -> None:
    try:
        _changes[module.__name__](module)
    except (AttributeError, TypeError) as error:
        _logger.info("this version of %s is left as it is: %s", module.__name__, error)


class _ChangingFinder:
    """First of the finders: has a module found by the others, and changes it behind its own code."""

    def __init__(self):
        self._finding = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _changes or name in self._finding:
            return None
        self._finding.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding.discard(name)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            _apply(module)

        spec.loader.exec_module = execute_and_change
        return spec


@hook
def change_libraries() -> None:
    for name in _changes:
        if name in sys.modules:
            _apply(sys.modules[name])
    sys.meta_path.insert(0, _ChangingFinder())


@change("mujoco.mjx._src.io")
def simulate_with_mjx(io: ModuleType) -> None:
    # MJX, and Brax with it, chooses its JAX implementation for the platforms "cpu", "gpu" and "tpu", and no other.
    @wrap(io, "_resolve_impl")
    def resolve_impl(original, device):
        return io.types.Impl.JAX if device.platform == PLATFORM else original(device)
