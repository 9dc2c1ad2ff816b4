"""Times one program on all platforms in turns."""

import gc
import time

from .platforms import PLATFORMS

# Short, with the fastest hundredth of them as the figure: beside two compilers on two CPUs what a scalar addition takes above
# the floor comes out within 0.03 us from one time to the next, but within 0.25 by the lower quartile of turns of 5 ms.
TURN_SECONDS = 1e-3
# Before each, since who ran last has left little of this platform in the caches.
WARM_CALLS = 8


class Turns:
    """One program, compiled for every platform."""

    def __init__(self, program):
        import jax

        self._jax, self._donates = jax, program.donates
        self._functions, self._arguments = {}, {}
        for platform in PLATFORMS:
            device = jax.devices(platform)[0]
            donated = tuple(range(len(program.arguments))) if program.donates else ()
            self._functions[platform] = jax.jit(program.function, donate_argnums=donated)
            self._arguments[platform] = jax.device_put(program.arguments, device)
            # JAX runs a function once or twice before it takes its short way.
            self.sample(platform, 3, waits=True)

    def sample(self, platform, count, waits):
        """Seconds per call, of `count` calls, each of which is waited for, or the last alone."""
        function, arguments, donates, wait = self._functions[platform], self._arguments[platform], self._donates, self._jax.block_until_ready
        begin = time.perf_counter()
        for _ in range(count):
            result = function(*arguments)
            if donates:
                arguments = result
            if waits:
                wait(result)
        wait(result)
        seconds = (time.perf_counter() - begin) / count
        self._arguments[platform] = arguments
        return seconds

    def _count(self, platform, waits):
        """Calls in a turn."""
        count = 1
        while min(self.sample(platform, count, waits) for _ in range(5)) * count < TURN_SECONDS:
            count *= 2
        return count

    def measure(self, waits, seconds, progress=lambda: None):
        """Microseconds per call on each platform."""
        counts = {platform: self._count(platform, waits) for platform in PLATFORMS}
        samples = {platform: [] for platform in PLATFORMS}
        # Garbage of what was traced and compiled is not the calls'; they leave none.
        gc.collect()
        gc.disable()
        try:
            for turn in range(rounds(seconds)):
                # What comes after whom changes too.
                for i in range(len(PLATFORMS)):
                    platform = PLATFORMS[(turn + i) % len(PLATFORMS)]
                    self.sample(platform, WARM_CALLS, waits)
                    samples[platform].append(self.sample(platform, counts[platform], waits))
                progress()
        finally:
            gc.enable()
        return {platform: sorted(values)[len(values) // 100] * 1e6 for platform, values in samples.items()}


def rounds(seconds):
    """Turns of each platform in about `seconds`."""
    return max(3, round(seconds / (TURN_SECONDS * len(PLATFORMS))))
