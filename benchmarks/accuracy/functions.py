"""The functions measured: how JAX calls them, what mpmath says, and a screen in a wider format that is fast."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import scipy.special
from jax import lax


@dataclasses.dataclass(frozen=True)
class Function:
    """`exact` takes and gives mpf; `screen` takes and gives arrays of float64 or longdouble (none: mpmath alone, fewer
    points). Inputs are denser within `span`, and around `points`."""

    name: str
    call: Callable
    exact: Callable
    screen: Callable | None
    span: tuple = (-20.0, 20.0)
    points: tuple = ()
    operands: int = 1


def _logistic(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


def _double_only(f):
    """scipy has no long double: f64 is left to mpmath."""
    return lambda x: f(x) if x.dtype == np.float64 else None


def _cbrt(x):
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _asin(x):
    return mpmath.asin(x) if abs(x) <= 1 else mpmath.nan


def _acos(x):
    return mpmath.acos(x) if abs(x) <= 1 else mpmath.nan


def _atanh(x):
    if abs(x) == 1:
        return x * mpmath.inf
    return mpmath.atanh(x) if abs(x) < 1 else mpmath.nan


def _positive(f, lowest=0):
    return lambda x: f(x) if x >= lowest else mpmath.nan


def _erfc(x):
    return mpmath.erfc(min(x, 40)) if x > -20 else mpmath.mpf(2)


def _erf(x):
    return mpmath.erf(max(min(x, 20), -20))


def _log(x, f=mpmath.log):
    return -mpmath.inf if x == 0 else f(x) if x > 0 else mpmath.nan


def _log1p(x):
    return -mpmath.inf if x == -1 else mpmath.log1p(x) if x > -1 else mpmath.nan


def _rsqrt(x):
    return mpmath.inf if x == 0 else 1 / mpmath.sqrt(x) if x > 0 else mpmath.nan


def _exact_logistic(x):
    return 1 / (1 + mpmath.exp(-x))


def _pow(x, y):
    """Finite operands; zeros are left to the screen."""
    if x < 0 and y != mpmath.floor(y):
        return mpmath.nan
    if x < 0:
        return mpmath.power(-x, y) * (-1 if int(y) % 2 else 1)
    return mpmath.power(x, y)


def _unary(name, call, exact=None, screen=None, **options):
    return Function(name, call, exact or getattr(mpmath, name), screen or getattr(np, name), **options)


ZEROS_OF_TRIGONOMETRY = (6381956970095103.0 * 2.0**797, 16367173.0 * 2.0**72, 1e22, 1e5, 2.0**20, 10000.0, 1e9)

FUNCTIONS = {
    f.name: f
    for f in (
        _unary("exp", lax.exp, span=(-800, 800), points=(88.7228, -87.3365, -103.97, 709.7827, -708.396, -745.13)),
        _unary("exp2", lax.exp2, lambda x: mpmath.power(2, x), span=(-1080, 1030), points=(128, -126, -149, 1024, -1022)),
        _unary("expm1", lax.expm1, span=(-50, 720), points=(88.7228, 709.7827, -17, -37, 0.3466, -0.3466)),
        _unary("log", lax.log, _log, span=(0.4, 3)),
        _unary("log2", jnp.log2, lambda x: _log(x, lambda x: mpmath.log(x, 2)), span=(0.4, 3), points=(2.0, 1024.0, 2.0**-20)),
        _unary("log1p", lax.log1p, _log1p, span=(-1, 3), points=(-1,)),
        _unary("sin", lax.sin, span=(-300, 300), points=ZEROS_OF_TRIGONOMETRY),
        _unary("cos", lax.cos, span=(-300, 300), points=ZEROS_OF_TRIGONOMETRY),
        _unary("tan", lax.tan, span=(-300, 300), points=ZEROS_OF_TRIGONOMETRY),
        _unary("asin", lax.asin, _asin, np.arcsin, span=(-1, 1), points=(0.5, -0.5)),
        _unary("acos", lax.acos, _acos, np.arccos, span=(-1, 1), points=(0.5, -0.5)),
        _unary("atan", lax.atan, None, np.arctan, span=(-5, 5), points=(0.414, 2.414)),
        _unary("sinh", lax.sinh, span=(-100, 100), points=(89.4159, 710.4758)),
        _unary("cosh", lax.cosh, span=(-100, 100), points=(89.4159, 710.4758)),
        _unary("tanh", lax.tanh, span=(-22, 22), points=(0.55, 9.01, 19.06)),
        _unary("asinh", lax.asinh, None, np.arcsinh, span=(-10, 10), points=(2.0**30, 2.0**-13, 2.0**-28)),
        _unary("acosh", lax.acosh, _positive(mpmath.acosh, 1), np.arccosh, span=(1, 10), points=(2.0**30,)),
        _unary("atanh", lax.atanh, _atanh, np.arctanh, span=(-1, 1), points=(0.4,)),
        _unary("erf", lax.erf, _erf, _double_only(scipy.special.erf), span=(-6, 6), points=(1, 4, 5.92)),
        _unary("erfc", lax.erfc, _erfc, _double_only(scipy.special.erfc), span=(-6, 28), points=(9.19, 10.05, 26.54, 27.2)),
        _unary("logistic", lax.logistic, _exact_logistic, _logistic, span=(-110, 40), points=(-87.3, -103.9, -708.4, -745.1)),
        _unary("sqrt", lax.sqrt, _positive(mpmath.sqrt)),
        _unary("rsqrt", lax.rsqrt, _rsqrt, lambda x: 1 / np.sqrt(x)),
        _unary("cbrt", lax.cbrt, _cbrt),
        Function("pow", lax.pow, _pow, np.power, span=(0.1, 10), operands=2),
        Function("atan2", lax.atan2, mpmath.atan2, np.arctan2, operands=2),
    )
}
