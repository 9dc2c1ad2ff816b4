"""Cumulative ops, sorts and selections."""

import jax
import jax.numpy as jnp
import numpy as np

from . import add
from .inputs import integers, normal, uniform

add("scan", "cumsum_1m", jnp.cumsum, normal(1 << 20), tolerance=1e-3)
add("scan", "cumsum_rows", lambda x: jnp.cumsum(x, 1), normal(1024, 1024), tolerance=1e-3)
add("scan", "cumsum_columns", lambda x: jnp.cumsum(x, 0), normal(1024, 1024), tolerance=1e-3)
add("scan", "cumprod_rows", lambda x: jnp.cumprod(x, 1), uniform(512, 512, low=0.9, high=1.1), tolerance=1e-3)
add("scan", "cummax_1m", jax.lax.cummax, normal(1 << 20))
add("scan", "cumlogsumexp_64k", jax.lax.cumlogsumexp, normal(1 << 16), tolerance=1e-3)
add("scan", "associative_add_1m", lambda x: jax.lax.associative_scan(jnp.add, x), normal(1 << 20), tolerance=1e-3)
add("scan", "associative_linear", lambda a, b: jax.lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b)),
    uniform(2048, 64, low=0.5), normal(2048, 64))  # fmt: skip
add("scan", "cumsum_reverse_int", lambda x: jax.lax.cumsum(x, reverse=True), integers(1 << 20))

add("sort", "sort_1m", jnp.sort, normal(1 << 20))
add("sort", "sort_1k", jnp.sort, normal(1 << 10))
add("sort", "sort_rows_1024", lambda x: jnp.sort(x, 1), normal(1024, 1024))
add("sort", "sort_rows_32", lambda x: jnp.sort(x, 1), normal(1 << 15, 32))
add("sort", "sort_columns", lambda x: jnp.sort(x, 0), normal(1024, 512))
add("sort", "sort_int_1m", jnp.sort, integers(1 << 20, low=-(10**6), high=10**6))
add("sort", "argsort_1m", jnp.argsort, normal(1 << 20))
add("sort", "argsort_rows", lambda x: jnp.argsort(x, 1), normal(1024, 1024))
add("sort", "median_1m", jnp.median, normal(1 << 20))
add("sort", "quantile", lambda x: jnp.quantile(x, np.array([0.1, 0.5, 0.9]), axis=1), normal(512, 1000))
add("sort", "top_k_1m", lambda x: jax.lax.top_k(x, 100), normal(1 << 20))
add("sort", "top_k_rows", lambda x: jax.lax.top_k(x, 10), normal(256, 50257))
add("sort", "searchsorted", jnp.searchsorted, lambda: np.sort(normal(1 << 16)()), normal(1 << 16, seed=1))
add("sort", "unique", lambda x: jnp.unique(x, size=1000, fill_value=0), integers(1 << 16, high=1000))
add("sort", "permutation_1m", lambda key: jax.random.permutation(jax.random.wrap_key_data(key), 1 << 20), lambda: np.array([1, 2], np.uint32))
add("sort", "lexsort", lambda a, b: jnp.lexsort((a, b)), integers(1 << 17, high=100), integers(1 << 17, high=1000, seed=1))

add("random", "bits_threefry_16m", lambda key: jax.random.bits(jax.random.wrap_key_data(key), (1 << 24,)), lambda: np.array([1, 2], np.uint32))
add("random", "uniform_1m", lambda key: jax.random.uniform(jax.random.wrap_key_data(key), (1 << 20,)), lambda: np.array([1, 2], np.uint32))
add("random", "normal_1m", lambda key: jax.random.normal(jax.random.wrap_key_data(key), (1 << 20,)), lambda: np.array([1, 2], np.uint32))
add("random", "bootstrap", lambda key, x: x[jax.random.randint(jax.random.wrap_key_data(key), (100, 1000), 0, 1000)].mean(1).std(0),
    lambda: np.array([1, 2], np.uint32), normal(1000, 20), tolerance=1e-3)  # fmt: skip
add("random", "dropout", lambda key, x: jnp.where(jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape), x / 0.9, 0),
    lambda: np.array([1, 2], np.uint32), normal(1024, 1024))  # fmt: skip
add("random", "categorical", lambda key, x: jax.random.categorical(jax.random.wrap_key_data(key), x), lambda: np.array([1, 2], np.uint32),
    normal(256, 1000))  # fmt: skip
add("random", "gamma_10k", lambda key: jax.random.gamma(jax.random.wrap_key_data(key), 2.5, (10000,)), lambda: np.array([1, 2], np.uint32))
add("random", "split_1k", lambda key: jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key), 1000)),
    lambda: np.array([1, 2], np.uint32))  # fmt: skip
