"""Runs functions in a process of its own, so that a crash or a hang costs one case."""

import dataclasses
import itertools
import multiprocessing

from .functions import swept
from .runner import Outcome, run

LIMIT_SECONDS = 300


def _serve(connection):
    """In a worker: runs (label, dtype) pairs until it is killed."""
    import jax

    functions = {function.label: function for function in swept()}
    device, reference = jax.devices("kiln")[0], jax.devices("cpu")[0]
    for count in itertools.count(1):
        label, dtype = connection.recv()
        connection.send(dataclasses.asdict(run(functions[label], dtype, device, reference)))
        if count % 50 == 0:  # compiled programs add up
            jax.clear_caches()


class Worker:
    """A process that is replaced when it dies."""

    def __init__(self):
        self._process = None

    def run(self, label, dtype):
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        try:
            self._connection.send((label, dtype))
            if self._connection.poll(LIMIT_SECONDS):
                return self._connection.recv()
            problem = f"hangs: no answer after {LIMIT_SECONDS} s"
        except (EOFError, OSError):
            self._process.join()
            problem = f"crashes: the process ends with code {self._process.exitcode}"
        self._process.kill()
        self._process = None
        return dataclasses.asdict(Outcome(label, dtype, failed={"process": problem}))

    def stop(self):
        if self._process is not None:
            self._process.kill()
