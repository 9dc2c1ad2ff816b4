"""The programs that are measured, one file per area.

A program is a function of arrays and the inputs it is called with. Importing this package only names them: inputs are made,
and functions are traced, in the process that measures them.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Program:
    """`build()` gives (function, arguments); results of two engines agree within `tolerance` of their largest magnitude."""

    name: str
    group: str
    build: Callable
    tolerance: float = 1e-4


_PROGRAMS: dict[str, Program] = {}


def program(group, name=None, tolerance=1e-4):
    """Registers a function without parameters that returns (function, arguments), under its own name if none is given."""

    def register(build):
        title = f"{group}/{name or build.__name__}"
        if title in _PROGRAMS:
            raise ValueError(f"two programs are called {title}")
        _PROGRAMS[title] = Program(title, group, build, tolerance)
        return build

    return register


def add(group, name, function, *inputs, tolerance=1e-4):
    """Registers `function` with inputs that are made when it is measured: `inputs` are calls without parameters."""
    program(group, name, tolerance)(lambda: (function, tuple(make() for make in inputs)))


def all_programs() -> dict[str, Program]:
    """Every program by its name `group/name`."""
    for module in pkgutil.iter_modules(__path__):
        if module.name != "inputs":
            importlib.import_module(f"{__name__}.{module.name}")
    return dict(_PROGRAMS)
