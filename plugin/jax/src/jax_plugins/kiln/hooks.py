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
_early: list[Callable[[], None]] = []
_late: list[Callable[[], None]] = []


def early_hook(function: Callable[[], None]) -> Callable[[], None]:
    """Decorator: `function` is called once, before the plugin is registered."""
    _early.append(function)
    return function


def hook(function: Callable[[], None]) -> Callable[[], None]:
    """Decorator: `function` is called once, after the plugin is registered and before JAX makes its first backend."""
    _late.append(function)
    return function


def apply(*, early: bool) -> None:
    """Applies the hooks of one kind that are not applied yet."""
    hooks = _early if early else _late
    while hooks:
        function = hooks.pop(0)
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
