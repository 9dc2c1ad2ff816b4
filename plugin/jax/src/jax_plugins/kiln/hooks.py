"""How this package changes JAX where JAX asks for the platform's name: one hook per feature, applied at registration.

JAX has no public way to tell it what a platform of its own naming can do, so a hook reaches into private modules. Each
one therefore checks what it finds and stands alone: where a version of JAX looks different, that one feature stays as
JAX leaves it, the log says so, and everything else works.
"""

import functools
import logging
from collections.abc import Callable

PLATFORM = "kiln"

_logger = logging.getLogger("jax_plugins.kiln")
_hooks: list[Callable[[], None]] = []
_applied: set[Callable[[], None]] = set()


def hook(function: Callable[[], None]) -> Callable[[], None]:
    """Decorator: `function` is called once, by `apply`, before JAX makes its first backend."""
    _hooks.append(function)
    return function


def apply() -> None:
    """Applies the hooks that are not applied yet."""
    for function in _hooks:
        if function in _applied:
            continue
        _applied.add(function)
        try:
            function()
        except (ImportError, AttributeError, TypeError) as error:
            name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
            _logger.info("this version of JAX does not take the hook %s: %s", name, error)


def wrap(owner: object, name: str) -> Callable:
    """Decorator: puts `function(original, *args, **kwargs)` in the place of `owner.name`."""
    original = getattr(owner, name)

    def decorate(function: Callable) -> Callable:
        @functools.wraps(original)
        def replacement(*args, **kwargs):
            return function(original, *args, **kwargs)

        setattr(owner, name, replacement)
        return replacement

    return decorate
