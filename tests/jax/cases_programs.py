"""Whole programs of the kind that are written on the first day: learning, simulation, inference, search, images."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen
from harness import Case, Tolerance, booleans, integers, normal, normals, together, uniform, values
from jax import lax
from jax.experimental import sparse
from jax.experimental.ode import odeint
from jax.flatten_util import ravel_pytree

# Many steps, each of which rounds and passes its rounding on.
STEPS = Tolerance(1e-4, 1e-4)
KEY = lambda: jax.random.key(3)
IMAGES = normals((8, 8, 8, 1))


class Convolutional(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.max_pool(linen.relu(linen.Conv(6, (3, 3))(x)), (2, 2), (2, 2))
        x = linen.avg_pool(linen.gelu(linen.Conv(8, (3, 3), strides=2)(x)), (2, 2))
        return linen.Dense(10)(x.reshape(x.shape[0], -1))


class Residual(linen.Module):
    @linen.compact
    def __call__(self, x):
        for _ in range(2):
            y = linen.Conv(4, (3, 3), use_bias=False)(linen.relu(linen.GroupNorm(num_groups=2)(x)))
            x = x + linen.ConvTranspose(4, (3, 3))(y)
        return x.mean((1, 2))


def convolutional_training(images, labels):
    model, optimizer = Convolutional(), optax.adamw(1e-2)
    parameters = model.init(KEY(), images)

    def step(carry, _):
        parameters, state = carry
        loss = lambda p: optax.softmax_cross_entropy_with_integer_labels(model.apply(p, images), labels).mean()
        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradients, state, parameters)
        return (optax.apply_updates(parameters, updates), state), value

    return lax.scan(step, (parameters, optimizer.init(parameters)), length=4)[1]


def batch_norm_with_state(images):
    model = linen.BatchNorm(use_running_average=False, momentum=0.9)
    variables = model.init(KEY(), images)
    loss = lambda p: (lambda out, state: (jnp.sum(jnp.sin(out)), state))(
        *model.apply({"params": p, "batch_stats": variables["batch_stats"]}, images, mutable=["batch_stats"])
    )
    return jax.value_and_grad(loss, has_aux=True)(variables["params"])


def dropout_network(x):
    model = linen.Sequential([linen.Dense(16), linen.relu, linen.Dropout(0.4, deterministic=False), linen.Dense(3)])
    variables = model.init({"params": KEY(), "dropout": KEY()}, x)
    return jax.grad(lambda v: jnp.sum(model.apply(v, x, rngs={"dropout": jax.random.key(5)}) ** 2))(variables)


def dense(weights, x):
    for w in weights[:-1]:
        x = jax.nn.leaky_relu(x @ w)
    return x @ weights[-1]


WEIGHTS = lambda *sizes: lambda rng: ([np.float32(rng.standard_normal(s) / np.sqrt(s[0])) for s in zip(sizes, sizes[1:])],)


def gan_step(generator, discriminator, real):
    noise = jax.random.normal(KEY(), (real.shape[0], 4))
    fool = lambda g: jnp.mean(jax.nn.softplus(-dense(discriminator, dense(g, noise))))
    tell = lambda d: jnp.mean(jax.nn.softplus(-dense(d, real)) + jax.nn.softplus(dense(d, dense(generator, noise))))
    return jax.value_and_grad(fool)(generator), jax.value_and_grad(tell)(discriminator)


def variational_step(encoder, decoder, x):
    def loss(both):
        mean, log_variance = jnp.split(dense(both[0], x), 2, axis=-1)
        z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(KEY(), mean.shape)
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance), -1)
        return jnp.mean(jnp.sum((dense(both[1], z) - x) ** 2, -1) + divergence)

    return jax.value_and_grad(loss)((encoder, decoder))


# Cash and Karp's pairs of orders 4 and 5.
TABLEAU = np.float32([[0, 0, 0, 0, 0], [1 / 5, 0, 0, 0, 0], [3 / 40, 9 / 40, 0, 0, 0], [3 / 10, -9 / 10, 6 / 5, 0, 0], [-11 / 54, 5 / 2, -70 / 27, 35 / 27, 0], [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096]])
FIFTH = np.float32([37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771])
FOURTH = np.float32([2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])


def adaptive_runge_kutta(y0, rate):
    field = lambda y: jnp.stack([y[1], rate * (1 - y[0] ** 2) * y[1] - y[0]])

    def step(state):
        t, h, y = state
        slopes = []
        for row in range(6):
            slopes.append(field(y + h * sum((TABLEAU[row, n] * k for n, k in enumerate(slopes)), jnp.zeros_like(y))))
        slopes = jnp.stack(slopes)
        error = jnp.max(jnp.abs(h * ((FIFTH - FOURTH) @ slopes))) / 1e-3
        accepted = error <= 1
        scale = jnp.clip(0.9 * (error + 1e-10) ** -0.2, 0.2, 5.0)
        return jnp.where(accepted, t + h, t), h * scale, jnp.where(accepted, y + h * (FIFTH @ slopes), y)

    return lax.while_loop(lambda s: s[0] < 2.0, step, (jnp.float32(0), jnp.float32(0.1), y0))[2]


def lotka_volterra(y0, rates):
    field = lambda y, t, a, b: jnp.array([a * y[0] - b * y[0] * y[1], b * y[0] * y[1] - y[1]])
    times = jnp.linspace(0.0, 1.0, 5)
    return jax.value_and_grad(lambda r: jnp.sum(odeint(field, y0, times, r[0], r[1])))(rates)


def hamiltonian_sampler(start):
    density = lambda x: -0.5 * jnp.sum(x**2 * jnp.array([1.0, 4.0])) - 0.1 * jnp.sum(x**4)

    def transition(x, key):
        first, second = jax.random.split(key)
        momentum = jax.random.normal(first, x.shape)

        def leap(_, state):
            x, p = state
            p = p + 0.05 * jax.grad(density)(x)
            x = x + 0.1 * p
            return x, p + 0.05 * jax.grad(density)(x)

        new, p = lax.fori_loop(0, 5, leap, (x, momentum))
        change = density(new) - density(x) - 0.5 * jnp.sum(p**2) + 0.5 * jnp.sum(momentum**2)
        x = jnp.where(jnp.log(jax.random.uniform(second)) < change, new, x)
        return x, x

    return lax.scan(transition, start, jax.random.split(KEY(), 20))[1]


def k_means(points):
    def step(_, centers):
        nearest = jnp.argmin(jnp.sum((points[:, None] - centers) ** 2, -1), 1)
        total = jax.ops.segment_sum(points, nearest, num_segments=4)
        count = jax.ops.segment_sum(jnp.ones(len(points)), nearest, num_segments=4)
        return jnp.where(count[:, None] > 0, total / jnp.maximum(count, 1)[:, None], centers)

    return lax.fori_loop(0, 8, step, points[:4])


def principal_component(x):
    centered = x - x.mean(0)
    covariance = centered.T @ centered / len(x)
    return lax.fori_loop(0, 30, lambda _, v: covariance @ v / jnp.linalg.norm(covariance @ v), jnp.ones(x.shape[1]) / 3)


def gaussian_process(x, y, query):
    kernel = lambda a, b, s: jnp.exp(-0.5 * ((a[:, None] - b) / s) ** 2)

    def likelihood(s):
        lower = jnp.linalg.cholesky(kernel(x, x, s) + 0.5 * jnp.eye(len(x)))
        whitened = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
        return -0.5 * whitened @ whitened - jnp.sum(jnp.log(jnp.diag(lower)))

    weights = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(kernel(x, x, 1.0) + 0.5 * jnp.eye(len(x))), y)
    return kernel(query, x, 1.0) @ weights, jax.value_and_grad(likelihood)(jnp.float32(0.7))


def kalman_filter(observations):
    move, observe = jnp.array([[1.0, 0.1], [0.0, 1.0]]), jnp.array([[1.0, 0.0]])

    def step(state, z):
        mean, covariance = state
        mean, covariance = move @ mean, move @ covariance @ move.T + 0.01 * jnp.eye(2)
        innovation = observe @ covariance @ observe.T + 0.5
        gain = covariance @ observe.T @ jnp.linalg.inv(innovation)
        mean = mean + gain @ (z - observe @ mean)
        return (mean, (jnp.eye(2) - gain @ observe) @ covariance), mean

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), observations)


def automaton(cells):
    rule = jnp.array([(110 >> n) & 1 for n in range(8)], jnp.uint8)
    step = lambda row, _: (rule[4 * jnp.roll(row, 1) + 2 * row + jnp.roll(row, -1)], row)
    return lax.scan(step, cells.astype(jnp.uint8), length=20)[1]


def life(board):
    def step(board, _):
        neighbours = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((neighbours == 3) | (board & (neighbours == 2))).astype(board.dtype), neighbours.sum()

    return lax.scan(step, board.astype(jnp.int32), length=10)


def mandelbrot():
    c = jnp.linspace(-2, 0.5, 24)[None, :] + 1j * jnp.linspace(-1, 1, 16)[:, None]

    def step(_, state):
        z, count = state
        inside = z.real**2 + z.imag**2 < 4
        return jnp.where(inside, z * z + c, z), count + inside

    return lax.fori_loop(0, 15, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def bodies(position, velocity):
    def acceleration(x):
        apart = x[None] - x[:, None]
        return jnp.sum(apart / (jnp.sum(apart**2, -1, keepdims=True) + 0.1) ** 1.5, 1)

    def step(state, _):
        x, v = state
        v = v + 0.01 * acceleration(x)
        return (x + 0.01 * v, v), 0.5 * jnp.sum(v**2)

    return lax.scan(step, (position, velocity), length=20)


def image_filters(image):
    blur = jnp.outer(jnp.array([1.0, 2, 1]), jnp.array([1.0, 2, 1])) / 16
    edges = [jax.scipy.signal.convolve2d(image, k, mode="same") for k in (jnp.array([[1.0, 0, -1]] * 3), blur)]
    median = jnp.median(jnp.stack([jnp.roll(image, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]), 0)
    return edges, median, jax.image.resize(image, (9, 21), "bilinear"), jnp.histogram(image, 8, (-2, 2))[0]


def beam_search(transitions, start):
    def step(state, _):
        scores, tokens, history, t = state
        scores, chosen = lax.top_k((scores[:, None] + jax.nn.log_softmax(transitions)[tokens]).ravel(), 3)
        beam, tokens = chosen // transitions.shape[0], chosen % transitions.shape[0]
        return (scores, tokens, history[beam].at[:, t].set(tokens), t + 1), scores

    first = (jnp.array([0.0, -jnp.inf, -jnp.inf]), jnp.full(3, start[0]), jnp.zeros((3, 6), jnp.int32), 0)
    return lax.scan(step, first, length=6)[0][:3]


def decode_greedily(embedding, qkv, out):
    """Attention over a growing cache, one token at a time, fed with its own choice."""
    size = embedding.shape[1]

    def step(state, t):
        token, keys, cached = state
        q, k, v = jnp.split(embedding[token] @ qkv, 3)
        keys, cached = keys.at[t].set(k), cached.at[t].set(v)
        scores = jnp.where(jnp.arange(8) <= t, keys @ q / np.sqrt(size), -jnp.inf)
        logits = embedding @ ((jax.nn.softmax(scores) @ cached) @ out)
        token = jnp.argmax(logits).astype(jnp.int32)
        return (token, keys, cached), (token, logits)

    return lax.scan(step, (jnp.int32(1), jnp.zeros((8, size)), jnp.zeros((8, size))), jnp.arange(8))[1]


def sinkhorn(cost):
    a, b = jnp.log(jnp.ones(cost.shape[0]) / cost.shape[0]), jnp.log(jnp.ones(cost.shape[1]) / cost.shape[1])

    def step(_, state):
        f, g = state
        f = a - jax.nn.logsumexp(g[None] - cost, axis=1)
        return f, b - jax.nn.logsumexp(f[:, None] - cost, axis=0)

    f, g = lax.fori_loop(0, 20, step, (jnp.zeros_like(a), jnp.zeros_like(b)))
    return jnp.exp(f[:, None] + g[None] - cost)


def heat_and_waves(field):
    laplacian = lambda u: sum(jnp.roll(u, s, a) for s in (1, -1) for a in (0, 1)) - 4 * u
    heat = lax.fori_loop(0, 20, lambda _, u: u + 0.1 * laplacian(u), field)
    wave = lax.fori_loop(0, 20, lambda _, s: (s[1], 2 * s[1] - s[0] + 0.1 * laplacian(s[1])), (field, field))[1]
    frequencies = jnp.fft.fftfreq(field.shape[0]) * 2 * jnp.pi
    squared = frequencies[:, None] ** 2 + jnp.fft.fftfreq(field.shape[1])[None] ** 2
    return heat, wave, jnp.fft.ifft2(jnp.fft.fft2(field) * jnp.exp(-squared)).real


def thomas_algorithm(lower, diagonal, upper, right):
    def forward(carry, row):
        a, b, c, d = row
        scale = 1 / (b - a * carry[0])
        return (c * scale, (d - a * carry[1]) * scale), (c * scale, (d - a * carry[1]) * scale)

    coefficients = lax.scan(forward, (0.0, 0.0), (lower, diagonal, upper, right))[1]
    return lax.scan(lambda x, row: (row[1] - row[0] * x,) * 2, 0.0, coefficients, reverse=True)[1]


def masked_lengths(x, lengths):
    mask = jnp.arange(x.shape[1]) < lengths[:, None]
    mean = jnp.sum(jnp.where(mask, x, 0), 1) / jnp.maximum(lengths, 1)
    return mean, jax.nn.softmax(x, where=mask), jnp.max(x, 1, where=mask, initial=-jnp.inf), jnp.cumsum(mask, 1)


def viterbi(emissions, transitions):
    def step(score, emission):
        options = score[:, None] + transitions
        return options.max(0) + emission, options.argmax(0)

    score, pointers = lax.scan(step, emissions[0], emissions[1:])
    return lax.scan(lambda s, p: (p[s], s), score.argmax(), pointers, reverse=True)[1]


def levenshtein(a, b):
    def row(previous, left):
        def cell(west, inputs):
            north, corner, letter = inputs
            value = jnp.minimum(jnp.minimum(west, north) + 1, corner + (left != letter))
            return value, value

        first = previous[0] + 1
        return jnp.concatenate([first[None], lax.scan(cell, first, (previous[1:], previous[:-1], b))[1]]), None

    return lax.scan(row, jnp.arange(len(b) + 1), a)[0][-1]


def sieve():
    def strike(n, prime):
        return jnp.where((jnp.arange(100) % n == 0) & (jnp.arange(100) > n), False, prime)

    return jnp.nonzero(lax.fori_loop(2, 10, strike, jnp.arange(100) > 1), size=25)[0]


def page_rank(links):
    matrix = sparse.BCOO.fromdense(links / jnp.maximum(links.sum(0), 1), nse=links.size)
    return lax.fori_loop(0, 20, lambda _, r: 0.85 * (matrix @ r) + 0.15 / len(links), jnp.ones(len(links)) / len(links))


def remembered(x, w):
    layer = jax.checkpoint(lambda x, w: jnp.tanh(x @ w))
    return jax.grad(lambda w: jnp.sum(lax.scan(lambda x, _: (layer(x, w), None), x, length=5)[0]))(w)


def meta_gradient(w, x, y):
    loss = lambda w, x: jnp.mean((jnp.tanh(x @ w) - y) ** 2)
    return jax.grad(lambda w: loss(w - 0.1 * jax.grad(loss)(w, x), x + 0.1))(w)


def per_example_gradients(w, x, y):
    loss = lambda w, x, y: (jnp.tanh(x @ w) - y) ** 2
    gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(w, x, y)
    return gradients, jax.hessian(lambda w: jnp.mean(jax.vmap(loss, (None, 0, 0))(w, x, y)))(w)


def newton(x):
    f = lambda x: jnp.sum(x**4 / 4 - x + 0.1 * x * jnp.roll(x, 1))
    return lax.fori_loop(0, 6, lambda _, x: x - jnp.linalg.solve(jax.hessian(f)(x), jax.grad(f)(x)), x)


def mixture_of_experts(x, gate, experts):
    weights, chosen = lax.top_k(jax.nn.softmax(x @ gate), 2)
    combine = jnp.zeros((len(x), experts.shape[0])).at[jnp.arange(len(x))[:, None], chosen].add(weights)
    return jnp.einsum("nd,edf,ne->nf", x, experts, combine)


def replay_buffer(items):
    def push(state, item):
        buffer, place = state
        return (lax.dynamic_update_index_in_dim(buffer, item, place % 5, 0), place + 1), buffer.sum()

    (buffer, _), sums = lax.scan(push, (jnp.zeros((5, 3)), 0), items)
    return buffer[jax.random.permutation(KEY(), 5)], sums


def value_iteration(rewards):
    def sweep(state):
        values, _ = state
        padded = jnp.pad(values, 1, mode="edge")
        options = jnp.stack([padded[2:, 1:-1], padded[:-2, 1:-1], padded[1:-1, 2:], padded[1:-1, :-2]])
        new = rewards + 0.9 * options.max(0)
        return new, jnp.abs(new - values).max()

    return lax.while_loop(lambda s: s[1] > 1e-2, sweep, (rewards, jnp.float32(1)))[0]


def low_rank_adaptation(w, a, b, x):
    return jax.grad(lambda ab: jnp.sum((x @ (w + ab[0] @ ab[1])) ** 2))((a, b))


def quantize(x):
    scale = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
    narrow = jnp.round(x / scale).astype(jnp.int8)
    exact = lax.dot_general(narrow, narrow, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32)
    return narrow, exact, exact * scale * scale.T


def mixed_precision(x, w):
    loss = lambda w: jnp.mean((x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32) ** 2)
    return jax.grad(loss)(w)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a):
    return lax.while_loop(lambda s: jnp.abs(s[0] - s[1]) > 1e-6, lambda s: (f(a, s[0]), s[0]), (f(a, 1.0), 1.0))[0]


fixed_point.defvjp(
    lambda f, a: (lambda x: (x, (a, x)))(fixed_point(f, a)),
    lambda f, saved, g: (jax.vjp(lambda a: f(a, saved[1]), saved[0])[1](g / (1 - jax.grad(f, 1)(saved[0], saved[1])))[0],),
)


def flat_optimizer(parameters):
    flat, back = ravel_pytree(parameters)
    return jax.tree.map(jnp.square, back(flat * 2)), flat


CASES = [
    Case("program_adaptive_runge_kutta", jax.vmap(adaptive_runge_kutta, (0, None)), together(normal(5, 2), values(np.float32(1.5))), STEPS),
    Case("program_odeint_gradient", lotka_volterra, values(np.float32([1, 0.5]), np.float32([1.2, 0.8])), STEPS),
    Case("program_k_means", k_means, normal(60, 2)),
    Case("program_kalman_filter", kalman_filter, normal(20, 1)),
    Case("program_life", life, booleans((16, 16))),
    Case("program_mandelbrot", mandelbrot),
    Case("program_beam_search", beam_search, together(normal(9, 9), integers((1,), low=0, high=9))),
    Case("program_decode_greedily", decode_greedily, normals((11, 8), (8, 24), (8, 8))),
    Case("program_thomas_algorithm", thomas_algorithm, lambda rng: (np.ones(9, np.float32), np.full(9, 4, np.float32), np.ones(9, np.float32), np.float32(rng.standard_normal(9)))),
    Case("program_masked_lengths", masked_lengths, together(normal(5, 9), integers((5,), low=1, high=9))),
    Case("program_viterbi", viterbi, normals((12, 5), (5, 5))),
    Case("program_levenshtein", levenshtein, integers((9,), (7,), low=0, high=4)),
    Case("program_sieve", sieve),
    Case("program_page_rank", page_rank, lambda rng: (np.float32(rng.integers(0, 2, (9, 9))),)),
    Case("program_checkpointed_scan", remembered, normals((4, 6), (6, 6))),
    Case("program_newton", newton, lambda rng: (np.float32(1 + 0.1 * rng.standard_normal(4)),)),
    Case("program_mixture_of_experts", mixture_of_experts, normals((10, 6), (6, 4), (4, 6, 5))),
    Case("program_replay_buffer", replay_buffer, normal(12, 3)),
    Case("program_fixed_point_gradient", jax.grad(lambda a: fixed_point(lambda a, x: 0.5 * (x + a / x), a)), values(np.float32(3))),
]
# XLA:CPU takes long to compile these, or their parts are in other tables.
if os.environ.get("KILN_FULL_TESTS") == "1":
    CASES += [
        Case("program_convolutional_training", convolutional_training, together(IMAGES, integers((8,), low=0, high=10)), STEPS),
        Case("program_residual_network", lambda x: jax.grad(lambda x: jnp.sum(Residual().init_with_output(KEY(), x)[0] ** 2))(x), normal(2, 6, 6, 4), STEPS),
        Case("program_batch_norm_with_state", batch_norm_with_state, IMAGES),
        Case("program_dropout", dropout_network, normal(6, 8)),
        Case("program_gan_step", gan_step, together(WEIGHTS(4, 8, 6), WEIGHTS(6, 8, 1), normal(10, 6))),
        Case("program_variational_step", variational_step, together(WEIGHTS(12, 8, 8), WEIGHTS(4, 8, 12), normal(10, 12)), STEPS),
        Case("program_hamiltonian_sampler", hamiltonian_sampler, normal(2), STEPS),
        Case("program_principal_component", principal_component, lambda rng: (np.float32(rng.standard_normal((40, 6)) * np.arange(1, 7)),), STEPS),
        Case("program_gaussian_process", gaussian_process, normals((12,), (12,), (5,)), STEPS),
        Case("program_automaton", automaton, booleans((40,))),
        Case("program_bodies", bodies, normals((7, 3), (7, 3))),
        Case("program_image_filters", image_filters, normal(12, 14)),
        Case("program_ctc_loss", lambda x, y: jax.value_and_grad(lambda x: optax.ctc_loss(x, jnp.zeros((2, 7)), y, jnp.zeros((2, 3))).sum())(x), together(normal(2, 7, 5), integers((2, 3), low=1, high=5)), STEPS),
        Case("program_sinkhorn", lambda c: jax.value_and_grad(lambda c: jnp.sum(sinkhorn(c) * c))(c), uniform(6, 8), STEPS),
        Case("program_heat_and_waves", heat_and_waves, normal(12, 16)),
        Case("program_fft_convolution", lambda a, b: jnp.fft.irfft(jnp.fft.rfft(a, 63) * jnp.fft.rfft(b, 63), 63), normals((40,), (24,))),
        Case("program_meta_gradient", meta_gradient, normals((6,), (9, 6), (9,))),
        Case("program_per_example_gradients", per_example_gradients, normals((6,), (9, 6), (9,))),
        Case("program_value_iteration", value_iteration, normal(6, 7), STEPS),
        Case("program_low_rank_adaptation", low_rank_adaptation, normals((8, 6), (8, 2), (2, 6), (5, 8)), STEPS),
        Case("program_quantize", quantize, normal(6, 32)),
        Case("program_mixed_precision", mixed_precision, normals((6, 32), (32, 8)), Tolerance(2**-6, 2**-6)),
        Case("program_flat_optimizer", flat_optimizer, lambda rng: ({"a": np.float32(rng.standard_normal((3, 4))), "b": [np.float32(rng.standard_normal(2))]},)),
        Case("program_polynomial_scan", lambda a, x: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, x), axis=1), normals((3, 33), (3, 33))),
    ]
