"""Reductions, scans, sorting, windows and statistics."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, booleans, integers, normal, normals, together, uniform, values
from jax import lax

# Inputs with many equal keys: what a stable sort keeps in order.
TIES = integers((6, 50), low=0, high=6)
DISTINCT = lambda rng: (rng.permutation(120).astype(np.float32).reshape(4, 30),)


def _sums_among_holes(x):
    return [lax.reduce_window(x, np.float32(0), lax.add, (2, n), (1, 1), "SAME", (1, gap)) for gap in (2, 3, 8, 9) for n in (2, 3, 9)]


def window(operation, start, size, stride, padding="VALID"):
    return lambda x: lax.reduce_window(x, np.float32(start), operation, size, stride, padding)


def _segmented_sum(x, ids):
    return jax.ops.segment_sum(x, ids, num_segments=5)


def _two_outputs(x):
    def combine(a, b):
        keep = a[0] >= b[0]
        return jnp.where(keep, a[0], b[0]), jnp.where(keep, a[1], b[1])

    index = lax.broadcasted_iota(jnp.int32, x.shape, 1)
    return lax.reduce((x, index), (np.float32(-np.inf), np.int32(0)), combine, (1,))


CASES = [
    *[Case(f"narrow_row_statistics_{width}", lambda x: (x.argmax(1), x.var(1), jax.nn.softmax(x), x.sum(1), (x > 0).all(1)), normal(2000, width)) for width in (3, 5, 10, 12, 17)],
    Case("sum_all", jnp.sum, normal(17, 31)),
    Case("sum_rows", lambda x: x.sum(1), normal(17, 31)),
    Case("sum_columns", lambda x: x.sum(0), normal(17, 31)),
    Case("sum_middle", lambda x: x.sum(1), normal(5, 17, 9)),
    Case("sum_outer_dimensions", lambda x: x.sum((0, 2)), normal(5, 17, 9)),
    Case("sum_of_many", lambda x: x.sum(), uniform(100_000), Tolerance(1e-5, 0)),
    Case("sum_keepdims", lambda x: x / x.sum(-1, keepdims=True), uniform(9, 40, low=1)),
    Case("prod", jnp.prod, uniform(20, low=0.8, high=1.2)),
    Case("max_min", lambda x: (x.max(), x.min(0), x.max(1)), normal(12, 23)),
    Case("max_with_nan", lambda x: (x.max(), jnp.nanmax(x), jnp.nansum(x)), values(np.float32([1, np.nan, 3])), finite=False),
    Case("any_all", lambda x: (x.any(0), x.all(1)), booleans((6, 5))),
    Case("bitwise_reductions", lambda x: [lax.reduce(x, np.int32(i), f, (0,)) for f, i in [(lax.bitwise_and, -1), (lax.bitwise_or, 0), (lax.bitwise_xor, 0)]], integers((9, 4))),
    Case("argmax_argmin", lambda x: (x.argmax(), x.argmin(1), x.argmax(0)), normal(12, 23)),
    # The first of several NaNs, whatever the lanes that found them.
    Case("argmax_of_nans", lambda x: (x.argmax(1), x.argmin(1)), values(np.where(np.arange(4 * 67).reshape(4, 67) % 7 == 5, np.nan, 1).astype(np.float32))),
    # Divided over threads; indices that fall; an initial value that is the best.
    Case("argmax_of_many", lambda x: (x.argmax(), x[::-1].argmin(), jnp.abs(x).argmax(), (x * 0).argmax(), jnp.where(x > 3, jnp.nan, x).argmin()), normal(262144)),
    *[Case(f"argmax_of_integers_{form}", lambda x: (x.argmax(), x.argmin(1), x.argmax(0), x.ravel().argmin()), integers((300, 333), low=0, high=120, dtype=form)) for form in ("int32", "uint8", "int8", "uint32")],
    Case("argmax_of_booleans", lambda x: (x.argmax(), x.argmin(1), x.argmax(0)), booleans((300, 333))),
    Case("argmax_of_infinities", lambda x: (x.argmax(1), (-x).argmin(0)), values(np.full((5, 300), -np.inf, np.float32))),
    Case("argmax_of_ties", lambda x: (x.argmax(1), x.argmin(1)), TIES),
    Case("mean_var_std", lambda x: (x.mean(0), x.var(1), x.std()), normal(20, 30)),
    Case("median_quantile", lambda x: (jnp.median(x, axis=1), jnp.quantile(x, 0.3, axis=0)), normal(9, 11)),
    Case("average_weighted", lambda x, w: jnp.average(x, axis=0, weights=w), together(normal(9, 4), uniform(9, low=1, high=2))),
    Case("count_nonzero", jnp.count_nonzero, integers((40,), low=0, high=3)),
    Case("ptp", jnp.ptp, normal(40)),
    Case("norms", lambda x: (jnp.linalg.norm(x), jnp.linalg.norm(x, 1, axis=0), jnp.linalg.norm(x, jnp.inf, axis=1)), normal(8, 9)),
    Case("logsumexp", lambda x: (jax.nn.logsumexp(x), jax.nn.logsumexp(x, axis=1)), normal(8, 40, scale=10)),
    Case("logsumexp_weighted", lambda x, b: jax.scipy.special.logsumexp(x, axis=1, b=b), together(normal(8, 9), uniform(8, 9))),
    Case("reduce_custom", lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + b + 0 * a, (0,)), normal(9, 30)),
    Case("reduce_two_outputs", _two_outputs, DISTINCT),
    Case("reduce_gradient", jax.grad(lambda x: jnp.max(x, axis=1).sum() + jnp.prod(x[0, :5])), DISTINCT, Tolerance(1e-5, 1e-5)),
    Case("cumsum", lambda x: (x.cumsum(0), x.cumsum(1)), normal(9, 33)),
    Case("cumsum_reverse", lambda x: lax.cumsum(x, axis=0, reverse=True), normal(33)),
    Case("cumsum_int", jnp.cumsum, integers((1000,))),
    Case("cumprod", jnp.cumprod, uniform(30, low=0.9, high=1.1)),
    Case("cummax_cummin", lambda x: (lax.cummax(x, axis=1), lax.cummin(x, axis=0)), normal(7, 20)),
    Case("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=0), normal(20)),
    Case("cumsum_gradient", jax.grad(lambda x: jnp.sum(jnp.cumsum(x) ** 2)), normal(12), Tolerance(1e-5, 1e-4)),
    Case("diff", lambda x: jnp.diff(x, axis=1), normal(4, 9)),
    Case("trapezoid", lambda y: jnp.trapezoid(y, dx=0.1), normal(50)),
    Case("associative_scan", lambda x: lax.associative_scan(jnp.add, x), normal(37)),
    Case("associative_scan_reverse", lambda x: lax.associative_scan(jnp.multiply, x, reverse=True, axis=1), integers((3, 45), low=-2, high=3)),
    Case("associative_scan_bool", lambda x: lax.associative_scan(jnp.logical_or, x > 1.5), normal(100)),
    Case("associative_scan_not_associative", lambda x: lax.associative_scan(lambda a, b: a - b, x), normal(50)),
    Case("associative_scan_recurrence", lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b))[1],
         normals((67, 3), (67, 3))),
    Case("associative_scan_long_recurrence", lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), reverse=True),
         lambda rng: (np.float32(rng.uniform(0.9999, 1.0001, 40001)), np.float32(rng.standard_normal(40001)) + 1), Tolerance(1e-4, 0)),
    Case("associative_scan_pair", lambda x: (lax.associative_scan(jnp.add, x), lax.associative_scan(jnp.minimum, x)), normal(33)),
    Case("associative_scan_matrices", lambda x: lax.associative_scan(jnp.matmul, x), lambda rng: (np.float32(np.eye(3) + 0.1 * rng.standard_normal((9, 3, 3))),)),
    Case("sort", lambda x: (jnp.sort(x), jnp.sort(x, axis=0), jnp.sort(x, descending=True)), normal(7, 90)),
    Case("sort_large", jnp.sort, normal(5000)),
    Case("sort_special_values", jnp.sort, values(np.float32([np.nan, 1, -np.inf, 0.0, np.inf, -2, np.nan])), finite=False),
    Case("sort_int", jnp.sort, TIES),
    Case("argsort_stable", lambda x: jnp.argsort(x, axis=1), TIES),
    Case("argsort_booleans", lambda x: (jnp.argsort(x % 2 == 1, axis=1), jnp.argsort(x % 2 == 1, axis=1, descending=True), jnp.sort(x > 1)), TIES),
    Case("lexsort_booleans", lambda x: jnp.lexsort((x % 2 == 1, x > 1)), TIES),
    Case("argsort_descending", lambda x: jnp.argsort(x, axis=1, descending=True), TIES),
    Case("sort_by_key", lambda k, v: lax.sort((k, v), dimension=1, num_keys=1), together(TIES, normal(6, 50))),
    Case("sort_by_two_keys", lambda a, b, v: lax.sort((a, b, v), num_keys=2), together(integers((80,), (80,), low=0, high=4), normal(80))),
    Case("lexsort", lambda a, b: jnp.lexsort((a, b)), integers((80,), (80,), low=0, high=5)),
    Case("sort_gradient", jax.grad(lambda x: jnp.sum(jnp.sort(x) * jnp.arange(30.0))), normal(30)),
    Case("first_of_sorted", lambda x: (jnp.sort(x, axis=1)[:, :3], jnp.argsort(x, axis=1)[:, :4], jnp.argsort(x, axis=0)[:2]), TIES),
    Case("last_of_sorted", lambda x: (jnp.sort(x, axis=1)[:, -3:], jnp.argsort(x, axis=1)[:, -4:], jnp.argsort(x, axis=1, descending=True)[:, :5]), TIES),
    Case("first_of_special_values", lambda x: (jnp.sort(x)[:7], jnp.argsort(x)[-7:]), values(np.float32([np.nan, 1, -np.inf, 0.0, np.inf, -0.0, -np.nan] * 20)), finite=False),
    Case("first_of_sorted_by_key", lambda k, v: tuple(part[:, :6] for part in lax.sort((k, v), dimension=1, num_keys=1)), together(TIES, normal(6, 50))),
    Case("first_of_sorted_by_two_keys", lambda a, b, v: tuple(part[-5:] for part in lax.sort((a, b, v), num_keys=2)), together(integers((80,), (80,), low=0, high=4), normal(80))),
    Case("top_k", lambda x: lax.top_k(x, 5), DISTINCT),
    Case("top_k_of_ties", lambda x: lax.top_k(x, 7), TIES),
    Case("searchsorted", lambda a, v: (jnp.searchsorted(a, v), jnp.searchsorted(a, v, side="right")), values(np.arange(0, 20, 2), np.arange(-1, 21))),
    Case("unique_of_size", lambda x: jnp.unique(x, size=8, fill_value=-1), integers((40,), low=0, high=6)),
    Case("nonzero_of_size", lambda x: jnp.nonzero(x, size=20, fill_value=0), booleans((30,))),
    Case("bincount", lambda x: jnp.bincount(x, length=7), integers((90,), low=0, high=7)),
    Case("histogram", lambda x: jnp.histogram(x, bins=10, range=(-3, 3))[0], normal(300)),
    Case("digitize", lambda x: jnp.digitize(x, jnp.linspace(-2, 2, 9)), normal(60)),
    Case("segment_sum", _segmented_sum, together(normal(40, 3), integers((40,), low=0, high=5))),
    Case("segment_max", lambda x, i: jax.ops.segment_max(x, i, num_segments=5), together(normal(60), integers((60,), low=0, high=5))),
    Case("max_pool", window(lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1)), normal(2, 8, 6, 3)),
    Case("max_pool_same_padding", window(lax.max, -np.inf, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), normal(2, 7, 6, 3)),
    Case("average_pool", window(lax.add, 0, (1, 2, 2, 1), (1, 1, 1, 1)), normal(2, 8, 6, 3)),
    Case("sum_among_holes", _sums_among_holes, normal(5, 67)),
    *[Case(f"average_pool_gradient_{size}_{step}_{padding.lower()}", jax.grad(lambda x, w=window(lax.add, 0, (1, size, size), (1, step, step), padding): jnp.sum(w(x) ** 2)), normal(3, 24, 24)) for size, step in ((3, 2), (4, 2), (5, 3), (2, 3)) for padding in ("SAME", "VALID")],
    Case("max_pool_gradient", jax.grad(lambda x: jnp.sum(window(lax.max, -np.inf, (2, 2), (2, 2))(x) ** 2)), normal(8, 6)),
    Case("interp", lambda x, xp, fp: jnp.interp(x, xp, fp), lambda rng: (np.float32(rng.uniform(0, 9, 40)), np.arange(10, dtype=np.float32), np.float32(rng.standard_normal(10)))),
    Case("covariance", jnp.cov, normal(5, 60)),
    Case("correlation", jnp.corrcoef, normal(5, 60)),
]
