"""Fields on grids, particles and other simulations."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)


def roll(x, *shifts):
    return jnp.roll(x, shifts, tuple(range(len(shifts))))


def laplacian(u):
    return sum(jnp.roll(u, s, a) for a in range(u.ndim) for s in (1, -1)) - 2 * u.ndim * u


def dx(u, axis):
    return (jnp.roll(u, -1, axis) - jnp.roll(u, 1, axis)) / 2


def steps(f, n=20):
    return lambda *state: lax.fori_loop(0, n, lambda _, s: f(*s), state)


def unrolled(f, n=4):
    def run(*state):
        for _ in range(n):
            state = f(*state)
        return state

    return run


def heat(u):
    return (u + 0.1 * laplacian(u),)


def wave(u, v):
    return u + 0.1 * v, v + 0.1 * laplacian(u + 0.1 * v)


def wave_leapfrog(u, old):
    return 2 * u - old + 0.1 * laplacian(u), u


def gray_scott(u, v):
    r = u * v * v
    return u + 0.16 * laplacian(u) - r + 0.035 * (1 - u), v + 0.08 * laplacian(v) + r - 0.1 * v


def burgers(u, v):
    return tuple(w - 0.1 * (u * dx(w, 0) + v * dx(w, 1)) + 0.01 * laplacian(w) for w in (u, v))


def shallow(h, u, v):
    return h - 0.1 * (dx(h * u, 0) + dx(h * v, 1)), u - 0.1 * dx(h, 0), v - 0.1 * dx(h, 1)


def advect(u, v, d):
    h, w = d.shape
    y, x = jnp.arange(h)[:, None] - u, jnp.arange(w) - v
    i, j = jnp.floor(y).astype(int), jnp.floor(x).astype(int)
    fy, fx = y - i, x - j
    at = lambda a, b: d[a % h, b % w]
    return (1 - fy) * ((1 - fx) * at(i, j) + fx * at(i, j + 1)) + fy * ((1 - fx) * at(i + 1, j) + fx * at(i + 1, j + 1))


def fluid(u, v, d):
    u, v, d = (advect(u, v, f) for f in (u, v, d))
    div = dx(u, 0) + dx(v, 1)
    p = lax.fori_loop(0, 20, lambda _, p: (laplacian(p) + 4 * p - div) / 4, jnp.zeros_like(u))
    return u - dx(p, 0), v - dx(p, 1), d


C = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1))
Q = (4 / 9,) + (1 / 9,) * 4 + (1 / 36,) * 4


def boltzmann(f):
    rho = f.sum(0)
    u = jnp.stack([sum(c[a] * f[i] for i, c in enumerate(C)) for a in (0, 1)]) / rho
    uu = 1.5 * (u * u).sum(0)
    out = []
    for i, c in enumerate(C):
        cu = 3 * (c[0] * u[0] + c[1] * u[1])
        out.append(jnp.roll(f[i] + 0.6 * (Q[i] * rho * (1 + cu + cu * cu / 2 - uu) - f[i]), c, (0, 1)))
    return (jnp.stack(out),)


def ising(s, key):
    key, sub = jax.random.split(jax.random.wrap_key_data(key))
    field = laplacian(s) + 4 * s
    flip = jax.random.uniform(sub, s.shape) < jnp.exp(-0.8 * s * field)
    odd = (jnp.indices(s.shape).sum(0) & 1) == 1
    return jnp.where(flip & odd, -s, s), jax.random.key_data(key)


def life(x):
    n = sum(roll(x, i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)) - x
    return (jnp.where((n == 3) | ((n == 2) & (x == 1)), 1, 0).astype(x.dtype),)


def gravity(x, v):
    d = x[None] - x[:, None]
    a = (d * (jnp.square(d).sum(-1) + 1e-2)[..., None] ** -1.5).sum(1)
    return x + 0.01 * (v + 0.01 * a), v + 0.01 * a


def lennard_jones(x):
    d = x[None] - x[:, None]
    d = d - jnp.round(d)
    r = jnp.square(d).sum(-1) + jnp.eye(len(x))
    return (2 * (r**-6 - r**-3) * (1 - jnp.eye(len(x)))).sum()


def sph(x, v):
    d = x[:, None] - x
    r = jnp.sqrt(jnp.square(d).sum(-1) + 1e-6)
    w = jnp.maximum(0, 1 - r) ** 3
    rho = w.sum(1)
    force = ((rho[:, None] + rho)[..., None] * d * (jnp.maximum(0, 1 - r) ** 2 / r)[..., None]).sum(1)
    return x + 0.01 * v, v + 0.01 * force / rho[:, None]


def boids(x, v):
    d = x[None] - x[:, None]
    near = (jnp.square(d).sum(-1) < 0.1).astype(x.dtype)
    n = near.sum(1, keepdims=True)
    v = v + 0.1 * (near @ v / n - v) + 0.1 * (near @ x / n - x) - 0.1 * (near[..., None] * d / (jnp.square(d).sum(-1, keepdims=True) + 1e-3)).sum(1)
    return x + 0.01 * v, v


def maxwell(ex, ey, ez, hx, hy, hz):
    c = lambda a, b, i, j, s: (jnp.roll(a, s, i) - a) * -s + (jnp.roll(b, s, j) - b) * s
    hx, hy, hz = hx + 0.3 * c(ey, ez, 2, 1, -1), hy + 0.3 * c(ez, ex, 0, 2, -1), hz + 0.3 * c(ex, ey, 1, 0, -1)
    return ex + 0.3 * c(hz, hy, 1, 2, 1), ey + 0.3 * c(hx, hz, 2, 0, 1), ez + 0.3 * c(hy, hx, 0, 1, 1), hx, hy, hz


def spectral(w):
    k = jnp.fft.fftfreq(w.shape[0], 1 / w.shape[0])[:, None]
    l = jnp.arange(w.shape[1] // 2 + 1.0)
    f = jnp.fft.rfft2(w)
    psi = f / jnp.maximum(k * k + l * l, 1)
    u, v, wx, wy = (jnp.fft.irfft2(a) for a in (1j * l * psi, -1j * k * psi, 1j * k * f, 1j * l * f))
    return (jnp.fft.irfft2((f - 0.01 * jnp.fft.rfft2(u * wx + v * wy)) / (1 + 1e-4 * (k * k + l * l))),)


def schrodinger(psi):
    k = jnp.fft.fftfreq(psi.shape[0])
    return (jnp.fft.ifft2(jnp.fft.fft2(psi * jnp.exp(-0.1j * jnp.abs(psi) ** 2)) * jnp.exp(-0.1j * (k[:, None] ** 2 + k**2))),)


def crank_nicolson(u):
    n = u.shape[1]
    d = jnp.full(n, 1.2), jnp.full(n, -0.1)
    return (lax.linalg.tridiagonal_solve(d[1].at[0].set(0), d[0], d[1].at[-1].set(0), u.T).T,)


def godunov(q):
    l, r = q, jnp.roll(q, -1, -1)
    p = lambda q: 0.4 * (q[2] - q[1] ** 2 / (2 * q[0]))
    f = lambda q: jnp.stack([q[1], q[1] ** 2 / q[0] + p(q), (q[2] + p(q)) * q[1] / q[0]])
    s = jnp.maximum(*(jnp.abs(x[1] / x[0]) + jnp.sqrt(1.4 * p(x) / x[0]) for x in (l, r)))
    flux = (f(l) + f(r)) / 2 - s * (r - l) / 2
    return (q - 0.1 * (flux - jnp.roll(flux, 1, -1)),)


def rk4(f):
    def step(y):
        a = f(y)
        b = f(y + a / 20)
        c = f(y + b / 20)
        return (y + (a + 2 * b + 2 * c + f(y + c / 10)) / 60,)

    return step


def lorenz(y):
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def lorenz96(x):
    return (jnp.roll(x, -1, -1) - jnp.roll(x, 2, -1)) * jnp.roll(x, 1, -1) - x + 8


def cloth(x, v):
    f = 0.0
    for a, axis in ((1, 0), (1, 1), (2, 0), (2, 1)):
        d = jnp.roll(x, -a, axis) - x
        n = jnp.sqrt(jnp.square(d).sum(-1, keepdims=True) + 1e-9)
        e = (n - a * 0.01) * d / n
        f = f + e - jnp.roll(e, a, axis)
    return x + 0.01 * (v + f), v + f


def particle_mesh(x):
    grid = jnp.zeros((64, 64, 64)).at[tuple(jnp.floor(x * 64).astype(int).T)].add(1)
    k = jnp.fft.fftfreq(64)
    green = 1 / jnp.maximum(k[:, None, None] ** 2 + k[:, None] ** 2 + k[: 33] ** 2, 1e-4)
    return jnp.fft.irfftn(jnp.fft.rfftn(grid) * green)


def path(s, r, sigma, z):
    def step(x, z):
        x = x * jnp.exp((r - sigma**2 / 2) / 64 + sigma * z / 8)
        return x, x

    return jnp.maximum(lax.scan(step, s, z)[1].mean(0) - 1, 0).mean()


G, P, V = "512x512", "512x3", "64x64x64"
for kind, wrap in (("loop", steps), ("unrolled", unrolled)):
    add(f"heat_{kind}", wrap(heat), G)
    add(f"heat3d_{kind}", wrap(heat), V)
    add(f"wave_{kind}", wrap(wave), G, G)
    add(f"wave_leapfrog_{kind}", wrap(wave_leapfrog), G, G)
    add(f"gray_scott_{kind}", wrap(gray_scott), G, G)
    add(f"burgers_{kind}", wrap(burgers), G, G)
    add(f"shallow_{kind}", wrap(shallow), G, G, G)
    add(f"boltzmann_{kind}", wrap(boltzmann), "9x256x256")
    add(f"ising_{kind}", wrap(ising), G, "u32:2")
    add(f"life_{kind}", wrap(life), f"u8:{G}")
    add(f"gravity_{kind}", wrap(gravity), P, P)
    add(f"sph_{kind}", wrap(sph), "512x2", "512x2")
    add(f"boids_{kind}", wrap(boids), "512x2", "512x2")
    add(f"maxwell_{kind}", wrap(maxwell), *(V,) * 6)
    add(f"spectral_{kind}", wrap(spectral), "256x256")
    add(f"schrodinger_{kind}", wrap(schrodinger), "c64:256x256")
    add(f"godunov_{kind}", wrap(godunov), "3x65536")
    add(f"lorenz_{kind}", wrap(rk4(lorenz)), "3x65536")
    add(f"lorenz96_{kind}", wrap(rk4(lorenz96)), "64x4096")
    add(f"cloth_{kind}", wrap(cloth), "256x256x3", "256x256x3")
add("fluid", fluid, "256x256", "256x256", "256x256")
add("crank_nicolson", steps(crank_nicolson), "256x256")
add("lennard_jones", jax.value_and_grad(lennard_jones), "512x3")
add("particle_mesh", particle_mesh, "65536x3")
both("wave_inversion", lambda c, u: lax.scan(lambda s, _: ((s[0] + 0.1 * s[1], s[1] + 0.1 * c * laplacian(s[0])), s[0][128]), (u, u), None, length=20)[1], "256x256", "256x256")
both("heat_inversion", lambda c, u: lax.scan(lambda u, _: (u + 0.1 * c * laplacian(u), None), u, None, length=20)[0], "256x256", "256x256")
both("asian_option", path, "16384", "", "", "64x16384")
both("advect", advect, "256x256", "256x256", "256x256")
