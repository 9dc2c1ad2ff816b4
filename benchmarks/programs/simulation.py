"""Small linear algebra, physics and signal programs."""

import jax
import jax.numpy as jnp

from . import add, program
from .inputs import normal, positive_definite, uniform

add("linalg", "cholesky_256", jnp.linalg.cholesky, positive_definite(256), tolerance=1e-3)
add("linalg", "cholesky_batched_16", jnp.linalg.cholesky, positive_definite(1000, 16), tolerance=1e-3)
add("linalg", "solve_3x3", lambda a, b: jnp.linalg.solve(a, b[..., None]), positive_definite(10000, 3), normal(10000, 3), tolerance=1e-3)
add("linalg", "solve_35x35", lambda a, b: jnp.linalg.solve(a, b[..., None]), positive_definite(64, 35), normal(64, 35), tolerance=1e-3)
add("linalg", "triangular_solve_vector", lambda a, b: jax.scipy.linalg.solve_triangular(jnp.tril(a), b, lower=True), positive_definite(512), normal(512),
    tolerance=1e-3)  # fmt: skip
add("linalg", "inverse_128", jnp.linalg.inv, positive_definite(128), tolerance=1e-3)
add("linalg", "determinant_batched", jnp.linalg.det, positive_definite(1000, 8), tolerance=1e-3)
add("linalg", "qr_128", lambda a: jnp.abs(jnp.linalg.qr(a)[1]), normal(128, 64), tolerance=1e-3)
add("linalg", "eigh_64", lambda a: jnp.linalg.eigh(a)[0], positive_definite(64), tolerance=1e-3)
add("linalg", "svd_64", lambda a: jnp.linalg.svd(a, compute_uv=False), normal(64, 64), tolerance=1e-3)
add("linalg", "expm_32", jax.scipy.linalg.expm, normal(32, 32, scale=0.2), tolerance=1e-3)
add("linalg", "tridiagonal_solve", lambda d, b: jax.lax.linalg.tridiagonal_solve(jnp.ones_like(d).at[0].set(0), d + 4, jnp.ones_like(d).at[-1].set(0), b[:, None]),
    uniform(4096), normal(4096))  # fmt: skip
add("linalg", "power_iteration", lambda a, v: jax.lax.fori_loop(0, 100, lambda i, v: (a @ v) / jnp.linalg.norm(a @ v), v), positive_definite(256), normal(256),
    tolerance=1e-2)  # fmt: skip

add("fft", "fft_4096_rows", lambda x: jnp.abs(jnp.fft.fft(x)), normal(256, 4096), tolerance=1e-3)
add("fft", "rfft_2d", lambda x: jnp.abs(jnp.fft.rfft2(x)), normal(512, 512), tolerance=1e-3)
add("fft", "fft_prime", lambda x: jnp.abs(jnp.fft.fft(x)), normal(64, 1009), tolerance=1e-3)
add("fft", "fft_columns", lambda x: jnp.abs(jnp.fft.fft(x, axis=0)), normal(64, 64, 64), tolerance=1e-3)
add("fft", "convolve", lambda x, k: jax.scipy.signal.fftconvolve(x, k, "same"), normal(1 << 16), normal(501), tolerance=1e-3)


def n_body_step(position, velocity, mass):
    delta = position[None] - position[:, None]
    inverse = jax.lax.rsqrt((delta**2).sum(-1) + 1e-3) ** 3
    velocity = velocity + 1e-3 * (delta * (inverse * mass[None])[..., None]).sum(1)
    return position + 1e-3 * velocity, velocity


@program("simulation", tolerance=1e-3)
def n_body_1024():
    return n_body_step, (normal(1024, 3)(), normal(1024, 3, seed=1)(), uniform(1024)())


@program("simulation", tolerance=1e-3)
def n_body_64_loop():
    def run(p, v, m):
        return jax.lax.fori_loop(0, 100, lambda i, s: n_body_step(*s, m), (p, v))

    return run, (normal(64, 3)(), normal(64, 3, seed=1)(), uniform(64)())


@program("simulation", tolerance=1e-2)
def lennard_jones():
    def energy(position):
        delta = position[None] - position[:, None]
        squared = (delta**2).sum(-1) + jnp.eye(len(position)) * 1e6
        inverse = 1 / squared**3
        return (4 * (inverse**2 - inverse)).sum() / 2

    grid = jnp.stack(jnp.meshgrid(*[jnp.arange(8.0)] * 3), -1).reshape(-1, 3) * 1.2
    return jax.value_and_grad(energy), (jax.device_get(grid) + normal(512, 3, scale=0.02)(),)


@program("simulation", tolerance=1e-3)
def heat_stencil():
    def step(i, u):
        return u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u)

    return (lambda u: jax.lax.fori_loop(0, 50, step, u)), (normal(512, 512)(),)


@program("simulation", tolerance=1e-3)
def wave_interior():
    def step(i, state):
        u, previous = state
        laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].set(2 * u[1:-1, 1:-1] - previous[1:-1, 1:-1] + 0.1 * laplacian), u

    return (lambda u: jax.lax.fori_loop(0, 50, step, (u, u))), (normal(256, 256)(),)


@program("simulation", tolerance=1e-3)
def gray_scott():
    def around(a):
        return jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1) - 4 * a

    def step(i, state):
        u, v = state
        reaction = u * v * v
        return u + 0.16 * around(u) - reaction + 0.06 * (1 - u), v + 0.08 * around(v) + reaction - 0.122 * v

    return (lambda u, v: jax.lax.fori_loop(0, 50, step, (u, v))), (uniform(256, 256)(), uniform(256, 256, seed=1)())


@program("simulation", tolerance=1e-3)
def jacobi_until():
    def run(start, source):
        def step(state):
            p, rounds, _ = state
            inside = 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - source[1:-1, 1:-1])
            q = p.at[1:-1, 1:-1].set(inside)
            return q, rounds + 1, jnp.max(jnp.abs(q - p))

        return jax.lax.while_loop(lambda s: (s[1] < 100) & (s[2] > 1e-8), step, (start, 0, jnp.float32(1)))[0]

    return run, (uniform(256, 256)(), uniform(256, 256, seed=1)())


@program("simulation", tolerance=1e-3)
def cavity_flow():
    def across(a):
        return a[1:-1, 2:] - a[1:-1, :-2]

    def along(a):
        return a[2:, 1:-1] - a[:-2, 1:-1]

    def around(a):
        return a[1:-1, 2:] + a[1:-1, :-2] + a[2:, 1:-1] + a[:-2, 1:-1] - 4 * a[1:-1, 1:-1]

    def step(i, state):
        u, v, p = state
        mean = 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2])
        p = p.at[1:-1, 1:-1].set(mean - 0.025 * (across(u) + along(v)))
        p = p.at[:, -1].set(p[:, -2]).at[0, :].set(p[1, :]).at[:, 0].set(p[:, 1]).at[-1, :].set(0.0)

        def moved(a, pressure):
            carried = u[1:-1, 1:-1] * across(a) + v[1:-1, 1:-1] * along(a)
            return a.at[1:-1, 1:-1].add(0.01 * (around(a) - carried - pressure))

        new_u, new_v = moved(u, across(p)), moved(v, along(p))
        new_u = new_u.at[0, :].set(0).at[:, 0].set(0).at[:, -1].set(0).at[-1, :].set(1)
        new_v = new_v.at[0, :].set(0).at[-1, :].set(0).at[:, 0].set(0).at[:, -1].set(0)
        return new_u, new_v, p

    arrays = tuple(uniform(128, 128, seed=seed)() for seed in range(3))
    return (lambda u, v, p: jax.lax.fori_loop(0, 50, step, (u, v, p))), arrays


@program("simulation", tolerance=1e-3)
def heat_3d():
    def step(u, _):
        inside = u[1:-1, 1:-1, 1:-1]
        sides = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        sides += u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
        return u + 0.1 * jnp.pad(sides - 6 * inside, 1), u.sum()

    return (lambda u: jax.lax.scan(step, u, None, length=30)), (normal(64, 64, 64)(),)


@program("simulation", tolerance=1e-3)
def maxwell():
    def curl(f, s):
        parts = ((1, 1, 2), (1, 2, 0), (1, 0, 1))
        return jnp.stack([a * (s * (jnp.roll(f[k], -s, j) - f[k]) - s * (jnp.roll(f[j], -s, k) - f[j])) for a, j, k in parts])

    def step(i, fields):
        e, h = fields
        e = e + 0.1 * curl(h, -1)
        return e, h - 0.1 * curl(e, 1)

    return (lambda e, h: jax.lax.fori_loop(0, 10, step, (e, h))), (normal(3, 48, 48, 48)(), normal(3, 48, 48, 48, seed=1)())


@program("simulation")
def maxwell_yee():
    """A wave between walls, where the fields have places of their own (Yee), with a source and a point that is watched."""

    def step(fields, t):
        e, x, y = fields
        x = x.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
        y = y.at[:-1].add(0.5 * (e[1:] - e[:-1]))
        e = e.at[1:, 1:].add(0.5 * (y[1:, 1:] - y[:-1, 1:] - x[1:, 1:] + x[1:, :-1]))
        e = e.at[128, 128].add(jnp.sin(0.1 * t))
        return (e, x, y), e[64, 64]

    return (lambda *fields: jax.lax.scan(step, fields, jnp.arange(50.0))), tuple(normal(256, 256, seed=i)() for i in range(3))


@program("simulation")
def game_of_life():
    def step(i, board):
        count = sum(jnp.roll(board, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
        return ((count == 3) | ((board == 1) & (count == 2))).astype(board.dtype)

    return (lambda b: jax.lax.fori_loop(0, 20, step, b)), ((uniform(512, 512)() > 0.6).astype("int32"),)


# A row's count of iterations moves by a few with the rounding of products and sums, since points at the border are chaotic:
# XLA:CPU contracts them, and is one off in three rows from what rounding every operation gives.
@program("simulation", tolerance=1e-3)
def mandelbrot():
    def run(x, y):
        c = x[None, :] + 1j * y[:, None]

        def step(i, state):
            z, n = state
            inside = jnp.abs(z) < 2
            return jnp.where(inside, z * z + c, z), n + inside

        return jax.lax.fori_loop(0, 50, step, (c, jnp.zeros(c.shape, jnp.int32)))[1].sum(1).astype(jnp.float32)

    return run, (uniform(512, low=-2, high=1)(), uniform(512, low=-1)())


@program("simulation", tolerance=1e-2)
def lorenz_rk4_batch():
    def field(s):
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s, _):
        k1 = field(s)
        k2 = field(s + 0.005 * k1)
        k3 = field(s + 0.005 * k2)
        k4 = field(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s[0]

    return (lambda s: jax.lax.scan(step, s, None, length=200)), (normal(3, 256)(),)


@program("simulation", tolerance=1e-2)
def mass_matrix():
    """Composite rigid bodies in a chain of 20 links: 3x3 products along the chain, then M = J^T I J."""

    def run(angle, mass):
        def rotation(a):
            c, s = jnp.cos(a), jnp.sin(a)
            return jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

        def link(carry, a):
            r = carry[0] @ rotation(a)
            p = carry[1] + r @ jnp.array([1.0, 0.0, 0.0])
            return (r, p), p

        def one(a, m):
            def position(a):
                return jax.lax.scan(link, (jnp.eye(3), jnp.zeros(3)), a)[1]

            jacobian = jax.jacfwd(position)(a)
            return jnp.einsum("kci,k,kcj->ij", jacobian, m, jacobian)

        return jax.vmap(one)(angle, mass)

    return run, (normal(32, 20)(), uniform(32, 20, low=0.5)())


@program("simulation")
def cart_pole_environments():
    def step(state, action):
        x, v, angle, spin = state
        force = jnp.where(action > 0, 10.0, -10.0)
        c, s = jnp.cos(angle), jnp.sin(angle)
        temporary = (force + 0.05 * spin**2 * s) / 1.1
        acceleration = (9.8 * s - c * temporary) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        linear = temporary - 0.05 * acceleration * c / 1.1
        new = jnp.stack([x + 0.02 * v, v + 0.02 * linear, angle + 0.02 * spin, spin + 0.02 * acceleration])
        done = (abs(new[0]) > 2.4) | (abs(new[2]) > 0.21)
        return jnp.where(done, jnp.zeros_like(new), new), done

    return (lambda s, a: jax.lax.scan(step, s, a)), (normal(4, 1024, scale=0.01)(), normal(100, 1024)())


@program("simulation", tolerance=1e-2)
def hmc_logistic():
    def run(q, p, x, y):
        def potential(q):
            return jnp.logaddexp(0, -y * (x @ q)).sum() + 0.5 * (q**2).sum()

        def leap(i, s):
            q, p = s
            p = p - 0.005 * jax.grad(potential)(q)
            q = q + 0.01 * p
            return q, p - 0.005 * jax.grad(potential)(q)

        return jax.lax.fori_loop(0, 20, leap, (q, p))

    labels = (uniform(1000)() > 0.5) * 2.0 - 1
    return run, (normal(25, scale=0.1)(), normal(25, seed=1)(), normal(1000, 25, scale=0.3)(), labels.astype("float32"))


@program("simulation", tolerance=1e-2)
def kalman_filter():
    def run(observations):
        a = jnp.array([[1.0, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])
        h = jnp.array([[1.0, 0, 0, 0], [0, 0, 1, 0]])

        def step(state, z):
            m, p = state
            m, p = a @ m, a @ p @ a.T + 0.01 * jnp.eye(4)
            s = h @ p @ h.T + 0.1 * jnp.eye(2)
            k = jnp.linalg.solve(s, h @ p).T
            return (m + k @ (z - h @ m), p - k @ h @ p), m

        return jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observations)[1]

    return run, (normal(500, 2)(),)


@program("simulation", tolerance=1e-3)
def sinkhorn():
    def run(x, y):
        cost = jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1))
        u = jnp.ones(len(x)) / len(x)

        def step(i, u):
            return 1 / (cost @ (1 / (cost.T @ u)))

        return jax.lax.fori_loop(0, 50, step, u)

    return run, (uniform(256, 2)(), uniform(256, 2, seed=1)())


@program("simulation", tolerance=1e-3)
def k_means():
    def run(points, centers):
        def step(i, centers):
            distance = ((points[:, None] - centers[None]) ** 2).sum(-1)
            member = jax.nn.one_hot(distance.argmin(1), len(centers))
            return member.T @ points / (member.sum(0)[:, None] + 1e-6)

        return jax.lax.fori_loop(0, 10, step, centers)

    points = normal(4096, 8)()
    return run, (points, points[:16].copy())
