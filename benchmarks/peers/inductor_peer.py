"""torch.compile: Inductor, which writes C++ and has it compiled."""

import time

from .torch_peer import names  # noqa: F401

NEEDS = ["torch"]


def build(program):
    import torch

    from .torch_programs import prepared

    function, arguments = prepared(program)
    compiled = torch.compile(function)
    begin = time.perf_counter()
    compiled(*arguments)
    return compiled, arguments, [time.perf_counter() - begin]
