"""jax.random: bits are equal on every platform; numbers made from them by functions agree within the tolerance."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, values

SEED = values(np.uint32(42))
# The inverse error function near its ends multiplies the rounding of the logarithm inside it.
NORMAL = Tolerance(2e-5, 2e-5)


def draw(function):
    """A case's function that draws from a key made of the seed."""
    return lambda seed: function(jax.random.key(seed))


def row(name, function, tolerance=None):
    return Case(f"random_{name}", draw(function), SEED, tolerance)


def _split_and_fold(key):
    first, second, third = jax.random.split(key, 3)
    return first, second, jax.random.fold_in(third, 7), jax.random.split(jax.random.fold_in(key, 1), (2, 2))


def _monte_carlo(key):
    points = jax.random.uniform(key, (2000, 2))
    return jnp.mean(jnp.sum(points**2, 1) < 1)


def _dropout(key):
    keep = jax.random.bernoulli(key, 0.8, (32, 16))
    return jnp.where(keep, 1 / 0.8, 0.0)


def _words(name, function, tolerance=None):
    """A case that draws from blocks of several words."""
    return Case(f"random_words_{name}", lambda seed: function(jax.random.key(seed, impl="rbg")), SEED, tolerance)


CASES = [
    _words("bits", lambda key: (jax.random.bits(key, (33,)), jax.random.bits(key, (3,)), jax.random.bits(key, (4, 10)))),
    _words("bytes", lambda key: (jax.random.bits(key, (7, 9), jnp.uint8), jax.random.bits(key, (301,), jnp.uint16))),
    _words("uniform", lambda key: jnp.cos(jax.random.uniform(key, (37, 18)))),
    _words("dropout", lambda key: jnp.where(jax.random.bernoulli(key, 0.8, (33, 16)), jnp.arange(16.0), 0.0)),
    _words("sum", lambda key: jax.random.uniform(key, (37, 18)).sum(0)),
    _words("integers", lambda key: jax.random.randint(key, (1001,), 0, 100)),
    _words("normal", lambda key: jax.random.normal(key, (50, 10)), NORMAL),
    row("key", lambda key: key),
    row("split_and_fold_in", _split_and_fold),
    row("bits", lambda key: jax.random.bits(key, (33,))),
    row("bits_of_each_width", lambda key: [jax.random.bits(key, (9,), dtype) for dtype in (jnp.uint8, jnp.uint16, jnp.uint32)]),
    row("uniform", lambda key: jax.random.uniform(key, (100, 7))),
    row("uniform_range", lambda key: jax.random.uniform(key, (64,), minval=-3, maxval=5)),
    row("uniform_bfloat16", lambda key: jax.random.uniform(key, (64,), jnp.bfloat16)),
    row("normal", lambda key: jax.random.normal(key, (1000,)), NORMAL),
    row("truncated_normal", lambda key: jax.random.truncated_normal(key, -2, 2, (200,)), NORMAL),
    row("multivariate_by_factor", lambda key: jax.random.normal(key, (50, 3)) @ jnp.tril(jnp.ones((3, 3))), NORMAL),
    row("bernoulli", lambda key: jax.random.bernoulli(key, 0.3, (500,))),
    row("categorical", lambda key: jax.random.categorical(key, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(200,))),
    row("choice", lambda key: jax.random.choice(key, 20, (9,), replace=False)),
    row("choice_weighted", lambda key: jax.random.choice(key, 5, (50,), p=jnp.array([0.1, 0.2, 0.3, 0.2, 0.2]))),
    row("permutation", lambda key: jax.random.permutation(key, 100)),
    row("permutation_of_rows", lambda key: jax.random.permutation(key, jnp.arange(60).reshape(20, 3))),
    row("randint", lambda key: jax.random.randint(key, (100,), -50, 1000)),
    row("randint_uint8", lambda key: jax.random.randint(key, (100,), 0, 256, jnp.uint8)),
    row("exponential", lambda key: jax.random.exponential(key, (100,))),
    row("gumbel", lambda key: jax.random.gumbel(key, (100,)), NORMAL),
    row("laplace", lambda key: jax.random.laplace(key, (100,)), NORMAL),
    row("logistic", lambda key: jax.random.logistic(key, (100,)), NORMAL),
    row("cauchy_inner", lambda key: jnp.tanh(jax.random.cauchy(key, (100,))), NORMAL),
    row("rademacher", lambda key: jax.random.rademacher(key, (100,))),
    row("gamma", lambda key: jax.random.gamma(key, 2.5, (40,)), NORMAL),
    row("beta", lambda key: jax.random.beta(key, 2.0, 3.0, (40,)), NORMAL),
    row("poisson", lambda key: jax.random.poisson(key, 4.0, (40,))),
    row("dirichlet", lambda key: jax.random.dirichlet(key, jnp.ones(4), (10,)), NORMAL),
    row("orthogonal_signs", lambda key: jnp.sign(jax.random.normal(key, (40,)))),
    row("ball_radius", lambda key: jnp.linalg.norm(jax.random.ball(key, 3, shape=(20,)), axis=1), NORMAL),
    row("dropout_mask", _dropout),
    row("monte_carlo", _monte_carlo),
    row("vmapped_over_keys", lambda key: jax.vmap(lambda k: jax.random.uniform(k, (4,)))(jax.random.split(key, 5))),
    row("inside_scan", lambda key: jax.lax.scan(lambda k, _: (jax.random.split(k)[0], jax.random.uniform(k)), key, length=9)),
    Case("random_prng_key_legacy", lambda seed: jax.random.normal(jax.random.PRNGKey(seed), (9,)), SEED, NORMAL),
    Case("random_float64", draw(lambda key: jax.random.uniform(key, (50,), jnp.float64)), SEED, x64=True),
    Case("random_normal_float64", draw(lambda key: jax.random.normal(key, (50,), jnp.float64)), SEED, x64=True),
]
